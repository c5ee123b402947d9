//! The self-check: once a day it verifies every schedule's ledger of the day before, and every
//! clock's place in the due index; it adds ended runs to the sums of their schedules, and counts the
//! totals of owners with many schedules. Each call of recovery checks a part. If the calls of a day do
//! not reach all schedules, those of the next day continue, and the next check verifies every day
//! since this one began.

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::run::totals::{Life, STORED_MINUTES, Totals};
use belfry_core::schedule::{Clock, Schedule, Spec};
use chrono::{Duration, DurationRound};
use futures::{StreamExt, stream};
use serde::Serialize;
use tracing::{error, info, warn};

use crate::app::App;
use crate::cloud::store::{CheckMark, Of, Owned, Stored};
use crate::ending::failing;
use crate::fault::Fault;
use crate::schedules::ledger::reconcile;
use crate::schedules::life::{life, tidy};
use crate::schedules::mend::mend;

/// Schedules checked in one call of recovery.
const MAX_CHECKED: usize = 500;
/// Schedules checked concurrently.
const CONCURRENCY: usize = 16;
/// Days that one check verifies at most.
const MAX_DAYS: i64 = 7;
/// Unexplained fires of one schedule that are logged, at most.
const LOGGED: usize = 5;
/// Runs of each schedule whose drift is counted, at least, if there are as many.
const OF_EACH: usize = 20;
/// Owners with more schedules than this have stored totals. Those of others are counted on request.
const STORED_ABOVE: u64 = 200;

/// What one call found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Checked {
    /// Schedules checked.
    pub schedules: usize,
    /// Fires of the verified days without an explanation.
    pub unexplained: usize,
    /// Clocks put back into the due index.
    pub repaired: usize,
    /// Schedules whose check failed.
    pub failed: usize,
}

/// What the check of one schedule found.
struct Seen {
    schedule: Box<Schedule>,
    life: Life,
    unexplained: usize,
    repaired: bool,
}

/// Continues the check, or begins one if that of an earlier day is done.
pub(crate) async fn check(app: &App, now: Instant) -> Result<Checked, Fault> {
    let mut checked = Checked::default();
    let today = now.duration_trunc(Duration::days(1)).unwrap_or(now);
    let mark = match app.store.check_mark().await? {
        Some(mark) if !mark.done || mark.day == today => mark,
        before => CheckMark::begin(first_day(before.as_ref(), today), today),
    };
    if mark.done {
        return Ok(checked);
    }
    let found = app.store.schedules_of_all(MAX_CHECKED, mark.from.as_ref()).await?;
    let rest = found.last().filter(|_| found.len() == MAX_CHECKED).cloned();
    let days = (mark.since, mark.day);
    let checks: Vec<_> = found.into_iter().map(|owned| check_one(app, owned, days, now)).collect();
    // In order: the schedules of an owner are next to each other.
    let answers: Vec<_> = stream::iter(checks).buffered(CONCURRENCY).collect().await;
    let mut seen = Vec::new();
    for (id, answer) in answers {
        checked.schedules += 1;
        match answer {
            Ok(Some(one)) => {
                checked.unexplained += one.unexplained;
                checked.repaired += usize::from(one.repaired);
                seen.push(one);
            }
            Ok(None) => {}
            Err(fault) => {
                error!(schedule_id = %id, %fault, "schedule not checked");
                checked.failed += 1;
            }
        }
    }
    let done = rest.is_none();
    let (of_owner, of_all) = count(app, mark, &seen, done, now).await?;
    let (since, day) = days;
    app.store
        .move_check_mark(&CheckMark { day, since, from: rest, done, of_owner, of_all })
        .await?;
    info!(?checked, done, "self-check");
    Ok(checked)
}

/// The first day that a new check verifies: the first that the check before it did not.
fn first_day(before: Option<&CheckMark>, today: Instant) -> Instant {
    let yesterday = today - Duration::days(1);
    let first = before.map_or(yesterday, |before| before.day.min(yesterday));
    first.max(today - Duration::days(MAX_DAYS))
}

/// Adds the schedules of this call to the totals of their owners and of all, and stores the totals
/// that are complete. Answers with those that the next call continues.
async fn count(
    app: &App,
    mark: CheckMark,
    seen: &[Seen],
    done: bool,
    now: Instant,
) -> Result<(Option<(String, Totals)>, Option<Totals>), Fault> {
    let (mut of_owner, mut of_all) = (mark.of_owner, mark.of_all);
    let last = seen.last().map(|one| &one.schedule.clock.owner);
    for some in seen.chunk_by(|a, b| a.schedule.clock.owner == b.schedule.clock.owner) {
        let owner = &some[0].schedule.clock.owner;
        // An owner with few schedules, all of them here, has no stored totals, and counting fires to
        // come takes long.
        let goes_on = !done && Some(owner) == last;
        let went_on = of_owner.as_ref().is_some_and(|(before, _)| before == owner);
        let is_stored = goes_on || went_on || some.len() as u64 > STORED_ABOVE;
        let minutes = if is_stored { STORED_MINUTES } else { 0 };
        let mut totals = Totals::of_nothing(minutes, now);
        some.iter().for_each(|one| totals.add(&one.schedule.clock, &one.life, now));
        let all = of_all.unwrap_or_else(|| Totals::of_nothing(0, now));
        of_all = Some(all.and(&totals));
        of_owner = Some(match of_owner {
            Some((same, before)) if same == *owner => (same, before.and(&totals)),
            before => {
                if let Some((other, complete)) = before {
                    store(app, Of::Owner(&other), &complete).await?;
                }
                (owner.clone(), totals)
            }
        });
    }
    if !done {
        return Ok((of_owner, of_all));
    }
    if let Some((owner, totals)) = &of_owner {
        store(app, Of::Owner(owner), totals).await?;
    }
    if let Some(totals) = &of_all {
        store(app, Of::All, totals).await?;
    }
    Ok((None, None))
}

async fn store(app: &App, of: Of<'_>, totals: &Totals) -> Result<(), Fault> {
    match totals.schedules > STORED_ABOVE {
        true => app.store.save_totals(of, totals).await,
        false => Ok(()),
    }
}

async fn check_one(
    app: &App,
    (_, id): Owned,
    days: (Instant, Instant),
    now: Instant,
) -> (ScheduleId, Result<Option<Seen>, Fault>) {
    let found = look_at(app, &id, days, now).await;
    (id, found)
}

async fn look_at(
    app: &App,
    id: &ScheduleId,
    days: (Instant, Instant),
    now: Instant,
) -> Result<Option<Seen>, Fault> {
    let Stored::Schedule(schedule) = app.store.schedule(id).await? else { return Ok(None) };
    let Schedule { clock, spec } = &*schedule;
    let repaired = mend(app, clock, true, now).await?;
    let life = life(app, &schedule, OF_EACH).await?;
    tidy(app, &schedule, &life, now).await?;
    if clock.failing != (life.stats().consecutive_failures > Some(0)) {
        failing::review(app, clock).await?;
    }
    let (mut day, end) = days;
    let mut unexplained = 0;
    // Day by day: a ledger has a limited number of fires.
    while day < end {
        unexplained += unexplained_on(app, clock, spec, day, now).await?;
        day += Duration::days(1);
    }
    Ok(Some(Seen { schedule, life, unexplained, repaired }))
}

/// The number of unexplained fires of a day.
async fn unexplained_on(
    app: &App,
    clock: &Clock,
    spec: &Spec,
    day: Instant,
    now: Instant,
) -> Result<usize, Fault> {
    let id = &clock.schedule_id;
    let (from, to) = (day, day + Duration::days(1) - Duration::seconds(1));
    let Some(ledger) = reconcile(app, clock, spec, from, to, now).await? else {
        warn!(schedule_id = %id, "schedule not checked: too many fires");
        return Ok(0);
    };
    for unexplained in ledger.unexplained.iter().take(LOGGED) {
        error!(schedule_id = %id, ?unexplained, "fire unexplained");
    }
    Ok(ledger.unexplained.len())
}
