//! Statistics of one schedule and of all schedules of a caller, from their newest runs.

use std::collections::BTreeMap;

use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::Instant;
use belfry_core::run::stats::{Overall, ScheduleCounts, Stats, durations, last_status};
use belfry_core::run::trace::Trace;
use belfry_core::schedule::Clock;
use belfry_core::schedule::definition::object;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value, json};

use crate::api::whose::{PAGE, Whose};
use crate::app::App;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// Runs read for the statistics of one schedule.
const OF_ONE: usize = 1000;
/// Schedules read for the statistics of a caller.
const SCHEDULES: usize = 200;
/// Runs read of each schedule for the statistics of a caller.
pub(super) const OF_EACH: usize = 100;
/// Queries made concurrently.
pub(super) const CONCURRENCY: usize = 16;

/// The statistics that the answer for one schedule has in addition to the schedule itself.
pub(super) async fn of_schedule(app: &App, clock: &Clock) -> Result<Map<String, Value>, Fault> {
    let runs = traces(app, clock, OF_ONE, None).await?;
    Ok(object(&json!({
        "stats": Stats::of(&runs),
        "last_status": last_status(&runs),
        "durations": durations(&runs),
    })))
}

/// The statistics that a list has of each schedule: its newest `count` runs whose time has come.
pub(super) async fn in_short(
    app: &App,
    clock: &Clock,
    count: usize,
) -> Result<Map<String, Value>, Fault> {
    let runs = traces(app, clock, count, Some(app.now())).await?;
    Ok(object(&json!({
        "recent": runs.iter().map(|run| run.status).collect::<Vec<_>>(),
        "stats": Stats::of(&runs),
        "last_status": last_status(&runs),
    })))
}

/// What schedules are doing and what became of their newest runs.
pub(crate) async fn overall(app: &App, caller: &Caller, whose: &Whose) -> Result<Overall, Refusal> {
    whose.check(caller)?;
    let now = app.now();
    let (clocks, truncated) = some_clocks(app, caller, whose).await?;
    let mut by_status = BTreeMap::new();
    for clock in &clocks {
        let status = serde_json::to_value(clock.status(now)).unwrap_or_default();
        *by_status.entry(status.as_str().unwrap_or_default().to_owned()).or_insert(0) += 1;
    }
    let queries = clocks.iter().map(|clock| async {
        let runs = traces(app, clock, OF_EACH, None).await?;
        Ok::<_, Fault>(Stats::of(&runs))
    });
    let queries: Vec<_> = queries.collect();
    let each: Vec<Stats> =
        stream::iter(queries).buffer_unordered(CONCURRENCY).try_collect().await?;
    let failing = each.iter().filter(|stats| stats.consecutive_failures > Some(0)).count();
    Ok(Overall {
        schedules: ScheduleCounts { total: clocks.len(), by_status, failing },
        runs: each.iter().fold(Stats::default(), Stats::and),
        truncated,
    })
}

/// The clocks of the first schedules, and whether there are more.
pub(super) async fn some_clocks(
    app: &App,
    caller: &Caller,
    whose: &Whose,
) -> Result<(Vec<Clock>, bool), Fault> {
    let mut clocks = Vec::new();
    let mut cursor = None;
    for _ in 0..SCHEDULES / PAGE {
        let page = whose.some(app, caller, cursor.as_ref()).await?;
        let ids: Vec<_> = page.iter().map(|(_, id)| id.clone()).collect();
        let found = app.store.schedules(&ids).await?;
        clocks.extend(found.into_iter().map(|schedule| schedule.clock));
        if page.len() < PAGE {
            return Ok((clocks, false));
        }
        cursor = page.into_iter().next_back();
    }
    let more = whose.some(app, caller, cursor.as_ref()).await?;
    Ok((clocks, !more.is_empty()))
}

async fn traces(
    app: &App,
    clock: &Clock,
    limit: usize,
    until: Option<Instant>,
) -> Result<Vec<Trace>, Fault> {
    let runs = newest(app, &clock.schedule_id, &clock.owner, limit, until).await?;
    Ok(runs.into_iter().map(|(_, run)| run).collect())
}

/// The newest runs of `owner`'s schedule, up to `until` if it is given. Runs that another owner had
/// under the same id are left out.
pub(super) async fn newest(
    app: &App,
    id: &ScheduleId,
    owner: &str,
    limit: usize,
    until: Option<Instant>,
) -> Result<Vec<(RunId, Trace)>, Fault> {
    let mut runs = app.store.newest_traces(id, limit, until).await?;
    runs.retain(|(_, run)| run.owner == owner);
    Ok(runs)
}
