//! Bulk changes, as they are asked for.

use super::answer::Answer;
use super::input::{named, optional_catchup, optional_flag, optional_text, tag};
use super::openapi::requests::BULK;
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::bulk;
use crate::api::bulk::{Action, MAX_CHANGED};
use crate::api::list::Wanted;
use crate::api::whose::Whose;
use crate::app::App;

pub(super) async fn bulk(app: &App, request: &Request) -> Routed {
    let body = request.small_object(&BULK)?;
    let given = |field: &str| body.get(field).is_some_and(|value| !value.is_null());
    let note = optional_text(&body, "note")?;
    let catchup = optional_catchup(&body)?;
    let action = match body["action"].as_str() {
        Some("pause") if given("catchup") => {
            return Err(Problem::field("catchup", "is for resume"));
        }
        Some("resume") if given("note") => return Err(Problem::field("note", "is for pause")),
        Some("pause") => Action::Pause { note },
        Some("resume") => Action::Resume { catchup },
        _ => return Err(Problem::field("action", "must be pause or resume")),
    };
    // An empty request must not stop everything.
    if !given("tag") && !given("workflow_id") {
        return Err(Problem::field("tag", "or workflow_id must be given"));
    }
    let text = |field: &str| match (given(field), body[field].as_str()) {
        (false, _) => Ok(None),
        (true, Some(text)) => Ok(Some(text)),
        (true, None) => Err(Problem::field(field, "must be a text")),
    };
    let wanted = Wanted {
        status: None,
        workflow_id: text("workflow_id")?.map(|id| named("workflow_id", id)).transpose()?,
        tag: text("tag")?.map(tag),
        recent: 0,
        whose: Whose::Own,
        limit: MAX_CHANGED,
        cursor: text("cursor")?.map(|cursor| named("cursor", cursor)).transpose()?,
    };
    let dry_run = optional_flag(&body, "dry_run")?;
    let answer = bulk::bulk(app, request.caller()?, wanted, action, dry_run).await?;
    Ok(Answer::json(200, &answer))
}
