//! A meter between the SDK and the services: counts requests and the units they consume.
//!
//! It asks DynamoDB for the units by itself, so that the code under test has no say in the count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_smithy_http_client::Builder;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use serde_json::{Value, json};

const WRITES: [&str; 5] =
    ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchExecuteStatement"];

const READS: [&str; 3] = ["GetItem", "BatchGetItem", "Query"];

/// An HTTP client for the SDK that counts.
#[derive(Clone, Debug)]
pub struct Meter {
    inner: SharedHttpClient,
    counts: Arc<Mutex<Counts>>,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<String, usize>,
    write_units: f64,
    read_units: f64,
}

impl Meter {
    /// A meter at zero.
    #[expect(clippy::new_without_default, reason = "a meter is made on purpose")]
    pub fn new() -> Meter {
        Meter { inner: Builder::new().build_http(), counts: Arc::default() }
    }

    /// Requests since the last reset, by operation.
    pub fn requests(&self) -> BTreeMap<String, usize> {
        self.counts.lock().unwrap().requests.clone()
    }

    /// Write units since the last reset, indexes included.
    pub fn write_units(&self) -> f64 {
        self.counts.lock().unwrap().write_units
    }

    /// Read units since the last reset.
    pub fn read_units(&self) -> f64 {
        self.counts.lock().unwrap().read_units
    }

    /// Counts from zero again.
    pub fn reset(&self) {
        *self.counts.lock().unwrap() = Counts::default();
    }
}

impl HttpClient for Meter {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Metered { inner, counts: self.counts.clone() })
    }
}

#[derive(Debug)]
struct Metered {
    inner: SharedHttpConnector,
    counts: Arc<Mutex<Counts>>,
}

impl HttpConnector for Metered {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        *self.counts.lock().unwrap().requests.entry(operation.clone()).or_default() += 1;
        let is_write = WRITES.contains(&operation.as_str());
        let is_read = READS.contains(&operation.as_str());
        if !target.starts_with("DynamoDB") || !(is_write || is_read) {
            return self.inner.call(request);
        }
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        body["ReturnConsumedCapacity"] = json!("INDEXES");
        let body = body.to_string();
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        let (inner, counts) = (self.inner.clone(), self.counts.clone());
        HttpConnectorFuture::new(async move {
            let mut response: HttpResponse = inner.call(request).await?;
            let body = ByteStream::new(response.take_body()).collect().await;
            let body = body.map_err(|e| ConnectorError::other(e.into(), None))?.to_vec();
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            let consumed = match &answer["ConsumedCapacity"] {
                Value::Array(all) => all.clone(),
                one => vec![one.clone()],
            };
            let units: f64 = consumed.iter().filter_map(|c| c["CapacityUnits"].as_f64()).sum();
            // A write whose condition fails costs what it would have cost.
            let failed = if response.status().is_success() { 0.0 } else { 1.0 };
            let statements = answer["Responses"].as_array().into_iter().flatten();
            let refused = statements.filter(|statement| statement["Error"].is_object()).count();
            let mut counts = counts.lock().unwrap();
            match is_write {
                true => counts.write_units += units + failed + refused as f64,
                false => counts.read_units += units,
            }
            drop(counts);
            *response.body_mut() = SdkBody::from(body);
            Ok(response)
        })
    }
}
