//! The end of a run: what follows from it, by the state it ends in.
//!
//! Whoever ends a run (its launcher, its executor, its time limit, recovery), the same follows.

use crate::run::Status;

/// What is to be done when a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequences {
    /// The schedules that follow its schedule run: their runs are recorded before the end is.
    pub followers_run: bool,
    /// The backfill it belongs to, if any, goes on.
    pub backfill_goes_on: bool,
    /// The slot it holds, if any, is given back, and the run that waits for it is woken.
    pub slot_is_freed: bool,
    /// The failures in a row are counted, and may pause the schedule.
    pub failures_are_counted: bool,
}

/// What follows from an end in `status`. `None`: a run does not end in this state.
pub fn consequences(status: Status) -> Option<Consequences> {
    let always = Consequences {
        followers_run: false,
        backfill_goes_on: true,
        slot_is_freed: true,
        failures_are_counted: false,
    };
    match status {
        Status::Success => Some(Consequences { followers_run: true, ..always }),
        Status::Failed | Status::Abandoned => {
            Some(Consequences { failures_are_counted: true, ..always })
        }
        Status::Skipped => Some(always),
        Status::Enqueued | Status::Queued | Status::Started => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: Status, expected: [bool; 4]) {
        let found = consequences(status).map(|end| {
            let Consequences {
                followers_run,
                backfill_goes_on,
                slot_is_freed,
                failures_are_counted,
            } = end;
            [followers_run, backfill_goes_on, slot_is_freed, failures_are_counted]
        });
        assert_eq!(found, Some(expected), "{status:?}");
    }

    #[test]
    fn each_kind_of_end_has_its_consequences() {
        //                        followers  backfill  slot  failures
        check(Status::Success, [true, true, true, false]);
        check(Status::Failed, [false, true, true, true]);
        check(Status::Abandoned, [false, true, true, true]);
        check(Status::Skipped, [false, true, true, false]);
    }

    #[test]
    fn only_terminal_states_are_ends() {
        use Status::*;
        for status in [Enqueued, Queued, Started, Success, Failed, Skipped, Abandoned] {
            assert_eq!(consequences(status).is_some(), status.is_terminal(), "{status:?}");
        }
    }
}
