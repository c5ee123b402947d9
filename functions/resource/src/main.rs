//! The custom resource: creates, changes and deletes schedules and workflows for CloudFormation
//! stacks.

use belfry_engine::app::App;
use belfry_engine::{functions, log};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    // If the start fails, the function still runs and reports the failure to every stack. Otherwise
    // a stack would wait for an hour.
    let app = &App::from_environment().await;
    let handle = |event: LambdaEvent<Value>| {
        let deadline = event.context.deadline().into();
        functions::resource(app.as_ref(), event.payload, deadline)
    };
    run(service_fn(handle)).await
}
