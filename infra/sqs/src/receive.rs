//! Receiving: messages are delivered in the order they became visible, as far as that is fair, and
//! a poll waits for the first.
//!
//! As on AWS, two things happen only when a receiver reaches the message: a message older than its
//! retention is deleted, and one received too often is moved to the dead-letter queue.

use chrono::{DateTime, TimeDelta};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::content::{self, Attributes};
use crate::fair::{self, Turns};
use crate::messages::{self, Message};
use crate::queues::{self, Queue};
use crate::receipt::Receipt;
use crate::refusal::Refusal;
use crate::settings::{MAX_VISIBILITY_SECONDS, MAX_WAIT_SECONDS};
use crate::sqs::{Call, name_in_url};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ReceiveMessage {
    queue_url: Option<String>,
    max_number_of_messages: Option<i64>,
    visibility_timeout: Option<i64>,
    wait_time_seconds: Option<i64>,
    /// The older name of the next field.
    attribute_names: Option<Vec<String>>,
    message_system_attribute_names: Option<Vec<String>>,
    message_attribute_names: Option<Vec<String>>,
}

const MAX_MESSAGES: i64 = 10;

/// All calls come from the same caller.
const SENDER: &str = "AIDAIENQZJOLO23YVJ4VO";

/// `ReceiveMessage`.
pub(crate) async fn receive(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: ReceiveMessage = call.request()?;
    request.check()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let shared = call.shared();
    let mut deadline = None;
    loop {
        let bell = shared.wakes.bell(name);
        let rung = bell.notified();
        tokio::pin!(rung);
        rung.as_mut().enable();

        let now = shared.clock.now();
        let attempt = shared.store.write(|store| {
            let queue = queues::find(store, name)?;
            attempt(store, &shared.turns, &queue, &request, now.timestamp_millis())
        })?;
        if let Some(target) = &attempt.buried_in {
            shared.wakes.ring(target);
        }
        if !attempt.taken.is_empty() {
            let messages: Vec<Value> = attempt
                .taken
                .iter()
                .map(|(receipt, message)| request.render(call, *receipt, message))
                .collect();
            return Ok(json!({ "Messages": messages }));
        }
        if attempt.dropped_some {
            // Deliverable messages may wait behind the expired and buried ones. Look again in a new
            // transaction, so that other calls can use the store in between.
            tokio::task::yield_now().await;
            continue;
        }
        let deadline = *deadline.get_or_insert(now + TimeDelta::seconds(attempt.wait_seconds));
        if now >= deadline {
            return Ok(json!({}));
        }
        let next = attempt.next_visible_at.and_then(DateTime::from_timestamp_millis);
        let until = next.map_or(deadline, |next| next.min(deadline));
        tokio::select! {
            () = rung => {}
            () = shared.clock.sleep_until(until) => {}
        }
    }
}

/// The result of one look into the queue.
struct Attempt {
    taken: Vec<(Receipt, Message)>,
    /// The dead-letter queue, if a message moved there.
    buried_in: Option<String>,
    /// Whether messages expired or moved, so that the look may have missed deliverable ones.
    dropped_some: bool,
    next_visible_at: Option<i64>,
    wait_seconds: i64,
}

/// What to do with a message that a receiver reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Deliver,
    Bury,
    Expire,
}

fn attempt(
    store: &Connection,
    turns: &Turns,
    queue: &Queue,
    request: &ReceiveMessage,
    now: i64,
) -> Result<Attempt, Refusal> {
    let settings = &queue.settings;
    let redrive = settings.redrive();
    // If the dead-letter queue was deleted, the policy has no effect: messages stay where they can
    // be found.
    let target = match &redrive {
        Some(redrive) => queues::find_optional(store, &redrive.target)?,
        None => None,
    };
    let limit = redrive.as_ref().filter(|_| target.is_some()).map(|it| it.max_receives);
    let visibility = request.visibility_timeout.unwrap_or_else(|| settings.visibility_seconds());
    let most = request.max_number_of_messages.unwrap_or(1);

    let mut attempt = Attempt {
        taken: Vec::new(),
        buried_in: None,
        dropped_some: false,
        next_visible_at: None,
        wait_seconds: request.wait_time_seconds.unwrap_or_else(|| settings.wait_seconds()),
    };
    for mut message in fair::receivable(store, turns, queue.id, now, most)? {
        match fate(&message, settings.retention_seconds(), limit, now) {
            Fate::Deliver => {
                messages::take(store, message.seq, now, now + visibility * 1000)?;
                message.receives += 1;
                message.first_received_at.get_or_insert(now);
                let receipt =
                    Receipt { queue: queue.id, seq: message.seq, receives: message.receives };
                attempt.taken.push((receipt, message));
            }
            Fate::Bury => {
                if let Some(target) = &target {
                    messages::bury(store, message.seq, target.id, &queue.name, now)?;
                    attempt.buried_in = Some(target.name.clone());
                }
                attempt.dropped_some = true;
            }
            Fate::Expire => {
                messages::delete(store, message.seq)?;
                attempt.dropped_some = true;
            }
        }
    }
    if attempt.taken.is_empty() {
        attempt.next_visible_at = messages::next_visible_at(store, queue.id, now)?;
    }
    Ok(attempt)
}

fn fate(message: &Message, retention_seconds: i64, limit: Option<i64>, now: i64) -> Fate {
    if message.sent_at + retention_seconds * 1000 <= now {
        Fate::Expire
    } else if limit.is_some_and(|limit| message.receives_here >= limit) {
        Fate::Bury
    } else {
        Fate::Deliver
    }
}

impl ReceiveMessage {
    fn check(&self) -> Result<(), Refusal> {
        let check = |name, value: Option<i64>, least, most, reason: String| match value {
            Some(value) if !(least..=most).contains(&value) => {
                Err(Refusal::parameter_invalid(name, &value, &reason))
            }
            _ => Ok(()),
        };
        check(
            "MaxNumberOfMessages",
            self.max_number_of_messages,
            1,
            MAX_MESSAGES,
            format!("Must be between 1 and {MAX_MESSAGES}, if provided."),
        )?;
        check(
            "VisibilityTimeout",
            self.visibility_timeout,
            0,
            MAX_VISIBILITY_SECONDS,
            format!("Must be between 0 and {MAX_VISIBILITY_SECONDS}, if provided."),
        )?;
        check(
            "WaitTimeSeconds",
            self.wait_time_seconds,
            0,
            MAX_WAIT_SECONDS,
            format!("Must be >= 0 and <= {MAX_WAIT_SECONDS}, if provided."),
        )
    }

    /// The message in the form its receiver gets.
    fn render(&self, call: &Call<'_>, receipt: Receipt, message: &Message) -> Value {
        let mut rendered = json!({
            "MessageId": Message::id(message.seq),
            "ReceiptHandle": receipt.to_handle(),
            "MD5OfBody": content::digest_of_body(&message.body),
            "Body": message.body,
        });
        let system: serde_json::Map<String, Value> = system_attributes(call, message)
            .into_iter()
            .filter(|(name, _)| self.asks_for_system(name))
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        if !system.is_empty() {
            rendered["Attributes"] = Value::Object(system);
        }
        let mut attributes: Attributes = message
            .attributes
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        attributes.retain(|name, _| self.asks_for(name));
        if let Some(digest) = content::digest_of_attributes(&attributes) {
            rendered["MessageAttributes"] = json!(attributes);
            rendered["MD5OfMessageAttributes"] = json!(digest);
        }
        rendered
    }

    fn asks_for_system(&self, name: &str) -> bool {
        [&self.attribute_names, &self.message_system_attribute_names]
            .into_iter()
            .flatten()
            .flatten()
            .any(|asked| asked == "All" || asked == name)
    }

    /// By name, by `prefix.*`, or all.
    fn asks_for(&self, name: &str) -> bool {
        self.message_attribute_names.iter().flatten().any(|asked| {
            asked == "All"
                || asked == name
                || asked.strip_suffix(".*").is_some_and(|prefix| name.starts_with(prefix))
        })
    }
}

fn system_attributes(call: &Call<'_>, message: &Message) -> Vec<(&'static str, String)> {
    let known = [
        ("SenderId", Some(SENDER.to_owned())),
        ("SentTimestamp", Some(message.sent_at.to_string())),
        ("ApproximateReceiveCount", Some(message.receives.to_string())),
        ("ApproximateFirstReceiveTimestamp", message.first_received_at.map(|at| at.to_string())),
        ("MessageGroupId", message.group_id.clone()),
        ("AWSTraceHeader", message.trace.clone()),
        (
            "DeadLetterQueueSourceArn",
            message.dead_letter_source.as_deref().map(|name| call.arn_of(name)),
        ),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_comes_before_burial_and_burial_before_delivery() {
        #[track_caller]
        fn check(age_ms: i64, receives_here: i64, limit: Option<i64>, expected: Fate) {
            let message = Message {
                seq: 1,
                sent_at: 0,
                first_received_at: None,
                receives: 99,
                receives_here,
                dead_letter_source: None,
                group_id: None,
                trace: None,
                attributes: None,
                body: String::new(),
            };
            assert_eq!(fate(&message, 60, limit, age_ms), expected);
        }
        check(0, 0, None, Fate::Deliver);
        check(0, 99, None, Fate::Deliver);
        check(0, 2, Some(3), Fate::Deliver);
        check(0, 3, Some(3), Fate::Bury);
        check(59_999, 3, Some(3), Fate::Bury);
        check(60_000, 3, Some(3), Fate::Expire);
        check(60_000, 0, None, Fate::Expire);
    }
}
