//! The HTTP API: one router, fed with API Gateway's HTTP API events in AWS and locally.

pub mod access;
mod problem;
mod request;
mod routes;
mod validate;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};

use crate::app::App;

/// Answers one request.
pub async fn handle(app: &App, event: ApiGatewayV2httpRequest) -> ApiGatewayV2httpResponse {
    let answer = match request::Request::read(event) {
        Ok(request) => match access::admit(&request) {
            Ok(()) => routes::route(app, &request).await,
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    answer.unwrap_or_else(problem::Problem::into_answer).into_event()
}
