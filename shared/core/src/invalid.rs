//! What is wrong with an input, told to the caller by field, all of it at once.

use belfry_cron::CronError;
use serde::Serialize;

/// One problem of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// The field as the caller wrote it, dotted inside objects.
    pub field: String,
    /// What is wrong with it, as a fragment that completes a sentence.
    pub message: String,
    /// The character the problem begins at, counted from 0, where the field is a text and one
    /// place in it is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

impl Invalid {
    /// A problem of `field`.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid { field: field.into(), message: message.into(), at: None }
    }

    /// Why an expression was refused, pointing at the character.
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
