//! The target of every launch: accepts it and records the time of its arrival.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::machine::now;

/// When a run was scheduled, and when it arrived.
pub type Arrival = (DateTime<Utc>, DateTime<Utc>);

/// An HTTP target on loopback.
#[derive(Clone)]
pub struct Executor {
    /// Its URL.
    pub url: String,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Executor {
    /// Starts a target.
    pub async fn start() -> Executor {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}/run", listener.local_addr().expect("its address"));
        let executor = Executor { url, arrivals: Arc::default() };
        let router = Router::new().fallback(answer).with_state(executor.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        executor
    }

    /// The arrivals, once there are `count`, or when `patience` is over.
    pub async fn arrivals(&self, count: usize, patience: Duration) -> Vec<Arrival> {
        let end = tokio::time::Instant::now() + patience;
        loop {
            let arrived = self.arrivals.lock().expect("a lock that no panic poisoned").len();
            if arrived >= count || tokio::time::Instant::now() > end {
                return self.arrivals.lock().expect("a lock that no panic poisoned").clone();
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn answer(State(executor): State<Executor>, body: Bytes) -> &'static str {
    let at = now();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let run_id = body["metadata"]["run_id"].as_str().unwrap_or_default();
    let planned = run_id.split('@').nth(1).and_then(|text| text.parse().ok());
    executor
        .arrivals
        .lock()
        .expect("a lock that no panic poisoned")
        .push((planned.unwrap_or(at), at));
    "{}"
}

/// How late `count` arrivals were, in milliseconds: median, 99th percentile, maximum. A missing
/// arrival counts as infinitely late.
pub fn lateness(arrivals: &[Arrival], count: usize) -> (f64, f64, f64) {
    let mut late: Vec<f64> = arrivals
        .iter()
        .map(|(planned, at)| (*at - *planned).num_microseconds().unwrap_or(0) as f64 / 1000.0)
        .collect();
    late.resize(count.max(late.len()), f64::INFINITY);
    late.sort_by(f64::total_cmp);
    (rank(&late, 50), rank(&late, 99), rank(&late, 100))
}

/// A percentile of sorted values.
pub fn rank(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(place).copied().unwrap_or(0.0)
}
