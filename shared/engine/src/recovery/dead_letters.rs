//! Dead letters: messages of the launch queue that no launcher could handle.

use belfry_core::id::RunId;
use belfry_core::recovery::{Limits, next_step};
use belfry_core::run::{Run, Status};
use chrono::Duration;
use tracing::error;

use super::act::{Call, Report, act, as_missed, setting, stored};
use crate::app::App;
use crate::cloud::launch_queue::DeadLetter;
use crate::cloud::message::{self, Named};
use crate::fault::{Fault, place_of};

/// Receives of dead letters in one call, of up to ten letters each.
const MAX_DEAD_BATCHES: usize = 10;

/// Opens dead letters. A dead letter proves that its message was never handled: its run counts as
/// lost now, not only after the threshold.
pub(super) async fn open_all(app: &App, call: Call, report: &mut Report) {
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
