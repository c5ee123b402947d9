//! Backfills: asked for, listed, shown and cancelled.

use belfry_core::form::whole_number;
use belfry_core::invalid::Invalid;
use serde_json::Value;

use super::answer::Answer;
use super::input::{
    All, given, known_schedule, only, optional_choice, optional_flag, optional_text, optional_time,
};
use super::openapi::requests::BACKFILL;
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::backfills::{self, Asked};
use crate::app::App;

pub(super) async fn start(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let body = request.small_object()?;
    let (_, asked, dry_run) =
        (only(&body, &BACKFILL), asked(&body), optional_flag(&body, "dry_run")).all()?;
    let caller = request.caller()?;
    if dry_run {
        let preview = backfills::preview_backfill(app, caller, &id, asked).await?;
        return Ok(Answer::json(200, &preview));
    }
    let (new, backfill) = backfills::start(app, caller, &id, asked).await?;
    Ok(Answer::json(if new { 202 } else { 200 }, &backfill))
}

fn asked(body: &Value) -> Result<Asked, Problem> {
    let required = |field: &str| {
        optional_time(body, field)?.ok_or_else(|| Problem::invalid(vec![Invalid::required(field)]))
    };
    let number = |value: Value| {
        let problem = || Problem::field("max_concurrent", "must be a whole number");
        whole_number(&value).ok_or_else(problem)
    };
    let order = optional_choice(body, "order", "must be oldest_first or newest_first");
    let (from, to, order, max_concurrent, rerun, name) = (
        required("from"),
        required("to"),
        order,
        given(body, "max_concurrent").map(number).transpose(),
        optional_flag(body, "rerun"),
        optional_text(body, "name"),
    )
        .all()?;
    // `null` is a payload like any other.
    let (order, payload) = (order.unwrap_or_default(), body.get("payload").cloned());
    Ok(Asked { from, to, order, max_concurrent, rerun, payload, name })
}

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    Ok(Answer::json(200, &backfills::backfills(app, request.caller()?, &id).await?))
}

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    let backfill = backfills::one_backfill(app, caller, &id, request.path("backfill_id")).await?;
    Ok(Answer::json(200, &backfill))
}

pub(super) async fn cancel(app: &App, request: &Request) -> Routed {
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    let name = request.path("backfill_id");
    Ok(Answer::json(200, &backfills::cancel_backfill(app, caller, &id, name).await?))
}
