//! An executor: an HTTP target that records its requests.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode};
use chrono::{DateTime, Utc};
use serde_json::Value;

/// One request it received.
#[derive(Clone, Debug)]
pub struct Launch {
    /// From the metadata.
    pub run_id: String,
    /// From the header.
    pub key: String,
    /// All headers.
    pub headers: HeaderMap,
    /// The body as it was signed.
    pub text: String,
    /// The parsed body.
    pub body: Value,
    /// When it arrived, by the machine's clock.
    pub at: DateTime<Utc>,
}

/// The status, one header if any, and the body of an answer.
type Said = (u16, Option<(&'static str, String)>, String);
type Answerer = Box<dyn Fn(&Launch) -> Said + Send + Sync>;

/// An HTTP target on loopback.
#[derive(Clone)]
pub struct Executor {
    /// Its URL.
    pub url: String,
    seen: Arc<Mutex<Vec<Launch>>>,
    answerer: Arc<Mutex<Answerer>>,
}

impl Executor {
    /// Starts an executor that accepts everything.
    pub async fn start() -> Executor {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let executor = Executor {
            url: format!("http://{}/run", listener.local_addr().unwrap()),
            seen: Arc::default(),
            answerer: Arc::new(Mutex::new(Box::new(|_| (200, None, "{}".to_owned())))),
        };
        let router = Router::new().fallback(answer).with_state(executor.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        executor
    }

    /// Sets what it answers from now on.
    pub fn answers(&self, answerer: impl Fn(&Launch) -> (u16, String) + Send + Sync + 'static) {
        self.answers_with(move |launch| {
            let (status, body) = answerer(launch);
            (status, None, body)
        });
    }

    /// Sets what it answers from now on, with a header.
    pub fn answers_with(&self, answerer: impl Fn(&Launch) -> Said + Send + Sync + 'static) {
        *self.answerer.lock().unwrap() = Box::new(answerer);
    }

    /// The requests it received, in order.
    pub fn launches(&self) -> Vec<Launch> {
        self.seen.lock().unwrap().clone()
    }

    /// The runs it received, in order.
    pub fn run_ids(&self) -> Vec<String> {
        self.launches().into_iter().map(|launch| launch.run_id).collect()
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "requests that arrive in real time need its timestamp"
)]
async fn answer(
    State(executor): State<Executor>,
    headers: HeaderMap,
    bytes: Bytes,
) -> (StatusCode, HeaderMap, String) {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let body: Value = serde_json::from_str(&text).unwrap();
    let launch = Launch {
        run_id: body["metadata"]["run_id"].as_str().unwrap_or_default().to_owned(),
        key: headers["idempotency-key"].to_str().unwrap().to_owned(),
        headers,
        text,
        body,
        at: std::time::SystemTime::now().into(),
    };
    let (status, header, answer) = (executor.answerer.lock().unwrap())(&launch);
    executor.seen.lock().unwrap().push(launch);
    let named = |(name, value): (&'static str, String)| {
        (HeaderName::from_static(name), value.parse().unwrap())
    };
    (StatusCode::from_u16(status).unwrap(), header.into_iter().map(named).collect(), answer)
}
