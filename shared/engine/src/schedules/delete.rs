//! Deleting schedules.

use belfry_core::id::{ScheduleId, SetName};
use belfry_core::schedule::Schedule;
use belfry_core::schedule::change::Verb;
use tracing::info;

use super::caller::Caller;
use super::change::entry;
use super::follow::links;
use super::lookup::{TRIES, check_revision, crowded, load};
use super::membership::{check_member, membership};
use super::refusal::Refusal;
use super::settle::{emit_overdue, settle_unlaunched};
use crate::app::App;
use crate::cloud::store::{Change, Saved};
use crate::fires::backfill::cancel_all;

/// Deletes a schedule. After this returns, no run of it launches. Its history stays.
pub(crate) async fn delete(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
) -> Result<(), Refusal> {
    remove(app, caller, id, if_match, None).await
}

/// Deletes a schedule. With `by`, only if the schedule belongs to that set.
pub(crate) async fn remove(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
    by: Option<&SetName>,
) -> Result<(), Refusal> {
    for _ in 0..TRIES {
        let schedule = load(app, caller, id).await?;
        if let Some(set) = by {
            check_member(&schedule, caller, set)?;
        }
        let Schedule { clock, spec } = schedule;
        check_revision(&clock, if_match)?;
        let followed = spec.options.after_schedule_id.as_ref();
        let mut links = links(app, &clock.owner, id, followed, None).await?;
        links.extend(membership(&clock.owner, spec.set.as_ref(), None));
        let now = app.now();
        emit_overdue(app, &clock, now).await?;
        let revision = clock.revision + 1;
        let log = Change { revision, ..entry(&clock, caller, Verb::Deleted, now) };
        if app.store.delete_schedule(&clock, &log, &links).await? == Saved::Yes {
            settle_unlaunched(app, &clock, None, revision, now).await?;
            cancel_all(app, id, now).await?;
            info!(schedule_id = %id, by = caller.sub, "schedule deleted");
            return Ok(());
        }
        if if_match.is_some() {
            return Err(Refusal::Stale { current: revision });
        }
    }
    Err(crowded())
}
