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
    /// Kind of problem, for programs.
    #[serde(default)]
    #[schemars(!default)]
    pub code: Code,
    /// What is wrong with the field: a fragment that completes a sentence.
    pub message: String,
    /// Character at which the problem begins, counted from 0, where the field is a text and one
    /// place in it is to blame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

/// Kind of problem of a field, for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ProblemCode")]
pub enum Code {
    /// The value is not one that the field may have here.
    #[default]
    InvalidValue,
    /// The field is missing.
    Required,
    /// There is no field, parameter or header of this name.
    UnknownField,
    /// The expression cannot be read.
    InvalidCronExpression,
    /// The time zone does not exist, or is not allowed in this deployment.
    InvalidTimezone,
    /// The expression never fires.
    NoNextExecution,
    /// What the field names does not exist.
    DoesNotExist,
    /// The caller may not say this.
    NotAllowed,
    /// The value has too many bytes.
    TooLarge,
    /// The resource is not as the caller saw it.
    PreconditionFailed,
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
        let code = Code::default();
        Invalid { field: field.into(), code, message: message.into(), at: None }
    }

    /// A field that is missing.
    pub fn required(field: impl Into<String>) -> Invalid {
        Invalid::new(field, "is required").coded(Code::Required)
    }

    /// A field that does not exist.
    pub fn unknown(field: impl Into<String>, message: impl Into<String>) -> Invalid {
        Invalid::new(field, message).coded(Code::UnknownField)
    }

    /// The same problem, of this kind.
    pub fn coded(self, code: Code) -> Invalid {
        Invalid { code, ..self }
    }

    /// The problem with a cron expression that was refused, with the character at which it begins.
    ///
    /// ```
    /// use belfry_core::{cron::Cron, invalid::{Code, Invalid}};
    /// let refused = |text: &str| Invalid::cron(text, &Cron::parse(text, "").unwrap_err());
    /// let invalid = refused("0 25 * * *");
    /// assert_eq!((invalid.field.as_str(), invalid.at), ("cron_expr", Some(2)));
    /// assert_eq!(invalid.code, Code::InvalidCronExpression);
    /// assert_eq!(refused("0 0 30 2 *").code, Code::NoNextExecution);
    /// ```
    pub fn cron(text: &str, refused: &CronError) -> Invalid {
        let begin = refused.span().and_then(|span| text.get(..span.start));
        let at = begin.map(|before| before.chars().count());
        let message = refused.to_string();
        let code = match message.starts_with("matches no date") {
            true => Code::NoNextExecution,
            false => Code::InvalidCronExpression,
        };
        Invalid { at, ..Invalid::new("cron_expr", message).coded(code) }
    }
}
