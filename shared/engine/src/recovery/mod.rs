//! Recovery: looks at every run when its time is past by the lost threshold, and opens dead
//! letters.
//!
//! Recovery takes no input. It may be called at any time, also twice at once: sweeping a minute
//! twice does no harm, because every step is conditional on the run being as recovery read it.

mod act;
mod check;
mod dead_letters;

use std::collections::BTreeSet;

use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::recovery::{Step, next_step};
use belfry_core::run::Run;
use belfry_core::schedule::Clock;
use chrono::{Duration, DurationRound};
use futures::{StreamExt, stream};
use tracing::{error, info, warn};

use self::act::{Call, Report, act, as_missed, setting, stored};
use self::check::check;
use crate::app::App;
use crate::ending::failing::{self, says};
use crate::fault::Fault;
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

/// Opens the dead letters, sweeps every minute since the last call, and continues the self-check.
pub(crate) async fn recover(app: &App, now: Instant) -> Report {
    let mut report = Report::default();
    let bookmark = app.store.bookmark().await;
    let after_outage = matches!(&bookmark, Ok(Some(known)) if is_long_ago(app, *known, now));
    let call = Call { now, after_outage };
    dead_letters::open_all(app, call, &mut report).await;
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
