//! A run is launched once, unless it was impossible to know whether the first launch succeeded.

use super::history::{Answer, Call, History, Schedule};
use super::{Kind, Violation, blame};

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    let mut calls: Vec<_> = schedule.calls(history).collect();
    calls.sort_by(|a, b| a.run_id.cmp(&b.run_id));
    for of_run in calls.chunk_by(|a, b| a.run_id == b.run_id) {
        if of_run.iter().any(|call| call.key != of_run[0].key) {
            blame(found, Kind::Duplicate, format!("{}: several keys", of_run[0].run_id));
        }
        for pair in of_run.windows(2) {
            if !was_needed(pair[0]) {
                let what = format!(
                    "{}: fence {} at {} accepted, fence {} at {} again",
                    pair[0].run_id, pair[0].fence, pair[0].at, pair[1].fence, pair[1].at
                );
                blame(found, Kind::Duplicate, what);
            }
        }
    }
    for run in &schedule.runs {
        let mut own = schedule.calls(history).filter(|call| call.run_id == run.run_id);
        let problem = match run.status.as_str() {
            "SUCCESS" if own.next().is_none() => "a success that was never launched",
            "SKIPPED" if own.any(|call| call.answer == Answer::Accepted) => "launched, yet skipped",
            _ => continue,
        };
        blame(found, Kind::Record, format!("{}: {problem}", run.run_id));
    }
}

/// Whether a second call for a run was unavoidable: the first did not get through, or its caller had
/// trouble before it could record the answer.
fn was_needed(first: &Call) -> bool {
    match first.answer {
        Answer::Refused | Answer::Lost | Answer::AcceptedThenTrouble => true,
        Answer::Accepted => false,
    }
}
