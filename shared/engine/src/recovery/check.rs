//! The self-check: once a day, every schedule's ledger of the day before, and every clock's place in
//! the due index. Each call of recovery does a part: what a day of calls cannot get through is not
//! checked that day.

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

/// Schedules checked in one call.
const MAX_CHECKED: usize = 500;
/// Checks under way at once.
const CONCURRENCY: usize = 16;
/// Unexplained fires of one schedule that are logged.
const LOGGED: usize = 5;

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Checked {
    /// Schedules looked at.
    pub schedules: usize,
    /// Fires nobody can explain.
    pub unexplained: usize,
    /// Clocks brought back into the due index.
    pub repaired: usize,
    /// Schedules that could not be checked.
    pub failed: usize,
}

/// Goes on with today's check.
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
                error!(schedule_id = %id, %fault, "not checked");
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

/// How many fires of the day before are unexplained, and whether the clock was adrift.
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
            warn!(schedule_id = %id, ?repair, "clock was adrift");
            app.store.put_back(clock, next).await?
        }
    };
    let (from, to) = (today - Duration::days(1), today - Duration::seconds(1));
    let Some(ledger) = reconcile(app, clock, spec, from, to, now).await? else {
        warn!(schedule_id = %id, "too many fires to check");
        return Ok((0, repaired));
    };
    for unexplained in ledger.unexplained.iter().take(LOGGED) {
        error!(schedule_id = %id, ?unexplained, "unexplained");
    }
    Ok((ledger.unexplained.len(), repaired))
}
