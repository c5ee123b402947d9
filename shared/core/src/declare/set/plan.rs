//! A plan: what applying a declaration would do to the existing schedules.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::declaration::{Declaration, Declared};
use super::moves::Moves;
use super::{Holder, Standing, standing};
use crate::id::{ScheduleId, SetName};
use crate::instant::Instant;
use crate::schedule::change::{Difference, differences};
use crate::schedule::definition::Definition;

/// The most schedules that a plan may delete without confirmation. Deleting more than half of a set
/// always needs confirmation.
pub const MAX_UNASKED_DELETES: usize = 20;

/// An existing schedule.
#[derive(Clone, Debug)]
pub struct Found {
    /// The owner of the schedule.
    pub owner: String,
    /// The set that the schedule belongs to, if any.
    pub set: Option<SetName>,
    /// The current revision.
    pub revision: u64,
    /// When the schedule was created.
    pub created_at: Instant,
    /// The current definition.
    pub definition: Definition,
}

/// What is to be done about a schedule.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScheduleAction")]
pub enum Action {
    /// Make the schedule.
    Create,
    /// Change the schedule to what is declared.
    Update,
    /// Nothing: the schedule is as declared.
    Unchanged,
    /// Delete the schedule: it belongs to the set and is not declared.
    Delete,
    /// Nothing: the schedule belongs to the set, is not declared, and `prune` was not asked for.
    Undeclared,
    /// Nothing: the schedule does not belong to the set, or cannot be what is declared.
    Refused,
}

impl Action {
    /// Whether the action changes anything.
    pub fn changes(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Delete)
    }
}

/// One schedule in a plan.
#[derive(Clone, Debug)]
pub struct Item {
    /// The name of the schedule.
    pub schedule_id: ScheduleId,
    /// The index of the schedule in the declaration. `None` if it is not declared.
    pub place: Option<usize>,
    /// What applying the plan does with the schedule.
    pub action: Action,
    /// The revision that the plan is based on. 0 if the schedule does not exist.
    pub revision: u64,
    /// The fields whose values change.
    pub changes: Vec<Difference>,
    /// The effect on the fires. `None` if the fires do not change.
    pub moves: Option<Moves>,
    /// Why the schedule is refused.
    pub why: Option<String>,
    /// The number of declared schedules that this one follows, directly and through others. They
    /// are created before it.
    pub wave: usize,
}

/// The current state that a declaration is compared with.
pub struct Scene<'a> {
    /// The owner of the set.
    pub caller: &'a str,
    /// The name of the set.
    pub set: &'a SetName,
    /// The existing schedules, by name.
    pub found: &'a BTreeMap<ScheduleId, Found>,
    /// The schedules that belong to the set.
    pub members: &'a BTreeSet<ScheduleId>,
    /// The workflow version of each declared schedule, or the reason why there is none.
    pub versions: &'a [Result<u32, String>],
    /// Whether to delete members of the set that are not declared.
    pub prune: bool,
    /// The current time.
    pub now: Instant,
}

/// Plans a declaration. The result has the declared schedules in the order of the declaration, and
/// then the members of the set that are not declared.
pub fn plan(declaration: &Declaration, scene: &Scene<'_>) -> Vec<Item> {
    let waves = waves(&declaration.schedules);
    let mut places: Vec<usize> = (0..declaration.schedules.len()).collect();
    places.sort_by_key(|place| waves[*place]);
    // The schedules that exist, or that the plan creates before the one at hand. Others may follow
    // them.
    let is_own = |found: &Found| found.owner == scene.caller;
    let mut there: BTreeSet<&ScheduleId> =
        scene.found.iter().filter(|(_, found)| is_own(found)).map(|(id, _)| id).collect();
    let mut items: Vec<Item> = Vec::with_capacity(places.len());
    for place in places {
        let declared = &declaration.schedules[place];
        let version = scene.versions.get(place).cloned().unwrap_or(Err(String::new()));
        let item = Item { place: Some(place), wave: waves[place], ..Item::of(declared, scene) };
        let item = match item.action {
            Action::Refused => item,
            _ => decide(item, declared, version, &there, scene),
        };
        if item.action == Action::Create {
            there.insert(&declared.schedule_id);
        }
        items.push(item);
    }
    items.sort_by_key(|item| item.place);
    let declared: BTreeSet<_> = declaration.schedules.iter().map(|d| &d.schedule_id).collect();
    let others = scene.members.iter().filter(|id| !declared.contains(id));
    items.extend(others.filter_map(|id| undeclared(id, scene)));
    items
}

impl Item {
    fn of(declared: &Declared, scene: &Scene<'_>) -> Item {
        let id = &declared.schedule_id;
        let found = scene.found.get(id);
        let holder = found.map(|found| Holder { owner: &found.owner, set: found.set.as_ref() });
        let (action, why) = match standing(holder, scene.caller, scene.set) {
            Standing::Free => (Action::Create, None),
            Standing::Member => (Action::Update, None),
            Standing::Foreign(why) => (Action::Refused, Some(format!("schedule {id} {why}"))),
        };
        // A caller must not learn the revision of another owner's schedule.
        let own = found.filter(|found| found.owner == scene.caller);
        Item {
            schedule_id: id.clone(),
            place: None,
            action,
            revision: own.map_or(0, |found| found.revision),
            changes: Vec::new(),
            moves: None,
            why,
            wave: 0,
        }
    }

    fn refused(self, why: String) -> Item {
        Item { action: Action::Refused, why: Some(why), ..self }
    }
}

fn decide(
    item: Item,
    declared: &Declared,
    version: Result<u32, String>,
    there: &BTreeSet<&ScheduleId>,
    scene: &Scene<'_>,
) -> Item {
    let version = match version {
        Ok(version) => version,
        Err(why) => return item.refused(why),
    };
    let found = scene.found.get(&declared.schedule_id);
    let old = found.map(|found| &found.definition);
    let followed = old.and_then(|old| old.options.after_schedule_id.as_ref());
    if let Some(other) = &declared.definition.options.after_schedule_id
        && Some(other) != followed
        && !there.contains(other)
    {
        return item.refused(format!("after_schedule_id: schedule {other} does not exist"));
    }
    let paused = match old {
        Some(old) if declared.keeps_pause => old.paused,
        _ => declared.definition.paused,
    };
    let new = Definition { version: Some(version), paused, ..declared.definition.clone() };
    let changes = differences(old, &new);
    let action = match item.action {
        Action::Update if changes.is_empty() => Action::Unchanged,
        action => action,
    };
    let created_at = found.map_or(scene.now, |found| found.created_at);
    let id = &declared.schedule_id;
    let moves = Moves::between(id, old, Some(&new), created_at, scene.now);
    Item { action, changes, moves, ..item }
}

fn undeclared(id: &ScheduleId, scene: &Scene<'_>) -> Option<Item> {
    let found = scene.found.get(id)?;
    // The list of members may be outdated: another schedule may have the name now.
    if found.owner != scene.caller || found.set.as_ref() != Some(scene.set) {
        return None;
    }
    let moves = scene
        .prune
        .then(|| Moves::between(id, Some(&found.definition), None, found.created_at, scene.now));
    Some(Item {
        schedule_id: id.clone(),
        place: None,
        action: if scene.prune { Action::Delete } else { Action::Undeclared },
        revision: found.revision,
        changes: Vec::new(),
        moves: moves.flatten(),
        why: None,
        wave: 0,
    })
}

/// For each schedule, the number of declared schedules that it follows, directly and through
/// others.
fn waves(schedules: &[Declared]) -> Vec<usize> {
    let follows: BTreeMap<_, _> = schedules
        .iter()
        .map(|one| (&one.schedule_id, one.definition.options.after_schedule_id.as_ref()))
        .collect();
    let depth = |one: &Declared| {
        let next = |id: &&ScheduleId| {
            let other = (*follows.get(id)?)?;
            follows.contains_key(other).then_some(other)
        };
        // There are no cycles: parsing the declaration refuses them.
        std::iter::successors(next(&&one.schedule_id), next).take(schedules.len()).count()
    };
    schedules.iter().map(depth).collect()
}

/// Why a plan needs confirmation for its deletes. `None` if it needs none. The caller must state
/// the number if the plan deletes more than half of the set or more than [`MAX_UNASKED_DELETES`]
/// schedules: a file that lost its contents must not empty a set.
pub fn guard(members: usize, deletes: usize, allowed: Option<usize>) -> Option<String> {
    let is_much = deletes > MAX_UNASKED_DELETES || deletes * 2 > members;
    if !is_much || allowed.is_some_and(|allowed| allowed >= deletes) {
        return None;
    }
    Some(format!(
        "would delete {deletes} of {members} schedules; pass allow_delete={deletes} to allow that"
    ))
}

#[cfg(test)]
mod tests;
