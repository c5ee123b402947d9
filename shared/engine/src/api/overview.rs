//! The overview of a caller's schedules: the fires of the coming day, drift, failures, and what
//! recovery did.

use belfry_core::id::RunId;
use belfry_core::run::Status;
use belfry_core::run::overview::{Coming, Drift, MAX_FAILURES, Overview, Rescued, drift, is_due};
use belfry_core::run::trace::Trace;
use belfry_core::run::view::RunView;
use belfry_core::schedule::Clock;
use futures::{StreamExt, TryStreamExt, stream};

use super::stats::{CONCURRENCY, OF_EACH, newest, some_clocks};
use crate::api::whose::Whose;
use crate::app::App;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// What a caller's schedules are about to do and have done, bounded: `truncated` says that there is
/// more.
pub(crate) async fn overview(app: &App, caller: &Caller) -> Result<Overview, Refusal> {
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
    Ok(Overview {
        from: coming.from,
        due_next_24h: coming.counts,
        due_now: late_clocks.count() + traces().filter(|run| is_due(run, now)).count(),
        drift: Drift { buckets: drift(traces()) },
        failures: failures(app, &each).await?,
        recovery: rescued,
        schedules: clocks.len(),
        runs: traces().count(),
        truncated: more_schedules || coming.truncated,
    })
}

async fn runs_of(app: &App, clock: &Clock) -> Result<Vec<(RunId, Trace)>, Fault> {
    newest(app, &clock.schedule_id, &clock.owner, OF_EACH, Some(app.now())).await
}

/// The newest runs that ended badly.
async fn failures(app: &App, each: &[Vec<(RunId, Trace)>]) -> Result<Vec<RunView>, Fault> {
    let bad = |run: &Trace| matches!(run.status, Status::Failed | Status::Abandoned);
    let mut failed: Vec<_> = each.iter().flatten().filter(|(_, run)| bad(run)).collect();
    failed.sort_by_key(|(id, _)| std::cmp::Reverse(id.run_at));
    let reads = failed.into_iter().take(MAX_FAILURES).map(|(id, _)| one(app, id));
    let reads: Vec<_> = reads.collect();
    let found: Vec<Option<RunView>> =
        stream::iter(reads).buffered(CONCURRENCY).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

async fn one(app: &App, id: &RunId) -> Result<Option<RunView>, Fault> {
    Ok(app.store.run(id).await?.map(|run| run.view()))
}
