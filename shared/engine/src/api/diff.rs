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
use crate::schedules::input::{check_destination, check_owner, check_size, patched, payload, read};
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
    let (mut definition, named) = read(app, caller, body, id)?;
    let old = match app.store.schedule(id).await? {
        Stored::Schedule(schedule) => {
            let schedule = owned(*schedule, caller)?;
            check_owner(named, &schedule.clock.owner)?;
            check_revision(&schedule.clock, if_match)?;
            definition = definition.keeping_pause(body, schedule.clock.paused);
            Some(schedule)
        }
        _ if if_match.is_some_and(|seen| seen > 0) => return Err(Refusal::Stale { current: 0 }),
        _ => None,
    };
    let owner = named.unwrap_or(&caller.sub);
    diff(app, caller, owner, id, old.as_ref(), definition).await
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
    let schedule = load(app, caller, id).await?;
    let Schedule { clock, spec } = &schedule;
    check_revision(clock, if_match)?;
    let old = Definition::of(clock, spec);
    let new = patched(app, caller, body, clock, &old).map_err(Refusal::Invalid)?;
    diff(app, caller, &clock.owner, id, Some(&schedule), new).await
}

async fn diff(
    app: &App,
    caller: &Caller,
    owner: &str,
    id: &ScheduleId,
    old: Option<&Schedule>,
    new: Definition,
) -> Result<DiffView, Refusal> {
    let now = app.now();
    // What exists keeps its owner and the day it was made.
    let owner = old.map_or(owner, |old| &old.clock.owner);
    let created_at = old.map_or(instant::whole_second(now), |old| old.clock.created_at);
    let old = old.map(|Schedule { clock, spec }| Definition::of(clock, spec));
    check_destination(app, old.as_ref().map(|old| &old.options), &new.options)?;
    let bound = old.as_ref().and_then(|old| Some((&old.workflow_id, old.version?)));
    let version = resolve_version(app, caller, owner, &new, bound).await?;
    let new = Definition { version: Some(version), ..new };
    Ok(view(id, old.as_ref(), &new, created_at, now))
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
