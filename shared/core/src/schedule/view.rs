//! A schedule as the API shows it: what the user wrote and what follows from it now.

use serde_json::{Value, json};

use crate::instant::{self, Instant};
use crate::schedule::definition::{Definition, object};
use crate::schedule::{Clock, Spec, Status};

/// How many coming fires an answer shows.
const SHOWN: usize = 5;

/// The schedule at `now`.
pub fn schedule(clock: &Clock, spec: &Spec, now: Instant) -> Value {
    let mut fields = object(&Definition::of(clock, spec).document());
    let status = clock.status(now);
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
        "last_run_at": clock.last_run_at.map(instant::text),
        "last_run_id": clock.last_run_id,
        "warnings": warnings(clock, now),
        "cron_description": description(clock),
        "pause_note": spec.pause_note,
        "pause_until": spec.pause_until.map(instant::text),
        "set": spec.set,
        "revision": clock.revision,
        "created_at": clock.created_at,
        "updated_at": spec.updated_at,
    });
    fields.extend(object(&derived));
    Value::Object(fields)
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

fn warnings(clock: &Clock, now: Instant) -> Vec<Value> {
    match clock.read() {
        Err(problem) => vec![json!({
            "code": "unreadable_cron",
            "message": format!("the stored expression is no longer understood: {problem}"),
        })],
        Ok(readable) => {
            let lost = readable.zone_lost.then(|| {
                json!({
                    "code": "unknown_zone",
                    "message": format!("{} is unknown; UTC is used", clock.timing.timezone),
                })
            });
            let from_cron = match clock.timing.is_silent() {
                true => Vec::new(),
                false => readable.timetable.warnings(now),
            };
            lost.into_iter()
                .chain(from_cron.into_iter().map(|w| json!({"code": w.code, "message": w.message})))
                .collect()
        }
    }
}
