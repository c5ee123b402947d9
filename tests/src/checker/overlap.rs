//! No more concurrent runs than the policy allows, as executors see it; under `queue`, in order.

use super::history::{Call, History, Instant, Schedule};
use super::{Kind, Violation, blame};

/// A run as its executor saw it, from its first effective call to its end.
struct Going<'a> {
    run_id: &'a str,
    from: Instant,
    to: Instant,
    /// Whether its policy gives it a slot.
    counted: bool,
}

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    let going = going(history, schedule);
    for one in going.iter().filter(|one| one.counted) {
        let at_once = going
            .iter()
            .filter(|other| other.counted && other.run_id != one.run_id)
            .filter(|other| other.from <= one.from && one.from < other.to)
            .count();
        let may = schedule.in_force(one.from - history.rules.lease, one.from);
        let may = may.map(|d| d.max_concurrent).max().unwrap_or(usize::MAX);
        if at_once >= may {
            let what = format!("{} began at {} beside {at_once}", one.run_id, one.from);
            blame(found, Kind::Overlap, what);
        }
    }
    let is_strict = |c: &super::Change| {
        c.definition.as_ref().is_none_or(|d| d.overlap_policy == "queue" && d.max_concurrent == 1)
    };
    if schedule.changes.iter().all(is_strict) {
        judge_order(history, schedule, &going, found);
    }
}

/// A run begins after every earlier one that was recorded before it began.
fn judge_order(
    history: &History,
    schedule: &Schedule,
    going: &[Going<'_>],
    found: &mut Vec<Violation>,
) {
    for pair in going.windows(2) {
        let [before, after] = pair else { continue };
        let (Some(first), Some(second)) = (schedule.run(before.run_id), schedule.run(after.run_id))
        else {
            continue;
        };
        let by_hand = first.cause.is_some() || second.cause.is_some();
        let key = |run_id: &str| run_id.split('@').nth(1).unwrap_or_default().to_owned();
        let recorded_before = second.enqueued_at < before.from - history.rules.skew * 2;
        if !by_hand && key(after.run_id) < key(before.run_id) && recorded_before {
            let what = format!("{} began before {}", before.run_id, after.run_id);
            blame(found, Kind::Order, what);
        }
    }
}

/// In the order they began.
fn going<'a>(history: &'a History, schedule: &'a Schedule) -> Vec<Going<'a>> {
    let mut going: Vec<Going<'a>> = Vec::new();
    let execution = |run_id: &str| history.executions.iter().find(|e| e.run_id == run_id);
    for call in schedule.calls(history).filter(|call| call.effective) {
        if going.iter().any(|known| known.run_id == call.run_id) {
            continue;
        }
        let run = schedule.run(&call.run_id);
        let (from, to) = match execution(&call.run_id) {
            Some(execution) => (execution.from, execution.to.unwrap_or(history.rules.until)),
            None => (call.at, call.until),
        };
        // An abandoned or timed-out run has no slot any more, whatever its executor still does.
        let given_up = run.filter(|run| run.is_over()).and_then(|run| run.finished_at);
        let to = given_up.map_or(to, |at| to.min(at - history.rules.skew));
        going.push(Going { run_id: &call.run_id, from, to, counted: is_counted(schedule, call) });
    }
    going.sort_by_key(|one| one.from);
    going
}

/// Whether a run was launched under a policy with slots, whichever definition held.
fn is_counted(schedule: &Schedule, call: &Call) -> bool {
    let own = schedule.run(&call.run_id).and_then(|run| run.overlap_policy.as_deref());
    match own {
        Some(policy) => policy != "allow",
        None => {
            schedule.changes.iter().flat_map(|c| &c.definition).all(|d| d.overlap_policy != "allow")
        }
    }
}
