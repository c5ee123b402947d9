//! `belfry schema`: the JSON Schema of a file of schedules, derived from the API's, for editors.

use std::process::ExitCode;

use belfry_core::schedule::fields::is_read_only;
use belfry_engine::api::http::openapi;
use clap::Args;
use serde_json::{Map, Value, json};

use crate::cli::{print_line, printed};

/// Prints the JSON Schema of files of schedules, for editors that complete and check them.
#[derive(Args)]
pub(crate) struct Schema {}

impl Schema {
    pub(crate) fn run(self) -> ExitCode {
        let Schema {} = self;
        printed(print_line(schema_text().trim_end()).map(|()| ExitCode::SUCCESS))
    }
}

fn schema_text() -> String {
    serde_json::to_string_pretty(&schema()).unwrap_or_default() + "\n"
}

fn schema() -> Value {
    let document = openapi::document();
    let of_api = |name: &str| document["components"]["schemas"][name].clone();
    let schedule = writable(of_api("DeclaredSchedule"));
    let workflow = of_api("DeclaredWorkflow");
    let named = |mut schema: Value, id: &str| {
        // The id is the map's key, so it is not a field.
        if let Some(fields) = schema["properties"].as_object_mut() {
            fields.remove(id);
        }
        if let Some(required) = schema["required"].as_array_mut() {
            required.retain(|field| field != id);
        }
        schema
    };
    let by_name = |name: &str| {
        let names = json!({"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"});
        let one = reference(name);
        json!({"type": "object", "propertyNames": names, "additionalProperties": one})
    };
    let either = |listed: &str, keyed: &str| json!({"oneOf": [{"type": "array", "items": reference(listed)}, by_name(keyed)]});
    let text = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A declared set of Belfry schedules",
        "type": "object",
        "required": ["set"],
        "additionalProperties": false,
        "properties": {
            "$schema": {"type": "string"},
            "set": {
                "type": "string",
                "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
                "description": "its name",
            },
            "defaults": reference("Defaults"),
            "workflows": either("Workflow", "NamedWorkflow"),
            "schedules": either("Schedule", "NamedSchedule"),
        },
        "$defs": {
            "Defaults": named(schedule.clone(), "schedule_id"),
            "NamedSchedule": {
                "anyOf": [named(schedule.clone(), "schedule_id"), {"type": "null"}],
            },
            "Schedule": schedule,
            "NamedWorkflow": named(workflow.clone(), "workflow_id"),
            "Workflow": workflow,
            "Target": of_api("Target"),
            "Destination": of_api("Destination"),
        },
    });
    relinked(text)
}

/// The fields a file may give a schedule: without read-only fields, and without a required field
/// that `defaults` may supply.
fn writable(mut schema: Value) -> Value {
    if let Some(fields) = schema["properties"].as_object_mut() {
        fields.retain(|name, _| name == "schedule_id" || !is_read_only(name));
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("anyOf");
        schema.insert("required".to_owned(), json!(["schedule_id"]));
    }
    schema
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// Rewrites references into the API's document as references into this schema.
fn relinked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::from(text.replace("#/components/schemas/", "#/$defs/")),
        Value::Array(values) => values.into_iter().map(relinked).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, relinked(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_for_editors_is_the_one_made_from_the_api() {
        let kept = include_str!("../../../../../docs/belfry-set.schema.json");
        assert!(kept == schema_text(), "run `belfry schema > docs/belfry-set.schema.json`");
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let schema = schema();
        let text = schema.to_string();
        let names = text.split("#/$defs/").skip(1).map(|rest| rest.split('"').next().unwrap());
        for name in names {
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
        let fields = schema["$defs"]["Schedule"]["properties"].as_object().unwrap();
        assert!(fields.contains_key("cron_expr") && !fields.contains_key("revision"));
    }
}
