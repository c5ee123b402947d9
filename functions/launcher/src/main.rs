//! The launcher: receives runs from the launch queue and launches each run at its target.

use belfry_engine::app::App;
use belfry_engine::{functions, log};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    let app = &App::from_environment().await?;
    run(service_fn(|event: LambdaEvent<Value>| functions::launcher(app, event.payload))).await
}
