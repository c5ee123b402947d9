//! Problems as callers see them: RFC 9457, with the fields that are wrong.

use belfry_core::invalid::Invalid;
use serde_json::json;
use tracing::error;

use super::request::Answer;
use crate::manage::Refusal;

/// Something a caller is told.
#[derive(Debug)]
pub(super) struct Problem {
    status: u16,
    title: &'static str,
    detail: String,
    errors: Vec<Invalid>,
}

impl Problem {
    pub(super) fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, title, detail: detail.into(), errors: Vec::new() }
    }

    pub(super) fn invalid(errors: Vec<Invalid>) -> Problem {
        let detail = "the request has problems in the fields named";
        Problem { errors, ..Problem::new(422, "Invalid input", detail) }
    }

    pub(super) fn field(field: &str, message: impl Into<String>) -> Problem {
        Problem::invalid(vec![Invalid::new(field, message)])
    }

    /// The body cannot be read at all.
    pub(super) fn unreadable(why: &str) -> Problem {
        let error = Invalid::new("", why);
        Problem {
            errors: vec![error],
            ..Problem::new(400, "Bad request", format!("the body {why}"))
        }
    }

    pub(super) fn not_found(what: &str) -> Problem {
        Problem::new(404, "Not found", format!("{what} not found"))
    }

    pub(super) fn into_answer(self) -> Answer {
        let mut body = json!({
            "type": "about:blank",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        });
        if !self.errors.is_empty() {
            body["errors"] = json!(self.errors);
        }
        Answer { content_type: "application/problem+json", ..Answer::json(self.status, &body) }
    }
}

/// The one place where what went wrong becomes HTTP. A fault is the operator's to read, not the
/// caller's.
impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Problem {
        let detail = refusal.to_string();
        match refusal {
            Refusal::Invalid(errors) => Problem::invalid(errors),
            Refusal::TooLarge(error) => {
                Problem { errors: vec![error], ..Problem::new(413, "Too large", detail) }
            }
            Refusal::NotFound(_) => Problem::new(404, "Not found", detail),
            Refusal::Stale { current } => {
                let error = Invalid::new("If-Match", format!("is not {current}"));
                Problem { errors: vec![error], ..Problem::new(412, "Precondition failed", detail) }
            }
            Refusal::Conflict(_) => Problem::new(409, "Conflict", detail),
            Refusal::Fault(fault) => {
                error!(%fault, "request failed");
                let detail = "something behind the API did not answer; try again";
                Problem::new(503, "Unavailable", detail)
            }
        }
    }
}
