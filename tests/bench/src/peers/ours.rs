//! Ours: tick and launcher in one process, the embedded services in another, stored in files as by
//! `belfry dev`. Each fire is a signed HTTP request to a target in a third.

use std::time::Duration;

use serde_json::json;

use super::{Limit, Result, due};
use crate::executor::lateness;
use crate::machine::{self, now};
use crate::system::{System, only, text};

/// Schedules it creates per second, a cautious estimate.
const RATE: usize = 1000;

/// Runs it.
pub async fn measure(count: usize) -> Result {
    let data = "target/bench/belfry";
    let _ = std::fs::remove_dir_all(data);
    std::fs::create_dir_all(data).expect("a folder");
    let mut system = System::start(&["--data", data], &[]).await;
    let at = due(count, RATE);
    system.schedules("due", count, &text(at), &only(at)).await;
    let before = system.cpu();
    system.functions.ask(json!({"do": "run", "tick_ms": 1000})).await;
    let until = (at - now()).to_std().unwrap_or_default();
    tokio::time::sleep(until).await;
    let from_then = Used::by(&system);
    let arrivals = system.executor.arrivals(count, Duration::from_secs(120)).await;
    assert_eq!(arrivals.len(), count, "every run arrives once");
    let arrived = Used::by(&system);
    let handled = system.services.ask(json!({"do": "handled"})).await;
    let used = system.cpu();
    let cpu = (used.0 - before.0, used.1 - before.1);
    let since = Used::by(&system);
    let memory = (system.functions.peak_memory(), system.services.peak_memory());
    let recorded = system.services.ask(json!({"do": "recorded"})).await;
    assert_eq!(recorded["runs"], count, "every run is recorded as over");
    let last: chrono::DateTime<chrono::Utc> =
        handled["at"].as_str().and_then(|last| last.parse().ok()).expect("a time");
    let seconds = (last - at).num_milliseconds() as f64 / 1000.0;
    let late = lateness(&arrivals, count);
    let limit = Limit {
        busy: (since.database - from_then.database).as_secs_f64() / seconds,
        without: count as f64 / since.besides_database(&from_then),
        late: late.1.min(arrived.besides_database(&from_then) * 1000.0),
    };
    Result { name: "Belfry".to_owned(), lost: 0, seconds, late, cpu, memory, limit: Some(limit) }
}

/// The CPU time used so far.
struct Used {
    database: Duration,
    all: Duration,
}

impl Used {
    /// Seconds that everything but the database would take for the work done since, on all cores.
    fn besides_database(&self, since: &Used) -> f64 {
        let (all, database) = (self.all - since.all, self.database - since.database);
        all.saturating_sub(database).as_secs_f64().max(0.01) / machine::cores() as f64
    }

    fn by(system: &System) -> Used {
        let database = machine::cpu_of_threads(system.services.pid(), "dynamodb");
        let target = machine::cpu(std::process::id());
        Used { database, all: system.functions.cpu() + system.services.cpu() + target }
    }
}
