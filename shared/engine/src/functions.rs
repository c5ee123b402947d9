//! The handlers of the functions: an event in, an answer out. The binaries and the local system
//! call these handlers and nothing else.

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
use crate::fault::place_of;
use crate::fires::emit::Report;
use crate::{launcher, recovery, resource, tick};

/// Handles an event of the minute rule or a batch of the tick queue. The content of the rule's
/// event does not matter: a tick that is late works with the present time. The caller kills the
/// tick at `deadline`.
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
            // Nothing is lost: the rule's next tick finds the work that this message named.
            Err(problem) => {
                let problem = place_of(&problem);
                error!(problem, bytes = body.len(), "hand-over dropped: unreadable message");
            }
        }
    }
    let mut answer = told(&report);
    // No message comes again: the rule's next tick retries what failed.
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

/// The deadline of an invocation, from the milliseconds since the epoch that Lambda reports. An
/// impossible value is replaced by the shortest time that the template gives a function.
pub fn deadline(app: &App, told_ms: u64) -> Instant {
    let now = app.now();
    let told = i64::try_from(told_ms).ok().and_then(Instant::from_timestamp_millis);
    let is_possible = |at: &Instant| *at > now && *at < now + LONGEST_INVOCATION;
    told.filter(is_possible).unwrap_or(now + SHORTEST_INVOCATION)
}

/// Lambda allows no longer invocation.
const LONGEST_INVOCATION: Duration = Duration::minutes(15);
/// The template gives the tick no shorter time.
const SHORTEST_INVOCATION: Duration = Duration::seconds(30);

/// Handles a batch of the launch queue.
pub async fn launcher(app: &App, event: Value) -> Handled {
    let event: SqsEvent = serde_json::from_value(event)?;
    Ok(serde_json::to_value(launcher::launch_batch(app, event).await)?)
}

/// Handles an event of recovery's minute rule.
pub async fn recovery(app: &App, _event: Value) -> Handled {
    Ok(serde_json::to_value(recovery::recover(app, app.now()).await)?)
}

/// Handles a request of the HTTP API.
pub async fn api(app: &App, event: Value) -> Handled {
    let answer = match serde_json::from_value::<ApiGatewayV2httpRequest>(event) {
        Ok(event) => http::handle(app, event).await,
        // The gateway makes the event. What is wrong in it came from the caller: a header or a
        // method.
        Err(problem) => http::refuse_unreadable(&problem),
    };
    // Other functions publish what they tallied with their own metrics; most requests have none.
    app.count(&[]);
    Ok(serde_json::to_value(answer)?)
}

/// Handles a request of a CloudFormation stack; `deadline` is when the invocation ends. A function
/// that could not start answers too, because a stack without an answer waits for an hour.
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
