//! The functions, called here or in processes of their own.

use std::sync::Arc;

use belfry_engine::app::App;
use belfry_engine::functions;
use chrono::Duration;
use serde_json::Value;

use crate::processes::Processes;

/// A function of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// Emits what is due.
    Tick,
    /// Launches runs.
    Launcher,
    /// Repairs what was lost.
    Recovery,
    /// Answers requests.
    Api,
}

impl Function {
    /// All of them.
    pub const ALL: [Function; 4] =
        [Function::Tick, Function::Launcher, Function::Recovery, Function::Api];

    /// The name of its binary.
    pub fn name(self) -> &'static str {
        match self {
            Function::Tick => "tick",
            Function::Launcher => "launcher",
            Function::Recovery => "recovery",
            Function::Api => "api",
        }
    }
}

/// What an invocation may take.
pub(crate) const TIMEOUT: Duration = Duration::seconds(60);

/// Why an invocation gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvokeError(pub String);

tokio::task_local! {
    /// The name of the function at work in this task, for whoever stands between it and the services
    /// and must know who asks: a request does not say.
    pub static AT_WORK: &'static str;
}

/// How functions are called.
#[derive(Clone)]
pub enum Functions {
    /// Their handlers, in this process.
    Here(Arc<App>),
    /// Their real binaries, over the Lambda Runtime API.
    Processes(Arc<Processes>),
}

impl Functions {
    /// Hands an event to a function and waits for its answer.
    pub async fn invoke(&self, function: Function, event: Value) -> Result<Value, InvokeError> {
        let app = match self {
            Functions::Processes(processes) => return processes.invoke(function, event).await,
            Functions::Here(app) => app.clone(),
        };
        // A task of its own: a panic fails this invocation, as it would in Lambda.
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
