//! Which schedules are failing: those whose newest run that ended failed. The clock says so, and the
//! owner's list of failing schedules has a row, so that they are found without a look at every
//! schedule. Only the first failure of a row and the first success after it cost a write.

use belfry_core::run::{Run, Status, Trigger};
use belfry_core::schedule::Clock;
use tracing::warn;

use crate::app::App;
use crate::fault::Fault;

/// The newest runs looked at: runs that have not ended, or were skipped, say nothing.
const LOOKED_AT: usize = 100;

/// Notes what the end of a run says about its schedule. If that fails, or if the process dies before,
/// recovery notes it when it sweeps the run.
pub(crate) async fn after_end(app: &App, clock: &Clock, run: &Run, status: Status) {
    if says(&run.trigger, status).is_none_or(|failing| failing == clock.failing) {
        return;
    }
    if let Err(fault) = review(app, clock).await {
        warn!(run_id = %run.id, %fault, "schedule not noted as failing or not: recovery will note it");
    }
}

/// Whether the end of a run in `status` says that its schedule is failing. `None`: it says nothing.
/// A backfill runs old fires, which say nothing about the schedule as it is now.
pub(crate) fn says(trigger: &Trigger, status: Status) -> Option<bool> {
    match status {
        _ if *trigger == Trigger::Backfill => None,
        Status::Success => Some(false),
        Status::Failed | Status::Abandoned => Some(true),
        _ => None,
    }
}

/// Notes whether a schedule is failing, by its newest run that ended.
pub(crate) async fn review(app: &App, clock: &Clock) -> Result<(), Fault> {
    let now = app.now();
    let runs = app.store.newest_traces(&clock.schedule_id, LOOKED_AT, Some(now)).await?;
    let own = runs.iter().filter(|(_, run)| run.owner == clock.owner);
    let mut ended = own.filter_map(|(id, run)| Some((id, says(&run.trigger, run.status)?)));
    let Some((id, failing)) = ended.next() else { return Ok(()) };
    if failing == clock.failing {
        return Ok(());
    }
    app.store.note_failing(clock, failing.then_some(id), now).await
}
