//! Validation while typing: what an expression means, when it fires, what is odd about it.

use belfry_core::cron::{Cron, DstFold, DstGap, Timetable, Zone};
use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::invalid::{Code, Invalid};
use belfry_core::schedule::house::House;
use belfry_core::schedule::warning::Warning;
use belfry_core::words::{listed, variants};
use chrono::Duration;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::Answer;
use super::input::only;
use super::openapi::requests::VALIDATE;
use super::problem::{Problem, Routed};
use super::request::Request;
use super::timezones::local_text;
use crate::app::App;

/// No preview is longer.
pub(super) const MAX_COUNT: u64 = 100;

/// What an expression means, and what is wrong or odd about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Validation {
    /// Whether a schedule may have this expression and these fields.
    pub(crate) valid: bool,
    /// The next fires.
    pub(crate) next_executions: Vec<Instant>,
    /// The next fires as the clock of the time zone shows them, with its offset.
    #[schemars(with = "Vec<Instant>")]
    pub(crate) local_executions: Vec<String>,
    /// The expression in English; `null` if it is not valid.
    pub(crate) description: Option<String>,
    /// What is allowed and probably not meant.
    pub(crate) warnings: Vec<Warning>,
    /// What is wrong with each field.
    pub(crate) errors: Vec<Invalid>,
}

pub(super) async fn validate(app: &App, request: &Request) -> Routed {
    let body = request.small_object()?;
    let now = app.now();
    let read = read(&body, &app.settings.house, now);
    if let Err(unknown) = only(&body, &VALIDATE) {
        let others = read.err().map(Problem::invalid);
        return Err(Problem::merged([unknown].into_iter().chain(others)));
    }
    let answer = match read {
        Ok(question) => question.answer(now),
        Err(errors) => Validation {
            valid: false,
            next_executions: Vec::new(),
            local_executions: Vec::new(),
            description: None,
            warnings: Vec::new(),
            errors,
        },
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
    let mut form = Form { body, errors: Vec::new() };
    let cron = form.cron();
    let zone = form.zone(house);
    let (start_at, end_at) = (form.time("start_at"), form.time("end_at"));
    let after = form.time("after").unwrap_or(now);
    let gap: Option<DstGap> = form.choice("dst_gap");
    let fold: Option<DstFold> = form.choice("dst_fold");
    let count = form.count();
    if let (Some(start), Some(end)) = (start_at, end_at)
        && end < start
    {
        form.errors.push(Invalid::new("end_at", "must not be before start_at"));
    }
    let (Some(cron), Some(zone), true) = (cron, zone, form.errors.is_empty()) else {
        return Err(form.errors);
    };
    let start = start_at.unwrap_or(instant::whole_second(after));
    Ok(Question {
        timetable: Timetable::new(cron, zone).with_dst(gap, fold).with_anchor(start),
        // A fire at the very start happens.
        after: start_at.map_or(after, |start| after.max(start - Duration::seconds(1))),
        end_at,
        count,
    })
}

/// The fields of the question, and what is wrong with them so far.
struct Form<'a> {
    body: &'a Value,
    errors: Vec<Invalid>,
}

impl<'a> Form<'a> {
    fn given(&self, field: &str) -> Option<&'a Value> {
        self.body.get(field).filter(|value| !value.is_null())
    }

    fn wrong<T>(&mut self, field: &str, message: impl Into<String>) -> Option<T> {
        self.errors.push(Invalid::new(field, message));
        None
    }

    fn text(&mut self, field: &str) -> Option<&'a str> {
        match self.given(field)?.as_str() {
            Some(text) => Some(text),
            None => self.wrong(field, "must be a text"),
        }
    }

    fn cron(&mut self) -> Option<Cron> {
        let field = match self.given("cron_expr") {
            Some(_) => "cron_expr",
            None => "cron_expression",
        };
        let is_in = |name: &str| self.body.get(name).is_some();
        if is_in("cron_expr") && is_in("cron_expression") {
            return self.wrong("cron_expression", "says again what cron_expr says");
        }
        if self.given(field).is_none() {
            self.errors.push(Invalid::required("cron_expr"));
            return None;
        }
        let seed = self.schedule_id();
        let text = self.text(field)?;
        match Cron::parse(text, seed.as_ref().map_or("", ScheduleId::as_str)) {
            Ok(cron) => Some(cron),
            Err(refused) => {
                self.errors.push(Invalid::cron(text, &refused));
                None
            }
        }
    }

    /// Whose expression it is: `H` is worked out from it.
    fn schedule_id(&mut self) -> Option<ScheduleId> {
        match self.text("schedule_id")?.parse() {
            Ok(id) => Some(id),
            Err(problem) => self.wrong("schedule_id", format!("{problem}")),
        }
    }

    fn zone(&mut self, house: &House) -> Option<Zone> {
        let name = match self.given("timezone") {
            None => "UTC",
            Some(_) => self.text("timezone")?,
        };
        match Zone::parse(name) {
            Ok(zone) if house.allows(&zone) => Some(zone),
            Ok(_) => self.wrong_zone("is not allowed in this deployment"),
            Err(unknown) => self.wrong_zone(unknown.to_string()),
        }
    }

    fn wrong_zone(&mut self, message: impl Into<String>) -> Option<Zone> {
        let problem = Invalid::new("timezone", message);
        self.errors.push(problem.coded(Code::InvalidTimezone));
        None
    }

    fn time(&mut self, field: &str) -> Option<Instant> {
        match instant::parse(self.text(field)?) {
            Some(at) => Some(at),
            None => self.wrong(field, "must be an RFC 3339 time, such as 2026-11-16T09:00:00Z"),
        }
    }

    fn choice<T: DeserializeOwned>(&mut self, field: &str) -> Option<T> {
        match serde_json::from_value(self.given(field)?.clone()) {
            Ok(choice) => Some(choice),
            Err(_) => self.wrong(field, format!("must be {}", listed(variants::<T>()))),
        }
    }

    fn count(&mut self) -> usize {
        let count = match self.given("count") {
            None => Some(5),
            Some(value) => value.as_u64().filter(|count| *count <= MAX_COUNT),
        };
        match count {
            Some(count) => count as usize,
            None => {
                let message = format!("must be a number from 0 to {MAX_COUNT}");
                self.errors.push(Invalid::new("count", message));
                0
            }
        }
    }
}

impl Question {
    fn answer(&self, now: Instant) -> Validation {
        let zone = self.timetable.zone();
        let next: Vec<_> = self
            .timetable
            .fires_after(self.after)
            .take_while(|at| self.end_at.is_none_or(|end| *at <= end))
            .take(self.count)
            .collect();
        Validation {
            valid: true,
            local_executions: next.iter().map(|at| local_text(&zone, *at)).collect(),
            next_executions: next,
            description: Some(self.timetable.cron().describe(&zone)),
            warnings: self.timetable.warnings(now).into_iter().map(Warning::from).collect(),
            errors: Vec::new(),
        }
    }
}
