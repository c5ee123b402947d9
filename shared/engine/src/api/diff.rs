//! What a save would change, without saving.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::Schedule;
use belfry_core::schedule::change::{Difference, differences};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::diff::{Diff, FireDiff, Fires};
use belfry_core::schedule::warning::Warning;
use belfry_cost::cost::{self, RunCost};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::App;
use crate::cloud::store::Stored;
use crate::schedules::caller::Caller;
use crate::schedules::input::{check_size, payload, read};
use crate::schedules::lookup::{check_revision, load, owned, resolve_version};
use crate::schedules::refusal::Refusal;

/// What a save would do.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Diff", deny_unknown_fields)]
pub(crate) struct DiffView {
    /// Always `true`.
    dry_run: bool,
    /// Always `true`: a definition that a save would refuse is refused here too.
    valid: bool,
    /// Whether the save would make a new schedule.
    creates: bool,
    /// Fields of the definition that would change.
    changes: Vec<Difference>,
    /// What would happen to the fires of the next 90 days.
    fires: FireDiff,
    /// Changes of the zone's clock within a year that move or repeat a fire.
    dst: Vec<Warning>,
    /// Expected number of runs in 730 hours.
    runs_per_month: f64,
    /// Expected cost of those runs.
    cost_per_month_usd: RunCost,
}

/// What a put of `body` would do.
pub(crate) async fn diff_put(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<DiffView, Refusal> {
    let definition = read(app, body, id)?;
    let (old, created_at) = match app.store.schedule(id).await? {
        Stored::Schedule(schedule) => {
            let Schedule { clock, spec } = owned(*schedule, caller)?;
            check_revision(&clock, if_match)?;
            (Some(Definition::of(&clock, &spec)), clock.created_at)
        }
        _ if if_match.is_some() => return Err(Refusal::Stale { current: 0 }),
        _ => (None, instant::whole_second(app.now())),
    };
    diff(app, caller, id, old, definition, created_at).await
}

/// What a PATCH with `body` would change.
pub(crate) async fn diff_patch(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<DiffView, Refusal> {
    check_size(payload(body))?;
    let Schedule { clock, spec } = load(app, caller, id).await?;
    check_revision(&clock, if_match)?;
    let old = Definition::of(&clock, &spec);
    let new = old.patched(body, id, &app.settings.house).map_err(Refusal::Invalid)?;
    diff(app, caller, id, Some(old), new, clock.created_at).await
}

async fn diff(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    old: Option<Definition>,
    new: Definition,
    created_at: Instant,
) -> Result<DiffView, Refusal> {
    let bound = old.as_ref().map(|old| &old.workflow_id);
    let version = resolve_version(app, caller, &caller.sub, &new, bound).await?;
    let new = Definition { version: Some(version), ..new };
    Ok(view(id, old.as_ref(), &new, created_at, app.now()))
}

fn view(
    id: &ScheduleId,
    old: Option<&Definition>,
    new: &Definition,
    created_at: Instant,
    now: Instant,
) -> DiffView {
    let before = old.and_then(|old| Fires::of(&old.timing, old.paused, id, created_at));
    let after = Fires::of(&new.timing, new.paused, id, created_at);
    let diff = Diff::between(before.as_ref(), after.as_ref(), now);
    let runs = after.as_ref().map_or(0.0, |fires| fires.per_month(now));
    let payload_bytes = new.payload.to_string().len();
    let clock_changes = after.map(|fires| fires.clock_changes(now)).unwrap_or_default();
    DiffView {
        dry_run: true,
        valid: true,
        creates: old.is_none(),
        changes: differences(old, new),
        fires: diff.view(now),
        dst: clock_changes.into_iter().map(Warning::from).collect(),
        runs_per_month: (runs * 10.0).round() / 10.0,
        cost_per_month_usd: cost::of_runs(runs, new.policies.overlap_policy, payload_bytes),
    }
}
