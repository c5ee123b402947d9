//! The tick: once a minute it records and sends the due fires. Between these runs it handles the
//! work that other ticks hand over.

use belfry_engine::app::App;
use belfry_engine::functions::{Handled, deadline, tick};
use belfry_engine::log;
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    let app = &App::from_environment().await?;
    run(service_fn(|event| handle(app, event))).await
}

async fn handle(app: &App, event: LambdaEvent<Value>) -> Handled {
    let deadline = deadline(app, event.context.deadline);
    // Boxed, because the future of a tick is nested too deeply for the compiler to compute its
    // layout.
    Box::pin(tick(app, event.payload, deadline)).await
}
