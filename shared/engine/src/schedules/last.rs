//! What an answer about a schedule says beyond its definition: its newest runs, and warnings that
//! take a look at other tables.

use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::run::stats::Newest;
use belfry_core::run::trace::Trace;
use belfry_core::schedule::warning::Warning;
use belfry_core::schedule::{Clock, Schedule};
use belfry_core::workflow::Completion;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::cloud::store::Stored;
use crate::fault::Fault;

/// Runs read first: almost always one of them was started.
const FEW: usize = 5;
/// Runs read if none of the first was started.
const MANY: usize = 1000;

/// The newest runs of a schedule whose time has come, in short.
pub(crate) async fn newest(app: &App, clock: &Clock, now: Instant) -> Result<Newest, Fault> {
    let few = traces(app, clock, FEW, Some(now)).await?;
    let newest = Newest::of(&few);
    if newest.started.is_some() || few.len() < FEW {
        return Ok(newest);
    }
    Ok(Newest::of(&traces(app, clock, MANY, Some(now)).await?))
}

/// The newest runs of a schedule, up to `until` if it is given. Runs that another owner had under
/// the same id are left out.
pub(crate) async fn traces(
    app: &App,
    clock: &Clock,
    limit: usize,
    until: Option<Instant>,
) -> Result<Vec<(RunId, Trace)>, Fault> {
    let mut runs = app.store.newest_traces(&clock.schedule_id, limit, until).await?;
    runs.retain(|(_, run)| run.owner == clock.owner);
    Ok(runs)
}

/// Adds the warnings about what a schedule needs and is not there, or goes together badly with its
/// workflow. Lists leave them out.
pub(crate) async fn warn(
    app: &App,
    Schedule { clock, spec }: &Schedule,
    shown: &mut Map<String, Value>,
) -> Result<(), Fault> {
    let Some(Value::Array(warnings)) = shown.get_mut("warnings") else { return Ok(()) };
    let mut warn = |code: &str, message: String| warnings.push(json!(Warning::new(code, message)));
    let (workflow, version) = (&clock.workflow_id, clock.version);
    // Not from the cache, which keeps a version that is gone.
    match app.store.workflow(workflow, version).await? {
        None => {
            let message = format!("workflow {workflow} has no version {version}: its runs fail");
            warn("missing_workflow", message);
        }
        Some(workflow) if workflow.completion == Completion::Tracked => {
            if spec.options.max_runtime_s.is_none() {
                let seconds = app.settings.house.max_runtime_s;
                let message = format!(
                    "the workflow is tracked and the schedule has no `max_runtime_s`: a run \
                     without a report ends after {seconds} seconds, and may hold its slot until then"
                );
                warn("no_time_limit", message);
            }
        }
        Some(_) => {}
    }
    if let Some(other) = &spec.options.after_schedule_id
        && !matches!(app.store.schedule(other).await?, Stored::Schedule(_))
    {
        let message = format!("schedule {other}, which this one follows, does not exist");
        warn("missing_schedule", message);
    }
    Ok(())
}
