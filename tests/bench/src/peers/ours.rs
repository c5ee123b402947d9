//! Ours: tick and launcher in one process, the embedded services in another, in files, as `belfry
//! dev` keeps them. Each fire is a signed HTTP request to a target in a third.

use std::time::Duration;

use serde_json::json;

use super::{Result, due};
use crate::executor::lateness;
use crate::system::{System, only, text};

/// Schedules it makes in a second, on a bad day.
const RATE: usize = 400;

/// Runs it.
pub async fn measure(count: usize) -> Result {
    let data = "target/bench/belfry";
    let _ = std::fs::remove_dir_all(data);
    std::fs::create_dir_all(data).expect("a folder");
    let mut system = System::start(&["--data", data], &[]).await;
    let at = due(count, RATE);
    system.schedules("due", count, &text(at), &only(at)).await;
    let before = (system.functions.cpu(), system.services.cpu());
    system.functions.ask(json!({"do": "run", "tick_ms": 1000})).await;
    let arrivals = system.executor.arrivals(count, Duration::from_secs(120)).await;
    assert_eq!(arrivals.len(), count, "every run arrives once");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let cpu = (system.functions.cpu() - before.0, system.services.cpu() - before.1);
    let memory = (system.functions.peak_memory(), system.services.peak_memory());
    let recorded = system.services.ask(json!({"do": "recorded"})).await;
    assert_eq!(recorded["runs"], count, "every run is recorded as over");
    let last: chrono::DateTime<chrono::Utc> =
        recorded["last"].as_str().and_then(|last| last.parse().ok()).expect("a time");
    Result {
        name: "Belfry".to_owned(),
        seconds: (last - at).num_milliseconds() as f64 / 1000.0,
        late: lateness(&arrivals),
        cpu,
        memory,
    }
}
