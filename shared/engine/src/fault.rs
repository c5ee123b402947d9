//! A fault: a service that Belfry depends on did not work. The operator sees the text of a fault,
//! the caller of the API never does.

use serde_json::Value;
use std::error::Error;

/// The answer of a function: JSON, or an error that the Lambda runtime reports.
pub type Handled = Result<Value, Box<dyn std::error::Error + Send + Sync>>;

/// What Belfry was doing, and the error that came back.
#[derive(Debug, thiserror::Error)]
#[error("{doing}: {source}")]
pub struct Fault {
    /// A fragment that completes `could not ...`, such as `claim run nightly@...`.
    pub doing: String,
    /// The error, with the text of the SDK.
    #[source]
    pub source: Box<dyn Error + Send + Sync>,
}

/// A record exists but cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("unreadable record: {0}")]
pub struct Unreadable(pub String);

impl Fault {
    /// A fault that happened while `doing`.
    pub fn new(doing: impl Into<String>, source: impl Error + Send + Sync + 'static) -> Fault {
        Fault { doing: doing.into(), source: Box::new(source) }
    }

    /// A copy of the fault, for another task that failed by the same call.
    pub(crate) fn copy(&self) -> Fault {
        Fault { doing: self.doing.clone(), source: self.source.to_string().into() }
    }
}

/// Turns an SDK error into a fault whose text has the whole chain of causes.
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
