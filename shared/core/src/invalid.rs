//! The problems of an input, by field. The caller gets all problems at once.

use belfry_cron::CronError;
use serde::Serialize;

/// One problem with one field of an input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// The field's name as the caller wrote it, with dots inside objects: `target.url`.
    pub field: String,
    /// What is wrong, as a fragment that completes a sentence: `must not be empty`.
    pub message: String,
    /// The character at which the problem begins, counted from 0, if the field is a text and one
    /// position in it is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

impl Invalid {
    /// A problem with `field` as a whole.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid { field: field.into(), message: message.into(), at: None }
    }

    /// The problem with a cron expression that was refused, with the character at which it begins.
    ///
    /// ```
    /// use belfry_core::{cron::Cron, invalid::Invalid};
    /// let text = "0 25 * * *";
    /// let invalid = Invalid::cron(text, &Cron::parse(text, "").unwrap_err());
    /// assert_eq!((invalid.field.as_str(), invalid.at), ("cron_expr", Some(2)));
    /// ```
    pub fn cron(text: &str, refused: &CronError) -> Invalid {
        let begin = refused.span().and_then(|span| text.get(..span.start));
        let at = begin.map(|before| before.chars().count());
        Invalid { at, ..Invalid::new("cron_expr", refused.to_string()) }
    }
}
