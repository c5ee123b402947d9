//! The ledger, reconciled: what a schedule should have fired, held against its records.

use belfry_core::fire::expected::Timeline;
use belfry_core::instant::Instant;
use belfry_core::ledger::{Ledger, Rules};
use belfry_core::schedule::{Clock, Spec};
use chrono::Duration;

use crate::app::App;
use crate::cloud::store::Traces;
use crate::fault::Fault;

/// Fires, and records, that one answer holds against each other: a day of seconds.
pub(crate) const MAX_FIRES: usize = 100_000;

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
        max_runtime: spec.options.max_runtime_s.map(|s| Duration::seconds(i64::from(s))),
        // A fire that was cancelled ahead of its time expires ahead of its time.
        kept_since: now - settings.run_ttl + settings.horizon.lookahead,
        next_run_at: clock.next_run_at,
    };
    Ok(Some(Ledger::reconcile(&timeline, &expected, &records, &rules)))
}
