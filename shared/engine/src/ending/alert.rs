//! The alert about failures in a row: one for each streak, on the bus and to the schedule's
//! `alert_to`.
//!
//! The alert is claimed, sent, and marked as told. A function that dies between these steps leaves a
//! claim that is not told, and the next failure of the streak sends the alert again, with the same
//! idempotency key. The same holds for a destination that did not accept it. Nothing here fails the
//! end of a run: what goes wrong is logged and counted.

use belfry_core::id::RunId;
use belfry_core::instant;
use belfry_core::run::streak::{Alert, Mark, Streak};
use belfry_core::schedule::Schedule;
use serde_json::json;
use tracing::{info, warn};

use crate::app::App;
use crate::cloud::targets::Alarm;
use crate::fault::Fault;
use crate::metrics;

/// A schedule whose runs keep failing.
pub(super) struct Failing<'a> {
    pub(super) schedule: &'a Schedule,
    /// Failures in a row.
    pub(super) failures: usize,
    /// The run that failed last.
    pub(super) failed: &'a RunId,
    /// Its error.
    pub(super) error: Option<&'a str>,
    /// Whether the schedule is paused.
    pub(super) paused: bool,
}

/// An alert that this function has claimed.
pub(super) struct Claimed {
    alert: Alert,
    mark: Mark,
}

impl Claimed {
    /// Whether the streak is told of for the first time.
    pub(super) fn is_first(&self) -> bool {
        !self.alert.again
    }
}

/// Claims the alert of a streak. `None`: none is due, or another function sends it.
pub(super) async fn claim(app: &App, failing: &Failing<'_>, streak: &Streak) -> Option<Claimed> {
    let limit = failing.schedule.spec.options.alert_after_failures?;
    if streak.len() < limit as usize {
        return None;
    }
    try_claim(app, failing, streak, limit).await.unwrap_or_else(|fault| {
        let schedule_id = &failing.schedule.clock.schedule_id;
        warn!(%schedule_id, %fault, "alert not sent: the next failure sends it");
        app.tally(metrics::ALERTS_FAILED);
        None
    })
}

async fn try_claim(
    app: &App,
    failing: &Failing<'_>,
    streak: &Streak,
    limit: u32,
) -> Result<Option<Claimed>, Fault> {
    let Schedule { clock, spec } = failing.schedule;
    let seen = app.store.alert_mark(&clock.schedule_id).await?;
    let now = app.now();
    let Some(alert) = streak.alert(limit, seen.as_ref(), now) else { return Ok(None) };
    // Without a destination the event on the bus is all there is to send.
    let told = spec.options.alert_to.is_none();
    let mark = Mark { run: alert.run.clone(), told, claim: app.call_id(), claimed_at: now };
    let is_mine = app.store.mark_alert(&clock.schedule_id, &mark, seen.as_ref(), now).await?;
    Ok(is_mine.then_some(Claimed { alert, mark }))
}

/// Tells the destination of the schedule, if it has one.
pub(super) async fn send(app: &App, failing: &Failing<'_>, Claimed { alert, mark }: Claimed) {
    let Schedule { clock, spec } = failing.schedule;
    let schedule_id = &clock.schedule_id;
    let Some(to) = &spec.options.alert_to else { return };
    let now = app.now();
    let body = json!({
        "kind": "schedule.failing",
        "schedule_id": schedule_id,
        "user_id": clock.owner,
        "failures": failing.failures,
        "paused": failing.paused,
        "last_run_id": failing.failed,
        "error": failing.error,
        "at": instant::observed_text(now),
    });
    let about = RunId::from_keys(schedule_id.clone(), &alert.run);
    let key = about.map_or(alert.run, |run| format!("alert-{}", run.idempotency_key()));
    let alarm = Alarm { schedule_id, owner: &clock.owner, key: &key, body: &body };
    match app.targets.alert(to, &alarm, now).await {
        Ok(()) => {
            info!(%schedule_id, failures = failing.failures, "alert sent");
            app.tally(metrics::ALERTS_SENT);
        }
        // Without the text of the answer, which may repeat a secret of the address.
        Err(refused) => {
            let problem = refused.message;
            warn!(%schedule_id, problem, "alert not accepted: the next failure sends it again");
            app.tally(metrics::ALERTS_FAILED);
            return;
        }
    }
    let told = Mark { told: true, claim: app.call_id(), ..mark.clone() };
    if let Err(fault) = app.store.mark_alert(schedule_id, &told, Some(&mark), now).await {
        warn!(%schedule_id, %fault, "alert not marked as sent: the next failure sends it again");
    }
}
