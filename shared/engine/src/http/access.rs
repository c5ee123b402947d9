//! Access: every route there is, and what its caller needs. A request that no row admits reaches
//! nothing, so that a route cannot be added without deciding who may call it.

use belfry_core::access::Scope;

use super::problem::Problem;
use super::request::{BASE, Request, decode};

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Anybody.
    Open,
    /// The executor of a run, by the token its run was launched with. The gateway lets everybody
    /// through and the function checks.
    RunToken,
    /// Bearers of a token that the gateway verified, with this scope.
    Token(Scope),
}

/// A route.
#[derive(Debug)]
pub struct Route {
    /// Its method.
    pub method: &'static str,
    /// Its path behind `/api/v1`; a segment in braces is any.
    pub path: &'static str,
    /// Who may call it.
    pub gate: Gate,
}

const fn route(method: &'static str, path: &'static str, gate: Gate) -> Route {
    Route { method, path, gate }
}

const READ: Gate = Gate::Token(Scope::SchedulesRead);
const WRITE: Gate = Gate::Token(Scope::SchedulesWrite);
const RUN: Gate = Gate::Token(Scope::RunsWrite);

/// Every route of the API.
pub const ROUTES: &[Route] = &[
    route("GET", "/health", Gate::Open),
    route("GET", "/schedules", READ),
    route("POST", "/schedules", WRITE),
    route("POST", "/schedules/validate", READ),
    route("GET", "/schedules/{schedule_id}", READ),
    route("PUT", "/schedules/{schedule_id}", WRITE),
    route("PATCH", "/schedules/{schedule_id}", WRITE),
    route("DELETE", "/schedules/{schedule_id}", WRITE),
    route("POST", "/schedules/{schedule_id}/pause", WRITE),
    route("POST", "/schedules/{schedule_id}/resume", WRITE),
    route("POST", "/schedules/{schedule_id}/trigger", RUN),
    route("GET", "/schedules/{schedule_id}/runs", READ),
    route("GET", "/schedules/{schedule_id}/ledger", READ),
    route("GET", "/schedules/{schedule_id}/changes", READ),
    route("GET", "/stats", READ),
    route("GET", "/runs/{run_id}", READ),
    route("POST", "/runs/{run_id}/status", RUN),
    route("POST", "/runs/{run_id}/feedback", Gate::RunToken),
    route("PUT", "/workflows/{workflow_id}/versions/{version}", WRITE),
    route("GET", "/workflows/{workflow_id}/versions/{version}", READ),
];

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
    let needs_token = |gate| matches!(gate, Gate::Token(_));
    base.iter().eq(BASE.iter()) && find(method, segments).is_some_and(|r| !needs_token(r.gate))
}

/// Lets a request in, or says what it lacks.
pub(super) fn admit(request: &Request) -> Result<(), Problem> {
    let Some(route) = find(&request.method, &request.segments) else {
        return Err(no_such_route(&request.segments));
    };
    match route.gate {
        Gate::Open | Gate::RunToken => Ok(()),
        Gate::Token(scope) if request.caller()?.scopes.allow(scope) => Ok(()),
        Gate::Token(scope) => Err(Problem::forbidden(scope)),
    }
}

fn find(method: &str, segments: &[String]) -> Option<&'static Route> {
    ROUTES.iter().find(|route| route.method == method && route.leads_to(segments))
}

/// Nothing is here, or not for this method.
fn no_such_route(segments: &[String]) -> Problem {
    let there = ROUTES.iter().filter(|route| route.leads_to(segments));
    let mut methods: Vec<_> = there.map(|route| route.method).collect();
    methods.sort_unstable();
    methods.dedup();
    if methods.is_empty() {
        return Problem::not_found("resource");
    }
    let methods = methods.join(", ");
    let detail = format!("this resource takes {methods}");
    Problem::new(405, "Method not allowed", detail).with("allow", methods)
}

impl Route {
    fn leads_to(&self, segments: &[String]) -> bool {
        let wanted = self.path.split('/').skip(1);
        let fits = |(wanted, is): (&str, &String)| wanted.starts_with('{') || wanted == is;
        wanted.clone().count() == segments.len() && wanted.zip(segments).all(fits)
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

    #[test]
    fn no_route_stands_twice() {
        for (place, one) in ROUTES.iter().enumerate() {
            let same = |two: &&Route| two.method == one.method && two.path == one.path;
            assert!(!ROUTES[place + 1..].iter().any(|two| same(&two)), "{one:?}");
        }
    }
}
