//! The progress of backfills. The function that ends a run of a backfill takes the backfill's next
//! step; a tick takes it if no function did.

use std::collections::BTreeSet;

use belfry_core::fire::backfill::{Backfill, LOOKED_AT, State};
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

/// Takes the next steps of a backfill, until its runs are at their limit or it is done.
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
        if backfill.state != State::Running {
            return Ok(());
        }
        let Stored::Schedule(schedule) = app.store.schedule(id).await? else {
            return cancel(app, id, backfill, Reason::Deleted, now).await;
        };
        let fires = backfill.fires(id).unwrap_or_default();
        let next = fires.iter().skip(backfill.position as usize).take(LOOKED_AT);
        let ran = match backfill.rerun {
            true => BTreeSet::new(),
            false => app.store.ran(id, &next.copied().collect::<Vec<_>>()).await?,
        };
        let active = runs_of(&backfill, id);
        let states = app.store.run_states(&active).await?;
        // The run's key names the fire and the backfill; the backfill's record names only the fire.
        let states = states
            .into_iter()
            .filter_map(|(key, status)| Some((key.split_once('~')?.0.to_owned(), status)));
        let step = backfill.next_step(id, &fires, &states.collect(), &ran);
        let look_at = now + CHECK_INTERVAL;
        let saved = app.store.save_backfill(id, backfill.version, &step.after, look_at);
        if saved.await? == Saved::Stale {
            continue;
        }
        launch(app, &schedule.clock, &backfill, step.launch, now).await?;
        let is_full = step.after.active.len() >= step.after.max_concurrent as usize;
        if step.after.state != State::Running {
            info!(schedule_id = %id, backfill_id, "backfill done");
        } else if !is_full && step.after.position < step.after.total {
            continue;
        }
        return Ok(());
    }
    Ok(())
}

/// Cancels a backfill: its runs that have not launched are cancelled, and it makes no more.
pub(crate) async fn cancel(
    app: &App,
    schedule: &ScheduleId,
    backfill: Backfill,
    reason: Reason,
    now: Instant,
) -> Result<(), Fault> {
    let seen = backfill.version;
    let active = runs_of(&backfill, schedule);
    let after = Backfill { state: State::Cancelled, version: seen + 1, ..backfill };
    if app.store.save_backfill(schedule, seen, &after, now).await? == Saved::Stale {
        return Err(Fault {
            doing: format!("cancel backfill {} of {schedule}", after.backfill_id),
            source: "the backfill took a step at the same time".into(),
        });
    }
    for id in active {
        if let Some(run) = app.store.run(&id).await? {
            app.store.cancel_run(&id, reason, run.revision, now).await?;
        }
    }
    info!(schedule_id = %schedule, backfill_id = after.backfill_id, ?reason, "backfill cancelled");
    Ok(())
}

/// Cancels every running backfill of a deleted schedule.
pub(crate) async fn cancel_all(app: &App, id: &ScheduleId, now: Instant) -> Result<(), Fault> {
    for backfill in app.store.backfills(id).await? {
        if backfill.state == State::Running {
            cancel(app, id, backfill, Reason::Deleted, now).await?;
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
