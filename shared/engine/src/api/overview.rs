//! The overview of a caller's schedules: the fires of the coming day, drift, failures, and what
//! recovery did.

use belfry_core::id::RunId;
use belfry_core::instant;
use belfry_core::run::Status;
use belfry_core::run::overview::{Coming, Rescued, drift, is_due};
use belfry_core::run::trace::Trace;
use belfry_core::schedule::Clock;
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};

use super::stats::{CONCURRENCY, OF_EACH, newest, some_clocks};
use crate::api::whose::Whose;
use crate::app::App;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// The most failed runs that are shown.
const FAILURES: usize = 20;

/// What the caller's schedules will do and have done. The number of schedules and runs that are
/// read is bounded; `truncated` says that there are more.
pub(crate) async fn overview(app: &App, caller: &Caller) -> Result<Value, Refusal> {
    let now = app.now();
    let (clocks, more_schedules) = some_clocks(app, caller, &Whose::Own).await?;
    let queries: Vec<_> = clocks.iter().map(|clock| runs_of(app, clock)).collect();
    let each: Vec<Vec<(RunId, Trace)>> =
        stream::iter(queries).buffer_unordered(CONCURRENCY).try_collect().await?;
    let coming = Coming::of(&clocks, now);
    let traces = || each.iter().flatten().map(|(_, run)| run);
    let late_clocks = clocks
        .iter()
        .filter(|clock| !clock.paused && clock.next_run_at.is_some_and(|next| next <= now));
    let rescued = each.iter().fold(Rescued::default(), |sum, runs| {
        let runs: Vec<_> = runs.iter().map(|(_, run)| run.clone()).collect();
        sum.and(Rescued::of(&runs))
    });
    Ok(json!({
        "from": instant::text(coming.from),
        "due_next_24h": coming.counts,
        "due_now": late_clocks.count() + traces().filter(|run| is_due(run, now)).count(),
        "drift": {"buckets": drift(traces())},
        "failures": failures(app, &each).await?,
        "recovery": rescued,
        "schedules": clocks.len(),
        "runs": traces().count(),
        "truncated": more_schedules || coming.truncated,
    }))
}

async fn runs_of(app: &App, clock: &Clock) -> Result<Vec<(RunId, Trace)>, Fault> {
    newest(app, &clock.schedule_id, &clock.owner, OF_EACH, Some(app.now())).await
}

/// The newest runs that failed or were abandoned.
async fn failures(app: &App, each: &[Vec<(RunId, Trace)>]) -> Result<Vec<Value>, Fault> {
    let bad = |run: &Trace| matches!(run.status, Status::Failed | Status::Abandoned);
    let mut failed: Vec<_> = each.iter().flatten().filter(|(_, run)| bad(run)).collect();
    failed.sort_by_key(|(id, _)| std::cmp::Reverse(id.run_at));
    let reads = failed.into_iter().take(FAILURES).map(|(id, _)| one(app, id));
    let reads: Vec<_> = reads.collect();
    let found: Vec<Option<Value>> = stream::iter(reads).buffered(CONCURRENCY).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn one(app: &App, id: &RunId) -> Result<Option<Value>, Fault> {
    Ok(app.store.run(id).await?.map(|run| run.view()))
}
