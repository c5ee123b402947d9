//! The ledger and the change log of a schedule.

use super::answer::Answer;
use super::input::{known_schedule, limit, time};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::ledger;
use crate::app::App;
use crate::cloud::store::is_change_cursor;

pub(super) async fn ledger(app: &App, request: &Request) -> Routed {
    let (from, to) = (time(request, "from")?, time(request, "to")?);
    let (caller, id) = (request.caller()?, known_schedule(request)?);
    Ok(Answer::json(200, &ledger::ledger(app, caller, &id, from, to).await?))
}

pub(super) async fn changes(app: &App, request: &Request) -> Routed {
    let id = known_schedule(request)?;
    let cursor = request.query("cursor");
    if cursor.is_some_and(|cursor| !is_change_cursor(cursor)) {
        return Err(Problem::field("cursor", "is not a cursor"));
    }
    let limit = limit(request)?;
    Ok(Answer::json(200, &ledger::changes(app, request.caller()?, &id, limit, cursor).await?))
}
