//! Statistics of one schedule and of all schedules of a caller.

use belfry_core::run::stats::{Overall, Stats, durations};
use belfry_core::schedule::Schedule;
use belfry_core::schedule::definition::object;
use serde_json::{Map, Value, json};

use crate::api::totals::totals;
use crate::api::whose::Whose;
use crate::app::App;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::last::{newest, traces};
use crate::schedules::life::life;
use crate::schedules::refusal::Refusal;

/// Runs of which the durations are told, at least, if there are as many.
const NEWEST: usize = 100;

/// One schedule as it is answered, with the statistics of its whole life.
pub(super) async fn of_schedule(
    app: &App,
    schedule: &Schedule,
) -> Result<Map<String, Value>, Fault> {
    let now = app.now();
    let life = life(app, schedule, NEWEST).await?;
    let Schedule { clock, spec } = schedule;
    let mut shown = life.so_far(now).schedule(clock, spec, now);
    let durations = durations(life.newest.iter().map(|(_, run)| run));
    shown.extend(object(&json!({"stats": life.stats(), "durations": durations})));
    Ok(shown)
}

/// A schedule as a list has it: with its newest `count` runs whose time has come, if they are
/// wanted.
pub(super) async fn in_short(
    app: &App,
    Schedule { clock, spec }: &Schedule,
    count: usize,
) -> Result<Map<String, Value>, Fault> {
    let now = app.now();
    let newest = newest(app, clock, now).await?;
    let mut schedule = newest.schedule(clock, spec, now);
    if count > 0 {
        let runs = traces(app, clock, count, Some(now)).await?;
        let runs: Vec<_> = runs.into_iter().map(|(_, run)| run).collect();
        let recent: Vec<_> = runs.iter().map(|run| run.status).collect();
        schedule.extend(object(&json!({"recent": recent, "stats": Stats::of(&runs)})));
    }
    Ok(schedule)
}

/// What schedules are doing and what became of their runs.
pub(crate) async fn overall(app: &App, caller: &Caller, whose: &Whose) -> Result<Overall, Refusal> {
    whose.check(caller)?;
    let counted = totals(app, caller, whose, 0).await?;
    let failing = match &counted.stored_of {
        Some(owner) => app.store.count_failing(owner).await?,
        None => counted.totals.failing,
    };
    Ok(counted.totals.overall(counted.schedules, failing))
}
