//! Reading the ledger and the change log of a schedule.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::ledger::LedgerView;
use belfry_core::page::Page;
use belfry_core::schedule::Schedule;
use belfry_core::schedule::change::ChangeView;
use chrono::Duration;

use crate::api::fitting::fitting;
use crate::app::App;
use crate::schedules::caller::Caller;
use crate::schedules::ledger::{MAX_FIRES, reconcile};
use crate::schedules::lookup::load;
use crate::schedules::refusal::Refusal;

/// The length of the window if the caller names no beginning.
const WINDOW: Duration = Duration::hours(24);

/// What happened to every fire of a schedule between `from` (default: a day before `to`) and `to`
/// (default: now).
pub(crate) async fn ledger(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    from: Option<Instant>,
    to: Option<Instant>,
) -> Result<LedgerView, Refusal> {
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
    let Schedule { clock, spec } = load(app, caller, id).await?;
    let ledger = reconcile(app, &clock, &spec, from, to, now).await?;
    Ok(ledger.ok_or_else(too_many)?.view(from, to))
}

/// The entries of the change log, newest first.
pub(crate) async fn changes(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    limit: usize,
    cursor: Option<&str>,
) -> Result<Page<ChangeView>, Refusal> {
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let page = app.store.changes(id, &clock.owner, limit, cursor).await?;
    let mut items: Vec<_> = page.changes.iter().map(|(_, change)| change.view()).collect();
    let kept = fitting(&items);
    let more = page.more || kept < items.len();
    items.truncate(kept);
    let last = page.changes.get(kept.saturating_sub(1)).filter(|_| more);
    Ok(Page { items, next_cursor: last.map(|(cursor, _)| cursor.clone()) })
}
