//! The schedule in its forms, as the table of its fields says: as it is answered, written, changed
//! and declared.

use belfry_core::id::PATTERN;
use belfry_core::run;
use belfry_core::schedule::fields::{
    Absent, Alias, FIELDS, Field, Kind, MAX_SHORT_TEXT, MAX_TAGS, Role, Shown, all_written,
};
use belfry_core::words::variants;
use serde_json::{Map, Value, json};

/// A request that holds a definition.
struct Input {
    name: &'static str,
    /// Whether what is left out stays as it is.
    is_patch: bool,
    /// Whether the path names the workflow.
    of_trigger: bool,
    /// Whether the body may name the schedule, or must.
    names_schedule: Option<Named>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    May,
    Must,
}

const INPUTS: [Input; 6] = [
    Input { name: "ScheduleInput", is_patch: false, of_trigger: false, names_schedule: None },
    Input { name: "SchedulePatch", is_patch: true, of_trigger: false, names_schedule: None },
    Input { name: "TriggerInput", is_patch: false, of_trigger: true, names_schedule: None },
    Input { name: "TriggerPatch", is_patch: true, of_trigger: true, names_schedule: None },
    Input {
        name: "NewSchedule",
        is_patch: false,
        of_trigger: false,
        names_schedule: Some(Named::May),
    },
    Input {
        name: "DeclaredSchedule",
        is_patch: false,
        of_trigger: false,
        names_schedule: Some(Named::Must),
    },
];

/// The schemas of requests that hold a definition, by their names.
pub(super) fn inputs() -> impl Iterator<Item = (&'static str, Value)> {
    INPUTS.iter().map(|input| (input.name, input.schema()))
}

/// The schema of a schedule as it is answered.
pub(super) fn shown() -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in FIELDS {
        let mut schema = or_null(answered(field.kind), field.is_nullable());
        schema["description"] = json!(field.about);
        if let Role::ReadOnly(shown) = field.role {
            schema["readOnly"] = json!(true);
            if shown == Shown::Sometimes || shown == Shown::SometimesOrNull {
                properties.insert(field.name.to_owned(), schema);
                continue;
            }
        }
        required.push(field.name);
        properties.insert(field.name.to_owned(), schema);
    }
    object("A schedule.", properties, &required)
}

impl Input {
    fn schema(&self) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in FIELDS.iter().filter(|field| !(self.of_trigger && field.name == "workflow_id"))
        {
            let schema = match field.absent() {
                Some(absent) => {
                    let is_required = matches!(absent, Absent::Required);
                    if is_required && !self.is_patch {
                        required.push(field.name);
                    }
                    let mut schema = or_null(self.taken(field.kind), !is_required);
                    schema["description"] = json!(self.described(field, absent));
                    schema
                }
                None if field.name == "schedule_id" && self.names_schedule.is_some() => {
                    let must = self.names_schedule == Some(Named::Must);
                    if must {
                        required.push(field.name);
                    }
                    let mut schema = or_null(self.taken(field.kind), !must);
                    let default = if must { "" } else { "; default: a name made by Belfry" };
                    schema["description"] = json!(format!("{}{default}", field.about));
                    schema
                }
                None if field.name == "user_id" => {
                    let mut schema = json!({"type": ["string", "null"], "format": "user-id"});
                    schema["description"] = json!(format!(
                        "{}; default: the caller. Only an admin may name another, and it never changes",
                        field.about
                    ));
                    schema
                }
                // Not `readOnly`, which would forbid it in a request.
                None => json!({"description": "Ignored: only answers have it."}),
            };
            properties.insert(field.name.to_owned(), schema);
        }
        let mut schema = object(&note(), properties, &required);
        if !self.is_patch {
            self.add_alternatives(&mut schema);
        }
        schema
    }

    /// One of two fields must be there, and not null.
    fn add_alternatives(&self, schema: &mut Value) {
        for (field, absent) in all_written() {
            if let Absent::RequiredWithout(other) = absent {
                let one = |name: &str| json!({"required": [name], "properties": {name: {"type": "string"}}});
                schema["anyOf"] = json!([one(field.name), one(other)]);
            }
        }
    }

    fn taken(&self, kind: Kind) -> Value {
        // Whatever the notation, nothing is no text in it.
        let notation = |format: &str| json!({"type": "string", "format": format, "minLength": 1});
        match kind {
            Kind::Cron => notation("cron"),
            Kind::Zone => notation("time-zone"),
            Kind::Workflow => notation("workflow-name"),
            Kind::Short(max) => json!({"type": "string", "maxLength": max}),
            Kind::Tags if self.is_patch => tags(&json!(["string", "null"])),
            kind => answered(kind),
        }
    }

    fn described(&self, field: &Field, absent: Absent) -> String {
        match absent {
            Absent::Required => field.about.to_owned(),
            _ if self.is_patch => {
                format!("{}; null sets the default: {}", field.about, absent.text())
            }
            Absent::RequiredWithout(_) => format!("{}; {}", field.about, absent.text()),
            // A set declares whether its schedules are paused only if it says so.
            // So does a replacement.
            _ if self.name != "NewSchedule" && field.name == "paused" => {
                format!("{}; left as it is if not given", field.about)
            }
            _ => format!("{}; default: {}", field.about, absent.text()),
        }
    }
}

/// What an answer has. What is stored need not be what is taken today, so that texts are any.
fn answered(kind: Kind) -> Value {
    match kind {
        Kind::Cron | Kind::Zone | Kind::Workflow | Kind::Text | Kind::Short(_) => {
            json!({"type": "string"})
        }
        Kind::Name => json!({"type": "string", "pattern": PATTERN}),
        Kind::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Count => json!({"type": "integer", "minimum": 0}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Instant => json!({"type": "string", "format": "date-time"}),
        Kind::Instants(max) => {
            json!({"type": "array", "items": answered(Kind::Instant), "maxItems": max})
        }
        Kind::Choice(terms) => {
            let words: Vec<_> = terms().iter().map(|term| term.word).collect();
            json!({"type": "string", "enum": words})
        }
        Kind::Tags => tags(&json!("string")),
        Kind::Json(_) => json!({}),
        Kind::Destination => answered(Kind::Object("Destination")),
        Kind::RunStatus => json!({"type": "string", "enum": variants::<run::Status>()}),
        Kind::RunStatuses => json!({"type": "array", "items": answered(Kind::RunStatus)}),
        Kind::Object(name) => json!({"$ref": format!("#/components/schemas/{name}")}),
        Kind::Objects(name) => json!({"type": "array", "items": answered(Kind::Object(name))}),
    }
}

fn tags(kind: &Value) -> Value {
    json!({
        "type": "object",
        "maxProperties": MAX_TAGS,
        "propertyNames": {"minLength": 1, "maxLength": MAX_SHORT_TEXT},
        "additionalProperties": {"type": kind, "maxLength": MAX_SHORT_TEXT},
    })
}

fn or_null(mut schema: Value, is_nullable: bool) -> Value {
    if is_nullable {
        if schema.get("$ref").is_some() {
            return json!({"anyOf": [schema, {"type": "null"}]});
        }
        if let Some(kind) = schema.get("type").cloned() {
            schema["type"] = json!([kind, "null"]);
        }
        if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
            words.push(Value::Null);
        }
    }
    schema
}

fn object(note: &str, properties: Map<String, Value>, required: &[&str]) -> Value {
    let mut schema = json!({
        "type": "object",
        "description": note,
        "additionalProperties": false,
    });
    schema["properties"] = Value::Object(properties);
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// The other names a request may use.
fn note() -> String {
    let aliases = all_written().flat_map(|(field, _)| {
        field.aliases.iter().map(|alias| match alias {
            Alias::Same(name) => format!("`{name}` for `{}`", field.name),
            Alias::Opposite(name) => format!("`{name}` for the opposite of `{}`", field.name),
        })
    });
    let aliases: Vec<_> = aliases.collect();
    format!(
        "Also takes {}. Other fields that only answers have may be repeated and are ignored.",
        aliases.join(", ")
    )
}

/// The rows of docs/api.md for the fields a user writes.
pub(super) fn written_table() -> String {
    let mut text = "| field | type | default | meaning |\n|---|---|---|---|\n".to_owned();
    for (field, absent) in all_written() {
        let row = [field.kind.text(), absent.text(), field.about.to_owned()].join(" | ");
        text += &format!("| `{}` | {row} |\n", field.name);
    }
    text
}
