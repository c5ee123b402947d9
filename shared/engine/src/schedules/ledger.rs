//! Reconciling the ledger: the fires that a schedule should have had, compared with its records.

use crate::app::App;
use crate::cloud::store::Traces;
use crate::fault::Fault;
use belfry_core::fire::expected::Timeline;
use belfry_core::instant::Instant;
use belfry_core::ledger::{Ledger, Rules};
use belfry_core::schedule::{Clock, Spec};

/// The most fires, and the most records, that one ledger compares: more than a day of seconds.
pub(crate) const MAX_FIRES: usize = 100_000;

/// Compares the fires that a schedule should have had with its records. `None`: there are too many
/// of either.
///
/// The caller must have read the clock before the records are read here. A clock is advanced past a
/// fire only after the fire was recorded, so a fire that the clock has passed is either among the
/// records or lost.
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
        max_runtime: Some(spec.options.max_runtime().unwrap_or(settings.recovery.max_runtime)),
        // A fire that was cancelled ahead of its time expires ahead of its time.
        kept_since: now - settings.run_ttl + settings.horizon.lookahead,
        next_run_at: clock.next_run_at,
    };
    Ok(Some(Ledger::reconcile(&timeline, &expected, &records, &rules)))
}
