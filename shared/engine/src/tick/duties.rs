//! Duties: the entries of the due index that are not clocks, such as the end of a pause. A tick
//! that finds a duty does it; a duty that fails stays in the index for the next tick.

use belfry_core::instant::Instant;
use belfry_core::tick::share::{Duty, Task};
use tracing::{error, info};

use crate::app::App;
use crate::fault::Fault;
use crate::fires::backfill::go_on;
use crate::fires::emit::Report;
use crate::schedules::pause;
use crate::schedules::refusal::Refusal;

/// Does the duties that are due.
pub(crate) async fn perform(app: &App, duties: Vec<Duty>, now: Instant, report: &mut Report) {
    for duty in duties {
        let done = match &duty.task {
            Task::Backfill(backfill_id) => go_on(app, &duty.schedule_id, backfill_id, now).await,
            Task::EndPause => wake(app, &duty, now).await,
        };
        if let Err(fault) = done {
            error!(schedule_id = %duty.schedule_id, task = ?duty.task, %fault, "duty failed");
            report.failed += 1;
        }
    }
}

/// Ends a pause whose time has come. The index returns the duty up to the look-ahead early; it then
/// stays.
async fn wake(app: &App, duty: &Duty, now: Instant) -> Result<(), Fault> {
    match pause::end_pause(app, &duty.schedule_id, now).await {
        Ok(Some(_)) => {
            info!(schedule_id = %duty.schedule_id, "schedule resumed: its pause is over");
            app.store.drop_wake(&duty.schedule_id, now).await
        }
        Ok(None) => app.store.drop_wake(&duty.schedule_id, now).await,
        // Another change is under way: the next tick tries again.
        Err(Refusal::Stale { .. }) => Ok(()),
        Err(Refusal::Fault(fault)) => Err(fault),
        Err(refusal) => Err(Fault::new(format!("resume {}", duty.schedule_id), refusal)),
    }
}
