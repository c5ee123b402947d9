//! A schedule addressed by workflow and trigger node: the same resource under another name.

use belfry_core::guard::access::Scope;
use belfry_core::id::{NodeId, ScheduleId, WorkflowId};
use belfry_core::invalid::Invalid;
use belfry_core::schedule::definition::object;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::input::{All, named};
use super::problem::{Problem, Routed};
use super::request::Request;
use super::schedules::{change, remove, replace, tagged};
use crate::api::list;
use crate::app::App;

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let node = TriggerNode::known(request)?.node;
    let (schedule, revision) = list::one(app, request.caller()?, &known_schedule(request)?).await?;
    let mut schedule = object(&schedule);
    // An older release did not store the node.
    schedule.insert("trigger_node_id".to_owned(), json!(node));
    with_other_names(&mut schedule);
    Ok(tagged(Answer::json(200, &schedule), revision))
}

pub(super) async fn put(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::named(request)?;
    let body = trigger.complete(request.json()?, false)?;
    replace(app, request, &trigger.schedule_of(owner_in(request, &body)?), &body).await
}

pub(super) async fn patch(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::known(request)?;
    let body = trigger.complete(request.json()?, true)?;
    change(app, request, &trigger.schedule_of(owner_in(request, &body)?), &body).await
}

pub(super) async fn delete(app: &App, request: &Request) -> Routed {
    remove(app, request, &known_schedule(request)?).await
}

/// The schedule of a path that should exist: the caller's, or that of the owner in the query.
fn known_schedule(request: &Request) -> Result<ScheduleId, Problem> {
    let caller = request.caller()?;
    let owner = request.query("user_id").unwrap_or(&caller.sub);
    if !caller.acts_for(owner) {
        return Err(Problem::forbidden(Scope::Admin));
    }
    Ok(TriggerNode::known(request)?.schedule_of(owner))
}

/// The owner that a body names, or the caller.
fn owner_in<'a>(request: &'a Request, body: &'a Value) -> Result<&'a str, Problem> {
    let caller = request.caller()?;
    let named = caller.named_owner(body).map_err(|problem| Problem::invalid(vec![problem]))?;
    Ok(named.unwrap_or(&caller.sub))
}

/// The trigger that a path names.
struct TriggerNode {
    workflow_id: WorkflowId,
    node: NodeId,
}

impl TriggerNode {
    /// Reads the path of a schedule that may be new: bad names are the caller's mistake.
    fn named(request: &Request) -> Result<TriggerNode, Problem> {
        let (workflow_id, node) = (
            named("workflow_id", request.path("workflow_id")),
            named("node_id", request.path("node_id")),
        )
            .all()?;
        Ok(TriggerNode { workflow_id, node })
    }

    /// Reads the path of a schedule that should exist: bad names name nothing.
    fn known(request: &Request) -> Result<TriggerNode, Problem> {
        TriggerNode::named(request).map_err(|_| Problem::not_found("schedule"))
    }

    /// The one schedule an owner may have at this trigger.
    fn schedule_of(&self, owner: &str) -> ScheduleId {
        ScheduleId::of_trigger(owner, &self.workflow_id, &self.node)
    }

    /// A body with the workflow and the node of the path; it may not name others.
    fn complete(&self, mut body: Value, is_patch: bool) -> Result<Value, Problem> {
        let Some(fields) = body.as_object_mut() else { return Ok(body) };
        let own = [("workflow_id", json!(self.workflow_id)), ("trigger_node_id", json!(self.node))];
        let mut problems = Vec::new();
        for (name, value) in own {
            match fields.get(name) {
                Some(given) if *given == value => {}
                Some(_) => problems.push(Invalid::new(name, "is another than the path's")),
                None if is_patch && name == "workflow_id" => {}
                None => {
                    fields.insert(name.to_owned(), value);
                }
            }
        }
        if problems.is_empty() { Ok(body) } else { Err(Problem::invalid(problems)) }
    }
}

/// The schedule with the names that the sources of the trigger route have for what it has anyway.
fn with_other_names(schedule: &mut Map<String, Value>) {
    let copy = |from: &Map<String, Value>, name: &str| from.get(name).cloned().unwrap_or_default();
    let stats = schedule.get("stats").cloned().unwrap_or_default();
    let count = |name: &str| stats[name].as_u64().unwrap_or_default();
    let others = [
        ("last_execution_time", copy(schedule, "last_run_at")),
        ("next_execution_time", copy(schedule, "next_run_at")),
        ("execution_count", json!(count("succeeded") + count("failed"))),
        ("failure_count", json!(count("failed"))),
    ];
    for (name, value) in others {
        schedule.entry(name).or_insert(value);
    }
}
