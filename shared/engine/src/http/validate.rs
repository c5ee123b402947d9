//! Validation while typing: what an expression means, when it fires, what is odd about it.

use belfry_core::cron::{Cron, Timetable, Zone};
use belfry_core::definition::House;
use belfry_core::instant::{self, Instant};
use belfry_core::invalid::Invalid;
use chrono::Duration;
use serde_json::{Value, json};

use super::problem::Problem;
use super::request::{Answer, Request};
use crate::app::App;

/// No preview is longer.
const MAX_COUNT: u64 = 100;
const FIELDS: [&str; 7] =
    ["cron_expr", "cron_expression", "timezone", "start_at", "end_at", "after", "count"];

pub(super) fn validate(app: &App, request: &Request) -> Result<Answer, Problem> {
    let body = request.small_object(&FIELDS)?;
    let now = app.now();
    let answer = match read(&body, &app.settings.house, now) {
        Ok(question) => question.answer(now),
        Err(errors) => json!({
            "valid": false, "next_executions": [], "description": null, "warnings": [],
            "errors": errors,
        }),
    };
    Ok(Answer::json(200, &answer))
}

struct Question {
    timetable: Timetable,
    after: Instant,
    end_at: Option<Instant>,
    count: usize,
}

fn read(body: &Value, house: &House, now: Instant) -> Result<Question, Vec<Invalid>> {
    let mut errors = Vec::new();
    let given = |field: &str| body.get(field).filter(|value| !value.is_null());
    let text = |field: &str| given(field).map(|value| value.as_str().unwrap_or_default());

    let cron = match text("cron_expr").or_else(|| text("cron_expression")) {
        None => Err(Invalid::new("cron_expr", "is required")),
        Some(text) => Cron::parse(text, "").map_err(|e| Invalid::new("cron_expr", e.to_string())),
    };
    let zone = Zone::parse(text("timezone").unwrap_or("UTC"))
        .map_err(|unknown| Invalid::new("timezone", unknown.to_string()))
        .and_then(|zone| match house.allows(&zone) {
            true => Ok(zone),
            false => Err(Invalid::new("timezone", "is not allowed in this deployment")),
        });
    let mut time = |field: &str| {
        let parsed = text(field).map(instant::parse)?;
        if parsed.is_none() {
            errors.push(Invalid::new(field, "must be an RFC 3339 time"));
        }
        parsed
    };
    let (start_at, end_at, after) = (time("start_at"), time("end_at"), time("after"));
    let count = match given("count") {
        None => Ok(5),
        Some(value) => value
            .as_u64()
            .filter(|count| *count <= MAX_COUNT)
            .ok_or_else(|| Invalid::new("count", format!("must be a number up to {MAX_COUNT}"))),
    };
    match (cron, zone, count) {
        (Ok(cron), Ok(zone), Ok(count)) if errors.is_empty() => {
            let after = after.unwrap_or(now);
            let start = start_at.unwrap_or(instant::whole_second(after));
            Ok(Question {
                timetable: Timetable::new(cron, zone).with_anchor(start),
                // A fire at the very start happens.
                after: start_at.map_or(after, |start| after.max(start - Duration::seconds(1))),
                end_at,
                count: count as usize,
            })
        }
        (cron, zone, count) => {
            errors.extend(cron.err().into_iter().chain(zone.err()).chain(count.err()));
            Err(errors)
        }
    }
}

impl Question {
    fn answer(&self, now: Instant) -> Value {
        let next = self
            .timetable
            .fires_after(self.after)
            .take_while(|at| self.end_at.is_none_or(|end| *at <= end))
            .take(self.count)
            .map(instant::text);
        let warnings = self.timetable.warnings(now).into_iter();
        let warnings = warnings.map(|w| json!({"code": w.code, "message": w.message}));
        json!({
            "valid": true,
            "next_executions": next.collect::<Vec<_>>(),
            "description": self.timetable.cron().describe(&self.timetable.zone()),
            "warnings": warnings.collect::<Vec<_>>(),
            "errors": [],
        })
    }
}
