//! A workflow of a stack: every definition becomes a version, and versions stay.

use belfry_core::declare::resource::{Answer, Request};
use belfry_core::workflow::Workflow;
use serde_json::{Map, Value};

use super::caller;
use crate::app::App;
use crate::schedules::refusal::Refusal;
use crate::schedules::workflows;

/// How often publishing is tried: if two publishers take the same version number, the slower one
/// takes the next.
const TRIES: usize = 5;

/// Publishes the workflow that the properties describe, unless it is the newest version already.
/// After a rollback the former definition is published as a new version, so that schedules which
/// ask for the newest version get it.
pub(super) async fn publish(app: &App, request: &Request) -> Result<Answer, Refusal> {
    let (body, mut problems) = request.properties.workflow();
    let id = request.workflow_id().map_err(|problem| problems.push(problem));
    let caller = caller(app, request).map_err(|problem| problems.push(problem));
    let workflow = Workflow::parse(&body).map_err(|more| problems.extend(more));
    let (Ok(id), Ok(caller), Ok(workflow), []) = (id, caller, workflow, problems.as_slice()) else {
        return Err(Refusal::Invalid(problems));
    };
    for _ in 0..TRIES {
        // Read first: a version that is published in between is then the newest, or takes the number.
        let next = app.store.next_version(&id).await?;
        let version = match app.store.newest_workflow(&id).await? {
            Some((version, newest)) if newest == workflow => version,
            _ => next,
        };
        match workflows::publish(app, &caller, &id, version, &body).await {
            Ok(_) => {
                let attributes = Map::from_iter([
                    ("WorkflowId".to_owned(), Value::from(id.as_str())),
                    ("Version".to_owned(), Value::from(version.to_string())),
                    ("Owner".to_owned(), Value::from(caller.sub)),
                ]);
                return Ok(Answer::Done { physical_id: id.to_string(), attributes });
            }
            Err(Refusal::Conflict(_)) => {}
            Err(Refusal::NotFound(_)) => {
                let why = format!("workflow {id} is a name that cannot be used");
                return Err(Refusal::Conflict(why));
            }
            Err(refusal) => return Err(refusal),
        }
    }
    Err(Refusal::Conflict(format!("other callers keep publishing workflow {id}; try again")))
}
