//! What recovery does about one run, whether the sweep or a dead letter led to it.

use belfry_core::fire::lateness::{self, Lateness};
use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::recovery::{Setting, Step};
use belfry_core::run::{Reason, Run, Status};
use belfry_core::schedule::Schedule;
use serde::Serialize;
use tracing::{error, info, warn};

use super::check::Checked;
use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::store::{Outcome, Stored};
use crate::ending::{By, End, end};
use crate::fault::Fault;
use crate::metrics;

/// The counts of one call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Report {
    /// Runs that the sweep or a dead letter led to.
    pub looked_at: usize,
    /// Lost runs sent again.
    pub resent: usize,
    /// Runs that were missed in an outage and are caught up.
    pub caught_up: usize,
    /// Queued runs sent again, so that a launcher checks whether their turn has come.
    pub nudged: usize,
    /// Runs that took longer than `max_runtime_s`.
    pub timed_out: usize,
    /// Runs cancelled because their schedule is paused or deleted.
    pub cancelled: usize,
    /// Runs abandoned.
    pub abandoned: usize,
    /// Runs that recovery will look at again later.
    pub waiting: usize,
    /// Dead letters opened.
    pub dead_letters: usize,
    /// Dead letters that cannot be read; they stay in the queue for a person to see.
    pub poison: usize,
    /// What the self-check found.
    pub checked: Checked,
    /// Runs, minutes and letters that failed; the next call tries them again.
    pub failed: usize,
}

/// One call of recovery.
#[derive(Clone, Copy)]
pub(super) struct Call {
    /// When it was made.
    pub(super) now: Instant,
    /// Whether recovery was off before it.
    pub(super) after_outage: bool,
}

impl Report {
    pub(super) fn count(&mut self, step: Step) {
        match step {
            Step::Leave => {}
            Step::LookAgain(_) => self.waiting += 1,
            Step::Resend => self.resent += 1,
            Step::CatchUp(_) => self.caught_up += 1,
            Step::Nudge => self.nudged += 1,
            Step::TimeOut => self.timed_out += 1,
            Step::Cancel(_) => self.cancelled += 1,
            Step::Abandon => self.abandoned += 1,
        }
    }
}

/// What becomes of a run after an outage. The launchers were most likely off too, so an unlaunched
/// run was missed rather than lost: its catch-up policy decides, whether recovery or the run's
/// message comes first.
pub(super) fn as_missed(
    app: &App,
    run: &Run,
    schedule: Option<&Schedule>,
    step: Step,
    call: Call,
) -> Step {
    let Some(schedule) = schedule.filter(|_| call.after_outage) else { return step };
    if !matches!(step, Step::Resend | Step::Abandon) {
        return step;
    }
    match lateness::judge(run, &schedule.clock, call.now, &app.settings.horizon) {
        Lateness::Launch => step,
        Lateness::CatchUp(at) => Step::CatchUp(at),
        Lateness::Missed => Step::Cancel(Reason::Missed),
    }
}

/// The schedule of a run; `None` if it is deleted.
pub(super) async fn stored(app: &App, id: &RunId) -> Result<Option<Box<Schedule>>, Fault> {
    Ok(match app.store.schedule(&id.schedule_id).await? {
        Stored::Schedule(schedule) => Some(schedule),
        Stored::Deleted { .. } | Stored::Nothing => None,
    })
}

/// Acts on a decision, and answers with what came about: a run that has changed since it was read is
/// left as it is, and looked at again.
pub(super) async fn act(
    app: &App,
    run: &Run,
    schedule: Option<&Schedule>,
    step: Step,
    now: Instant,
) -> Result<Step, Fault> {
    let id = &run.id;
    let again = now + app.settings.recovery.lost_after;
    let done = match step {
        Step::Leave => true,
        Step::LookAgain(at) => {
            app.store.look_again(id, at).await?;
            true
        }
        Step::Resend => resend(app, run, again, now).await?,
        Step::CatchUp(at) => catch_up(app, run, at, now).await?,
        Step::Nudge => {
            app.store.look_again(id, again).await?;
            send(app, run, now).await?;
            true
        }
        Step::TimeOut => {
            let outcome = Outcome::because(Status::Failed, Reason::Timeout);
            give_up(app, run, schedule, &outcome).await?
        }
        Step::Cancel(reason) => cancel(app, run, schedule, reason, now).await?,
        Step::Abandon => abandon(app, run, schedule).await?,
    };
    if done {
        return Ok(step);
    }
    // A launcher has claimed the run, and may die with it; or the run has ended, by an earlier try
    // whose answer was lost, and its slot is checked once more.
    app.store.look_again(id, again).await?;
    Ok(Step::LookAgain(again))
}

async fn resend(app: &App, run: &Run, again: Instant, now: Instant) -> Result<bool, Fault> {
    if !app.store.recover_run(run, again, now).await? {
        return Ok(false);
    }
    count_lost(app, run);
    send(app, run, now).await?;
    warn!(run_id = %run.id, "lost run sent again");
    Ok(true)
}

async fn catch_up(app: &App, run: &Run, at: Instant, now: Instant) -> Result<bool, Fault> {
    let id = &run.id;
    if !app.store.catch_up_run(id, at).await? {
        return Ok(false);
    }
    app.store.look_again(id, at.max(now) + app.settings.recovery.lost_after).await?;
    send(app, &Run { launch_at: at, ..run.clone() }, now).await?;
    info!(run_id = %id, "missed run caught up");
    Ok(true)
}

async fn cancel(
    app: &App,
    run: &Run,
    schedule: Option<&Schedule>,
    reason: Reason,
    now: Instant,
) -> Result<bool, Fault> {
    let id = &run.id;
    let revision = schedule.map_or(run.revision, |schedule| schedule.clock.revision);
    if !app.store.cancel_run(id, reason, revision, now).await? {
        return Ok(false);
    }
    info!(run_id = %id, ?reason, "run not launched");
    if reason == Reason::Missed {
        app.tally(metrics::RUNS_SKIPPED);
    }
    Ok(true)
}

async fn abandon(app: &App, run: &Run, schedule: Option<&Schedule>) -> Result<bool, Fault> {
    let attempts = run.recovery.map_or(0, |recovery| recovery.attempts);
    let what = match run.status {
        Status::Started => "no executor reported its end",
        _ => "never launched",
    };
    let error = Some(format!("{what}; sent again {attempts} times"));
    let outcome = Outcome::because(Status::Abandoned, Reason::Lost);
    let abandoned = give_up(app, run, schedule, &Outcome { error, ..outcome }).await?;
    if abandoned {
        count_lost(app, run);
    }
    Ok(abandoned)
}

/// Counts a run that recovery found without a handoff. A run that was sent again before is counted
/// already.
fn count_lost(app: &App, run: &Run) {
    if run.recovery.is_none() {
        app.tally(metrics::RUNS_LOST);
    }
}

/// Ends a run that took too long or is abandoned. `false`: it has ended otherwise.
async fn give_up(
    app: &App,
    run: &Run,
    schedule: Option<&Schedule>,
    outcome: &Outcome,
) -> Result<bool, Fault> {
    let ended = end(app, &End { run, schedule, outcome, by: By::Recovery }).await?;
    if ended {
        let (run_id, status, reason) = (&run.id, outcome.status.as_str(), outcome.reason);
        error!(%run_id, status, ?reason, error = outcome.error, "run ended by recovery");
    }
    Ok(ended)
}

pub(super) fn setting(id: &RunId, schedule: Option<&Schedule>) -> Setting {
    let Some(Schedule { clock, spec }) = schedule else { return Setting::Deleted };
    let max_runtime = spec.options.max_runtime();
    match clock.paused && !id.is_asked_for() {
        true => Setting::Paused { max_runtime },
        false => Setting::Running { max_runtime },
    }
}

async fn send(app: &App, run: &Run, now: Instant) -> Result<(), Fault> {
    app.queue.send(&[Parcel::of(run)], now).await.into_iter().collect()
}
