//! One field of an expression: its text becomes a set of values, plus the days only a calendar can tell.

use crate::days::Special;
use crate::error::{CronError, Field, excerpt};
use crate::hash::stable_hash;
use crate::set::{Set, base};

/// What differs between the crontab form and the AWS form of the same field.
#[derive(Clone, Copy)]
pub(crate) enum Dialect<'a> {
    /// Sunday is 0 or 7; `H` means a value hashed from the seed.
    Unix { seed: &'a str },
    /// Sunday is 1 and Saturday 7; years up to 2199; no `H`.
    Aws,
}

/// What a field allows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    pub(crate) values: Set,
    pub(crate) specials: Vec<Special>,
    /// The text begins with `*` or is `?`: crontab's rule for days looks at the text, not at the set.
    pub(crate) star: bool,
    /// The n of `*/n`, because what it does at the end of the field surprises people.
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

/// Reads the field. `text` is upper case printable ASCII and stands at byte `at` of the expression.
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

/// One item of a list.
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
            // A lone value with a step starts there and runs to the end of the field.
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
            _ if self.field == Field::Year => return Err("years do not wrap around".into()),
            to => to + self.size(),
        };
        self.insert(from, to, step.unwrap_or(1), allowed);
        Ok(())
    }

    /// Inserts every `step`-th value; those beyond the field's end wrap to its beginning.
    fn insert(self, from: u32, to: u32, step: u32, allowed: &mut Allowed) {
        let min = self.field.min();
        for value in (from..=to).step_by(step as usize) {
            allowed.values.insert((value - min) % self.size() + min - base(self.field));
        }
    }

    /// `7` is Sunday like `0`. At the start of a range it has to be the smaller of the two.
    fn sunday_first(self, value: u32) -> u32 {
        if self.field == Field::DayOfWeek && value == 7 { 0 } else { value }
    }

    fn max(self) -> u32 {
        match (self.field, self.dialect) {
            // AWS allows them; those past the end of our calendar are dropped after parsing.
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
            0 => Err("a step of 0 never moves on".into()),
            _ if step <= size => Ok(step),
            _ => Err(match self.field {
                Field::Minute => format!(
                    "the step {step} is longer than the field ({size}): it would mean once an hour; \
                     for longer intervals use rate(n minutes)"
                ),
                Field::Hour => format!(
                    "the step {step} is longer than the field ({size}): it would mean once a day; \
                     for longer intervals use rate(n hours)"
                ),
                _ => format!("the step {step} is longer than the field ({size})"),
            }),
        }
    }

    fn value(self, text: &str) -> Result<u32, String> {
        if text.is_empty() {
            return Err(format!("{} lacks a value", excerpt(self.text)));
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
            (_, Some(_), _) => Some(Err(format!("{text} is a month, which does not belong here"))),
            (_, _, Some(_)) => {
                Some(Err(format!("{text} is a weekday, which does not belong here")))
            }
            (_, None, None) => None,
        }
    }

    fn not_a_value(self, text: &str) -> String {
        let quoted = excerpt(text);
        let digits = text.trim_matches('*');
        let glued = digits.len() < text.len() && number(digits).is_some();
        match self.field {
            _ if glued => format!("{quoted} is not a value; perhaps `*/{digits}` was meant"),
            _ if text == "*" => format!("{} mixes `*` with a range", excerpt(self.text)),
            _ if text == "?" => "`?` stands alone, and only in a day field".into(),
            Field::Month | Field::DayOfWeek if text.bytes().all(|b| b.is_ascii_alphabetic()) => {
                format!("{quoted} is not a known name")
            }
            _ => format!("{quoted} is not a value"),
        }
    }

    /// AWS reads `L` as the last day of the week.
    fn is_aws_saturday(self) -> bool {
        matches!((self.field, self.dialect, self.text), (Field::DayOfWeek, Dialect::Aws, "L"))
    }

    /// `L`, `W` and `#`, each in the field it belongs to.
    fn special(self) -> Result<Option<Special>, String> {
        let text = self.text;
        match self.field {
            Field::DayOfMonth if text == "L" => Ok(Some(Special::Last(0))),
            Field::DayOfMonth if text == "LW" => Ok(Some(Special::LastWeekday)),
            Field::DayOfMonth if text.starts_with("L-") => match number(&text[2..]) {
                Some(before) if before <= 30 => Ok(Some(Special::Last(before))),
                _ => Err(format!("{} goes back further than a month", excerpt(text))),
            },
            Field::DayOfMonth if text.len() > 1 && text.ends_with('W') => {
                match number(&text[..text.len() - 1]) {
                    Some(day @ 1..=31) => Ok(Some(Special::NearestWeekday(day))),
                    _ => Err(format!("{}: `W` follows one day, 1 to 31", excerpt(text))),
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
                    _ => Err(format!("{}: `#` is followed by 1 to 5 or L", excerpt(text))),
                }
            }
            Field::DayOfWeek if text.ends_with('L') => {
                Ok(Some(Special::LastOf(self.value(&text[..text.len() - 1])? % 7)))
            }
            _ => Ok(None),
        }
    }

    /// `H`, `H/15`, `H(0-29)` and `H(0-29)/10`: `range` is what follows the letter.
    fn hashed(self, range: &str, step: Option<u32>, allowed: &mut Allowed) -> Result<(), String> {
        let Dialect::Unix { seed } = self.dialect else {
            return Err("`H` is not part of the AWS form".into());
        };
        let (from, to) = match (range, self.field) {
            (_, Field::Year) => return Err("`H` would pick a single year".into()),
            // Every month has these days; a schedule should not lose February to its hash.
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

/// Digits only: no sign, no space, nothing that overflows.
pub(crate) fn number(text: &str) -> Option<u32> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().ok()).flatten()
}

fn digits(text: &str) -> String {
    excerpt(text).trim_matches('`').to_owned()
}
