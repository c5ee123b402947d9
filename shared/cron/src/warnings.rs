//! Warnings about expressions that are legal but probably not what the author expects.

use crate::days::Special;
use crate::dst::{DstFold, DstGap};
use crate::error::Field;
use crate::expression::Kind;
use crate::field::Allowed;
use crate::parse::Fields;
use crate::set::Set;
use crate::timetable::{LocalTimes, Single, Timetable};
use crate::words::{count, month, ranges, weekday};
use crate::zone::Span;
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

/// Something that the author of an expression should know before relying on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind of warning, for programs.
    pub code: WarningCode,
    /// The warning for people: a fragment without a full stop.
    pub message: String,
}

/// The kinds of warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarningCode {
    /// More than one fire a minute: `* * */4 * * *`.
    SubMinute,
    /// Every minute of some hours, where the author may have meant once an hour: `* 4 * * *`.
    EveryMinute,
    /// A step that does not divide its field, which makes the last interval shorter: `*/40`.
    UnevenStep,
    /// A day that some months do not have: `0 0 31 * *`.
    ShortMonths,
    /// Both day fields are restricted, and one match is enough: `0 0 13 * FRI`.
    EitherDay,
    /// Both day fields are restricted and both must match, because one begins with `*`:
    /// `0 0 */2 * MON`.
    BothDays,
    /// Within a year, a fire falls into local time that the clock skips.
    DstGap,
    /// Within a year, a fire falls into local time that the clock shows twice.
    DstFold,
    /// The last fire is in the past.
    Finished,
}

/// How far ahead the warnings look for clock changes.
const LOOK_AHEAD: TimeDelta = TimeDelta::days(366);

impl Timetable {
    /// The warnings for this timetable, as of `now`.
    ///
    /// ```
    /// use belfry_cron::{Cron, Timetable, WarningCode, Zone};
    /// let zone = Zone::parse("Europe/Zurich").unwrap();
    /// let table = Timetable::new(Cron::parse("30 2 * * *", "").unwrap(), zone);
    /// let warnings = table.warnings("2026-11-16T00:00:00Z".parse().unwrap());
    /// assert_eq!(warnings[0].code, WarningCode::DstGap);
    /// assert_eq!(
    ///     warnings[0].message,
    ///     "on 2027-03-28 the clock in Europe/Zurich skips 02:30: it fires at 03:00 instead"
    /// );
    /// ```
    pub fn warnings(&self, now: DateTime<Utc>) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.next_after(now).is_none() {
            let last = self.prev_before(now).map_or_else(String::new, |last| {
                format!("; the last was {}", last.format("%Y-%m-%dT%H:%M:%SZ"))
            });
            warnings.push(warning(WarningCode::Finished, format!("there are no more fires{last}")));
            return warnings;
        }
        match *self.cron().kind() {
            Kind::Calendar { ref fields, ref calendar } => {
                warnings.extend(too_often(fields));
                warnings.extend(uneven_steps(fields));
                warnings.extend(day_rule(fields));
                warnings.extend(short_months(fields));
                // An expression that fires in every hour is not affected by a clock change.
                if fields.hour.values != Set::full(Field::Hour) {
                    self.clock_changes(calendar, now, &mut warnings);
                }
            }
            Kind::Once { local } => self.clock_changes(&Single(local), now, &mut warnings),
            Kind::Every { .. } => {}
        }
        warnings
    }

    fn clock_changes(
        &self,
        times: &impl LocalTimes,
        now: DateTime<Utc>,
        warnings: &mut Vec<Warning>,
    ) {
        let spans = self.zone().spans();
        let end = now.timestamp().saturating_add(LOOK_AHEAD.num_seconds());
        let coming = (spans.index_at(now.timestamp()) + 1..spans.len()).map(|n| spans.get(n));
        for span in coming.take_while(|span| span.start <= end) {
            let (from, to) = match span.follows_gap() {
                true => (span.reached, span.local_start()),
                false => (span.local_start(), span.reached),
            };
            if let Some(local) = times.next(from - 1).filter(|local| *local < to) {
                let several = times.next(local).is_some_and(|next| next < to);
                warnings.push(self.clock_change(&span, local, several));
            }
        }
    }

    fn clock_change(&self, span: &Span, local: i64, several: bool) -> Warning {
        let zone = self.zone();
        let day = format(local, "%Y-%m-%d");
        let others = if several { " and other times" } else { "" };
        let time = format(local, if local % 60 == 0 { "%H:%M" } else { "%H:%M:%S" }) + others;
        if span.follows_gap() {
            let outcome = match (self.gap(), several) {
                (DstGap::Shift, _) => {
                    let end = format(span.local_start(), "%H:%M");
                    let once = if several { " once" } else { "" };
                    format!("it fires{once} at {end} instead")
                }
                (DstGap::Skip, false) => "that fire is skipped".into(),
                (DstGap::Skip, true) => "those fires are skipped".into(),
            };
            let message = format!("on {day} the clock in {zone} skips {time}: {outcome}");
            return warning(WarningCode::DstGap, message);
        }
        let outcome = match self.fold() {
            DstFold::First => "it fires the first time only",
            DstFold::Both => "it fires both times",
        };
        let message = format!("on {day} the clock in {zone} shows {time} twice: {outcome}");
        warning(WarningCode::DstFold, message)
    }
}

fn too_often(fields: &Fields) -> Option<Warning> {
    let per_minute = fields.second.values.len();
    if per_minute > 1 {
        let how = match per_minute {
            60 => "every second".to_owned(),
            n => format!("{} in a minute", count(n.into(), "time")),
        };
        return Some(warning(
            WarningCode::SubMinute,
            format!(
                "fires {how}: with six or seven fields the first is the second; \
                 write `0` there for once a minute"
            ),
        ));
    }
    let all_minutes = fields.minute.values == Set::full(Field::Minute);
    let all_hours = fields.hour.values == Set::full(Field::Hour);
    (all_minutes && !all_hours).then(|| {
        warning(
            WarningCode::EveryMinute,
            "fires every minute of the hours it names, 60 times in each; \
             write `0` as the minute for once an hour"
                .into(),
        )
    })
}

fn uneven_steps(fields: &Fields) -> Vec<Warning> {
    let of = |field: Field, allowed: &Allowed| {
        let size = field.max() - field.min() + 1;
        let step = allowed.star_step.filter(|step| *step > 1 && *step < size)?;
        let message = match field {
            Field::DayOfMonth => format!(
                "`*/{step}` starts again on day 1 of every month, so it is not always every {step} days"
            ),
            _ if size.is_multiple_of(step) => return None,
            _ => {
                let last = (size - 1) / step * step;
                let name = field.name();
                format!(
                    "`*/{step}` is uneven: {step} does not divide {size}, so after {name} {} \
                     the next is {} {name}s later, not {step}",
                    last + field.min(),
                    size - last
                )
            }
        };
        Some(warning(WarningCode::UnevenStep, message))
    };
    let fields = [
        of(Field::Second, &fields.second),
        of(Field::Minute, &fields.minute),
        of(Field::Hour, &fields.hour),
        of(Field::DayOfMonth, &fields.day_of_month),
        of(Field::Month, &fields.month),
    ];
    fields.into_iter().flatten().collect()
}

fn day_rule(fields: &Fields) -> Option<Warning> {
    let restricted = |field, allowed: &Allowed| allowed.values != Set::full(field);
    if !restricted(Field::DayOfMonth, &fields.day_of_month)
        || !restricted(Field::DayOfWeek, &fields.day_of_week)
        || fields.both_days
    {
        return None;
    }
    Some(if fields.either_day() {
        warning(
            WarningCode::EitherDay,
            "fires when either the day of month or the day of week matches; \
             put `+` before the day of week to require both"
                .into(),
        )
    } else {
        warning(
            WarningCode::BothDays,
            "fires only when day of month and day of week both match, because one of them begins \
             with `*`"
                .into(),
        )
    })
}

/// Warns if some of the months do not have the earliest day that the expression names.
fn short_months(fields: &Fields) -> Option<Warning> {
    let of_month = &fields.day_of_month;
    // The number of days that a month must have to contain the special day.
    let needs = |special: &Special| match *special {
        Special::Last(before) => before + 1,
        Special::NearestWeekday(day) => day,
        Special::LastWeekday | Special::Nth(..) | Special::LastOf(_) => 1,
    };
    let day = of_month.values.first().into_iter().chain(of_month.specials.iter().map(needs)).min();
    if let Some(day) = day.filter(|day| *day > 28) {
        let lacking: Vec<u32> =
            fields.month.values.iter().filter(|month| days_in(*month) < day).collect();
        if !lacking.is_empty() {
            let months = ranges(&lacking, |n| month(n).to_owned(), "and");
            let message = match (day, &lacking[..], fields.month.values.len()) {
                (29, [2], 1) => "fires only in leap years".to_owned(),
                (29, [2], _) => "fires in February only in leap years".to_owned(),
                (_, [_], _) => format!("does not fire in {months}, which is too short"),
                _ => format!("does not fire in {months}, which are too short"),
            };
            return Some(warning(WarningCode::ShortMonths, message));
        }
    }
    let fifth = |special: &Special| match *special {
        Special::Nth(day, 5) => Some(day),
        _ => None,
    };
    let day = fields.day_of_week.specials.iter().find_map(fifth)?;
    Some(warning(WarningCode::ShortMonths, format!("most months have no fifth {}", weekday(day))))
}

/// The number of days of a month in a year that is not a leap year.
fn days_in(month: u32) -> u32 {
    match month {
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn warning(code: WarningCode, message: String) -> Warning {
    Warning { code, message }
}

fn format(local: i64, pattern: &str) -> String {
    DateTime::from_timestamp(local, 0).unwrap_or_default().format(pattern).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cron, Zone};

    fn warnings(text: &str, zone: &str) -> Vec<Warning> {
        let table = Timetable::new(Cron::parse(text, "").unwrap(), Zone::parse(zone).unwrap());
        table.warnings("2026-11-16T04:00:00Z".parse().unwrap())
    }

    #[track_caller]
    fn check(text: &str, zone: &str, expected: &[&str]) {
        let found = warnings(text, zone);
        let found: Vec<&str> = found.iter().map(|warning| warning.message.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn check_code(text: &str, code: WarningCode) {
        let found = warnings(text, "UTC");
        assert_eq!(found.iter().map(|w| w.code).collect::<Vec<_>>(), [code], "{text}: {found:?}");
    }

    #[test]
    fn ordinary_expressions_are_not_warned_about() {
        for text in [
            "* * * * *",
            "*/5 * * * *",
            "0 9 * * MON-FRI",
            "@hourly",
            "@monthly",
            "0 0 L * *",
            "0 0 28 * *",
            "rate(5 minutes)",
            "0 */6 * * *",
            "0 0 13 * +FRI",
            "0 0 15,31 * *",
            "cron(0 10 ? * MON-FRI *)",
            "0 0 29 3 *",
        ] {
            check(text, "UTC", &[]);
        }
        check("*/5 * * * *", "Europe/Zurich", &[]);
    }

    #[test]
    fn foot_guns_are_warned_about() {
        check_code("* * */4 * * *", WarningCode::SubMinute);
        check_code("*/30 0 9 * * *", WarningCode::SubMinute);
        check_code("* 4 * * *", WarningCode::EveryMinute);
        check_code("*/40 * * * *", WarningCode::UnevenStep);
        check_code("0 */5 * * *", WarningCode::UnevenStep);
        check_code("0 0 */2 * *", WarningCode::UnevenStep);
        check_code("0 0 31 * *", WarningCode::ShortMonths);
        check_code("0 0 29 2 *", WarningCode::ShortMonths);
        check_code("0 0 * * FRI#5", WarningCode::ShortMonths);
        check_code("0 0 13 * FRI", WarningCode::EitherDay);
        check_code("0 0 1-7 * */3", WarningCode::BothDays);
        check_code("at(2020-01-01T00:00:00)", WarningCode::Finished);
        check_code("0 0 0 1 1 * 2020", WarningCode::Finished);
    }

    #[test]
    fn a_warning_says_what_will_happen() {
        check(
            "*/40 * * * *",
            "UTC",
            &[
                "`*/40` is uneven: 40 does not divide 60, so after minute 40 the next is 20 minutes \
             later, not 40",
            ],
        );
        check(
            "0 0 31 * *",
            "UTC",
            &[
                "does not fire in February, April, June, September and November, which are too short",
            ],
        );
        check("0 0 29 * *", "UTC", &["fires in February only in leap years"]);
    }

    #[test]
    fn clock_changes_within_a_year_are_told_with_their_dates() {
        check(
            "30 2 * * *",
            "Europe/Zurich",
            &[
                "on 2027-03-28 the clock in Europe/Zurich skips 02:30: it fires at 03:00 instead",
                "on 2027-10-31 the clock in Europe/Zurich shows 02:30 twice: it fires the first time only",
            ],
        );
        check(
            "0,30 2 * * *",
            "Europe/Zurich",
            &[
                "on 2027-03-28 the clock in Europe/Zurich skips 02:00 and other times: it fires once at \
             03:00 instead",
                "on 2027-10-31 the clock in Europe/Zurich shows 02:00 and other times twice: it fires the \
             first time only",
            ],
        );
        check(
            "*/30 2 * * *",
            "Europe/Zurich",
            &[
                "on 2027-03-28 the clock in Europe/Zurich skips 02:00 and other times: those fires are \
             skipped",
                "on 2027-10-31 the clock in Europe/Zurich shows 02:00 and other times twice: it fires \
             both times",
            ],
        );
        check("30 2 1 * *", "Europe/Zurich", &[]);
        // Since a change of law, Vancouver no longer changes its clock.
        check("30 1 * * *", "America/Vancouver", &[]);
        check(
            "at(2027-03-28T02:10:05)",
            "Europe/Zurich",
            &["on 2027-03-28 the clock in Europe/Zurich skips 02:10:05: it fires at 03:00 instead"],
        );
    }
}
