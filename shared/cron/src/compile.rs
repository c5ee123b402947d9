//! Translates fields into schedules of the `cron` crate, here called the engine. The engine gets
//! only numbers, never the user's text.
//!
//! The engine requires both day fields to match, counts Sunday as 1 and does not know `L`, `W` or
//! `#`. So an expression becomes one schedule, or two schedules if one matching day field is
//! enough. A special day becomes the set of days on which it can fall, plus an exact test of each
//! day.

use crate::days::{Day, Special};
use crate::error::Field;
use crate::field::Allowed;
use crate::parse::Fields;
use crate::set::{Set, base};
use cron::Schedule;
use std::str::FromStr;

/// One schedule of the engine. Both of its day fields must match.
#[derive(Debug)]
pub(crate) struct Term {
    pub(crate) schedule: Schedule,
    /// The exact test of a day. It is needed if the engine's sets contain too many days.
    pub(crate) exact: Option<ExactDays>,
}

/// The schedules that together match what the fields match. Empty if no day can match.
pub(crate) fn compile(fields: &Fields) -> Vec<Term> {
    let any_day = Allowed::all(Field::DayOfMonth);
    let any_weekday = Allowed::all(Field::DayOfWeek);
    let days = if fields.either_day() {
        vec![(&fields.day_of_month, &any_weekday), (&any_day, &fields.day_of_week)]
    } else {
        vec![(&fields.day_of_month, &fields.day_of_week)]
    };
    days.into_iter().filter_map(|(of_month, of_week)| term(fields, of_month, of_week)).collect()
}

fn term(fields: &Fields, of_month: &Allowed, of_week: &Allowed) -> Option<Term> {
    let mut days = union(of_month.values, of_month.specials.iter().map(|s| s.may_be()));
    let named = of_week.specials.iter().filter_map(|s| s.weekday()).collect();
    if of_week.values.is_empty() {
        // For example, `FRI#2` is a Friday from the 8th to the 14th.
        let may_be = union(Set::default(), of_week.specials.iter().map(|s| s.may_be()));
        days = days.intersection(may_be);
    }
    let expression = [
        numeric(Field::Second, fields.second.values, 0)?,
        numeric(Field::Minute, fields.minute.values, 0)?,
        numeric(Field::Hour, fields.hour.values, 0)?,
        numeric(Field::DayOfMonth, days, 0)?,
        numeric(Field::Month, fields.month.values, 0)?,
        // The engine counts Sunday as 1.
        numeric(Field::DayOfWeek, of_week.values.union(named), 1)?,
        numeric(Field::Year, fields.year.values, base(Field::Year))?,
    ];
    let special = !of_month.specials.is_empty() || !of_week.specials.is_empty();
    let exact = || ExactDays { of_month: of_month.clone(), of_week: of_week.clone() };
    Some(Term {
        schedule: Schedule::from_str(&expression.join(" ")).ok()?,
        exact: special.then(exact),
    })
}

/// The two day fields with their special days, for the exact test of a day.
#[derive(Clone, Debug)]
pub(crate) struct ExactDays {
    of_month: Allowed,
    of_week: Allowed,
}

impl ExactDays {
    pub(crate) fn allow(&self, day: Day) -> bool {
        let special = |specials: &[Special]| specials.iter().any(|special| special.allows(day));
        (self.of_month.values.contains(day.of_month) || special(&self.of_month.specials))
            && (self.of_week.values.contains(day.of_week) || special(&self.of_week.specials))
    }
}

fn union(set: Set, more: impl Iterator<Item = Set>) -> Set {
    more.fold(set, |all, one| all.union(one))
}

/// Writes a set in the engine's syntax. `None` if the set is empty, because that syntax has no
/// empty set.
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
