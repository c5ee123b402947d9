//! The overview of a caller's schedules: the fires of the coming day, drift, failures, and what
//! recovery did.

use belfry_core::id::RunId;
use belfry_core::run::overview::{MAX_FAILURES, MINUTES, Overview};
use belfry_core::run::view::RunView;
use futures::{StreamExt, TryStreamExt, stream};

use crate::api::totals::{CONCURRENCY, totals};
use crate::api::whose::Whose;
use crate::app::App;
use crate::fault::Fault;
use crate::schedules::caller::Caller;
use crate::schedules::refusal::Refusal;

/// Failing schedules among which the newest failures are looked for.
const MAX_FAILING: usize = 1000;

/// What a caller's schedules are about to do and have done.
pub(crate) async fn overview(app: &App, caller: &Caller) -> Result<Overview, Refusal> {
    let counted = totals(app, caller, &Whose::Own, MINUTES).await?;
    let failures = match &counted.stored_of {
        Some(owner) => newest_failing(app, owner).await?,
        None => counted.totals.failures.clone(),
    };
    let failures = views(app, &failures).await?;
    Ok(counted.totals.overview(counted.schedules, failures, app.now()))
}

/// The failures since which schedules are failing, newest first.
async fn newest_failing(app: &App, owner: &str) -> Result<Vec<RunId>, Fault> {
    let mut failing = app.store.failing_of(owner, MAX_FAILING).await?;
    failing.sort_by_key(|failing| std::cmp::Reverse(failing.since));
    failing.truncate(MAX_FAILURES);
    Ok(failing.into_iter().map(|failing| failing.run).collect())
}

async fn views(app: &App, runs: &[RunId]) -> Result<Vec<RunView>, Fault> {
    let reads = runs
        .iter()
        .map(|id| async { Ok::<_, Fault>(app.store.run(id).await?.map(|run| run.view())) });
    let reads: Vec<_> = reads.collect();
    let found: Vec<Option<RunView>> =
        stream::iter(reads).buffered(CONCURRENCY).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}
