//! A parsed cron expression, together with the text that the user wrote.

use crate::calendar::Calendar;
use crate::error::CronError;
use crate::parse::{Fields, Form, parse_form};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A parsed expression. It is valid by construction: it fires at least once.
///
/// Calendar expressions fire between 1970 and 2100, and `at(...)` can name a time up to 2199. A
/// clone is cheap.
///
/// ```
/// use belfry_cron::Cron;
/// assert!(Cron::parse("0 9 * * MON-FRI", "").is_ok());
/// assert!(Cron::parse("0 0 30 2 *", "").is_err()); // there is no 30 February
/// ```
#[derive(Clone, Debug)]
pub struct Cron {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    text: String,
    kind: Kind,
}

/// How many parsed expressions the cache holds. When the cache is full, it is emptied.
const MAX_KNOWN: usize = 1000;

static KNOWN: LazyLock<Mutex<HashMap<String, Cron>>> = LazyLock::new(Mutex::default);

/// The three ways an expression can fire.
#[derive(Debug)]
pub(crate) enum Kind {
    /// At the local times that the fields match.
    Calendar {
        /// The fields of the text.
        fields: Box<Fields>,
        /// The local times that the fields match, in a form that is fast to search.
        calendar: Calendar,
    },
    /// Once, at a local time.
    Once {
        /// Seconds since 1970 on the local clock.
        local: i64,
    },
    /// Repeatedly, at a fixed interval of elapsed time.
    Every {
        /// The interval between two fires.
        seconds: i64,
    },
}

impl Cron {
    /// Parses an expression. The values of `H` are hashed from `seed`, the schedule id. Without a
    /// schedule the seed is `""`.
    ///
    /// ```
    /// use belfry_cron::Cron;
    /// assert_eq!(Cron::parse(" @daily ", "").unwrap().text(), "@daily");
    /// ```
    pub fn parse(text: &str, seed: &str) -> Result<Cron, CronError> {
        let kind = match parse_form(text, seed)? {
            Form::Once { local } => Kind::Once { local },
            Form::Every { seconds } => Kind::Every { seconds },
            Form::Calendar(fields) => {
                let calendar = Calendar::new(&fields);
                if calendar.next(-1).is_none() {
                    return Err(CronError::new("matches no date between 1970 and 2100"));
                }
                Kind::Calendar { fields, calendar }
            }
        };
        let text = text.trim_matches([' ', '\t']).to_owned();
        Ok(Cron { inner: Arc::new(Inner { text, kind }) })
    }

    /// Does the same as [`Cron::parse`], with a cache: every fire needs its parsed expression, and
    /// many schedules have the same one.
    ///
    /// ```
    /// use belfry_cron::Cron;
    /// assert_eq!(Cron::recall("0 9 * * *", "a").unwrap().text(), "0 9 * * *");
    /// ```
    pub fn recall(text: &str, seed: &str) -> Result<Cron, CronError> {
        // An expression with `H` can mean something else for each seed.
        if text.contains(['H', 'h']) {
            return Cron::parse(text, seed);
        }
        let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cron) = known().get(text) {
            return Ok(cron.clone());
        }
        let cron = Cron::parse(text, seed)?;
        let mut known = known();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(text.to_owned(), cron.clone());
        Ok(cron)
    }

    /// The expression as the user wrote it, without leading and trailing spaces.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Whether the expression describes an interval and not fixed times of day.
    ///
    /// An expression is an interval if its second, minute or hour begins with `*`, or if it is a
    /// `rate(...)`. An interval that uses the wall clock follows it through a clock change. A
    /// `rate(...)` counts elapsed time and ignores the wall clock.
    ///
    /// ```
    /// use belfry_cron::Cron;
    /// assert!(Cron::parse("*/20 2 * * *", "").unwrap().is_interval());
    /// assert!(!Cron::parse("0,20,40 2 * * *", "").unwrap().is_interval());
    /// ```
    pub fn is_interval(&self) -> bool {
        match &self.inner.kind {
            Kind::Calendar { fields, .. } => fields.is_interval(),
            Kind::Once { .. } => false,
            Kind::Every { .. } => true,
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.inner.kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recalled_is_what_would_be_parsed() {
        let one = Cron::recall("5 4 * * *", "a").unwrap();
        let same = Cron::recall("5 4 * * *", "b").unwrap();
        assert!(Arc::ptr_eq(&one.inner, &same.inner));
        assert!(Cron::recall("5 24 * * *", "a").is_err());
        for number in 0..2 * MAX_KNOWN {
            let text = format!("{} {} {} * *", number % 60, number / 60 % 24, number / 1440 + 1);
            assert_eq!(Cron::recall(&text, "").unwrap().text(), text);
        }
    }

    #[test]
    fn an_expression_with_an_h_is_read_for_each_seed() {
        let minutes = |seed: &str| match Cron::recall("H H * * *", seed).unwrap().kind() {
            Kind::Calendar { calendar, .. } => calendar.next(-1),
            _ => None,
        };
        let first = minutes("a");
        assert!(["b", "c", "d"].iter().any(|seed| minutes(seed) != first));
    }
}
