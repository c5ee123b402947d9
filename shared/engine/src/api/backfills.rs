//! Backfills: starting, previewing, reading and cancelling them.

use std::collections::{BTreeMap, BTreeSet};

use belfry_core::fire::backfill::{
    Backfill, BackfillPreview, BackfillView, MAX_CONCURRENT, MAX_FIRES, Order, State,
};
use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::invalid::Invalid;
use belfry_core::page::List;
use belfry_core::schedule::change::{Change, Difference, Verb};
use belfry_core::schedule::{Clock, Schedule};
use serde_json::{Value, json};
use tracing::warn;

use crate::app::App;
use crate::cloud::store::Saved;
use crate::fires::backfill::{cancel, go_on, ran};
use crate::schedules::caller::Caller;
use crate::schedules::change::entry;
use crate::schedules::input::check_size;
use crate::schedules::lookup::load;
use crate::schedules::refusal::Refusal;

/// What a caller asks for in a backfill.
pub(crate) struct Asked {
    /// The beginning of the window; a fire at this instant is included.
    pub from: Instant,
    /// The end of the window; a fire at this instant is included.
    pub to: Instant,
    /// The order in which the fires run.
    pub order: Order,
    /// How many runs there may be at once; 1 if the caller names none.
    pub max_concurrent: Option<u64>,
    /// Whether fires that have run already are run again.
    pub rerun: bool,
    /// The payload of its runs, if not the schedule's payload.
    pub payload: Option<Value>,
    /// A name that distinguishes two backfills of the same window.
    pub name: Option<String>,
}

/// Starts a backfill. If the same request started one before, answers with that one; the flag says
/// whether the backfill is new.
pub(crate) async fn start(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    asked: Asked,
) -> Result<(bool, BackfillView), Refusal> {
    let now = app.now();
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let (backfill, _) = plan(app, &clock, caller, asked)?;
    let what = json!({
        "backfill_id": backfill.backfill_id,
        "from": instant::text(backfill.from),
        "to": instant::text(backfill.to),
    });
    let change = Difference { field: "backfill".to_owned(), old: Value::Null, new: what };
    let log = Change { changes: vec![change], ..entry(&clock, caller, Verb::Backfilled, now) };
    let new = app.store.create_backfill(id, &backfill, now, &log).await? == Saved::Yes;
    if !new {
        same(app, &clock, &backfill).await?;
    }
    if new && let Err(fault) = go_on(app, id, &backfill.backfill_id, now).await {
        warn!(schedule_id = %id, %fault, "backfill step failed: the next tick repeats it");
    }
    Ok((new, one_backfill(app, caller, id, &backfill.backfill_id).await?))
}

/// What a backfill would do, without starting it.
pub(crate) async fn preview_backfill(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    asked: Asked,
) -> Result<BackfillPreview, Refusal> {
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let (backfill, mut fires) = plan(app, &clock, caller, asked)?;
    let before = same(app, &clock, &backfill).await?;
    let ran = match backfill.rerun {
        true => 0,
        false => ran(app, &clock, &backfill, &fires, app.now()).await?.1.len() as u64,
    };
    fires.sort_unstable();
    Ok(BackfillPreview {
        dry_run: true,
        backfill_id: backfill.backfill_id,
        fires: backfill.total,
        already_ran: before.as_ref().map_or(ran, |before| before.already_ran),
        launches: if before.is_some() { 0 } else { backfill.total - ran },
        state: before.map(|before| before.state),
        first: fires.first().copied(),
        last: fires.last().copied(),
        order: backfill.order,
        max_concurrent: backfill.max_concurrent,
    })
}

/// One backfill of the caller's schedule.
pub(crate) async fn one_backfill(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    backfill_id: &str,
) -> Result<BackfillView, Refusal> {
    Ok(owned(app, caller, id, backfill_id).await?.view(id))
}

/// The backfills of a schedule, newest first.
pub(crate) async fn backfills(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
) -> Result<List<BackfillView>, Refusal> {
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let mut found = app.store.backfills(id).await?;
    found.retain(|backfill| backfill.owner == clock.owner);
    found.sort_by_key(|backfill| std::cmp::Reverse(backfill.created_at));
    Ok(List { items: found.iter().map(|backfill| backfill.view(id)).collect() })
}

/// Cancels a backfill. After this returns, it launches no more runs. Runs that have launched
/// continue.
pub(crate) async fn cancel_backfill(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    backfill_id: &str,
) -> Result<BackfillView, Refusal> {
    let backfill = owned(app, caller, id, backfill_id).await?;
    if backfill.state == State::Running {
        cancel(app, id, backfill_id, app.now()).await?;
    }
    one_backfill(app, caller, id, backfill_id).await
}

async fn owned(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    backfill_id: &str,
) -> Result<Backfill, Refusal> {
    let Schedule { clock, .. } = load(app, caller, id).await?;
    let found = app.store.backfill(id, backfill_id).await?;
    found.filter(|found| found.owner == clock.owner).ok_or(Refusal::NotFound("backfill"))
}

/// The backfill with the id of `asked`, if there is one. It must have the same options: an answer
/// with another backfill would look like a consent.
async fn same(app: &App, clock: &Clock, asked: &Backfill) -> Result<Option<Backfill>, Refusal> {
    let id = &clock.schedule_id;
    let found = app.store.backfill(id, &asked.backfill_id).await?;
    let Some(found) = found.filter(|found| found.owner == clock.owner) else { return Ok(None) };
    let differences = found.differences(asked, id);
    if differences.is_empty() {
        return Ok(Some(found));
    }
    let message = format!(
        "there is a backfill of this range already, {}, in which {}; give this one another `name`",
        found.backfill_id,
        differences.join(", ")
    );
    Err(Refusal::Conflict(message))
}

/// The backfill that a caller asks for, and its fires.
fn plan(
    app: &App,
    clock: &Clock,
    caller: &Caller,
    asked: Asked,
) -> Result<(Backfill, Vec<Instant>), Refusal> {
    check_size(asked.payload.as_ref())?;
    let id = &clock.schedule_id;
    let now = app.now();
    let mut problems = Vec::new();
    if asked.to < asked.from {
        problems.push(Invalid::new("from", "must not be after to"));
    }
    if asked.to > now {
        problems.push(Invalid::new("to", "must not be in the future"));
    }
    let max_concurrent = asked.max_concurrent.unwrap_or(1);
    if !(1..=MAX_CONCURRENT).contains(&max_concurrent) {
        let message = format!("must be a whole number from 1 to {MAX_CONCURRENT}");
        problems.push(Invalid::new("max_concurrent", message));
    }
    if !problems.is_empty() {
        return Err(Refusal::Invalid(problems));
    }
    let name = asked.name.as_deref().unwrap_or_default();
    let backfill = Backfill {
        backfill_id: Backfill::name(clock, asked.from, asked.to, name),
        owner: clock.owner.clone(),
        created_by: caller.sub.clone(),
        created_at: now,
        from: asked.from,
        to: asked.to,
        order: asked.order,
        max_concurrent: max_concurrent as u32,
        rerun: asked.rerun,
        payload: asked.payload,
        timing: clock.timing.clone(),
        anchor: clock.created_at,
        state: State::Running,
        total: 0,
        position: 0,
        already_ran: 0,
        ended: BTreeMap::new(),
        active: BTreeSet::new(),
        version: 1,
    };
    let Some(fires) = backfill.fires(id) else {
        let message = format!("is too far: a backfill has at most {MAX_FIRES} fires");
        return Err(Refusal::invalid("to", message));
    };
    if fires.is_empty() {
        return Err(Refusal::invalid("from", "the schedule has no fire in this window"));
    }
    Ok((Backfill { total: fires.len() as u64, ..backfill }, fires))
}
