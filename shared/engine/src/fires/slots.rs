//! Turns: under `queue`, a run starts when those before it have ended, in the order of their times.
//!
//! Whoever begins to wait looks again afterwards, and whoever ends looks for somebody who waits: one
//! of the two sees the other, whatever the order of their steps.

use belfry_core::fire::overlap::{MAX_WAITING, Turn, turn};
use belfry_core::id::RunId;
use belfry_core::run::Reason;
use belfry_core::schedule::{Clock, Overlap};

use crate::app::App;
use crate::cloud::store::Stored;
use crate::fault::Fault;
use crate::fires::emit::parcel;

/// What a run under `queue` does when its time has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// It starts.
    Starts,
    /// It waits; whoever ends before it wakes it.
    Waits,
    /// Too many wait already.
    Full,
}

/// Has a run start or wait.
pub(crate) async fn wait_for_turn(app: &App, clock: &Clock, id: &RunId) -> Result<Waited, Fault> {
    match look(app, clock, id).await? {
        Turn::Mine => return Ok(Waited::Starts),
        Turn::Wait { waiting } if waiting >= MAX_WAITING => {
            app.store.cancel_run(id, Reason::QueueFull, clock.revision, app.now()).await?;
            return Ok(Waited::Full);
        }
        Turn::Wait { .. } => {}
    }
    free_ended(app, clock, id).await?;
    app.store.queue_run(id).await?;
    let again = match app.store.schedule(&id.schedule_id).await? {
        Stored::Schedule(both) => look(app, &both.0, id).await?,
        _ => return Ok(Waited::Waits),
    };
    Ok(if again == Turn::Mine { Waited::Starts } else { Waited::Waits })
}

async fn look(app: &App, clock: &Clock, id: &RunId) -> Result<Turn, Fault> {
    let last = clock.last_claimed.as_deref();
    let earlier = app.store.earlier_runs(id, last, app.now()).await?;
    Ok(turn(&clock.active, clock.policies.max_concurrent, &earlier, &id.sort_key()))
}

/// Frees the slots of runs that have ended: a dead run never blocks its schedule. `true`: one was
/// freed.
pub(crate) async fn free_ended(app: &App, clock: &Clock, id: &RunId) -> Result<bool, Fault> {
    let mut freed = false;
    for key in clock.active.iter().filter(|key| **key != id.sort_key()) {
        let run = match RunId::from_keys(id.schedule_id.clone(), key) {
            Ok(holder) => app.store.run(&holder).await?,
            Err(_) => None,
        };
        if run.is_none_or(|run| run.status.is_terminal()) {
            app.store.release_slot(&id.schedule_id, key).await?;
            freed = true;
        }
    }
    Ok(freed)
}

/// Gives back the slot of a run that ended, and wakes the run whose turn it is.
pub(crate) async fn pass_on(app: &App, clock: &Clock, ended: &RunId) -> Result<(), Fault> {
    app.store.release_slot(&ended.schedule_id, &ended.sort_key()).await?;
    wake_next(app, clock, ended).await
}

/// Wakes the run whose turn comes behind `ended`.
pub(crate) async fn wake_next(app: &App, clock: &Clock, ended: &RunId) -> Result<(), Fault> {
    if clock.policies.overlap_policy != Overlap::Queue {
        return Ok(());
    }
    let now = app.now();
    let last =
        clock.last_claimed.clone().map_or(ended.sort_key(), |last| last.min(ended.sort_key()));
    match app.store.next_queued(&ended.schedule_id, Some(&last), now).await? {
        Some((id, run)) => app.queue.send(&[parcel(id, &run)], now).await.into_iter().collect(),
        None => Ok(()),
    }
}
