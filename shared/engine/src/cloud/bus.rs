//! The event bus: events about runs and schedules on EventBridge, so that alerts and chains need no
//! polling.
//!
//! The record is written first, and the event is published after it. An event that cannot be
//! published is logged and changes nothing: the record is what counts.

use aws_config::SdkConfig;
use belfry_core::id::RunId;
use belfry_core::instant;
use belfry_core::run::{Reason, Status};
use serde_json::{Value, json};
use tracing::warn;

use crate::cloud::gather::{Answers, Gather};
use crate::cloud::signed::{Call, Client, PUT_EVENTS};
use crate::fault::in_words;
use crate::settings::Settings;

/// The `source` of every event.
pub const SOURCE: &str = "belfry";
/// PutEvents takes no more entries.
const MAX_BATCH: usize = 10;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's `detail-type`.
    pub kind: &'static str,
    /// The event's `detail`.
    pub detail: Value,
}

impl Event {
    /// The event of a run that reached this status.
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

/// The event bus, or none if the deployment has none.
pub struct Events {
    client: Client,
    bus: Option<String>,
}

impl Events {
    /// The bus that the settings name.
    pub fn new(sdk: &SdkConfig, settings: &Settings) -> Events {
        let bus = Some(settings.event_bus.clone()).filter(|bus| !bus.is_empty());
        Events { client: Client::new(&PUT_EVENTS, sdk), bus }
    }

    /// A batch that the launches of one invocation share.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch(self.bus.is_some().then(|| Gather::of(News(self))))
    }

    /// Publishes events.
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
                        warn!(failed, "events not published");
                    }
                }
                Err(problem) => {
                    let problem = in_words(&problem);
                    warn!(events = batch.len(), %problem, "events not published");
                }
            }
        }
    }
}

/// Events of the launches of one invocation, published together.
pub(crate) struct Batch<'a>(Option<Gather<News<'a>>>);

impl Batch<'_> {
    /// Publishes events, if there is a bus, in one call with those of other launches that come at
    /// the same time.
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
    /// Launches whose events go into one call; each has one or two events.
    const MAX: usize = 25;

    async fn answer(&self, events: Vec<Vec<Event>>) -> Vec<()> {
        let told = vec![(); events.len()];
        self.0.tell(&events.concat()).await;
        told
    }
}
