//! Bulk changes, as they are asked for.

use belfry_core::id::WorkflowId;
use belfry_core::invalid::{Code, Invalid};
use serde_json::Value;

use super::answer::Answer;
use super::input::{All, named, only, optional_catchup, optional_flag, optional_text};
use super::openapi::requests::BULK;
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::api::bulk;
use crate::api::bulk::{Action, MAX_CHANGED};
use crate::api::list::Wanted;
use crate::api::whose::Whose;
use crate::app::App;

pub(super) async fn bulk(app: &App, request: &Request) -> Routed {
    let (caller, body) = (request.caller()?, request.small_object()?);
    let owner = caller.named_owner(&body).map_err(|problem| Problem::invalid(vec![problem]));
    let (_, action, (tag, workflow_id), cursor, dry_run, owner) = (
        only(&body, &BULK),
        action(&body),
        which(&body),
        text(&body, "cursor").and_then(|cursor| cursor.map(|c| named("cursor", c)).transpose()),
        optional_flag(&body, "dry_run"),
        owner,
    )
        .all()?;
    let wanted = Wanted {
        status: None,
        workflow_id,
        tag,
        recent: 0,
        whose: owner.map_or(Whose::Own, |owner| Whose::Of(owner.to_owned())),
        limit: MAX_CHANGED,
        cursor,
    };
    Ok(Answer::json(200, &bulk::bulk(app, caller, wanted, action, dry_run).await?))
}

fn action(body: &Value) -> Result<Action, Problem> {
    let pauses = match (&body["action"], body["action"].as_str()) {
        (_, Some("pause")) => Ok(true),
        (_, Some("resume")) => Ok(false),
        (Value::Null, _) => Err(Problem::invalid(vec![Invalid::required("action")])),
        _ => Err(Problem::field("action", "must be pause or resume")),
    };
    let note = match (&pauses, optional_text(body, "note")) {
        (Ok(false), Ok(Some(_))) => Err(Problem::field("note", "is for pause")),
        (_, note) => note,
    };
    let catchup = match (&pauses, optional_catchup(body)) {
        (Ok(true), Ok(Some(_))) => Err(Problem::field("catchup", "is for resume")),
        (_, catchup) => catchup,
    };
    let (pauses, note, catchup) = (pauses, note, catchup).all()?;
    Ok(if pauses { Action::Pause { note } } else { Action::Resume { catchup } })
}

/// The tag and the workflow that are asked for, of which there must be one: an empty request must not
/// stop everything.
fn which(body: &Value) -> Result<(Option<String>, Option<WorkflowId>), Problem> {
    let workflow_id = text(body, "workflow_id");
    let workflow_id = workflow_id.and_then(|id| id.map(|id| named("workflow_id", id)).transpose());
    match (text(body, "tag"), workflow_id).all()? {
        (None, None) => {
            let problem = Invalid::new("tag", "or workflow_id must be given");
            Err(Problem::invalid(vec![problem.coded(Code::Required)]))
        }
        (tag, workflow_id) => Ok((tag.map(str::to_owned), workflow_id)),
    }
}

fn text<'a>(body: &'a Value, field: &str) -> Result<Option<&'a str>, Problem> {
    match &body[field] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text)),
        _ => Err(Problem::field(field, "must be a text")),
    }
}
