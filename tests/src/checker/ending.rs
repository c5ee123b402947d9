//! When all is quiet every run has ended, no slot is held, the ledger explains every fire, and the
//! statistics are the sums of the records.

use serde_json::{Value, json};

use super::history::{History, Run, Schedule};
use super::{Kind, Violation, blame};

/// The API's statistics cover this many of the newest runs.
const STATISTICS_OF: usize = 1000;

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    let due = |run: &&Run| run.run_at <= history.rules.until;
    for run in schedule.runs.iter().filter(due).filter(|run| !run.is_over()) {
        blame(found, Kind::Unended, format!("{} is {}", run.run_id, run.status));
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
