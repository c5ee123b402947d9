//! Slots: under `skip` and `queue` a run needs a slot to start, and releases it when it has ended.
//!
//! Under `queue` runs start in the order of their times. A run checks again after it has become
//! QUEUED, and a run that ends looks for queued ones, so a wake-up cannot be missed.

use belfry_core::fire::overlap::{Blocked, Decision, Slots, decide};
use belfry_core::id::RunId;
use belfry_core::run::Reason;
use belfry_core::schedule::{Clock, Overlap};

use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::store::{Slot, Stored};
use crate::fault::Fault;

/// Decides about a run under `queue` whose time has come: it starts, waits or is skipped. A wait or
/// a skip is already recorded when this returns; a start is left to the caller.
pub(crate) async fn wait_for_turn(app: &App, clock: &Clock, id: &RunId) -> Result<Decision, Fault> {
    match look(app, clock, id).await? {
        Decision::Start => return Ok(Decision::Start),
        Decision::Skip(blocked) => {
            app.store.cancel_run(id, Reason::QueueFull, clock.revision, app.now()).await?;
            return Ok(Decision::Skip(blocked));
        }
        Decision::Wait => {}
    }
    free_ended(app, clock, id).await?;
    app.store.queue_run(id).await?;
    let Stored::Schedule(schedule) = app.store.schedule(&id.schedule_id).await? else {
        return Ok(Decision::Wait);
    };
    Ok(match look(app, &schedule.clock, id).await? {
        Decision::Start => Decision::Start,
        Decision::Wait | Decision::Skip(_) => Decision::Wait,
    })
}

async fn look(app: &App, clock: &Clock, id: &RunId) -> Result<Decision, Fault> {
    let last = clock.last_claimed.as_deref();
    let earlier = app.store.earlier_runs(id, last, app.now()).await?;
    let slots = Slots { active: &clock.active, max: clock.policies.max_concurrent };
    Ok(decide(Overlap::Queue, slots, &earlier, &id.sort_key()))
}

/// The answer to a run that asks for a slot.
pub(crate) enum Taken {
    /// The run holds a slot.
    Yes,
    /// Other runs hold all slots; the overlap policy decided this.
    No(Decision),
    /// The definition has changed since the clock was read.
    Changed,
}

/// Takes a slot for a run. If all are taken, the slots of runs that have ended are freed first.
pub(crate) async fn take(
    app: &App,
    clock: &Clock,
    policy: Overlap,
    id: &RunId,
) -> Result<Taken, Fault> {
    let mut slot = app.store.take_slot(clock, id).await?;
    if let Slot::Full(holders) = &slot {
        let clock = Clock { active: holders.clone(), ..clock.clone() };
        if free_ended(app, &clock, id).await? {
            slot = app.store.take_slot(&clock, id).await?;
        }
    }
    Ok(match slot {
        Slot::Taken => Taken::Yes,
        Slot::Changed => Taken::Changed,
        Slot::Full(holders) => {
            let slots = Slots { active: &holders, max: clock.policies.max_concurrent };
            match decide(policy, slots, &[], &id.sort_key()) {
                // A slot became free meanwhile; the next delivery takes it.
                Decision::Start => Taken::No(Decision::Wait),
                decision => Taken::No(decision),
            }
        }
    })
}

/// The sort key of the run that holds the slot; `None` if the queue was full.
pub(crate) fn holder(blocked: Blocked) -> Option<String> {
    match blocked {
        Blocked::By(key) => Some(key),
        Blocked::FullQueue => None,
    }
}

/// Frees the slots of runs that have ended, so that a dead run never blocks its schedule. `true`:
/// at least one slot was freed.
pub(crate) async fn free_ended(app: &App, clock: &Clock, id: &RunId) -> Result<bool, Fault> {
    let mut freed = false;
    for key in clock.active.iter().filter(|key| **key != id.sort_key()) {
        let is_over = match RunId::from_keys(id.schedule_id.clone(), key) {
            Ok(holder) => is_over(app, &holder).await?,
            Err(_) => true,
        };
        if is_over {
            app.store.release_slot(&id.schedule_id, key).await?;
            freed = true;
        }
    }
    Ok(freed)
}

/// Whether a run has ended, or its record has expired.
pub(crate) async fn is_over(app: &App, id: &RunId) -> Result<bool, Fault> {
    Ok(app.store.run(id).await?.is_none_or(|run| run.status.is_terminal()))
}

/// Releases the slot that an ended run may hold, and wakes the run whose turn comes next.
pub(crate) async fn pass_on(app: &App, clock: &Clock, ended: &RunId) -> Result<(), Fault> {
    app.store.release_slot(&ended.schedule_id, &ended.sort_key()).await?;
    wake_next(app, clock, ended).await
}

/// Under `queue`, wakes the queued run whose turn comes next. Under other policies no run waits.
pub(crate) async fn wake_next(app: &App, clock: &Clock, ended: &RunId) -> Result<(), Fault> {
    if clock.policies.overlap_policy != Overlap::Queue {
        return Ok(());
    }
    let now = app.now();
    let last =
        clock.last_claimed.clone().map_or(ended.sort_key(), |last| last.min(ended.sort_key()));
    match app.store.next_queued(&ended.schedule_id, Some(&last), now).await? {
        Some(run) => app.queue.send(&[Parcel::of(&run)], now).await.into_iter().collect(),
        None => Ok(()),
    }
}
