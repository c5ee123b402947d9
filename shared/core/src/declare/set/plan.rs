//! A plan: what a declaration would do to what there is.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use super::declaration::{Declaration, Declared};
use super::moves::Moves;
use super::{Holder, Standing, standing};
use crate::id::{ScheduleId, SetName};
use crate::instant::Instant;
use crate::schedule::change::{Difference, differences};
use crate::schedule::definition::Definition;

/// So many schedules are deleted without a word on how many, unless they are most of the set.
pub const MAX_UNASKED_DELETES: usize = 20;

/// What stands under a name.
#[derive(Clone, Debug)]
pub struct Found {
    /// Who has it.
    pub owner: String,
    /// The set it belongs to.
    pub set: Option<SetName>,
    /// Where it is.
    pub revision: u64,
    /// When it was made.
    pub created_at: Instant,
    /// What it is.
    pub definition: Definition,
}

/// What is to be done about a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Make it.
    Create,
    /// Bring it back to what is declared.
    Update,
    /// Nothing: it is as it is declared.
    Unchanged,
    /// Delete it: it belongs to the set and is not declared.
    Delete,
    /// Nothing: it belongs to the set, is not declared, and nobody asked to prune.
    Undeclared,
    /// Nothing: it is not the set's to touch, or cannot be what is declared.
    Refused,
}

impl Action {
    /// Whether something is to be done.
    pub fn changes(self) -> bool {
        matches!(self, Action::Create | Action::Update | Action::Delete)
    }
}

/// A schedule of a plan.
#[derive(Clone, Debug)]
pub struct Item {
    /// Which.
    pub schedule_id: ScheduleId,
    /// Its place among the declared; none if it is not.
    pub place: Option<usize>,
    /// What is to be done.
    pub action: Action,
    /// The revision this was decided by; 0 if there is no schedule.
    pub revision: u64,
    /// Fields that become others.
    pub changes: Vec<Difference>,
    /// Fires that do.
    pub moves: Option<Moves>,
    /// Why it is refused.
    pub why: Option<String>,
    /// How many declared schedules it follows, one after the other: those come first.
    pub wave: usize,
}

/// What a declaration is held against.
pub struct Scene<'a> {
    /// Whose set.
    pub caller: &'a str,
    /// Which.
    pub set: &'a SetName,
    /// What stands under the names it is about.
    pub found: &'a BTreeMap<ScheduleId, Found>,
    /// The set's schedules.
    pub members: &'a BTreeSet<ScheduleId>,
    /// The workflow version of each declared schedule, or why there is none.
    pub versions: &'a [Result<u32, String>],
    /// Whether members that are not declared go.
    pub prune: bool,
    /// When.
    pub now: Instant,
}

/// What a declaration would do: every declared schedule in the order it was declared, then the
/// members that are not.
pub fn plan(declaration: &Declaration, scene: &Scene<'_>) -> Vec<Item> {
    let waves = waves(&declaration.schedules);
    let mut places: Vec<usize> = (0..declaration.schedules.len()).collect();
    places.sort_by_key(|place| waves[*place]);
    // Schedules that another may follow, as soon as they are looked at.
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
        // The revision of what is somebody else's is nobody else's business.
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

    /// As the API shows it.
    pub fn view(&self) -> Value {
        json!({
            "schedule_id": self.schedule_id,
            "place": self.place,
            "action": self.action,
            "revision": self.revision,
            "changes": self.changes,
            "fires": self.moves.as_ref().map(Moves::view),
            "says": self.moves.as_ref().map(|moves| moves.says.clone()).unwrap_or_default(),
            "message": self.why,
        })
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
    // A row of the set may be older than the schedule that has the name now.
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

/// How many declared schedules each one follows, one after the other.
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
        // Circles were refused when the declaration was read.
        std::iter::successors(next(&&one.schedule_id), next).take(schedules.len()).count()
    };
    schedules.iter().map(depth).collect()
}

/// Why so many deletes need to be asked for by their number: they are most of the set, or many. A
/// file that lost its contents must not empty a set.
pub fn guard(members: usize, deletes: usize, allowed: Option<usize>) -> Option<String> {
    let is_much = deletes > MAX_UNASKED_DELETES || deletes * 2 > members;
    if !is_much || allowed.is_some_and(|allowed| allowed >= deletes) {
        return None;
    }
    Some(format!("would delete {deletes} of {members} schedules; allow_delete={deletes} lets it"))
}

#[cfg(test)]
mod tests;
