//! Fires: throughput of one tick and of the launch path, and the CPU time of a fire.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::machine::now;
use crate::report::Report;
use crate::system::{System, only, text};

/// Measures ticks of growing size, and the launches of what a tick of 10,000 emitted.
pub async fn measure(report: &mut Report, is_quick: bool) {
    let sizes: &[usize] = if is_quick { &[1_000] } else { &[1_000, 10_000, 100_000] };
    for due in sizes {
        one(report, *due).await;
    }
}

async fn one(report: &mut Report, due: usize) {
    let mut system = System::start(&[], &[]).await;
    // A warm-up: clients connect and caches fill in the first one.
    system.tick().await;
    let at = now() - chrono::Duration::seconds(10);
    system.schedules("due", due, &text(at), &only(at)).await;
    let before = system.cpu();
    let answer = system.tick().await;
    let used = system.cpu();
    let (ours, theirs) = (used.0 - before.0, used.1 - before.1);
    assert_eq!(answer["emitted"], due, "{answer}");
    let rate = due as f64 / (answer["ms"].as_f64().unwrap_or(1.0) / 1000.0);
    let group = format!("tick, {due} due");
    report.add(&group, "fires", rate, "/s");
    let each = |total: Duration| total.as_secs_f64() * 1e6 / due as f64;
    report.add(&group, "CPU of the tick per fire", each(ours), "µs");
    report.add(&group, "CPU of the embedded services per fire", each(theirs), "µs");
    if due == 100_000 {
        report.add(&group, "peak memory of the tick", system.functions.peak_memory(), "MiB");
        return;
    }
    let before = system.cpu();
    let begin = Instant::now();
    system.functions.ask(json!({"do": "drain"})).await;
    let arrived = system.executor.arrivals(due, Duration::from_secs(120)).await;
    assert_eq!(arrived.len(), due, "every run arrives once");
    let took = begin.elapsed();
    // The last records may still be written.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let used = system.cpu();
    let (ours, theirs) = (used.0 - before.0, used.1 - before.1);
    let group = format!("launch, {due} waiting");
    report.add(&group, "launches", due as f64 / took.as_secs_f64(), "/s");
    report.add(&group, "CPU of the launcher per fire", each(ours), "µs");
    report.add(&group, "CPU of the embedded services per fire", each(theirs), "µs");
}
