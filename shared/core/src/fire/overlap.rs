//! Overlap: decides whether a run starts, waits or is skipped while earlier runs of its schedule
//! are active.

use std::collections::BTreeSet;

use crate::run::Status;
use crate::schedule::Overlap;

/// The most runs of a schedule that may wait. A further fire is skipped with the reason
/// `queue_full`.
pub const MAX_WAITING: usize = 100;

/// The slots of a schedule, and the runs that hold one.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    /// The sort keys of the runs that hold a slot.
    pub active: &'a BTreeSet<String>,
    /// The number of slots.
    pub max: u32,
}

/// The decision about a run whose time has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The run starts.
    Start,
    /// The run waits until earlier runs have ended.
    Wait,
    /// The run is skipped.
    Skip(Blocked),
}

/// Why a run is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// The run with this sort key holds the slot.
    By(String),
    /// [`MAX_WAITING`] runs are waiting already.
    FullQueue,
}

/// Decides about the run `me`. `earlier` has the runs of earlier fires that have not ended, with
/// their status. Only the policy `queue` uses them: runs start in the order of their nominal times,
/// so an earlier run without a slot goes first, even if its message is late.
///
/// ```
/// use belfry_core::fire::overlap::{Blocked, Decision, Slots, decide};
/// use belfry_core::schedule::Overlap;
/// let active = ["2026-01-01T02:00:00Z".to_owned()].into();
/// let slots = Slots { active: &active, max: 1 };
/// let me = "2026-01-01T03:00:00Z";
/// assert_eq!(decide(Overlap::Allow, slots, &[], me), Decision::Start);
/// assert_eq!(decide(Overlap::Queue, slots, &[], me), Decision::Wait);
/// let blocked = Blocked::By("2026-01-01T02:00:00Z".to_owned());
/// assert_eq!(decide(Overlap::Skip, slots, &[], me), Decision::Skip(blocked));
/// ```
pub fn decide(
    policy: Overlap,
    slots: Slots<'_>,
    earlier: &[(String, Status)],
    me: &str,
) -> Decision {
    let mut others = slots.active.iter().filter(|key| *key != me);
    let has_room = others.clone().count() < slots.max as usize;
    match policy {
        Overlap::Allow => Decision::Start,
        Overlap::Skip if has_room => Decision::Start,
        Overlap::Skip => match others.next() {
            Some(holder) => Decision::Skip(Blocked::By(holder.clone())),
            None => Decision::Start,
        },
        Overlap::Queue => {
            let is_next = earlier.iter().all(|(key, _)| slots.active.contains(key));
            let waiting = earlier.iter().filter(|(_, status)| *status == Status::Queued).count();
            match (is_next && has_room, waiting >= MAX_WAITING) {
                (true, _) => Decision::Start,
                (false, false) => Decision::Wait,
                (false, true) => Decision::Skip(Blocked::FullQueue),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        policy: Overlap,
        active: &[&str],
        max: u32,
        earlier: &[(&str, Status)],
        expected: &Decision,
    ) {
        let active = active.iter().map(|key| (*key).to_owned()).collect();
        let earlier: Vec<_> = earlier.iter().map(|(key, s)| ((*key).to_owned(), *s)).collect();
        assert_eq!(decide(policy, Slots { active: &active, max }, &earlier, "5"), *expected);
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn queue(active: &[&str], max: u32, earlier: &[(&str, Status)], expected: Decision) {
        check(Overlap::Queue, active, max, earlier, &expected);
    }

    #[test]
    fn allow_starts_whatever_is_going() {
        check(Overlap::Allow, &["3", "4"], 1, &[("4", Status::Queued)], &Decision::Start);
    }

    #[test]
    fn skip_starts_while_there_is_room_and_names_the_run_in_the_way() {
        check(Overlap::Skip, &[], 1, &[], &Decision::Start);
        check(Overlap::Skip, &["5"], 1, &[], &Decision::Start);
        check(Overlap::Skip, &["4"], 2, &[("4", Status::Started)], &Decision::Start);
        let blocked = Decision::Skip(Blocked::By("4".to_owned()));
        check(Overlap::Skip, &["4"], 1, &[], &blocked);
    }

    #[test]
    fn queue_starts_a_run_with_no_other_before_it() {
        queue(&[], 1, &[], Decision::Start);
        queue(&["5"], 1, &[], Decision::Start);
    }

    #[test]
    fn queue_waits_while_every_slot_is_taken() {
        queue(&["4"], 1, &[("4", Status::Started)], Decision::Wait);
        queue(&["4"], 2, &[("4", Status::Started)], Decision::Start);
        queue(&["3", "4"], 2, &[("4", Status::Started)], Decision::Wait);
    }

    #[test]
    fn queue_lets_an_earlier_run_go_first_even_if_its_message_is_late() {
        queue(&[], 1, &[("4", Status::Enqueued)], Decision::Wait);
        queue(&[], 1, &[("3", Status::Queued), ("4", Status::Queued)], Decision::Wait);
    }

    #[test]
    fn queue_lets_an_earlier_run_that_is_being_claimed_go_first() {
        queue(&[], 1, &[("4", Status::Started)], Decision::Wait);
    }

    #[test]
    fn queue_skips_a_run_behind_as_many_as_may_wait() {
        let keys: Vec<_> = (0..MAX_WAITING).map(|n| format!("4.{n:03}")).collect();
        let waiting: Vec<_> = keys.iter().map(|key| (key.as_str(), Status::Queued)).collect();
        queue(&[], 1, &waiting, Decision::Skip(Blocked::FullQueue));
        queue(&[], 1, &waiting[1..], Decision::Wait);
    }
}
