//! The objects that tell what happened and what there is: runs, ledgers, overviews, workflows.

use super::kind::Kind::{
    Any, Count, Counts, Flag, Instant, Integer, List, Name, Object, ShortList, Text, Word,
};
use super::kind::{Field, always, optional, or_null, sometimes};
use super::schemas::{RUN_STATUS, Table};

const RUN: [Field; 20] = [
    always("run_id", Text, "its name: <schedule_id>@<run_at>"),
    always("schedule_id", Name, "whose fire it is"),
    always("run_at", Instant, "the nominal second"),
    always("idempotency_key", Text, "the same on every attempt"),
    always("status", RUN_STATUS, "where it stands"),
    always("trigger", Text, "schedule:<cron_expr>, after:<run_id>, catchup, manual or backfill"),
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

pub(super) const RECORDS: &[Table] = &[
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
        "Origin",
        "Where a request came from.",
        &[
            sometimes("ip", Text, "the address of the caller"),
            sometimes("user_agent", Text, "what it says it is"),
        ],
    ),
    (
        "Change",
        "An entry of the change log.",
        &[
            always("at", Instant, "when"),
            always("by", Text, "who"),
            always("verb", Text, "created, updated, paused, resumed, backfilled, deleted ..."),
            always("revision", Count, "the definition it led to"),
            always("paused", Flag, "whether fires launch from then on"),
            always("changes", List(&Object("Difference")), "fields that became others"),
            or_null("from", Object("Origin"), "where from; null if the system did it by itself"),
            sometimes("run_id", Text, "the run that was asked for"),
            always("cron_expr", Text, "from then on; empty if it only follows another"),
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
