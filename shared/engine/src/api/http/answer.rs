//! An answer to a request.

use aws_lambda_events::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::encodings::Body;
use aws_lambda_events::http::{HeaderMap, HeaderValue};
use serde::Serialize;

/// What the caller gets.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Option<String>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &impl Serialize) -> Answer {
        // No answer has a key that is not a text, which is all that cannot be written as JSON.
        Answer { body: serde_json::to_string(body).ok(), ..Answer::empty(status) }
    }

    pub(super) fn empty(status: u16) -> Answer {
        Answer { status, content_type: "application/json", headers: Vec::new(), body: None }
    }

    pub(super) fn with(mut self, header: &'static str, value: String) -> Answer {
        self.headers.push((header, value));
        self
    }

    pub(super) fn into_event(self) -> ApiGatewayV2httpResponse {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static(self.content_type));
        headers.insert("cache-control", HeaderValue::from_static("no-store"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        let mut response = ApiGatewayV2httpResponse::default();
        response.status_code = i64::from(self.status);
        response.headers = headers;
        response.body = self.body.map(Body::Text);
        response
    }
}
