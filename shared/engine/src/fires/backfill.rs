//! The progress of backfills. The function that ends a run of a backfill takes the backfill's next
//! step; a tick takes it if no function did.

use std::collections::BTreeSet;

use belfry_core::fire::backfill::{Backfill, LOOKED_AT, State, left_to_the_clock};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Reason, Run, Trigger};
use belfry_core::schedule::{Clock, Overlap};
use chrono::Duration;
use tracing::{info, warn};

use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::store::{Put, Saved, Stored};
use crate::fault::Fault;

/// A tick looks at a running backfill again after this time.
const CHECK_INTERVAL: Duration = Duration::minutes(1);
/// Steps that one call takes at most. More than one is needed if another function takes steps at
/// the same time, or if many fires have run already.
const STEPS: usize = 20;

/// Continues the backfill that the run `ended` belongs to, if it belongs to one. A tick repeats a
/// step that fails here.
pub(crate) async fn after_run(app: &App, ended: &RunId) {
    let Some(backfill_id) = ended.cause.as_ref().and_then(|cause| cause.as_backfill()) else {
        return;
    };
    if let Err(fault) = go_on(app, &ended.schedule_id, backfill_id, app.now()).await {
        warn!(run_id = %ended, %fault, "backfill step failed: the next tick repeats it");
    }
}

/// Takes the next steps of a backfill, until its runs are at their limit or it is over.
pub(crate) async fn go_on(
    app: &App,
    id: &ScheduleId,
    backfill_id: &str,
    now: Instant,
) -> Result<(), Fault> {
    for _ in 0..STEPS {
        let Some(backfill) = app.store.backfill(id, backfill_id).await? else {
            return Ok(());
        };
        if backfill.is_over() {
            return Ok(());
        }
        let clock = clock_of(app, id, &backfill).await?;
        match (backfill.state, &clock) {
            (State::Running, None) => {
                stop(app, id, &backfill, now).await?;
                continue;
            }
            (State::Running, Some(_)) => {}
            _ => stop_runs(app, id, &backfill, clock.as_ref(), now).await?,
        }
        let fires = backfill.fires(id).unwrap_or_default();
        let (beside, ran) = match &clock {
            Some(clock) if backfill.state == State::Running && !backfill.rerun => {
                let next = fires.iter().skip(backfill.position as usize).take(LOOKED_AT);
                ran(app, clock, &backfill, &next.copied().collect::<Vec<_>>(), now).await?
            }
            _ => Default::default(),
        };
        let states = app.store.run_states(&backfill.owner, &runs_of(&backfill, id)).await?;
        // The run's key names the fire and the backfill; the backfill's record names only the fire.
        let states = states
            .into_iter()
            .filter_map(|(key, status)| Some((key.split_once('~')?.0.to_owned(), status)));
        let step = backfill.next_step(id, &fires, &states.collect(), &ran);
        let look_at = now + CHECK_INTERVAL;
        let saved = app.store.save_backfill(id, backfill.version, &step.after, look_at, &beside);
        if saved.await? == Saved::Stale {
            continue;
        }
        if let Some(clock) = &clock {
            launch(app, clock, &backfill, step.launch, now).await?;
        }
        let is_full = step.after.active.len() >= step.after.max_concurrent as usize;
        if step.after.is_over() {
            info!(schedule_id = %id, backfill_id, state = ?step.after.state, "backfill over");
        } else if step.after.state == State::Running
            && !is_full
            && step.after.position < step.after.total
        {
            continue;
        }
        return Ok(());
    }
    Ok(())
}

/// The clock of the schedule that a backfill is of, if that schedule is there. One that was created
/// again under its id has nothing to do with the backfill.
async fn clock_of(app: &App, id: &ScheduleId, backfill: &Backfill) -> Result<Option<Clock>, Fault> {
    Ok(match app.store.schedule(id).await? {
        Stored::Schedule(schedule) => Some(schedule.clock).filter(|clock| backfill.is_of(clock)),
        _ => None,
    })
}

/// Those of some fires that ran, or will run, without the backfill; and the backfills that were
/// looked at for it.
pub(crate) async fn ran(
    app: &App,
    clock: &Clock,
    backfill: &Backfill,
    fires: &[Instant],
    now: Instant,
) -> Result<(Vec<Backfill>, BTreeSet<Instant>), Fault> {
    let id = &clock.schedule_id;
    let mut beside = app.store.backfills(id).await?;
    beside.retain(|other| backfill.is_beside(other));
    let mut ran = app.store.ran(clock, fires, &beside).await?;
    ran.extend(left_to_the_clock(clock, fires, app.settings.horizon.grace, now));
    for other in &beside {
        let theirs = backfill.leaves_to(other, id);
        ran.extend(fires.iter().filter(|at| theirs.contains(at)));
    }
    Ok((beside, ran))
}

/// Cancels a backfill: its runs that have not launched are cancelled, and it makes no more. Runs
/// that have launched go on, and it counts how they end.
pub(crate) async fn cancel(
    app: &App,
    schedule: &ScheduleId,
    backfill_id: &str,
    now: Instant,
) -> Result<(), Fault> {
    for _ in 0..STEPS {
        let found = app.store.backfill(schedule, backfill_id).await?;
        let Some(backfill) = found.filter(|found| found.state == State::Running) else {
            return go_on(app, schedule, backfill_id, now).await;
        };
        stop(app, schedule, &backfill, now).await?;
    }
    Err(Fault {
        doing: format!("cancel backfill {backfill_id} of {schedule}"),
        source: "the backfill keeps taking steps at the same time".into(),
    })
}

/// Records that a backfill makes no more runs, unless it has taken a step meanwhile.
async fn stop(
    app: &App,
    schedule: &ScheduleId,
    backfill: &Backfill,
    now: Instant,
) -> Result<(), Fault> {
    let (seen, backfill_id) = (backfill.version, &backfill.backfill_id);
    let after = Backfill { state: State::Cancelled, version: seen + 1, ..backfill.clone() };
    if app.store.save_backfill(schedule, seen, &after, now, &[]).await? == Saved::Yes {
        info!(schedule_id = %schedule, backfill_id, "backfill cancelled");
    }
    Ok(())
}

/// Cancels the runs of a cancelled backfill that have not launched. A run that was decided on and
/// has no record gets one: the function that decided on it may still be about to create it.
async fn stop_runs(
    app: &App,
    schedule: &ScheduleId,
    backfill: &Backfill,
    clock: Option<&Clock>,
    now: Instant,
) -> Result<(), Fault> {
    let reason = if clock.is_some() { Reason::Cancelled } else { Reason::Deleted };
    let revision = clock.map_or(0, |clock| clock.revision);
    for id in runs_of(backfill, schedule) {
        let mut found = app.store.run(&id).await?;
        if found.is_none() {
            let none = Run::planned(id, Trigger::Backfill, &backfill.owner, revision, now, now);
            if let Put::Unlaunched(run) = app.store.put_run(&none.skipped(reason, now)).await? {
                found = Some(*run);
            }
        }
        if let Some(run) = found.filter(|run| !run.status.is_terminal()) {
            app.store.cancel_run(&run.id, reason, run.revision, now).await?;
        }
    }
    Ok(())
}

/// Cancels every running backfill of a deleted schedule.
pub(crate) async fn cancel_all(app: &App, id: &ScheduleId, now: Instant) -> Result<(), Fault> {
    for backfill in app.store.backfills(id).await? {
        if backfill.state == State::Running {
            cancel(app, id, &backfill.backfill_id, now).await?;
        }
    }
    Ok(())
}

/// Records and sends runs of a backfill. A run that is recorded already is sent again unless it has
/// launched.
async fn launch(
    app: &App,
    clock: &Clock,
    backfill: &Backfill,
    ids: Vec<RunId>,
    now: Instant,
) -> Result<(), Fault> {
    let mut parcels = Vec::new();
    for id in ids {
        let run = Run {
            payload: backfill.payload.clone(),
            // The limit of the backfill applies, not the overlap policy of the schedule.
            overlap_policy: Some(Overlap::Allow),
            ..Run::planned(id, Trigger::Backfill, &clock.owner, clock.revision, now, now)
        };
        match app.store.put_run(&run).await? {
            Put::New => parcels.push(Parcel::of(&run)),
            Put::Unlaunched(run) => parcels.push(Parcel::of(&run)),
            Put::Beyond(_) => {}
        }
    }
    app.queue.send(&parcels, now).await.into_iter().collect()
}

fn runs_of(backfill: &Backfill, schedule: &ScheduleId) -> Vec<RunId> {
    let fires = backfill.active.iter().filter_map(|key| instant::parse(key));
    fires.map(|at| backfill.run_id(schedule, at)).collect()
}
