//! Queues: create, find, describe, change, purge and delete.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE as BASE64;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::messages;
use crate::refusal::{Kind, Refusal};
use crate::settings::{self, Settings};
use crate::sqs::{Call, name_in_url};

/// A stored queue.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) settings: Settings,
    tags: String,
    created_at: i64,
    modified_at: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct CreateQueue {
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    /// The only parameter in lower case in the service model.
    #[serde(rename = "tags")]
    tags: Option<BTreeMap<String, String>>,
}

/// Every request that names one queue and little else.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OfQueue {
    queue_url: Option<String>,
    queue_name: Option<String>,
    attributes: Option<BTreeMap<String, String>>,
    attribute_names: Option<Vec<String>>,
    tags: Option<BTreeMap<String, String>>,
    tag_keys: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListQueues {
    queue_name_prefix: Option<String>,
    max_results: Option<usize>,
    next_token: Option<String>,
}

const MAX_NAME: usize = 80;
const MAX_LISTED: usize = 1000;

/// `CreateQueue`. Repeating it with the same attributes changes nothing.
pub(crate) fn create(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: CreateQueue = call.request()?;
    let name = request.queue_name.ok_or_else(|| Refusal::parameter_missing("QueueName"))?;
    check_name(&name)?;
    let asked = Settings::parse(&request.attributes.unwrap_or_default())?;
    let now = call.now_ms();
    call.shared().store.write(|store| {
        if let Some(queue) = find_optional(store, &name)? {
            return match queue.settings.contradicts(&asked) {
                None => Ok(()),
                Some(attribute) => {
                    let message = format!(
                        "A queue already exists with the same name and a different value for \
                         attribute {attribute}"
                    );
                    Err(Refusal::new(Kind::QueueNameExists, message))
                }
            };
        }
        check_redrive(store, &asked)?;
        const INSERT: &str = "INSERT INTO queues (name, settings, tags, created_at, modified_at)
            VALUES (?1, ?2, ?3, ?4, ?4)";
        let tags = json!(request.tags.unwrap_or_default()).to_string();
        store.execute(INSERT, params![name, asked.to_stored(), tags, now])?;
        Ok(())
    })?;
    Ok(json!({ "QueueUrl": call.url_of(&name) }))
}

/// `DeleteQueue`, including its messages.
pub(crate) fn delete(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    call.shared().store.write(|store| {
        let queue = find(store, name)?;
        messages::delete_all(store, queue.id)?;
        store.execute("DELETE FROM queues WHERE id = ?", [queue.id])?;
        Ok(())
    })?;
    // Wakes the waiting polls, which then find the queue deleted.
    call.shared().wakes.ring(name);
    Ok(json!({}))
}

/// `GetQueueUrl`.
pub(crate) fn url(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = request.queue_name.ok_or_else(|| Refusal::parameter_missing("QueueName"))?;
    let queue = call.shared().store.read(|store| find(store, &name))?;
    Ok(json!({ "QueueUrl": call.url_of(&queue.name) }))
}

/// `ListQueues`, in the order of names.
pub(crate) fn list(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: ListQueues = call.request()?;
    let prefix = request.queue_name_prefix.unwrap_or_default();
    let most = request.max_results.unwrap_or(MAX_LISTED);
    if !(1..=MAX_LISTED).contains(&most) {
        let reason = format!("Must be between 1 and {MAX_LISTED}, if provided.");
        return Err(Refusal::parameter_invalid("MaxResults", &most, &reason));
    }
    let after = request.next_token.map(|token| name_in_token(&token)).transpose()?;
    let names = call.shared().store.read(names)?;
    let mut names: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with(&prefix))
        .filter(|name| after.as_ref().is_none_or(|after| *name > after))
        .collect();
    let more = names.len() > most;
    names.truncate(most);
    let mut listed = json!({});
    if !names.is_empty() {
        listed["QueueUrls"] = names.iter().map(|name| call.url_of(name)).collect();
    }
    // The answer is paged only if the caller asked for pages.
    if let Some(last) = names.last().filter(|_| more && request.max_results.is_some()) {
        listed["NextToken"] = json!(BASE64.encode(last));
    }
    Ok(listed)
}

/// `ListDeadLetterSourceQueues`.
pub(crate) fn dead_letter_sources(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let sources = call.shared().store.read(|store| {
        let queue = find(store, name)?;
        sources_of(store, &queue.name)
    })?;
    let urls: Vec<String> = sources.iter().map(|name| call.url_of(name)).collect();
    Ok(json!({ "queueUrls": urls }))
}

/// `GetQueueAttributes`.
pub(crate) fn attributes(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let asked = request.attribute_names.unwrap_or_default();
    if let Some(unknown) = asked.iter().find(|name| !settings::is_attribute(name)) {
        let message = format!("Unknown Attribute {unknown}.");
        return Err(Refusal::new(Kind::InvalidAttributeName, message));
    }
    let now = call.now_ms();
    let (queue, counts) = call.shared().store.read(|store| {
        let queue = find(store, name)?;
        let counts = messages::count(store, queue.id, now)?;
        Ok((queue, counts))
    })?;
    let mut known = queue.settings.attributes();
    known.extend([
        ("QueueArn", call.arn_of(&queue.name)),
        ("CreatedTimestamp", (queue.created_at / 1000).to_string()),
        ("LastModifiedTimestamp", (queue.modified_at / 1000).to_string()),
        ("ApproximateNumberOfMessages", counts.visible.to_string()),
        ("ApproximateNumberOfMessagesNotVisible", counts.in_flight.to_string()),
        ("ApproximateNumberOfMessagesDelayed", counts.delayed.to_string()),
    ]);
    known.retain(|name, _| asked.iter().any(|asked| asked == "All" || asked == name));
    Ok(if known.is_empty() { json!({}) } else { json!({ "Attributes": known }) })
}

/// `SetQueueAttributes`.
pub(crate) fn set_attributes(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let given = request.attributes.ok_or_else(|| Refusal::parameter_missing("Attributes"))?;
    let now = call.now_ms();
    call.shared().store.write(|store| {
        let mut queue = find(store, name)?;
        queue.settings.change(&given)?;
        check_redrive(store, &queue.settings)?;
        const UPDATE: &str = "UPDATE queues SET settings = ?2, modified_at = ?3 WHERE id = ?1";
        store.execute(UPDATE, params![queue.id, queue.settings.to_stored(), now])?;
        Ok(())
    })?;
    Ok(json!({}))
}

/// `PurgeQueue`. AWS allows one a minute; there is no such limit here, so that tests may purge
/// often.
pub(crate) fn purge(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    call.shared().store.write(|store| {
        let queue = find(store, name)?;
        messages::delete_all(store, queue.id)
    })?;
    Ok(json!({}))
}

/// `TagQueue`.
pub(crate) fn tag(call: &Call<'_>) -> Result<Value, Refusal> {
    change_tags(call, |tags, request| tags.extend(request.tags.unwrap_or_default()))
}

/// `UntagQueue`.
pub(crate) fn untag(call: &Call<'_>) -> Result<Value, Refusal> {
    change_tags(call, |tags, request| {
        let gone = request.tag_keys.unwrap_or_default();
        tags.retain(|key, _| !gone.contains(key));
    })
}

/// `ListQueueTags`.
pub(crate) fn tags(call: &Call<'_>) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?;
    let queue = call.shared().store.read(|store| find(store, name))?;
    Ok(json!({ "Tags": queue.tags() }))
}

fn change_tags(
    call: &Call<'_>,
    change: impl FnOnce(&mut BTreeMap<String, String>, OfQueue),
) -> Result<Value, Refusal> {
    let request: OfQueue = call.request()?;
    let name = name_in_url(request.queue_url.as_deref())?.to_owned();
    call.shared().store.write(|store| {
        let queue = find(store, &name)?;
        let mut tags = queue.tags();
        change(&mut tags, request);
        const UPDATE: &str = "UPDATE queues SET tags = ?2 WHERE id = ?1";
        store.execute(UPDATE, params![queue.id, json!(tags).to_string()])?;
        Ok(())
    })?;
    Ok(json!({}))
}

impl Queue {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            settings: Settings::stored(row.get_ref(2)?.as_str()?),
            tags: row.get(3)?,
            created_at: row.get(4)?,
            modified_at: row.get(5)?,
        })
    }

    fn tags(&self) -> BTreeMap<String, String> {
        serde_json::from_str(&self.tags).unwrap_or_default()
    }
}

/// The queue of this name.
pub(crate) fn find(store: &Connection, name: &str) -> Result<Queue, Refusal> {
    find_optional(store, name)?.ok_or_else(Refusal::queue_missing)
}

/// The queue of this name, if there is one.
pub(crate) fn find_optional(store: &Connection, name: &str) -> Result<Option<Queue>, Refusal> {
    const SELECT: &str =
        "SELECT id, name, settings, tags, created_at, modified_at FROM queues WHERE name = ?";
    Ok(store.prepare_cached(SELECT)?.query_row([name], Queue::read).optional()?)
}

/// The queues whose dead letters go to this one.
pub(crate) fn sources_of(store: &Connection, target: &str) -> Result<Vec<String>, Refusal> {
    let mut sources = Vec::new();
    for name in names(store)? {
        let redrive = find(store, &name)?.settings.redrive();
        if redrive.is_some_and(|redrive| redrive.target == target) {
            sources.push(name);
        }
    }
    Ok(sources)
}

fn names(store: &Connection) -> Result<Vec<String>, Refusal> {
    let mut statement = store.prepare_cached("SELECT name FROM queues ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names)
}

fn check_name(name: &str) -> Result<(), Refusal> {
    if name.ends_with(".fifo") {
        return Err(settings::fifo());
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if (1..=MAX_NAME).contains(&name.len()) && name.chars().all(allowed) {
        return Ok(());
    }
    let message =
        "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length";
    Err(Refusal::new(Kind::InvalidParameterValue, message))
}

fn check_redrive(store: &Connection, settings: &Settings) -> Result<(), Refusal> {
    let Some(redrive) = settings.redrive() else { return Ok(()) };
    match find_optional(store, &redrive.target)? {
        Some(_) => Ok(()),
        None => {
            let policy = settings.attributes().remove("RedrivePolicy").unwrap_or_default();
            let reason = "Dead letter target does not exist.";
            Err(Refusal::parameter_invalid("RedrivePolicy", &policy, reason))
        }
    }
}

fn name_in_token(token: &str) -> Result<String, Refusal> {
    let name = BASE64.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    name.ok_or_else(|| Refusal::parameter_invalid("NextToken", &token, "Invalid token."))
}
