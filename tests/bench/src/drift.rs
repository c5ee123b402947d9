//! Drift: how late runs arrive at their target, with the rule, the queue and the launcher running.

use std::time::Duration;

use serde_json::json;

use crate::executor::lateness;
use crate::machine::now;
use crate::report::{Goal, Report};
use crate::system::{System, only, text};

/// Seconds a rate is held.
const HELD_S: usize = 15;
/// The tick's look-ahead while a rate is held.
const LOOKAHEAD_MS: &str = "5000";
/// The time between the start and the first fire, in which the tick reads every schedule.
const AHEAD_S: i64 = 6;

/// Measures held rates, and bursts.
pub async fn measure(report: &mut Report, is_quick: bool) {
    for rate in if is_quick { vec![100] } else { vec![100, 300] } {
        held(report, rate).await;
    }
    for burst in if is_quick { vec![1_000] } else { vec![1_000, 10_000] } {
        together(report, burst).await;
    }
}

async fn held(report: &mut Report, rate: usize) {
    // For a rule that ticks every second; the default is for one that ticks every minute.
    let mut system = System::with(&[], &[], &[("LOOKAHEAD_MS", LOOKAHEAD_MS)]).await;
    let first = now() + chrono::Duration::seconds(3);
    system.schedules("held", rate, &text(first), "* * * * * *").await;
    system.functions.ask(json!({"do": "run", "tick_ms": 1000})).await;
    let patience = Duration::from_secs(HELD_S as u64 + 10);
    let arrivals = system.executor.arrivals(rate * HELD_S, patience).await;
    assert!(arrivals.len() >= rate * HELD_S, "{} of {}", arrivals.len(), rate * HELD_S);
    let goal = (rate == 300).then_some(1000.0);
    tell(
        report,
        &format!("drift, {rate} fires/s for {HELD_S} s"),
        &lateness(&arrivals, arrivals.len()),
        goal,
    );
}

async fn together(report: &mut Report, burst: usize) {
    let mut system = System::start(&[], &[]).await;
    let at = now() + chrono::Duration::seconds(AHEAD_S + burst as i64 / 500);
    system.schedules("burst", burst, &text(at), &only(at)).await;
    system.functions.ask(json!({"do": "run", "tick_ms": 1000})).await;
    let arrivals = system.executor.arrivals(burst, Duration::from_secs(90)).await;
    assert_eq!(arrivals.len(), burst, "every run arrives once");
    let goal = (burst == 1000).then_some(1500.0);
    tell(
        report,
        &format!("drift, {burst} in one second"),
        &lateness(&arrivals, arrivals.len()),
        goal,
    );
}

fn tell(report: &mut Report, group: &str, late: &(f64, f64, f64), goal: Option<f64>) {
    report.add(group, "p50", late.0, "ms");
    match goal {
        Some(limit) => report.goal(group, "p99", late.1, "ms", Goal::AtMost(limit)),
        None => report.add(group, "p99", late.1, "ms"),
    }
    report.add(group, "max", late.2, "ms");
}
