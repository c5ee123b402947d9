//! A caller's schedule, looked up, and the workflow version a definition means.

use belfry_core::id::{ScheduleId, WorkflowId};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::{Clock, Schedule};
use belfry_core::workflow::EVERYBODY;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::Stored;

/// Writers without `If-Match` start over this often when they meet another.
pub(crate) const TRIES: usize = 5;

/// The schedule `id` of this caller.
pub(crate) async fn load(app: &App, caller: &Caller, id: &ScheduleId) -> Result<Schedule, Refusal> {
    match app.store.schedule(id).await? {
        Stored::Schedule(schedule) => owned(*schedule, caller),
        _ => Err(Refusal::NotFound("schedule")),
    }
}

/// The schedule, if it is this caller's.
pub(crate) fn owned(schedule: Schedule, caller: &Caller) -> Result<Schedule, Refusal> {
    match caller.acts_for(&schedule.clock.owner) {
        true => Ok(schedule),
        false => Err(Refusal::NotFound("schedule")),
    }
}

pub(crate) fn crowded() -> Refusal {
    Refusal::Conflict("others keep changing this schedule".to_owned())
}

pub(crate) fn check_revision(clock: &Clock, if_match: Option<u64>) -> Result<(), Refusal> {
    match if_match {
        Some(seen) if seen != clock.revision => Err(Refusal::Stale { current: clock.revision }),
        _ => Ok(()),
    }
}

/// The version a definition means. A schedule without something to execute it is refused.
/// So is a workflow that is neither the schedule's owner's nor everybody's, unless an admin binds
/// it or it was bound before.
pub(crate) async fn resolve_version(
    app: &App,
    caller: &Caller,
    owner: &str,
    definition: &Definition,
    bound: Option<&WorkflowId>,
) -> Result<u32, Refusal> {
    let id = &definition.workflow_id;
    if bound != Some(id) {
        let found = app.store.workflow_owner(id).await?;
        let usable = |has: &String| has == owner || has == EVERYBODY || caller.acts_for(has);
        if !found.as_ref().is_some_and(usable) {
            return Err(Refusal::invalid("workflow_id", format!("workflow {id} does not exist")));
        }
    }
    match definition.version {
        Some(version) => match app.workflow(id, version).await? {
            Some(_) => Ok(version),
            None => {
                Err(Refusal::invalid("version", format!("workflow {id} has no version {version}")))
            }
        },
        None => match app.store.newest_workflow(id).await? {
            Some((version, _)) => Ok(version),
            None => Err(Refusal::invalid("workflow_id", format!("workflow {id} does not exist"))),
        },
    }
}
