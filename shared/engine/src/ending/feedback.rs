//! Feedback: an executor's report on a run, from the API or from an event.

use belfry_core::run::feedback::Feedback;
use belfry_core::run::{Reason, Run, Status};
use tracing::info;

use crate::app::App;
use crate::cloud::store::{Outcome, Stored};
use crate::ending::{By, End, end};
use crate::fault::Fault;

/// What an executor's report changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// The run now has the status that the report names.
    Yes,
    /// The run had that status before.
    Before,
    /// The run has this status, which cannot become the one that the report names.
    No(Status),
}

/// Applies an executor's report to `run`. Applying the same report twice changes nothing.
pub(crate) async fn hear(app: &App, run: &Run, said: &Feedback) -> Result<Heard, Fault> {
    if run.status == said.status {
        return match (said.status, &said.external_run_id) {
            (Status::Started, Some(name)) => {
                app.store.link_run(&run.id, run.attempt, Some(name)).await?;
                Ok(Heard::Yes)
            }
            _ => Ok(Heard::Before),
        };
    }
    // The answer of a target that has the run may be lost. The launcher then tries again, and the
    // executor may report the end before that.
    let may_end = run.status == Status::Started || run.is_between_attempts();
    if said.status == Status::Started || !may_end {
        return Ok(Heard::No(run.status));
    }
    let outcome = &Outcome {
        reason: (said.status == Status::Failed).then_some(Reason::Executor),
        error: said.error.clone(),
        external_run_id: said.external_run_id.clone(),
        result: said.result.clone(),
        ..Outcome::of(said.status)
    };
    let schedule = match app.store.schedule(&run.id.schedule_id).await? {
        Stored::Schedule(schedule) => Some(schedule),
        _ => None,
    };
    let schedule = schedule.as_deref();
    if end(app, &End { run, schedule, outcome, by: By::Executor }).await? {
        info!(run_id = %run.id, status = said.status.as_str(), "run ended by its executor");
        return Ok(Heard::Yes);
    }
    // Another report or recovery ended the run first. The same status again is still a success for
    // the caller.
    let now = app.store.run(&run.id).await?.map_or(run.status, |run| run.status);
    Ok(if now == said.status { Heard::Yes } else { Heard::No(now) })
}
