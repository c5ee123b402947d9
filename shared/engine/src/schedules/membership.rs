//! Membership: the declared set that a schedule belongs to.

use belfry_core::declare::set::{Holder, Standing, standing};
use belfry_core::id::SetName;
use belfry_core::schedule::Schedule;
use belfry_core::schedule::change::Difference;
use serde_json::json;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::cloud::store::Link;

/// What a change does to the membership of a schedule in a declared set.
#[derive(Clone)]
pub(crate) enum Membership {
    /// The membership stays: the change does not come from a set.
    Keep,
    /// The schedule belongs to this set from now on.
    Of(SetName),
    /// The schedule belongs to no set from now on.
    None,
}

impl Membership {
    /// The set that the schedule belongs to after the change, if it belonged to `before`.
    pub(crate) fn after(&self, before: Option<&SetName>) -> Option<SetName> {
        match self {
            Membership::Keep => before.cloned(),
            Membership::Of(set) => Some(set.clone()),
            Membership::None => None,
        }
    }
}

/// Refuses a schedule that does not belong to this set of the caller.
pub(crate) fn check_member(
    schedule: &Schedule,
    caller: &Caller,
    set: &SetName,
) -> Result<(), Refusal> {
    let Schedule { clock, spec } = schedule;
    let holder = Holder { owner: &clock.owner, set: spec.set.as_ref() };
    match standing(Some(holder), &caller.sub, set) {
        Standing::Foreign(why) => {
            Err(Refusal::Conflict(format!("schedule {} {why}", clock.schedule_id)))
        }
        Standing::Member | Standing::Free => Ok(()),
    }
}

/// The membership rows that are written together with the schedule.
pub(crate) fn membership(owner: &str, old: Option<&SetName>, new: Option<&SetName>) -> Vec<Link> {
    if old == new {
        return Vec::new();
    }
    let quit = old.map(|set| Link::Quit { owner: owner.to_owned(), set: set.clone() });
    let join = new.map(|set| Link::Join { owner: owner.to_owned(), set: set.clone() });
    quit.into_iter().chain(join).collect()
}

/// The entry of the change log about a schedule that joins or leaves a set.
pub(crate) fn moved(old: Option<&SetName>, new: Option<&SetName>) -> Option<Difference> {
    let told = |set: Option<&SetName>| json!(set);
    (old != new).then(|| Difference { field: "set".to_owned(), old: told(old), new: told(new) })
}
