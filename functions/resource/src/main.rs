//! The custom resource: schedules and workflows of CloudFormation stacks.

use belfry_engine::app::App;
use belfry_engine::{functions, log};
use lambda_runtime::{Error, LambdaEvent, run, service_fn};
use serde_json::Value;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    log::start_from_environment();
    // A function that cannot start says so to every stack, instead of keeping it waiting.
    let app = &App::from_environment().await;
    let handle = |event: LambdaEvent<Value>| {
        let deadline = event.context.deadline().into();
        functions::resource(app.as_ref(), event.payload, deadline)
    };
    run(service_fn(handle)).await
}
