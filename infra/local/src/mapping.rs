//! Event source mappings: deliver a queue's messages to a function as Lambda does, and delete the
//! messages that the function processed.

use std::collections::HashSet;
use std::sync::Arc;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{DeleteMessageBatchRequestEntry, Message, MessageSystemAttributeName};
use belfry_engine::cloud::launch_queue::MAX_FIRES;
use belfry_engine::cloud::message::{Named, read};
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tracing::{error, warn};

use crate::functions::{Function, Functions};
use crate::services::REGION;

/// Messages per batch.
const MESSAGES: usize = 10;
/// Launches in a full batch.
const BATCH: usize = MESSAGES * MAX_FIRES;
/// Concurrent launches: the template's 50 launchers, each with a full batch.
const LAUNCHES: usize = 50 * BATCH;
/// File descriptors that many launches may need, most of them connections to their targets.
const FILES: u64 = 20_000;
/// A limit on open files that a process has on every system.
const FEWEST_FILES: u64 = 1_024;
/// Concurrent ticks, besides the rule's own.
const TICKS: usize = 4;
/// The longest wait SQS allows in a poll.
const LONG_POLL_S: i32 = 20;

/// A queue and the function that receives its messages.
#[derive(Clone)]
pub struct Mapping {
    client: Client,
    queue_url: String,
    functions: Functions,
    function: Function,
}

impl Mapping {
    /// A mapping from `queue_url` to the launcher.
    pub fn new(client: Client, queue_url: &str, functions: Functions) -> Mapping {
        let queue_url = queue_url.to_owned();
        Mapping { client, queue_url, functions, function: Function::Launcher }
    }

    /// A mapping from the tick queue to the tick.
    pub fn of_ticks(client: Client, queue_url: &str, functions: Functions) -> Mapping {
        Mapping { function: Function::Tick, ..Mapping::new(client, queue_url, functions) }
    }

    /// Delivers messages to the function for ever.
    pub async fn run(self) {
        let room = self.room();
        loop {
            let Some((messages, permit)) = self.receive_into(&room).await else { continue };
            let mapping = self.clone();
            tokio::spawn(async move {
                mapping.deliver(messages).await;
                drop(permit);
            });
        }
    }

    /// Permits for concurrent work: ticks have a fixed number, launches as many as the limit on open
    /// files allows.
    pub fn room(&self) -> Arc<Semaphore> {
        if self.function == Function::Tick {
            return Arc::new(Semaphore::new(TICKS));
        }
        let files = rlimit::increase_nofile_limit(FILES).unwrap_or(FEWEST_FILES);
        // The other descriptors are left to the embedded services.
        let launches = usize::try_from(files / 8 * 5).unwrap_or(LAUNCHES);
        Arc::new(Semaphore::new(launches.clamp(BATCH, LAUNCHES)))
    }

    /// Waits for a free permit, receives, and takes as many permits as the messages need.
    pub async fn receive_into(
        &self,
        room: &Arc<Semaphore>,
    ) -> Option<(Vec<Message>, OwnedSemaphorePermit)> {
        let is_tick = self.function == Function::Tick;
        let most = if is_tick { 1 } else { BATCH };
        let mut permit = room.clone().acquire_many_owned(most as u32).await.ok()?;
        let messages = self.receive(LONG_POLL_S).await;
        let fires = |message: &Message| match read::<Named>(message.body().unwrap_or_default()) {
            Ok(fires) => fires.len(),
            Err(_) => 1,
        };
        let needed = if is_tick { messages.len() } else { messages.iter().map(fires).sum() };
        let needed = permit.split(needed.min(permit.num_permits()))?;
        (!messages.is_empty()).then_some((messages, needed))
    }

    /// Receives the available messages, waiting up to `wait_s` seconds for the first.
    pub async fn receive(&self, wait_s: i32) -> Vec<Message> {
        // A hand-over is the work of a whole invocation, so one message is a batch.
        let most = if self.function == Function::Tick { 1 } else { MESSAGES };
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.queue_url)
            .max_number_of_messages(most as i32)
            .wait_time_seconds(wait_s)
            .message_system_attribute_names(MessageSystemAttributeName::All)
            .send()
            .await;
        match answer {
            Ok(answer) => answer.messages.unwrap_or_default(),
            Err(problem) => {
                error!(problem = %DisplayErrorContext(&problem), "queue receive failed");
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                Vec::new()
            }
        }
    }

    /// Invokes the function with `messages` and deletes those that the answer does not report as
    /// failed.
    pub async fn deliver(&self, messages: Vec<Message>) {
        match self.functions.invoke(self.function, event(&self.queue_url, &messages)).await {
            Ok(answer) => self.delete(&messages, &answer).await,
            // The invocation failed: all messages return when their visibility timeout ends.
            Err(problem) => {
                error!(function = self.function.name(), %problem, "function invocation failed");
            }
        }
    }

    /// Deletes the messages that the function's answer does not report as failed.
    pub async fn delete(&self, messages: &[Message], answer: &Value) {
        let keep = failed(answer);
        let mut request = self.client.delete_message_batch().queue_url(&self.queue_url);
        let mut any = false;
        for (place, message) in messages.iter().enumerate() {
            if message.message_id().is_some_and(|id| keep.contains(id)) {
                continue;
            }
            let entry = DeleteMessageBatchRequestEntry::builder()
                .id(place.to_string())
                .receipt_handle(message.receipt_handle().unwrap_or_default())
                .build();
            if let Ok(entry) = entry {
                request = request.entries(entry);
                any = true;
            }
        }
        if any && let Err(problem) = request.send().await {
            warn!(problem = %DisplayErrorContext(&problem), "message delete failed");
        }
    }
}

fn failed(answer: &Value) -> HashSet<String> {
    let failures = answer["batchItemFailures"].as_array().into_iter().flatten();
    failures.filter_map(|f| f["itemIdentifier"].as_str().map(str::to_owned)).collect()
}

/// The event Lambda makes of a queue's `messages`.
pub fn event(queue_url: &str, messages: &[Message]) -> Value {
    let queue = queue_url.rsplit('/').next().unwrap_or_default();
    let record = |message: &Message| {
        let attributes: Map<_, _> = message
            .attributes()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str().to_owned(), json!(value)))
            .collect();
        json!({
            "messageId": message.message_id(),
            "receiptHandle": message.receipt_handle(),
            "body": message.body(),
            "attributes": attributes,
            "messageAttributes": {},
            "md5OfBody": message.md5_of_body(),
            "eventSource": "aws:sqs",
            "eventSourceARN": format!("arn:aws:sqs:{REGION}:000000000000:{queue}"),
            "awsRegion": REGION,
        })
    };
    json!({"Records": messages.iter().map(record).collect::<Vec<_>>()})
}
