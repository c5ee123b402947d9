//! Problems as callers see them: RFC 9457, with the fields that are wrong.

use belfry_core::guard::access::Scope;
use belfry_core::invalid::{Code, Invalid, ProblemDetails};
use tracing::error;

use super::answer::Answer;
use crate::schedules::refusal::Refusal;

/// What a handler answers.
pub(super) type Routed = Result<Answer, Problem>;

/// Something a caller is told.
#[derive(Debug)]
pub(super) struct Problem {
    status: u16,
    title: &'static str,
    detail: String,
    errors: Vec<Invalid>,
    headers: Vec<(&'static str, String)>,
}

impl Problem {
    pub(super) fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Problem {
        Problem { status, title, detail: detail.into(), errors: Vec::new(), headers: Vec::new() }
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

    /// There is a `what`, and the caller wanted to make a new one.
    pub(super) fn exists(what: &str) -> Problem {
        let detail = format!("the {what} exists");
        let error = Invalid::new("If-None-Match", format!("is *, and {detail}"))
            .coded(Code::PreconditionFailed);
        Problem { errors: vec![error], ..Problem::new(412, "Precondition failed", detail) }
    }

    /// No verified token.
    pub(super) fn unauthorized(detail: &str) -> Problem {
        Problem::new(401, "Unauthorized", detail).with("www-authenticate", "Bearer")
    }

    /// A token without the scope this needs (RFC 6750).
    pub(super) fn forbidden(scope: Scope) -> Problem {
        let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
        let detail = format!("this needs the scope {scope}, which the token does not carry");
        Problem::new(403, "Forbidden", detail).with("www-authenticate", challenge)
    }

    /// Whether it is about fields only.
    pub(super) fn is_of_fields(&self) -> bool {
        self.status == 422
    }

    /// The problems of several fields as one. A problem that is not about fields goes first.
    pub(super) fn merged(problems: impl IntoIterator<Item = Problem>) -> Problem {
        let mut errors = Vec::new();
        for problem in problems {
            if !problem.is_of_fields() {
                return problem;
            }
            errors.extend(problem.errors);
        }
        Problem::invalid(errors)
    }

    pub(super) fn with(mut self, header: &'static str, value: impl Into<String>) -> Problem {
        self.headers.push((header, value.into()));
        self
    }

    pub(super) fn into_answer(self) -> Answer {
        let body = ProblemDetails {
            kind: "about:blank".to_owned(),
            title: self.title.to_owned(),
            status: self.status,
            detail: self.detail,
            errors: self.errors,
        };
        Answer {
            content_type: "application/problem+json",
            headers: self.headers,
            ..Answer::json(self.status, &body)
        }
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
                let error = Invalid::new("If-Match", format!("is not {current}"))
                    .coded(Code::PreconditionFailed);
                Problem { errors: vec![error], ..Problem::new(412, "Precondition failed", detail) }
            }
            Refusal::Forbidden(scope) => Problem::forbidden(scope),
            Refusal::TooMany { wait, .. } => {
                // Rounded up: who comes back then is let in.
                let seconds = (wait.num_milliseconds() + 999) / 1000;
                Problem::new(429, "Too many requests", detail)
                    .with("retry-after", seconds.max(1).to_string())
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
