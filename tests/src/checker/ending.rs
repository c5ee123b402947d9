//! When all is quiet every run has ended, no slot is held, the ledger explains every fire, and the
//! statistics are the sums of the records.

use chrono::Duration;
use serde_json::{Value, json};

use super::history::{History, Run, Schedule};
use super::{Kind, Violation, blame};

/// Recovery looks once a minute at what is over its time. It may be late, and its calls wait.
const RECOVERY_TAKES: Duration = Duration::minutes(10);

/// The API's statistics cover this many of the newest runs.
const STATISTICS_OF: usize = 1000;

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    let due = |run: &&Run| run.run_at <= history.rules.until;
    for run in schedule.runs.iter().filter(due).filter(|run| !run.is_over()) {
        blame(found, Kind::Unended, format!("{} is {}", run.run_id, run.status));
    }
    for run in schedule.runs.iter().filter(|run| run.is_over()) {
        judge_bound(history, run, found);
    }
    for key in &schedule.active {
        let holder = schedule.run(&format!("{}@{key}", schedule.id));
        if holder.is_none_or(Run::is_over) {
            let status = holder.map_or("nowhere", |run| &run.status);
            blame(found, Kind::SlotLeaked, format!("{}@{key} is {status}", schedule.id));
        }
    }
    for unexplained in &schedule.unexplained {
        blame(found, Kind::Unexplained, format!("{}: {unexplained}", schedule.id));
    }
    if let Some(told) = &schedule.stats {
        let counted = count(&schedule.runs);
        for (name, value) in counted.as_object().into_iter().flatten() {
            if told[name] != *value {
                let what = format!("{}: {name} is {}, counted {value}", schedule.id, told[name]);
                blame(found, Kind::Statistics, what);
            }
        }
    }
}

/// A run whose executor never reports ends by itself, although its schedule names no bound.
fn judge_bound(history: &History, run: &Run, found: &mut Vec<Violation>) {
    let execution = history.executions.iter().find(|execution| execution.run_id == run.run_id);
    let Some(execution) = execution.filter(|execution| execution.to.is_none()) else { return };
    let over_at = (execution.from + history.rules.runtime).max(history.rules.calm_at);
    let latest = over_at + RECOVERY_TAKES + history.rules.skew;
    if run.finished_at.is_none_or(|at| at > latest) {
        let ended = run.finished_at.map(|at| at.to_string()).unwrap_or_default();
        let what = format!("{} began at {} and ended at {ended}", run.run_id, execution.from);
        blame(found, Kind::Unended, what);
    }
}

fn count(runs: &[Run]) -> Value {
    let newest = &runs[runs.len().saturating_sub(STATISTICS_OF)..];
    let came_to_something: Vec<_> = newest.iter().filter(|run| !run.was_taken_back()).collect();
    let number = |wanted: &dyn Fn(&Run) -> bool| {
        came_to_something.iter().filter(|run| wanted(run)).count() as u64
    };
    let missed: u64 = came_to_something
        .iter()
        .filter(|run| run.reason.as_deref() == Some("missed"))
        .map(|run| if run.missed.is_some() { run.missed_count } else { 1 })
        .sum();
    let succeeded = number(&|run| run.status == "SUCCESS");
    let failed = number(&|run| run.status == "FAILED" || run.status == "ABANDONED");
    let skipped = number(&|run| run.status == "SKIPPED" && run.reason.as_deref() != Some("missed"));
    let going = number(&|run| run.status == "STARTED");
    json!({
        "total": succeeded + failed + skipped + missed + going,
        "succeeded": succeeded,
        "failed": failed,
        "skipped": skipped,
        "missed": missed,
    })
}
