//! A record moves forward: an ended run does not begin again, and a claim is not taken from its
//! holder.

use std::collections::BTreeMap;

use chrono::Duration;

use super::history::{History, Record, Schedule, is_over, schedule_of};
use super::{Kind, Violation, blame};

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
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

/// How long a claim was held before the next one.
fn held(before: &Record, next: &Record) -> Duration {
    next.claimed_at.unwrap_or(next.at) - before.claimed_at.unwrap_or(before.at)
}
