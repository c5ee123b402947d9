//! The life of a schedule, for its statistics: the sums of its older runs, and the records of the
//! newer ones.

use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::run::sums::Sums;
use belfry_core::run::totals::Life;
use belfry_core::run::trace::Trace;
use belfry_core::schedule::{Clock, Schedule};
use chrono::Duration;

use crate::app::App;
use crate::cloud::store::Stored;
use crate::fault::Fault;

/// The most runs that are counted one by one. If there are more, the older ones are added to the sums
/// first.
const MAX_UNCOUNTED: usize = 2000;
/// Runs added to the sums at once.
const CHUNK: usize = 5000;
/// How often runs are added for one question.
const MAX_CHUNKS: usize = 20;
/// Runs that are worth a write of the sums.
const WORTH_ADDING: usize = 100;

/// The life of a schedule. Of its newest runs at least `newest` are read, though they may be in the
/// sums.
pub(crate) async fn life(app: &App, schedule: &Schedule, newest: usize) -> Result<Life, Fault> {
    let life = read(app, &schedule.clock, newest).await?;
    if !life.gap {
        return Ok(life);
    }
    add_up(app, schedule).await?;
    read(app, &schedule.clock, newest).await
}

async fn read(app: &App, clock: &Clock, least: usize) -> Result<Life, Fault> {
    let id = &clock.schedule_id;
    // The sums are read first: a run that is added to them meanwhile is counted from its record.
    let sums = app.store.sums(id).await?.filter(|sums| sums.owner == clock.owner);
    let until = sums.as_ref().map(|sums| sums.until);
    let mut newest = app.store.traces_back_to(id, until, least, MAX_UNCOUNTED).await?;
    let oldest = newest.last().map(|(id, _)| id.run_at);
    let gap = newest.len() == MAX_UNCOUNTED && until.is_none_or(|until| oldest >= Some(until));
    newest.retain(|(_, run)| run.owner == clock.owner);
    let mut open = open(app, sums.as_ref()).await?;
    open.sort_by_key(|(id, _)| std::cmp::Reverse(id.run_at));
    Ok(Life { sums, newest, open, gap })
}

/// The records of the runs that sums name as open.
async fn open(app: &App, sums: Option<&Sums>) -> Result<Vec<(RunId, Trace)>, Fault> {
    let named = sums.map(|sums| sums.open.as_slice()).unwrap_or_default();
    let ids: Vec<_> = named.iter().map(|open| open.run.clone()).collect();
    app.store.traces_of(&ids).await
}

/// Adds the runs of a schedule to its sums, if there are enough to be worth it, or if their records
/// could expire before there are.
pub(crate) async fn tidy(
    app: &App,
    schedule: &Schedule,
    life: &Life,
    now: Instant,
) -> Result<(), Fault> {
    let until = life.sums.as_ref().map_or(Instant::UNIX_EPOCH, |sums| sums.until);
    let uncounted = || life.newest.iter().filter(|(id, _)| id.run_at >= until);
    let is_old = |at: Instant| now - at > app.settings.run_ttl / 2;
    let has_ended = life.open.iter().any(|(_, run)| run.status.is_terminal());
    if !has_ended
        && uncounted().count() < WORTH_ADDING
        && !uncounted().next_back().is_some_and(|(id, _)| is_old(id.run_at))
    {
        return Ok(());
    }
    add_up(app, schedule).await
}

/// Adds runs to the sums of a schedule, oldest first, as many as a call may. The sums of an owner who
/// had the id before are replaced.
async fn add_up(app: &App, schedule: &Schedule) -> Result<(), Fault> {
    let clock = &schedule.clock;
    let (id, now) = (&clock.schedule_id, app.now());
    let late = late(app, schedule).await?;
    let mut seen = app.store.sums(id).await?;
    for _ in 0..MAX_CHUNKS {
        let own = seen.clone().filter(|sums| sums.owner == clock.owner);
        let old = own.unwrap_or_else(|| Sums::of_nothing(&clock.owner));
        let open = open(app, Some(&old)).await?;
        let runs = app.store.oldest_traces(id, old.until, CHUNK).await?;
        let is_all = runs.len() < CHUNK;
        let Some(new) = old.with(&runs, &open, is_all, clock, late, now) else { break };
        let new = Sums { written: seen.as_ref().map_or(0, |seen| seen.written) + 1, ..new };
        if !app.store.save_sums(id, seen.as_ref(), &new).await? || is_all {
            break;
        }
        seen = Some(new);
    }
    Ok(())
}

/// How long after its time a run may be recorded. Only a run that follows another is recorded late:
/// its time is the launch time of the other run, and it is recorded when that one has ended.
async fn late(app: &App, schedule: &Schedule) -> Result<Duration, Fault> {
    let Some(followed) = &schedule.spec.options.after_schedule_id else {
        return Ok(Duration::zero());
    };
    let Stored::Schedule(followed) = app.store.schedule(followed).await? else {
        return Ok(Duration::zero());
    };
    let house = Duration::seconds(i64::from(app.settings.house.max_runtime_s));
    let max_runtime = followed.spec.options.max_runtime().unwrap_or(house);
    Ok(app.settings.recovery.max_age + max_runtime)
}
