//! Parses the text of an expression into a [`Form`]. The tokenizer is strict, so that the calendar
//! engine never sees the user's text.

use crate::aws::parse_aws;
use crate::error::{CronError, Field, excerpt};
use crate::field::{Allowed, Dialect, parse_field};

/// Long enough for any expression that a person writes, and short enough to parse cheaply whatever
/// the text contains.
pub(crate) const LONGEST_TEXT: usize = 256;

/// A parsed expression. It may still turn out to match no date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Fields that match local dates and times.
    Calendar(Box<Fields>),
    /// `at(...)`: a single local time.
    Once {
        /// Seconds since 1970 on the local clock.
        local: i64,
    },
    /// `rate(...)`: fires at a fixed interval, counted from the schedule's start.
    Every {
        /// The interval between two fires.
        seconds: i64,
    },
}

/// The fields of an expression. Fields that the text does not have contain their default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) second: Allowed,
    pub(crate) minute: Allowed,
    pub(crate) hour: Allowed,
    pub(crate) day_of_month: Allowed,
    pub(crate) month: Allowed,
    pub(crate) day_of_week: Allowed,
    /// `+` before the day of week: both day fields must match, with or without a leading `*`.
    pub(crate) both_days: bool,
    pub(crate) year: Allowed,
}

impl Fields {
    /// Whether this is an interval expression: its second, minute or hour begins with `*`. Such an
    /// expression fires whenever the wall clock shows a matching time, also during a clock change.
    pub(crate) fn is_interval(&self) -> bool {
        self.second.star || self.minute.star || self.hour.star
    }

    /// Whether one matching day field is enough. This is crontab's rule for two restricted day
    /// fields, unless one of them begins with `*`.
    pub(crate) fn either_day(&self) -> bool {
        !self.day_of_month.star && !self.day_of_week.star && !self.both_days
    }
}

/// A word of the expression and its byte offset.
#[derive(Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl Word<'_> {
    pub(crate) fn end(self) -> usize {
        self.at + self.text.len()
    }
}

/// Parses the text. The values of `H` are hashed from `seed`.
pub(crate) fn parse_form(text: &str, seed: &str) -> Result<Form, CronError> {
    if text.len() > LONGEST_TEXT {
        return Err(CronError::new(format!(
            "an expression has at most {LONGEST_TEXT} bytes, this one has {}",
            text.len()
        )));
    }
    let printable = |c: char| c == '\t' || c == ' ' || c.is_ascii_graphic();
    if let Some((at, c)) = text.char_indices().find(|(_, c)| !printable(*c)) {
        return Err(CronError::new(format!(
            "only printable ASCII is allowed, not {}",
            excerpt(c.encode_utf8(&mut [0; 4]))
        ))
        .at(at..at + c.len_utf8()));
    }
    let upper = text.to_ascii_uppercase();
    let trimmed = upper.trim_matches([' ', '\t']);
    let at = upper.len() - upper.trim_start_matches([' ', '\t']).len();
    if trimmed.is_empty() {
        return Err(CronError::new("the expression is empty"));
    }
    if let Some(aws) = parse_aws(trimmed, at) {
        return aws;
    }
    if trimmed.starts_with('@') {
        return match expand_macro(trimmed) {
            Ok(fields) => parse_fields(fields, 0, seed),
            Err(problem) => Err(CronError::new(problem).at(at..at + trimmed.len())),
        };
    }
    parse_fields(trimmed, at, seed)
}

fn parse_fields(text: &str, at: usize, seed: &str) -> Result<Form, CronError> {
    let all: Vec<Word<'_>> = words(text, at).collect();
    let (second, minute, hour, day_of_month, month, mut day_of_week, year) = match all[..] {
        [a, b, c, d, e] => (None, a, b, c, d, e, None),
        [second, a, b, c, d, e] => (Some(second), a, b, c, d, e, None),
        [second, a, b, c, d, e, year] => (Some(second), a, b, c, d, e, Some(year)),
        _ => {
            return Err(CronError::new(format!(
                "an expression has 5 fields (minute first), 6 (second first) or 7 (year last), not {}",
                all.len()
            ))
            .at(at..at + text.len()));
        }
    };
    let both_days = day_of_week.text.strip_prefix('+');
    if let Some(bare) = both_days {
        day_of_week = Word { text: bare, at: day_of_week.at + 1 };
    }
    let read =
        |field, word: Word<'_>| parse_field(field, word.text, word.at, Dialect::Unix { seed });
    Ok(Form::Calendar(Box::new(Fields {
        second: second.map_or(Ok(Allowed::only(0)), |word| read(Field::Second, word))?,
        minute: read(Field::Minute, minute)?,
        hour: read(Field::Hour, hour)?,
        day_of_month: read(Field::DayOfMonth, day_of_month)?,
        month: read(Field::Month, month)?,
        day_of_week: read(Field::DayOfWeek, day_of_week)?,
        both_days: both_days.is_some(),
        year: year.map_or(Ok(Allowed::all(Field::Year)), |word| read(Field::Year, word))?,
    })))
}

fn expand_macro(text: &str) -> Result<&'static str, String> {
    match text {
        "@YEARLY" | "@ANNUALLY" => Ok("0 0 1 1 *"),
        "@MONTHLY" => Ok("0 0 1 * *"),
        "@WEEKLY" => Ok("0 0 * * 0"),
        "@DAILY" | "@MIDNIGHT" => Ok("0 0 * * *"),
        "@HOURLY" => Ok("0 * * * *"),
        "@REBOOT" => {
            Err("@reboot is not supported: a schedule belongs to no machine that boots".into())
        }
        _ if text.starts_with("@EVERY") => {
            Err("@every is not supported; use rate(n minutes), rate(n hours) or rate(n days)"
                .into())
        }
        _ => Err(format!(
            "{} is not a macro; there are @yearly, @annually, @monthly, @weekly, @daily, @midnight \
             and @hourly",
            excerpt(text)
        )),
    }
}

/// Splits the text at spaces and tabs. Each word knows its byte offset.
pub(crate) fn words(text: &str, at: usize) -> impl Iterator<Item = Word<'_>> {
    text.split([' ', '\t'])
        .scan(at, |next, piece| {
            let word = Word { text: piece, at: *next };
            *next += piece.len() + 1;
            Some(word)
        })
        .filter(|word| !word.text.is_empty())
}
