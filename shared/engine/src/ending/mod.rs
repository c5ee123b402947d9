//! The end of a run. A run is ended by its launcher, its executor, its time limit or recovery. The
//! consequences are the same, and this module is the only place that brings them about.
//!
//! The order: record the runs of followers, record the end, send the followers, continue the
//! backfill, publish the event, release the slot, note whether the schedule is failing, count
//! failures in a row. [`consequences`] says which of these steps an end needs. A process that dies
//! between two steps leaves records from which recovery and the tick do the remaining steps.

mod alert;
pub(crate) mod failing;
pub(crate) mod failures;
pub(crate) mod feedback;

use belfry_core::run::ending::consequences;
use belfry_core::run::{Run, Status, Trigger};
use belfry_core::schedule::Schedule;

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::{Batch, Outcome};
use crate::ending::failures::after_failure;
use crate::fault::Fault;
use crate::fires::{backfill, chain, slots};
use crate::metrics;

/// Who ends the run.
pub(crate) enum By<'a> {
    /// The launcher that claimed it, in a batch with other launches. The launcher publishes the
    /// events itself, start and end together.
    Launcher {
        /// The batch in which the end is recorded.
        batch: &'a Batch,
        /// Whether the launcher's claim holds a slot.
        holds_slot: bool,
    },
    /// Its executor, by a report; whichever launcher claimed the run.
    Executor,
    /// Recovery: the run took too long, or is abandoned.
    Recovery,
}

/// A run, and how it ends.
pub(crate) struct End<'a> {
    /// The run as it was when the caller claimed or read it.
    pub(crate) run: &'a Run,
    /// Its schedule; `None` if it has been deleted.
    pub(crate) schedule: Option<&'a Schedule>,
    /// The status, reason and result that the run ends with.
    pub(crate) outcome: &'a Outcome,
    /// Who ends it.
    pub(crate) by: By<'a>,
}

/// Ends a run and does what follows from the end. `false`: the caller was too late, because the run
/// has ended or was claimed anew.
pub(crate) async fn end(app: &App, end: &End<'_>) -> Result<bool, Fault> {
    let End { run, schedule, outcome, by } = end;
    let Some(follows) = consequences(outcome.status) else {
        let source = format!("{:?} is not a terminal status", outcome.status).into();
        return Err(Fault { doing: format!("end run {}", run.id), source });
    };
    let followers = match schedule {
        Some(schedule) if follows.followers_run => chain::record(app, &schedule.clock, run).await?,
        _ => Vec::new(),
    };
    let ended = record(app, end).await?;
    if ended {
        count(app, outcome.status);
        chain::send(app, &followers).await;
        if follows.backfill_goes_on {
            // Boxed, as below: thousands of launches wait at once, and few of them get here, so
            // their futures should not carry the size of this one.
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
    if ended {
        Box::pin(failing::after_end(app, &schedule.clock, run, outcome.status)).await;
    }
    // A backfill runs old fires: how they end says nothing about the schedule as it is now.
    if ended && follows.failures_are_counted && run.trigger != Trigger::Backfill {
        Box::pin(after_failure(app, schedule, &run.id, outcome.error.as_deref())).await?;
    }
    Ok(ended)
}

/// Counts a run that ended. Every run ends once, so that each counts once.
fn count(app: &App, status: Status) {
    match status {
        Status::Success => app.tally(metrics::RUNS_SUCCEEDED),
        Status::Failed => app.tally(metrics::RUNS_FAILED),
        // Recovery counts the runs that it abandons, and launcher and tick those that are skipped.
        _ => {}
    }
}

/// Records the end. A launcher and recovery record it only if the run's claim is still the one that
/// they know.
async fn record(app: &App, end: &End<'_>) -> Result<bool, Fault> {
    let End { run, outcome, by, .. } = end;
    let now = app.now();
    match by {
        By::Launcher { batch, .. } => batch.finish_run(run, outcome, now).await,
        By::Executor if run.is_between_attempts() => {
            app.store.finish_waiting_run(run, outcome, now).await
        }
        By::Executor => app.store.finish_run(&run.id, None, outcome, now).await,
        By::Recovery if run.status == Status::Started => {
            app.store.finish_run(&run.id, Some(run.attempt), outcome, now).await
        }
        By::Recovery => app.store.abandon_run(&run.id, outcome, now).await,
    }
}

/// Releases the slot of a run that has ended, by whichever function. Under `queue` the next run is
/// woken even if this run held no slot: the next run may have waited for it.
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
        // If a newer claim holds the run, that claim holds the slot too.
        (false, true) if slots::is_over(app, id).await? => slots::pass_on(app, clock, id).await,
        (false, _) => Ok(()),
    }
}
