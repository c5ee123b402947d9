//! A form: reads the fields of a JSON object one by one and keeps every problem it meets.

use std::fmt::Display;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::instant::{self, Instant};
use crate::invalid::Invalid;

/// The fields not read yet, and the problems so far.
pub(crate) struct Form {
    pub(crate) fields: Map<String, Value>,
    pub(crate) problems: Vec<Invalid>,
}

impl Form {
    pub(crate) fn take(&mut self, field: &str) -> Option<Value> {
        self.fields.remove(field).filter(|value| !value.is_null())
    }

    pub(crate) fn problem<T>(&mut self, field: &str, message: impl Into<String>) -> Option<T> {
        self.problems.push(Invalid::new(field, message));
        None
    }

    pub(crate) fn text(&mut self, field: &str, max: usize) -> Option<String> {
        match self.take(field)? {
            Value::String(text) if text.chars().count() <= max => Some(text),
            Value::String(_) => self.problem(field, format!("must be at most {max} characters")),
            _ => self.problem(field, "must be a text"),
        }
    }

    pub(crate) fn name<T: FromStr<Err: Display>>(&mut self, field: &str) -> Option<T> {
        match self.take(field)? {
            Value::String(text) => match text.parse() {
                Ok(name) => Some(name),
                Err(problem) => self.problem(field, format!("{problem}")),
            },
            _ => self.problem(field, "must be a text"),
        }
    }

    pub(crate) fn boolean(&mut self, field: &str) -> Option<bool> {
        match self.take(field)? {
            Value::Bool(value) => Some(value),
            _ => self.problem(field, "must be true or false"),
        }
    }

    pub(crate) fn number(&mut self, field: &str, min: u64, max: u64) -> Option<u64> {
        let value = self.take(field)?;
        match whole_number(&value) {
            Some(number) if (min..=max).contains(&number) => Some(number),
            _ => self.problem(field, format!("must be a whole number from {min} to {max}")),
        }
    }

    pub(crate) fn instant(&mut self, field: &str) -> Option<Instant> {
        match self.take(field)?.as_str().map(instant::parse) {
            Some(Some(at)) => Some(at),
            _ => self.problem(field, "must be an RFC 3339 time, such as 2026-11-16T09:00:00Z"),
        }
    }

    pub(crate) fn choice<T: DeserializeOwned>(&mut self, field: &str, choices: &str) -> Option<T> {
        let value = self.take(field)?;
        match serde_json::from_value(value) {
            Ok(choice) => Some(choice),
            Err(_) => self.problem(field, format!("must be {choices}")),
        }
    }
}

/// A whole number from 0. JSON knows one kind of number: 60.0 is as whole as 60.
pub fn whole_number(value: &Value) -> Option<u64> {
    // Beyond this not every whole number has a float of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let whole = |number: f64| {
        ((0.0..EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
    };
    value.as_u64().or_else(|| whole(value.as_f64()?))
}
