//! What is wrong with an input, told to the caller by field, all of it at once.

use serde::Serialize;

/// One problem of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// The field as the caller wrote it, dotted inside objects.
    pub field: String,
    /// What is wrong with it, as a fragment that completes a sentence.
    pub message: String,
}

impl Invalid {
    /// A problem of `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid { field: field.into(), message: message.into() }
    }
}
