//! A record comes before its message and moves forward: an ended run does not begin again, and a
//! claim is not taken from its holder.

use std::collections::BTreeMap;

use chrono::Duration;

use super::history::{Call, History, Record, Schedule, is_over, schedule_of};
use super::{Kind, Violation, blame};

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    for run_id in history.sent_early.iter().filter(|id| schedule_of(id) == schedule.id) {
        blame(found, Kind::Record, format!("{run_id}: sent before it was recorded"));
    }
    let mut last: BTreeMap<&str, &Record> = BTreeMap::new();
    for record in history.records.iter().filter(|r| schedule_of(&r.run_id) == schedule.id) {
        let before = last.get(record.run_id.as_str()).copied();
        if before.is_some_and(|b| b.status == record.status && b.attempt == record.attempt) {
            // Another attribute was written; the state is unchanged.
            continue;
        }
        last.insert(&record.run_id, record);
        if let Some(before) = before {
            let taken = before.status == "STARTED"
                && record.status == "STARTED"
                && record.attempt > before.attempt
                && held(before, record) < history.rules.lease - history.rules.skew * 2;
            let risen = is_over(&before.status)
                && !before.cancelled
                && (record.status != before.status || record.attempt != before.attempt);
            if before.status == "STARTED" && record.status == "SUCCESS" {
                judge_end(history, record, found);
            }
            if taken || risen {
                let what = format!(
                    "{}: {} {} at {} became {} {} at {}",
                    record.run_id,
                    before.status,
                    before.attempt,
                    before.at,
                    record.status,
                    record.attempt,
                    record.at
                );
                blame(found, Kind::Record, what);
            }
        }
    }
}

/// A launcher ends a run as successful only after its own call, not after that of an earlier claim.
/// The end of a tracked run is its executor's.
fn judge_end(history: &History, end: &Record, found: &mut Vec<Violation>) {
    let mut calls = history.calls.iter().filter(|call| call.run_id == end.run_id);
    let is_its = |call: &Call| call.tracked || (call.fence == end.attempt && call.until <= end.at);
    if !calls.any(is_its) {
        let what =
            format!("{}: ended at {} before the call of fence {}", end.run_id, end.at, end.attempt);
        blame(found, Kind::Record, what);
    }
}

/// How long a claim was held before the next one.
fn held(before: &Record, next: &Record) -> Duration {
    next.claimed_at.unwrap_or(next.at) - before.claimed_at.unwrap_or(before.at)
}
