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
    answer(app, request, flag(request, "dry_run")).await
}

/// What a put would do, for those who may only read.
pub(super) async fn plan(app: &App, request: &Request) -> Routed {
    answer(app, request, Ok(true)).await
}

async fn answer(app: &App, request: &Request, dry_run: Result<bool, Problem>) -> Routed {
    let allow_delete = match request.query("allow_delete") {
        None => Ok(None),
        Some(_) => number(request, "allow_delete", 0..=MAX_DELETES, 0).map(Some),
    };
    let set = named::<SetName>("set", request.path("set"));
    let (caller, body) = (request.caller()?, request.json()?);
    // If its name is wrong, the rest is read as the declaration of any set.
    let name = set.as_ref().map_or_else(|_| named("set", "any"), |set| Ok(set.clone()));
    let declaration =
        name.and_then(|name| sets::read(app, caller, &name, &body).map_err(Problem::from));
    let (set, allow_delete, prune, dry_run, declaration) =
        (set, allow_delete, flag(request, "prune"), dry_run, declaration).all()?;
    let wish = Wish { dry_run, prune, allow_delete };
    // Boxed: it holds the futures of many saves.
    let done = Box::pin(sets::apply(app, caller, &set, &declaration, wish)).await?;
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
