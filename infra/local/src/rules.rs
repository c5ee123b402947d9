//! The rules: call the tick and recovery at a fixed rate, as EventBridge does.

use std::sync::Arc;

use belfry_core::instant::{self, Instant};
use belfry_time::Time;
use chrono::Duration;
use serde_json::{Value, json};
use tracing::error;

use crate::functions::{Function, Functions};
use crate::services::REGION;

/// Calls `function` at every multiple of `rate` for ever. A call that takes longer than `rate`
/// delays the next one; two calls never overlap.
pub async fn run(functions: Functions, function: Function, time: Arc<dyn Time>, rate: Duration) {
    let rate_ms = rate.num_milliseconds().max(1);
    loop {
        let now = time.now();
        if let Err(problem) = functions.invoke(function, event(now)).await {
            error!(function = function.name(), %problem, "function invocation failed");
        }
        let passed = time.now().timestamp_millis();
        let next = (passed / rate_ms + 1) * rate_ms;
        time.sleep_until(Instant::from_timestamp_millis(next).unwrap_or(now + rate)).await;
    }
}

/// The event of a scheduled rule at `now`.
pub fn event(now: Instant) -> Value {
    json!({
        "version": "0",
        "id": format!("rule-{}", now.timestamp_millis()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": instant::text(now),
        "region": REGION,
        "resources": [format!("arn:aws:events:{REGION}:000000000000:rule/belfry")],
        "detail": {},
    })
}
