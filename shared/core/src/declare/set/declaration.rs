//! A declaration: the workflow versions and schedules of a set, as the caller sends them. Every
//! problem names its place: `schedules[3].cron_expr`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::form::whole_number;
use crate::id::{ScheduleId, SetName, WorkflowId};
use crate::invalid::Invalid;
use crate::schedule::definition::{Definition, object, says_paused};
use crate::schedule::house::House;
use crate::workflow::Workflow;

/// The most schedules of a declaration. With more, the response would be larger than a Lambda
/// function may return.
pub const MAX_SCHEDULES: usize = 1000;
/// The most workflow versions of a declaration. The limit is low because they are published one
/// after the other.
pub const MAX_WORKFLOWS: usize = 100;

/// The declared contents of a set.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// The workflow versions to publish before the schedules are created.
    pub workflows: Vec<DeclaredWorkflow>,
    /// The schedules of the set.
    pub schedules: Vec<Declared>,
    /// The revision of each schedule when the plan was made. 0 if the schedule did not exist.
    pub planned: BTreeMap<ScheduleId, u64>,
}

/// A declared workflow version.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredWorkflow {
    /// The name of the workflow.
    pub workflow_id: WorkflowId,
    /// The number of the version.
    pub version: u32,
    /// The contents of the version.
    pub workflow: Workflow,
    /// The request body that publishes this version.
    pub body: Value,
}

/// A declared schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name of the schedule.
    pub schedule_id: ScheduleId,
    /// The declared definition. Fields that the declaration omits have their default.
    pub definition: Definition,
    /// Whether the declaration omits `paused`. Then an existing schedule stays paused or active as
    /// it is.
    pub keeps_pause: bool,
    /// The request body that saves this schedule.
    pub body: Value,
}

const FIELDS: [&str; 4] = ["set", "workflows", "schedules", "planned"];

impl Declaration {
    /// Reads a declaration of `set`.
    pub fn parse(body: &Value, set: &SetName, house: &House) -> Result<Declaration, Vec<Invalid>> {
        let Some(fields) = body.as_object() else {
            return Err(vec![Invalid::new("", "must be a JSON object")]);
        };
        let unknown = fields.keys().filter(|key| !FIELDS.contains(&key.as_str()));
        let mut problems: Vec<_> =
            unknown.map(|key| Invalid::unknown(key, "is not a field of a set")).collect();
        if fields.get("set").is_some_and(|given| !given.is_null() && *given != json!(set)) {
            problems.push(Invalid::new("set", "must be the same as in the path"));
        }
        let planned = planned(fields.get("planned"), &mut problems);
        let workflows = elements(fields, "workflows", MAX_WORKFLOWS, &mut problems, workflow);
        let schedules = elements(fields, "schedules", MAX_SCHEDULES, &mut problems, |value| {
            schedule(value, house)
        });
        let names = schedules.iter().map(|(place, one)| (*place, one.schedule_id.to_string()));
        twice("schedules", "schedule_id", names, &mut problems);
        let versions = workflows
            .iter()
            .map(|(place, one)| (*place, format!("{} {}", one.workflow_id, one.version)));
        twice("workflows", "version", versions, &mut problems);
        leads_back(&schedules, &mut problems);
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Declaration {
            workflows: workflows.into_iter().map(|(_, one)| one).collect(),
            schedules: schedules.into_iter().map(|(_, one)| one).collect(),
            planned,
        })
    }
}

/// Writes a definition as a declaration: the name and the fields that differ from the defaults of
/// the deployment. `paused` is omitted, so that the declaration does not change it.
pub fn declared(id: &ScheduleId, definition: &Definition, house: &House) -> Value {
    let least = json!({"workflow_id": definition.workflow_id, "cron_expr": "0 0 1 1 *"});
    let usual = Definition::parse(&least, id, house).map(|usual| object(&usual.document()));
    let usual = usual.unwrap_or_default();
    let mut fields = object(&definition.document());
    fields.remove("paused");
    fields.retain(|field, value| {
        ["workflow_id", "cron_expr"].contains(&field.as_str()) && !value.is_null()
            || usual.get(field) != Some(value)
    });
    fields.retain(|_, value| !value.is_null());
    fields.insert("schedule_id".to_owned(), json!(id));
    Value::Object(fields)
}

/// Reads the valid elements of a list, each with its index. The problems of the others are added to
/// `problems`.
fn elements<T>(
    fields: &Map<String, Value>,
    list: &str,
    most: usize,
    problems: &mut Vec<Invalid>,
    read: impl Fn(&Value) -> Result<T, Vec<Invalid>>,
) -> Vec<(usize, T)> {
    let values = match fields.get(list) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(values)) if values.len() <= most => values,
        Some(Value::Array(_)) => {
            problems.push(Invalid::new(list, format!("must have at most {most} elements")));
            return Vec::new();
        }
        Some(_) => {
            problems.push(Invalid::new(list, "must be a list"));
            return Vec::new();
        }
    };
    let mut found = Vec::with_capacity(values.len());
    for (place, value) in values.iter().enumerate() {
        match read(value) {
            Ok(one) => found.push((place, one)),
            Err(some) => {
                let here = format!("{list}[{place}]");
                problems.extend(some.into_iter().map(|problem| within(&here, problem)));
            }
        }
    }
    found
}

fn within(place: &str, problem: Invalid) -> Invalid {
    let field = match problem.field.as_str() {
        "" => place.to_owned(),
        field => format!("{place}.{field}"),
    };
    Invalid { field, ..problem }
}

fn schedule(value: &Value, house: &House) -> Result<Declared, Vec<Invalid>> {
    let wrong = |problem: &str| Invalid::new("schedule_id", problem);
    let id = match value.get("schedule_id") {
        None | Some(Value::Null) => Err(Invalid::required("schedule_id")),
        Some(Value::String(id)) => match id.parse::<ScheduleId>() {
            Ok(id) if id.is_reserved() => Err(wrong("is a word of the API")),
            parsed => parsed.map_err(|problem| wrong(&problem.to_string())),
        },
        Some(_) => Err(wrong("must be a text")),
    };
    // If the name is invalid, the rest is read under another name, to find all problems.
    let name = id.clone().unwrap_or_else(|_| ScheduleId::derived_from(""));
    let definition = Definition::parse(value, &name, house);
    match (id, definition) {
        (Ok(schedule_id), Ok(definition)) => {
            let keeps_pause = !says_paused(value);
            Ok(Declared { schedule_id, definition, keeps_pause, body: value.clone() })
        }
        (id, definition) => {
            // A value that is not an object gets only one problem.
            let named = id.err().filter(|_| value.is_object());
            Err(named.into_iter().chain(definition.err().unwrap_or_default()).collect())
        }
    }
}

fn workflow(value: &Value) -> Result<DeclaredWorkflow, Vec<Invalid>> {
    let Some(mut fields) = value.as_object().cloned() else {
        return Err(vec![Invalid::new("", "must be a JSON object")]);
    };
    let mut problems = Vec::new();
    let id = match fields.remove("workflow_id") {
        None | Some(Value::Null) => Err(Invalid::required("workflow_id")),
        Some(Value::String(id)) => id
            .parse::<WorkflowId>()
            .map_err(|problem| Invalid::new("workflow_id", problem.to_string())),
        Some(_) => Err(Invalid::new("workflow_id", "must be a text")),
    };
    let id = id.map_err(|problem| problems.push(problem)).ok();
    let number = |n: &Value| u32::try_from(whole_number(n)?).ok().filter(|n| *n >= 1);
    let version = match fields.remove("version") {
        None | Some(Value::Null) => Err(Invalid::required("version")),
        Some(version) => {
            number(&version).ok_or_else(|| Invalid::new("version", "must be a whole number from 1"))
        }
    };
    let version = version.map_err(|problem| problems.push(problem)).ok();
    let body = Value::Object(fields);
    match (id, version, Workflow::parse(&body)) {
        (Some(workflow_id), Some(version), Ok(workflow)) => {
            Ok(DeclaredWorkflow { workflow_id, version, workflow, body })
        }
        (_, _, parsed) => {
            problems.extend(parsed.err().unwrap_or_default());
            Err(problems)
        }
    }
}

fn planned(value: Option<&Value>, problems: &mut Vec<Invalid>) -> BTreeMap<ScheduleId, u64> {
    let fields = match value {
        None | Some(Value::Null) => return BTreeMap::new(),
        Some(Value::Object(fields)) => fields,
        Some(_) => {
            problems.push(Invalid::new("planned", "must be an object of revisions"));
            return BTreeMap::new();
        }
    };
    let mut planned = BTreeMap::new();
    for (id, revision) in fields {
        match (id.parse(), whole_number(revision)) {
            (Ok(id), Some(revision)) => {
                planned.insert(id, revision);
            }
            _ => problems.push(Invalid::new("planned", "must be an object of revisions")),
        }
    }
    planned
}

fn twice(
    list: &str,
    field: &str,
    names: impl Iterator<Item = (usize, String)>,
    problems: &mut Vec<Invalid>,
) {
    let mut seen = BTreeSet::new();
    for (place, name) in names {
        if !seen.insert(name) {
            let field = format!("{list}[{place}].{field}");
            problems.push(Invalid::new(field, "is declared twice"));
        }
    }
}

/// Adds a problem for every schedule that follows itself through a cycle of `after_schedule_id`.
fn leads_back(schedules: &[(usize, Declared)], problems: &mut Vec<Invalid>) {
    let follows: BTreeMap<_, _> = schedules
        .iter()
        .filter_map(|(_, one)| {
            Some((&one.schedule_id, one.definition.options.after_schedule_id.as_ref()?))
        })
        .collect();
    for (place, one) in schedules {
        let mut at = follows.get(&one.schedule_id);
        for _ in 0..schedules.len() {
            let Some(next) = at else { break };
            if **next == one.schedule_id {
                let field = format!("schedules[{place}].after_schedule_id");
                problems.push(Invalid::new(field, "leads back to the schedule itself"));
                break;
            }
            at = follows.get(*next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &Value) -> Result<Declaration, Vec<Invalid>> {
        Declaration::parse(body, &"billing".parse().unwrap(), &House::default())
    }

    #[track_caller]
    fn refused(body: &Value, fields: &[&str]) {
        let problems = parse(body).unwrap_err();
        let named: Vec<_> = problems.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(named, fields, "{problems:?}");
    }

    fn schedule(id: &str) -> Value {
        json!({"schedule_id": id, "workflow_id": "w", "cron_expr": "0 9 * * *"})
    }

    #[test]
    fn every_problem_is_named_by_its_place() {
        refused(
            &json!({
                "set": "other", "colour": "red",
                "workflows": [{"workflow_id": "w", "version": 0}, 7],
                "schedules": [
                    schedule("a"),
                    {"schedule_id": "a b", "workflow_id": "w", "cron_expr": "61 * * * *", "x": 1},
                    {"workflow_id": "w", "cron_expr": "0 9 * * *"},
                    "text",
                    schedule("a"),
                    schedule("bulk"),
                ],
                "planned": {"a": -1},
            }),
            &[
                "colour",
                "set",
                "planned",
                "workflows[0].version",
                "workflows[0].target",
                "workflows[1]",
                "schedules[1].schedule_id",
                "schedules[1].cron_expr",
                "schedules[1].x",
                "schedules[2].schedule_id",
                "schedules[3]",
                "schedules[5].schedule_id",
                "schedules[4].schedule_id",
            ],
        );
        refused(&json!([]), &[""]);
        refused(&json!({"schedules": {}}), &["schedules"]);
        let many: Vec<_> = (0..=MAX_SCHEDULES).map(|n| schedule(&format!("s{n}"))).collect();
        refused(&json!({"schedules": many}), &["schedules"]);
    }

    #[test]
    fn a_circle_of_schedules_is_refused() {
        let after = |id: &str, other: &str| json!({"schedule_id": id, "workflow_id": "w", "after_schedule_id": other});
        refused(
            &json!({"schedules": [after("a", "b"), after("b", "a"), after("c", "a")]}),
            &["schedules[0].after_schedule_id", "schedules[1].after_schedule_id"],
        );
        assert!(parse(&json!({"schedules": [after("a", "b"), schedule("b")]})).is_ok());
    }

    #[test]
    fn what_is_declared_of_a_definition_is_what_differs_from_the_defaults() {
        let (id, house) = ("a".parse().unwrap(), House::default());
        let body = json!({
            "workflow_id": "w", "version": 2, "cron_expr": "0 9 * * *", "paused": true,
            "timezone": "UTC", "overlap_policy": "queue", "jitter_ms": 0, "payload": {},
            "tags": {"team": "data"},
        });
        let definition = Definition::parse(&body, &id, &house).unwrap();
        let short = declared(&id, &definition, &house);
        assert_eq!(
            short,
            json!({
                "schedule_id": "a", "workflow_id": "w", "version": 2, "cron_expr": "0 9 * * *",
                "overlap_policy": "queue", "tags": {"team": "data"},
            })
        );
        let again = Definition::parse(&short, &id, &house).unwrap();
        assert_eq!(Definition { paused: true, ..again }, definition);
    }

    #[test]
    fn an_empty_declaration_is_one() {
        let declaration = parse(&json!({})).unwrap();
        assert!(declaration.schedules.is_empty() && declaration.workflows.is_empty());
    }
}
