//! The calendar: which local times match, with `cron::Schedule` as its engine.
//!
//! The engine ANDs the two day fields, counts Sunday as 1 and knows no `L`, `W` or `#`. So an
//! expression becomes one schedule, or two where either day field may match; and a special day becomes
//! the set of days it may fall on plus an exact test of the day. The engine always runs on a fixed
//! offset: it never meets a clock change.

use crate::days::{Day, Special};
use crate::error::Field;
use crate::field::Allowed;
use crate::parse::Fields;
use crate::set::{Set, base};
use chrono::{DateTime, Datelike, NaiveDate};
use cron::Schedule;
use std::str::FromStr;

/// Local times are seconds since 1970 as the local clock shows them.
pub(crate) type Local = i64;

const DAY: i64 = 86_400;

/// The end of the calendar: the first second of 2101.
const END: Local = 4_133_980_800;

/// The local times an expression matches.
#[derive(Debug)]
pub(crate) struct Calendar {
    terms: Vec<Term>,
}

impl Calendar {
    pub(crate) fn new(fields: &Fields) -> Calendar {
        let any_day = Allowed::all(Field::DayOfMonth);
        let any_weekday = Allowed::all(Field::DayOfWeek);
        let days = if fields.either_day() {
            vec![(&fields.day_of_month, &any_weekday), (&any_day, &fields.day_of_week)]
        } else {
            vec![(&fields.day_of_month, &fields.day_of_week)]
        };
        let terms =
            days.into_iter().filter_map(|(of_month, of_week)| Term::new(fields, of_month, of_week));
        Calendar { terms: terms.collect() }
    }

    /// The first match strictly later than `after`.
    pub(crate) fn next(&self, after: Local) -> Option<Local> {
        self.terms.iter().filter_map(|term| term.next(after)).min()
    }

    /// The last match strictly earlier than `before`.
    pub(crate) fn prev(&self, before: Local) -> Option<Local> {
        self.terms.iter().filter_map(|term| term.prev(before)).max()
    }
}

/// One run of the engine: both day fields must match.
#[derive(Debug)]
struct Term {
    schedule: Schedule,
    /// The exact test of a day, where the engine's sets are only a superset.
    exact: Option<ExactDays>,
}

impl Term {
    /// None if the sets leave no day at all.
    fn new(fields: &Fields, of_month: &Allowed, of_week: &Allowed) -> Option<Term> {
        let mut days = union(of_month.values, of_month.specials.iter().map(|s| s.may_be()));
        let named = of_week.specials.iter().filter_map(|s| s.weekday()).collect();
        let weekdays = of_week.values.union(named);
        if of_week.values.is_empty() {
            // `FRI#2` alone is exactly a Friday from the 8th to the 14th.
            days = days
                .intersection(union(Set::default(), of_week.specials.iter().map(|s| s.may_be())));
        }
        let expression = [
            numeric(Field::Second, fields.second.values, 0)?,
            numeric(Field::Minute, fields.minute.values, 0)?,
            numeric(Field::Hour, fields.hour.values, 0)?,
            numeric(Field::DayOfMonth, days, 0)?,
            numeric(Field::Month, fields.month.values, 0)?,
            // The engine counts from Sunday = 1.
            numeric(Field::DayOfWeek, weekdays, 1)?,
            numeric(Field::Year, fields.year.values, base(Field::Year))?,
        ];
        let special = !of_month.specials.is_empty() || !of_week.specials.is_empty();
        Some(Term {
            schedule: Schedule::from_str(&expression.join(" ")).ok()?,
            exact: special
                .then(|| ExactDays { of_month: of_month.clone(), of_week: of_week.clone() }),
        })
    }

    fn next(&self, after: Local) -> Option<Local> {
        let mut after = after.clamp(-1, END);
        loop {
            let start = DateTime::from_timestamp(after, 0)?;
            let found = self.schedule.after(&start).next()?;
            if self.exact.as_ref().is_none_or(|exact| exact.allow(found.date_naive())) {
                return Some(found.timestamp());
            }
            // To the end of the day: the cost is per day that may match, not per second.
            after = found.timestamp().div_euclid(DAY) * DAY + DAY - 1;
        }
    }

    fn prev(&self, before: Local) -> Option<Local> {
        let mut before = before.clamp(0, END);
        loop {
            let start = DateTime::from_timestamp(before, 0)?;
            let found = self.schedule.after(&start).next_back()?;
            if self.exact.as_ref().is_none_or(|exact| exact.allow(found.date_naive())) {
                return Some(found.timestamp());
            }
            before = found.timestamp().div_euclid(DAY) * DAY;
        }
    }
}

#[derive(Debug)]
struct ExactDays {
    of_month: Allowed,
    of_week: Allowed,
}

impl ExactDays {
    fn allow(&self, date: NaiveDate) -> bool {
        let day = Day {
            of_month: date.day(),
            of_week: date.weekday().num_days_from_sunday(),
            month_len: u32::from(date.num_days_in_month()),
        };
        let special = |specials: &[Special]| specials.iter().any(|special| special.allows(day));
        (self.of_month.values.contains(day.of_month) || special(&self.of_month.specials))
            && (self.of_week.values.contains(day.of_week) || special(&self.of_week.specials))
    }
}

fn union(set: Set, more: impl Iterator<Item = Set>) -> Set {
    more.fold(set, |all, one| all.union(one))
}

/// A set as the engine reads it; none if it is empty, which the engine cannot say.
fn numeric(field: Field, set: Set, offset: u32) -> Option<String> {
    if set.is_empty() {
        return None;
    }
    if set == Set::full(field) {
        return Some("*".into());
    }
    let values: Vec<String> = set.iter().map(|index| (index + offset).to_string()).collect();
    Some(values.join(","))
}
