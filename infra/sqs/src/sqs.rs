//! The endpoint without its transport: takes a call by name, returns a reply.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use belfry_time::Time;
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fair::Turns;
use crate::refusal::{Kind, Refusal};
use crate::store::{OpenError, Store};
use crate::wakes::Wakes;
use crate::{messages, moves, queues, receive, send, settle};

/// The account that owns every queue.
const ACCOUNT: &str = "000000000000";

const DEFAULT_REGION: &str = "us-east-1";

/// The queues of one machine. Clones share the same queues.
#[derive(Clone)]
pub struct Sqs {
    pub(crate) shared: Arc<Shared>,
    region: Arc<str>,
}

pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) clock: Box<dyn Time>,
    pub(crate) wakes: Wakes,
    pub(crate) turns: Turns,
    calls: AtomicU64,
}

/// An answer, for any transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(&'static str, String)>,
    /// A JSON document.
    pub body: Vec<u8>,
}

impl Sqs {
    /// The queues stored in the file at `path`, created if missing. Acknowledged messages survive
    /// the death of this process.
    pub fn open(path: &Path, clock: impl Time + 'static) -> Result<Self, OpenError> {
        Ok(Self::over(Store::open(path)?, clock))
    }

    /// Queues in memory, lost when this process ends.
    pub fn memory(clock: impl Time + 'static) -> Result<Self, OpenError> {
        Ok(Self::over(Store::memory()?, clock))
    }

    /// The same queues with ARNs of this region; default `us-east-1`.
    #[must_use]
    pub fn in_region(self, region: &str) -> Self {
        Self { region: region.into(), ..self }
    }

    /// Makes every received message receivable again: for a restart after the receivers died with
    /// the process.
    pub fn release_all(&self) -> Result<(), OpenError> {
        let now = self.shared.clock.now().timestamp_millis();
        self.shared.store.release_all(now)?;
        Ok(())
    }

    /// When the next message of a queue is receivable, so that a simulation can jump there.
    pub fn next_visible_at(&self, queue: &str) -> Result<Option<DateTime<Utc>>, OpenError> {
        let next = self.shared.store.next_visible_at(queue)?;
        Ok(next.and_then(DateTime::from_timestamp_millis))
    }

    /// Answers one call. `action` is the part of `X-Amz-Target` after the dot; `endpoint` is the
    /// URL the caller used, which begins the queue URLs in the answers.
    ///
    /// Only `ReceiveMessage` waits. Dropping this future while it waits takes no message.
    pub async fn handle(&self, action: &str, body: &[u8], endpoint: &str) -> Reply {
        let call = Call { sqs: self, body, endpoint: endpoint.trim_end_matches('/') };
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let mut reply = match answer(action, &call).await {
            Ok(result) => Reply::json(200, &result),
            Err(refusal) => refusal.into_reply(),
        };
        reply.headers.push(("x-amzn-requestid", messages::uuid(&format!("call {number}"))));
        reply
    }

    fn over(store: Store, clock: impl Time + 'static) -> Self {
        let shared = Shared {
            store,
            clock: Box::new(clock),
            wakes: Wakes::default(),
            turns: Turns::default(),
            calls: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared), region: DEFAULT_REGION.into() }
    }
}

impl fmt::Debug for Sqs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqs").field("region", &self.region).finish_non_exhaustive()
    }
}

impl Reply {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("content-type", "application/x-amz-json-1.0".to_owned())];
        Self { status, headers, body: body.to_string().into_bytes() }
    }
}

async fn answer(action: &str, call: &Call<'_>) -> Result<Value, Refusal> {
    match action {
        "ChangeMessageVisibility" => settle::change_visibility(call),
        "ChangeMessageVisibilityBatch" => settle::change_visibility_batch(call),
        "CreateQueue" => queues::create(call),
        "DeleteMessage" => settle::delete(call),
        "DeleteMessageBatch" => settle::delete_batch(call),
        "DeleteQueue" => queues::delete(call),
        "GetQueueAttributes" => queues::attributes(call),
        "GetQueueUrl" => queues::url(call),
        "ListDeadLetterSourceQueues" => queues::dead_letter_sources(call),
        "ListMessageMoveTasks" => moves::list(call),
        "ListQueueTags" => queues::tags(call),
        "ListQueues" => queues::list(call),
        "PurgeQueue" => queues::purge(call),
        "ReceiveMessage" => receive::receive(call).await,
        "SendMessage" => send::send(call),
        "SendMessageBatch" => send::send_batch(call),
        "SetQueueAttributes" => queues::set_attributes(call),
        "StartMessageMoveTask" => moves::start(call),
        "TagQueue" => queues::tag(call),
        "UntagQueue" => queues::untag(call),
        _ => {
            let message = format!("The action {action} is not valid for this endpoint.");
            Err(Refusal::new(Kind::InvalidAction, message))
        }
    }
}

/// A call in progress.
pub(crate) struct Call<'a> {
    pub(crate) sqs: &'a Sqs,
    body: &'a [u8],
    endpoint: &'a str,
}

impl Call<'_> {
    /// The request, parsed as the action's type.
    pub(crate) fn request<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let body = if self.body.is_empty() { b"{}" } else { self.body };
        // By way of a value: flattened fields cannot read numbers from the text itself.
        serde_json::from_slice::<Value>(body)
            .and_then(serde_json::from_value)
            .map_err(|error| Refusal::new(Kind::Serialization, error.to_string()))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.sqs.shared
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.shared().clock.now().timestamp_millis()
    }

    pub(crate) fn url_of(&self, queue: &str) -> String {
        format!("{}/{ACCOUNT}/{queue}", self.endpoint)
    }

    pub(crate) fn arn_of(&self, queue: &str) -> String {
        format!("arn:aws:sqs:{}:{ACCOUNT}:{queue}", self.sqs.region)
    }
}

/// The queue that a URL names. The host is ignored: a queue URL obtained under one name of this
/// machine works under every other.
pub(crate) fn name_in_url(url: Option<&str>) -> Result<&str, Refusal> {
    let url = url.ok_or_else(|| Refusal::parameter_missing("QueueUrl"))?;
    Ok(url.trim_end_matches('/').rsplit('/').next().unwrap_or(url))
}

/// The queue that an ARN names, if it is a queue's ARN.
pub(crate) fn name_in_arn(arn: &str) -> Option<&str> {
    let mut parts = arn.strip_prefix("arn:aws:sqs:")?.split(':');
    let (_region, _account, name) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && !name.is_empty()).then_some(name)
}
