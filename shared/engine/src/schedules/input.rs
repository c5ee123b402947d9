//! Reading a request's body: the size of its payload, and the definition it holds.

use belfry_core::encoding::{is_shallow, too_deep};
use belfry_core::id::ScheduleId;
use belfry_core::invalid::{Code, Invalid};
use belfry_core::schedule::alert::Destination;
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::fields::{MAX_PAYLOAD, given};
use belfry_core::schedule::{Clock, Options};
use serde_json::Value;

use super::caller::Caller;
use super::refusal::Refusal;
use crate::app::App;
use crate::cloud::targets::url_problem;

pub(crate) fn payload(body: &Value) -> Option<&Value> {
    given(body, "payload")
}

/// Refuses a payload that does not fit into the messages and items that carry it, or is nested too
/// deep to be read again.
pub(crate) fn check_size(payload: Option<&Value>) -> Result<(), Refusal> {
    match payload {
        Some(payload) if payload.to_string().len() > MAX_PAYLOAD => {
            let message = format!("must be at most {MAX_PAYLOAD} bytes");
            Err(Refusal::TooLarge(Invalid::new("payload", message).coded(Code::TooLarge)))
        }
        Some(payload) if !is_shallow(payload) => Err(Refusal::invalid("payload", too_deep())),
        _ => Ok(()),
    }
}

/// The definition that a body holds, and the owner that it names, if it names one.
pub(crate) fn read<'a>(
    app: &App,
    caller: &Caller,
    body: &'a Value,
    id: &ScheduleId,
) -> Result<(Definition, Option<&'a str>), Refusal> {
    check_size(payload(body))?;
    let definition = Definition::parse(body, id, &app.settings.house);
    match (definition, caller.named_owner(body)) {
        (Ok(definition), Ok(owner)) => Ok((definition, owner)),
        (definition, owner) => {
            let problems = definition.err().into_iter().flatten();
            Err(Refusal::Invalid(problems.chain(owner.err()).collect()))
        }
    }
}

/// Refuses a destination of alerts that this deployment may not reach. One that a schedule had
/// before stays, so that the schedule can still be paused.
pub(crate) fn check_destination(
    app: &App,
    before: Option<&Options>,
    wanted: &Options,
) -> Result<(), Refusal> {
    match destination_problem(app, before, wanted) {
        Some(problem) => Err(Refusal::Invalid(vec![problem])),
        None => Ok(()),
    }
}

/// The same, as the problem itself.
pub(crate) fn destination_problem(
    app: &App,
    before: Option<&Options>,
    wanted: &Options,
) -> Option<Invalid> {
    match &wanted.alert_to {
        to if before.is_some_and(|before| before.alert_to == *to) => None,
        Some(Destination::Http { url }) => {
            let problem = url_problem(url, &app.settings.reachable)?;
            Some(Invalid::new("alert_to.url", problem))
        }
        _ => None,
    }
}

/// A definition changed by the patch that a body is, with every problem of the body.
pub(crate) fn patched(
    app: &App,
    caller: &Caller,
    body: &Value,
    clock: &Clock,
    old: &Definition,
) -> Result<Definition, Vec<Invalid>> {
    let owner = match caller.named_owner(body) {
        Ok(named) => owner_problem(named, &clock.owner),
        Err(problem) => Some(problem),
    };
    let new = old.patched(body, &clock.schedule_id, &app.settings.house);
    let moved = new.as_ref().ok().and_then(|new| moved_problem(old, new));
    match (new, owner.into_iter().chain(moved).collect::<Vec<_>>()) {
        (Ok(new), others) if others.is_empty() => Ok(new),
        (new, others) => Err(new.err().into_iter().flatten().chain(others).collect()),
    }
}

/// The schedule of a trigger node is found by its workflow and node: in another workflow, its path
/// would contradict it.
fn moved_problem(old: &Definition, new: &Definition) -> Option<Invalid> {
    let moves = old.options.trigger_node_id.is_some() && old.workflow_id != new.workflow_id;
    let message = "must stay: the schedule belongs to a trigger node of this workflow";
    moves.then(|| Invalid::new("workflow_id", message))
}

/// Refuses a body that names another owner than the schedule has.
pub(crate) fn check_owner(named: Option<&str>, owner: &str) -> Result<(), Refusal> {
    owner_problem(named, owner).map_or(Ok(()), |problem| Err(Refusal::Invalid(vec![problem])))
}

fn owner_problem(named: Option<&str>, owner: &str) -> Option<Invalid> {
    let message = "is not the owner of this schedule, which never changes";
    named.filter(|named| *named != owner).map(|_| Invalid::new("user_id", message))
}
