//! Recovery: looks at every run when its time is past by the lost threshold, and opens dead
//! letters.
//!
//! Recovery takes no input. It may be called at any time, also twice at once: sweeping a minute
//! twice does no harm, because every step is conditional on the run being as recovery read it.

mod check;

use std::collections::BTreeSet;

use belfry_core::fire::lateness::{self, Lateness};
use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::recovery::{Limits, Setting, Step, next_step};
use belfry_core::run::{Reason, Run, Status};
use belfry_core::schedule::{Clock, Schedule};
use chrono::{Duration, DurationRound};
use futures::{StreamExt, stream};
use serde::Serialize;
use tracing::{error, info, warn};

use self::check::{Checked, check};
use crate::app::App;
use crate::cloud::launch_queue::{DeadLetter, Parcel};
use crate::cloud::message::{self, Named};
use crate::cloud::store::{Outcome, Stored};
use crate::ending::failing::{self, says};
use crate::ending::{By, End, end};
use crate::fault::{Fault, place_of};
use crate::fires::slots;
use crate::metrics::{self, Metric};
use crate::schedules::mend::mend;

/// Minutes swept in one call: after an outage of recovery itself, several calls catch up.
const MAX_MINUTES: i64 = 120;
/// How far back the very first call begins.
const FIRST_LOOK_BACK: Duration = Duration::hours(1);
/// Runs or shards handled concurrently.
const CONCURRENCY: usize = 16;
/// Clocks read in one batch.
const CLOCKS_AT_ONCE: usize = 100;
/// Receives of dead letters in one call, of up to ten letters each.
const MAX_DEAD_BATCHES: usize = 10;

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
struct Call {
    /// When it was made.
    now: Instant,
    /// Whether recovery was off before it.
    after_outage: bool,
}

/// Opens the dead letters, sweeps every minute since the last call, and continues the self-check.
pub(crate) async fn recover(app: &App, now: Instant) -> Report {
    let mut report = Report::default();
    let bookmark = app.store.bookmark().await;
    let after_outage = matches!(&bookmark, Ok(Some(known)) if is_long_ago(app, *known, now));
    let call = Call { now, after_outage };
    dead_letters(app, call, &mut report).await;
    let swept = match bookmark {
        Ok(known) => sweep(app, known, call, &mut report).await,
        Err(fault) => Err(fault),
    };
    if let Err(fault) = swept {
        error!(%fault, "sweep stopped");
        report.failed += 1;
    }
    match check(app, now).await {
        Ok(checked) => report.checked = checked,
        Err(fault) => {
            error!(%fault, "self-check stopped");
            report.failed += 1;
        }
    }
    tell(app, &report);
    report
}

/// Whether recovery last swept so long ago that it was off meanwhile.
fn is_long_ago(app: &App, bookmark: Instant, now: Instant) -> bool {
    minute_of(now) - bookmark > app.settings.recovery.lost_after
}

fn minute_of(now: Instant) -> Instant {
    now.duration_trunc(Duration::minutes(1)).unwrap_or(now)
}

async fn sweep(
    app: &App,
    known: Option<Instant>,
    call: Call,
    report: &mut Report,
) -> Result<(), Fault> {
    let (minute, this_minute) = (Duration::minutes(1), minute_of(call.now));
    let bookmark = known.unwrap_or(this_minute - FIRST_LOOK_BACK);
    let last = this_minute.min(bookmark + minute * MAX_MINUTES as i32);
    let mut swept = bookmark;
    while swept < last {
        let next = swept + minute;
        if !sweep_minute(app, next, call, report).await {
            break;
        }
        swept = next;
    }
    if swept > bookmark { app.store.move_bookmark(swept).await } else { Ok(()) }
}

/// Sweeps one minute. `false`: something failed, and the minute must be swept again.
async fn sweep_minute(app: &App, minute: Instant, call: Call, report: &mut Report) -> bool {
    let shards = (0..app.settings.due_shards).map(|shard| app.store.swept_runs(minute, shard));
    let answers: Vec<_> =
        stream::iter(shards.collect::<Vec<_>>()).buffer_unordered(CONCURRENCY).collect().await;
    let mut runs = Vec::new();
    let mut through = true;
    for answer in answers {
        match answer {
            Ok(found) => runs.extend(found),
            Err(fault) => {
                error!(%fault, "shard not swept");
                report.failed += 1;
                through = false;
            }
        }
    }
    let mut work = Vec::new();
    let mut ended = Vec::new();
    for run in runs {
        match run {
            Ok(run) if run.status.is_terminal() => {
                report.looked_at += 1;
                ended.push((says(&run.trigger, run.status), run.id));
            }
            Ok(run) => work.push(look_at(app, run, call)),
            // This run can never be read; stopping here would hide every run behind it.
            Err(fault) => {
                error!(%fault, "run skipped: unreadable record");
                report.failed += 1;
            }
        }
    }
    let done: Vec<_> = stream::iter(work).buffer_unordered(CONCURRENCY).collect().await;
    for done in done {
        report.looked_at += 1;
        match done {
            Ok(step) => report.count(step),
            Err(fault) => {
                error!(%fault, "run not recovered");
                report.failed += 1;
                through = false;
            }
        }
    }
    if let Err(fault) = after_ends(app, &ended, call.now).await {
        error!(%fault, "clocks of ended runs not looked at");
        report.failed += 1;
        through = false;
    }
    through
}

/// A run that has ended, and whether its end says that its schedule is failing.
type Ended = (Option<bool>, RunId);

/// Looks at the clocks of runs that have ended, and does what the function that ended a run may
/// have left undone when it died: frees the slots of these runs, and notes which schedules are
/// failing. It also mends a clock that no tick can see, so that a schedule that lost its next run
/// at a fire misses few of the next ones. This costs one small read per schedule, and more only if
/// there is something to do.
async fn after_ends(app: &App, ended: &[Ended], now: Instant) -> Result<(), Fault> {
    let schedules: BTreeSet<_> = ended.iter().map(|(_, id)| id.schedule_id.clone()).collect();
    let schedules: Vec<_> = schedules.into_iter().collect();
    for some in schedules.chunks(CLOCKS_AT_ONCE) {
        for (clock, is_indexed) in app.store.placed_clocks(some).await?.into_iter().flatten() {
            let own = || ended.iter().filter(|(_, id)| id.schedule_id == clock.schedule_id);
            mend(app, &clock, is_indexed, now).await?;
            free_slots(app, &clock, own().map(|(_, id)| id)).await?;
            if own().any(|(says, _)| says.is_some_and(|failing| failing != clock.failing)) {
                failing::review(app, &clock).await?;
            }
        }
    }
    Ok(())
}

/// Frees the slots of runs of a schedule that have ended.
async fn free_slots(
    app: &App,
    clock: &Clock,
    ended: impl Iterator<Item = &RunId>,
) -> Result<(), Fault> {
    for id in ended.filter(|id| clock.active.contains(&id.sort_key())) {
        // A fire that was taken back may have been recorded anew since the sweep read it.
        if app.store.run(id).await?.is_none_or(|run| run.status.is_terminal()) {
            warn!(run_id = %id, "slot freed: its run had ended without releasing it");
            slots::pass_on(app, clock, id).await?;
        }
    }
    Ok(())
}

/// Decides about a run and acts on the decision.
async fn look_at(app: &App, run: Run, call: Call) -> Result<Step, Fault> {
    let now = call.now;
    let schedule = stored(app, &run.id).await?;
    if let Some(schedule) = &schedule {
        mend(app, &schedule.clock, true, now).await?;
    }
    let setting = setting(&run.id, schedule.as_deref());
    let step = next_step(&run, run.id.run_at, setting, now, &app.settings.recovery);
    let step = as_missed(app, &run, schedule.as_deref(), step, call);
    act(app, &run, schedule.as_deref(), step, now).await
}

/// What becomes of a run after an outage. The launchers were most likely off too, so an unlaunched
/// run was missed rather than lost: its catch-up policy decides, whether recovery or the run's
/// message comes first.
fn as_missed(app: &App, run: &Run, schedule: Option<&Schedule>, step: Step, call: Call) -> Step {
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
async fn stored(app: &App, id: &RunId) -> Result<Option<Box<Schedule>>, Fault> {
    Ok(match app.store.schedule(&id.schedule_id).await? {
        Stored::Schedule(schedule) => Some(schedule),
        Stored::Deleted { .. } | Stored::Nothing => None,
    })
}

/// Acts on a decision, and answers with what came about: a run that has changed since it was read is
/// left as it is, and looked at again.
async fn act(
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

fn setting(id: &RunId, schedule: Option<&Schedule>) -> Setting {
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

/// Opens dead letters. A dead letter proves that its message was never handled: its run counts as
/// lost now, not only after the threshold.
async fn dead_letters(app: &App, call: Call, report: &mut Report) {
    for _ in 0..MAX_DEAD_BATCHES {
        let letters = match app.queue.dead_letters().await {
            Ok(letters) => letters,
            Err(fault) => {
                error!(%fault, "dead letters not read");
                report.failed += 1;
                return;
            }
        };
        if letters.is_empty() {
            return;
        }
        for letter in letters {
            match open(app, &letter, call, report).await {
                Ok(()) => report.dead_letters += 1,
                Err(fault) => {
                    error!(%fault, "dead letter not handled");
                    report.failed += 1;
                }
            }
        }
    }
}

async fn open(
    app: &App,
    letter: &DeadLetter,
    call: Call,
    report: &mut Report,
) -> Result<(), Fault> {
    let named: Vec<Named> = match message::read(&letter.body) {
        Ok(named) => named,
        Err(problem) => {
            error!(problem = place_of(&problem), "poison dead letter");
            report.poison += 1;
            return Ok(());
        }
    };
    let mut is_dealt_with = true;
    for Named { run_id } in named {
        is_dealt_with &= take_up(app, run_id, call, report).await?;
    }
    // Otherwise a launcher holds one of the runs: the letter stays, and is received again later.
    if is_dealt_with { app.queue.bury(letter).await } else { Ok(()) }
}

/// Decides about a run of a dead letter and acts on the decision. `false`: a launcher holds the
/// run.
async fn take_up(app: &App, id: RunId, call: Call, report: &mut Report) -> Result<bool, Fault> {
    let now = call.now;
    let Some(run) = app.store.run(&id).await?.filter(|run| !run.status.is_terminal()) else {
        return Ok(true);
    };
    match run.lease_until {
        Some(until) if now <= until => return Ok(false),
        // The target has accepted the run: it is not lost with its message.
        None if run.status == Status::Started => return Ok(true),
        _ => {}
    }
    report.looked_at += 1;
    let schedule = stored(app, &id).await?;
    let setting = setting(&id, schedule.as_deref());
    let at_once = Limits { lost_after: Duration::zero(), ..app.settings.recovery.clone() };
    // The run was claimed and its launch never completed: it starts over.
    let as_lost = match run.status {
        Status::Started => Run { status: Status::Enqueued, ..run.clone() },
        _ => run.clone(),
    };
    let step = next_step(&as_lost, id.run_at, setting, now, &at_once);
    let step = as_missed(app, &run, schedule.as_deref(), step, call);
    report.count(act(app, &run, schedule.as_deref(), step, now).await?);
    Ok(true)
}

impl Report {
    fn count(&mut self, step: Step) {
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

fn tell(app: &App, report: &Report) {
    info!(?report, "recovery");
    app.count(&[
        Metric::count(metrics::RUNS_LOOKED_AT, report.looked_at),
        Metric::count(metrics::RUNS_RECOVERED, report.resent),
        Metric::count(metrics::RUNS_TIMED_OUT, report.timed_out),
        Metric::count(metrics::RUNS_ABANDONED, report.abandoned),
        Metric::count(metrics::DEAD_LETTERS, report.dead_letters),
        Metric::count(metrics::POISON_MESSAGES, report.poison),
        Metric::count(metrics::RECOVERY_FAILED, report.failed),
        Metric::count(metrics::SCHEDULES_CHECKED, report.checked.schedules),
        Metric::count(metrics::UNEXPLAINED, report.checked.unexplained),
    ]);
}
