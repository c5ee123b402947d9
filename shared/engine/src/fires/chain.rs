//! Chains: when a run succeeds, the schedules that follow its schedule run too.
//!
//! The followers' runs are recorded before the success is recorded, and sent after it. A process
//! that dies in between leaves records that recovery sends. Before a launcher starts such a run, it
//! checks that the run it follows did succeed.

use belfry_core::id::{Cause, RunId};
use belfry_core::run::{Run, Status, Trigger};
use belfry_core::schedule::Clock;
use tracing::{info, warn};

use crate::app::App;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::store::Put;
use crate::fault::Fault;

/// What a launcher does with a run that follows another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follows {
    /// The run may start: the other run succeeded, or this run follows none.
    Starts,
    /// The run waits: the other run has not ended.
    Waits,
    /// The run is cancelled: the other run did not succeed.
    Never,
}

/// Records the runs that follow `run`, whose schedule is `clock`. Answers with the parcels to send
/// once the success of `run` is recorded.
pub(crate) async fn record(app: &App, clock: &Clock, run: &Run) -> Result<Vec<Parcel>, Fault> {
    if clock.then.is_empty() {
        return Ok(Vec::new());
    }
    let now = app.now();
    let names: Vec<_> = clock.then.iter().cloned().collect();
    let mut parcels = Vec::new();
    for follower in app.store.clocks(&names).await? {
        let follower = match follower {
            Ok(follower) if follower.owner == clock.owner => follower,
            Ok(_) => continue,
            Err(fault) => {
                warn!(run_id = %run.id, %fault, "follower skipped: its clock is unreadable");
                continue;
            }
        };
        let trigger = Trigger::After(run.id.clone());
        // The id is the same for every process that records the run. Its time is the launch time of
        // the run that it follows, which is recent even if that fire is old.
        let next = RunId::caused(&follower.schedule_id, run.launch_at, Cause::after(&run.id));
        let next = Run::planned(next, trigger, &follower.owner, follower.revision, now, now);
        match app.store.put_run(&next).await? {
            Put::New => parcels.push(Parcel::of(&next)),
            Put::Unlaunched(next) => parcels.push(Parcel::of(&next)),
            Put::Beyond(_) => {}
        }
    }
    Ok(parcels)
}

/// Sends the followers' runs. If sending fails, recovery finds the runs and sends them.
pub(crate) async fn send(app: &App, parcels: &[Parcel]) {
    if parcels.is_empty() {
        return;
    }
    for (parcel, sent) in parcels.iter().zip(app.queue.send(parcels, app.now()).await) {
        let run_id = &parcel.message.run_id;
        match sent {
            Ok(()) => info!(%run_id, "follower sent"),
            Err(fault) => warn!(%run_id, %fault, "follower not sent: recovery will send it"),
        }
    }
}

/// Decides whether a run may start, by the state of the run that it follows.
pub(crate) async fn follows(app: &App, run: &Run) -> Result<Follows, Fault> {
    let Trigger::After(other) = &run.trigger else { return Ok(Follows::Starts) };
    Ok(match app.store.run(other).await? {
        // The other run's record has expired: it existed when this run was recorded.
        None => Follows::Starts,
        Some(other) if other.status == Status::Success => Follows::Starts,
        Some(other) if other.status.is_terminal() => Follows::Never,
        Some(_) => Follows::Waits,
    })
}
