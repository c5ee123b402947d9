//! A declared set: the schedules that one declaration owns. A set creates, changes and deletes its
//! own schedules and never touches any other.

pub mod declaration;
pub mod moves;
pub mod plan;
pub mod view;

use crate::id::SetName;

/// The owner and the set of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder<'a> {
    /// The owner of the schedule.
    pub owner: &'a str,
    /// The set that the schedule belongs to, if any.
    pub set: Option<&'a SetName>,
}

/// What a set may do with a schedule name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Create the schedule, because it does not exist.
    Free,
    /// Change and delete the schedule, because it belongs to the set.
    Member,
    /// Nothing, because the schedule does not belong to the set.
    Foreign(Foreign),
}

/// Why a set must not touch a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Another owner has the schedule. The message does not say so, because a caller must not learn
    /// which names other owners use.
    #[error("is a name that cannot be used")]
    Somebodys,
    /// The schedule was created outside of any set.
    #[error("exists and belongs to no set; adopt it first")]
    Unmanaged,
    /// The schedule belongs to another set.
    #[error("belongs to set {0}")]
    Of(SetName),
}

/// What the set `set` of `caller` may do with a schedule name. `found` is the schedule with that
/// name.
pub fn standing(found: Option<Holder<'_>>, caller: &str, set: &SetName) -> Standing {
    match found {
        None => Standing::Free,
        Some(holder) if holder.owner != caller => Standing::Foreign(Foreign::Somebodys),
        Some(Holder { set: None, .. }) => Standing::Foreign(Foreign::Unmanaged),
        Some(Holder { set: Some(has), .. }) if has == set => Standing::Member,
        Some(Holder { set: Some(has), .. }) => Standing::Foreign(Foreign::Of(has.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_that_was_written_before_there_were_sets_belongs_to_none() {
        let old = serde_json::json!({
            "payload": "{}", "inject_metadata": true, "revision": 1,
            "updated_at": "2026-01-01T00:00:00Z",
        });
        let spec: crate::schedule::Spec = serde_json::from_value(old).unwrap();
        assert_eq!(spec.set, None);
        assert!(!serde_json::to_string(&spec).unwrap().contains("\"set\""));
    }

    #[test]
    fn a_set_touches_its_own_schedules_and_no_others() {
        let (billing, other): (SetName, SetName) =
            ("billing".parse().unwrap(), "other".parse().unwrap());
        let check = |found: Option<(&str, Option<&SetName>)>, expected| {
            let found = found.map(|(owner, set)| Holder { owner, set });
            assert_eq!(standing(found, "ann", &billing), expected, "{found:?}");
        };
        check(None, Standing::Free);
        check(Some(("ann", Some(&billing))), Standing::Member);
        check(Some(("ann", None)), Standing::Foreign(Foreign::Unmanaged));
        check(Some(("ann", Some(&other))), Standing::Foreign(Foreign::Of(other.clone())));
        check(Some(("bob", None)), Standing::Foreign(Foreign::Somebodys));
        // Every owner has their own sets: bob's set with the same name is another set.
        check(Some(("bob", Some(&billing))), Standing::Foreign(Foreign::Somebodys));
    }
}
