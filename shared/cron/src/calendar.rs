//! The calendar: the local times that an expression matches.
//!
//! `cron::Schedule`, the engine, computes them with its iterators. It runs on UTC, where each local
//! time exists exactly once: around clock changes its iterators skip and repeat times, and those
//! are the timetable's affair. Around it is the exact test of special days, of which the engine
//! knows only the days on which they can fall.

use crate::compile::{Term, compile};
use crate::days::Day;
use crate::parse::Fields;
use chrono::{DateTime, Datelike, Utc};

/// A local time: seconds since 1970 as the local clock shows them.
pub(crate) type Local = i64;

const DAY: i64 = 86_400;

/// The first second after the calendar's last year, 2100.
const END: Local = 4_133_980_800;

/// The local times that an expression matches.
#[derive(Debug)]
pub(crate) struct Calendar {
    terms: Vec<Term>,
}

impl Calendar {
    pub(crate) fn new(fields: &Fields) -> Calendar {
        Calendar { terms: compile(fields) }
    }

    /// The first match strictly later than `after`.
    pub(crate) fn next(&self, after: Local) -> Option<Local> {
        // The engine panics at the ends of chrono's time, so it is asked only about its own years.
        let after = after.clamp(-1, END);
        self.terms.iter().filter_map(|term| term.next(after)).min()
    }

    /// The last match strictly earlier than `before`.
    pub(crate) fn prev(&self, before: Local) -> Option<Local> {
        let before = before.clamp(0, END);
        self.terms.iter().filter_map(|term| term.prev(before)).max()
    }
}

impl Term {
    fn next(&self, mut after: Local) -> Option<Local> {
        loop {
            let found = self.schedule.after(&clock(after)?).next()?;
            let at = found.timestamp();
            if self.allows(found) {
                return Some(at);
            }
            // Go on with the next day, so that a search costs steps per day and not per second.
            after = at - at.rem_euclid(DAY) + DAY - 1;
        }
    }

    fn prev(&self, mut before: Local) -> Option<Local> {
        loop {
            let found = self.schedule.after(&clock(before)?).next_back()?;
            let at = found.timestamp();
            if self.allows(found) {
                return Some(at);
            }
            before = at - at.rem_euclid(DAY);
        }
    }

    /// Whether a day that the engine found is one that the expression means.
    fn allows(&self, found: DateTime<Utc>) -> bool {
        self.exact.as_ref().is_none_or(|exact| {
            exact.allow(Day {
                of_month: found.day(),
                of_week: found.weekday().num_days_from_sunday(),
                month_len: u32::from(found.date_naive().num_days_in_month()),
            })
        })
    }
}

/// The local time as the engine reads it: as if it were UTC.
fn clock(local: Local) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(local, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Form, parse_form};
    use std::time::{Duration, Instant};

    fn calendar(text: &str) -> Calendar {
        let Form::Calendar(fields) = parse_form(text, "").unwrap() else { panic!("{text}") };
        Calendar::new(&fields)
    }

    fn at(text: &str) -> Local {
        format!("{text}Z").parse::<DateTime<Utc>>().unwrap().timestamp()
    }

    /// Checks that these are all matches from the first to the last of them, in both directions.
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let calendar = calendar(text);
        let expected: Vec<_> = expected.iter().map(|text| at(text)).collect();
        let (first, last) = (expected[0], expected[expected.len() - 1]);
        let step = |at: &Local| calendar.next(*at).filter(|at| *at <= last);
        let found: Vec<_> = std::iter::successors(calendar.next(first - 1), step).collect();
        assert_eq!(found, expected, "{text}");
        let step = |at: &Local| calendar.prev(*at).filter(|at| *at >= first);
        let back: Vec<_> = std::iter::successors(calendar.prev(last + 1), step).collect();
        assert_eq!(back, expected.into_iter().rev().collect::<Vec<_>>(), "backwards: {text}");
    }

    #[test]
    fn a_special_day_is_where_its_month_puts_it() {
        check(
            "0 0 L 1-3 *",
            &["2100-01-31T00:00:00", "2100-02-28T00:00:00", "2100-03-31T00:00:00"],
        );
        check(
            "30 12 15W 8-11 *",
            &[
                "2025-08-15T12:30:00",
                "2025-09-15T12:30:00",
                "2025-10-15T12:30:00",
                "2025-11-14T12:30:00",
            ],
        );
        check(
            "0 8,20 * * FRI#5",
            &[
                "2025-05-30T08:00:00",
                "2025-05-30T20:00:00",
                "2025-08-29T08:00:00",
                "2025-08-29T20:00:00",
                "2025-10-31T08:00:00",
            ],
        );
    }

    #[test]
    fn either_day_field_is_enough_unless_one_begins_with_a_star() {
        check(
            "0 0 13 * FRI",
            &[
                "2026-11-06T00:00:00",
                "2026-11-13T00:00:00",
                "2026-11-20T00:00:00",
                "2026-11-27T00:00:00",
                "2026-12-04T00:00:00",
                "2026-12-11T00:00:00",
                "2026-12-13T00:00:00",
            ],
        );
        check("0 0 13 * +FRI", &["2026-11-13T00:00:00", "2027-08-13T00:00:00"]);
    }

    #[test]
    fn sparse_expressions_find_matches_that_are_decades_apart() {
        check("0 0 29 2 +MON", &["2044-02-29T00:00:00", "2072-02-29T00:00:00"]);
        check("0 0 0 29 2 * 2000-2100", &["2096-02-29T00:00:00"]);
        check(
            "0 0 0 1 1 * 1970,2096,2100",
            &["1970-01-01T00:00:00", "2096-01-01T00:00:00", "2100-01-01T00:00:00"],
        );
        // The Monday to Friday that is nearest to 29 February is a Monday.
        check("0 0 29W 2 +MON", &["2044-02-29T00:00:00", "2072-02-29T00:00:00"]);
    }

    #[test]
    fn the_calendar_begins_with_1970_and_ends_with_2100() {
        let calendar = calendar("* * * * * *");
        assert_eq!(calendar.next(i64::MIN), Some(0));
        assert_eq!(calendar.prev(0), None);
        assert_eq!(calendar.prev(i64::MAX), Some(END - 1));
        assert_eq!(calendar.next(END - 1), None);
    }

    /// The engine's days contain every day of the expression, and a search may find that none of
    /// them is meant. Even then it takes at most one step for each day of the calendar.
    #[test]
    fn the_search_is_short_for_every_expression() {
        let nearest: Vec<_> = (1..=31).map(|day| format!("{day}W")).collect();
        let begin = Instant::now();
        for text in [
            // No working day is a Saturday, and every Saturday is asked about.
            format!("* * * {} * +SAT", nearest.join(",")),
            format!("* * * {} * +SAT,SUN 1970-2100", nearest.join(",")),
            "0 0 L-30 2 *".to_owned(),
            "* * * 29 2 +MON 1970-2100".to_owned(),
            "* * * 29 2 +MON 2100".to_owned(),
            "59 59 23 31 12 * 2100".to_owned(),
            "* * * 30 2 *".to_owned(),
            "* * * LW * +SUN#5,SAT#5".to_owned(),
        ] {
            let calendar = calendar(&text);
            for at in [0, 1_000_000_000, 4_000_000_000, END] {
                assert!(calendar.next(at).is_none_or(|next| next > at), "{text} after {at}");
                assert!(calendar.prev(at).is_none_or(|prev| prev < at), "{text} before {at}");
            }
        }
        let took = begin.elapsed();
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
