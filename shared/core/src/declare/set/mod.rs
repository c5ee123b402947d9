//! A declared set: the schedules that one declaration owns. It makes, changes and deletes its own
//! and never touches any other.

pub mod declaration;
pub mod moves;
pub mod plan;

use crate::id::SetName;

/// Whose a schedule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder<'a> {
    /// Who owns it.
    pub owner: &'a str,
    /// The set it belongs to, if to any.
    pub set: Option<&'a SetName>,
}

/// What a set may do under a schedule's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Make it: there is none.
    Free,
    /// Change and delete it.
    Member,
    /// Nothing.
    Foreign(Foreign),
}

/// Why a schedule is not a set's to touch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// Somebody else has it. No more is told: not yours looks like not there.
    #[error("is a name that cannot be used")]
    Somebodys,
    /// It was made by hand.
    #[error("exists and belongs to no set; adopt it first")]
    Unmanaged,
    /// Another declaration owns it.
    #[error("belongs to set {0}")]
    Of(SetName),
}

/// What the set `set` of `caller` may do with what stands under a name.
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
        // Sets are their owners': bob's set of the same name is another.
        check(Some(("bob", Some(&billing))), Standing::Foreign(Foreign::Somebodys));
    }
}
