//! Declared sets, as they are asked for.

use belfry_core::id::SetName;

use super::answer::Answer;
use super::input::{All, flag, known_schedule, named, number};
use super::problem::{Problem, Routed};
use super::request::Request;
use super::schedules::saved;
use crate::api::sets;
use crate::api::sets::Wish;
use crate::app::App;
use crate::schedules::declare;

/// No larger number of deletes can be meant.
pub(super) const MAX_DELETES: usize = 10_000;

/// A set brought to what is declared, or what that would do.
pub(super) async fn put(app: &App, request: &Request) -> Routed {
    answer(app, request, flag(request, "dry_run")?).await
}

/// What a put would do, for those who may only read.
pub(super) async fn plan(app: &App, request: &Request) -> Routed {
    answer(app, request, true).await
}

async fn answer(app: &App, request: &Request, dry_run: bool) -> Routed {
    let allow_delete = match request.query("allow_delete") {
        None => Ok(None),
        Some(_) => number(request, "allow_delete", 0..=MAX_DELETES, 0).map(Some),
    };
    let set = named::<SetName>("set", request.path("set"));
    let (set, allow_delete, prune) = (set, allow_delete, flag(request, "prune")).all()?;
    let wish = Wish { dry_run, prune, allow_delete };
    let body = request.json()?;
    // Boxed: it holds the futures of many saves.
    let done = Box::pin(sets::apply(app, request.caller()?, &set, &body, wish)).await?;
    Ok(Answer::json(200, &done))
}

pub(super) async fn list(app: &App, request: &Request) -> Routed {
    Ok(Answer::json(200, &sets::sets(app, request.caller()?).await?))
}

pub(super) async fn export(app: &App, request: &Request) -> Routed {
    let set = request.path("set").parse().map_err(|_| Problem::not_found("set"))?;
    Ok(Answer::json(200, &sets::export(app, request.caller()?, &set).await?))
}

pub(super) async fn adopt(app: &App, request: &Request) -> Routed {
    let (id, set) = (known_schedule(request)?, named("set", request.path("set"))?);
    Ok(saved(&declare::adopt(app, request.caller()?, &set, &id).await?))
}

pub(super) async fn release(app: &App, request: &Request) -> Routed {
    let (id, set) = (known_schedule(request)?, named("set", request.path("set"))?);
    Ok(saved(&declare::release(app, request.caller()?, &set, &id).await?))
}
