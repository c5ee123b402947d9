//! Overlap under `queue`: whose turn it is.

use std::collections::BTreeSet;

use crate::run::Status;

/// Runs that may wait for their turn; a fire beyond them is skipped, reason `queue_full`.
pub const MAX_WAITING: usize = 100;

/// The answer to a run whose time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may start.
    Mine,
    /// Others are before it.
    Wait {
        /// How many of them wait too.
        waiting: usize,
    },
}

/// Decides whether the run `me` may start. `active` are the runs that hold a slot, `earlier` the
/// runs of earlier fires that have not ended: runs start in the order of their nominal times, so an
/// earlier one that has no slot yet goes first, wherever its message is.
pub fn turn(active: &BTreeSet<String>, max: u32, earlier: &[(String, Status)], me: &str) -> Turn {
    let before_me = earlier.iter().filter(|(key, _)| !active.contains(key));
    let others = active.iter().filter(|key| *key != me).count();
    if before_me.count() == 0 && others < max as usize {
        return Turn::Mine;
    }
    let waiting = earlier.iter().filter(|(_, status)| *status == Status::Queued).count();
    Turn::Wait { waiting }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(active: &[&str], max: u32, earlier: &[(&str, Status)], expected: Turn) {
        let active = active.iter().map(|key| (*key).to_owned()).collect();
        let earlier: Vec<_> = earlier.iter().map(|(key, s)| ((*key).to_owned(), *s)).collect();
        assert_eq!(turn(&active, max, &earlier, "5"), expected);
    }

    #[test]
    fn with_nobody_before_it_a_run_starts() {
        check(&[], 1, &[], Turn::Mine);
        check(&["5"], 1, &[], Turn::Mine);
    }

    #[test]
    fn a_run_waits_while_every_slot_is_taken() {
        check(&["4"], 1, &[("4", Status::Started)], Turn::Wait { waiting: 0 });
        check(&["4"], 2, &[("4", Status::Started)], Turn::Mine);
        check(&["3", "4"], 2, &[("4", Status::Started)], Turn::Wait { waiting: 0 });
    }

    #[test]
    fn an_earlier_run_goes_first_even_if_its_message_is_late() {
        check(&[], 1, &[("4", Status::Enqueued)], Turn::Wait { waiting: 0 });
        check(&[], 1, &[("3", Status::Queued), ("4", Status::Queued)], Turn::Wait { waiting: 2 });
    }

    #[test]
    fn an_earlier_run_that_is_being_claimed_goes_first() {
        check(&[], 1, &[("4", Status::Started)], Turn::Wait { waiting: 0 });
    }
}
