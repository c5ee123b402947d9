//! Saving a definition: as a whole, or as a patch of the stored one.

use belfry_core::id::ScheduleId;
use belfry_core::invalid::Invalid;
use belfry_core::schedule::Clock;
use belfry_core::schedule::change::Verb;
use belfry_core::schedule::definition::Definition;
use serde_json::Value;

use super::caller::Caller;
use super::change::{Intent, Saving, change};
use super::create::{Birth, make};
use super::input::{check_owner, check_size, patched, payload, read};
use super::lookup::{TRIES, check_revision, crowded, load, owned};
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::store::Stored;

/// Creates a schedule or replaces its definition. The same call again changes nothing, and a call
/// that does not mention `paused` leaves a pause as it is. With `if_match` 0, which is no revision,
/// it only creates.
pub(crate) async fn put(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    let (definition, owner) = read(app, caller, body, id)?;
    for _ in 0..TRIES {
        let saved = match app.store.schedule(id).await? {
            Stored::Schedule(schedule) => {
                let schedule = owned(*schedule, caller)?;
                check_owner(owner, &schedule.clock.owner)?;
                check_revision(&schedule.clock, if_match)?;
                let intent = Intent::new(Verb::Updated).keeping_pause_of(&schedule.spec);
                let definition = definition.clone().keeping_pause(body, schedule.clock.paused);
                change(app, caller, schedule, definition, intent).await
            }
            _ if if_match.is_some_and(|seen| seen > 0) => {
                return Err(Refusal::Stale { current: 0 });
            }
            free => {
                let (owner, birth) = (owner.unwrap_or(&caller.sub), Birth::under(free));
                make(app, caller, owner, id, definition.clone(), birth).await
            }
        };
        match saved {
            Err(Refusal::Stale { .. }) if if_match.is_none() => {}
            saved => return saved,
        }
    }
    Err(crowded())
}

/// Merges a patch into the stored definition; `null` clears a field.
pub(crate) async fn patch(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    body: &Value,
    if_match: Option<u64>,
) -> Result<Saving, Refusal> {
    check_size(payload(body))?;
    let edit = |clock: &Clock, old: &Definition| patched(app, caller, body, clock, old);
    alter(app, caller, id, if_match, Intent::new(Verb::Updated), edit).await
}

/// Reads, edits and writes a schedule. Starts over if another writer came in between.
pub(crate) async fn alter(
    app: &App,
    caller: &Caller,
    id: &ScheduleId,
    if_match: Option<u64>,
    intent: Intent,
    edit: impl Fn(&Clock, &Definition) -> Result<Definition, Vec<Invalid>>,
) -> Result<Saving, Refusal> {
    for _ in 0..TRIES {
        let schedule = load(app, caller, id).await?;
        check_revision(&schedule.clock, if_match)?;
        let before = Definition::of(&schedule.clock, &schedule.spec);
        let definition = edit(&schedule.clock, &before).map_err(Refusal::Invalid)?;
        // A new pause replaces the note and the end of an earlier one; any other change keeps them.
        let intent = match intent.verb {
            Verb::Paused => intent.clone(),
            _ => intent.clone().keeping_pause_of(&schedule.spec),
        };
        match change(app, caller, schedule, definition, intent).await {
            Err(Refusal::Stale { .. }) if if_match.is_none() => {}
            saved => return saved,
        }
    }
    Err(crowded())
}
