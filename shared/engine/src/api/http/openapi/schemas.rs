//! Every schema there is: the schedule in its forms, targets, and the tables beside this file.

use belfry_core::schedule::definition::{MAX_LONG_TEXT, MAX_SHORT_TEXT};
use serde_json::{Map, Value, json};

use super::kind::Kind::{
    Any, Count, Flag, Instant, List, Name, Notation, Object, Short, ShortList, Text, Texts,
    TextsOrNull, Whole, Word,
};
use super::kind::{Field, Kind, always, object, optional, or_null, sometimes};
use super::records::RECORDS;
use super::requests::REQUESTS;
use super::sets::SETS;

pub(super) const OVERLAPS: Kind = Word(&["skip", "allow", "queue"]);
pub(super) const CATCHUPS: Kind = Word(&["none", "once", "fire_immediately", "spread"]);
const CRON: Kind = Notation("cron");
const ZONE: Kind = Notation("time-zone");
pub(super) const ORDERS: Kind = Word(&["oldest_first", "newest_first"]);
pub(super) const WORKFLOW: Kind = Notation("workflow-name");
pub(super) const RUN_STATUS: Kind = Word(RUN_STATUSES);
const YEAR_S: u64 = 31_536_000;

pub(super) const RUN_STATUSES: &[&str] =
    &["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
pub(super) const STATUSES: &[&str] = &["active", "paused", "pending", "expired", "invalid"];

/// What a user may write of a schedule.
const WRITTEN: [Field; 20] = [
    optional("cron_expr", CRON, "when it fires; docs/cron.md; required unless it follows another"),
    always("workflow_id", WORKFLOW, "what it launches; must exist"),
    optional("version", Whole(1, u32::MAX as u64), "which version; the newest if left out"),
    optional("timezone", ZONE, "an IANA name; UTC if left out"),
    optional("start_at", Instant, "no fire before it"),
    optional("end_at", Instant, "no fire after it"),
    optional("dst_gap", Word(&["shift", "skip"]), "what becomes of a time the clock skips"),
    optional("dst_fold", Word(&["first", "both"]), "what becomes of a time the clock shows twice"),
    optional("paused", Flag, "whether it is paused"),
    optional("overlap_policy", OVERLAPS, "what happens when earlier runs are still going"),
    optional("max_concurrent", Whole(1, 100), "runs that may go at once"),
    optional("catchup_policy", CATCHUPS, "what happens to missed fires"),
    optional("catchup_window_s", Whole(0, YEAR_S), "older missed fires are never caught up"),
    optional("jitter_ms", Whole(0, 86_400_000), "how far from its second a fire may start"),
    optional("inject_metadata", Flag, "whether the target is told about schedule and run"),
    optional("name", Short(MAX_SHORT_TEXT), "for people"),
    optional("description", Short(MAX_LONG_TEXT), "for people"),
    optional("max_runtime_s", Whole(1, YEAR_S), "how long a tracked run may take"),
    optional("pause_after_failures", Whole(1, 1000), "so many failures in a row pause it"),
    optional("after_schedule_id", Name, "it also runs when a run of this one succeeds"),
];

/// Fields that answers have and that requests may repeat.
const DERIVED: [Field; 18] = [
    always("schedule_id", Name, "its name"),
    always("user_id", Text, "its owner"),
    always("status", Word(STATUSES), "whether it fires, and if not why"),
    or_null("next_run_at", Instant, "the next fire"),
    always("next_runs", ShortList(&Instant, 5), "the next fires"),
    or_null("last_run_at", Instant, "the newest fire the tick has dealt with"),
    or_null("last_run_id", Text, "its run"),
    always("warnings", List(&Object("Warning")), "what is odd about it"),
    or_null("cron_description", Text, "the expression in English"),
    or_null("pause_note", Text, "why it was paused"),
    or_null("pause_until", Instant, "when the pause ends by itself"),
    or_null("set", Name, "the declared set it belongs to"),
    always("revision", Count, "counts acknowledged changes"),
    always("created_at", Instant, "when it was made"),
    always("updated_at", Instant, "when its definition changed last"),
    optional("last_status", RUN_STATUS, "of the newest run that came to something"),
    sometimes("stats", Object("Stats"), "of its newest runs"),
    sometimes("durations", Object("Durations"), "of its newest runs"),
];

const RECENT: Field =
    sometimes("recent", List(&RUN_STATUS), "statuses of the newest runs, if asked for");
const PAYLOAD: Field = optional("payload", Any, "what every run is given; up to 262144 bytes");

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
    let aliases = "Also takes cron_expression, schedule_name, start_date, end_date, test_payload for \
                   cron_expr, name, start_at, end_at, payload, and enabled for the opposite of \
                   paused. Read-only fields may be repeated and are ignored.";
    let mut insert = |name: &str, schema: Value| schemas.insert(name.to_owned(), schema);
    insert("Schedule", object("A schedule.", &shown()));
    insert("ScheduleInput", object(aliases, &written(false)));
    insert("NewSchedule", object(aliases, &new()));
    let nothing_required = |mut fields: Vec<Field>| {
        fields.iter_mut().for_each(|field| field.required = false);
        fields
    };
    insert("SchedulePatch", object(aliases, &nothing_required(written(true))));
    let of_trigger = |mut fields: Vec<Field>| {
        fields.retain(|field| field.name != "workflow_id");
        fields
    };
    insert("TriggerInput", object(aliases, &of_trigger(written(false))));
    insert("TriggerPatch", object(aliases, &nothing_required(of_trigger(written(true)))));
    insert("DeclaredSchedule", object(aliases, &declared()));
    insert("Target", target());
    // At least one of the two, and not null.
    let one = |name: &str| json!({"required": [name], "properties": {name: {"type": "string"}}});
    schemas["Bulk"]["anyOf"] = json!([one("tag"), one("workflow_id")]);
    for whole in ["ScheduleInput", "NewSchedule", "TriggerInput", "DeclaredSchedule"] {
        schemas[whole]["anyOf"] = json!([one("cron_expr"), one("after_schedule_id")]);
    }
    schemas
}

/// A schedule as it is answered.
fn shown() -> Vec<Field> {
    let is_set = ["workflow_id", "timezone", "paused", "inject_metadata", "version"];
    let policies = ["overlap_policy", "max_concurrent", "catchup_policy", "jitter_ms"];
    let is_set = |name: &str| is_set.contains(&name) || policies.contains(&name);
    let mut fields: Vec<_> = WRITTEN.into_iter().collect();
    for field in &mut fields {
        field.required = true;
        field.nullable = !is_set(field.name);
        // What is stored need not be what is taken today.
        field.kind = match field.kind {
            Notation(_) | Short(_) => Text,
            kind => kind,
        };
    }
    fields.push(always("tags", Texts, "for people and filters"));
    fields.push(Field { required: true, ..PAYLOAD });
    fields.extend(DERIVED);
    fields.push(RECENT);
    fields
}

/// A schedule as it is written.
fn written(is_patch: bool) -> Vec<Field> {
    let mut fields: Vec<_> = WRITTEN.into_iter().collect();
    let tags = if is_patch { TextsOrNull } else { Texts };
    fields.push(optional("tags", tags, "for people and filters"));
    fields.push(PAYLOAD);
    fields
        .extend(DERIVED.iter().chain([&RECENT]).map(|field| sometimes(field.name, Any, "ignored")));
    fields
}

/// A schedule as it is made under a name of the maker's choice.
fn new() -> Vec<Field> {
    let mut fields = written(false);
    fields.retain(|field| field.name != "schedule_id");
    fields.push(optional("schedule_id", Name, "its name; one is given if left out"));
    fields
}

/// A schedule of a declared set.
fn declared() -> Vec<Field> {
    let mut fields = written(false);
    fields.retain(|field| field.name != "schedule_id");
    fields.push(always("schedule_id", Name, "its name"));
    fields
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
    use belfry_core::schedule::definition::{Definition, House, READ_ONLY};

    #[test]
    fn what_is_written_of_a_schedule_is_what_a_definition_has() {
        let body = json!({"cron_expr": "0 9 * * *", "workflow_id": "w"});
        let id = "nightly".parse().unwrap();
        let definition = Definition::parse(&body, &id, &House::default()).unwrap();
        let document = belfry_core::schedule::definition::object(&definition.document());
        let mut expected: Vec<_> = document.keys().map(String::as_str).chain(READ_ONLY).collect();
        let written = written(false);
        let mut found: Vec<_> = written.iter().map(|field| field.name).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
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
