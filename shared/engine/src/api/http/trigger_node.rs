//! A schedule addressed by workflow and trigger node: the same resource under another name.

use belfry_core::id::{NodeId, ScheduleId, WorkflowId};
use serde_json::{Value, json};

use super::problem::Problem;
use super::request::Request;
use super::routes::named;

/// The trigger that a path names.
pub(super) struct TriggerNode {
    workflow_id: WorkflowId,
    node: NodeId,
}

impl TriggerNode {
    /// Reads the path of a schedule that may be new: bad names are the caller's mistake.
    pub(super) fn named(workflow_id: &str, node: &str) -> Result<TriggerNode, Problem> {
        Ok(TriggerNode {
            workflow_id: named("workflow_id", workflow_id)?,
            node: named("node_id", node)?,
        })
    }

    /// Reads the path of a schedule that should exist: bad names name nothing.
    pub(super) fn known(workflow_id: &str, node: &str) -> Result<TriggerNode, Problem> {
        TriggerNode::named(workflow_id, node).map_err(|_| Problem::not_found("schedule"))
    }

    /// The one schedule the caller may have at this trigger.
    pub(super) fn schedule_id(&self, request: &Request) -> Result<ScheduleId, Problem> {
        let owner = &request.caller()?.sub;
        Ok(ScheduleId::of_trigger(owner, &self.workflow_id, &self.node))
    }

    /// A body with the workflow of the path; it may not name another, or none.
    pub(super) fn complete(&self, mut body: Value, is_patch: bool) -> Result<Value, Problem> {
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
