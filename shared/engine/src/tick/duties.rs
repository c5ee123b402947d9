//! Duties: what the due index holds beside clocks. A tick that finds one does it; one that fails is
//! found by the next tick.

use belfry_core::instant::Instant;
use belfry_core::tick::share::Duty;
use tracing::{error, info};

use crate::app::App;
use crate::cloud::store::tables::BACKFILL;
use crate::fault::Fault;
use crate::fires::backfill::go_on;
use crate::fires::emit::Report;
use crate::schedules::pause;
use crate::schedules::refusal::Refusal;

/// Does what is due beside the clocks.
pub(crate) async fn perform(app: &App, duties: Vec<Duty>, now: Instant, report: &mut Report) {
    for duty in duties {
        let done = match duty.part.strip_prefix(BACKFILL) {
            Some(backfill_id) => go_on(app, &duty.schedule_id, backfill_id, now).await,
            None => wake(app, &duty, now).await,
        };
        if let Err(fault) = done {
            error!(schedule_id = %duty.schedule_id, part = duty.part, %fault, "duty not done");
            report.failed += 1;
        }
    }
}

/// Ends a pause whose time has come. The index brings it ahead of that time.
async fn wake(app: &App, duty: &Duty, now: Instant) -> Result<(), Fault> {
    match pause::end_pause(app, &duty.schedule_id, now).await {
        Ok(Some(_)) => {
            info!(schedule_id = %duty.schedule_id, "resumed: its pause is over");
            app.store.drop_wake(&duty.schedule_id, now).await
        }
        Ok(None) => app.store.drop_wake(&duty.schedule_id, now).await,
        // Somebody changes it at this moment: the next tick looks again.
        Err(Refusal::Stale { .. }) => Ok(()),
        Err(Refusal::Fault(fault)) => Err(fault),
        Err(refusal) => Err(Fault::new(format!("resume {}", duty.schedule_id), refusal)),
    }
}
