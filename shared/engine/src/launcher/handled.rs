//! The result of handling one delivered fire.

use belfry_core::run::{Reason, Status};

/// The result of handling one delivered fire.
#[derive(Debug)]
pub(crate) enum Handled {
    /// The target accepted the run; `ended` if the run has ended with that.
    Launched { drift_ms: i64, ended: Option<Status> },
    /// The run ended before its target was called, or because the target refused it.
    Ended(Reason),
    /// There was nothing to do: another message has the run, or it was done before.
    Nothing(&'static str),
    /// The fire must be delivered again after `after_s` seconds.
    Again { after_s: i64, why: String, with: With },
    /// The fire will be delivered again by a new message that names it alone.
    Apart,
}

/// Which messages can deliver the fire again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum With {
    /// Any message that names the run.
    AnyMessage,
    /// Only the message that delivered the fire now: the run's claim names this message.
    ThisMessage,
}

/// The fire must be delivered again, by any message.
pub(crate) fn again(after_s: i64, why: impl Into<String>) -> Handled {
    Handled::Again { after_s, why: why.into(), with: With::AnyMessage }
}
