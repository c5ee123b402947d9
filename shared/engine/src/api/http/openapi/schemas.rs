//! Every schema there is: targets, and those of the files beside this one.

use serde_json::{Map, Value, json};

use super::kind::Kind::{Notation, Word};
use super::kind::{Field, Kind, always, object};
use super::records::RECORDS;
use super::requests::REQUESTS;
use super::sets::SETS;
use super::{schedule, vocabulary};

pub(super) const OVERLAPS: Kind = Word(&["skip", "allow", "queue"]);
pub(super) const CATCHUPS: Kind = Word(&["none", "once", "fire_immediately", "spread"]);
pub(super) const ORDERS: Kind = Word(&["oldest_first", "newest_first"]);
pub(super) const WORKFLOW: Kind = Notation("workflow-name");
pub(super) const RUN_STATUS: Kind = Word(RUN_STATUSES);

pub(super) const RUN_STATUSES: &[&str] =
    &["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
pub(super) const STATUSES: &[&str] = &["active", "paused", "pending", "expired", "invalid"];

/// A name, a note and fields.
pub(super) type Table = (&'static str, &'static str, &'static [Field]);

const TARGETS: &[(&str, &[Field])] = &[
    ("http", &[always("url", Notation("http-url"), "a signed POST there")]),
    ("sqs", &[always("queue_url", Notation("http-url"), "a message there")]),
    ("lambda", &[always("function", Notation("function"), "a name or an ARN")]),
    ("step_functions", &[always("state_machine_arn", Notation("arn"), "an execution of it")]),
    (
        "eventbridge",
        &[
            always("bus", Notation("function"), "an event there"),
            always("source", Notation("function"), "its source"),
            always("detail_type", Notation("function"), "its detail-type"),
        ],
    ),
];

/// Every schema by its name.
pub(super) fn all() -> Map<String, Value> {
    let tables = REQUESTS
        .iter()
        .chain(RECORDS)
        .chain(SETS)
        .map(|(name, note, fields)| ((*name).to_owned(), object(note, fields)));
    let mut schemas: Map<_, _> = tables.collect();
    let mut insert = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    for (name, schema) in schedule::schemas().chain(vocabulary::schemas()) {
        insert(name, schema);
    }
    insert("Target", target());
    // At least one of the two, and not null.
    let one = |name: &str| json!({"required": [name], "properties": {name: {"type": "string"}}});
    schemas["Bulk"]["anyOf"] = json!([one("tag"), one("workflow_id")]);
    schemas
}

fn target() -> Value {
    let variant = |(kind, fields): &(&str, &[Field])| {
        let mut variant = object("", fields);
        variant["properties"]["kind"] = json!({"const": kind});
        if let Some(required) = variant["required"].as_array_mut() {
            required.push(json!("kind"));
        }
        variant
    };
    json!({
        "description": "Where runs are launched. Texts are at most 2048 bytes.",
        "oneOf": TARGETS.iter().map(variant).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use belfry_core::run;
    use belfry_core::schedule::{self, Catchup, Overlap};
    use belfry_core::words::variants;

    #[test]
    fn the_words_of_enums_are_those_of_their_variants() {
        let check = |kind: Kind, words: &[&str]| assert_eq!(kind.schema()["enum"], json!(words));
        check(OVERLAPS, variants::<Overlap>());
        check(CATCHUPS, variants::<Catchup>());
        check(RUN_STATUS, variants::<run::Status>());
        check(Word(STATUSES), variants::<schedule::Status>());
    }

    #[test]
    fn every_object_that_is_named_has_a_schema() {
        let all = all();
        let text = Value::Object(all.clone()).to_string();
        for name in text.split("#/components/schemas/").skip(1) {
            let name = name.split('"').next().unwrap();
            assert!(all.contains_key(name), "{name}");
        }
    }
}
