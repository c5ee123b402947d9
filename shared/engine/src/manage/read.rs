//! Reading schedules.

use belfry_core::definition::object;
use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::instant::Instant;
use belfry_core::schedule::{Clock, Spec, Status};
use belfry_core::view;
use serde_json::{Value, json};

use super::edit::load;
use super::stats::of_schedule;
use super::{Caller, Refusal};
use crate::app::App;
use crate::store::Stored;

/// Schedules read at once while looking for those that are wanted.
const PAGE: usize = 50;

/// Which schedules are wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Only those doing this.
    pub status: Option<Status>,
    /// Only those that launch this.
    pub workflow_id: Option<WorkflowId>,
    /// Only those with this tag, or with this tag and value.
    pub tag: Option<(String, Option<String>)>,
    /// At most so many.
    pub limit: usize,
    /// The name the previous page ended at.
    pub cursor: Option<ScheduleId>,
}

/// Some schedules.
pub struct Listing {
    /// As the API shows them.
    pub items: Vec<Value>,
    /// Where the next page begins.
    pub next_cursor: Option<String>,
}

/// One schedule with its statistics, and its revision. Lists leave them out: they cost a query
/// each.
pub async fn one(app: &App, caller: &Caller, id: &ScheduleId) -> Result<(Value, u64), Refusal> {
    let (clock, spec) = load(app, caller, id).await?;
    let mut schedule = object(&view::schedule(&clock, &spec, app.now()));
    schedule.extend(of_schedule(app, &clock).await?);
    if let Some(Value::Array(warnings)) = schedule.get_mut("warnings") {
        warnings.extend(missing(app, &clock, &spec).await?);
    }
    Ok((Value::Object(schedule), clock.revision))
}

/// Warnings about what a schedule needs and is not there. They take a look at other tables, so that
/// lists leave them out.
async fn missing(app: &App, clock: &Clock, spec: &Spec) -> Result<Vec<Value>, Refusal> {
    let mut warnings = Vec::new();
    let mut warn = |code: &str, message: String| {
        warnings.push(json!({"code": code, "message": message}));
    };
    let (workflow, version) = (&clock.workflow_id, clock.version);
    if app.store.workflow(workflow, version).await?.is_none() {
        let message = format!("workflow {workflow} has no version {version}: its runs fail");
        warn("missing_workflow", message);
    }
    if let Some(other) = &spec.after_schedule_id
        && !matches!(app.store.schedule(other).await?, Stored::Schedule(_))
    {
        let message = format!("schedule {other}, which this one follows, does not exist");
        warn("missing_schedule", message);
    }
    Ok(warnings)
}

/// The caller's schedules in the order of their names: a page begins behind a name, so that
/// schedules made meanwhile neither repeat nor hide others.
pub async fn list(app: &App, caller: &Caller, wanted: &Wanted) -> Result<Listing, Refusal> {
    let now = app.now();
    let mut items = Vec::new();
    let mut cursor = wanted.cursor.clone();
    loop {
        let ids = app.store.schedules_of(&caller.sub, PAGE, cursor.as_ref()).await?;
        for (clock, spec) in app.store.schedules(&ids).await? {
            if wanted.fits(&clock, &spec, now) {
                items.push(view::schedule(&clock, &spec, now));
                if items.len() == wanted.limit {
                    let next_cursor = Some(clock.schedule_id.to_string());
                    return Ok(Listing { items, next_cursor });
                }
            }
        }
        if ids.len() < PAGE {
            return Ok(Listing { items, next_cursor: None });
        }
        cursor = ids.into_iter().next_back();
    }
}

impl Wanted {
    fn fits(&self, clock: &Clock, spec: &Spec, now: Instant) -> bool {
        let tagged = |(key, value): &(String, Option<String>)| match spec.tags.get(key) {
            None => false,
            Some(has) => value.as_ref().is_none_or(|value| has == value),
        };
        self.tag.as_ref().is_none_or(tagged)
            && self.workflow_id.as_ref().is_none_or(|id| *id == clock.workflow_id)
            && self.status.is_none_or(|status| status == clock.status(now))
    }
}
