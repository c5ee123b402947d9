//! The end of a run: the consequences of each terminal status.
//!
//! The consequences are the same for everything that can end a run: its launcher, its executor, its
//! time limit and recovery.

use crate::run::Status;

/// What must be done when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Consequences {
    /// The schedules that follow this schedule run. Their runs are recorded before the end of this
    /// run.
    pub followers_run: bool,
    /// The backfill that the run belongs to, if any, continues.
    pub backfill_goes_on: bool,
    /// The slot that the run holds, if any, is released, and the next waiting run is started.
    pub slot_is_freed: bool,
    /// The consecutive failures are counted, which may pause the schedule.
    pub failures_are_counted: bool,
}

/// The consequences of an end in `status`. `None` if `status` is not terminal.
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
