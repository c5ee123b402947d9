//! HTTP: the API's one router and the console, fed with API Gateway's HTTP API events in AWS and
//! locally.

pub mod access;
mod all;
mod answer;
mod backfills;
mod bulk;
mod console;
mod counts;
pub mod gate;
mod input;
mod ledger;
mod meta;
pub mod openapi;
mod presets;
mod problem;
mod request;
mod routes;
mod runs;
mod schedules;
mod sets;
mod timezones;
mod trigger_nodes;
mod validate;
mod workflows;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};

use crate::app::App;

/// Answers a request that cannot be read at all.
pub fn refuse_unreadable(problem: &dyn std::error::Error) -> ApiGatewayV2httpResponse {
    tracing::warn!(%problem, "unreadable request");
    let detail = "the request cannot be read: a header or the method is not what HTTP allows";
    problem::Problem::new(400, "Bad request", detail).into_answer().into_event()
}

/// Answers one request.
pub async fn handle(app: &App, event: ApiGatewayV2httpRequest) -> ApiGatewayV2httpResponse {
    let path = event.raw_path.as_deref().unwrap_or("/");
    let seen = event.headers.get("if-none-match").and_then(|value| value.to_str().ok());
    if let Some(file) = console::answer(event.request_context.http.method.as_str(), path, seen) {
        return file.into_event();
    }
    let is_head = event.request_context.http.method.as_str() == "HEAD";
    let answer = match request::Request::read(event) {
        Ok(request) => routes::route(app, request).await,
        Err(problem) => Err(problem),
    };
    let mut answer = answer.unwrap_or_else(problem::Problem::into_answer);
    if is_head {
        answer.body = None;
    }
    answer.into_event()
}
