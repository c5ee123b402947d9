//! Pausing and resuming many schedules, a bounded number in each call.

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Catchup;
use futures::{FutureExt, StreamExt, stream};
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::list::{MAX_LOOKED_AT, Wanted, find};
use crate::app::App;
use crate::schedules::caller::Caller;
use crate::schedules::pause::{pause, resume};
use crate::schedules::refusal::Refusal;

/// Schedules changed in one call: each change settles its fires, while the caller waits.
pub(crate) const MAX_CHANGED: usize = 50;
/// Changes made concurrently.
const CONCURRENCY: usize = 8;

/// What is done to each schedule.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Pause it.
    Pause {
        /// Why, for the people who look at the schedule.
        note: Option<String>,
    },
    /// Resume it.
    Resume {
        /// The catch-up policy, if not the schedule's own.
        catchup: Option<Catchup>,
    },
}

/// What a bulk change did, or would do.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct BulkAnswer {
    /// Number of schedules that fit the filter.
    matched: usize,
    /// Number of schedules that were changed, or would be: the others are so already, or failed.
    changed: usize,
    /// Schedules that could not be changed.
    failed: Vec<BulkFailure>,
    /// Whether the schedules were only counted.
    dry_run: bool,
    /// Pass as `cursor` to change the next schedules; `null` if there are no more.
    next_cursor: Option<ScheduleId>,
}

/// A schedule that could not be changed.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct BulkFailure {
    /// Name of the schedule.
    schedule_id: ScheduleId,
    /// Why it was not changed.
    message: String,
}

/// Pauses or resumes the schedules that are wanted. `dry_run` only counts them. What is so already is
/// matched and not changed; a schedule that cannot be changed does not stop the others.
pub(crate) async fn bulk(
    app: &App,
    caller: &Caller,
    wanted: Wanted,
    action: Action,
    dry_run: bool,
) -> Result<BulkAnswer, Refusal> {
    let limit = if dry_run { MAX_LOOKED_AT } else { MAX_CHANGED };
    let found = find(app, caller, &Wanted { limit, ..wanted }, app.now()).await?;
    let pauses = matches!(action, Action::Pause { .. });
    let others = found.schedules.iter().map(|found| &found.clock).filter(|c| c.paused != pauses);
    let others: Vec<_> = others.map(|clock| &clock.schedule_id).collect();
    let to_change = others.len();
    let mut failed = Vec::new();
    if !dry_run {
        // Boxed: these are up to fifty of the largest futures in the engine.
        let changes = others.into_iter().map(|id| change(app, caller, id, &action).boxed());
        let changes: Vec<_> = changes.collect();
        let outcomes: Vec<Option<BulkFailure>> =
            stream::iter(changes).buffered(CONCURRENCY).collect().await;
        failed.extend(outcomes.into_iter().flatten());
    }
    Ok(BulkAnswer {
        matched: found.schedules.len(),
        changed: to_change - failed.len(),
        failed,
        dry_run,
        next_cursor: found.cursor.map(|(_, id)| id),
    })
}

/// Changes one schedule; answers with what went wrong, if something did.
async fn change(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    action: &Action,
) -> Option<BulkFailure> {
    let changed = match action {
        Action::Pause { note } => pause(app, caller, id, note.clone(), None, None).await,
        Action::Resume { catchup } => resume(app, caller, id, *catchup, None).await,
    };
    match changed {
        Ok(_) => None,
        Err(refusal) => Some(BulkFailure { schedule_id: id.clone(), message: told(&refusal) }),
    }
}

/// The message for the caller. The text of a fault is for the operator: it goes into the log.
fn told(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Fault(fault) => {
            tracing::error!(%fault, "bulk change failed");
            "something behind the API did not answer; try again".to_owned()
        }
        refusal => refusal.to_string(),
    }
}
