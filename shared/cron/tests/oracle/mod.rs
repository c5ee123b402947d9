//! An oracle: evaluates the definition in the simplest way, without the code of the crate.
//!
//! A test generates an expression as a structure and writes it as text for the crate. The oracle
//! evaluates the structure minute by minute. The two share only the offset of the zone at an
//! instant.

use belfry_cron::{DstFold, DstGap, Zone};
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike, Utc};
use std::fmt;

#[derive(Clone, Debug)]
pub(crate) enum Item {
    Star,
    StarStep(u32),
    Value(u32),
    ValueStep(u32, u32),
    Range(u32, u32),
    RangeStep(u32, u32, u32),
    Last(u32),
    LastWeekday,
    Nearest(u32),
    Nth(u32, u32),
    LastOf(u32),
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Star => write!(f, "*"),
            Item::StarStep(s) => write!(f, "*/{s}"),
            Item::Value(v) => write!(f, "{v}"),
            Item::ValueStep(v, s) => write!(f, "{v}/{s}"),
            Item::Range(a, b) => write!(f, "{a}-{b}"),
            Item::RangeStep(a, b, s) => write!(f, "{a}-{b}/{s}"),
            Item::Last(0) => write!(f, "L"),
            Item::Last(n) => write!(f, "L-{n}"),
            Item::LastWeekday => write!(f, "LW"),
            Item::Nearest(n) => write!(f, "{n}W"),
            Item::Nth(d, k) => write!(f, "{d}#{k}"),
            Item::LastOf(d) => write!(f, "{d}L"),
        }
    }
}

/// A field: its smallest value, its largest value and its list of items.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) min: u32,
    pub(crate) max: u32,
    pub(crate) items: Vec<Item>,
}

impl List {
    fn begins_with_star(&self) -> bool {
        matches!(self.items[0], Item::Star | Item::StarStep(_))
    }

    /// Whether the field matches a value. Counts through each range as the definition does: a
    /// descending range wraps around once.
    fn has(&self, value: u32, date: Option<NaiveDateTime>) -> bool {
        self.items.iter().any(|item| {
            let walk = |from: u32, to: u32, step: u32| {
                let mut at = from;
                let mut taken = 0;
                loop {
                    if taken % step == 0 && at == value {
                        return true;
                    }
                    if at == to {
                        return false;
                    }
                    at = if at == self.max { self.min } else { at + 1 };
                    taken += 1;
                }
            };
            match *item {
                Item::Star => true,
                Item::StarStep(s) => walk(self.min, self.max, s),
                Item::Value(v) => v == value,
                Item::ValueStep(v, s) => walk(v, self.max, s),
                Item::Range(a, b) => walk(a, b, 1),
                Item::RangeStep(a, b, s) => walk(a, b, s),
                _ => date.is_some_and(|date| special(item, date)),
            }
        })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> = self.items.iter().map(Item::to_string).collect();
        f.write_str(&items.join(","))
    }
}

fn is_weekend(date: NaiveDateTime) -> bool {
    date.weekday().number_from_monday() > 5
}

fn special(item: &Item, date: NaiveDateTime) -> bool {
    let month = date.month();
    let same_month = |days: i64| {
        date.checked_add_signed(TimeDelta::days(days)).filter(|other| other.month() == month)
    };
    match *item {
        // The day that is n days later is the last day of the month.
        Item::Last(n) => {
            same_month(i64::from(n)).is_some() && same_month(i64::from(n) + 1).is_none()
        }
        Item::LastWeekday => {
            let later = (1..31).filter_map(&same_month);
            !is_weekend(date) && { later }.all(is_weekend)
        }
        Item::Nearest(n) => {
            let Some(target) = date.with_day(n) else { return false };
            let candidates = (1..=31).filter_map(|d| date.with_day(d)).filter(|d| !is_weekend(*d));
            // The nearest of a Saturday is the Friday before, and of a Sunday the Monday after.
            // Both are one day away, or two days if the nearer one is in another month.
            let nearest = candidates.min_by_key(|d| (*d - target).num_days().abs());
            nearest == Some(date)
        }
        Item::Nth(d, k) => {
            date.weekday().num_days_from_sunday() == d
                && (1..6).filter(|n| same_month(-7 * n).is_some()).count() as u32 == k - 1
        }
        Item::LastOf(d) => date.weekday().num_days_from_sunday() == d && same_month(7).is_none(),
        _ => false,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) second: Option<List>,
    pub(crate) minute: List,
    pub(crate) hour: List,
    pub(crate) day_of_month: List,
    pub(crate) month: List,
    pub(crate) day_of_week: List,
    pub(crate) plus: bool,
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(second) = &self.second {
            write!(f, "{second} ")?;
        }
        let plus = if self.plus { "+" } else { "" };
        write!(
            f,
            "{} {} {} {} {plus}{}",
            self.minute, self.hour, self.day_of_month, self.month, self.day_of_week
        )
    }
}

impl Expression {
    pub(crate) fn is_interval(&self) -> bool {
        self.second.as_ref().is_some_and(List::begins_with_star)
            || self.minute.begins_with_star()
            || self.hour.begins_with_star()
    }

    pub(crate) fn matches_day(&self, local: NaiveDateTime) -> bool {
        // On the local clock, the calendar begins with 1970 and ends with 2100.
        if !(1970..=2100).contains(&local.year()) || !self.month.has(local.month(), None) {
            return false;
        }
        let date = local.date().and_hms_opt(0, 0, 0);
        let of_month = self.day_of_month.has(local.day(), date);
        let of_week = self.day_of_week.has(local.weekday().num_days_from_sunday(), date);
        let star = self.day_of_month.begins_with_star() || self.day_of_week.begins_with_star();
        if star || self.plus { of_month && of_week } else { of_month || of_week }
    }

    pub(crate) fn matches_time(&self, local: NaiveDateTime) -> bool {
        let second = match &self.second {
            Some(second) => second.has(local.second(), None),
            None => local.second() == 0,
        };
        second && self.minute.has(local.minute(), None) && self.hour.has(local.hour(), None)
    }

    fn matches(&self, local: NaiveDateTime) -> bool {
        self.matches_time(local) && self.matches_day(local)
    }

    /// The fires from `from` to `to`, found by moving the wall clock tick by tick.
    pub(crate) fn fires(
        &self,
        zone: Zone,
        (gap, fold): (DstGap, DstFold),
        (from, to): (DateTime<Utc>, DateTime<Utc>),
        tick: TimeDelta,
    ) -> Vec<DateTime<Utc>> {
        let shown =
            |at: DateTime<Utc>| at.naive_utc() + TimeDelta::seconds(i64::from(zone.offset_at(at)));
        // Start two days early, to know which local times the clock has already shown.
        let mut at = from - TimeDelta::days(2);
        let mut reached = shown(at - tick);
        let mut fires = Vec::new();
        while at <= to {
            let local = shown(at);
            let new = local > reached;
            let mut fire = self.matches(local) && (new || fold == DstFold::Both);
            if gap == DstGap::Shift {
                let mut skipped = reached + tick;
                while !fire && skipped < local {
                    fire = self.matches(skipped);
                    skipped += tick;
                }
            }
            if fire && at >= from {
                fires.push(at);
            }
            reached = reached.max(local);
            at += tick;
        }
        fires
    }
}
