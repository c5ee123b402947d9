//! The launcher: launches the runs that each message names, and applies the reports of executions
//! that have ended.

mod call;
mod handled;
mod launch;
mod limit;
mod preread;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use belfry_core::id::RunId;
use belfry_core::run::feedback::{Feedback, Kind};
use belfry_core::run::{Reason, Status};
use futures::StreamExt;
use futures::stream::FuturesOrdered;
use serde_json::Value;
use tracing::{error, info, warn};

use self::handled::{Handled, With};
use self::launch::{Delivered, launch};
use crate::app::App;
use crate::cloud::bus::{self, Event};
use crate::cloud::message::{self, Message};
use crate::cloud::store;
use crate::ending::feedback::{self, Heard};
use crate::fault::{Fault, Unreadable, place_of};
use crate::metrics::{self, Metric};

/// The attribute of a message that names its fair-queue group, which is the owner.
const GROUP: &str = "MessageGroupId";

/// The batches that the launches of one invocation share.
struct Batches<'a> {
    tables: store::Batch,
    bus: bus::Batch<'a>,
}

/// A message as SQS delivered it.
struct Delivery<'a> {
    message: &'a SqsMessage,
    id: &'a str,
    /// Whether the message names more than one fire.
    brings_several: bool,
}

/// Launches the runs of a batch concurrently. The answer names the messages that must be delivered
/// again; the queue deletes the others.
pub(crate) async fn launch_batch(app: &App, event: SqsEvent) -> SqsBatchResponse {
    let batches = &Batches { tables: app.store.batch(), bus: app.events.batch() };
    let handled = event.records.iter().map(|message| handle(app, batches, message));
    let handled = side_by_side(handled).await;
    let mut response = SqsBatchResponse::default();
    let mut report = Report::default();
    for (message, fires) in event.records.iter().zip(&handled) {
        fires.iter().for_each(|answer| report.count(answer));
        if fires.iter().any(needs_its_message) {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = message.message_id.clone().unwrap_or_default();
            response.batch_item_failures.push(failure);
        }
    }
    report.tell(app);
    response
}

/// Waits for all of `work`. Not by `join_all`, which polls all futures whenever one of them can
/// proceed.
async fn side_by_side<T>(work: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    // Boxed: the collection moves its futures several times, and the future of a launch is large.
    work.map(Box::pin).collect::<FuturesOrdered<_>>().collect().await
}

fn needs_its_message(answer: &Result<Handled, Fault>) -> bool {
    matches!(answer, Ok(Handled::Again { .. }) | Err(_))
}

/// The counts of one batch.
#[derive(Default)]
struct Report {
    launched: usize,
    skipped_overlap: usize,
    missed: usize,
    ended: usize,
    failed: usize,
    nothing: usize,
    again: usize,
    faults: usize,
    drift_ms: Vec<i64>,
}

impl Report {
    fn count(&mut self, answer: &Result<Handled, Fault>) {
        match answer {
            Ok(Handled::Launched { drift_ms, .. }) => {
                self.launched += 1;
                self.drift_ms.push(*drift_ms);
            }
            Ok(Handled::Ended(Reason::Overlap | Reason::QueueFull)) => self.skipped_overlap += 1,
            Ok(Handled::Ended(Reason::LaunchFailed | Reason::WorkflowMissing)) => self.failed += 1,
            Ok(Handled::Ended(Reason::Missed)) => self.missed += 1,
            Ok(Handled::Ended(_)) => self.ended += 1,
            Ok(Handled::Nothing(_)) => self.nothing += 1,
            Ok(Handled::Again { .. } | Handled::Apart) => self.again += 1,
            Err(_) => self.faults += 1,
        }
    }

    fn tell(&self, app: &App) {
        for _ in 0..self.missed {
            app.tally(metrics::RUNS_SKIPPED);
        }
        app.count(&[
            Metric::count(metrics::RUNS_LAUNCHED, self.launched),
            Metric::count(metrics::RUNS_SKIPPED_OVERLAP, self.skipped_overlap),
            Metric::count(metrics::RUNS_CANCELLED, self.ended),
            Metric::count(metrics::RUNS_FAILED_LAUNCH, self.failed),
            Metric::count(metrics::MESSAGES_IGNORED, self.nothing),
            Metric::count(metrics::MESSAGES_AGAIN, self.again),
            Metric::count(metrics::LAUNCHER_FAULTS, self.faults),
            Metric::millis(metrics::LAUNCH_DRIFT, &self.drift_ms),
        ]);
    }
}

/// Launches every fire of a message.
async fn handle(
    app: &App,
    batches: &Batches<'_>,
    message: &SqsMessage,
) -> Vec<Result<Handled, Fault>> {
    let body = message.body.as_deref().unwrap_or_default();
    let fires: Vec<Message> = match message::read(body) {
        Ok(fires) => fires,
        Err(problem) => return vec![hear(app, message, body, &problem).await],
    };
    let id = message.message_id.as_deref().unwrap_or_default();
    let delivery = &Delivery { message, id, brings_several: fires.len() > 1 };
    let handled = side_by_side(fires.iter().map(|fire| bring(app, batches, fire, delivery))).await;
    let after_s = |answer: &Result<Handled, Fault>| match answer {
        Ok(Handled::Again { after_s, .. }) => Some(*after_s),
        _ => None,
    };
    if let Some(after_s) = handled.iter().filter_map(after_s).max() {
        let receipt = message.receipt_handle.as_deref().unwrap_or_default();
        if let Err(fault) = app.queue.hide(receipt, after_s).await {
            // The message is delivered again all the same, when its visibility time-out is over.
            warn!(message_id = id, %fault, "message visibility not extended");
        }
    }
    handled
}

async fn bring(
    app: &App,
    batches: &Batches<'_>,
    fire: &Message,
    delivery: &Delivery<'_>,
) -> Result<Handled, Fault> {
    let delivered = Delivered { batch: &batches.tables, message: fire, holder: delivery.id };
    let handled = launch(app, &delivered).await;
    let run_id = &fire.run_id;
    if let Ok(handled) = &handled {
        batches.bus.tell(|| events(run_id, handled)).await;
    }
    match &handled {
        Ok(Handled::Launched { drift_ms, .. }) => info!(%run_id, drift_ms, "run launched"),
        Ok(Handled::Ended(reason)) => info!(%run_id, ?reason, "run not launched"),
        Ok(Handled::Nothing(why)) => info!(%run_id, why, "message ignored"),
        Ok(Handled::Again { after_s, why, with }) => {
            info!(%run_id, after_s, why, "message comes again");
            if delivery.brings_several && *with == With::AnyMessage {
                // A message of its own, so that the other fires neither wait for this one nor are
                // delivered again with it.
                let group = delivery.message.attributes.get(GROUP).map(String::as_str);
                app.queue.send_apart(fire, group, *after_s).await?;
                return Ok(Handled::Apart);
            }
        }
        Ok(Handled::Apart) => {}
        Err(fault) => error!(%run_id, %fault, "launch failed"),
    }
    handled
}

/// Handles a message that names no fires: an event about the end of an execution. A message that is
/// neither is poison.
async fn hear(
    app: &App,
    message: &SqsMessage,
    body: &str,
    problem: &serde_json::Error,
) -> Result<Handled, Fault> {
    let event: Value = serde_json::from_str(body).unwrap_or_default();
    if let Some(kind) = Kind::of(&event) {
        return match kind.read(&event) {
            Some((id, said)) => heard(app, &id, &said).await,
            None => Ok(Handled::Nothing("the event does not report the end of a run")),
        };
    }
    // The message can never succeed: the queue moves it to the dead letters, for a person to see.
    let problem = place_of(problem);
    error!(message_id = message.message_id, problem, "poison message");
    Err(Fault::new("read message", Unreadable(problem)))
}

async fn heard(app: &App, id: &RunId, said: &Feedback) -> Result<Handled, Fault> {
    let Some(run) = app.store.run(id).await? else {
        return Ok(Handled::Nothing("there is no such run"));
    };
    let why = match feedback::hear(app, &run, said).await? {
        Heard::Yes => "the executor reported the end",
        Heard::Before => "the end was known before",
        Heard::No(_) => "the run ended otherwise before",
    };
    info!(run_id = %id, why, "executor report applied");
    Ok(Handled::Nothing(why))
}

/// The events to publish for a fire that was handled.
fn events(id: &RunId, handled: &Handled) -> Vec<Event> {
    match handled {
        Handled::Launched { ended, .. } => [Some(Status::Started), *ended]
            .into_iter()
            .flatten()
            .map(|status| Event::run(id, status, None))
            .collect(),
        Handled::Ended(reason @ (Reason::LaunchFailed | Reason::WorkflowMissing)) => {
            vec![Event::run(id, Status::Failed, Some(*reason))]
        }
        Handled::Ended(reason) => vec![Event::run(id, Status::Skipped, Some(*reason))],
        Handled::Nothing(_) | Handled::Again { .. } | Handled::Apart => Vec::new(),
    }
}
