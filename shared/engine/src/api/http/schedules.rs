//! Schedules: listed, shown, made, changed, deleted, paused and resumed.

use belfry_core::id::ScheduleId;
use belfry_core::schedule::Status;
use belfry_core::workflow::EVERYBODY;
use serde_json::Value;

use super::answer::Answer;
use super::input::{
    All, choice, flag, known_schedule, limit, named, number, only, optional_catchup, optional_flag,
    optional_text, optional_time,
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
use crate::schedules::input::read;
use crate::schedules::pause;
use crate::schedules::refusal::Refusal;
use crate::schedules::save;

/// The most runs of each schedule that a list tells of.
pub(super) const MAX_RECENT: usize = 100;

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let statuses = "must be active, paused, pending, expired or invalid";
    let (cursor, after) = match request.query("cursor").map(|text| text.split_once('~')) {
        Some(Some((id, owner))) => (Some(id), Some(owner)),
        _ => (request.query("cursor"), None),
    };
    let (status, workflow_id, recent, limit, cursor, whose) = (
        choice::<Status>(request, "status", statuses),
        request.query("workflow_id").map(|id| named("workflow_id", id)).transpose(),
        number(request, "recent", 0..=MAX_RECENT, 0),
        limit(request),
        cursor.map(|cursor| named("cursor", cursor)).transpose(),
        whose(request, after),
    )
        .all()?;
    let tag = request.query("tag").map(str::to_owned);
    let wanted = Wanted { status, workflow_id, tag, recent, whose, limit, cursor };
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
        None | Some(Value::Null) => Ok(ScheduleId::derived_from(&request.request_id)),
        Some(Value::String(id)) => match named::<ScheduleId>("schedule_id", id) {
            Ok(id) if id.is_reserved() => {
                Err(Problem::field("schedule_id", "is a word of the API"))
            }
            id => id,
        },
        Some(_) => Err(Problem::field("schedule_id", "must be a text")),
    };
    let id = with_definition(app, request, id, &body)?;
    let saving = create::create(app, request.caller()?, &id, &body).await?;
    Ok(saved(&saving).with("location", format!("/api/v1/schedules/{id}")))
}

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let (schedule, revision) = list::one(app, request.caller()?, &known_schedule(request)?).await?;
    Ok(tagged(Answer::json(200, &schedule), revision))
}

pub(super) async fn put(app: &App, request: &Request) -> Routed {
    let id = named("schedule_id", request.path("schedule_id"));
    Ok(replace(app, request, id, &request.json()?).await?.answer())
}

/// What a request says beside its body. If that is wrong, what is wrong with the definition is told
/// too.
fn with_definition<T>(
    app: &App,
    request: &Request,
    beside: Result<T, Problem>,
    body: &Value,
) -> Result<T, Problem> {
    let Err(problem) = beside else { return beside };
    let any = ScheduleId::derived_from(&request.request_id);
    let definition = read(app, request.caller()?, body, &any).err().map(Problem::from);
    Err(Problem::merged([problem].into_iter().chain(definition)))
}

pub(super) async fn patch(app: &App, request: &Request) -> Routed {
    let (id, body) = (known_schedule(request)?, request.json()?);
    Ok(change(app, request, &id, &body, Ok(())).await?.answer())
}

pub(super) async fn delete(app: &App, request: &Request) -> Routed {
    remove(app, request, &known_schedule(request)?).await
}

pub(super) async fn pause(app: &App, request: &Request) -> Routed {
    let body = request.small_object()?;
    let (_, note, until, if_match) = (
        only(&body, &PAUSE),
        optional_text(&body, "note"),
        optional_time(&body, "until"),
        request.if_match(),
    )
        .all()?;
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    Ok(saved(&pause::pause(app, caller, &id, note, until, if_match).await?))
}

pub(super) async fn resume(app: &App, request: &Request) -> Routed {
    let body = request.small_object()?;
    let (_, catchup, dry_run, if_match) = (
        only(&body, &RESUME),
        optional_catchup(&body),
        optional_flag(&body, "dry_run"),
        request.if_match(),
    )
        .all()?;
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    if dry_run {
        let preview = pause::preview_resume(app, caller, &id, catchup).await?;
        return Ok(Answer::json(200, &preview));
    }
    Ok(saved(&pause::resume(app, caller, &id, catchup, if_match).await?))
}

/// What a save did, or what it would do.
pub(super) enum Done {
    Saved(Saving),
    Previewed(Answer),
}

impl Done {
    fn answer(self) -> Answer {
        match self {
            Done::Saved(saving) => saved(&saving),
            Done::Previewed(answer) => answer,
        }
    }
}

/// Makes a schedule or replaces its definition, or says what that would do.
pub(super) async fn replace(
    app: &App,
    request: &Request,
    id: Result<ScheduleId, Problem>,
    body: &Value,
) -> Result<Done, Problem> {
    let caller = request.caller()?;
    let beside = (id, request.if_match_or_none(), flag(request, "dry_run")).all();
    let (id, seen, dry_run) = with_definition(app, request, beside, body)?;
    if dry_run {
        let diff = diff_put(app, caller, &id, body, seen).await;
        let diff = diff.map_err(|refusal| existing(refusal, seen))?;
        return Ok(Done::Previewed(Answer::json(200, &diff)));
    }
    let saving = save::put(app, caller, &id, body, seen).await;
    Ok(Done::Saved(saving.map_err(|refusal| existing(refusal, seen))?))
}

/// The problem of a refused save; `seen` is 0 if the caller wanted to make a new schedule.
fn existing(refusal: Refusal, seen: Option<u64>) -> Problem {
    match refusal {
        Refusal::Stale { .. } if seen == Some(0) => Problem::exists("schedule"),
        refusal => refusal.into(),
    }
}

/// Changes fields of a schedule, or says what that would do. `body` agrees with the path or not.
pub(super) async fn change(
    app: &App,
    request: &Request,
    id: &ScheduleId,
    body: &Value,
    agrees: Result<(), Problem>,
) -> Result<Done, Problem> {
    let caller = request.caller()?;
    let beside = (request.if_match(), flag(request, "dry_run"), agrees).all();
    let (if_match, dry_run, ()) = match beside {
        Ok(beside) => beside,
        // What is wrong with the patch is told too.
        Err(problem) => {
            let patch = diff_patch(app, caller, id, body, None).await.err().map(Problem::from);
            return Err(Problem::merged([problem].into_iter().chain(patch)));
        }
    };
    if dry_run {
        let diff = diff_patch(app, caller, id, body, if_match).await?;
        return Ok(Done::Previewed(Answer::json(200, &diff)));
    }
    Ok(Done::Saved(save::patch(app, caller, id, body, if_match).await?))
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

/// An answer with a schedule of this revision.
pub(super) fn tagged(answer: Answer, revision: u64) -> Answer {
    answer.with("etag", format!("\"{revision}\""))
}
