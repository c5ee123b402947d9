//! The ledger and the change log of a schedule, read.

use belfry_core::expected::Timeline;
use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::ledger::{Ledger, Rules};
use belfry_core::schedule::{Clock, Spec};
use chrono::Duration;
use serde_json::{Value, json};

use super::edit::load;
use super::{Caller, Refusal};
use crate::app::App;
use crate::fault::Fault;
use crate::store::Traces;

/// The window of a ledger nobody asked a beginning of.
const WINDOW: Duration = Duration::hours(24);
/// Fires, and records, that one answer holds against each other: a day of seconds.
const MAX_FIRES: usize = 100_000;

/// What became of every fire of a schedule from `from` (a day before `to`) to `to` (now).
pub async fn ledger(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    from: Option<Instant>,
    to: Option<Instant>,
) -> Result<Value, Refusal> {
    let now = app.now();
    let to = to.unwrap_or_else(|| instant::whole_second(now));
    let from = from.unwrap_or(to - WINDOW);
    if to < from {
        return Err(Refusal::invalid("from", "must not be after to"));
    }
    let too_many = || {
        let message = format!("is too far: a ledger holds at most {MAX_FIRES} fires");
        Refusal::invalid("to", message)
    };
    let (clock, spec) = load(app, caller, id).await?;
    let ledger = reconcile(app, &clock, &spec, from, to, now).await?;
    Ok(ledger.ok_or_else(too_many)?.view(from, to))
}

/// Holds what a schedule should have fired against its records. `None`: there is too much of either.
///
/// The clock was read before the records are: a clock is advanced past a fire after its record was
/// put, so that a fire it has passed is in the records read later, or lost.
pub(crate) async fn reconcile(
    app: &App,
    clock: &Clock,
    spec: &Spec,
    from: Instant,
    to: Instant,
    now: Instant,
) -> Result<Option<Ledger>, Fault> {
    let id = &clock.schedule_id;
    let timeline = Timeline::of(id, &clock.owner, app.store.all_changes(id).await?);
    let Ok(expected) = timeline.fires(from, to, MAX_FIRES) else { return Ok(None) };
    let Traces::All(mut records) = app.store.traces(id, from, to, MAX_FIRES).await? else {
        return Ok(None);
    };
    records.retain(|(_, run)| run.owner == clock.owner);
    let settings = &app.settings;
    let rules = Rules {
        now,
        grace: settings.horizon.grace,
        lost_after: settings.recovery.lost_after,
        max_runtime: spec.max_runtime_s.map(|s| Duration::seconds(i64::from(s))),
        // A fire that was cancelled ahead of its time expires ahead of its time.
        kept_since: now - settings.run_ttl + settings.horizon.lookahead,
        next_run_at: clock.next_run_at,
    };
    Ok(Some(Ledger::reconcile(&timeline, &expected, &records, &rules)))
}

/// Who changed what, when, newest first.
pub async fn changes(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Value, Refusal> {
    load(app, caller, id).await?;
    let page = app.store.changes(id, &caller.sub, limit, cursor).await?;
    let items: Vec<_> = page.changes.iter().map(|change| change.view()).collect();
    Ok(json!({"items": items, "next_cursor": page.cursor}))
}
