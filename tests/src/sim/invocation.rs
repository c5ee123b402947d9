//! An invocation of a function: it may die at any call, and its caller notices.

use std::fmt;
use std::sync::{Arc, Mutex};

use belfry_engine::app::App;
use belfry_engine::functions;
use chrono::TimeDelta;
use serde_json::Value;
use tokio::sync::Notify;

use super::Sim;

pub(super) use belfry_local::functions::Function;

tokio::task_local! {
    /// The invocation of the current task.
    pub(super) static INVOCATION: Arc<Invocation>;
}

/// Lambda's time limit.
const FUNCTION_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(120);

pub(super) struct Invocation {
    pub(super) function: Function,
    pub(super) number: u64,
    death: Notify,
    put_off: Mutex<Vec<Value>>,
}

/// The invocation ended without an answer.
#[derive(Debug)]
pub(super) struct Died;

impl Invocation {
    /// Lets the invocation die. Its work stops here.
    pub(super) async fn die<T>(&self) -> T {
        self.death.notify_one();
        std::future::pending().await
    }

    /// Keeps a put for later.
    pub(super) fn put_off(&self, put: Value) {
        self.put_off.lock().unwrap().push(put);
    }

    /// All puts that were kept.
    pub(super) fn all_puts(&self) -> Vec<Value> {
        std::mem::take(&mut *self.put_off.lock().unwrap())
    }

    /// The puts of a schedule that were kept.
    pub(super) fn puts_of(&self, schedule: &str) -> Vec<Value> {
        let mut kept = self.put_off.lock().unwrap();
        let is_its = |put: &Value| put["Item"]["schedule_id"]["S"] == schedule;
        let (its, others) = kept.drain(..).partition(is_its);
        *kept = others;
        its
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.function.name(), self.number)
    }
}

impl Sim {
    /// Calls a function's real handler, and drops it at the call at which it dies.
    pub(super) async fn invoke(
        &self,
        app: &Arc<App>,
        function: Function,
        event: Value,
    ) -> Result<Value, Died> {
        let invocation = Arc::new(Invocation {
            function,
            number: self.next_number(),
            death: Notify::new(),
            put_off: Mutex::default(),
        });
        let handler = async {
            match function {
                Function::Tick => {
                    let timeout = TimeDelta::from_std(FUNCTION_TIMEOUT).expect("a timeout");
                    functions::tick(app, event, app.now() + timeout).await
                }
                Function::Launcher => functions::launcher(app, event).await,
                Function::Recovery => functions::recovery(app, event).await,
                Function::Api => functions::api(app, event).await,
            }
        };
        let handler = tokio::time::timeout(FUNCTION_TIMEOUT, handler);
        let handler = INVOCATION.scope(invocation.clone(), handler);
        let answer = tokio::select! {
            biased;
            () = invocation.death.notified() => None,
            answer = handler => answer.ok(),
        };
        match answer {
            Some(Ok(answer)) => Ok(answer),
            Some(Err(problem)) => panic!("{invocation} refused its event: {problem}"),
            None => {
                self.executor().death(invocation.number, self.now());
                Err(Died)
            }
        }
    }
}
