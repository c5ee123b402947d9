//! A fault: a service that Belfry depends on did not work. The operator sees the text of a fault,
//! the caller of the API never does.

use serde_json::Value;
use serde_json::error::Category;
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

/// Where a text stops being what it should be. The text of the error itself would quote it.
pub(crate) fn place_of(problem: &serde_json::Error) -> String {
    let kind = match problem.classify() {
        Category::Data => "another content is expected",
        Category::Io | Category::Syntax | Category::Eof => "it is not JSON",
    };
    format!("{kind} at line {} column {}", problem.line(), problem.column())
}

/// An error and its causes in words. Unlike `DisplayErrorContext`, it leaves out the internals of the
/// error, which hold the request and the answer, and with them payloads. A cause that repeats the
/// text before it is left out too.
pub(crate) fn in_words(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let more = cause.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        next = cause.source();
    }
    text
}

/// Turns an SDK error into a fault whose text has the whole chain of causes.
pub(crate) fn sdk<E>(doing: impl Into<String>) -> impl FnOnce(E) -> Fault
where
    E: Error + Send + Sync + 'static,
{
    let doing = doing.into();
    move |error| {
        let text = in_words(&error);
        Fault { doing, source: text.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its debug text has a payload, as that of an SDK error has.
    #[derive(Debug, thiserror::Error)]
    #[error("service error")]
    struct Outer {
        #[source]
        cause: Inner,
        answer: &'static str,
    }

    #[derive(Debug, thiserror::Error)]
    #[error("ThrottlingException: too fast")]
    struct Inner;

    #[test]
    fn a_fault_has_the_causes_of_an_error_and_not_its_internals() {
        let fault = sdk("claim run a")(Outer { cause: Inner, answer: "a payload" });
        let expected = "claim run a: service error: ThrottlingException: too fast";
        assert_eq!(fault.to_string(), expected);
    }

    #[test]
    fn the_place_of_a_problem_quotes_nothing() {
        let problem = serde_json::from_str::<Vec<u32>>("[\"a payload\"]").unwrap_err();
        assert!(problem.to_string().contains("a payload"));
        assert_eq!(place_of(&problem), "another content is expected at line 1 column 12");
    }
}
