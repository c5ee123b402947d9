//! Statistics of a schedule, and of all of a caller's, from their newest runs.

use std::collections::BTreeMap;

use belfry_core::definition::object;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::Instant;
use belfry_core::schedule::Clock;
use belfry_core::stats::{Stats, durations, last_status};
use belfry_core::trace::Trace;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Map, Value, json};

use super::{Caller, Refusal};
use crate::app::App;
use crate::fault::Fault;

/// Runs looked at for the statistics of one schedule.
const OF_ONE: usize = 1000;
/// Schedules looked at for the statistics of a caller.
const SCHEDULES: usize = 200;
/// Runs looked at of each of them.
pub(super) const OF_EACH: usize = 100;
/// Schedules read at once.
const TOGETHER: usize = 50;
/// Queries under way at once.
pub(super) const CONCURRENCY: usize = 16;

/// What the answer for one schedule says of its runs, beside the schedule itself.
pub(super) async fn of_schedule(app: &App, clock: &Clock) -> Result<Map<String, Value>, Fault> {
    let runs = traces(app, clock, OF_ONE, None).await?;
    Ok(object(&json!({
        "stats": Stats::of(&runs),
        "last_status": last_status(&runs),
        "durations": durations(&runs),
    })))
}

/// What a list says of the newest `count` runs of a schedule whose time has come.
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

/// What a caller's schedules are doing and what became of their newest runs.
pub async fn overall(app: &App, caller: &Caller) -> Result<Value, Refusal> {
    let now = app.now();
    let (clocks, truncated) = some_clocks(app, caller).await?;
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
    let failing = each.iter().filter(|stats| stats.consecutive_failures > 0).count();
    let mut runs = object(&each.iter().fold(Stats::default(), Stats::and));
    runs.remove("consecutive_failures");
    Ok(json!({
        "schedules": {"total": clocks.len(), "by_status": by_status, "failing": failing},
        "runs": runs,
        "truncated": truncated,
    }))
}

/// The clocks of the caller's first schedules, and whether there are more.
pub(super) async fn some_clocks(app: &App, caller: &Caller) -> Result<(Vec<Clock>, bool), Fault> {
    let mut clocks = Vec::new();
    let mut cursor: Option<ScheduleId> = None;
    for _ in 0..SCHEDULES / TOGETHER {
        let ids = app.store.schedules_of(&caller.sub, TOGETHER, cursor.as_ref()).await?;
        let found = app.store.schedules(&ids).await?;
        clocks.extend(found.into_iter().map(|(clock, _)| clock));
        if ids.len() < TOGETHER {
            return Ok((clocks, false));
        }
        cursor = ids.into_iter().next_back();
    }
    let more = app.store.schedules_of(&caller.sub, 1, cursor.as_ref()).await?;
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

/// The newest runs of `owner`'s schedule, of those up to `until` if it is given. What others had
/// under the name is theirs.
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
