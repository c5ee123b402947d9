//! The functions' handlers: an event in, an answer out. The binaries and the local system call
//! these and nothing else.

use std::fmt::Display;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::sqs::SqsEvent;
use belfry_core::instant::Instant;
use belfry_core::tick::share::HandOver;
use chrono::Duration;
use serde_json::{Value, json};
use tracing::error;

use crate::api::http;
use crate::app::{App, reachable_from_environment};
pub use crate::fault::Handled;
use crate::fires::emit::Report;
use crate::{launcher, recovery, resource, tick};

/// Handles the minute rule's event, whose content does not matter (a late tick looks at the present),
/// or a batch of the tick queue. Whoever calls kills it at `deadline`.
pub async fn tick(app: &App, event: Value, deadline: Instant) -> Handled {
    if event.get("Records").is_none() {
        return Ok(told(&Box::pin(tick::tick(app, app.now(), deadline)).await));
    }
    let event: SqsEvent = serde_json::from_value(event)?;
    let mut report = Report::default();
    for record in event.records {
        let body = record.body.unwrap_or_default();
        match serde_json::from_str::<HandOver>(&body) {
            Ok(work) => {
                report.add(Box::pin(tick::take_over(app, work, app.now(), deadline)).await);
            }
            // Whatever it was to name, the rule's next tick finds.
            Err(problem) => error!(%problem, body, "unreadable hand-over dropped"),
        }
    }
    let mut answer = told(&report);
    // None is to come again: what failed, the rule's next tick takes up.
    answer["batchItemFailures"] = json!([]);
    Ok(answer)
}

fn told(report: &Report) -> Value {
    json!({
        "due": report.due,
        "emitted": report.emitted,
        "resent": report.resent,
        "skipped": report.skipped,
        "failed": report.failed,
        "handed_over": report.handed_over,
        "left": report.left,
    })
}

/// The deadline Lambda tells an invocation, in milliseconds of the epoch. One that cannot be is
/// taken for the shortest the template gives.
pub fn deadline(app: &App, told_ms: u64) -> Instant {
    let now = app.now();
    let told = i64::try_from(told_ms).ok().and_then(Instant::from_timestamp_millis);
    let is_possible = |at: &Instant| *at > now && *at < now + LONGEST_INVOCATION;
    told.filter(is_possible).unwrap_or(now + SHORTEST_INVOCATION)
}

/// Lambda gives no more.
const LONGEST_INVOCATION: Duration = Duration::minutes(15);
/// The tick gets no less.
const SHORTEST_INVOCATION: Duration = Duration::seconds(30);

/// Handles a batch of the launch queue.
pub async fn launcher(app: &App, event: Value) -> Handled {
    let event: SqsEvent = serde_json::from_value(event)?;
    Ok(serde_json::to_value(launcher::launch_batch(app, event).await)?)
}

/// Handles recovery's rule.
pub async fn recovery(app: &App, _event: Value) -> Handled {
    Ok(serde_json::to_value(recovery::recover(app, app.now()).await)?)
}

/// Handles a request of the HTTP API.
pub async fn api(app: &App, event: Value) -> Handled {
    let answer = match serde_json::from_value::<ApiGatewayV2httpRequest>(event) {
        Ok(event) => http::handle(app, event).await,
        // The gateway makes the event; what is wrong with it, its caller sent: a header, a method.
        Err(problem) => http::refuse_unreadable(&problem),
    };
    Ok(serde_json::to_value(answer)?)
}

/// Handles a request of a CloudFormation stack; `deadline` is when the invocation ends. A function
/// that could not start answers too: a stack waits for an hour otherwise.
pub async fn resource(
    app: Result<&App, &impl Display>,
    event: Value,
    deadline: Instant,
) -> Handled {
    match app {
        Ok(app) => resource::resource(app, &event, deadline).await,
        Err(problem) => resource::unavailable(problem, &reachable_from_environment(), &event).await,
    }
}
