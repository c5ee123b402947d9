//! A definition: what a user may write of a schedule, read from JSON with every problem named.

use std::collections::BTreeMap;

use belfry_cron::{Cron, DstFold, DstGap, Zone};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::form::Form;
use crate::id::{ScheduleId, WorkflowId};
use crate::invalid::Invalid;
use crate::schedule::{Catchup, Clock, Overlap, Policies, Spec, Timing};

/// A payload above this does not fit SQS and the target's limits with the rest of the message.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// A spec with the largest payload and this many of the longest tags still fits a DynamoDB item.
pub const MAX_TAGS: usize = 50;
/// Names, and tags and their values, in characters.
pub const MAX_SHORT_TEXT: usize = 256;
/// Descriptions, in characters.
pub const MAX_LONG_TEXT: usize = 4096;
/// Beyond a day, jitter is another schedule.
const MAX_JITTER_MS: u64 = 86_400_000;

/// What the user decides of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// Which fires exist.
    pub timing: Timing,
    /// What happens to them.
    pub policies: Policies,
    /// What they launch.
    pub workflow_id: WorkflowId,
    /// Which version; the newest one if it was left out.
    pub version: Option<u32>,
    /// Whether it is paused.
    pub paused: bool,
    /// For people.
    pub name: Option<String>,
    /// For people.
    pub description: Option<String>,
    /// For people and filters.
    pub tags: BTreeMap<String, String>,
    /// What every run is given.
    pub payload: Value,
    /// Whether the target is told about schedule, run and upcoming fires.
    pub inject_metadata: bool,
    /// How long a tracked run may take.
    pub max_runtime_s: Option<u32>,
    /// How many failures in a row pause the schedule.
    pub pause_after_failures: Option<u32>,
    /// The schedule whose successful runs this one follows.
    pub after_schedule_id: Option<ScheduleId>,
}

/// What a deployment decides where the user is silent, and what it does not allow.
#[derive(Clone, Debug)]
pub struct House {
    /// Overlap policy of a schedule that names none.
    pub overlap_policy: Overlap,
    /// Catch-up policy of a schedule that names none.
    pub catchup_policy: Catchup,
    /// Jitter of a schedule that names none.
    pub jitter_ms: u32,
    /// The zones schedules may use; empty allows all.
    pub allowed_zones: Vec<String>,
}

impl Default for House {
    fn default() -> House {
        House {
            overlap_policy: Overlap::Skip,
            catchup_policy: Catchup::None,
            jitter_ms: 0,
            allowed_zones: Vec::new(),
        }
    }
}

impl House {
    /// Whether schedules may use this zone.
    pub fn allows(&self, zone: &Zone) -> bool {
        let allowed = &self.allowed_zones;
        allowed.is_empty() || allowed.iter().any(|name| name == zone.name())
    }
}

/// Names other products use, and ours for them.
const ALIASES: [(&str, &str); 5] = [
    ("cron_expression", "cron_expr"),
    ("schedule_name", "name"),
    ("start_date", "start_at"),
    ("end_date", "end_at"),
    ("test_payload", "payload"),
];

/// Fields that answers have and requests may repeat: a document that was read can be sent back.
pub const READ_ONLY: [&str; 19] = [
    "schedule_id",
    "user_id",
    "status",
    "next_run_at",
    "next_runs",
    "last_run_at",
    "last_run_id",
    "last_status",
    "stats",
    "durations",
    "recent",
    "warnings",
    "revision",
    "created_at",
    "updated_at",
    "pause_note",
    "pause_until",
    "cron_description",
    "set",
];

impl Definition {
    /// Reads a whole definition from a request body.
    pub fn parse(body: &Value, id: &ScheduleId, house: &House) -> Result<Definition, Vec<Invalid>> {
        let fields = canonical(body).map_err(|problem| vec![problem])?;
        let mut form = Form { fields, problems: Vec::new() };
        let definition = form.definition(id, house);
        let unknown = form.fields.keys().filter(|key| !READ_ONLY.contains(&key.as_str()));
        let unknown: Vec<_> =
            unknown.map(|key| Invalid::new(key, "is not a field of a schedule")).collect();
        form.problems.extend(unknown);
        match definition {
            Some(definition) if form.problems.is_empty() => Ok(definition),
            _ => Err(form.problems),
        }
    }

    /// This definition changed by a merge patch (RFC 7396) and read anew; `null` clears a field.
    pub fn patched(
        &self,
        patch: &Value,
        id: &ScheduleId,
        house: &House,
    ) -> Result<Definition, Vec<Invalid>> {
        let patch = canonical(patch).map_err(|problem| vec![problem])?;
        let mut document = self.document();
        merge(&mut document, &Value::Object(patch));
        Definition::parse(&document, id, house)
    }

    /// The definition as the JSON that [`Definition::parse`] reads.
    pub fn document(&self) -> Value {
        let mut document = json!({
            "workflow_id": self.workflow_id,
            "version": self.version,
            "paused": self.paused,
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "payload": self.payload,
            "inject_metadata": self.inject_metadata,
            "max_runtime_s": self.max_runtime_s,
            "pause_after_failures": self.pause_after_failures,
            "after_schedule_id": self.after_schedule_id,
        });
        let nulls = [
            ("start_at", Value::Null),
            ("end_at", Value::Null),
            ("dst_gap", Value::Null),
            ("dst_fold", Value::Null),
            ("catchup_window_s", Value::Null),
        ];
        if let Value::Object(fields) = &mut document {
            fields.extend(nulls.map(|(key, value)| (key.to_owned(), value)));
            fields.extend(object(&self.timing));
            fields.extend(object(&self.policies));
            if self.timing.is_silent() {
                fields.insert("cron_expr".to_owned(), Value::Null);
            }
        }
        document
    }

    /// What the user decided of a stored schedule.
    pub fn of(clock: &Clock, spec: &Spec) -> Definition {
        Definition {
            timing: clock.timing.clone(),
            policies: clock.policies.clone(),
            workflow_id: clock.workflow_id.clone(),
            version: Some(clock.version),
            paused: clock.paused,
            name: spec.name.clone(),
            description: spec.description.clone(),
            tags: spec.tags.clone(),
            payload: spec.payload.clone(),
            inject_metadata: spec.inject_metadata,
            max_runtime_s: spec.max_runtime_s,
            pause_after_failures: spec.pause_after_failures,
            after_schedule_id: spec.after_schedule_id.clone(),
        }
    }
}

/// The fields of `value`, or none if it is not an object.
pub fn object(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

/// A body with every alias replaced by our name.
fn canonical(body: &Value) -> Result<Map<String, Value>, Invalid> {
    let Some(fields) = body.as_object() else {
        return Err(Invalid::new("", "must be a JSON object"));
    };
    let mut fields = fields.clone();
    for (alias, name) in ALIASES {
        if let Some(value) = fields.remove(alias)
            && fields.insert(name.to_owned(), value).is_some()
        {
            return Err(Invalid::new(alias, format!("says again what {name} says")));
        }
    }
    if let Some(enabled) = fields.remove("enabled") {
        let Some(enabled) = enabled.as_bool() else {
            return Err(Invalid::new("enabled", "must be true or false"));
        };
        if fields.insert("paused".to_owned(), json!(!enabled)).is_some() {
            return Err(Invalid::new("enabled", "says again what paused says"));
        }
    }
    Ok(fields)
}

/// RFC 7396, except that a payload is replaced whole: it is the user's data, not ours to merge
/// into.
fn merge(document: &mut Value, patch: &Value) {
    let (Value::Object(document), Value::Object(patch)) = (document, patch) else { return };
    for (key, value) in patch {
        match (document.get_mut(key), value) {
            (Some(old @ Value::Object(_)), Value::Object(_)) if key != "payload" => {
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

impl Form {
    fn definition(&mut self, id: &ScheduleId, house: &House) -> Option<Definition> {
        // Everything is read before anything is missed: all problems are told at once.
        let after_schedule_id = self.name::<ScheduleId>("after_schedule_id");
        if after_schedule_id.as_ref() == Some(id) {
            self.problem::<()>("after_schedule_id", "must be another schedule");
        }
        let timing = self.timing(id, house, after_schedule_id.is_some());
        let workflow_id = self.workflow_id();
        let policies = self.policies(house);
        let version = self.number("version", 1, u64::from(u32::MAX)).map(|n| n as u32);
        let paused = self.boolean("paused").unwrap_or(false);
        let name = self.text("name", MAX_SHORT_TEXT);
        let description = self.text("description", MAX_LONG_TEXT);
        let tags = self.tags();
        let payload = self.payload();
        let inject_metadata = self.boolean("inject_metadata").unwrap_or(true);
        let max_runtime_s = self.number("max_runtime_s", 1, 31_536_000).map(|n| n as u32);
        let pause_after_failures = self.number("pause_after_failures", 1, 1000).map(|n| n as u32);
        Some(Definition {
            timing: timing?,
            policies,
            workflow_id: workflow_id?,
            version,
            paused,
            name,
            description,
            tags,
            payload,
            inject_metadata,
            max_runtime_s,
            pause_after_failures,
            after_schedule_id,
        })
    }

    fn timing(&mut self, id: &ScheduleId, house: &House, may_be_silent: bool) -> Option<Timing> {
        let cron_expr = self.take("cron_expr");
        let timezone = self.text("timezone", MAX_SHORT_TEXT).unwrap_or_else(|| "UTC".to_owned());
        let timezone = match Zone::parse(&timezone) {
            Ok(zone) => {
                if !house.allows(&zone) {
                    self.problem::<()>("timezone", "is not allowed in this deployment");
                }
                zone.name().to_owned()
            }
            Err(unknown) => {
                self.problem::<()>("timezone", unknown.to_string());
                timezone
            }
        };
        let start_at = self.instant("start_at");
        let end_at = self.instant("end_at");
        if let (Some(start), Some(end)) = (start_at, end_at)
            && end < start
        {
            self.problem::<()>("end_at", "must not be before start_at");
        }
        let dst_gap = self.choice::<DstGap>("dst_gap", "shift or skip");
        let dst_fold = self.choice::<DstFold>("dst_fold", "first or both");
        let cron_expr = match cron_expr {
            Some(Value::String(text)) => match Cron::parse(&text, id.as_str()) {
                Ok(cron) => Some(cron.text().to_owned()),
                Err(problem) => {
                    self.problems.push(Invalid::cron(&text, &problem));
                    None
                }
            },
            Some(_) => self.problem("cron_expr", "must be a text"),
            None if may_be_silent => Some(String::new()),
            None => self.problem("cron_expr", "is required"),
        };
        Some(Timing { cron_expr: cron_expr?, timezone, start_at, end_at, dst_gap, dst_fold })
    }

    fn policies(&mut self, house: &House) -> Policies {
        Policies {
            jitter_ms: self
                .number("jitter_ms", 0, MAX_JITTER_MS)
                .map_or(house.jitter_ms, |n| n as u32),
            overlap_policy: self
                .choice("overlap_policy", "skip, allow or queue")
                .unwrap_or(house.overlap_policy),
            max_concurrent: self.number("max_concurrent", 1, 100).map_or(1, |n| n as u32),
            catchup_policy: self
                .choice("catchup_policy", "none, once, fire_immediately or spread")
                .unwrap_or(house.catchup_policy),
            catchup_window_s: self.number("catchup_window_s", 0, 31_536_000),
        }
    }

    fn workflow_id(&mut self) -> Option<WorkflowId> {
        match self.fields.get("workflow_id") {
            None | Some(Value::Null) => self.problem("workflow_id", "is required"),
            Some(_) => self.name("workflow_id"),
        }
    }

    fn tags(&mut self) -> BTreeMap<String, String> {
        let Some(tags) = self.take("tags") else { return BTreeMap::new() };
        let Ok(tags) = serde_json::from_value::<BTreeMap<String, String>>(tags) else {
            self.problem::<()>("tags", "must be an object of texts");
            return BTreeMap::new();
        };
        let fits = |text: &str| text.chars().count() <= MAX_SHORT_TEXT;
        if tags.len() > MAX_TAGS || !tags.iter().all(|(k, v)| !k.is_empty() && fits(k) && fits(v)) {
            let limits = format!("must be at most {MAX_TAGS}, of {MAX_SHORT_TEXT} characters each");
            self.problem::<()>("tags", limits);
        }
        tags
    }

    fn payload(&mut self) -> Value {
        let payload = self.take("payload").unwrap_or_else(|| json!({}));
        if payload.to_string().len() > MAX_PAYLOAD {
            self.problem::<()>("payload", format!("must be at most {MAX_PAYLOAD} bytes"));
        }
        payload
    }
}

#[cfg(test)]
pub(crate) mod tests;
