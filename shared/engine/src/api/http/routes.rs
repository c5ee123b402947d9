//! The routes: every call there is, in one place.

use std::ops::RangeInclusive;
use std::str::FromStr;

use belfry_core::cron::tzdb_version;
use belfry_core::encoding::cut;
use belfry_core::fire::backfill::Order;
use belfry_core::form::whole_number;
use belfry_core::id::{RunId, ScheduleId, WorkflowId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::Status;
use belfry_core::schedule::{self, Catchup, Overlap};
use belfry_core::vocabulary;
use belfry_core::workflow::EVERYBODY;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::access;
use super::openapi::{self, Found};
use super::problem::Problem;
use super::request::{Answer, Request};
use super::trigger_node::TriggerNode;
use super::{bulk, presets, sets, timezones, validate};
use crate::api::backfills;
use crate::api::diff;
use crate::api::ledger;
use crate::api::list;
use crate::api::list::Wanted;
use crate::api::overview;
use crate::api::runs;
use crate::api::runs::Trigger;
use crate::api::stats;
use crate::api::whose::Whose;
use crate::app::App;
use crate::cloud::store::{HistoryQuery, is_change_cursor};
use crate::schedules::change::Saving;
use crate::schedules::create;
use crate::schedules::delete;
use crate::schedules::pause;
use crate::schedules::save;
use crate::schedules::workflows;

/// A page no caller asked a size of.
const PAGE: usize = 50;
/// No page is larger.
pub(super) const MAX_PAGE: usize = 200;
/// No list tells of more runs of each schedule.
pub(super) const MAX_RECENT: usize = 100;

type Routed = Result<Answer, Problem>;

pub(super) async fn route(app: &App, request: &Request) -> Routed {
    let segments: Vec<&str> = request.segments.iter().map(String::as_str).collect();
    // Only what is documented is served.
    let operation = match openapi::find(&request.method, &segments) {
        Found::Call(operation) => operation,
        Found::Otherwise(methods) => return Ok(refuse_method(&methods)),
        Found::Nothing => return Err(Problem::not_found("resource")),
    };
    access::admit(operation.gate, request)?;
    if let Some(name) = request.parameters().find(|name| !operation.takes(name)) {
        return Err(Problem::field(name, "is not a parameter of this call"));
    }
    match (request.method.as_str(), segments.as_slice()) {
        ("GET", ["health"]) => Ok(health()),
        ("GET", ["openapi.json"]) => Ok(Answer::json(200, &openapi::document())),
        ("GET", ["presets"]) => Ok(Answer::json(200, &presets::presets())),
        ("GET", ["timezones"]) => {
            Ok(Answer::json(200, &timezones::timezones(&app.settings.house, app.now())))
        }
        ("GET", ["vocabulary"]) => {
            Ok(Answer::json(200, &json!(vocabulary::vocabulary(&app.settings.house))))
        }
        ("GET", ["schedules"]) => list(app, request).await,
        ("POST", ["schedules"]) => create(app, request).await,
        ("POST", ["schedules", "validate"]) => validate::validate(app, request),
        ("POST", ["schedules", "bulk"]) => bulk::bulk(app, request).await,
        ("GET", ["schedules", id]) => one(app, request, &known(id)?).await,
        ("PUT", ["schedules", id]) => {
            put(app, request, &named("schedule_id", id)?, &request.json()?).await
        }
        ("PATCH", ["schedules", id]) => patch(app, request, &known(id)?, &request.json()?).await,
        ("DELETE", ["schedules", id]) => delete(app, request, &known(id)?).await,
        ("POST", ["schedules", id, "pause"]) => {
            let body = request.small_object(&["note", "until"])?;
            let (note, until) = (optional_text(&body, "note")?, optional_time(&body, "until")?);
            let (caller, if_match) = (request.caller()?, request.if_match()?);
            Ok(saved(&pause::pause(app, caller, &known(id)?, note, until, if_match).await?))
        }
        ("POST", ["schedules", id, "resume"]) => {
            let body = request.small_object(&["catchup", "dry_run"])?;
            let catchup = optional_catchup(&body)?;
            let (caller, id) = (request.caller()?, known(id)?);
            if optional_flag(&body, "dry_run")? {
                let preview = pause::preview_resume(app, caller, &id, catchup).await?;
                return Ok(Answer::json(200, &preview));
            }
            let if_match = request.if_match()?;
            Ok(saved(&pause::resume(app, caller, &id, catchup, if_match).await?))
        }
        ("POST", ["schedules", id, "trigger"]) => trigger(app, request, &known(id)?).await,
        ("POST", ["schedules", id, "backfill"]) => backfill(app, request, &known(id)?).await,
        ("GET", ["schedules", id, "backfills"]) => {
            let backfills = backfills::backfills(app, request.caller()?, &known(id)?).await?;
            Ok(Answer::json(200, &backfills))
        }
        ("GET", ["schedules", id, "backfills", name]) => {
            let caller = request.caller()?;
            let backfill = backfills::one_backfill(app, caller, &known(id)?, name).await?;
            Ok(Answer::json(200, &backfill))
        }
        ("DELETE", ["schedules", id, "backfills", name]) => {
            let caller = request.caller()?;
            let backfill = backfills::cancel_backfill(app, caller, &known(id)?, name).await?;
            Ok(Answer::json(200, &backfill))
        }
        ("GET", ["schedules", id, "runs"]) => history(app, request, &known(id)?).await,
        ("GET", ["schedules", id, "ledger"]) => {
            let (from, to) = (time(request, "from")?, time(request, "to")?);
            let ledger = ledger::ledger(app, request.caller()?, &known(id)?, from, to).await?;
            Ok(Answer::json(200, &ledger))
        }
        ("GET", ["schedules", id, "changes"]) => changes(app, request, &known(id)?).await,
        ("GET", ["overview"]) => {
            Ok(Answer::json(200, &overview::overview(app, request.caller()?).await?))
        }
        ("GET", ["stats"]) => {
            let whose = whose(request, None)?;
            Ok(Answer::json(200, &stats::overall(app, request.caller()?, &whose).await?))
        }
        ("GET", ["runs", id]) => {
            let run = runs::one_run(app, request.caller()?, &known_run(id)?).await?;
            Ok(Answer::json(200, &run))
        }
        ("POST", ["runs", id, "status"]) => {
            let body = request.small_object(&["status", "error", "result", "external_run_id"])?;
            let run = runs::feedback(app, request.caller()?, &known_run(id)?, &body).await?;
            Ok(Answer::json(200, &run))
        }
        ("POST", ["runs", id, "feedback"]) => {
            let body = request.small_object(&["status", "error", "result", "external_run_id"])?;
            let (id, token) = (known_run(id)?, request.header("belfry-run-token"));
            let unknown = || Problem::unauthorized("the request carries no token of this run");
            let caller = runs::executor(app, &id, token.ok_or_else(unknown)?).await?;
            let caller = caller.ok_or_else(unknown)?;
            Ok(Answer::json(200, &runs::feedback(app, &caller, &id, &body).await?))
        }
        ("PUT", ["workflows", id, "versions", version]) => {
            let caller = request.caller()?;
            let id = named::<WorkflowId>("workflow_id", id)?;
            let version = numbered(version)
                .ok_or_else(|| Problem::field("version", "must be a whole number from 1"))?;
            let (new, workflow) =
                workflows::publish(app, caller, &id, version, &request.json()?).await?;
            Ok(Answer::json(if new { 201 } else { 200 }, &workflow))
        }
        ("GET", ["workflows", id, "versions", version]) => {
            let caller = request.caller()?;
            let missing = || Problem::not_found("workflow version");
            let id = id.parse().map_err(|_| missing())?;
            let version = numbered(version).ok_or_else(missing)?;
            Ok(Answer::json(200, &workflows::version(app, caller, &id, version).await?))
        }
        ("GET", ["sets"]) => sets::list(app, request).await,
        ("GET", ["sets", set]) => sets::export(app, request, set).await,
        ("PUT", ["sets", set]) => sets::put(app, request, set).await,
        ("POST", ["sets", set, "plan"]) => sets::plan(app, request, set).await,
        ("PUT", ["sets", set, "members", id]) => sets::adopt(app, request, set, &known(id)?).await,
        ("DELETE", ["sets", set, "members", id]) => {
            sets::release(app, request, set, &known(id)?).await
        }
        ("GET", ["workflows", id, "versions"]) => versions(app, request, id).await,
        ("GET", ["workflows", id, "triggers", node, "schedule"]) => {
            one(app, request, &TriggerNode::known(id, node)?.schedule_id(request)?).await
        }
        ("PUT", ["workflows", id, "triggers", node, "schedule"]) => {
            let trigger = TriggerNode::named(id, node)?;
            let body = trigger.complete(request.json()?, false)?;
            put(app, request, &trigger.schedule_id(request)?, &body).await
        }
        ("PATCH", ["workflows", id, "triggers", node, "schedule"]) => {
            let trigger = TriggerNode::known(id, node)?;
            let body = trigger.complete(request.json()?, true)?;
            patch(app, request, &trigger.schedule_id(request)?, &body).await
        }
        ("DELETE", ["workflows", id, "triggers", node, "schedule"]) => {
            delete(app, request, &TriggerNode::known(id, node)?.schedule_id(request)?).await
        }
        _ => Err(Problem::not_found("resource")),
    }
}

/// The path is there, not for this method.
fn refuse_method(methods: &str) -> Answer {
    let problem = Problem::new(405, "Method not allowed", format!("this resource takes {methods}"));
    problem.into_answer().with("allow", methods.to_owned())
}

fn health() -> Answer {
    let version = env!("CARGO_PKG_VERSION");
    Answer::json(200, &json!({"status": "ok", "version": version, "tzdb": tzdb_version()}))
}

async fn create(app: &App, request: &Request) -> Routed {
    let body = request.json()?;
    let id = match body.get("schedule_id") {
        None | Some(Value::Null) => ScheduleId::derived_from(&request.request_id),
        Some(Value::String(id)) => named("schedule_id", id)?,
        Some(_) => return Err(Problem::field("schedule_id", "must be a text")),
    };
    if id.is_reserved() {
        return Err(Problem::field("schedule_id", "is a word of the API"));
    }
    let saving = create::create(app, request.caller()?, &id, &body).await?;
    Ok(saved(&saving).with("location", format!("/api/v1/schedules/{id}")))
}

async fn one(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let (schedule, revision) = list::one(app, request.caller()?, id).await?;
    Ok(tagged(Answer::json(200, &schedule), revision))
}

async fn delete(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    delete::delete(app, request.caller()?, id, request.if_match()?).await?;
    Ok(Answer::empty(204))
}

async fn versions(app: &App, request: &Request, id: &str) -> Routed {
    let id = id.parse().map_err(|_| Problem::not_found("workflow"))?;
    let cursor = request
        .query("cursor")
        .map(|text| numbered(text).ok_or_else(|| Problem::field("cursor", "is not a cursor")));
    let answer =
        workflows::versions(app, request.caller()?, &id, limit(request)?, cursor.transpose()?)
            .await?;
    Ok(Answer::json(200, &answer))
}

async fn put(app: &App, request: &Request, id: &ScheduleId, body: &Value) -> Routed {
    let (caller, if_match) = (request.caller()?, request.if_match()?);
    if flag(request, "dry_run")? {
        return Ok(Answer::json(200, &diff::diff_put(app, caller, id, body, if_match).await?));
    }
    Ok(saved(&save::put(app, caller, id, body, if_match).await?))
}

async fn patch(app: &App, request: &Request, id: &ScheduleId, body: &Value) -> Routed {
    let (caller, if_match) = (request.caller()?, request.if_match()?);
    if flag(request, "dry_run")? {
        return Ok(Answer::json(200, &diff::diff_patch(app, caller, id, body, if_match).await?));
    }
    Ok(saved(&save::patch(app, caller, id, body, if_match).await?))
}

async fn list(app: &App, request: &Request) -> Routed {
    let statuses = "must be active, paused, pending, expired or invalid";
    let (cursor, after) = match request.query("cursor").map(|text| text.split_once('~')) {
        Some(Some((id, owner))) => (Some(id), Some(owner)),
        _ => (request.query("cursor"), None),
    };
    let wanted = Wanted {
        status: choice::<schedule::Status>(request, "status", statuses)?,
        workflow_id: request.query("workflow_id").map(|id| named("workflow_id", id)).transpose()?,
        tag: request.query("tag").map(tag),
        recent: number_from_query(request, "recent", 0..=MAX_RECENT, 0)?,
        limit: limit(request)?,
        cursor: cursor.map(|cursor| named("cursor", cursor)).transpose()?,
        whose: whose(request, after)?,
    };
    let listing = list::list(app, request.caller()?, &wanted).await?;
    Ok(Answer::json(200, &json!({"items": listing.items, "next_cursor": listing.next_cursor})))
}

/// Whose things are asked for: the caller's own unless `user_id` says otherwise.
fn whose(request: &Request, after: Option<&str>) -> Result<Whose, Problem> {
    let bad = || Problem::field("cursor", "is not a cursor");
    Ok(match request.query("user_id") {
        None => Whose::Own,
        Some(EVERYBODY) => {
            let after = after.map(|owner| owner_of(owner).ok_or_else(bad)).transpose()?;
            Whose::All { after }
        }
        Some(owner) => Whose::Of(owner.to_owned()),
    })
}

/// Owners have any characters; a cursor carries theirs in hex.
fn owner_of(text: &str) -> Option<String> {
    String::from_utf8(hex::decode(text).ok()?).ok()
}

async fn trigger(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let body = request.small_object(&["payload", "overlap_policy"])?;
    let given = |field: &str| body.get(field).filter(|value| !value.is_null()).cloned();
    let overlap = given("overlap_policy").map(serde_json::from_value::<Overlap>).transpose();
    let overlap =
        overlap.map_err(|_| Problem::field("overlap_policy", "must be skip, allow or queue"))?;
    let asked = Trigger {
        request_id: request.request_id.clone(),
        idempotency_key: request.header("idempotency-key").map(str::to_owned),
        payload: given("payload"),
        overlap_policy: overlap,
    };
    Ok(Answer::json(202, &runs::trigger(app, request.caller()?, id, asked).await?))
}

async fn backfill(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let body = request.small_object(&[
        "from",
        "to",
        "dry_run",
        "order",
        "max_concurrent",
        "rerun",
        "payload",
        "name",
    ])?;
    let required = |field: &str| {
        optional_time(&body, field)?.ok_or_else(|| Problem::field(field, "is required"))
    };
    let given = |field: &str| body.get(field).filter(|value| !value.is_null()).cloned();
    let order = given("order").map(serde_json::from_value::<Order>).transpose();
    let choices = "must be oldest_first or newest_first";
    let number = |value: Value| {
        let problem = || Problem::field("max_concurrent", "must be a whole number");
        whole_number(&value).ok_or_else(problem)
    };
    let asked = backfills::Asked {
        from: required("from")?,
        to: required("to")?,
        order: order.map_err(|_| Problem::field("order", choices))?.unwrap_or_default(),
        max_concurrent: given("max_concurrent").map(number).transpose()?,
        rerun: optional_flag(&body, "rerun")?,
        payload: given("payload"),
        name: optional_text(&body, "name")?,
    };
    let caller = request.caller()?;
    if optional_flag(&body, "dry_run")? {
        let preview = backfills::preview_backfill(app, caller, id, asked).await?;
        return Ok(Answer::json(200, &preview));
    }
    let (new, backfill) = backfills::start(app, caller, id, asked).await?;
    Ok(Answer::json(if new { 202 } else { 200 }, &backfill))
}

async fn history(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let cursor = request.query("cursor");
    if cursor.is_some_and(|cursor| RunId::from_keys(id.clone(), cursor).is_err()) {
        return Err(Problem::field("cursor", "is not a cursor"));
    }
    let wanted = HistoryQuery {
        status: choice::<Status>(request, "status", "is not a run's status")?,
        from: time(request, "from")?,
        to: time(request, "to")?,
        limit: limit(request)?,
        cursor: cursor.map(str::to_owned),
    };
    Ok(Answer::json(200, &runs::history(app, request.caller()?, id, &wanted).await?))
}

async fn changes(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let cursor = request.query("cursor");
    if cursor.is_some_and(|cursor| !is_change_cursor(cursor)) {
        return Err(Problem::field("cursor", "is not a cursor"));
    }
    let limit = limit(request)?;
    Ok(Answer::json(200, &ledger::changes(app, request.caller()?, id, limit, cursor).await?))
}

fn time(request: &Request, name: &str) -> Result<Option<Instant>, Problem> {
    let parsed = request.query(name).map(|text| {
        instant::parse(text).ok_or_else(|| Problem::field(name, "must be an RFC 3339 time"))
    });
    parsed.transpose()
}

/// A tag, or a tag and its value: `team`, `team:data`.
pub(super) fn tag(text: &str) -> (String, Option<String>) {
    match text.split_once(':') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (text.to_owned(), None),
    }
}

pub(super) fn flag(request: &Request, name: &str) -> Result<bool, Problem> {
    match request.query(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(Problem::field(name, "must be true or false")),
    }
}

fn limit(request: &Request) -> Result<usize, Problem> {
    number_from_query(request, "limit", 1..=MAX_PAGE, PAGE)
}

pub(super) fn number_from_query(
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

fn choice<T: DeserializeOwned>(
    request: &Request,
    name: &str,
    otherwise: &str,
) -> Result<Option<T>, Problem> {
    let chosen = request.query(name).map(|text| serde_json::from_value(Value::from(text)));
    chosen.transpose().map_err(|_| Problem::field(name, otherwise))
}

pub(super) fn saved(saving: &Saving) -> Answer {
    let status = if saving.created { 201 } else { 200 };
    tagged(Answer::json(status, &saving.schedule), saving.revision)
}

fn tagged(answer: Answer, revision: u64) -> Answer {
    answer.with("etag", format!("\"{revision}\""))
}

/// A name the caller gives to something: a bad one is its mistake.
pub(super) fn named<T: FromStr<Err: std::fmt::Display>>(
    field: &str,
    text: &str,
) -> Result<T, Problem> {
    text.parse().map_err(|problem| Problem::field(field, format!("{problem}")))
}

/// The name of something that should exist: a bad one names nothing.
fn known(id: &str) -> Result<ScheduleId, Problem> {
    id.parse().map_err(|_| Problem::not_found("schedule"))
}

fn known_run(id: &str) -> Result<RunId, Problem> {
    id.parse().map_err(|_| Problem::not_found("run"))
}

fn numbered(text: &str) -> Option<u32> {
    text.parse().ok().filter(|number| *number >= 1)
}

pub(super) fn optional_flag(body: &Value, field: &str) -> Result<bool, Problem> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Problem::field(field, "must be true or false")),
    }
}

pub(super) fn optional_catchup(body: &Value) -> Result<Option<Catchup>, Problem> {
    let given = body.get("catchup").filter(|value| !value.is_null()).cloned();
    let choices = "must be none, once, fire_immediately or spread";
    given.map(serde_json::from_value).transpose().map_err(|_| Problem::field("catchup", choices))
}

pub(super) fn optional_time(body: &Value, field: &str) -> Result<Option<Instant>, Problem> {
    let problem = || Problem::field(field, "must be an RFC 3339 time");
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => instant::parse(text).map(Some).ok_or_else(problem),
        Some(_) => Err(problem()),
    }
}

pub(super) fn optional_text(body: &Value, field: &str) -> Result<Option<String>, Problem> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(cut(text))),
        Some(_) => Err(Problem::field(field, "must be a text")),
    }
}
