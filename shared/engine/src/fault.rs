//! A fault: something around us did not work. Told to the operator, never to the caller.

use serde_json::Value;
use std::error::Error;

/// What a function answers: JSON, or an error the Lambda runtime reports.
pub type Handled = Result<Value, Box<dyn std::error::Error + Send + Sync>>;

/// What we were doing and what came back.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub struct Fault {
    /// A fragment such as `claim run nightly@...`.
    pub doing: String,
    /// What the SDK said.
    #[source]
    pub source: Box<dyn Error + Send + Sync>,
}

/// A record that is there and cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("unreadable record: {0}")]
pub struct Unreadable(pub String);

impl Fault {
    /// A fault while `doing`.
    pub fn new(doing: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Fault {
        Fault { doing: doing.into(), source: Box::new(source) }
    }

    /// The same fault, for another task that it strikes.
    pub(crate) fn copy(&self) -> Fault {
        Fault { doing: self.doing.clone(), source: self.source.to_string().into() }
    }
}

/// Turns an SDK error into a fault, with the whole chain of causes in its text.
pub(crate) fn sdk<E>(doing: impl Into<String>) -> impl FnOnce(E) -> Fault
where
    E: Error + Send + Sync + 'static,
{
    let doing = doing.into();
    move |error| {
        let text = aws_sdk_dynamodb::error::DisplayErrorContext(&error).to_string();
        Fault { doing, source: text.into() }
    }
}
