//! The vocabulary's schemas: what the words of a deployment look like to programs.

use serde_json::{Value, json};

/// The schemas of the vocabulary by their names.
pub(super) fn schemas() -> impl Iterator<Item = (&'static str, Value)> {
    [("Vocabulary", vocabulary()), ("Term", term()), ("FieldWords", field()), ("Alias", alias())]
        .into_iter()
}

fn vocabulary() -> Value {
    let list = |name: &str, about: &str| {
        let items = json!({"$ref": format!("#/components/schemas/{name}")});
        json!({"type": "array", "items": items, "description": about})
    };
    object(
        "The words of the API with what people read for them.",
        json!({
            "fields": list("FieldWords", "fields of a schedule"),
            "schedule_statuses": list("Term", "values of a schedule's `status`"),
            "run_statuses": list("Term", "values of a run's `status`"),
            "reasons": list("Term", "values of a run's `reason`"),
            "ledger_reasons": list("Term", "keys of a ledger's `by_reason` and `extra`"),
            "ledger_problems": list("Term", "values of `why` in a ledger's `unexplained`"),
        }),
        &[],
    )
}

fn term() -> Value {
    object(
        "A word of the API.",
        json!({
            "word": text("value in requests and answers"),
            "label": text("name for people"),
            "meaning": text("meaning, in a sentence"),
        }),
        &[],
    )
}

fn field() -> Value {
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    let flag = |about: &str| json!({"type": "boolean", "description": about});
    let list = |name: &str, about: &str| {
        let items = json!({"$ref": format!("#/components/schemas/{name}")});
        json!({"type": "array", "items": items, "description": about})
    };
    object(
        "A field of a schedule.",
        json!({
            "name": text("name in requests and answers"),
            "label": text("name for people"),
            "description": text("meaning, in a line"),
            "kind": text("what the field holds, such as `whole_number` or `choice`"),
            "minimum": count("smallest number the field may hold"),
            "maximum": count("largest number the field may hold"),
            "max_length": count("longest text the field may hold, in characters"),
            "max_bytes": count("longest JSON the field may hold, in bytes"),
            "max_items": count("most elements the field may hold"),
            "choices": list("Term", "words the field may hold"),
            "required": flag("whether a definition must have the field"),
            "nullable": flag("whether an answer may have null"),
            "read_only": flag("whether requests are ignored in it"),
            "default": {"description": "value of a schedule that does not have it, in this deployment"},
            "default_means": text("meaning of that default, where the value says too little"),
            "setting": text("setting of the deployment that decides the default"),
            "aliases": list("Alias", "other names of the field in requests"),
        }),
        &[
            "minimum",
            "maximum",
            "max_length",
            "max_bytes",
            "max_items",
            "choices",
            "default_means",
            "setting",
            "aliases",
        ],
    )
}

fn alias() -> Value {
    let opposite = "whether true means false under this name";
    object(
        "Another name of a field.",
        json!({
            "name": text("name in requests"),
            "opposite": {"type": "boolean", "description": opposite},
        }),
        &[],
    )
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

/// An object whose properties are always there, but for some.
fn object(about: &str, properties: Value, sometimes: &[&str]) -> Value {
    let names = properties.as_object().into_iter().flat_map(|properties| properties.keys());
    let required: Vec<_> =
        names.filter(|name| !sometimes.contains(&name.as_str())).cloned().collect();
    json!({
        "type": "object",
        "description": about,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
