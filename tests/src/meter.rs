//! A meter between the SDK and the services: counts requests and the capacity units they consume.
//! It can also let each request take time on a test clock, and cut the line after a number of
//! requests.
//!
//! It asks DynamoDB for the units by itself, so that the code under test cannot influence the
//! count.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use aws_smithy_http_client::Builder;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use belfry_time::ManualTime;
use chrono::Duration;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::line::Between;

const WRITES: [&str; 5] =
    ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchExecuteStatement"];

const READS: [&str; 4] = ["GetItem", "BatchGetItem", "Query", "Scan"];

/// Counts the requests on a line.
#[derive(Clone, Debug)]
pub struct Meter {
    inner: SharedHttpClient,
    counts: Arc<Mutex<Counts>>,
    cut: Arc<Notify>,
}

/// A request that contained a watched text.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// How many requests came before it.
    pub before: usize,
    /// Its operation.
    pub operation: String,
    /// The text it contained.
    pub what: String,
}

#[derive(Debug, Default)]
struct Counts {
    requests: BTreeMap<String, usize>,
    write_units: f64,
    read_units: f64,
    total: usize,
    toll: Option<(ManualTime, Duration)>,
    cut_after: Option<usize>,
    watched: Vec<String>,
    sightings: Vec<Sighting>,
}

impl Meter {
    /// A meter at zero.
    #[expect(clippy::new_without_default, reason = "only tests that count create a meter")]
    pub fn new() -> Meter {
        Meter { inner: Builder::new().build_http(), counts: Arc::default(), cut: Arc::default() }
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

    /// Counts from zero again, and drops all its other instructions.
    pub fn reset(&self) {
        *self.counts.lock().unwrap() = Counts::default();
    }

    /// Lets each request take this long.
    pub fn charge(&self, time: &ManualTime, each: Duration) {
        self.counts.lock().unwrap().toll = Some((time.clone(), each));
    }

    /// Answers no request after this many more.
    pub fn cut_after(&self, requests: usize) {
        let mut counts = self.counts.lock().unwrap();
        counts.cut_after = Some(counts.total + requests);
    }

    /// Runs `work` until the line is cut; returns `None` if it was cut.
    pub async fn until_cut<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.cut.notified() => None,
        }
    }

    /// Records every request that contains this text, too.
    pub fn watch(&self, what: &str) {
        self.counts.lock().unwrap().watched.push(what.to_owned());
    }

    /// The requests that contained a watched text.
    pub fn sightings(&self) -> Vec<Sighting> {
        self.counts.lock().unwrap().sightings.clone()
    }

    /// Counts a request; returns whether it gets through.
    fn note(&self, operation: &str, body: &[u8]) -> bool {
        let mut counts = self.counts.lock().unwrap();
        *counts.requests.entry(operation.to_owned()).or_default() += 1;
        if !counts.watched.is_empty() {
            let (before, text) = (counts.total, String::from_utf8_lossy(body));
            let named = counts.watched.iter().filter(|what| text.contains(what.as_str()));
            let operation = operation.to_owned();
            let seen = |what: &String| Sighting {
                before,
                operation: operation.clone(),
                what: what.clone(),
            };
            let seen: Vec<_> = named.map(seen).collect();
            counts.sightings.extend(seen);
        }
        counts.total += 1;
        if let Some((time, each)) = &counts.toll {
            time.advance(*each);
        }
        counts.cut_after.is_none_or(|most| counts.total <= most)
    }
}

impl Between for Meter {
    fn inner(&self) -> &SharedHttpClient {
        &self.inner
    }

    fn call(&self, mut request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default().to_owned();
        let operation = target.rsplit('.').next().unwrap_or_default().to_owned();
        if !self.note(&operation, request.body().bytes().unwrap_or_default()) {
            self.cut.notify_one();
            return HttpConnectorFuture::new(std::future::pending());
        }
        let is_write = WRITES.contains(&operation.as_str());
        let is_read = READS.contains(&operation.as_str());
        if !target.starts_with("DynamoDB") || !(is_write || is_read) {
            return inner.call(request);
        }
        let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        body["ReturnConsumedCapacity"] = json!("INDEXES");
        let body = body.to_string();
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
        let (inner, counts) = (inner.clone(), self.counts.clone());
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
            // A write whose condition fails costs the same units.
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
