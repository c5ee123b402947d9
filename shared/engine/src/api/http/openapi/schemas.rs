//! The schemas of requests: the forms of a schedule, and the bodies of the other calls.

use serde_json::{Map, Value, json};

use super::kind::Kind::{Notation, Word};
use super::kind::{Kind, object};
use super::requests::REQUESTS;
use super::schedule;

pub(super) const OVERLAPS: Kind = Word(&["skip", "allow", "queue"]);
pub(super) const CATCHUPS: Kind = Word(&["none", "once", "fire_immediately", "spread"]);
pub(super) const ORDERS: Kind = Word(&["oldest_first", "newest_first"]);
pub(super) const WORKFLOW: Kind = Notation("workflow-name");

pub(super) const RUN_STATUSES: &[&str] =
    &["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
pub(super) const STATUSES: &[&str] = &["active", "paused", "pending", "expired", "invalid"];

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
        check(Word(RUN_STATUSES), variants::<run::Status>());
        check(Word(STATUSES), variants::<schedule::Status>());
    }
}
