//! Sending: checks a message, stores it and wakes the polls that wait for it.

use rusqlite::Connection;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::batch::{self, Batch, Outcomes};
use crate::content::{self, Attributes};
use crate::messages::{self, Message, NewMessage};
use crate::queues::{self, Queue};
use crate::refusal::{Kind, Refusal};
use crate::settings::{MAX_DELAY_SECONDS, MAX_MESSAGE_BYTES};
use crate::sqs::{Call, name_in_url};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SendMessage {
    queue_url: Option<String>,
    #[serde(flatten)]
    message: Outgoing,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Entry {
    #[serde(default)]
    id: String,
    #[serde(flatten)]
    message: Outgoing,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Outgoing {
    message_body: Option<String>,
    delay_seconds: Option<i64>,
    message_attributes: Option<Attributes>,
    message_system_attributes: Option<Attributes>,
    message_group_id: Option<String>,
    message_deduplication_id: Option<String>,
}

/// The only system attribute a sender may set.
const TRACE: &str = "AWSTraceHeader";
const MAX_GROUP_ID: usize = 128;

/// `SendMessage`.
pub(crate) fn send(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: SendMessage = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let now = call.now_ms();
    let sent = call.shared().store.write(|store| {
        let queue = queues::find(store, name)?;
        keep(store, &queue, &request.message, now)
    })?;
    call.shared().wakes.ring(name);
    Ok(sent)
}

/// `SendMessageBatch`: all valid entries are sent in one commit.
pub(crate) fn send_batch(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: Batch<Entry> = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let entries = request.entries.unwrap_or_default();
    let now = call.now_ms();
    let outcomes = call.shared().store.write(|store| {
        let queue = queues::find(store, name)?;
        let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        batch::check_ids(&ids, "SendMessageBatchRequestEntry")?;
        check_together(&entries)?;
        let mut outcomes = Outcomes::default();
        for Entry { id, message } in &entries {
            outcomes.note(id, keep(store, &queue, message, now))?;
        }
        Ok(outcomes)
    })?;
    call.shared().wakes.ring(name);
    Ok(outcomes.answer())
}

/// The answer to a request that is too large to be read.
pub(crate) fn too_long(action: &str, bytes: usize) -> Refusal {
    if action == "SendMessageBatch" {
        let message = format!(
            "Batch requests cannot be longer than {MAX_MESSAGE_BYTES} bytes. \
             You have sent {bytes} bytes."
        );
        return Refusal::new(Kind::BatchRequestTooLong, message);
    }
    longer_than(MAX_MESSAGE_BYTES)
}

fn check_together(entries: &[Entry]) -> Result<(), Refusal> {
    let weight = entries.iter().map(|entry| entry.message.weight()).sum();
    if weight > MAX_MESSAGE_BYTES {
        return Err(too_long("SendMessageBatch", weight));
    }
    Ok(())
}

fn longer_than(bytes: usize) -> Refusal {
    let message = format!(
        "One or more parameters are invalid. Reason: Message must be shorter than {bytes} bytes."
    );
    Refusal::new(Kind::InvalidParameterValue, message)
}

fn keep(store: &Connection, queue: &Queue, message: &Outgoing, now: i64) -> Result<Value, Refusal> {
    let body = message.check(queue)?;
    let delay = message.delay_seconds.unwrap_or_else(|| queue.settings.delay_seconds());
    let attributes = message.message_attributes.as_ref().filter(|all| !all.is_empty());
    let seq = messages::insert(
        store,
        queue.id,
        &NewMessage {
            body,
            attributes: attributes.map(|all| json!(all).to_string()),
            group_id: message.message_group_id.as_deref(),
            trace: message.trace(),
            sent_at: now,
            visible_at: now + delay * 1000,
        },
    )?;
    let mut sent = json!({
        "MessageId": Message::id(seq),
        "MD5OfMessageBody": content::digest_of_body(body),
    });
    if let Some(digest) = attributes.and_then(content::digest_of_attributes) {
        sent["MD5OfMessageAttributes"] = json!(digest);
    }
    let system = message.message_system_attributes.as_ref();
    if let Some(digest) = system.and_then(content::digest_of_attributes) {
        sent["MD5OfMessageSystemAttributes"] = json!(digest);
    }
    Ok(sent)
}

impl Outgoing {
    /// The body, if the message is valid for this queue.
    fn check(&self, queue: &Queue) -> Result<&str, Refusal> {
        let body = content::check_body(self.message_body.as_deref())?;
        if self.weight() > queue.settings.max_message_bytes() {
            return Err(longer_than(queue.settings.max_message_bytes()));
        }
        if let Some(delay) = self.delay_seconds
            && !(0..=MAX_DELAY_SECONDS).contains(&delay)
        {
            let reason = format!("DelaySeconds must be >= 0 and <= {MAX_DELAY_SECONDS}.");
            return Err(Refusal::parameter_invalid("DelaySeconds", &delay, &reason));
        }
        if self.message_deduplication_id.is_some() {
            let message = "The request include parameter that is not valid for this queue type.";
            return Err(Refusal::new(Kind::InvalidParameterValue, message));
        }
        // Standard queues accept group ids since fair queues exist: they spread receivers over
        // tenants.
        if let Some(group) = &self.message_group_id
            && !is_group_id(group)
        {
            let reason = "MessageGroupId can only include alphanumeric and punctuation characters. \
                          1 to 128 in length.";
            return Err(Refusal::parameter_invalid("MessageGroupId", &group, reason));
        }
        if let Some(attributes) = &self.message_attributes {
            content::check_attributes(attributes)?;
        }
        if let Some(system) = &self.message_system_attributes {
            content::check_attributes(system)?;
            if let Some(unknown) = system.keys().find(|name| *name != TRACE) {
                let message = format!("Message system attribute name '{unknown}' is invalid.");
                return Err(Refusal::new(Kind::InvalidParameterValue, message));
            }
        }
        Ok(body)
    }

    /// System attributes have no size: AWS does not count the trace header.
    fn weight(&self) -> usize {
        let none = Attributes::new();
        let attributes = self.message_attributes.as_ref().unwrap_or(&none);
        content::weight(self.message_body.as_deref().unwrap_or_default(), attributes)
    }

    fn trace(&self) -> Option<&str> {
        self.message_system_attributes.as_ref()?.get(TRACE)?.text()
    }
}

fn is_group_id(group: &str) -> bool {
    (1..=MAX_GROUP_ID).contains(&group.len())
        && group.chars().all(|c| c.is_ascii_alphanumeric() || c.is_ascii_punctuation())
}
