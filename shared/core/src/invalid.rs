//! The problems of an input, by field. The caller gets all problems at once.

use belfry_cron::CronError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One problem of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[schemars(deny_unknown_fields)]
#[error("{field}: {message}")]
pub struct Invalid {
    /// Name of the field as the caller wrote it, dotted inside objects; empty for the whole body.
    pub field: String,
    /// What is wrong with the field: a fragment that completes a sentence.
    pub message: String,
    /// Character at which the problem begins, counted from 0, where the field is a text and one
    /// place in it is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// Why a request was refused, as RFC 9457 has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Problem", deny_unknown_fields)]
pub struct ProblemDetails {
    /// Always `about:blank`: the status says what kind of problem it is.
    #[serde(rename = "type", default)]
    #[schemars(!default)]
    pub kind: String,
    /// Kind of problem, for people.
    pub title: String,
    /// Status of the answer.
    #[schemars(range(min = 100, max = 599))]
    pub status: u16,
    /// What happened.
    #[serde(default)]
    #[schemars(!default)]
    pub detail: String,
    /// Every field that is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<Invalid>,
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
