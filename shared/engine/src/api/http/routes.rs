//! The router: finds the operation of a request, checks who asks and what for, and calls its handler.

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
    if let Some(name) = request.parameters().find(|name| !operation.takes(name)) {
        return Err(Problem::field(name, "is not a parameter of this call"));
    }
    request.path = operation.path_values(&request.segments);
    (operation.handler)(app, &request).await
}

/// The path is there, not for this method.
fn refuse_method(methods: &str) -> Answer {
    let problem = Problem::new(405, "Method not allowed", format!("this resource takes {methods}"));
    problem.into_answer().with("allow", methods.to_owned())
}
