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
use super::schedules::{Done, change, remove, replace, saved, tagged};
use crate::api::list;
use crate::app::App;

pub(super) async fn get(app: &App, request: &Request) -> Routed {
    let node = TriggerNode::known(request)?.node;
    let (schedule, revision) = list::one(app, request.caller()?, &known_schedule(request)?).await?;
    let mut schedule = object(&schedule);
    let stats = schedule.get("stats").cloned().unwrap_or_default();
    // An older release did not store the node.
    schedule.insert("trigger_node_id".to_owned(), json!(node));
    with_other_names(&mut schedule, &stats);
    Ok(tagged(Answer::json(200, &schedule), revision))
}

pub(super) async fn put(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::named(request);
    let (body, agrees) = complete(trigger.as_ref().ok(), request.json()?, false);
    let owner = owner_in(request, &body)?;
    let id = (trigger, agrees).all().map(|(trigger, ())| trigger.schedule_of(owner));
    answer(app, request, replace(app, request, id, &body).await?).await
}

pub(super) async fn patch(app: &App, request: &Request) -> Routed {
    let trigger = TriggerNode::known(request)?;
    let (body, agrees) = complete(Some(&trigger), request.json()?, true);
    let id = trigger.schedule_of(owner_in(request, &body)?);
    let done = match change(app, request, &id, &body, agrees).await {
        // It was not looked for in the name of another user.
        Err(problem) if !problem.is_of_fields() => {
            let wrong = request.caller()?.named_owner(&body).err();
            return Err(wrong.map_or(problem, |wrong| Problem::invalid(vec![wrong])));
        }
        done => done?,
    };
    answer(app, request, done).await
}

/// The answer to a save, which has the names that the answer to a read has.
async fn answer(app: &App, request: &Request, done: Done) -> Routed {
    let mut saving = match done {
        Done::Saved(saving) => saving,
        Done::Previewed(answer) => return Ok(answer),
    };
    if let Value::Object(schedule) = &mut saving.schedule
        && let Some(id) = schedule.get("schedule_id").and_then(Value::as_str)
        && let Ok(id) = id.parse()
    {
        let (read, _) = list::one(app, request.caller()?, &id).await?;
        with_other_names(schedule, &read.0["stats"]);
    }
    Ok(saved(&saving))
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

/// The owner that a body names, or the caller. A name that is wrong is refused with the rest of the
/// body.
fn owner_in<'a>(request: &'a Request, body: &'a Value) -> Result<&'a str, Problem> {
    let caller = request.caller()?;
    Ok(caller.named_owner(body).ok().flatten().unwrap_or(&caller.sub))
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
}

/// A body with the workflow and the node of the path, and whether it names no others. If the path
/// is wrong, any names stand for its own, so that the rest of the body can be read.
fn complete(
    path: Option<&TriggerNode>,
    mut body: Value,
    is_patch: bool,
) -> (Value, Result<(), Problem>) {
    let Some(fields) = body.as_object_mut() else { return (body, Ok(())) };
    let name = |of: fn(&TriggerNode) -> Value| path.map_or_else(|| json!("any"), of);
    let own = [
        ("workflow_id", name(|path| json!(path.workflow_id))),
        ("trigger_node_id", name(|path| json!(path.node))),
    ];
    let mut problems = Vec::new();
    for (name, value) in own {
        match fields.get(name) {
            Some(given) if *given == value || path.is_none() => {}
            Some(_) => problems.push(Invalid::new(name, "is another than the path's")),
            None if is_patch && name == "workflow_id" => {}
            None => {
                fields.insert(name.to_owned(), value);
            }
        }
    }
    let agrees = if problems.is_empty() { Ok(()) } else { Err(Problem::invalid(problems)) };
    (body, agrees)
}

/// The schedule with the names that the sources of the trigger route have for what it has anyway.
fn with_other_names(schedule: &mut Map<String, Value>, stats: &Value) {
    let copy = |from: &Map<String, Value>, name: &str| from.get(name).cloned().unwrap_or_default();
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
