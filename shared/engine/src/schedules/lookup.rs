//! Looking up a caller's schedule, and the workflow version that a definition means.

use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::{Clock, Schedule};
use belfry_core::workflow::EVERYBODY;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::Stored;

/// How often a write without `If-Match` starts over when another writer came first.
pub(crate) const TRIES: usize = 5;

/// The schedule `id`, if it exists and the caller may see it.
pub(crate) async fn load(app: &App, caller: &Caller, id: &ScheduleId) -> Result<Schedule, Refusal> {
    match app.store.schedule(id).await? {
        Stored::Schedule(schedule) => owned(*schedule, caller),
        _ => Err(Refusal::NotFound("schedule")),
    }
}

/// The schedule, if the caller may see it; otherwise the caller is told that it does not exist.
pub(crate) fn owned(schedule: Schedule, caller: &Caller) -> Result<Schedule, Refusal> {
    match caller.acts_for(&schedule.clock.owner) {
        true => Ok(schedule),
        false => Err(Refusal::NotFound("schedule")),
    }
}

pub(crate) fn crowded() -> Refusal {
    Refusal::Conflict("other callers keep changing this schedule; try again".to_owned())
}

pub(crate) fn check_revision(clock: &Clock, if_match: Option<u64>) -> Result<(), Refusal> {
    match if_match {
        Some(seen) if seen != clock.revision => Err(Refusal::Stale { current: clock.revision }),
        _ => Ok(()),
    }
}

/// The workflow version that a definition means. A definition without an existing workflow version
/// is refused. So is a workflow that belongs neither to the schedule's owner nor to everybody,
/// unless the caller is an admin or the schedule was bound to it before. What a schedule is bound to
/// already is not looked up: a schedule whose version was deleted can still be paused.
pub(crate) async fn resolve_version(
    app: &App,
    caller: &Caller,
    owner: &str,
    definition: &Definition,
    bound: Option<(&WorkflowId, u32)>,
) -> Result<u32, Refusal> {
    let id = &definition.workflow_id;
    if bound.is_none_or(|(bound, _)| bound != id) {
        let found = app.store.workflow_owner(id).await?;
        let usable = |has: &String| has == owner || has == EVERYBODY || caller.acts_for(has);
        if !found.as_ref().is_some_and(usable) {
            return Err(Refusal::unknown("workflow_id", format!("workflow {id} does not exist")));
        }
    }
    match definition.version {
        Some(version) if bound == Some((id, version)) => Ok(version),
        // Not from memory, which may have a version that was deleted.
        Some(version) => match app.store.workflow(id, version).await? {
            Some(_) => Ok(version),
            None => {
                Err(Refusal::unknown("version", format!("workflow {id} has no version {version}")))
            }
        },
        None => match app.store.newest_workflow(id).await? {
            Some((version, _)) => Ok(version),
            None => Err(Refusal::unknown("workflow_id", format!("workflow {id} has no version"))),
        },
    }
}
