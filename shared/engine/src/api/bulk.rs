//! Pausing and resuming many schedules, a bounded number in each call.

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Catchup;
use futures::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};

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

/// Pauses or resumes the schedules that match. `dry_run` only counts them. A schedule that is in
/// the wanted state already counts as matched, not as changed. A schedule that cannot be changed
/// does not stop the others.
pub(crate) async fn bulk(
    app: &App,
    caller: &Caller,
    wanted: Wanted,
    action: Action,
    dry_run: bool,
) -> Result<Value, Refusal> {
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
        let outcomes: Vec<Option<Value>> =
            stream::iter(changes).buffered(CONCURRENCY).collect().await;
        failed.extend(outcomes.into_iter().flatten());
    }
    Ok(json!({
        "matched": found.schedules.len(),
        "changed": to_change - failed.len(),
        "failed": failed,
        "dry_run": dry_run,
        "next_cursor": found.cursor.map(|(_, id)| id),
    }))
}

/// Changes one schedule. Answers with the error, if there is one.
async fn change(app: &App, caller: &Caller, id: &ScheduleId, action: &Action) -> Option<Value> {
    let changed = match action {
        Action::Pause { note } => pause(app, caller, id, note.clone(), None, None).await,
        Action::Resume { catchup } => resume(app, caller, id, *catchup, None).await,
    };
    match changed {
        Ok(_) => None,
        Err(refusal) => Some(json!({"schedule_id": id, "message": told(&refusal)})),
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
