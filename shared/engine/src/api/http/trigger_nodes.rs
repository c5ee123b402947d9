//! A schedule addressed by workflow and trigger node: the same resource under another name.

use belfry_core::id::{NodeId, ScheduleId, WorkflowId};
use serde_json::{Value, json};

use super::input::named;
use super::problem::{Problem, Routed};
use super::request::Request;
use super::schedules::{change, remove, replace, show};
use crate::app::App;

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    show(app, request, &TriggerNode::known(request)?.schedule_id(request)?).await
}

pub(super) async fn put(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::named(request)?;
    let body = trigger.complete(request.json()?, false)?;
    replace(app, request, &trigger.schedule_id(request)?, &body).await
}

pub(super) async fn patch(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::known(request)?;
    let body = trigger.complete(request.json()?, true)?;
    change(app, request, &trigger.schedule_id(request)?, &body).await
}

pub(super) async fn delete(app: &App, request: &Request) -> Routed {
    remove(app, request, &TriggerNode::known(request)?.schedule_id(request)?).await
}

/// The trigger that a path names.
struct TriggerNode {
    workflow_id: WorkflowId,
    node: NodeId,
}

impl TriggerNode {
    /// Reads the path of a schedule that may be new: bad names are the caller's mistake.
    fn named(request: &Request) -> Result<TriggerNode, Problem> {
        Ok(TriggerNode {
            workflow_id: named("workflow_id", request.path("workflow_id"))?,
            node: named("node_id", request.path("node_id"))?,
        })
    }

    /// Reads the path of a schedule that should exist: bad names name nothing.
    fn known(request: &Request) -> Result<TriggerNode, Problem> {
        TriggerNode::named(request).map_err(|_| Problem::not_found("schedule"))
    }

    /// The one schedule the caller may have at this trigger.
    fn schedule_id(&self, request: &Request) -> Result<ScheduleId, Problem> {
        let owner = &request.caller()?.sub;
        Ok(ScheduleId::of_trigger(owner, &self.workflow_id, &self.node))
    }

    /// A body with the workflow of the path; it may not name another, or none.
    fn complete(&self, mut body: Value, is_patch: bool) -> Result<Value, Problem> {
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        match fields.get("workflow_id") {
            None if is_patch => {}
            None => {
                fields.insert("workflow_id".to_owned(), json!(self.workflow_id));
            }
            Some(given) if *given == json!(self.workflow_id) => {}
            Some(_) => {
                return Err(Problem::field("workflow_id", "is another than the path's"));
            }
        }
        Ok(body)
    }
}
