//! An acknowledged change is obeyed: a run claimed after the answer belongs to a definition that
//! may still hold then, including its payload.

use super::history::{Call, History, Instant, Schedule};
use super::{Kind, Violation, blame};

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    for call in schedule.calls(history) {
        let Some(run) = schedule.run(&call.run_id) else {
            blame(found, Kind::Record, format!("{}: launched and not recorded", call.run_id));
            continue;
        };
        let claimed_at = claimed_at(history, call);
        let holding: Vec<_> = schedule.in_force(claimed_at, claimed_at).collect();
        let by_hand = run.cause.is_some();
        let has_it =
            holding.iter().any(|d| by_hand || (!d.paused && d.has(&schedule.id, run.run_at)));
        if !has_it {
            let what = format!("{} claimed at {claimed_at}, launched at {}", run.run_id, call.at);
            blame(found, Kind::Disobeyed, what);
        } else if !by_hand && !holding.iter().any(|d| d.payload == call.payload) {
            let what = format!(
                "{} claimed at {claimed_at} with payload {} of an old definition",
                run.run_id, call.payload
            );
            blame(found, Kind::Disobeyed, what);
        }
    }
}

/// When the claim that led to a call was written. From then on the run is being launched, and a
/// later change cannot take it back.
fn claimed_at(history: &History, call: &Call) -> Instant {
    let claim = history.records.iter().rev().find(|record| {
        record.run_id == call.run_id
            && record.status == "STARTED"
            && record.attempt == call.fence
            && record.at <= call.at
    });
    claim.map_or(call.at, |claim| claim.at)
}
