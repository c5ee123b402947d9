//! The queues of a simulated life: batches that fail in part, messages that come twice, late or not
//! at all, and the pollers between them and the functions.

use std::collections::HashSet;
use std::sync::Arc;

use belfry_engine::app::App;
use belfry_local::services::REGION;
use serde_json::{Value, json};

use super::clock::pass;
use super::invocation::Function;
use super::wire::Reply;
use super::{NOWHERE, Sim};

/// Longer than a launcher's lease on a run.
const VISIBILITY_S: i64 = 90;
/// SQS refuses longer delays.
const MAX_DELAY_S: i64 = 900;

/// Sends a batch as an unreliable queue does.
pub(super) async fn send(sim: &Sim, body: &Value) -> Reply {
    let to = body["QueueUrl"].as_str().unwrap_or_default().to_owned();
    let nowhere = queue_url(NOWHERE);
    let mut failed = Vec::new();
    let (mut good, mut lost, mut again) = (Vec::new(), Vec::new(), Vec::new());
    for entry in body["Entries"].as_array().into_iter().flatten() {
        sim.note_sent(entry);
        let mut entry = entry.clone();
        let mut dice = sim.dice();
        let mut faults = sim.faults();
        let (fails, loses, delays, doubles) =
            (faults.failed_entry, faults.lost, faults.late, faults.duplicate);
        if faults.strikes(&mut dice, fails) {
            let id = &entry["Id"];
            failed.push(json!({
                "Id": id, "SenderFault": false, "Code": "InternalError", "Message": "this entry failed",
            }));
            continue;
        }
        let later = |entry: &mut Value, by: i64| {
            let delay = entry["DelaySeconds"].as_i64().unwrap_or(0) + by;
            entry["DelaySeconds"] = json!(delay.clamp(0, MAX_DELAY_S));
        };
        if faults.strikes(&mut dice, doubles) {
            let mut copy = entry.clone();
            later(&mut copy, dice.between(-20, 180));
            again.push(copy);
        }
        if faults.strikes(&mut dice, delays) {
            later(&mut entry, dice.between(1, 150));
        }
        if faults.strikes(&mut dice, loses) { lost.push(entry) } else { good.push(entry) }
    }
    let mut successful = Vec::new();
    for (queue, entries) in [(&to, good), (&nowhere, lost), (&to, again.clone())] {
        if entries.is_empty() {
            continue;
        }
        let is_copy = entries == again;
        let batch = json!({"QueueUrl": queue, "Entries": entries});
        let reply = sim.sqs("SendMessageBatch", &batch).await;
        if reply.status != 200 {
            return reply;
        }
        if !is_copy {
            successful.extend(reply.body["Successful"].as_array().cloned().unwrap_or_default());
        }
    }
    Reply { status: 200, body: json!({"Successful": successful, "Failed": failed}) }
}

/// The URL of a queue.
pub(super) fn queue_url(queue: &str) -> String {
    format!("http://sim/000000000000/{queue}")
}

/// Delivers messages of a queue to a function for ever, as Lambda's event source mapping does.
pub(super) async fn poll(sim: Arc<Sim>, app: Arc<App>, queue: &'static str, function: Function) {
    let url = queue_url(queue);
    loop {
        let (most, visibility) = {
            let mut dice = sim.dice();
            let mut faults = sim.faults();
            let rate = faults.lost_visibility;
            let short = faults.strikes(&mut dice, rate);
            let visibility = if short { dice.between(1, 20) } else { VISIBILITY_S };
            (dice.between(1, 10), visibility)
        };
        let request = json!({
            "QueueUrl": url, "MaxNumberOfMessages": most,
            "WaitTimeSeconds": 20, "VisibilityTimeout": visibility,
            "MessageSystemAttributeNames": ["All"],
        });
        let reply = sim.sqs("ReceiveMessage", &request).await;
        let Some(messages) = reply.body["Messages"].as_array() else { continue };
        let mut messages = messages.clone();
        sim.dice().shuffle(&mut messages);
        let records: Vec<_> = messages.iter().map(|message| record(queue, message)).collect();
        let event = json!({"Records": records});
        let Ok(answer) = sim.invoke(&app, function, event).await else {
            let rest = sim.dice().between(10, 2_000);
            pass(rest).await;
            continue;
        };
        let kept = failures(&answer);
        for message in &messages {
            let id = message["MessageId"].as_str().unwrap_or_default();
            let is_lost = {
                let mut faults = sim.faults();
                let rate = faults.lost_deletion;
                faults.strikes(&mut sim.dice(), rate)
            };
            if !kept.contains(id) && !is_lost {
                let request = json!({
                    "QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"],
                });
                sim.sqs("DeleteMessage", &request).await;
            }
        }
    }
}

fn failures(answer: &Value) -> HashSet<String> {
    let failures = answer["batchItemFailures"].as_array().into_iter().flatten();
    failures.filter_map(|f| f["itemIdentifier"].as_str().map(str::to_owned)).collect()
}

fn record(queue: &str, message: &Value) -> Value {
    json!({
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
        "messageAttributes": {},
        "md5OfBody": message["MD5OfBody"],
        "eventSource": "aws:sqs",
        "eventSourceARN": format!("arn:aws:sqs:{REGION}:000000000000:{queue}"),
        "awsRegion": REGION,
    })
}
