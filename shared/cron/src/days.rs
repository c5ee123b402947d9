//! The days that an expression allows, including special days (`L`, `W`, `#`), whose date depends
//! on the month.

use crate::set::Set;

/// The properties of a day that the two day fields look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Day {
    /// 1 to 31.
    pub(crate) of_month: u32,
    /// 0 (Sunday) to 6 (Saturday).
    pub(crate) of_week: u32,
    /// The number of days in the month.
    pub(crate) month_len: u32,
}

/// A special day. Its date depends on the length and the first weekday of the month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// `L-n`: n days before the last day; `L` is `L-0`.
    Last(u32),
    /// `LW`: the last day of the month that is a Monday to Friday.
    LastWeekday,
    /// `nW`: the Monday to Friday that is nearest to day n, in the same month.
    NearestWeekday(u32),
    /// `d#k`: the k-th weekday d of the month.
    Nth(u32, u32),
    /// `dL`: the last weekday d of the month.
    LastOf(u32),
}

impl Special {
    pub(crate) fn allows(self, day: Day) -> bool {
        match self {
            Special::Last(before) => day.of_month + before == day.month_len,
            Special::LastWeekday => nearest_weekday(day.month_len, day) == Some(day.of_month),
            Special::NearestWeekday(n) => nearest_weekday(n, day) == Some(day.of_month),
            Special::Nth(of_week, k) => day.of_week == of_week && (day.of_month - 1) / 7 + 1 == k,
            Special::LastOf(of_week) => day.of_week == of_week && day.of_month + 7 > day.month_len,
        }
    }

    /// Every day of the month on which this special day can fall, over all months.
    pub(crate) fn may_be(self) -> Set {
        let (from, to) = match self {
            Special::Last(before) => (28_u32.saturating_sub(before), 31 - before.min(30)),
            Special::LastWeekday => (26, 31),
            Special::NearestWeekday(n) => (n.saturating_sub(2), n + 2),
            Special::Nth(_, k) => (7 * k - 6, 7 * k),
            Special::LastOf(_) => (22, 31),
        };
        (from.max(1)..=to.min(31)).collect()
    }

    /// The weekday of this special day, if the expression names one.
    pub(crate) fn weekday(self) -> Option<u32> {
        match self {
            Special::Nth(of_week, _) | Special::LastOf(of_week) => Some(of_week),
            _ => None,
        }
    }
}

/// The Monday to Friday that is nearest to day `n` of the month of `day`. `None` if the month has
/// no day `n`.
fn nearest_weekday(n: u32, day: Day) -> Option<u32> {
    if n > day.month_len {
        return None;
    }
    // Both days are in the same month, so adding 35 keeps the difference positive.
    let of_week = (day.of_week + 35 + n - day.of_month) % 7;
    Some(match of_week {
        0 if n == day.month_len => n - 2,
        0 => n + 1,
        6 if n == 1 => n + 2,
        6 => n - 1,
        _ => n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{Datelike, NaiveDate};

    #[track_caller]
    fn check(special: Special, year: i32, month: u32, expected: &[u32]) {
        let days: Vec<u32> = (1..=31)
            .filter_map(|d| NaiveDate::from_ymd_opt(year, month, d))
            .filter(|date| {
                special.allows(Day {
                    of_month: date.day(),
                    of_week: date.weekday().num_days_from_sunday(),
                    month_len: u32::from(date.num_days_in_month()),
                })
            })
            .map(|date| date.day())
            .collect();
        assert_eq!(days, expected);
        assert!(days.iter().all(|&d| special.may_be().contains(d)));
    }

    #[test]
    fn the_last_day_moves_with_the_month() {
        check(Special::Last(0), 2024, 2, &[29]);
        check(Special::Last(0), 2023, 2, &[28]);
        check(Special::Last(2), 2024, 4, &[28]);
        check(Special::Last(30), 2024, 1, &[1]);
        check(Special::Last(30), 2024, 4, &[]);
    }

    #[test]
    fn the_nearest_weekday_stays_in_its_month() {
        check(Special::NearestWeekday(1), 2025, 2, &[3]); // a Saturday
        check(Special::NearestWeekday(1), 2025, 6, &[2]); // a Sunday
        check(Special::NearestWeekday(31), 2025, 8, &[29]); // a Sunday
        check(Special::NearestWeekday(15), 2025, 11, &[14]); // a Saturday
        check(Special::NearestWeekday(31), 2025, 4, &[]);
        check(Special::LastWeekday, 2025, 5, &[30]); // the 31st is a Saturday
    }

    #[test]
    fn weekdays_are_counted_from_either_end() {
        check(Special::Nth(5, 2), 2025, 8, &[8]);
        check(Special::Nth(5, 5), 2025, 8, &[29]);
        check(Special::Nth(4, 5), 2025, 8, &[]);
        check(Special::LastOf(0), 2025, 8, &[31]);
    }
}
