//! Workflows and their versions: listed, shown, published and deleted.

use super::answer::Answer;
use super::input::{All, flag, limit, named, version};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::app::App;
use crate::schedules::workflows;

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let caller = request.caller()?;
    let owner = request.query("user_id").unwrap_or(&caller.sub);
    let cursor = request.query("cursor").map(|cursor| named("cursor", cursor)).transpose();
    let (limit, cursor) = (limit(request), cursor).all()?;
    let page = workflows::list(app, caller, owner, limit, cursor.as_ref()).await?;
    Ok(Answer::json(200, &page))
}

pub(super) async fn versions(app: &App, request: &Request) -> Routed {
    let missing = |_| Problem::not_found("workflow");
    let id = request.path("workflow_id").parse().map_err(missing)?;
    let cursor = request
        .query("cursor")
        .map(|text| version(text).ok_or_else(|| Problem::field("cursor", "is not a cursor")));
    let (limit, cursor) = (limit(request), cursor.transpose()).all()?;
    let versions = workflows::versions(app, request.caller()?, &id, limit, cursor).await?;
    Ok(Answer::json(200, &versions))
}

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let caller = request.caller()?;
    let missing = || Problem::not_found("workflow version");
    let id = request.path("workflow_id").parse().map_err(|_| missing())?;
    let number = version(request.path("version")).ok_or_else(missing)?;
    Ok(Answer::json(200, &workflows::version(app, caller, &id, number).await?))
}

pub(super) async fn delete(app: &App, request: &Request) -> Routed {
    let missing = || Problem::not_found("workflow version");
    let id = request.path("workflow_id").parse().map_err(|_| missing())?;
    let number = version(request.path("version")).ok_or_else(missing)?;
    workflows::delete(app, request.caller()?, &id, number, flag(request, "force")?).await?;
    Ok(Answer::empty(204))
}

pub(super) async fn publish(app: &App, request: &Request) -> Routed {
    let caller = request.caller()?;
    let number = version(request.path("version"))
        .ok_or_else(|| Problem::field("version", "must be a whole number from 1"));
    let (id, number, is_new) =
        (named("workflow_id", request.path("workflow_id")), number, request.is_new()).all()?;
    let (new, workflow) = workflows::publish(app, caller, &id, number, &request.json()?).await?;
    if is_new && !new {
        return Err(Problem::exists("workflow version"));
    }
    Ok(Answer::json(if new { 201 } else { 200 }, &workflow))
}
