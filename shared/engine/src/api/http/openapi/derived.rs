//! The schemas of answers, derived from their types.

use std::borrow::Cow;

use belfry_core::run::stats::{Durations, Stats};
use belfry_core::schedule::alert::Destination;
use belfry_core::schedule::warning::Warning;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

use super::schedule;
use crate::api::list::ScheduleView;

/// The schema of an answer. What it refers to is remembered by the generator.
pub(super) type Shape = fn(&mut SchemaGenerator) -> Schema;

/// The schema of a type.
pub(super) fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Some object.
pub(super) fn any_object(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "object"})
}

/// What makes the schemas of answers.
pub(super) fn generator() -> SchemaGenerator {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
        settings.transforms = vec![Box::new(RecursiveTransform(tidy))];
    });
    settings.into_generator()
}

/// The schemas of every type that an answer has been made from, by name.
pub(super) fn definitions(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut all = generator.take_definitions(true);
    // As its table says, which means `null` where it says so.
    if let Some(shown) = all.get_mut(&*ScheduleView::schema_name()) {
        *shown = schedule::shown();
    }
    all
}

/// Says in the words of our document what schemars says otherwise.
fn tidy(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else { return };
    if let Some(Value::String(text)) = fields.get_mut("description") {
        *text = unwrapped(text);
    }
    // How wide a number is in Rust is no business of a client's.
    let is_number = |kind: &Value| *kind == "integer" || *kind == "number";
    let is_number = match fields.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    };
    if is_number {
        fields.remove("format");
    }
    words(fields);
    let required = fields.get("required").cloned().unwrap_or_default();
    let is_required =
        |name: &str| required.as_array().is_some_and(|all| all.contains(&json!(name)));
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
            never_null(property);
        }
    }
}

/// A comment of the source without its line ends; an empty line still begins a paragraph.
fn unwrapped(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// An enum: its words, and what they mean in the description.
fn words(fields: &mut Map<String, Value>) {
    let Some(Value::Array(variants)) = fields.get("oneOf") else { return };
    let word = |variant: &Value| {
        Some((variant["const"].as_str()?.to_owned(), unwrapped(variant["description"].as_str()?)))
    };
    let Some(words) = variants.iter().map(word).collect::<Option<Vec<_>>>() else { return };
    let mut text = fields.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    for (word, meaning) in &words {
        text += &format!("\n- `{word}`: {meaning}");
    }
    let words: Vec<_> = words.into_iter().map(|(word, _)| word).collect();
    fields.remove("oneOf");
    fields.extend([
        ("type".to_owned(), json!("string")),
        ("enum".to_owned(), json!(words)),
        ("description".to_owned(), json!(text)),
    ]);
}

/// A field that an answer may leave out is left out when there is nothing to say: it is never `null`.
fn never_null(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else { return };
    if let Some(Value::Array(kinds)) = fields.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            fields.insert("type".to_owned(), kind);
        }
    }
    if let Some(Value::Array(choices)) = fields.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            fields.remove("anyOf");
            fields.extend(only);
        }
    }
}

/// Described by the table of its fields.
impl JsonSchema for ScheduleView {
    fn schema_name() -> Cow<'static, str> {
        "Schedule".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        // The table refers to them by their names.
        generator.subschema_for::<Destination>();
        generator.subschema_for::<Warning>();
        generator.subschema_for::<Stats>();
        generator.subschema_for::<Durations>();
        Schema::try_from(schedule::shown()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;

    /// A thing.
    #[derive(Serialize, JsonSchema)]
    #[schemars(deny_unknown_fields)]
    struct Thing {
        /// How many,
        /// counted.
        count: u32,
        /// Or none.
        rate: Option<f64>,
        /// Perhaps.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Perhaps a colour.
        #[serde(skip_serializing_if = "Option::is_none")]
        colour: Option<Colour>,
    }

    /// A colour.
    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "only its schema is looked at")]
    enum Colour {
        /// As blood.
        Red,
        /// As the sea.
        DeepBlue,
    }

    #[test]
    fn a_type_is_described_as_it_is_answered() {
        let mut generator = generator();
        let reference = of::<Thing>(&mut generator);
        assert_eq!(reference.to_value(), json!({"$ref": "#/components/schemas/Thing"}));
        let all = definitions(&mut generator);
        assert_eq!(
            all["Thing"],
            json!({
                "type": "object",
                "description": "A thing.",
                "additionalProperties": false,
                "required": ["count", "rate"],
                "properties": {
                    "count": {"type": "integer", "minimum": 0, "description": "How many, counted."},
                    "rate": {"type": ["number", "null"], "description": "Or none."},
                    "note": {"type": "string", "description": "Perhaps."},
                    "colour": {
                        "$ref": "#/components/schemas/Colour",
                        "description": "Perhaps a colour.",
                    },
                },
            })
        );
        assert_eq!(
            all["Colour"],
            json!({
                "type": "string",
                "enum": ["red", "deep_blue"],
                "description": "A colour.\n- `red`: As blood.\n- `deep_blue`: As the sea.",
            })
        );
    }

    #[test]
    fn a_schedule_is_described_as_its_table_says() {
        let mut generator = generator();
        of::<ScheduleView>(&mut generator);
        let found = &definitions(&mut generator)["Schedule"];
        assert_eq!(*found, schedule::shown());
        // May be left out, and is null where no run has come to something.
        assert!(
            found["properties"]["last_status"]["enum"].as_array().unwrap().contains(&json!(null))
        );
    }
}
