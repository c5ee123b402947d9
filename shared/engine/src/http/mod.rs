//! The HTTP API: one router, fed with API Gateway's HTTP API events in AWS and locally.

pub mod access;
mod bulk;
pub mod openapi;
mod presets;
mod problem;
mod request;
mod routes;
mod timezones;
mod trigger_node;
mod validate;

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
    let answer = match request::Request::read(event) {
        // Boxed: all routes in one future are deeper than the compiler looks.
        Ok(request) => Box::pin(routes::route(app, &request)).await,
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(problem::Problem::into_answer).into_event()
}
