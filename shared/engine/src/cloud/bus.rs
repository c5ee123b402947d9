//! Events out: what happened to runs and schedules, put on an EventBridge bus, so that alerts and
//! chains need no polling.
//!
//! The record comes first and the event after it. An event that cannot be put is logged and counted,
//! and changes nothing: the record is the truth.

use aws_config::SdkConfig;
use aws_sdk_sqs::error::DisplayErrorContext;
use belfry_core::id::RunId;
use belfry_core::instant;
use belfry_core::run::{Reason, Status};
use serde_json::{Value, json};
use tracing::warn;

use crate::cloud::gather::{Answers, Gather};
use crate::cloud::signed::{Call, Client, PUT_EVENTS};
use crate::settings::Settings;

/// What every event's `source` is.
pub const SOURCE: &str = "belfry";
/// PutEvents takes no more.
const MAX_BATCH: usize = 10;

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's `detail-type`.
    pub kind: &'static str,
    /// The event's `detail`.
    pub detail: Value,
}

impl Event {
    /// A run came to this state.
    pub fn run(id: &RunId, status: Status, reason: Option<Reason>) -> Event {
        let kind = match (status, reason) {
            (Status::Success, _) => "run.succeeded",
            (Status::Failed, _) => "run.failed",
            (Status::Skipped, Some(Reason::Missed)) => "run.missed",
            (Status::Skipped, _) => "run.skipped",
            (Status::Abandoned, _) => "run.abandoned",
            (Status::Started, _) => "run.started",
            (Status::Enqueued | Status::Queued, _) => "run.waiting",
        };
        let detail = json!({
            "run_id": id,
            "schedule_id": id.schedule_id,
            "run_at": instant::text(id.run_at),
            "idempotency_key": id.idempotency_key(),
            "status": status,
            "reason": reason,
        });
        Event { kind, detail }
    }
}

/// The bus, if there is one.
pub struct Events {
    client: Client,
    bus: Option<String>,
}

impl Events {
    /// The bus of a deployment.
    pub fn new(sdk: &SdkConfig, settings: &Settings) -> Events {
        let bus = Some(settings.event_bus.clone()).filter(|bus| !bus.is_empty());
        Events { client: Client::new(&PUT_EVENTS, sdk), bus }
    }

    /// The bus as the launches of one invocation use it.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch(self.bus.is_some().then(|| Gather::of(News(self))))
    }

    /// Puts events on the bus.
    pub async fn tell(&self, events: &[Event]) {
        let Some(bus) = &self.bus else { return };
        for batch in events.chunks(MAX_BATCH) {
            let entries: Vec<_> = batch
                .iter()
                .map(|event| {
                    json!({
                        "EventBusName": bus,
                        "Source": SOURCE,
                        "DetailType": event.kind,
                        "Detail": event.detail.to_string(),
                    })
                })
                .collect();
            match self.client.call(Call::json(&json!({"Entries": entries}))).await {
                Ok(answer) => {
                    let failed = answer.body["FailedEntryCount"].as_i64().unwrap_or_default();
                    if failed > 0 {
                        warn!(failed, "events not put");
                    }
                }
                Err(problem) => {
                    let problem = DisplayErrorContext(problem);
                    warn!(events = batch.len(), %problem, "events not put");
                }
            }
        }
    }
}

/// The bus, told by the launches of one invocation together.
pub(crate) struct Batch<'a>(Option<Gather<News<'a>>>);

impl Batch<'_> {
    /// Puts events on the bus, if there is one, with those of other launches of this moment.
    pub(crate) async fn tell(&self, events: impl FnOnce() -> Vec<Event>) {
        let Some(news) = &self.0 else { return };
        let events = events();
        if !events.is_empty() {
            news.ask(events).await;
        }
    }
}

struct News<'a>(&'a Events);

impl Answers for News<'_> {
    type Question = Vec<Event>;
    type Answer = ();
    /// Launches that tell at once; each tells of one or two things.
    const MAX: usize = 25;

    async fn answer(&self, events: Vec<Vec<Event>>) -> Vec<()> {
        let told = vec![(); events.len()];
        self.0.tell(&events.concat()).await;
        told
    }
}
