//! Refusals: why a request was not carried out.

use belfry_core::guard::access::Scope;
use belfry_core::invalid::{Code, Invalid};
use chrono::Duration;

use crate::fault::Fault;

/// Why a request was not carried out, as the caller is told.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The input has these problems.
    #[error("the input is not valid")]
    Invalid(Vec<Invalid>),
    /// A field is larger than its limit.
    #[error("the input is too large")]
    TooLarge(Invalid),
    /// The thing does not exist or belongs to another owner; the caller cannot tell which.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// The schedule is not at the revision that the caller saw.
    #[error("the schedule is at revision {current}")]
    Stale {
        /// The present revision of the schedule.
        current: u64,
    },
    /// The caller has too many schedules, or created too many in a minute.
    #[error("{why}")]
    TooMany {
        /// Which limit was reached.
        why: String,
        /// When the caller may try again.
        wait: Duration,
    },
    /// The present state of a resource does not allow the request.
    #[error("{0}")]
    Conflict(String),
    /// The caller's token lacks the scope that the request needs.
    #[error("this needs the scope {0}")]
    Forbidden(Scope),
    /// A service failed; the caller may try again.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Refusal {
    /// What a field names does not exist.
    pub(crate) fn unknown(field: &str, message: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Invalid::new(field, message).coded(Code::DoesNotExist)])
    }

    pub(crate) fn invalid(field: &str, message: impl Into<String>) -> Refusal {
        Refusal::Invalid(vec![Invalid::new(field, message)])
    }
}
