//! A definition: what a user may write of a schedule, read from JSON with every problem named.

use belfry_cron::{Cron, Zone};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::{ScheduleId, WorkflowId};
use crate::invalid::{Code, Invalid};
use crate::schedule::fields::{Absent, Alias, all_written, given, is_read_only};
use crate::schedule::house::House;
use crate::schedule::{Clock, Options, Policies, Spec, Timing};

/// What the user decides of a schedule. Its JSON is what a request may hold after
/// [`fields`](super::fields) has checked it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Which fires exist.
    #[serde(flatten)]
    pub timing: Timing,
    /// What happens to them.
    #[serde(flatten)]
    pub policies: Policies,
    /// What they launch.
    pub workflow_id: WorkflowId,
    /// Which version; the newest one if it was left out.
    pub version: Option<u32>,
    /// Whether it is paused.
    pub paused: bool,
    /// What every run is given.
    pub payload: Value,
    /// What the user added.
    #[serde(flatten)]
    pub options: Options,
}

impl Definition {
    /// Reads a whole definition from a request body.
    pub fn parse(body: &Value, id: &ScheduleId, house: &House) -> Result<Definition, Vec<Invalid>> {
        let mut problems = Vec::new();
        let given = canonical(body, &mut problems).map_err(|problem| vec![problem])?;
        let mut draft = Draft { fields: Map::new(), problems };
        let left = draft.fill_in(given, house);
        draft.check_zone(house);
        draft.check_window();
        draft.check_followed(id);
        draft.check_cron(id);
        draft.check_unknown(&left);
        if !draft.problems.is_empty() {
            return Err(draft.problems);
        }
        serde_json::from_value(Value::Object(draft.fields))
            .map_err(|problem| vec![Invalid::new("", problem.to_string())])
    }

    /// The definition that `body` asks for of a schedule that is paused or not: a whole definition
    /// that does not mention the pause leaves it alone, so that the same request can be sent again
    /// and never resumes.
    pub fn keeping_pause(self, body: &Value, paused: bool) -> Definition {
        if says_paused(body) { self } else { Definition { paused, ..self } }
    }

    /// This definition changed by a merge patch (RFC 7396) and read anew; `null` clears a field.
    pub fn patched(
        &self,
        patch: &Value,
        id: &ScheduleId,
        house: &House,
    ) -> Result<Definition, Vec<Invalid>> {
        let mut problems = Vec::new();
        let patch = canonical(patch, &mut problems).map_err(|problem| vec![problem])?;
        let mut document = self.document();
        merge(&mut document, &Value::Object(patch));
        let patched = Definition::parse(&document, id, house);
        if problems.is_empty() {
            return patched;
        }
        problems.extend(patched.err().into_iter().flatten());
        Err(problems)
    }

    /// The definition as the JSON that [`Definition::parse`] reads, with `null` for what it lacks.
    pub fn document(&self) -> Value {
        let empty = |absent: Absent| match absent {
            Absent::Is(literal) => literal.value(),
            _ => Value::Null,
        };
        let mut document: Map<_, _> =
            all_written().map(|(field, absent)| (field.name.to_owned(), empty(absent))).collect();
        document.extend(object(self));
        if self.timing.is_silent() {
            document.insert("cron_expr".to_owned(), Value::Null);
        }
        Value::Object(document)
    }

    /// What the user decided of a stored schedule.
    pub fn of(clock: &Clock, spec: &Spec) -> Definition {
        Definition {
            timing: clock.timing.clone(),
            policies: clock.policies.clone(),
            workflow_id: clock.workflow_id.clone(),
            version: Some(clock.version),
            paused: clock.paused,
            payload: spec.payload.clone(),
            options: spec.options.clone(),
        }
    }
}

/// Objects that a patch replaces instead of merging into them.
const REPLACED_WHOLE: [&str; 2] = ["payload", "alert_to"];

/// Whether a body contains `paused` or its alias `enabled`.
pub fn says_paused(body: &Value) -> bool {
    given(body, "paused").is_some_and(|value| !value.is_null())
}

/// The fields of `value`, or none if it is not an object.
pub fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A body with every alias replaced by our name. Those that cannot be are added to `problems`.
fn canonical(body: &Value, problems: &mut Vec<Invalid>) -> Result<Map<String, Value>, Invalid> {
    let Some(fields) = body.as_object() else {
        return Err(Invalid::new("", "must be a JSON object"));
    };
    let mut fields = fields.clone();
    for (field, _) in all_written() {
        for alias in field.aliases {
            let Some(value) = fields.remove(alias.name()) else { continue };
            let value = match (alias, value.as_bool()) {
                (Alias::Same(_), _) => value,
                (Alias::Opposite(_), Some(flag)) => json!(!flag),
                (Alias::Opposite(name), None) => {
                    problems.push(Invalid::new(*name, "must be true or false"));
                    continue;
                }
            };
            if fields.insert(field.name.to_owned(), value).is_some() {
                let message = format!("says again what {} says", field.name);
                problems.push(Invalid::new(alias.name(), message));
            }
        }
    }
    Ok(fields)
}

/// RFC 7396, except for what is replaced whole: a payload is the user's data, not ours to merge
/// into, and half of one destination with half of another is none.
fn merge(document: &mut Value, patch: &Value) {
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else { return };
    for (key, value) in patch {
        match (document.get_mut(key), value) {
            (Some(old @ Value::Object(_)), Value::Object(_))
                if !REPLACED_WHOLE.contains(&key.as_str()) =>
            {
                merge(old, value);
            }
            (_, Value::Null) => {
                document.remove(key);
            }
            (_, value) => {
                document.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The fields that were read and are sound by themselves, and the problems of the others.
/// Everything is read before anything is missed: all problems are told at once.
struct Draft {
    fields: Map<String, Value>,
    problems: Vec<Invalid>,
}

impl Draft {
    fn problem(&mut self, field: &str, message: impl Into<String>) {
        self.problems.push(Invalid::new(field, message));
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.fields.get(field)?.as_str()
    }

    /// Takes what a user may write of what was given, or what holds where nothing was, and answers
    /// with what is left.
    fn fill_in(&mut self, mut given: Map<String, Value>, house: &House) -> Map<String, Value> {
        for (field, absent) in all_written() {
            let value = match given.remove(field.name).filter(|value| !value.is_null()) {
                Some(value) => match field.kind.check(value) {
                    Ok(value) => value,
                    Err(message) => {
                        let code = field.kind.code(&message);
                        self.problems.push(Invalid::new(field.name, message).coded(code));
                        continue;
                    }
                },
                None if matches!(absent, Absent::Required) => {
                    self.problems.push(Invalid::required(field.name));
                    continue;
                }
                None => absent.stored(house),
            };
            self.fields.insert(field.name.to_owned(), value);
        }
        given
    }

    fn check_unknown(&mut self, left: &Map<String, Value>) {
        for name in left.keys().filter(|name| !is_read_only(name)) {
            self.problems.push(Invalid::unknown(name, "is not a field of a schedule"));
        }
    }

    fn check_zone(&mut self, house: &House) {
        let zone = self.text("timezone").map(Zone::parse);
        if zone.is_some_and(|zone| zone.is_ok_and(|zone| !house.allows(&zone))) {
            let problem = Invalid::new("timezone", "is not allowed in this deployment");
            self.problems.push(problem.coded(Code::InvalidTimezone));
        }
    }

    /// Planned times are texts of one width, which sort as times do.
    fn check_window(&mut self) {
        if let (Some(start), Some(end)) = (self.text("start_at"), self.text("end_at"))
            && end < start
        {
            self.problem("end_at", "must not be before start_at");
        }
    }

    fn check_followed(&mut self, id: &ScheduleId) {
        if self.text("after_schedule_id") == Some(id.as_str()) {
            self.problem("after_schedule_id", "must be another schedule");
        }
    }

    /// Reads the expression, which may be missing if the schedule follows another.
    fn check_cron(&mut self, id: &ScheduleId) {
        let is_wrong = self.problems.iter().any(|problem| problem.field == "cron_expr");
        let expression = match self.text("cron_expr") {
            _ if is_wrong => return,
            Some(text) => match Cron::parse(text, id.as_str()) {
                Ok(cron) => cron.text().to_owned(),
                Err(problem) => {
                    let problem = Invalid::cron(text, &problem);
                    return self.problems.push(problem);
                }
            },
            None if self.text("after_schedule_id").is_some() => String::new(),
            None => return self.problems.push(Invalid::required("cron_expr")),
        };
        self.fields.insert("cron_expr".to_owned(), json!(expression));
    }
}

#[cfg(test)]
pub(crate) mod tests;
