//! A schedule as the API shows it: what the user wrote and what follows from it now.

use belfry_cron::Timetable;
use serde_json::{Map, Value, json};

use crate::instant::{self, Instant};
use crate::schedule::definition::{Definition, object};
use crate::schedule::warning::Warning;
use crate::schedule::{Catchup, Clock, Overlap, Spec, Status};

/// How many coming fires an answer shows.
const SHOWN: usize = 5;

/// The schedule at `now`, without what its runs say; `is_going` is whether one of them is.
pub fn schedule(clock: &Clock, spec: &Spec, is_going: bool, now: Instant) -> Map<String, Value> {
    let mut fields = object(&Definition::of(clock, spec).document());
    let status = clock.status(now, is_going);
    let upcoming = match status {
        Status::Active | Status::Pending => upcoming(clock, now, SHOWN),
        _ => Vec::new(),
    };
    let derived = json!({
        "schedule_id": clock.schedule_id,
        "user_id": clock.owner,
        "status": status,
        "next_run_at": upcoming.first(),
        "next_runs": upcoming,
        "warnings": warnings(clock, spec, now),
        "cron_description": description(clock),
        "pause_note": spec.pause_note,
        "pause_until": spec.pause_until.map(instant::text),
        "set": spec.set,
        "revision": clock.revision,
        "created_at": instant::observed_text(clock.created_at),
        "updated_at": instant::observed_text(spec.updated_at),
    });
    fields.extend(object(&derived));
    fields
}

/// The next fires of the definition after `now`, paused or not.
pub fn upcoming(clock: &Clock, now: Instant, count: usize) -> Vec<String> {
    let Ok(readable) = clock.read() else { return Vec::new() };
    let mut after = now;
    let next = || {
        after = clock.timing.next_after(&readable.timetable, after)?;
        Some(instant::text(after))
    };
    std::iter::from_fn(next).take(count).collect()
}

fn description(clock: &Clock) -> Option<String> {
    if clock.timing.is_silent() {
        return Some("Only when the schedule it follows succeeds".to_owned());
    }
    clock.read().ok().map(|readable| readable.timetable.cron().describe(&readable.timetable.zone()))
}

fn warnings(clock: &Clock, spec: &Spec, now: Instant) -> Vec<Warning> {
    let readable = match clock.read() {
        Ok(readable) => readable,
        Err(problem) => {
            let message = format!("the stored expression is no longer understood: {problem}");
            return vec![Warning::new("unreadable_cron", message)];
        }
    };
    let mut warnings = Vec::new();
    if readable.zone_lost {
        let message = format!("{} is unknown; UTC is used", clock.timing.timezone);
        warnings.push(Warning::new("unknown_zone", message));
    }
    if !clock.timing.is_silent() {
        warnings.extend(window(clock, &readable.timetable, spec.updated_at));
        warnings.extend(readable.timetable.warnings(now).into_iter().map(Warning::from));
    }
    let policies = &clock.policies;
    if policies.overlap_policy == Overlap::Skip
        && policies.catchup_policy == Catchup::FireImmediately
    {
        let message = "missed fires are caught up all at once, and `skip` skips those that arrive \
                       while one of them runs; `spread` or `queue` launch them all";
        warnings.push(Warning::new("catchup_overlaps", message));
    }
    let options = &spec.options;
    if options.alert_to.is_some() && options.alert_after_failures.is_none() {
        let message = "no alert is sent: `alert_to` is set and `alert_after_failures` is not";
        warnings.push(Warning::new("alert_without_limit", message));
    }
    warnings
}

/// A window in which the schedule, saved at `saved_at`, will never fire.
fn window(clock: &Clock, timetable: &Timetable, saved_at: Instant) -> Option<Warning> {
    let end = clock.timing.end_at?;
    if end < saved_at {
        return Some(Warning::new("ended", "`end_at` is in the past: the schedule never fires"));
    }
    let has_fire = clock.timing.next_after(timetable, saved_at).is_some();
    let message = "there is no fire between `start_at` and `end_at`: the schedule never fires";
    (!has_fire).then(|| Warning::new("empty_window", message))
}
