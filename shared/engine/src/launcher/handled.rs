//! What became of a fire that was delivered.

use belfry_core::run::{Reason, Status};

/// What became of a fire.
#[derive(Debug)]
pub(crate) enum Handled {
    /// The target has the run.
    Launched { drift_ms: i64, ended: Option<Status> },
    /// The run ended without its target.
    Ended(Reason),
    /// There was nothing to do: another message does it, or it was done before.
    Nothing(&'static str),
    /// It shall come again after `after_s` seconds.
    Again { after_s: i64, why: String, with: With },
    /// It comes again by a message of its own.
    Apart,
}

/// What may bring a fire again.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum With {
    /// Any message that names it.
    AnyMessage,
    /// The message that brought it now, which its claim names.
    ThisMessage,
}

/// The fire shall come again, by any message.
pub(crate) fn again(after_s: i64, why: impl Into<String>) -> Handled {
    Handled::Again { after_s, why: why.into(), with: With::AnyMessage }
}
