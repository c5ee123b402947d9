//! Runs: listed, shown, asked for, and what their executors say of them.

use belfry_core::id::RunId;
use belfry_core::run::Status;
use belfry_core::run::feedback::Feedback;
use belfry_core::workflow::EVERYBODY;

use super::answer::Answer;
use super::input::{
    All, choice, known_run, known_schedule, limit, named, only, optional_choice, time,
};
use super::openapi::requests::{FEEDBACK, TRIGGER};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::across::{self, Wanted};
use crate::api::runs::{self, Trigger};
use crate::app::App;
use crate::cloud::store::{HistoryQuery, RunFilter};

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let cursor = match request.query("cursor") {
        Some(cursor) if RunId::from_keys(id.clone(), cursor).is_err() => {
            Err(Problem::field("cursor", "is not a cursor"))
        }
        cursor => Ok(cursor.map(str::to_owned)),
    };
    let (status, from, to, limit, cursor) = (
        choice::<Status>(request, "status", "is not a run's status"),
        time(request, "from"),
        time(request, "to"),
        limit(request),
        cursor,
    )
        .all()?;
    let wanted = HistoryQuery { status, from, to, limit, cursor };
    Ok(Answer::json(200, &runs::history(app, request.caller()?, &id, &wanted).await?))
}

/// The runs of all schedules of the caller, or of the owner that an admin names.
pub(super) async fn across(app: &App, request: &Request) -> Routed {
    let caller = request.caller()?;
    let cursor = request
        .query("cursor")
        .map(|text| text.parse::<RunId>().map_err(|_| Problem::field("cursor", "is not a cursor")));
    let owner = match request.query("user_id") {
        Some(EVERYBODY) => Err(Problem::field("user_id", "must be one user here")),
        owner => Ok(owner.unwrap_or(&caller.sub).to_owned()),
    };
    let (status, from, to, workflow_id, limit, cursor, owner) = (
        choice::<Status>(request, "status", "is not a run's status"),
        time(request, "from"),
        time(request, "to"),
        request.query("workflow_id").map(|id| named("workflow_id", id)).transpose(),
        limit(request),
        cursor.transpose(),
        owner,
    )
        .all()?;
    let external_run_id = request.query("external_run_id").map(str::to_owned);
    let wanted = Wanted {
        owner,
        workflow_id,
        tag: request.query("tag").map(str::to_owned),
        filter: RunFilter { status, external_run_id, from, to },
        limit,
        cursor,
    };
    Ok(Answer::json(200, &across::runs(app, caller, &wanted).await?))
}

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let run = runs::one_run(app, request.caller()?, &known_run(request)?).await?;
    Ok(Answer::json(200, &run))
}

pub(super) async fn trigger(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let body = request.small_object()?;
    let idempotency_key = match request.header("idempotency-key") {
        Some(key) if key.trim().is_empty() => {
            Err(Problem::field("Idempotency-Key", "must not be empty"))
        }
        key => Ok(key.map(str::to_owned)),
    };
    let (_, overlap_policy, idempotency_key) = (
        only(&body, &TRIGGER),
        optional_choice(&body, "overlap_policy", "must be skip, allow or queue"),
        idempotency_key,
    )
        .all()?;
    let asked = Trigger {
        request_id: request.request_id.clone(),
        idempotency_key,
        // `null` is a payload like any other.
        payload: body.get("payload").cloned(),
        overlap_policy,
    };
    Ok(Answer::json(202, &runs::trigger(app, request.caller()?, &id, asked).await?))
}

/// The report of an executor, if it has no other fields and those it has are sound.
fn report(request: &Request) -> Result<Feedback, Problem> {
    let body = request.small_object()?;
    let (_, report) =
        (only(&body, &FEEDBACK), Feedback::read(&body).map_err(Problem::invalid)).all()?;
    Ok(report)
}

/// Applies an executor's report, sent by a caller who may write runs.
pub(super) async fn status(app: &App, request: &Request) -> Routed {
    let body = report(request)?;
    let run = runs::feedback(app, request.caller()?, &known_run(request)?, &body).await?;
    Ok(Answer::json(200, &run))
}

/// Takes an executor's word on a run, sent with the token that the launch carried.
pub(super) async fn feedback(app: &App, request: &Request) -> Routed {
    let (id, token) = (known_run(request)?, request.header("belfry-run-token"));
    let unknown = || Problem::unauthorized("the request carries no token of this run");
    let caller = runs::executor(app, &id, token.ok_or_else(unknown)?).await?;
    let caller = caller.ok_or_else(unknown)?;
    Ok(Answer::json(200, &runs::feedback(app, &caller, &id, &report(request)?).await?))
}
