//! A flaky line between the SDK and real services: some calls fail before they arrive, some after
//! they were executed, some are throttled.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use serde_json::{Value, json};

use crate::embedded;
use crate::line::{Between, answer};

/// A line on which calls fail now and then.
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
    /// A line over `inner` of whose calls `rate` in a thousand fail.
    pub fn new(inner: SharedHttpClient, rate: u32) -> Flaky {
        Flaky { inner, trouble: Trouble::Rate(rate), seen: Arc::default() }
    }

    /// A line over `inner` whose service handles `most` concurrent writes and throttles the
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

impl Between for Flaky {
    fn inner(&self) -> &SharedHttpClient {
        &self.inner
    }

    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let rate = match self.trouble {
            Trouble::Rate(rate) => rate,
            Trouble::Crowd(most) => return self.crowd(request, most, inner),
        };
        if fastrand::u32(0..1000) >= rate {
            return inner.call(request);
        }
        self.note(&request);
        match fastrand::u32(0..3) {
            0 => HttpConnectorFuture::ready(Err(ConnectorError::io("connection reset".into()))),
            1 => busy("ThrottlingException"),
            _ => {
                let answer = inner.call(request);
                HttpConnectorFuture::new(async move {
                    answer.await?;
                    Err(ConnectorError::timeout("no answer".into()))
                })
            }
        }
    }
}

impl Flaky {
    fn crowd(
        &self,
        request: HttpRequest,
        most: usize,
        inner: &SharedHttpConnector,
    ) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let is_write = ["PutItem", "UpdateItem", "BatchExecuteStatement"]
            .iter()
            .any(|write| target.ends_with(write));
        if !is_write {
            return inner.call(request);
        }
        if !self.begin_write(most) {
            return busy("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException");
        }
        let (answer, flaky) = (inner.call(request), self.clone());
        HttpConnectorFuture::new(async move {
            let answer = answer.await;
            flaky.seen.lock().unwrap().writing -= 1;
            answer
        })
    }
}

fn busy(kind: &str) -> HttpConnectorFuture {
    let body = json!({"__type": kind, "message": "slow down"});
    HttpConnectorFuture::ready(Ok(answer(400, &body)))
}
