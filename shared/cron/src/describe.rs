//! Describes an expression in plain words. The description follows from what the expression
//! matches, not from how it is written.

use crate::days::Special;
use crate::error::Field;
use crate::expression::{Cron, Kind};
use crate::field::Allowed;
use crate::parse::Fields;
use crate::set::{Set, base};
use crate::words::{count, list, month, ordinal, ranges, weekday};
use crate::zone::Zone;
use chrono::DateTime;

/// The most times of day that are listed one by one. More times are described as a pattern.
const MOST_TIMES: u32 = 4;

impl Cron {
    /// Describes the expression in plain words, with the name of the zone.
    ///
    /// ```
    /// use belfry_cron::{Cron, Zone};
    /// let zurich = Zone::parse("Europe/Zurich").unwrap();
    /// let says = |text| Cron::parse(text, "").unwrap().describe(&zurich);
    /// assert_eq!(says("0 9 * * MON-FRI"), "At 09:00, Monday to Friday, Europe/Zurich");
    /// assert_eq!(says("*/15 * * * *"), "Every 15 minutes, Europe/Zurich");
    /// ```
    pub fn describe(&self, zone: &Zone) -> String {
        let text = match *self.kind() {
            Kind::Calendar { ref fields, .. } => format!("{}, {zone}", calendar(fields)),
            Kind::Once { local } => {
                let time = DateTime::from_timestamp(local, 0).unwrap_or_default();
                format!("once, on {}, {zone}", time.format("%Y-%m-%d at %H:%M:%S"))
            }
            Kind::Every { seconds } => format!("every {}", elapsed(seconds)),
        };
        let mut letters = text.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    }
}

/// The interval in the largest unit that divides it: `90 minutes`, `hour`, `2 days`.
fn elapsed(seconds: i64) -> String {
    let seconds = seconds.unsigned_abs();
    let (size, unit) = match seconds {
        _ if seconds.is_multiple_of(86_400) => (86_400, "day"),
        _ if seconds.is_multiple_of(3_600) => (3_600, "hour"),
        _ => (60, "minute"),
    };
    match seconds / size {
        1 => unit.to_owned(),
        n => count(n, unit),
    }
}

fn calendar(fields: &Fields) -> String {
    let fixed = times_of_day(fields);
    let daily = fixed.is_some();
    let parts = [
        Some(fixed.unwrap_or_else(|| pattern(fields))),
        days(fields).or(daily.then(|| "every day".to_owned())),
        months(fields),
        years(fields),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(", ")
}

/// Lists the times of day if they are few: `at 09:00 and 17:00`.
fn times_of_day(fields: &Fields) -> Option<String> {
    let (seconds, minutes, hours) =
        (fields.second.values, fields.minute.values, fields.hour.values);
    if seconds.len() * minutes.len() * hours.len() > MOST_TIMES {
        return None;
    }
    let mut times = Vec::new();
    for hour in hours.iter() {
        for minute in minutes.iter() {
            for second in seconds.iter() {
                times.push(match seconds.first() {
                    Some(0) if seconds.len() == 1 => format!("{hour:02}:{minute:02}"),
                    _ => format!("{hour:02}:{minute:02}:{second:02}"),
                });
            }
        }
    }
    Some(format!("at {}", list(&times, "and")))
}

/// Describes many times of day as a pattern: `every 15 minutes from 09:00 to 17:59`.
fn pattern(fields: &Fields) -> String {
    let second = Pattern::of(Field::Second, fields.second.values);
    let minute = Pattern::of(Field::Minute, fields.minute.values);
    let hour = Pattern::of(Field::Hour, fields.hour.values);
    let on_the_minute = second == Pattern::One(0);
    match (&minute, &hour) {
        (Pattern::One(0), Pattern::All | Pattern::Step(..) | Pattern::Run(..)) if on_the_minute => {
            hour.every(Field::Hour)
        }
        (Pattern::One(minute), Pattern::All | Pattern::Step(..)) if on_the_minute => {
            format!("{} at minute {minute}", hour.every(Field::Hour))
        }
        _ => {
            let mut parts = Vec::new();
            if !on_the_minute {
                parts.push(second.every(Field::Second));
            }
            match (&second, &minute) {
                (Pattern::One(_), minute) => parts.push(minute.every(Field::Minute)),
                // "Every second of every minute" is the same as "every second".
                (_, Pattern::All) => {}
                _ => parts.push(within(Field::Minute, fields.minute.values)),
            }
            match hour {
                Pattern::All => {}
                Pattern::One(hour) => parts.push(format!("from {hour:02}:00 to {hour:02}:59")),
                Pattern::Run(from, to) => parts.push(format!("from {from:02}:00 to {to:02}:59")),
                _ => parts.push(within(Field::Hour, fields.hour.values)),
            }
            parts.join(" ")
        }
    }
}

/// Describes a set of minutes or hours: `in the hours 0, 4 and 8`.
fn within(field: Field, set: Set) -> String {
    let values: Vec<u32> = set.iter().collect();
    let plural = if values.len() > 1 { "s" } else { "" };
    format!("in the {field}{plural} {}", ranges(&values, |value| value.to_string(), "and"))
}

/// The regularity in a set of seconds, minutes or hours.
#[derive(PartialEq, Eq)]
enum Pattern {
    All,
    One(u32),
    /// Every n-th value over the whole field: the step and the first value.
    Step(u32, u32),
    Run(u32, u32),
    Some(Vec<u32>),
}

impl Pattern {
    fn of(field: Field, set: Set) -> Pattern {
        let values: Vec<u32> = set.iter().collect();
        let size = field.max() + 1;
        match values[..] {
            _ if set == Set::full(field) => Pattern::All,
            [one] => Pattern::One(one),
            [first, second, .., last] | [first, second @ last]
                if values.windows(2).all(|pair| pair[1] - pair[0] == second - first) =>
            {
                let step = second - first;
                match step {
                    // The step must also be even across the end of the field. Otherwise the
                    // values are not "every n".
                    _ if step > 1
                        && size.is_multiple_of(step)
                        && first < step
                        && last + step >= size =>
                    {
                        Pattern::Step(step, first)
                    }
                    1 if values.len() > 2 => Pattern::Run(first, last),
                    _ => Pattern::Some(values),
                }
            }
            _ => Pattern::Some(values),
        }
    }

    fn every(&self, field: Field) -> String {
        let unit = field.name();
        match self {
            Pattern::All => format!("every {unit}"),
            Pattern::One(value) => format!("at {unit} {value}"),
            Pattern::Step(step, 0) => format!("every {}", count((*step).into(), unit)),
            Pattern::Step(step, first) => {
                format!("every {} from {unit} {first}", count((*step).into(), unit))
            }
            Pattern::Run(from, to) if field == Field::Hour => {
                format!("every hour from {from:02}:00 to {to:02}:00")
            }
            Pattern::Run(from, to) => format!("{unit}s {from} to {to}"),
            Pattern::Some(values) => {
                format!("at {unit}s {}", ranges(values, |value| value.to_string(), "and"))
            }
        }
    }
}

/// Describes the days. `None` if every day matches.
fn days(fields: &Fields) -> Option<String> {
    let of_month = &fields.day_of_month;
    let of_week = &fields.day_of_week;
    let all_month = of_month.values == Set::full(Field::DayOfMonth);
    let all_week = of_week.values == Set::full(Field::DayOfWeek);
    if fields.either_day() {
        return match all_month || all_week {
            true => None,
            false => Some(format!("{} or {}", month_days(of_month), week_days(of_week, "and"))),
        };
    }
    match (all_month, all_week) {
        (true, true) => None,
        (false, true) => Some(month_days(of_month)),
        (true, false) => Some(week_days(of_week, "and")),
        (false, false) => {
            Some(format!("{} if it is {}", month_days(of_month), week_days(of_week, "or")))
        }
    }
}

fn month_days(allowed: &Allowed) -> String {
    let values: Vec<u32> = allowed.values.iter().collect();
    let mut items = Vec::new();
    match values.len() {
        0 => {}
        1 => items.push(format!("day {} of the month", values[0])),
        _ => items.push(format!("days {} of the month", ranges(&values, |d| d.to_string(), "and"))),
    }
    items.extend(allowed.specials.iter().map(special));
    format!("on {}", list(&items, "and"))
}

fn week_days(allowed: &Allowed, last: &str) -> String {
    let mut values: Vec<u32> = allowed.values.iter().collect();
    // Sunday comes last if Saturday is in the list, to keep weekends together.
    if values.contains(&0) && values.contains(&6) && values.len() < 7 {
        let leading = (0..7).take_while(|day| values.contains(day)).count();
        values.rotate_left(leading);
        for day in values.iter_mut().rev().take(leading) {
            *day += 7;
        }
    }
    let mut items = Vec::new();
    if !values.is_empty() {
        items.push(ranges(&values, |day| weekday(day).to_owned(), last));
    }
    items.extend(allowed.specials.iter().map(special));
    list(&items, last)
}

fn special(special: &Special) -> String {
    match *special {
        Special::Last(0) => "the last day of the month".into(),
        Special::Last(n) => {
            format!("the day {} before the last of the month", count(n.into(), "day"))
        }
        Special::LastWeekday => "the last weekday of the month".into(),
        Special::NearestWeekday(n) => format!("the weekday nearest to day {n} of the month"),
        Special::Nth(day, n) => format!("the {} {} of the month", ordinal(n), weekday(day)),
        Special::LastOf(day) => format!("the last {} of the month", weekday(day)),
    }
}

fn months(fields: &Fields) -> Option<String> {
    let values: Vec<u32> = fields.month.values.iter().collect();
    (values.len() < 12).then(|| format!("in {}", ranges(&values, |n| month(n).to_owned(), "and")))
}

fn years(fields: &Fields) -> Option<String> {
    let set = fields.year.values;
    let values: Vec<u32> = set.iter().map(|index| index + base(Field::Year)).collect();
    (set != Set::full(Field::Year))
        .then(|| format!("in {}", ranges(&values, |n| n.to_string(), "and")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let said = Cron::parse(text, "").unwrap().describe(&Zone::UTC);
        assert_eq!(said, format!("{expected}, UTC"), "{text}");
    }

    #[test]
    fn times_of_day_are_told_one_by_one_while_they_are_few() {
        check("0 9 * * *", "At 09:00, every day");
        check("0 9,17 * * 1-5", "At 09:00 and 17:00, Monday to Friday");
        check("15 30 2 * * *", "At 02:30:15, every day");
        check("@yearly", "At 00:00, on day 1 of the month, in January");
    }

    #[test]
    fn patterns_are_told_as_patterns() {
        check("* * * * *", "Every minute");
        check("* * * * * *", "Every second");
        check("*/10 * * * * *", "Every 10 seconds");
        check("*/15 * * * *", "Every 15 minutes");
        check("5/15 * * * *", "Every 15 minutes from minute 5");
        check("*/40 * * * *", "At minutes 0 and 40");
        check("@hourly", "Every hour");
        check("20 */2 * * *", "Every 2 hours at minute 20");
        check("*/15 9-17 * * MON-FRI", "Every 15 minutes from 09:00 to 17:59, Monday to Friday");
        check("0 9-17 * * *", "Every hour from 09:00 to 17:00");
        check("* 4 * * *", "Every minute from 04:00 to 04:59");
        check("* * */4 * * *", "Every second in the hours 0, 4, 8, 12, 16 and 20");
        check("* */20 * * * *", "Every second in the minutes 0, 20 and 40");
        check("30 */20 * * * *", "At second 30 every 20 minutes");
        check("0 1-3,7,9 * * *", "At minute 0 in the hours 1 to 3, 7 and 9");
    }

    #[test]
    fn days_are_told_as_they_combine() {
        check("0 0 13 * FRI", "At 00:00, on day 13 of the month or Friday");
        check("0 0 13 * +FRI", "At 00:00, on day 13 of the month if it is Friday");
        check("0 0 L * *", "At 00:00, on the last day of the month");
        check("0 0 L-3 * *", "At 00:00, on the day 3 days before the last of the month");
        check(
            "0 0 1,15W * *",
            "At 00:00, on day 1 of the month and the weekday nearest to day 15 of the month",
        );
        check("0 0 * * FRI#2", "At 00:00, the second Friday of the month");
        check("0 0 * * 5L", "At 00:00, the last Friday of the month");
        check("0 0 * * SAT-MON", "At 00:00, Saturday to Monday");
        check("0 0 * * 0,6", "At 00:00, Saturday and Sunday");
        check("0 0 * * 0,2,6", "At 00:00, Tuesday, Saturday and Sunday");
        check(
            "0 0 LW 3,6,9,12 *",
            "At 00:00, on the last weekday of the month, in March, June, September and December",
        );
        check("0 0 0 1 7 * 2028-2032", "At 00:00, on day 1 of the month, in July, in 2028 to 2032");
        check("cron(0 10 ? * 2-6 *)", "At 10:00, Monday to Friday");
    }

    #[test]
    fn the_other_forms_have_words_too() {
        check("at(2026-01-01T10:00:00)", "Once, on 2026-01-01 at 10:00:00");
        let rate = |text| Cron::parse(text, "").unwrap().describe(&Zone::UTC);
        assert_eq!(rate("rate(90 minutes)"), "Every 90 minutes");
        assert_eq!(rate("rate(1 hour)"), "Every hour");
        assert_eq!(rate("rate(24 hours)"), "Every day");
    }
}
