//! The functions' handlers: an event in, an answer out. The binaries and the local system call
//! these and nothing else.

use std::fmt::Display;

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::sqs::SqsEvent;
use belfry_core::instant::Instant;
use serde_json::{Value, json};

use crate::app::{App, reachable_from_environment};
use crate::{http, launch, recover, resource, tick};

/// What a function answers: JSON, or an error the Lambda runtime reports.
pub type Handled = Result<Value, Box<dyn std::error::Error + Send + Sync>>;

/// Handles the minute rule's event. Its content does not matter: a late tick looks at the present.
pub async fn tick(app: &App, _event: Value) -> Handled {
    let report = tick::tick(app, app.now()).await;
    Ok(json!({
        "due": report.due,
        "emitted": report.emitted,
        "resent": report.resent,
        "skipped": report.skipped,
        "failed": report.failed,
    }))
}

/// Handles a batch of the launch queue.
pub async fn launcher(app: &App, event: Value) -> Handled {
    let event: SqsEvent = serde_json::from_value(event)?;
    Ok(serde_json::to_value(launch::launch_batch(app, event).await)?)
}

/// Handles recovery's rule.
pub async fn recovery(app: &App, _event: Value) -> Handled {
    Ok(serde_json::to_value(recover::recover(app, app.now()).await)?)
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
