//! A flaky line between the SDK and real services: some calls fail before they arrive, some after
//! they were executed, some are throttled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;

use crate::embedded;

/// An HTTP client for the SDK that fails now and then.
#[derive(Clone, Debug)]
pub struct Flaky {
    inner: SharedHttpClient,
    trouble: Trouble,
    seen: Arc<Mutex<Seen>>,
}

/// When calls fail.
#[derive(Clone, Copy, Debug)]
enum Trouble {
    /// This many in a thousand.
    Rate(u32),
    /// Writes are throttled while this many are in progress.
    Crowd(usize),
}

#[derive(Debug, Default)]
struct Seen {
    faults: u64,
    writing: usize,
    writes: Vec<bool>,
    runs: HashSet<String>,
}

impl Flaky {
    /// A client over `inner` of whose calls `rate` in a thousand fail.
    pub fn new(inner: SharedHttpClient, rate: u32) -> Flaky {
        Flaky { inner, trouble: Trouble::Rate(rate), seen: Arc::default() }
    }

    /// A client over `inner` whose service handles `most` concurrent writes and throttles the
    /// others.
    pub fn crowded(inner: SharedHttpClient, most: usize) -> Flaky {
        Flaky { inner, trouble: Trouble::Crowd(most), seen: Arc::default() }
    }

    /// For each write so far, whether it was throttled.
    pub fn throttles(&self) -> Vec<bool> {
        self.seen.lock().unwrap().writes.clone()
    }

    /// Begins a write, if the service can handle one more.
    fn begin_write(&self, most: usize) -> bool {
        let mut seen = self.seen.lock().unwrap();
        let has_room = seen.writing < most;
        seen.writing += usize::from(has_room);
        seen.faults += u64::from(!has_room);
        seen.writes.push(!has_room);
        has_room
    }

    /// How many calls failed.
    pub fn faults(&self) -> u64 {
        self.seen.lock().unwrap().faults
    }

    /// Whether the write of a run's record failed, as far as its writer knows.
    pub fn struck(&self, run_id: &str) -> bool {
        self.seen.lock().unwrap().runs.contains(run_id)
    }

    fn note(&self, request: &HttpRequest) {
        let body = request.body().bytes().unwrap_or_default();
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut seen = self.seen.lock().unwrap();
        seen.faults += 1;
        let statements = embedded::statements(&body).into_iter().map(|(_, key)| key);
        for key in statements.chain([body["Key"].clone()]) {
            let text = |name: &str| key[name]["S"].as_str().unwrap_or_default();
            seen.runs.insert(format!("{}@{}", text("schedule_id"), text("run_at")));
        }
    }
}

impl HttpClient for Flaky {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Line { inner, flaky: self.clone() })
    }
}

#[derive(Debug)]
struct Line {
    inner: SharedHttpConnector,
    flaky: Flaky,
}

impl HttpConnector for Line {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let rate = match self.flaky.trouble {
            Trouble::Rate(rate) => rate,
            Trouble::Crowd(most) => return self.crowd(request, most),
        };
        if fastrand::u32(0..1000) >= rate {
            return self.inner.call(request);
        }
        self.flaky.note(&request);
        match fastrand::u32(0..3) {
            0 => HttpConnectorFuture::ready(Err(ConnectorError::io("connection reset".into()))),
            1 => busy("ThrottlingException"),
            _ => {
                let answer = self.inner.call(request);
                HttpConnectorFuture::new(async move {
                    answer.await?;
                    Err(ConnectorError::timeout("no answer".into()))
                })
            }
        }
    }
}

impl Line {
    fn crowd(&self, request: HttpRequest, most: usize) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let is_write = ["PutItem", "UpdateItem", "BatchExecuteStatement"]
            .iter()
            .any(|write| target.ends_with(write));
        if !is_write {
            return self.inner.call(request);
        }
        if !self.flaky.begin_write(most) {
            return busy("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException");
        }
        let (answer, flaky) = (self.inner.call(request), self.flaky.clone());
        HttpConnectorFuture::new(async move {
            let answer = answer.await;
            flaky.seen.lock().unwrap().writing -= 1;
            answer
        })
    }
}

fn busy(kind: &str) -> HttpConnectorFuture {
    let body = format!(r#"{{"__type":"{kind}","message":"slow down"}}"#);
    let status = StatusCode::try_from(400).expect("a status");
    HttpConnectorFuture::ready(Ok(HttpResponse::new(status, SdkBody::from(body))))
}
