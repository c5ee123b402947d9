//! Declared schedules: a set creates, changes and deletes the schedules that belong to it. They can
//! also be changed by hand like any other schedule; the set detects that as drift and reverts it.

use belfry_core::id::{ScheduleId, SetName};
use belfry_core::schedule::change::Verb;
use belfry_core::schedule::definition::Definition;
use serde_json::Value;

use super::caller::Caller;
use super::change::{Intent, Saving, change};
use super::create::{Birth, make};
use super::delete::remove;
use super::input::{check_owner, read};
use super::lookup::{TRIES, check_revision, crowded, load};
use super::membership::{Membership, check_member};
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::Stored;

/// Creates a schedule as a member of the caller's set, or replaces the definition of a member. A
/// schedule that the set does not own is refused. `seen` is the revision by which the caller
/// decided, 0 if there was no schedule. The schedule stays paused or active, unless `body` says
/// which.
pub async fn declare(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
    body: &Value,
    seen: Option<u64>,
) -> Result<Saving, Refusal> {
    let (definition, owner) = read(app, caller, body, id)?;
    check_owner(owner, &caller.sub)?;
    for _ in 0..TRIES {
        let saved = match app.store.schedule(id).await? {
            Stored::Schedule(schedule) => {
                check_member(&schedule, caller, set)?;
                check_revision(&schedule.clock, seen)?;
                let definition = definition.clone().keeping_pause(body, schedule.clock.paused);
                let intent = Intent::new(Verb::Updated).keeping_pause_of(&schedule.spec);
                change(app, caller, *schedule, definition, intent).await
            }
            _ if seen.is_some_and(|seen| seen > 0) => return Err(Refusal::Stale { current: 0 }),
            free => {
                let birth = Birth::under(free).of(set);
                make(app, caller, &caller.sub, id, definition.clone(), birth).await
            }
        };
        match saved {
            Err(Refusal::Stale { .. }) if seen.is_none() => {}
            saved => return saved,
        }
    }
    Err(crowded())
}

/// Deletes a member of the caller's set. A schedule that the set does not own is refused.
pub async fn withdraw(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
    seen: Option<u64>,
) -> Result<(), Refusal> {
    remove(app, caller, id, seen, Some(set)).await
}

/// Adds a schedule that belongs to no set to the set of this name of the schedule's owner.
pub async fn adopt(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
) -> Result<Saving, Refusal> {
    let intent = Intent { membership: Membership::Of(set.clone()), ..Intent::new(Verb::Adopted) };
    join_or_leave(app, caller, set, id, intent).await
}

/// Removes a schedule from its set without deleting it. From then on it is managed by hand.
pub async fn release(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
) -> Result<Saving, Refusal> {
    let intent = Intent { membership: Membership::None, ..Intent::new(Verb::Released) };
    join_or_leave(app, caller, set, id, intent).await
}

async fn join_or_leave(
    app: &App,
    caller: &Caller,
    set: &SetName,
    id: &ScheduleId,
    intent: Intent,
) -> Result<Saving, Refusal> {
    for _ in 0..TRIES {
        let schedule = load(app, caller, id).await?;
        if let Some(other) = schedule.spec.set.as_ref().filter(|has| *has != set) {
            return Err(Refusal::Conflict(format!("schedule {id} belongs to set {other}")));
        }
        let definition = Definition::of(&schedule.clock, &schedule.spec);
        let intent = intent.clone().keeping_pause_of(&schedule.spec);
        match change(app, caller, schedule, definition, intent).await {
            Err(Refusal::Stale { .. }) => {}
            saved => return saved,
        }
    }
    Err(crowded())
}
