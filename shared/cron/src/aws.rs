//! The AWS forms `cron(...)`, `rate(...)` and `at(...)`, with the numbering and the rules of AWS.

use crate::error::{CronError, Field, excerpt};
use crate::field::{Allowed, Dialect, number, parse_field};
use crate::parse::{Fields, Form, Word, words};
use crate::set::Set;
use chrono::NaiveDate;

/// The longest interval of a `rate()`: a century, longer than any deployment will exist.
const LONGEST_RATE_SECONDS: u64 = 36_525 * 86_400;

/// Parses the text if it has an AWS form, else returns `None`. `text` is upper case and begins at
/// byte `at` of the expression.
pub(crate) fn parse_aws(text: &str, at: usize) -> Option<Result<Form, CronError>> {
    let (name, rest) = text.split_once('(')?;
    let read = match name {
        "CRON" => parse_cron,
        "RATE" => parse_rate,
        "AT" => parse_at,
        _ => return None,
    };
    Some(match rest.strip_suffix(')') {
        Some(inner) => read(inner, at + name.len() + 1),
        None => Err(CronError::new("the closing parenthesis is missing").at(at..at + text.len())),
    })
}

fn parse_cron(inner: &str, at: usize) -> Result<Form, CronError> {
    let found: Vec<Word<'_>> = words(inner, at).collect();
    let [minute, hour, day_of_month, month, day_of_week, year] = found[..] else {
        return Err(CronError::new(format!(
            "cron() takes 6 fields (minute, hour, day of month, month, day of week, year), not {}",
            found.len()
        ))
        .at(at..at + inner.len()));
    };
    if (day_of_month.text == "?") == (day_of_week.text == "?") {
        return Err(CronError::new(
            "in cron(), exactly one of day of month and day of week must be `?`",
        )
        .at(day_of_month.at..day_of_week.end()));
    }
    if day_of_week.text.matches('#').count() > 1 {
        return Err(CronError::in_field(Field::DayOfWeek, "cron() takes at most one `#`")
            .at(day_of_week.at..day_of_week.end()));
    }
    let read = |field, word: Word<'_>| parse_field(field, word.text, word.at, Dialect::Aws);
    let mut years = read(Field::Year, year)?;
    years.values = years.values.intersection(Set::full(Field::Year));
    Ok(Form::Calendar(Box::new(Fields {
        second: Allowed::only(0),
        minute: read(Field::Minute, minute)?,
        hour: read(Field::Hour, hour)?,
        day_of_month: read(Field::DayOfMonth, day_of_month)?,
        month: read(Field::Month, month)?,
        day_of_week: read(Field::DayOfWeek, day_of_week)?,
        both_days: false,
        year: years,
    })))
}

fn parse_rate(inner: &str, at: usize) -> Result<Form, CronError> {
    let refuse = |problem: String| Err(CronError::new(problem).at(at..at + inner.len()));
    let found: Vec<Word<'_>> = words(inner, at).collect();
    let [count, unit] = found[..] else {
        return refuse("rate() takes a number and a unit, as in rate(5 minutes)".into());
    };
    let unit_seconds = match unit.text {
        "MINUTE" | "MINUTES" => 60,
        "HOUR" | "HOURS" => 3_600,
        "DAY" | "DAYS" => 86_400,
        other => {
            return refuse(format!("rate() takes minutes, hours or days, not {}", excerpt(other)));
        }
    };
    match number(count.text).map(|count| u64::from(count) * unit_seconds) {
        None => refuse(format!("{} is not a whole number", excerpt(count.text))),
        Some(0) => refuse("the number of rate() must be at least 1".into()),
        Some(seconds) if seconds > LONGEST_RATE_SECONDS => {
            refuse("rate() takes at most 36525 days (a century)".into())
        }
        Some(seconds) => Ok(Form::Every { seconds: seconds as i64 }),
    }
}

fn parse_at(inner: &str, at: usize) -> Result<Form, CronError> {
    let text = inner.trim_matches([' ', '\t']);
    local_time(text).map(|local| Form::Once { local }).ok_or_else(|| {
        CronError::new(format!(
            "{} is not a time of the form yyyy-mm-ddThh:mm:ss, 1970 to 2199",
            excerpt(text)
        ))
        .at(at..at + inner.len())
    })
}

/// Parses a local time into seconds since 1970 on the local clock.
fn local_time(text: &str) -> Option<i64> {
    let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'9' } else { byte });
    if !shape.eq(*b"9999-99-99T99:99:99") {
        return None;
    }
    let part = |from: usize, to: usize| number(&text[from..to]);
    let year = part(0, 4).filter(|year| (1970..=2199).contains(year))?;
    let date = NaiveDate::from_ymd_opt(year as i32, part(5, 7)?, part(8, 10)?)?;
    let time = date.and_hms_opt(part(11, 13)?, part(14, 16)?, part(17, 19)?)?;
    Some(time.and_utc().timestamp())
}
