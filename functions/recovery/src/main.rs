//! Recovery: finds runs that no process is working on. It sends them again or records why they do
//! not run.

use belfry_engine::app::App;
use belfry_engine::{functions, log};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    let app = &App::from_environment().await?;
    run(service_fn(|event: LambdaEvent<Value>| functions::recovery(app, event.payload))).await
}
