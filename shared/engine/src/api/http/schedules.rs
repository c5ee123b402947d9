//! Schedules: listed, shown, made, changed, deleted, paused and resumed.

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Status;
use belfry_core::workflow::EVERYBODY;
use serde_json::Value;

use super::answer::Answer;
use super::input::{
    choice, flag, known_schedule, limit, named, number, optional_catchup, optional_flag,
    optional_text, optional_time, tag,
};
use super::openapi::requests::{PAUSE, RESUME};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::diff::{diff_patch, diff_put};
use crate::api::list::{self, Wanted};
use crate::api::whose::Whose;
use crate::app::App;
use crate::schedules::change::Saving;
use crate::schedules::create;
use crate::schedules::delete;
use crate::schedules::pause;
use crate::schedules::save;

/// The most runs of each schedule that a list tells of.
pub(super) const MAX_RECENT: usize = 100;

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let statuses = "must be active, paused, pending, expired or invalid";
    let (cursor, after) = match request.query("cursor").map(|text| text.split_once('~')) {
        Some(Some((id, owner))) => (Some(id), Some(owner)),
        _ => (request.query("cursor"), None),
    };
    let wanted = Wanted {
        status: choice::<Status>(request, "status", statuses)?,
        workflow_id: request.query("workflow_id").map(|id| named("workflow_id", id)).transpose()?,
        tag: request.query("tag").map(tag),
        recent: number(request, "recent", 0..=MAX_RECENT, 0)?,
        limit: limit(request)?,
        cursor: cursor.map(|cursor| named("cursor", cursor)).transpose()?,
        whose: whose(request, after)?,
    };
    Ok(Answer::json(200, &list::list(app, request.caller()?, &wanted).await?))
}

/// Whose things are asked for: the caller's own unless `user_id` says otherwise.
pub(super) fn whose(request: &Request, after: Option<&str>) -> Result<Whose, Problem> {
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

pub(super) async fn create(app: &App, request: &Request) -> Routed {
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

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    show(app, request, &known_schedule(request)?).await
}

pub(super) async fn put(app: &App, request: &Request) -> Routed {
    let id = named("schedule_id", request.path("schedule_id"))?;
    replace(app, request, &id, &request.json()?).await
}

pub(super) async fn patch(app: &App, request: &Request) -> Routed {
    change(app, request, &known_schedule(request)?, &request.json()?).await
}

pub(super) async fn delete(app: &App, request: &Request) -> Routed {
    remove(app, request, &known_schedule(request)?).await
}

pub(super) async fn pause(app: &App, request: &Request) -> Routed {
    let body = request.small_object(&PAUSE)?;
    let (note, until) = (optional_text(&body, "note")?, optional_time(&body, "until")?);
    let (caller, if_match) = (request.caller()?, request.if_match()?);
    let id = known_schedule(request)?;
    Ok(saved(&pause::pause(app, caller, &id, note, until, if_match).await?))
}

pub(super) async fn resume(app: &App, request: &Request) -> Routed {
    let body = request.small_object(&RESUME)?;
    let catchup = optional_catchup(&body)?;
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    if optional_flag(&body, "dry_run")? {
        let preview = pause::preview_resume(app, caller, &id, catchup).await?;
        return Ok(Answer::json(200, &preview));
    }
    let if_match = request.if_match()?;
    Ok(saved(&pause::resume(app, caller, &id, catchup, if_match).await?))
}

/// Answers with a schedule, however its path names it.
pub(super) async fn show(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    let (schedule, revision) = list::one(app, request.caller()?, id).await?;
    Ok(tagged(Answer::json(200, &schedule), revision))
}

/// Makes a schedule or replaces its definition, or says what that would do.
pub(super) async fn replace(app: &App, request: &Request, id: &ScheduleId, body: &Value) -> Routed {
    let (caller, if_match) = (request.caller()?, request.if_match()?);
    if flag(request, "dry_run")? {
        return Ok(Answer::json(200, &diff_put(app, caller, id, body, if_match).await?));
    }
    Ok(saved(&save::put(app, caller, id, body, if_match).await?))
}

/// Changes fields of a schedule, or says what that would do.
pub(super) async fn change(app: &App, request: &Request, id: &ScheduleId, body: &Value) -> Routed {
    let (caller, if_match) = (request.caller()?, request.if_match()?);
    if flag(request, "dry_run")? {
        return Ok(Answer::json(200, &diff_patch(app, caller, id, body, if_match).await?));
    }
    Ok(saved(&save::patch(app, caller, id, body, if_match).await?))
}

/// Deletes a schedule, however its path names it.
pub(super) async fn remove(app: &App, request: &Request, id: &ScheduleId) -> Routed {
    delete::delete(app, request.caller()?, id, request.if_match()?).await?;
    Ok(Answer::empty(204))
}

/// The answer to a save.
pub(super) fn saved(saving: &Saving) -> Answer {
    let status = if saving.created { 201 } else { 200 };
    tagged(Answer::json(status, &saving.schedule), saving.revision)
}

fn tagged(answer: Answer, revision: u64) -> Answer {
    answer.with("etag", format!("\"{revision}\""))
}
