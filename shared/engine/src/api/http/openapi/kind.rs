//! Kinds of values, and the JSON Schema of each.

use belfry_core::id::PATTERN;
use serde_json::{Map, Value, json};

/// What a field or a parameter holds.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Any JSON.
    Any,
    /// True or false.
    Flag,
    /// A text.
    Text,
    /// A name of a schedule, a workflow or a node.
    Name,
    /// A text in a notation that JSON Schema knows by its name only.
    Notation(&'static str),
    /// A whole number between two others.
    Whole(u64, u64),
    /// A whole number from 0.
    Count,
    /// An RFC 3339 time.
    Instant,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of at most this many elements.
    ShortList(&'static Kind, usize),
    /// Counts by name.
    Counts,
    /// An object that has a schema of its own.
    Object(&'static str),
}

/// A field of an object.
#[derive(Clone, Copy)]
pub(super) struct Field {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) note: &'static str,
    pub(super) required: bool,
    pub(super) nullable: bool,
}

/// A field that is always there.
pub(super) const fn always(name: &'static str, kind: Kind, note: &'static str) -> Field {
    Field { name, kind, note, required: true, nullable: false }
}

/// A field that may be left out.
pub(super) const fn sometimes(name: &'static str, kind: Kind, note: &'static str) -> Field {
    Field { name, kind, note, required: false, nullable: false }
}

/// A field that may be left out, and for which `null` is the same.
pub(super) const fn optional(name: &'static str, kind: Kind, note: &'static str) -> Field {
    Field { name, kind, note, required: false, nullable: true }
}

/// An object of a request: its name, a note, and its fields.
pub(in crate::api::http) struct Table {
    pub(super) name: &'static str,
    pub(super) note: &'static str,
    pub(super) fields: &'static [Field],
}

impl Table {
    /// Whether it has a field of this name.
    pub(in crate::api::http) fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }
}

impl Kind {
    pub(super) fn schema(self) -> Value {
        match self {
            Kind::Any => json!({}),
            Kind::Flag => json!({"type": "boolean"}),
            Kind::Text => json!({"type": "string"}),
            Kind::Name => json!({"type": "string", "pattern": PATTERN}),
            // Whatever the notation, nothing is no text in it.
            Kind::Notation(format) => json!({"type": "string", "format": format, "minLength": 1}),
            Kind::Whole(min, max) => json!({"type": "integer", "minimum": min, "maximum": max}),
            Kind::Count => json!({"type": "integer", "minimum": 0}),
            Kind::Instant => json!({"type": "string", "format": "date-time"}),
            Kind::Word(words) => json!({"type": "string", "enum": words}),
            Kind::ShortList(of, max) => {
                json!({"type": "array", "items": of.schema(), "maxItems": max})
            }
            Kind::Counts => {
                json!({"type": "object", "additionalProperties": Kind::Count.schema()})
            }
            Kind::Object(name) => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }
}

impl Field {
    fn schema(&self) -> Value {
        let mut schema = match (self.kind.schema(), self.nullable) {
            (schema, true) if schema.get("$ref").is_some() => {
                json!({"anyOf": [schema, {"type": "null"}]})
            }
            (mut schema, true) => {
                if let Some(kind) = schema.get("type").cloned() {
                    schema["type"] = json!([kind, "null"]);
                }
                if let Some(words) = schema.get_mut("enum").and_then(Value::as_array_mut) {
                    words.push(Value::Null);
                }
                schema
            }
            (schema, false) => schema,
        };
        schema["description"] = json!(self.note);
        schema
    }
}

/// An object of these fields and no others.
pub(super) fn object(note: &str, fields: &[Field]) -> Value {
    let properties: Map<_, _> =
        fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
    let required: Vec<_> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !note.is_empty() {
        schema["description"] = json!(note);
    }
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}
