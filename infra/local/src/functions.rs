//! Calls the functions, in this process or in processes of their own.

use std::sync::Arc;

use belfry_engine::app::App;
use belfry_engine::functions;
use chrono::Duration;
use serde_json::Value;

use crate::processes::Processes;

/// A function of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Emits due fires.
    Tick,
    /// Launches runs.
    Launcher,
    /// Repairs lost fires and runs.
    Recovery,
    /// Answers API requests.
    Api,
}

impl Function {
    /// All functions.
    pub const ALL: [Function; 4] =
        [Function::Tick, Function::Launcher, Function::Recovery, Function::Api];

    /// The name of the function's binary.
    pub fn name(self) -> &'static str {
        match self {
            Function::Tick => "tick",
            Function::Launcher => "launcher",
            Function::Recovery => "recovery",
            Function::Api => "api",
        }
    }
}

/// The time limit of an invocation.
pub(crate) const TIMEOUT: Duration = Duration::seconds(60);

/// Why an invocation returned no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvokeError(pub String);

tokio::task_local! {
    /// The name of the function running in this task. Test services between the function and AWS
    /// need it to tell the callers apart, because a request does not name its caller.
    pub static AT_WORK: &'static str;
}

/// How functions are called.
#[derive(Clone)]
pub enum Functions {
    /// As handlers in this process.
    Here(Arc<App>),
    /// As real binaries, over the Lambda Runtime API.
    Processes(Arc<Processes>),
}

impl Functions {
    /// Sends an event to a function and waits for the answer.
    pub async fn invoke(&self, function: Function, event: Value) -> Result<Value, InvokeError> {
        let app = match self {
            Functions::Processes(processes) => return processes.invoke(function, event).await,
            Functions::Here(app) => app.clone(),
        };
        // In a task of its own, so that a panic fails only this invocation, as in Lambda.
        let call = tokio::spawn(AT_WORK.scope(function.name(), async move {
            match function {
                Function::Tick => {
                    let deadline = app.now() + TIMEOUT;
                    functions::tick(&app, event, deadline).await
                }
                Function::Launcher => functions::launcher(&app, event).await,
                Function::Recovery => functions::recovery(&app, event).await,
                Function::Api => functions::api(&app, event).await,
            }
        }));
        match call.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(InvokeError(error.to_string())),
            Err(panic) => Err(InvokeError(panic.to_string())),
        }
    }
}
