//! Backfills, going on: whoever sees a run of one end takes its next step, and a tick does when
//! nobody did.

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

/// How soon a tick looks at a backfill again.
const LOOK_AGAIN: Duration = Duration::minutes(1);
/// Steps in a row, where others step too or many fires ran by themselves.
const STEPS: usize = 20;

/// Goes on with the backfill that `ended` is a run of, if it is one's. A tick does what fails here.
pub(crate) async fn after_run(app: &App, ended: &RunId) {
    let Some(backfill_id) = ended.cause.as_ref().and_then(|cause| cause.as_backfill()) else {
        return;
    };
    if let Err(fault) = go_on(app, &ended.schedule_id, backfill_id, app.now()).await {
        warn!(run_id = %ended, %fault, "backfill waits for a tick");
    }
}

/// Takes the next steps of a backfill.
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
        // Runs are named by fire and backfill, the record by the fire alone.
        let states = states
            .into_iter()
            .filter_map(|(key, status)| Some((key.split_once('~')?.0.to_owned(), status)));
        let step = backfill.next_step(id, &fires, &states.collect(), &ran);
        let look_at = now + LOOK_AGAIN;
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

/// Ends a backfill: what has not launched of it will not.
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
            source: "it went on meanwhile".into(),
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

/// Cancels every backfill of a schedule that is no more.
pub(crate) async fn cancel_all(app: &App, id: &ScheduleId, now: Instant) -> Result<(), Fault> {
    for backfill in app.store.backfills(id).await? {
        if backfill.state == State::Running {
            cancel(app, id, backfill, Reason::Deleted, now).await?;
        }
    }
    Ok(())
}

/// Makes and sends runs. One that is there already is not made again.
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
            // Its own bound holds, not the schedule's.
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
