//! Parses one field of an expression into a set of values and a list of special days, whose date
//! depends on the month.

use crate::days::Special;
use crate::error::{CronError, Field, excerpt};
use crate::hash::stable_hash;
use crate::set::{Set, base};

/// The dialect of a field: crontab and AWS number some fields differently.
#[derive(Clone, Copy)]
pub(crate) enum Dialect<'a> {
    /// Sunday is 0 or 7, and `H` is a value hashed from the seed.
    Unix { seed: &'a str },
    /// Sunday is 1, Saturday is 7, years go up to 2199, and there is no `H`.
    Aws,
}

/// The values and special days that a field allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    pub(crate) values: Set,
    pub(crate) specials: Vec<Special>,
    /// Whether the text begins with `*` or is `?`. Crontab's rule for days depends on the text, not
    /// on the set of values.
    pub(crate) star: bool,
    /// The n of `*/n`. It is kept for a warning, because a step that does not divide the field
    /// leaves an uneven interval at the end of the field.
    pub(crate) star_step: Option<u32>,
}

impl Allowed {
    pub(crate) fn only(value: u32) -> Allowed {
        Allowed { values: [value].into_iter().collect(), ..Allowed::default() }
    }

    pub(crate) fn all(field: Field) -> Allowed {
        Allowed { values: Set::full(field), star: true, ..Allowed::default() }
    }
}

/// Parses a field. `text` is upper-case printable ASCII and begins at byte `at` of the expression.
pub(crate) fn parse_field(
    field: Field,
    text: &str,
    at: usize,
    dialect: Dialect<'_>,
) -> Result<Allowed, CronError> {
    let day_field = matches!(field, Field::DayOfMonth | Field::DayOfWeek);
    if text == "?" && day_field {
        return Ok(Allowed::all(field));
    }
    let mut allowed = Allowed { star: text.starts_with('*'), ..Allowed::default() };
    let mut item_at = at;
    for item in text.split(',') {
        Item { field, text: item, dialect }
            .read(&mut allowed)
            .map_err(|problem| CronError::in_field(field, problem))
            .map_err(|error| error.at(item_at..item_at + item.len()))?;
        item_at += item.len() + 1;
    }
    Ok(allowed)
}

/// One item of a comma-separated list.
#[derive(Clone, Copy)]
struct Item<'a> {
    field: Field,
    text: &'a str,
    dialect: Dialect<'a>,
}

impl Item<'_> {
    fn read(self, allowed: &mut Allowed) -> Result<(), String> {
        if self.text.is_empty() {
            return Err("a list has an empty item".into());
        }
        if self.is_aws_saturday() {
            allowed.values.insert(6);
            return Ok(());
        }
        if let Some(special) = self.special()? {
            allowed.specials.push(special);
            return Ok(());
        }
        let (range, step) = match self.text.split_once('/') {
            Some((range, step)) => (range, Some(self.step(step)?)),
            None => (self.text, None),
        };
        if range == "*" {
            allowed.star_step = allowed.star_step.or(step);
        }
        if let Some(hashed) = range.strip_prefix('H') {
            return self.hashed(hashed, step, allowed);
        }
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (self.field.min(), self.max()),
            Some((from, to)) => (self.value(from)?, self.value(to)?),
            // A single value with a step starts at that value and goes to the end of the field.
            None => match (self.value(range)?, step) {
                (from, Some(_)) => (self.sunday_first(from), self.max()),
                (from, None) => (from, from),
            },
        };
        let alone = from == to;
        let from = self.sunday_first(from);
        let to = match to {
            _ if alone => from,
            to if to >= from => to,
            _ if self.field == Field::Year => return Err("a range of years must ascend".into()),
            to => to + self.size(),
        };
        self.insert(from, to, step.unwrap_or(1), allowed);
        Ok(())
    }

    /// Inserts every `step`-th value. Values beyond the end of the field wrap to its beginning.
    fn insert(self, from: u32, to: u32, step: u32, allowed: &mut Allowed) {
        let min = self.field.min();
        for value in (from..=to).step_by(step as usize) {
            allowed.values.insert((value - min) % self.size() + min - base(self.field));
        }
    }

    /// `7` means Sunday, as `0` does. At the start of a range the number must be 0, the smaller
    /// one.
    fn sunday_first(self, value: u32) -> u32 {
        if self.field == Field::DayOfWeek && value == 7 { 0 } else { value }
    }

    fn max(self) -> u32 {
        match (self.field, self.dialect) {
            // AWS allows years up to 2199. Years after the end of our calendar are dropped after
            // parsing.
            (Field::Year, Dialect::Aws) => 2199,
            (field, _) => field.max(),
        }
    }

    fn size(self) -> u32 {
        self.max() - self.field.min() + 1
    }

    fn step(self, text: &str) -> Result<u32, String> {
        let step = number(text)
            .ok_or_else(|| format!("the step {} is not a whole number", excerpt(text)))?;
        let size = self.size();
        match step {
            0 => Err("a step must be at least 1".into()),
            _ if step <= size => Ok(step),
            _ => Err(match self.field {
                Field::Minute => format!(
                    "the step {step} is larger than the field ({size} values) and would mean once an hour; \
                     for longer intervals use rate(n minutes)"
                ),
                Field::Hour => format!(
                    "the step {step} is larger than the field ({size} values) and would mean once a day; \
                     for longer intervals use rate(n hours)"
                ),
                _ => format!("the step {step} is larger than the field ({size} values)"),
            }),
        }
    }

    fn value(self, text: &str) -> Result<u32, String> {
        if text.is_empty() {
            return Err(format!("{} is incomplete: a value is missing", excerpt(self.text)));
        }
        if let Some(named) = self.named(text) {
            return named;
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.not_a_value(text));
        }
        let (min, max) = match (self.field, self.dialect) {
            (Field::DayOfWeek, Dialect::Unix { .. }) => (0, 7),
            (Field::DayOfWeek, Dialect::Aws) => (1, 7),
            (field, _) => (field.min(), self.max()),
        };
        let value = number(text).filter(|value| (min..=max).contains(value));
        let value =
            value.ok_or_else(|| format!("{} is out of range, {min} to {max}", digits(text)))?;
        Ok(match (self.field, self.dialect) {
            (Field::DayOfWeek, Dialect::Aws) => value - 1,
            _ => value,
        })
    }

    fn named(self, text: &str) -> Option<Result<u32, String>> {
        let month = position(&MONTHS, text).map(|index| index + 1);
        let weekday = position(&WEEKDAYS, text);
        match (self.field, month, weekday) {
            (Field::Month, Some(month), _) => Some(Ok(month)),
            (Field::DayOfWeek, _, Some(weekday)) => Some(Ok(weekday)),
            (_, Some(_), _) => Some(Err(format!("{text} is a month; this field takes no months"))),
            (_, _, Some(_)) => {
                Some(Err(format!("{text} is a weekday; this field takes no weekdays")))
            }
            (_, None, None) => None,
        }
    }

    fn not_a_value(self, text: &str) -> String {
        let quoted = excerpt(text);
        let digits = text.trim_matches('*');
        let glued = digits.len() < text.len() && number(digits).is_some();
        match self.field {
            _ if glued => format!("{quoted} is not a value; did you mean `*/{digits}`?"),
            _ if text == "*" => format!("{} mixes `*` with a range", excerpt(self.text)),
            _ if text == "?" => "`?` is allowed only alone and only in a day field".into(),
            Field::Month | Field::DayOfWeek if text.bytes().all(|b| b.is_ascii_alphabetic()) => {
                format!("{quoted} is not the name of a value")
            }
            _ => format!("{quoted} is not a value"),
        }
    }

    /// In the AWS form, a lone `L` as day of week is the last day of the week.
    fn is_aws_saturday(self) -> bool {
        matches!((self.field, self.dialect, self.text), (Field::DayOfWeek, Dialect::Aws, "L"))
    }

    /// Reads `L`, `W` and `#`, each only in the field that it belongs to.
    fn special(self) -> Result<Option<Special>, String> {
        let text = self.text;
        match self.field {
            Field::DayOfMonth if text == "L" => Ok(Some(Special::Last(0))),
            Field::DayOfMonth if text == "LW" => Ok(Some(Special::LastWeekday)),
            Field::DayOfMonth if text.starts_with("L-") => match number(&text[2..]) {
                Some(before) if before <= 30 => Ok(Some(Special::Last(before))),
                _ => Err(format!("{}: the number after `L-` must be 0 to 30", excerpt(text))),
            },
            Field::DayOfMonth if text.len() > 1 && text.ends_with('W') => {
                match number(&text[..text.len() - 1]) {
                    Some(day @ 1..=31) => Ok(Some(Special::NearestWeekday(day))),
                    _ => Err(format!("{}: `W` needs one day before it, 1 to 31", excerpt(text))),
                }
            }
            Field::DayOfWeek if text == "L" => {
                Err("`L` needs a weekday here, as in `FRIL`; the last day of the month is `L` in \
                     the day of month field"
                    .into())
            }
            Field::DayOfWeek if text.contains('#') => {
                let (weekday, nth) = text.split_once('#').unwrap_or_default();
                let weekday = self.value(weekday)? % 7;
                match (nth, number(nth)) {
                    ("L", _) => Ok(Some(Special::LastOf(weekday))),
                    (_, Some(nth @ 1..=5)) => Ok(Some(Special::Nth(weekday, nth))),
                    _ => Err(format!("{}: `#` needs 1 to 5 or L after it", excerpt(text))),
                }
            }
            Field::DayOfWeek if text.ends_with('L') => {
                Ok(Some(Special::LastOf(self.value(&text[..text.len() - 1])? % 7)))
            }
            _ => Ok(None),
        }
    }

    /// Reads `H`, `H/15`, `H(0-29)` and `H(0-29)/10`. `range` is the text after the `H`, without
    /// step.
    fn hashed(self, range: &str, step: Option<u32>, allowed: &mut Allowed) -> Result<(), String> {
        let Dialect::Unix { seed } = self.dialect else {
            return Err("`H` is not available in cron(), the AWS form".into());
        };
        let (from, to) = match (range, self.field) {
            (_, Field::Year) => {
                return Err("`H` is not allowed for years: it would pick a single year".into());
            }
            // Every month has these days, so that a monthly schedule also fires in February.
            ("", Field::DayOfMonth) => (1, 28),
            ("", field) => (field.min(), field.max()),
            _ => self.hash_range(range)?,
        };
        let hash = stable_hash(seed, self.field);
        let within = |size: u32| (hash % u64::from(size)) as u32;
        match step {
            None => {
                let value = from + within(to - from + 1);
                self.insert(value, value, 1, allowed);
            }
            Some(step) => self.insert(from + within(step.min(to - from + 1)), to, step, allowed),
        }
        Ok(())
    }

    fn hash_range(self, text: &str) -> Result<(u32, u32), String> {
        let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
        let (from, to) = inner
            .and_then(|inner| inner.split_once('-'))
            .ok_or_else(|| format!("{} is not of the form H(a-b)", excerpt(self.text)))?;
        let (from, to) = (self.value(from)?, self.value(to)?);
        if from > to {
            return Err(format!("{} is not of the form H(a-b) with a <= b", excerpt(self.text)));
        }
        Ok((from, to))
    }
}

const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

const WEEKDAYS: [&str; 7] =
    ["SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY"];

fn position(names: &[&str], text: &str) -> Option<u32> {
    names.iter().position(|name| *name == text || name[..3] == *text).map(|index| index as u32)
}

/// Parses a number of digits only. A sign, a space or a number that overflows gives `None`.
pub(crate) fn number(text: &str) -> Option<u32> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

fn digits(text: &str) -> String {
    excerpt(text).trim_matches('`').to_owned()
}
