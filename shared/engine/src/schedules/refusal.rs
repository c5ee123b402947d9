//! Why a request was not done.

use belfry_core::guard::access::Scope;
use belfry_core::invalid::Invalid;
use chrono::Duration;

use crate::fault::Fault;

/// Why a request was not done.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The input has problems.
    #[error("the input is not valid")]
    Invalid(Vec<Invalid>),
    /// A field is larger than we take.
    #[error("the input is too large")]
    TooLarge(Invalid),
    /// It is not there, or not the caller's: the two look alike.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The schedule is not at the revision the caller saw.
    #[error("the schedule is at revision {current}")]
    Stale {
        /// Where it is.
        current: u64,
    },
    /// The caller has made too much, or too much at once.
    #[error("{why}")]
    TooMany {
        /// What there is too much of.
        why: String,
        /// When to ask again.
        wait: Duration,
    },
    /// The state of things does not allow it.
    #[error("{0}")]
    Conflict(String),
    /// The caller's token does not carry the scope for it.
    #[error("this needs the scope {0}")]
    Forbidden(Scope),
    /// Something around us did not work.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Refusal {
    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Invalid::new(field, message)])
    }
}
