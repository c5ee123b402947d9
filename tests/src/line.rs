//! A line from the SDK to the services: the one HTTP client behind the meter, the warden and the
//! flaky line, which each see every request and send it on or answer it themselves.

use std::fmt::Debug;

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;

/// Stands between the SDK and another HTTP client.
pub trait Between: Clone + Debug + Send + Sync + 'static {
    /// The client that leads to the services.
    fn inner(&self) -> &SharedHttpClient;

    /// Answers a request, or sends it on through `inner`.
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture;
}

/// The HTTP client for the SDK that passes every request to what stands between.
#[derive(Clone, Debug)]
pub struct Line<B>(pub B);

impl<B: Between> HttpClient for Line<B> {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.0.inner().http_connector(settings, components);
        SharedHttpConnector::new(Connected { between: self.0.clone(), inner })
    }
}

#[derive(Debug)]
struct Connected<B> {
    between: B,
    inner: SharedHttpConnector,
}

impl<B: Between> HttpConnector for Connected<B> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.between.call(request, &self.inner)
    }
}

/// An answer as a service would give it; without a body if that is null.
pub fn answer(status: u16, body: &Value) -> HttpResponse {
    let status = StatusCode::try_from(status).expect("a status");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    HttpResponse::new(status, SdkBody::from(body))
}
