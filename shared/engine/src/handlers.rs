//! The functions' handlers: an event in, an answer out. The binaries and the local system call
//! these and nothing else.

use aws_lambda_events::apigw::ApiGatewayV2httpRequest;
use aws_lambda_events::sqs::SqsEvent;
use serde_json::{Value, json};

use crate::app::App;
use crate::{http, launch, recover, tick};

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
    let event: ApiGatewayV2httpRequest = serde_json::from_value(event)?;
    Ok(serde_json::to_value(http::handle(app, event).await)?)
}
