//! Access: what a caller of an operation needs. Every operation has a gate, so that none can be added
//! without deciding who may call it.

use super::gate::Gate;
use super::openapi::find::{Found, find};
use super::problem::Problem;
use super::request::{BASE, Request, decode};

/// Whether a gateway lets a request through without a token. What is not among the routes needs
/// one, so that strangers learn nothing of it.
pub fn is_open(method: &str, raw_path: &str) -> bool {
    let segments: Option<Vec<String>> =
        raw_path.split('/').filter(|segment| !segment.is_empty()).map(decode).collect();
    let segments = segments.unwrap_or_default();
    // The console is static; what it shows it asks of the API, with a token.
    if segments.first().is_some_and(|first| first == "console") {
        return method == "GET" || method == "HEAD";
    }
    let Some((base, segments)) = segments.split_at_checked(BASE.len()) else { return false };
    match find(method, segments) {
        Found::Call(operation) => {
            base.iter().eq(BASE.iter()) && !matches!(operation.gate, Gate::Token(_))
        }
        Found::Otherwise(_) | Found::Nothing => false,
    }
}

/// Lets a caller through a gate, or says what it lacks.
pub(super) fn admit(gate: Gate, request: &Request) -> Result<(), Problem> {
    match gate {
        Gate::Open | Gate::RunToken => Ok(()),
        Gate::Token(scope) if request.caller()?.scopes.allow(scope) => Ok(()),
        Gate::Token(scope) => Err(Problem::forbidden(scope)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_no_token_is_open_at_the_gateway() {
        for (method, path, open) in [
            ("GET", "/api/v1/health", true),
            ("GET", "/api/v1//health/", true),
            ("HEAD", "/api/v1/health", true),
            ("HEAD", "/api/v1/schedules", false),
            ("POST", "/api/v1/health", false),
            ("GET", "/api/v1/schedules", false),
            ("POST", "/api/v1/runs/a@b/feedback", true),
            ("GET", "/api/v1/runs/a@b/feedback", false),
            ("POST", "/api/v1/runs/a@b/status", false),
            ("GET", "/console", true),
            ("GET", "/console/app.js", true),
            ("POST", "/console", false),
            ("GET", "/consoles", false),
            ("GET", "/api/v1/console", false),
            ("GET", "/", false),
            ("GET", "/%ff", false),
        ] {
            assert_eq!(is_open(method, path), open, "{method} {path}");
        }
    }
}
