//! Runs: listed, shown, asked for, and what their executors say of them.

use belfry_core::id::RunId;
use belfry_core::run::Status;

use super::answer::Answer;
use super::input::{choice, given, known_run, known_schedule, limit, optional_choice, time};
use super::openapi::requests::{FEEDBACK, TRIGGER};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::runs::{self, Trigger};
use crate::app::App;
use crate::cloud::store::HistoryQuery;

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
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
    Ok(Answer::json(200, &runs::history(app, request.caller()?, &id, &wanted).await?))
}

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let run = runs::one_run(app, request.caller()?, &known_run(request)?).await?;
    Ok(Answer::json(200, &run))
}

pub(super) async fn trigger(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let body = request.small_object(&TRIGGER)?;
    let asked = Trigger {
        request_id: request.request_id.clone(),
        idempotency_key: request.header("idempotency-key").map(str::to_owned),
        payload: given(&body, "payload"),
        overlap_policy: optional_choice(&body, "overlap_policy", "must be skip, allow or queue")?,
    };
    Ok(Answer::json(202, &runs::trigger(app, request.caller()?, &id, asked).await?))
}

/// Applies an executor's report, sent by a caller who may write runs.
pub(super) async fn status(app: &App, request: &Request) -> Routed {
    let body = request.small_object(&FEEDBACK)?;
    let run = runs::feedback(app, request.caller()?, &known_run(request)?, &body).await?;
    Ok(Answer::json(200, &run))
}

/// Takes an executor's word on a run, sent with the token that the launch carried.
pub(super) async fn feedback(app: &App, request: &Request) -> Routed {
    let body = request.small_object(&FEEDBACK)?;
    let (id, token) = (known_run(request)?, request.header("belfry-run-token"));
    let unknown = || Problem::unauthorized("the request carries no token of this run");
    let caller = runs::executor(app, &id, token.ok_or_else(unknown)?).await?;
    let caller = caller.ok_or_else(unknown)?;
    Ok(Answer::json(200, &runs::feedback(app, &caller, &id, &body).await?))
}
