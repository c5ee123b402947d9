//! Failures in a row: a schedule is paused after as many as its `pause_after_failures` allows.

use belfry_core::id::RunId;
use belfry_core::run::Status;
use belfry_core::schedule::Schedule;
use serde_json::json;
use tracing::warn;

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::HistoryQuery;
use crate::fault::Fault;
use crate::metrics::{self, Metric};
use crate::schedules::caller::Caller;
use crate::schedules::pause;
use crate::schedules::refusal::Refusal;

/// Runs read to find the newest that have ended: those without an end are skipped.
const MAX_RUNS_READ: usize = 1000;

/// Pauses the schedule of a run that just failed, if that failure reaches the limit. Only a failure
/// costs the read of the history.
pub(crate) async fn after_failure(
    app: &App,
    schedule: &Schedule,
    failed: &RunId,
) -> Result<(), Fault> {
    let Schedule { clock, spec } = schedule;
    let Some(limit) = spec.options.pause_after_failures else { return Ok(()) };
    if clock.paused {
        return Ok(());
    }
    let wanted =
        HistoryQuery { limit: MAX_RUNS_READ, to: Some(app.now()), ..HistoryQuery::default() };
    let history = app.store.history(&clock.schedule_id, &wanted).await?;
    let ended =
        history.runs.iter().map(|run| run.status).filter(|status| {
            matches!(status, Status::Success | Status::Failed | Status::Abandoned)
        });
    let in_a_row = ended.take_while(|status| *status != Status::Success).count();
    if in_a_row < limit as usize {
        return Ok(());
    }
    let note = format!("paused after {in_a_row} failures in a row, the last {failed}");
    // In the owner's name; the note says that no person asked for the pause.
    let owner = Caller::in_the_name_of(&clock.owner);
    match pause::pause(app, &owner, &clock.schedule_id, Some(note), None, None).await {
        Ok(_) => {
            warn!(schedule_id = %clock.schedule_id, in_a_row, "schedule paused after failures in a row");
            app.count(&[Metric::count(metrics::SCHEDULES_FAILING, 1)]);
            let detail = json!({
                "schedule_id": clock.schedule_id, "failures": in_a_row, "last": failed,
            });
            app.events.tell(&[Event { kind: "schedule.failing", detail }]).await;
        }
        Err(Refusal::Fault(fault)) => return Err(fault),
        Err(refusal) => {
            warn!(schedule_id = %clock.schedule_id, %refusal, "schedule not paused after failures in a row");
        }
    }
    Ok(())
}
