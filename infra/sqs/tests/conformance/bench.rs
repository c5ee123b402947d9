//! The test bench: a client, the endpoint behind it, and a way to let time pass there.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName, QueueAttributeName};
use belfry_sqs::{Sqs, serve};
use belfry_time::ManualTime;
use chrono::TimeDelta;
use tokio::net::TcpListener;

pub(crate) struct Bench {
    pub(crate) client: Client,
    /// The endpoint's clock, if the test can move it.
    pub(crate) clock: Option<ManualTime>,
}

impl Bench {
    /// The embedded endpoint with its clock at noon, or the endpoint that the environment names.
    pub(crate) async fn start() -> Self {
        match other_endpoint() {
            Some(endpoint) => Self { client: client(&endpoint), clock: None },
            None => Self::embedded().await,
        }
    }

    /// The embedded endpoint; `None` if the environment names another one.
    pub(crate) async fn start_with_clock() -> Option<(Self, ManualTime)> {
        let bench = Self::start().await;
        let clock = bench.clock.clone()?;
        Some((bench, clock))
    }

    async fn embedded() -> Self {
        let clock = ManualTime::at("2026-01-01T12:00:00Z".parse().unwrap());
        let sqs = Sqs::memory(clock.clone()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(serve(listener, sqs, std::future::pending()));
        Self { client: client(&endpoint), clock: Some(clock) }
    }

    /// Lets this much time pass at the endpoint.
    pub(crate) async fn pass(&self, time: TimeDelta) {
        match &self.clock {
            Some(clock) => clock.advance(time),
            None => tokio::time::sleep(time.to_std().unwrap()).await,
        }
    }

    /// Returns when a poll is waiting.
    pub(crate) async fn until_polling(&self) {
        match &self.clock {
            Some(clock) => clock.until_sleeping(1).await,
            None => tokio::time::sleep(Duration::from_millis(500)).await,
        }
    }

    /// A new queue; its URL.
    pub(crate) async fn queue(&self, attributes: &[(QueueAttributeName, &str)]) -> String {
        let attributes: HashMap<_, _> =
            attributes.iter().map(|(name, value)| (name.clone(), (*value).to_owned())).collect();
        let request = self.client.create_queue().queue_name(fresh_name());
        let made = request.set_attributes(Some(attributes)).send().await.unwrap();
        made.queue_url.unwrap()
    }

    /// A queue, and its dead-letter queue, which receives its messages after `receives` deliveries.
    pub(crate) async fn queue_with_dead_letters(&self, receives: u32) -> (String, String) {
        let dead = self.queue(&[]).await;
        let arn = self.attribute(&dead, QueueAttributeName::QueueArn).await;
        let policy = redrive_policy(&arn, &receives.to_string());
        let visibility = (QueueAttributeName::VisibilityTimeout, "1");
        let queue = self.queue(&[visibility, (QueueAttributeName::RedrivePolicy, &policy)]).await;
        (queue, dead)
    }

    pub(crate) async fn attribute(&self, queue: &str, name: QueueAttributeName) -> String {
        let request = self.client.get_queue_attributes().queue_url(queue);
        let all = request.attribute_names(name.clone()).send().await.unwrap();
        all.attributes.and_then(|mut all| all.remove(&name)).unwrap_or_default()
    }

    /// The counts of visible, in-flight and delayed messages.
    pub(crate) async fn counts(&self, queue: &str) -> [u32; 3] {
        let mut counts = [0; 3];
        let names = [
            QueueAttributeName::ApproximateNumberOfMessages,
            QueueAttributeName::ApproximateNumberOfMessagesNotVisible,
            QueueAttributeName::ApproximateNumberOfMessagesDelayed,
        ];
        for (count, name) in counts.iter_mut().zip(names) {
            *count = self.attribute(queue, name).await.parse().unwrap();
        }
        counts
    }

    pub(crate) async fn send(&self, queue: &str, body: &str) {
        self.client.send_message().queue_url(queue).message_body(body).send().await.unwrap();
    }

    pub(crate) async fn send_delayed(&self, queue: &str, body: &str, seconds: i32) {
        let request = self.client.send_message().queue_url(queue).message_body(body);
        request.delay_seconds(seconds).send().await.unwrap();
    }

    /// Receives up to ten messages with all their attributes, without waiting.
    pub(crate) async fn receive(&self, queue: &str) -> Vec<Message> {
        let request = self.client.receive_message().queue_url(queue).max_number_of_messages(10);
        let request = request.message_system_attribute_names(MessageSystemAttributeName::All);
        let request = request.message_attribute_names("All");
        request.send().await.unwrap().messages.unwrap_or_default()
    }

    pub(crate) async fn receive_one(&self, queue: &str) -> Message {
        let mut messages = self.receive(queue).await;
        assert_eq!(messages.len(), 1, "one message expected, got {messages:?}");
        messages.remove(0)
    }

    pub(crate) async fn bodies(&self, queue: &str) -> Vec<String> {
        self.receive(queue).await.into_iter().filter_map(|message| message.body).collect()
    }

    pub(crate) async fn delete(&self, queue: &str, message: &Message) {
        let request = self.client.delete_message().queue_url(queue);
        request.receipt_handle(handle(message)).send().await.unwrap();
    }
}

pub(crate) fn client(endpoint: &str) -> Client {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::from_keys("test", "test", None))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        // A refusal must be seen, not retried.
        .retry_config(RetryConfig::disabled())
        .build();
    Client::from_conf(config)
}

/// A foreign endpoint outlives this run, so names must differ from those of earlier runs.
pub(crate) fn fresh_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("queue-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn redrive_policy(arn: &str, count: &str) -> String {
    format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":{count}}}"#)
}

pub(crate) fn handle(message: &Message) -> &str {
    message.receipt_handle().unwrap()
}

/// A system attribute of a message.
pub(crate) fn told<'a>(message: &'a Message, name: &MessageSystemAttributeName) -> Option<&'a str> {
    message.attributes().and_then(|all| all.get(name)).map(String::as_str)
}

/// The code of a refusal.
#[track_caller]
pub(crate) fn code<T: std::fmt::Debug, E: ProvideErrorMetadata + std::fmt::Debug>(
    outcome: Result<T, SdkError<E>>,
) -> String {
    outcome.unwrap_err().code().unwrap_or_default().to_owned()
}

#[expect(clippy::disallowed_methods, reason = "the operator chooses which endpoint to test")]
fn other_endpoint() -> Option<String> {
    std::env::var("BELFRY_SQS_ENDPOINT").ok()
}
