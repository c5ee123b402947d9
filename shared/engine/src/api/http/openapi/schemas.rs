//! The schemas of requests: the forms of a schedule, and the bodies of the other calls.

use serde_json::{Map, Value, json};

use super::kind::object;
use super::requests::REQUESTS;
use super::schedule;

/// The schemas of all requests by their names.
pub(super) fn all() -> Map<String, Value> {
    let tables =
        REQUESTS.iter().map(|table| (table.name.to_owned(), object(table.note, table.fields)));
    let mut schemas: Map<_, _> = tables.collect();
    let mut insert = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    for (name, schema) in schedule::inputs() {
        insert(name, schema);
    }
    // At least one of the two, and not null.
    let one = |name: &str| json!({"required": [name], "properties": {name: {"type": "string"}}});
    schemas["Bulk"]["anyOf"] = json!([one("tag"), one("workflow_id")]);
    schemas
}
