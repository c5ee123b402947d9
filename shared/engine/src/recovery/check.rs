//! The self-check: once a day it verifies every schedule's ledger of the day before, and every
//! clock's place in the due index. Each call of recovery checks a part. Schedules that the calls of
//! a day do not reach are not checked on that day.

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::recovery::check::{Repair, repair};
use belfry_core::schedule::Schedule;
use chrono::{Duration, DurationRound};
use futures::{StreamExt, stream};
use serde::Serialize;
use tracing::{error, info, warn};

use crate::app::App;
use crate::cloud::store::{CheckMark, Stored};
use crate::fault::Fault;
use crate::schedules::ledger::reconcile;

/// Schedules checked in one call of recovery.
const MAX_CHECKED: usize = 500;
/// Schedules checked concurrently.
const CONCURRENCY: usize = 16;
/// Unexplained fires of one schedule that are logged, at most.
const LOGGED: usize = 5;

/// What one call found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Checked {
    /// Schedules checked.
    pub schedules: usize,
    /// Fires of the day before without an explanation.
    pub unexplained: usize,
    /// Clocks put back into the due index.
    pub repaired: usize,
    /// Schedules whose check failed.
    pub failed: usize,
}

/// Continues today's check.
pub(crate) async fn check(app: &App, now: Instant) -> Result<Checked, Fault> {
    let mut checked = Checked::default();
    let today = now.duration_trunc(Duration::days(1)).unwrap_or(now);
    let mark = match app.store.check_mark().await? {
        Some(mark) if mark.day == today => mark,
        _ => CheckMark { day: today, from: None, done: false },
    };
    if mark.done {
        return Ok(checked);
    }
    let found = app.store.schedules_of_all(MAX_CHECKED, mark.from.as_ref()).await?;
    let rest = found.last().filter(|_| found.len() == MAX_CHECKED).cloned();
    let checks: Vec<_> = found.into_iter().map(|(_, id)| check_one(app, id, today, now)).collect();
    let answers: Vec<_> = stream::iter(checks).buffer_unordered(CONCURRENCY).collect().await;
    for (id, answer) in answers {
        checked.schedules += 1;
        match answer {
            Ok((unexplained, repaired)) => {
                checked.unexplained += unexplained;
                checked.repaired += usize::from(repaired);
            }
            Err(fault) => {
                error!(schedule_id = %id, %fault, "schedule not checked");
                checked.failed += 1;
            }
        }
    }
    let done = rest.is_none();
    app.store.move_check_mark(&CheckMark { day: today, from: rest, done }).await?;
    info!(?checked, done, "self-check");
    Ok(checked)
}

async fn check_one(
    app: &App,
    id: ScheduleId,
    today: Instant,
    now: Instant,
) -> (ScheduleId, Result<(usize, bool), Fault>) {
    let found = look_at(app, &id, today, now).await;
    (id, found)
}

/// The number of unexplained fires of the day before, and whether the clock had to be repaired.
async fn look_at(
    app: &App,
    id: &ScheduleId,
    today: Instant,
    now: Instant,
) -> Result<(usize, bool), Fault> {
    let Stored::Schedule(schedule) = app.store.schedule(id).await? else { return Ok((0, false)) };
    let Schedule { clock, spec } = &*schedule;
    let repaired = match repair(clock, now) {
        None => false,
        Some(repair) => {
            let next = match repair {
                Repair::SetNext(next) => Some(next),
                Repair::PutBack => None,
            };
            warn!(schedule_id = %id, ?repair, "clock adrift: put back into the due index");
            app.store.put_back(clock, next).await?
        }
    };
    let (from, to) = (today - Duration::days(1), today - Duration::seconds(1));
    let Some(ledger) = reconcile(app, clock, spec, from, to, now).await? else {
        warn!(schedule_id = %id, "schedule not checked: too many fires");
        return Ok((0, repaired));
    };
    for unexplained in ledger.unexplained.iter().take(LOGGED) {
        error!(schedule_id = %id, ?unexplained, "fire unexplained");
    }
    Ok((ledger.unexplained.len(), repaired))
}
