//! Properties: what a template says of a resource, in its own spelling.
//!
//! CloudFormation makes texts of numbers and booleans on the way. Fields that are numbers or booleans
//! are read from such texts; inside a payload or a definition it is not known which texts were numbers,
//! so that there are `PayloadJson` and `DefinitionJson`, which are JSON written as a text.

use serde_json::{Map, Value};

use crate::guard::access::is_user;
use crate::invalid::Invalid;
use crate::schedule::fields::{Kind, all_written, find};

/// The fields of a workflow version.
const OF_WORKFLOWS: [&str; 3] = ["definition", "target", "completion"];

/// Properties that are not part of a definition. The first two are CloudFormation's own.
const ABOUT: [&str; 3] = ["ServiceToken", "ServiceTimeout", "Owner"];

/// The properties of one resource.
#[derive(Clone, Debug, Default)]
pub struct Properties(Map<String, Value>);

impl Properties {
    pub(super) fn of(value: &Value) -> Properties {
        Properties(value.as_object().cloned().unwrap_or_default())
    }

    pub(super) fn text(&self, property: &str) -> Result<Option<String>, Invalid> {
        match self.0.get(property) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(Invalid::new(property, "must be a text")),
        }
    }

    /// Whose the resource is to be, if the template says so.
    pub fn owner(&self) -> Result<Option<String>, Invalid> {
        match self.text("Owner")? {
            Some(owner) if !is_user(&owner) => {
                Err(Invalid::new("Owner", "must be the id of a user"))
            }
            owner => Ok(owner),
        }
    }

    /// The schedule as the API would take it, and what is wrong with the properties as such.
    pub fn schedule(&self) -> (Value, Vec<Invalid>) {
        let fields = all_written().map(|(field, _)| field.name);
        self.body(fields, "payload", "ScheduleId", |field, value| {
            match (find(field).map(|field| field.kind), value) {
                (Some(Kind::Whole(..)), Value::String(text)) => {
                    text.trim().parse::<u64>().map_or(Value::String(text), Value::from)
                }
                (Some(Kind::Flag), Value::String(text)) => match text.as_str() {
                    "true" | "True" => Value::Bool(true),
                    "false" | "False" => Value::Bool(false),
                    _ => Value::String(text),
                },
                (Some(Kind::Tags), tags) => texts(tags),
                (Some(Kind::Destination), Value::Object(to)) => spelled(to),
                (_, value) => value,
            }
        })
    }

    /// The workflow version as the API would take it, and what is wrong with the properties as such.
    pub fn workflow(&self) -> (Value, Vec<Invalid>) {
        self.body(
            OF_WORKFLOWS.into_iter(),
            "definition",
            "WorkflowId",
            |field, value| match value {
                Value::Object(target) if field == "target" => spelled(target),
                value => value,
            },
        )
    }

    /// `json` is the field that may be written as JSON in a text, `name` the property of the name.
    fn body(
        &self,
        fields: impl Iterator<Item = &'static str>,
        json: &'static str,
        name: &str,
        read: impl Fn(&str, Value) -> Value,
    ) -> (Value, Vec<Invalid>) {
        let (mut left, mut body, mut problems) = (self.0.clone(), Map::new(), Vec::new());
        let written = format!("{}Json", property(json));
        for field in fields {
            if let Some(value) = left.remove(&property(field)) {
                body.insert(field.to_owned(), read(field, value));
            }
        }
        match left.remove(&written).map(|text| text.as_str().map(serde_json::from_str)) {
            None => {}
            Some(Some(Ok(_))) if body.contains_key(json) => {
                problems.push(Invalid::new(
                    &written,
                    format!("says again what {} says", property(json)),
                ));
            }
            Some(Some(Ok(value))) => {
                body.insert(json.to_owned(), value);
            }
            Some(Some(Err(problem))) => {
                // Without the text itself, which may be a secret.
                let message =
                    format!("must be JSON: line {}, column {}", problem.line(), problem.column());
                problems.push(Invalid::new(&written, message));
            }
            Some(None) => problems.push(Invalid::new(&written, "must be a text")),
        }
        let unknown = left.keys().filter(|key| *key != name && !ABOUT.contains(&key.as_str()));
        let unknown = unknown.map(|key| Invalid::new(key, "is not a property of this resource"));
        problems.extend(unknown);
        (Value::Object(body), problems)
    }
}

/// Tags whose values were written as numbers or booleans.
fn texts(tags: Value) -> Value {
    let Value::Object(tags) = tags else { return tags };
    let text = |value: Value| match value {
        Value::Number(_) | Value::Bool(_) => Value::String(value.to_string()),
        value => value,
    };
    Value::Object(tags.into_iter().map(|(key, value)| (key, text(value))).collect())
}

/// An object whose fields are properties, as a target has them.
fn spelled(object: Map<String, Value>) -> Value {
    Value::Object(object.into_iter().map(|(key, value)| (field_of(&key), value)).collect())
}

/// The property a field has in a template: `cron_expr` is `CronExpr` there.
///
/// ```
/// use belfry_core::declare::resource::property;
/// assert_eq!(property("catchup_window_s"), "CatchupWindowS");
/// assert_eq!(property("target.queue_url"), "Target.QueueUrl");
/// ```
pub fn property(field: &str) -> String {
    let mut begins = true;
    let spelled = field.chars().filter_map(|c| {
        let first = std::mem::replace(&mut begins, matches!(c, '_' | '.'));
        match c {
            '_' => None,
            c if first => Some(c.to_ascii_uppercase()),
            c => Some(c),
        }
    });
    spelled.collect()
}

/// The field a property means: `QueueUrl` is `queue_url`.
fn field_of(property: &str) -> String {
    let mut field = String::with_capacity(property.len() + 4);
    for (place, c) in property.chars().enumerate() {
        if c.is_ascii_uppercase() && place > 0 {
            field.push('_');
        }
        field.push(c.to_ascii_lowercase());
    }
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    fn schedule(properties: Value) -> (Value, Vec<Invalid>) {
        Properties::of(&properties).schedule()
    }

    #[test]
    fn every_field_of_a_schedule_has_a_property() {
        for (field, _) in all_written() {
            assert_eq!(field_of(&property(field.name)), field.name);
            let (body, problems) = schedule(json!({property(field.name): {"any": "thing"}}));
            assert_eq!((body, problems), (json!({field.name: {"any": "thing"}}), vec![]));
        }
    }

    #[test]
    fn texts_are_read_as_what_their_fields_are() {
        let (body, problems) = schedule(json!({
            "ServiceToken": "arn", "ServiceTimeout": "60", "Owner": "ann", "ScheduleId": "n",
            "CronExpr": "0 9 * * *", "WorkflowId": "w", "Version": "3", "JitterMs": 5,
            "Paused": "true", "InjectMetadata": false, "MaxConcurrent": "many", "Name": "2026",
            "Tags": {"year": 2026, "team": "billing"}, "Payload": {"n": "1"},
            "AlertAfterFailures": "3", "AlertTo": {"Kind": "sns", "TopicArn": "arn:x"},
        }));
        assert_eq!(problems, []);
        assert_eq!(
            body,
            json!({
                "cron_expr": "0 9 * * *", "workflow_id": "w", "version": 3, "jitter_ms": 5,
                "paused": true, "inject_metadata": false, "max_concurrent": "many", "name": "2026",
                "tags": {"year": "2026", "team": "billing"}, "payload": {"n": "1"},
                "alert_after_failures": 3, "alert_to": {"kind": "sns", "topic_arn": "arn:x"},
            })
        );
    }

    #[test]
    fn json_written_as_a_text_is_exact() {
        let (body, problems) = schedule(json!({"PayloadJson": r#"{"n": 1, "ok": true}"#}));
        assert_eq!((body, problems), (json!({"payload": {"n": 1, "ok": true}}), vec![]));
        let fields = |properties| -> Vec<String> {
            schedule(properties).1.into_iter().map(|problem| problem.field).collect()
        };
        assert_eq!(fields(json!({"PayloadJson": "{", "Colour": "red"})), ["PayloadJson", "Colour"]);
        assert_eq!(fields(json!({"PayloadJson": "{}", "Payload": {}})), ["PayloadJson"]);
        assert_eq!(
            fields(json!({"PayloadJson": {}, "cron_expr": "x"})),
            ["PayloadJson", "cron_expr"]
        );
        let secret = &schedule(json!({"PayloadJson": "{\"password\": hunter2}"})).1[0];
        assert_eq!(secret.message, "must be JSON: line 1, column 14");
    }

    #[test]
    fn a_workflow_says_where_it_is_launched_in_the_spelling_of_templates() {
        let (body, problems) = Properties::of(&json!({
            "ServiceToken": "arn", "WorkflowId": "w", "Completion": "tracked",
            "Target": {"Kind": "step_functions", "StateMachineArn": "arn:x"},
            "DefinitionJson": "[1]",
        }))
        .workflow();
        assert_eq!(problems, []);
        assert_eq!(
            body,
            json!({
                "definition": [1], "completion": "tracked",
                "target": {"kind": "step_functions", "state_machine_arn": "arn:x"},
            })
        );
    }

    #[test]
    fn an_owner_is_a_user() {
        let owner = |value: Value| Properties::of(&json!({"Owner": value})).owner();
        assert_eq!(owner(Value::Null), Ok(None));
        assert_eq!(owner(json!("ann@example.com")), Ok(Some("ann@example.com".to_owned())));
        for bad in [json!("*"), json!(""), json!(["ann"]), json!("x".repeat(513))] {
            assert!(owner(bad.clone()).is_err(), "{bad}");
        }
    }
}
