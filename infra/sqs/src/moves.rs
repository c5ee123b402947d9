//! Moves: sends a dead-letter queue's messages back to their source, or to another queue.
//!
//! A move is complete when its call returns. The requested rate is stored but not applied: on one
//! machine a burst harms no receiver.

use rusqlite::{Connection, Row, params};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::messages;
use crate::queues::{self, Queue};
use crate::refusal::{Kind, Refusal};
use crate::sqs::{Call, name_in_arn};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StartMessageMoveTask {
    source_arn: Option<String>,
    destination_arn: Option<String>,
    max_number_of_messages_per_second: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListMessageMoveTasks {
    source_arn: Option<String>,
    max_results: Option<i64>,
}

const MAX_RATE: i64 = 500;
const MAX_RESULTS: i64 = 10;

/// Messages moved per commit; other calls can use the store between commits.
const STEP: i64 = 100;

/// AWS's failure reason for a message that was sent to the dead-letter queue directly, or whose
/// source queue is deleted.
const NO_SOURCE: &str = "CouldNotDetermineMessageSource";

/// `StartMessageMoveTask`.
pub(crate) fn start(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: StartMessageMoveTask = call.request()?;
    let rate = request.max_number_of_messages_per_second;
    if let Some(rate) = rate.filter(|rate| !(1..=MAX_RATE).contains(rate)) {
        let name = "MaxNumberOfMessagesPerSecond";
        let reason = format!("Must be between 1 and {MAX_RATE}, if provided.");
        return Err(Refusal::parameter_invalid(name, &rate, &reason));
    }
    let now = call.now_ms();
    let store = &call.shared().store;
    let (source, destination, to_move) = store.read(|store| {
        let source = by_arn(store, "SourceArn", request.source_arn.as_deref())?;
        if queues::sources_of(store, &source.name)?.is_empty() {
            let message = "Source queue must be configured as a Dead Letter Queue.";
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        let destination = match &request.destination_arn {
            Some(arn) => Some(by_arn(store, "DestinationArn", Some(arn))?),
            None => None,
        };
        let to_move = messages::count(store, source.id, now)?.visible;
        Ok((source, destination, to_move))
    })?;

    let mut moved = 0;
    let mut failure = None;
    while moved < to_move && failure.is_none() {
        let most = STEP.min(to_move - moved);
        let step =
            store.write(|store| move_some(store, &source, destination.as_ref(), most, now))?;
        for queue in &step.reached {
            call.shared().wakes.ring(queue);
        }
        moved += step.moved;
        failure = step.failure;
        if step.moved == 0 {
            // A receiver took the remaining messages first.
            break;
        }
    }
    let task =
        store.write(|store| note(store, &request, &source, [now, moved, to_move], failure))?;
    Ok(json!({ "TaskHandle": handle(task) }))
}

/// `ListMessageMoveTasks`, latest first.
pub(crate) fn list(call: &Call<'_>) -> Result<Value, Refusal> {
    const SELECT: &str = "SELECT id, destination, rate, started_at, moved, to_move, failure
        FROM move_tasks WHERE source = ? ORDER BY id DESC LIMIT ?";
    let request: ListMessageMoveTasks = call.request()?;
    let most = request.max_results.unwrap_or(1);
    if !(1..=MAX_RESULTS).contains(&most) {
        let reason = format!("Value for parameter MaxResults must be between 1 and {MAX_RESULTS}.");
        return Err(Refusal::parameter_invalid("MaxResults", &most, &reason));
    }
    call.shared().store.read(|store| {
        let source = by_arn(store, "SourceArn", request.source_arn.as_deref())?;
        let source_arn = call.arn_of(&source.name);
        let mut statement = store.prepare_cached(SELECT)?;
        let tasks: Vec<Value> = statement
            .query_map(params![source.name, most], |row| render(row, &source_arn))?
            .collect::<Result<_, _>>()?;
        Ok(json!({ "Results": tasks }))
    })
}

/// The result of one commit of a move.
struct Step {
    moved: i64,
    reached: Vec<String>,
    failure: Option<&'static str>,
}

fn move_some(
    store: &Connection,
    source: &Queue,
    destination: Option<&Queue>,
    most: i64,
    now: i64,
) -> Result<Step, Refusal> {
    let mut step = Step { moved: 0, reached: Vec::new(), failure: None };
    for message in messages::receivable(store, source.id, now, most)? {
        let origin = match (destination, &message.dead_letter_source) {
            (None, Some(name)) => queues::find_optional(store, name)?,
            _ => None,
        };
        let Some(target) = destination.or(origin.as_ref()) else {
            step.failure = Some(NO_SOURCE);
            break;
        };
        messages::resend(store, message.seq, target.id, now)?;
        step.moved += 1;
        if !step.reached.contains(&target.name) {
            step.reached.push(target.name.clone());
        }
    }
    Ok(step)
}

fn note(
    store: &Connection,
    request: &StartMessageMoveTask,
    source: &Queue,
    [started_at, moved, to_move]: [i64; 3],
    failure: Option<&str>,
) -> Result<i64, Refusal> {
    const INSERT: &str = "INSERT INTO move_tasks
        (source, destination, rate, started_at, moved, to_move, failure)
        VALUES (?, ?, ?, ?, ?, ?, ?)";
    store.prepare_cached(INSERT)?.execute(params![
        source.name,
        request.destination_arn,
        request.max_number_of_messages_per_second,
        started_at,
        moved,
        to_move,
        failure
    ])?;
    Ok(store.last_insert_rowid())
}

fn render(row: &Row<'_>, source_arn: &str) -> rusqlite::Result<Value> {
    let failure: Option<String> = row.get("failure")?;
    let mut task = json!({
        "Status": if failure.is_some() { "FAILED" } else { "COMPLETED" },
        "SourceArn": source_arn,
        "StartedTimestamp": row.get::<_, i64>("started_at")?,
        "ApproximateNumberOfMessagesMoved": row.get::<_, i64>("moved")?,
        "ApproximateNumberOfMessagesToMove": row.get::<_, i64>("to_move")?,
    });
    if let Some(destination) = row.get::<_, Option<String>>("destination")? {
        task["DestinationArn"] = json!(destination);
    }
    if let Some(rate) = row.get::<_, Option<i64>>("rate")? {
        task["MaxNumberOfMessagesPerSecond"] = json!(rate);
    }
    if let Some(failure) = failure {
        task["FailureReason"] = json!(failure);
    }
    Ok(task)
}

fn handle(task: i64) -> String {
    messages::uuid(&format!("move {task}"))
}

fn by_arn(store: &Connection, parameter: &str, arn: Option<&str>) -> Result<Queue, Refusal> {
    let arn = arn.ok_or_else(|| Refusal::parameter_missing(parameter))?;
    let name = name_in_arn(arn).ok_or_else(|| {
        let message = format!(
            "You must use this format to specify the {parameter}: arn:aws:sqs:region:account:name"
        );
        Refusal::new(Kind::InvalidParameterValue, message)
    })?;
    let queue = queues::find_optional(store, name)?;
    queue.ok_or_else(|| {
        let message =
            format!("The resource that you specified for the {parameter} parameter doesn't exist.");
        Refusal::new(Kind::ResourceNotFound, message)
    })
}
