//! The self-check: finds clocks that no tick can see.
//!
//! A clock is adrift if and only if its schedule has future fires and the due index does not
//! contain the clock. Such a clock has no next run, or its next run is long past and no tick
//! handled it.

use chrono::Duration;

use crate::instant::Instant;
use crate::schedule::Clock;

/// How late a clock must be to count as adrift. A tick that is this late would be an outage, so the
/// clock is probably missing from the index.
const LONG_PAST: Duration = Duration::minutes(30);

/// How to repair a clock that is adrift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Set this next run. Earlier fires are not launched, because it is unknown which of them
    /// already were.
    SetNext(Instant),
    /// Put the clock back into the index as it is.
    PutBack,
}

/// Decides whether a clock is adrift, and how to repair it. `None` if the clock is fine.
/// `is_indexed` is whether the due index holds the clock; a caller that does not know says yes, and
/// then only a next run that is long past tells.
pub fn repair(clock: &Clock, is_indexed: bool, now: Instant) -> Option<Repair> {
    if clock.paused {
        return None;
    }
    match clock.next_run_at {
        Some(next) => (!is_indexed || next < now - LONG_PAST).then_some(Repair::PutBack),
        None => {
            let readable = clock.read().ok()?;
            clock.timing.next_after(&readable.timetable, now).map(Repair::SetNext)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::definition::tests::clock;

    fn at(time: &str) -> Instant {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    #[track_caller]
    fn check(clock: &Clock, expected: Option<Repair>) {
        assert_eq!(repair(clock, true, at("10:10:00")), expected);
    }

    #[test]
    fn a_clock_without_a_next_run_gets_one() {
        check(&clock("0 * * * *"), Some(Repair::SetNext(at("11:00:00"))));
        check(&clock("at(2025-12-31T00:00:00)"), None);
        let mut over = clock("0 * * * *");
        over.timing.end_at = Some(at("10:30:00"));
        check(&over, None);
        check(&Clock { paused: true, ..clock("0 * * * *") }, None);
    }

    #[test]
    fn a_clock_nobody_came_to_is_put_back() {
        let due = |time| Clock { next_run_at: Some(at(time)), ..clock("0 * * * *") };
        check(&due("09:00:00"), Some(Repair::PutBack));
        check(&due("10:00:00"), None);
        check(&due("11:00:00"), None);
    }

    #[test]
    fn a_clock_out_of_the_index_is_put_back_before_its_next_run() {
        let due = Clock { next_run_at: Some(at("11:00:00")), ..clock("0 * * * *") };
        assert_eq!(repair(&due, false, at("10:10:00")), Some(Repair::PutBack));
        let paused = Clock { paused: true, ..due };
        assert_eq!(repair(&paused, false, at("10:10:00")), None, "a pause takes it out");
        let over = clock("at(2025-12-31T00:00:00)");
        assert_eq!(repair(&over, false, at("10:10:00")), None, "it had its last fire");
    }
}
