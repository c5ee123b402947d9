//! What a call is given: parameters of path and query, and fields of small bodies, each read with the
//! refusal that a wrong one gets.

use std::ops::RangeInclusive;
use std::str::FromStr;

use belfry_core::encoding::cut;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::invalid::Invalid;
use belfry_core::schedule::Catchup;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub(super) use super::all::All;
use super::openapi::kind::Table;
use super::problem::Problem;
use super::request::Request;

/// The page size of a call that names none.
const PAGE: usize = 50;
/// The largest page size.
pub(super) const MAX_PAGE: usize = 200;

/// A name the caller gives to something: a bad one is the caller's mistake.
pub(super) fn named<T: FromStr<Err: std::fmt::Display>>(
    field: &str,
    text: &str,
) -> Result<T, Problem> {
    text.parse().map_err(|problem| Problem::field(field, format!("{problem}")))
}

/// The schedule of the path, which should exist: a bad name names nothing.
pub(super) fn known_schedule(request: &Request) -> Result<ScheduleId, Problem> {
    request.path("schedule_id").parse().map_err(|_| Problem::not_found("schedule"))
}

/// The run of the path, which should exist: a bad name names nothing.
pub(super) fn known_run(request: &Request) -> Result<RunId, Problem> {
    request.path("run_id").parse().map_err(|_| Problem::not_found("run"))
}

/// The number of a version, from 1.
pub(super) fn version(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number >= 1)
}

/// A time of the query.
pub(super) fn time(request: &Request, name: &str) -> Result<Option<Instant>, Problem> {
    let parsed = request.query(name).map(|text| {
        instant::parse(text).ok_or_else(|| Problem::field(name, "must be an RFC 3339 time"))
    });
    parsed.transpose()
}

/// A flag of the query; `false` if it is left out.
pub(super) fn flag(request: &Request, name: &str) -> Result<bool, Problem> {
    match request.query(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Problem::field(name, "must be true or false")),
    }
}

/// The page size that is asked for.
pub(super) fn limit(request: &Request) -> Result<usize, Problem> {
    number(request, "limit", 1..=MAX_PAGE, PAGE)
}

/// A number of the query.
pub(super) fn number(
    request: &Request,
    name: &str,
    allowed: RangeInclusive<usize>,
    otherwise: usize,
) -> Result<usize, Problem> {
    match request.query(name).map(str::parse) {
        None => Ok(otherwise),
        Some(Ok(number)) if allowed.contains(&number) => Ok(number),
        Some(_) => {
            let (from, to) = allowed.into_inner();
            Err(Problem::field(name, format!("must be a number from {from} to {to}")))
        }
    }
}

/// One of some words of the query.
pub(super) fn choice<T: DeserializeOwned>(
    request: &Request,
    name: &str,
    otherwise: &str,
) -> Result<Option<T>, Problem> {
    let chosen = request.query(name).map(|text| serde_json::from_value(Value::from(text)));
    chosen.transpose().map_err(|_| Problem::field(name, otherwise))
}

/// Refuses a body with fields that are not of `table`, naming each.
pub(super) fn only(body: &Value, table: &Table) -> Result<(), Problem> {
    let names = body.as_object().into_iter().flat_map(|fields| fields.keys());
    let unknown = names.filter(|name| !table.has(name));
    let problem = |name: &String| Invalid::unknown(name, "is not a field of this request");
    match unknown.map(problem).collect::<Vec<_>>() {
        unknown if unknown.is_empty() => Ok(()),
        unknown => Err(Problem::invalid(unknown)),
    }
}

/// A field of a body; `null` is the same as left out.
pub(super) fn given(body: &Value, field: &str) -> Option<Value> {
    body.get(field).filter(|value| !value.is_null()).cloned()
}

/// A flag of a body; `false` if it is left out.
pub(super) fn optional_flag(body: &Value, field: &str) -> Result<bool, Problem> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Problem::field(field, "must be true or false")),
    }
}

/// One of some words of a body.
pub(super) fn optional_choice<T: DeserializeOwned>(
    body: &Value,
    field: &str,
    choices: &str,
) -> Result<Option<T>, Problem> {
    let chosen = given(body, field).map(serde_json::from_value).transpose();
    chosen.map_err(|_| Problem::field(field, choices))
}

/// The catch-up policy of a body.
pub(super) fn optional_catchup(body: &Value) -> Result<Option<Catchup>, Problem> {
    optional_choice(body, "catchup", "must be none, once, fire_immediately or spread")
}

/// A time of a body.
pub(super) fn optional_time(body: &Value, field: &str) -> Result<Option<Instant>, Problem> {
    let problem = || Problem::field(field, "must be an RFC 3339 time");
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => instant::parse(text).map(Some).ok_or_else(problem),
        Some(_) => Err(problem()),
    }
}

/// A text of a body, cut to what a record keeps.
pub(super) fn optional_text(body: &Value, field: &str) -> Result<Option<String>, Problem> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(cut(text))),
        Some(_) => Err(Problem::field(field, "must be a text")),
    }
}
