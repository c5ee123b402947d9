//! Why an expression was refused, with enough detail for its author to fix it.

use std::fmt;
use std::ops::Range;

/// Why an expression was refused: a message and, where one part is to blame, its field and
/// position.
///
/// ```
/// use belfry_cron::{Cron, Field};
/// let refused = Cron::parse("0 25 * * *", "").unwrap_err();
/// assert_eq!(refused.field(), Some(Field::Hour));
/// assert_eq!(refused.span(), Some(2..4));
/// assert_eq!(refused.to_string(), "hour: 25 is out of range, 0 to 23");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct CronError {
    field: Option<Field>,
    problem: String,
    span: Option<Range<usize>>,
}

impl CronError {
    pub(crate) fn new(problem: impl Into<String>) -> CronError {
        CronError { field: None, problem: problem.into(), span: None }
    }

    pub(crate) fn in_field(field: Field, problem: impl Into<String>) -> CronError {
        CronError { field: Some(field), problem: problem.into(), span: None }
    }

    pub(crate) fn at(self, span: Range<usize>) -> CronError {
        CronError { span: Some(span), ..self }
    }

    /// The field that has the problem. `None` if the problem concerns the whole expression.
    pub fn field(&self) -> Option<Field> {
        self.field
    }

    /// The byte range of the problem in the text that was given to `parse`.
    pub fn span(&self) -> Option<Range<usize>> {
        self.span.clone()
    }
}

impl fmt::Display for CronError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field {
            Some(field) => write!(f, "{field}: {}", self.problem),
            None => f.write_str(&self.problem),
        }
    }
}

/// The fields of an expression, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// 0 to 59. Only expressions of six or seven fields have it.
    Second,
    /// 0 to 59.
    Minute,
    /// 0 to 23.
    Hour,
    /// 1 to 31.
    DayOfMonth,
    /// 1 to 12 or a name.
    Month,
    /// 0 (Sunday) to 7 (Sunday again) or a name. In the AWS form: 1 (Sunday) to 7 (Saturday).
    DayOfWeek,
    /// 1970 to 2100. Only expressions of seven fields and the AWS form have it.
    Year,
}

impl Field {
    pub(crate) const fn min(self) -> u32 {
        match self {
            Field::DayOfMonth | Field::Month => 1,
            Field::Year => 1970,
            _ => 0,
        }
    }

    /// The largest value in a set. `7` for Sunday is an alias that only the parser knows.
    pub(crate) const fn max(self) -> u32 {
        match self {
            Field::Second | Field::Minute => 59,
            Field::Hour => 23,
            Field::DayOfMonth => 31,
            Field::Month => 12,
            Field::DayOfWeek => 6,
            Field::Year => 2100,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Field::Second => "second",
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
            Field::Year => "year",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Quotes the user's text, short and printable, because error texts appear in logs and web pages.
pub(crate) fn excerpt(text: &str) -> String {
    const LONGEST: usize = 24;
    let mut quoted: String = text.chars().take(LONGEST).flat_map(char::escape_default).collect();
    quoted.truncate(4 * LONGEST);
    if text.chars().nth(LONGEST).is_some() {
        quoted.push_str("...");
    }
    format!("`{quoted}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_short_and_printable() {
        assert_eq!(excerpt("*/5"), "`*/5`");
        assert_eq!(excerpt("a\nb\u{1b}[31m"), "`a\\nb\\u{1b}[31m`");
        assert!(excerpt(&"9".repeat(1 << 20)).len() < 40);
        assert!(excerpt(&"\u{10ffff}".repeat(100)).len() < 110);
    }
}
