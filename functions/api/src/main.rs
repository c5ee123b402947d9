//! The API: manages schedules, workflows and runs.

use belfry_engine::app::App;
use belfry_engine::{handlers, log};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    let app = &App::from_environment().await?;
    run(service_fn(|event: LambdaEvent<Value>| handlers::api(app, event.payload))).await
}
