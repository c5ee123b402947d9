//! The end of a run. Its launcher, its executor, its time limit or recovery brings it about; what
//! follows is the same, and is done here.
//!
//! In this order: the runs of followers are recorded, the end is recorded, followers are sent, the
//! backfill goes on, the bus is told, the slot is given back, and failures in a row are counted.
//! Which of these an end brings about is [`consequences`]. A process that dies in between leaves
//! records from which recovery and the tick do the rest.

pub(crate) mod failures;
pub(crate) mod feedback;

use belfry_core::run::ending::consequences;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::Schedule;

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::{Batch, Outcome};
use crate::ending::failures::after_failure;
use crate::fault::Fault;
use crate::fires::{backfill, chain, slots};

/// What brings the end of a run about.
pub(crate) enum By<'a> {
    /// The launcher that claimed it, with the other launches of its batch. It tells the bus itself,
    /// of the start and the end at once.
    Launcher {
        /// Where the end is recorded.
        batch: &'a Batch,
        /// Whether this claim took a slot.
        holds_slot: bool,
    },
    /// Its executor, whichever launcher claimed it.
    Executor,
    /// Recovery: it took too long, or is given up.
    Recovery,
}

/// A run that ends.
pub(crate) struct End<'a> {
    /// The run as it was claimed or read.
    pub(crate) run: &'a Run,
    /// Its schedule, if there still is one.
    pub(crate) schedule: Option<&'a Schedule>,
    /// How it ends.
    pub(crate) outcome: &'a Outcome,
    /// By whom.
    pub(crate) by: By<'a>,
}

/// Ends a run and does what follows from that. `false`: it was not this caller's to end any more.
pub(crate) async fn end(app: &App, end: &End<'_>) -> Result<bool, Fault> {
    let End { run, schedule, outcome, by } = end;
    let Some(follows) = consequences(outcome.status) else {
        let source = format!("{:?} is no end", outcome.status).into();
        return Err(Fault { doing: format!("end run {}", run.id), source });
    };
    let followers = match schedule {
        Some(schedule) if follows.followers_run => chain::record(app, &schedule.clock, run).await?,
        _ => Vec::new(),
    };
    let ended = record(app, end).await?;
    if ended {
        chain::send(app, &followers).await;
        if follows.backfill_goes_on {
            // Boxed, as below: thousands of launches wait at once, and few come here.
            Box::pin(backfill::after_run(app, &run.id)).await;
        }
        if !matches!(by, By::Launcher { .. }) {
            app.events.tell(&[Event::run(&run.id, outcome.status, outcome.reason)]).await;
        }
    }
    let Some(schedule) = schedule else { return Ok(ended) };
    if follows.slot_is_freed {
        free_slot(app, end, schedule, ended).await?;
    }
    if ended && follows.failures_are_counted {
        Box::pin(after_failure(app, schedule, &run.id)).await?;
    }
    Ok(ended)
}

/// Records the end. A launcher and recovery write only over the claim they know.
async fn record(app: &App, end: &End<'_>) -> Result<bool, Fault> {
    let End { run, outcome, by, .. } = end;
    let now = app.now();
    match by {
        By::Launcher { batch, .. } => batch.finish_run(run, outcome, now).await,
        By::Executor => app.store.finish_run(&run.id, None, outcome, now).await,
        By::Recovery if run.status == Status::Started => {
            app.store.finish_run(&run.id, Some(run.attempt), outcome, now).await
        }
        By::Recovery => app.store.abandon_run(&run.id, outcome, now).await,
    }
}

/// Gives back the slot of a run that is over, whoever ended it. Under `queue` the next run is woken
/// even if this one had no slot: it may have been waited for.
async fn free_slot(
    app: &App,
    end: &End<'_>,
    schedule: &Schedule,
    ended: bool,
) -> Result<(), Fault> {
    let (clock, id) = (&schedule.clock, &end.run.id);
    let holds_slot = match end.by {
        By::Launcher { holds_slot, .. } => holds_slot,
        By::Executor | By::Recovery => clock.active.contains(&id.sort_key()),
    };
    match (ended, holds_slot) {
        (true, true) => slots::pass_on(app, clock, id).await,
        (true, false) => slots::wake_next(app, clock, id).await,
        // If a newer claim has the run, so it has the slot.
        (false, true) if slots::is_over(app, id).await? => slots::pass_on(app, clock, id).await,
        (false, _) => Ok(()),
    }
}
