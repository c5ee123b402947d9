//! The router: finds the operation of a request, checks who asks and what for, and calls its handler.

use belfry_core::invalid::Invalid;

use super::access;
use super::answer::Answer;
use super::openapi::find::{Found, find};
use super::problem::{Problem, Routed};
use super::request::Request;
use crate::app::App;

pub(super) async fn route(app: &App, mut request: Request) -> Routed {
    // Only what is documented is served.
    let operation = match find(&request.method, &request.segments) {
        Found::Call(operation) => operation,
        Found::Otherwise(methods) => return Ok(refuse_method(&methods)),
        Found::Nothing => return Err(Problem::not_found("resource")),
    };
    access::admit(operation.gate, &request)?;
    let unknown = request.parameters().filter(|name| !operation.takes(name));
    let unknown: Vec<_> =
        unknown.map(|name| Invalid::unknown(name, "is not a parameter of this call")).collect();
    request.path = operation.path_values(&request.segments);
    if unknown.is_empty() {
        return (operation.handler)(app, &request).await;
    }
    // What else is wrong is told too: a call that only reads may be made to find out.
    let others = match operation.method {
        "GET" => (operation.handler)(app, &request).await.err().filter(Problem::is_of_fields),
        _ => operation.wrong_values(&request),
    };
    Err(Problem::merged([Problem::invalid(unknown)].into_iter().chain(others)))
}

/// The path is there, not for this method.
fn refuse_method(methods: &str) -> Answer {
    let problem = Problem::new(405, "Method not allowed", format!("this resource takes {methods}"));
    problem.into_answer().with("allow", methods.to_owned())
}
