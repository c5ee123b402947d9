//! The ledger and the change log of a schedule.

use super::answer::Answer;
use super::input::{All, known_schedule, limit, time};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::ledger;
use crate::app::App;
use crate::cloud::store::is_change_cursor;

pub(super) async fn ledger(app: &App, request: &Request) -> Routed {
    let (from, to) = (time(request, "from"), time(request, "to")).all()?;
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    Ok(Answer::json(200, &ledger::ledger(app, caller, &id, from, to).await?))
}

pub(super) async fn changes(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let cursor = match request.query("cursor") {
        Some(cursor) if !is_change_cursor(cursor) => {
            Err(Problem::field("cursor", "is not a cursor"))
        }
        cursor => Ok(cursor),
    };
    let (limit, cursor) = (limit(request), cursor).all()?;
    Ok(Answer::json(200, &ledger::changes(app, request.caller()?, &id, limit, cursor).await?))
}
