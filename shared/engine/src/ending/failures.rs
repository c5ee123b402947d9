//! Failures in a row: a schedule is paused after as many as its `pause_after_failures` allows, and
//! an alert is sent after as many as its `alert_after_failures` says.

use belfry_core::id::RunId;
use belfry_core::run::streak::Streak;
use belfry_core::schedule::Schedule;
use serde_json::json;
use tracing::warn;

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::HistoryQuery;
use crate::ending::alert::{Failing, claim, send};
use crate::fault::Fault;
use crate::metrics;
use crate::schedules::caller::Caller;
use crate::schedules::pause;
use crate::schedules::refusal::Refusal;

/// Runs read to find the newest that have ended: those without an end are skipped.
const MAX_RUNS_READ: usize = 1000;

/// Pauses the schedule of a run that just failed, and tells of it, if that failure reaches the
/// limits. Only a failure of a schedule with a limit costs the read of the history.
pub(crate) async fn after_failure(
    app: &App,
    schedule: &Schedule,
    failed: &RunId,
    error: Option<&str>,
) -> Result<(), Fault> {
    let Schedule { clock, spec } = schedule;
    let options = &spec.options;
    let pauses = options.pause_after_failures.filter(|_| !clock.paused);
    if pauses.is_none() && options.alert_after_failures.is_none() {
        return Ok(());
    }
    let wanted =
        HistoryQuery { limit: MAX_RUNS_READ, to: Some(app.now()), ..HistoryQuery::default() };
    let mut history = app.store.history(&clock.schedule_id, &wanted).await?;
    // An id may have been another owner's before.
    history.runs.retain(|run| run.owner == clock.owner);
    let streak = Streak::of(&history.runs, history.cursor.is_none());
    let failures = streak.len();
    let is_too_many = |limit: u32| failures >= limit as usize;
    let paused = pauses.is_some_and(is_too_many) && pause(app, schedule, failures, failed).await?;
    let failing = Failing { schedule, failures, failed, error, paused: clock.paused || paused };
    let claimed = claim(app, &failing, &streak).await;
    if paused || claimed.as_ref().is_some_and(|claimed| claimed.is_first()) {
        let detail = json!({
            "schedule_id": clock.schedule_id, "failures": failures, "last": failed,
            "paused": failing.paused,
        });
        app.events.tell(&[Event { kind: "schedule.failing", detail }]).await;
    }
    if let Some(claimed) = claimed {
        send(app, &failing, claimed).await;
    }
    Ok(())
}

/// Pauses the schedule. `false`: it cannot be paused.
async fn pause(
    app: &App,
    schedule: &Schedule,
    failures: usize,
    failed: &RunId,
) -> Result<bool, Fault> {
    let clock = &schedule.clock;
    let (schedule_id, in_a_row) = (&clock.schedule_id, failures);
    let note = format!("paused after {in_a_row} failures in a row, the last {failed}");
    // In the owner's name; the note says that no person asked for the pause.
    let owner = Caller::in_the_name_of(&clock.owner);
    match pause::pause(app, &owner, schedule_id, Some(note), None, None).await {
        Ok(_) => {
            warn!(%schedule_id, in_a_row, "schedule paused after failures in a row");
            app.tally(metrics::SCHEDULES_FAILING);
            Ok(true)
        }
        Err(Refusal::Fault(fault)) => Err(fault),
        Err(refusal) => {
            warn!(%schedule_id, %refusal, "schedule not paused after failures in a row");
            Ok(false)
        }
    }
}
