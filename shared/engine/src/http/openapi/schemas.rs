//! The objects that requests and answers are made of, field by field.

use belfry_core::definition::{MAX_LONG_TEXT, MAX_SHORT_TEXT};
use serde_json::{Map, Value, json};

use super::kind::Kind::{
    Any, Count, Counts, Flag, Instant, Integer, List, Name, Notation, Number, Object, Short,
    ShortList, Text, Texts, TextsOrNull, Whole, Word,
};
use super::kind::{Field, Kind, always, object, optional, or_null, sometimes};

const OVERLAPS: Kind = Word(&["skip", "allow", "queue"]);
const CATCHUPS: Kind = Word(&["none", "once", "fire_immediately", "spread"]);
const CRON: Kind = Notation("cron");
const ZONE: Kind = Notation("time-zone");
const WORKFLOW: Kind = Notation("workflow-name");
const RUN_STATUS: Kind = Word(RUN_STATUSES);
const YEAR_S: u64 = 31_536_000;

pub(super) const RUN_STATUSES: &[&str] =
    &["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
pub(super) const STATUSES: &[&str] = &["active", "paused", "pending", "expired", "invalid"];

/// What a user may write of a schedule.
const WRITTEN: [Field; 19] = [
    always("cron_expr", CRON, "when it fires; docs/cron.md"),
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
];

/// Fields that answers have and that requests may repeat.
const DERIVED: [Field; 16] = [
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

const RUN: [Field; 20] = [
    always("run_id", Text, "its name: <schedule_id>@<run_at>"),
    always("schedule_id", Name, "whose fire it is"),
    always("run_at", Instant, "the nominal second"),
    always("idempotency_key", Text, "the same on every attempt"),
    always("status", RUN_STATUS, "where it stands"),
    always("trigger", Text, "schedule:<cron_expr>, catchup or manual"),
    always("attempt", Count, "how often it was claimed"),
    always("launch_at", Instant, "when it was meant to start"),
    always("enqueued_at", Instant, "when the record was made"),
    or_null("started_at", Instant, "when it was claimed, the newest time"),
    or_null("finished_at", Instant, "when it ended"),
    or_null("drift_ms", Integer, "how late it started"),
    or_null("external_run_id", Text, "the executor's name for it"),
    or_null("error", Text, "what went wrong"),
    or_null("result", Any, "what the executor answered"),
    or_null("reason", Text, "why, where the status does not say"),
    or_null("tzdb", Text, "the zone data it was planned with"),
    sometimes("blocked_by", Text, "the run in whose favour it was skipped"),
    sometimes("recovery", Object("Recovery"), "how it was rescued"),
    sometimes("missed", Object("Missed"), "the fires that a summary stands for"),
];

type Table = (&'static str, &'static str, &'static [Field]);

const TABLES: &[Table] = &[
    (
        "Warning",
        "Something its author should know.",
        &[
            always("code", Text, "what kind of surprise it is; docs/cron.md"),
            always("message", Text, "for people"),
        ],
    ),
    (
        "Invalid",
        "One problem of one field.",
        &[
            always("field", Text, "which"),
            always("message", Text, "what is wrong with it"),
            sometimes("at", Count, "the character it begins at, counted from 0"),
        ],
    ),
    (
        "Problem",
        "RFC 9457.",
        &[
            always("type", Text, "about:blank"),
            always("title", Text, "what kind of problem it is"),
            always("status", Count, "the status of the answer"),
            always("detail", Text, "what happened"),
            sometimes("errors", List(&Object("Invalid")), "every field that is wrong"),
        ],
    ),
    (
        "Stats",
        "What became of some runs.",
        &[
            always("total", Count, "launched, or not to be launched"),
            always("succeeded", Count, "ended well"),
            always("failed", Count, "ended badly, or given up"),
            always("skipped", Count, "not launched by policy"),
            always("missed", Count, "not launched because their time had passed"),
            always("recovered", Count, "launched after they were lost"),
            or_null("success_rate", Number, "of those that ended"),
            sometimes("consecutive_failures", Count, "since the last success"),
            always("of_newest", Count, "run records looked at"),
        ],
    ),
    (
        "Durations",
        "How long runs took.",
        &[
            or_null("p50_ms", Integer, "half of them took no longer"),
            or_null("p95_ms", Integer, "all but the slowest twentieth"),
        ],
    ),
    (
        "SchedulePage",
        "",
        &[
            always("items", List(&Object("Schedule")), "in the order of their names"),
            or_null("next_cursor", Text, "where the next page begins"),
        ],
    ),
    ("Pause", "", &[optional("note", Text, "why; cut to 300 bytes")]),
    (
        "Resume",
        "",
        &[
            optional("catchup", CATCHUPS, "instead of the schedule's own policy"),
            optional("dry_run", Flag, "only say what would be caught up"),
        ],
    ),
    (
        "ResumePreview",
        "",
        &[
            always("catchup", CATCHUPS, "how"),
            always("fires", Count, "missed so far"),
            always("launches", Count, "that would be launched"),
            or_null("first", Instant, "the oldest"),
            or_null("last", Instant, "the newest"),
        ],
    ),
    (
        "Bulk",
        "One of `tag` and `workflow_id` is required.",
        &[
            always("action", Word(&["pause", "resume"]), "what to do"),
            optional("tag", Text, "a tag, or tag:value"),
            optional("workflow_id", WORKFLOW, "those that launch it"),
            optional("note", Text, "with pause"),
            optional("catchup", CATCHUPS, "with resume"),
            optional("dry_run", Flag, "only count"),
            optional("cursor", Name, "next_cursor of the call before"),
        ],
    ),
    (
        "BulkFailure",
        "",
        &[always("schedule_id", Name, "which"), always("message", Text, "what went wrong")],
    ),
    (
        "BulkAnswer",
        "",
        &[
            always("matched", Count, "that fit"),
            always("changed", Count, "that were not so already"),
            always("failed", List(&Object("BulkFailure")), "that could not be changed"),
            always("dry_run", Flag, "whether they were only counted"),
            or_null("next_cursor", Text, "there is more to do"),
        ],
    ),
    (
        "Trigger",
        "",
        &[
            optional("payload", Any, "instead of the schedule's"),
            optional("overlap_policy", OVERLAPS, "instead of the schedule's"),
        ],
    ),
    (
        "Validate",
        "Every field is judged in the answer, not refused.",
        &[
            sometimes("cron_expr", Any, "the expression"),
            sometimes("cron_expression", Any, "another name for it"),
            sometimes("timezone", Any, "an IANA name; UTC if left out"),
            sometimes("start_at", Any, "as in a schedule"),
            sometimes("end_at", Any, "as in a schedule"),
            sometimes("dst_gap", Any, "as in a schedule"),
            sometimes("dst_fold", Any, "as in a schedule"),
            sometimes("schedule_id", Any, "whose expression it is: H is worked out from it"),
            sometimes("after", Any, "fires strictly after this; now if left out"),
            sometimes("count", Any, "0 to 100; 5 if left out"),
        ],
    ),
    (
        "Validation",
        "",
        &[
            always("valid", Flag, "whether a schedule could have it"),
            always("next_executions", List(&Instant), "the next fires"),
            always("local_executions", List(&Instant), "the same as the zone's clock shows them"),
            or_null("description", Text, "the expression in English"),
            always("warnings", List(&Object("Warning")), "what is odd about it"),
            always("errors", List(&Object("Invalid")), "what is wrong with it"),
        ],
    ),
    (
        "Difference",
        "",
        &[
            always("field", Text, "which"),
            or_null("old", Any, "what it was"),
            or_null("new", Any, "what it would be"),
        ],
    ),
    (
        "FireDiff",
        "What becomes of the fires of the next 90 days.",
        &[
            always("from", Instant, "after this"),
            always("to", Instant, "up to this"),
            always("added_count", Count, "only the new definition has"),
            always("removed_count", Count, "only the old one has"),
            always("kept_count", Count, "both have"),
            always("added", ShortList(&Instant, 20), "the first of them"),
            always("removed", ShortList(&Instant, 20), "the first of them"),
            always("truncated", Flag, "there were too many to compare them all"),
        ],
    ),
    (
        "Cost",
        "In US dollars, what the runs add at most.",
        &[
            always("dynamodb", Number, "tables"),
            always("sqs", Number, "queue"),
            always("lambda", Number, "launcher"),
            always("total", Number, "all of it"),
            always("region", Text, "where these prices hold"),
            always("as_of", Text, "when they were read"),
        ],
    ),
    (
        "Diff",
        "What a save would do.",
        &[
            always("dry_run", Flag, "true"),
            always("valid", Flag, "true; what a save would refuse is refused"),
            always("creates", Flag, "whether the schedule is new"),
            always("changes", List(&Object("Difference")), "fields that become others"),
            always("fires", Object("FireDiff"), "fires added and removed"),
            always("dst", List(&Object("Warning")), "clock changes that move or repeat a fire"),
            always("runs_per_month", Number, "in 730 hours"),
            always("cost_per_month_usd", Object("Cost"), "of those runs"),
        ],
    ),
    (
        "Recovery",
        "",
        &[
            always("is_recovery", Flag, "true"),
            always("original_scheduled_time", Instant, "run_at"),
            always("recovery_attempt_time", Instant, "when it was sent again"),
            always("execution_id", Text, "the run"),
            always("attempts", Count, "how often"),
        ],
    ),
    (
        "Missed",
        "",
        &[
            always("first", Instant, "the oldest"),
            always("last", Instant, "the newest"),
            always("count", Count, "how many"),
        ],
    ),
    ("Run", "The record of a fire and of what became of it.", &RUN),
    (
        "RunPage",
        "",
        &[
            always("items", List(&Object("Run")), "newest first"),
            or_null("next_cursor", Text, "where the next page begins"),
        ],
    ),
    (
        "Feedback",
        "An executor's word on a run.",
        &[
            always("status", Word(&["STARTED", "SUCCESS", "FAILED"]), "what happened"),
            optional("error", Text, "cut to 300 bytes"),
            optional("result", Any, "up to 300 bytes of JSON"),
            optional("external_run_id", Text, "the executor's name for the run"),
        ],
    ),
    (
        "Unexplained",
        "",
        &[
            always("run_at", Instant, "the fire"),
            always("why", Text, "why it has no explanation; docs/ledger.md"),
        ],
    ),
    (
        "Ledger",
        "Every fire there should have been, held against the runs.",
        &[
            always("from", Instant, "included"),
            always("to", Instant, "included"),
            always("expected", Count, "fires"),
            always("by_reason", Counts, "what became of them"),
            always("extra", Counts, "runs besides"),
            always("unexplained_count", Count, "fires nobody can explain"),
            always("truncated", Flag, "not all of them are listed"),
            always("unexplained", List(&Object("Unexplained")), "they"),
        ],
    ),
    (
        "Change",
        "An entry of the change log.",
        &[
            always("at", Instant, "when"),
            always("by", Text, "who"),
            always("verb", Text, "created, updated, paused, resumed or deleted"),
            always("revision", Count, "the definition it led to"),
            always("paused", Flag, "whether fires launch from then on"),
            always("changes", List(&Object("Difference")), "fields that became others"),
            always("cron_expr", Text, "from then on"),
            always("timezone", Text, "from then on"),
            sometimes("start_at", Instant, "from then on"),
            sometimes("end_at", Instant, "from then on"),
            sometimes("dst_gap", Text, "from then on"),
            sometimes("dst_fold", Text, "from then on"),
        ],
    ),
    (
        "ChangePage",
        "",
        &[
            always("items", List(&Object("Change")), "newest first"),
            or_null("next_cursor", Text, "where the next page begins"),
        ],
    ),
    (
        "ScheduleCounts",
        "",
        &[
            always("total", Count, "looked at"),
            always("by_status", Counts, "what they do"),
            always("failing", Count, "whose newest run failed"),
        ],
    ),
    (
        "Overall",
        "Counts over your schedules.",
        &[
            always("schedules", Object("ScheduleCounts"), "what they do"),
            always("runs", Object("Stats"), "what became of their newest runs"),
            always("truncated", Flag, "there are more schedules"),
        ],
    ),
    (
        "Bucket",
        "",
        &[
            or_null("up_to_ms", Integer, "so late at most; null: later than all others"),
            always("count", Count, "runs"),
        ],
    ),
    ("Drift", "", &[always("buckets", List(&Object("Bucket")), "how late runs started")]),
    (
        "Rescued",
        "",
        &[
            always("recovered", Count, "launched after they were lost"),
            always("abandoned", Count, "lost and given up"),
            always("missed", Count, "not launched because their time had passed"),
        ],
    ),
    (
        "Overview",
        "Your first 200 schedules and the newest 100 runs of each.",
        &[
            always("from", Instant, "the minute that is going on"),
            always("due_next_24h", ShortList(&Count, 1440), "fires in each minute from there"),
            always("due_now", Count, "whose time has come and that wait"),
            always("drift", Object("Drift"), "how late runs started"),
            always("failures", ShortList(&Object("Run"), 20), "the newest"),
            always("recovery", Object("Rescued"), "what had to be rescued"),
            always("schedules", Count, "looked at"),
            always("runs", Count, "looked at"),
            always("truncated", Flag, "there are more"),
        ],
    ),
    (
        "Preset",
        "",
        &[
            always("id", Text, "its name for programs"),
            always("name", Text, "its name for people"),
            always("cron_expr", Text, "the expression"),
            always("description", Text, "the expression in English"),
        ],
    ),
    ("Presets", "", &[always("items", List(&Object("Preset")), "to choose from")]),
    (
        "TimeZone",
        "",
        &[
            always("name", Text, "the IANA name"),
            always("offset", Text, "from UTC, now"),
            always("local_time", Instant, "what its clock shows, now"),
        ],
    ),
    (
        "TimeZones",
        "",
        &[
            always("items", List(&Object("TimeZone")), "to choose from"),
            always("tzdb", Text, "the release of the zone data"),
        ],
    ),
    (
        "Health",
        "",
        &[
            always("status", Text, "ok"),
            always("version", Text, "of Belfry"),
            always("tzdb", Text, "the release of the zone data"),
        ],
    ),
    (
        "WorkflowInput",
        "A version of a workflow.",
        &[
            sometimes("definition", Any, "handed to the target as dag; up to 358400 bytes"),
            always("target", Object("Target"), "where runs are launched"),
            optional("completion", Word(&["on_launch", "tracked"]), "when a run counts as done"),
        ],
    ),
    (
        "Workflow",
        "A version of a workflow.",
        &[
            always("workflow_id", Name, "its name"),
            always("version", Count, "its number"),
            or_null("definition", Any, "what the executor runs"),
            always("target", Object("Target"), "where runs are launched"),
            always("completion", Text, "when a run counts as done"),
        ],
    ),
    (
        "Version",
        "A version without its definition.",
        &[
            always("workflow_id", Name, "its name"),
            always("version", Count, "its number"),
            always("target", Object("Target"), "where runs are launched"),
            always("completion", Text, "when a run counts as done"),
        ],
    ),
    (
        "VersionPage",
        "",
        &[
            always("items", List(&Object("Version")), "newest first"),
            or_null("next_cursor", Text, "where the next page begins"),
        ],
    ),
];

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
    let tables =
        TABLES.iter().map(|(name, note, fields)| ((*name).to_owned(), object(note, fields)));
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
    insert("Target", target());
    // At least one of the two, and not null.
    let one = |name: &str| json!({"required": [name], "properties": {name: {"type": "string"}}});
    schemas["Bulk"]["anyOf"] = json!([one("tag"), one("workflow_id")]);
    schemas
}

/// A schedule as it is answered.
fn shown() -> Vec<Field> {
    let is_set = ["cron_expr", "workflow_id", "timezone", "paused", "inject_metadata", "version"];
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
    use belfry_core::definition::{Definition, House, READ_ONLY};

    #[test]
    fn what_is_written_of_a_schedule_is_what_a_definition_has() {
        let body = json!({"cron_expr": "0 9 * * *", "workflow_id": "w"});
        let id = "nightly".parse().unwrap();
        let definition = Definition::parse(&body, &id, &House::default()).unwrap();
        let document = belfry_core::definition::object(&definition.document());
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
