//! The calendar: the local times that an expression matches.
//!
//! The sets of values come from `cron::Schedule`, the engine, which keeps them in trees. Here they
//! are bits, and a search takes a few shifts instead of a walk over trees. Speed matters because
//! every fire of every schedule searches for the next one. Debug builds compare each answer with
//! the engine, and the tests compare whole sequences.

use crate::compile::{ExactDays, Term, compile};
use crate::days::Day;
use crate::parse::Fields;
use chrono::{Datelike, NaiveDate};
use cron::TimeUnitSpec;

/// A local time: seconds since 1970 as the local clock shows them.
pub(crate) type Local = i64;

const DAY: i64 = 86_400;

/// The first second after the calendar's last year, 2100.
const END: Local = 4_133_980_800;

/// The year that bit zero stands for.
const FIRST_YEAR: u32 = 1970;

/// The number of years that fit in the bits.
const YEARS: u32 = 192;

/// The day number that chrono gives to 1970-01-01.
const EPOCH_DAY: i64 = 719_163;

/// The local times that an expression matches.
#[derive(Debug)]
pub(crate) struct Calendar {
    seconds: u64,
    minutes: u64,
    hours: u64,
    months: u64,
    years: [u64; 3],
    days: Vec<Days>,
    terms: Vec<Term>,
}

impl Calendar {
    pub(crate) fn new(fields: &Fields) -> Calendar {
        let terms = compile(fields);
        // All terms have the same times, months and years. Only their days differ.
        let any = terms.first().map(|term| &term.schedule);
        let mut years = [0; 3];
        for year in any.into_iter().flat_map(|schedule| schedule.years().iter()) {
            let index = year.saturating_sub(FIRST_YEAR) % YEARS;
            years[index as usize / 64] |= 1 << (index % 64);
        }
        Calendar {
            seconds: any.map_or(0, |schedule| bits(schedule.seconds())),
            minutes: any.map_or(0, |schedule| bits(schedule.minutes())),
            hours: any.map_or(0, |schedule| bits(schedule.hours())),
            months: any.map_or(0, |schedule| bits(schedule.months())),
            years,
            days: terms.iter().map(Days::new).collect(),
            terms,
        }
    }

    /// The first match strictly later than `after`.
    pub(crate) fn next(&self, after: Local) -> Option<Local> {
        let from = after.saturating_add(1).clamp(0, END);
        let today = from.div_euclid(DAY);
        let day = self.day_from(today)?;
        let later_today = match day == today {
            true => self.time_from(from.rem_euclid(DAY)).map(|time| day * DAY + time),
            false => None,
        };
        let found = match later_today {
            Some(found) => found,
            None => self.day_from(day.max(today + 1))? * DAY + self.time_from(0)?,
        };
        debug_assert!(self.engine_includes(found));
        Some(found)
    }

    /// The last match strictly earlier than `before`.
    pub(crate) fn prev(&self, before: Local) -> Option<Local> {
        let from = before.saturating_sub(1).clamp(-1, END - 1);
        let today = from.div_euclid(DAY);
        let day = self.day_until(today)?;
        let earlier_today = match day == today {
            true => self.time_until(from.rem_euclid(DAY)).map(|time| day * DAY + time),
            false => None,
        };
        let found = match earlier_today {
            Some(found) => found,
            None => self.day_until(day.min(today - 1))? * DAY + self.time_until(DAY - 1)?,
        };
        debug_assert!(self.engine_includes(found));
        Some(found)
    }

    /// Whether `cron::Schedule` matches a local time. Debug builds check every answer with it.
    fn engine_includes(&self, local: Local) -> bool {
        chrono::DateTime::from_timestamp(local, 0)
            .is_some_and(|time| self.terms.iter().any(|term| term.schedule.includes(time)))
    }

    /// The first time of day that matches at or after `from`.
    fn time_from(&self, from: i64) -> Option<i64> {
        let (hour, minute, second) = split(from);
        let first_second = at_or_after(self.seconds, 0)?;
        let first_minute = at_or_after(self.minutes, 0)?;
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = at_or_after(self.seconds, second)
            {
                return Some(join(hour, minute, second));
            }
            if let Some(minute) = at_or_after(self.minutes, minute + 1) {
                return Some(join(hour, minute, first_second));
            }
        }
        let hour = at_or_after(self.hours, hour + 1)?;
        Some(join(hour, first_minute, first_second))
    }

    /// The last time of day that matches at or before `until`.
    fn time_until(&self, until: i64) -> Option<i64> {
        let (hour, minute, second) = split(until);
        let last_second = before(self.seconds, 60)?;
        let last_minute = before(self.minutes, 60)?;
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = before(self.seconds, second + 1)
            {
                return Some(join(hour, minute, second));
            }
            if let Some(minute) = before(self.minutes, minute) {
                return Some(join(hour, minute, last_second));
            }
        }
        let hour = before(self.hours, hour)?;
        Some(join(hour, last_minute, last_second))
    }

    /// The first day that matches at or after `from`. Days are counted from 1970-01-01.
    fn day_from(&self, from: i64) -> Option<i64> {
        let date = date(from)?;
        let (mut year, mut month, mut day) = (date.year() as u32, date.month(), date.day());
        loop {
            let index = year.checked_sub(FIRST_YEAR).filter(|index| *index < YEARS)?;
            if !self.has_year(index) {
                (year, month, day) = (self.year_from(index)? + FIRST_YEAR, 1, 1);
                continue;
            }
            match at_or_after(self.months, month) {
                Some(next) if next != month => (month, day) = (next, 1),
                Some(_) => {
                    let first = NaiveDate::from_ymd_opt(year as i32, month, 1)?;
                    match at_or_after(self.days_of(first).into(), day) {
                        Some(day) => return Some(day_number(first) + i64::from(day) - 1),
                        None => (month, day) = (month + 1, 1),
                    }
                }
                None => (year, month, day) = (year + 1, 1, 1),
            }
        }
    }

    /// The last day that matches at or before `until`.
    fn day_until(&self, until: i64) -> Option<i64> {
        let date = date(until)?;
        // `day` is exclusive, so that 32 means "from the end of the month" for every month.
        let (mut year, mut month, mut day) = (date.year() as u32, date.month(), date.day() + 1);
        loop {
            let index = year.checked_sub(FIRST_YEAR).filter(|index| *index < YEARS)?;
            if !self.has_year(index) {
                (year, month, day) = (self.year_until(index)? + FIRST_YEAR, 12, 32);
                continue;
            }
            match before(self.months, month + 1) {
                Some(previous) if previous != month => (month, day) = (previous, 32),
                Some(_) => {
                    let first = NaiveDate::from_ymd_opt(year as i32, month, 1)?;
                    match before(self.days_of(first).into(), day) {
                        Some(day) => return Some(day_number(first) + i64::from(day) - 1),
                        None => (month, day) = (month - 1, 32),
                    }
                }
                None => (year, month, day) = (year.checked_sub(1)?, 12, 32),
            }
        }
    }

    fn has_year(&self, index: u32) -> bool {
        has(self.years[index as usize / 64], index)
    }

    fn year_from(&self, from: u32) -> Option<u32> {
        (from..YEARS).find(|index| self.has_year(*index))
    }

    fn year_until(&self, until: u32) -> Option<u32> {
        (0..=until).rev().find(|index| self.has_year(*index))
    }

    /// The days of a month that match, as bits 1 to 31.
    fn days_of(&self, first: NaiveDate) -> u32 {
        self.days.iter().fold(0, |all, days| all | days.of(first))
    }
}

/// The days that one term matches.
#[derive(Debug)]
struct Days {
    /// The allowed days of the month, as bits 1 to 31.
    of_month: u32,
    /// The days of the month that fall on an allowed weekday, for each weekday of the month's first
    /// day.
    of_week: [u32; 7],
    /// The exact test of a day. It is needed if the bits contain too many days.
    exact: Option<ExactDays>,
}

impl Days {
    fn new(term: &Term) -> Days {
        let weekdays = bits(term.schedule.days_of_week());
        let of_week = std::array::from_fn(|first| {
            (1..=31)
                // The engine counts Sunday as 1.
                .filter(|day| has(weekdays, (first as u32 + day - 1) % 7 + 1))
                .fold(0, |all, day| all | 1 << day)
        });
        let of_month = bits(term.schedule.days_of_month()) as u32;
        Days { of_month, of_week, exact: term.exact.clone() }
    }

    fn of(&self, first: NaiveDate) -> u32 {
        let weekday = first.weekday().num_days_from_sunday();
        let month_len = u32::from(first.num_days_in_month());
        let in_month = u32::MAX >> (31 - month_len);
        let days = self.of_month & self.of_week[weekday as usize] & in_month;
        match &self.exact {
            None => days,
            Some(exact) => {
                let mut allowed = 0;
                let mut rest = days;
                while rest != 0 {
                    let of_month = rest.trailing_zeros();
                    let of_week = (weekday + of_month - 1) % 7;
                    allowed |=
                        u32::from(exact.allow(Day { of_month, of_week, month_len })) << of_month;
                    rest &= rest - 1;
                }
                allowed
            }
        }
    }
}

fn bits(unit: &impl TimeUnitSpec) -> u64 {
    unit.iter().fold(0, |all, value| all | 1 << (value % 64))
}

fn has(bits: u64, index: u32) -> bool {
    bits >> (index % 64) & 1 == 1
}

fn at_or_after(bits: u64, from: u32) -> Option<u32> {
    let rest = bits & u64::MAX.checked_shl(from)?;
    (rest != 0).then(|| rest.trailing_zeros())
}

fn before(bits: u64, until: u32) -> Option<u32> {
    let rest = bits & ((1 << until) - 1);
    (rest != 0).then(|| 63 - rest.leading_zeros())
}

fn split(time: i64) -> (u32, u32, u32) {
    let time = time as u32;
    (time / 3_600, time / 60 % 60, time % 60)
}

fn join(hour: u32, minute: u32, second: u32) -> i64 {
    i64::from(hour * 3_600 + minute * 60 + second)
}

fn date(day: i64) -> Option<NaiveDate> {
    NaiveDate::from_num_days_from_ce_opt(i32::try_from(day + EPOCH_DAY).ok()?)
}

fn day_number(date: NaiveDate) -> i64 {
    i64::from(date.num_days_from_ce()) - EPOCH_DAY
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::{Form, parse_form};
    use chrono::{DateTime, Utc};

    /// The answer of the engine alone, without our bits.
    fn engine_next(calendar: &Calendar, after: Local) -> Option<Local> {
        let after = DateTime::<Utc>::from_timestamp(after, 0).unwrap();
        let next = |term: &Term| term.schedule.after(&after).next();
        calendar.terms.iter().filter_map(next).map(|at| at.timestamp()).min()
    }

    fn engine_prev(calendar: &Calendar, before: Local) -> Option<Local> {
        let before = DateTime::<Utc>::from_timestamp(before, 0).unwrap();
        let prev = |term: &Term| term.schedule.after(&before).next_back();
        calendar.terms.iter().filter_map(prev).map(|at| at.timestamp()).max()
    }

    #[track_caller]
    fn check(text: &str) {
        let Form::Calendar(fields) = parse_form(text, "").unwrap() else { panic!("{text}") };
        let calendar = Calendar::new(&fields);
        let mut at: Local = 17;
        for n in 0..400 {
            assert_eq!(calendar.next(at), engine_next(&calendar, at), "{text} after {at}");
            assert_eq!(calendar.prev(at), engine_prev(&calendar, at), "{text} before {at}");
            // Three steps to the next match, then a jump to anywhere in the calendar.
            at = match (n % 4, calendar.next(at)) {
                (0..3, Some(next)) => next,
                _ => (at * 48_271 + 11) % END,
            };
        }
    }

    #[test]
    fn stepping_by_bits_finds_what_the_engine_finds() {
        for text in [
            "* * * * *",
            "*/7 */11 * * * *",
            "0 22-2/3 * * *",
            "15,45 9-17 * * MON-FRI",
            "0 0 13 * FRI",
            "0 0 29 2 *",
            "0 0 29 2 +MON",
            "0 0 31 */2 *",
            "59 59 23 31 12 * 2100",
            "0 0 0 1 1 * 1970,2024-2048/4",
            "30 5 1-7 NOV-FEB */2",
        ] {
            check(text);
        }
    }

    #[test]
    fn the_calendar_begins_with_1970_and_ends_with_2100() {
        let Form::Calendar(fields) = parse_form("* * * * * *", "").unwrap() else { panic!() };
        let calendar = Calendar::new(&fields);
        assert_eq!(calendar.next(i64::MIN), Some(0));
        assert_eq!(calendar.prev(0), None);
        assert_eq!(calendar.prev(i64::MAX), Some(END - 1));
        assert_eq!(calendar.next(END - 1), None);
    }
}
