//! A cron expression: the text a user wrote, understood.

use crate::calendar::Calendar;
use crate::error::CronError;
use crate::parse::{Fields, Form, parse_form};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A parsed expression, valid by construction: it fires at least once.
///
/// Calendar expressions fire between 1970 and 2100, `at(...)` up to 2199. Cheap to clone.
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

/// So many expressions are remembered, then it starts over.
const MAX_KNOWN: usize = 1000;

static KNOWN: LazyLock<Mutex<HashMap<String, Cron>>> = LazyLock::new(Mutex::default);

/// The three ways an expression can fire.
#[derive(Debug)]
pub(crate) enum Kind {
    /// At the local times of a calendar.
    Calendar {
        /// What was written.
        fields: Box<Fields>,
        /// What it matches.
        calendar: Calendar,
    },
    /// Once, at a local time.
    Once {
        /// Seconds since 1970 on the local clock.
        local: i64,
    },
    /// Again and again after a fixed elapsed time.
    Every {
        /// The time between two fires.
        seconds: i64,
    },
}

impl Cron {
    /// Reads an expression. `seed` (the schedule id) decides what `H` means; `""` when there is none.
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
                    return Err(CronError::new(
                        "never fires: no day from 1970 to 2100 is as the expression wants it",
                    ));
                }
                Kind::Calendar { fields, calendar }
            }
        };
        let text = text.trim_matches([' ', '\t']).to_owned();
        Ok(Cron { inner: Arc::new(Inner { text, kind }) })
    }

    /// The same, remembered: schedules share their expressions, and every fire reads one.
    ///
    /// ```
    /// use belfry_cron::Cron;
    /// assert_eq!(Cron::recall("0 9 * * *", "a").unwrap().text(), "0 9 * * *");
    /// ```
    pub fn recall(text: &str, seed: &str) -> Result<Cron, CronError> {
        // What has an H may mean something else for each seed.
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

    /// The expression as the user wrote it, without the spaces around it.
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// Whether the expression follows the wall clock through a clock change.
    ///
    /// It does when its second, minute or hour begins with `*`, and when it is a `rate(...)`, which
    /// does not look at the clock at all.
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
