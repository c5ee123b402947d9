//! Every fire that a definition certainly had is recorded once, or a summary covers it; every
//! record is of a fire that some definition may have had.

use chrono::Duration;

use super::history::{History, Instant, Run, Schedule};
use super::{Kind, Violation, blame};

pub(super) fn judge(history: &History, schedule: &Schedule, found: &mut Vec<Violation>) {
    for at in required(history, schedule) {
        let own: Vec<_> = of_clock(schedule).filter(|run| run.run_at == at).collect();
        let summed = schedule.runs.iter().any(|run| covers(run, at));
        match own.as_slice() {
            [] if !summed => {
                blame(found, Kind::Lost, format!("{}@{at}: neither run nor summary", schedule.id));
            }
            [run] => judge_reason(history, schedule, run, found),
            _ => {}
        }
    }
    for run in of_clock(schedule).filter(|run| !run.was_taken_back()) {
        if !may_have_had(history, schedule, run.run_at) {
            let what = format!("{} is {}: no definition had it", run.run_id, run.status);
            blame(found, Kind::Unexpected, what);
        }
    }
    for trigger in &schedule.triggers {
        match trigger.run_ids.as_slice() {
            [] => {}
            [id] if schedule.run(id).is_some() => {}
            [id] => blame(found, Kind::Lost, format!("{id}: acknowledged and not recorded")),
            ids => blame(found, Kind::Duplicate, format!("one key, several runs: {ids:?}")),
        }
    }
}

/// The fires that had to happen, whatever the exact instant of each change: those between the
/// answer to one change and the request for the next, less the largest clock error.
pub(super) fn required(history: &History, schedule: &Schedule) -> Vec<Instant> {
    let margin = history.rules.skew + Duration::seconds(1);
    let mut fires = Vec::new();
    let ends = schedule.changes.iter().skip(1).map(|next| next.from);
    let ends = ends.chain([history.rules.until + margin]);
    for (change, end) in schedule.changes.iter().zip(ends) {
        let Some(definition) = change.definition.as_ref().filter(|d| !d.paused) else { continue };
        let last = (end - margin).min(definition.end_at).min(history.rules.until);
        let timetable = definition.timetable(&schedule.id);
        fires.extend(timetable.fires_after(change.to + margin).take_while(|at| *at <= last));
    }
    fires
}

/// A fire that had to happen may be skipped, but only for a reason that existed.
fn judge_reason(history: &History, schedule: &Schedule, run: &Run, found: &mut Vec<Violation>) {
    let rules = &history.rules;
    let reason = run.reason.as_deref().unwrap_or_default();
    let asked_by_then = |wanted: &dyn Fn(&super::Change) -> bool| {
        let until = run.finished_at.map_or(rules.until, |at| at + rules.skew);
        schedule.changes.iter().any(|change| change.from <= until && wanted(change))
    };
    let is_right = match (run.status.as_str(), reason) {
        // By the tick, when it recorded the fire, or by the launcher that a fire sent ahead reached
        // too late.
        ("SKIPPED", "missed") => {
            run.finished_at.unwrap_or(run.enqueued_at) - run.run_at >= rules.grace - rules.skew * 2
        }
        ("SKIPPED", "overlap") => {
            schedule.changes.iter().flat_map(|c| &c.definition).any(|d| d.overlap_policy != "allow")
        }
        ("SKIPPED", "paused") => {
            asked_by_then(&|c| c.definition.as_ref().is_some_and(|d| d.paused))
        }
        ("SKIPPED", "deleted") => asked_by_then(&|c| c.definition.is_none()),
        ("SKIPPED", "superseded") => asked_by_then(&|c| {
            c.definition.as_ref().is_some_and(|d| !d.has(&schedule.id, run.run_at))
        }),
        // Recovered in vain, or found when it must not be launched any more.
        ("ABANDONED", _) => {
            run.recoveries > 0 || asked_by_then(&|c| c.definition.as_ref().is_none_or(|d| d.paused))
        }
        _ => true,
    };
    if !is_right {
        let what = format!("{} is {} {reason}: nothing explains it", run.run_id, run.status);
        blame(found, Kind::Unexpected, what);
    }
}

/// A fire belongs to the definition in force at its time. The search is generous: it allows the
/// largest clock error, and as early as jitter may start the fire, before a change that would have
/// taken it back.
fn may_have_had(history: &History, schedule: &Schedule, at: Instant) -> bool {
    let margin = history.rules.skew + Duration::seconds(1);
    let definitions = schedule.changes.iter().flat_map(|change| &change.definition);
    let jitter = definitions.map(|definition| definition.jitter_ms).max().unwrap_or(0);
    let early = margin + Duration::milliseconds(jitter);
    schedule.in_force(at - early, at + margin).any(|d| d.has(&schedule.id, at))
}

fn of_clock(schedule: &Schedule) -> impl Iterator<Item = &Run> {
    schedule.runs.iter().filter(|run| run.cause.is_none())
}

fn covers(run: &Run, at: Instant) -> bool {
    run.missed.is_some_and(|(first, last)| first <= at && at <= last)
}
