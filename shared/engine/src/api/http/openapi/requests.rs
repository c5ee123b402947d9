//! The objects of requests that judge or change schedules, and of their answers, field by field.

use belfry_core::fire::backfill::MAX_CONCURRENT;

use super::kind::Kind::{
    Any, Count, Flag, Instant, Integer, List, Name, Number, Object, ShortList, Text, Whole, Word,
};
use super::kind::{always, optional, or_null, sometimes};
use super::schemas::{CATCHUPS, ORDERS, OVERLAPS, Table, WORKFLOW};

pub(super) const REQUESTS: &[Table] = &[
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
            always("recovery", Object("RecoveryStats"), "what recovery came to"),
            always("of_newest", Count, "run records looked at"),
        ],
    ),
    (
        "RecoveryStats",
        "What became of runs that were lost.",
        &[
            always("attempts", Count, "how often one was sent again"),
            always("recovered", Count, "launched after all"),
            always("failed", Count, "sent again, and ended badly"),
            always("abandoned", Count, "given up"),
            or_null("rate", Number, "recovered, of those that came to something"),
        ],
    ),
    (
        "BackfillInput",
        "Which fires run, and how.",
        &[
            always("from", Instant, "the first fire it may have"),
            always("to", Instant, "the last; not in the future"),
            optional("dry_run", Flag, "only say what it would do"),
            optional("order", ORDERS, "oldest_first if left out"),
            optional("max_concurrent", Whole(1, MAX_CONCURRENT), "runs at once; 1 if left out"),
            optional("rerun", Flag, "run again what ran by itself"),
            optional("payload", Any, "instead of the schedule's"),
            optional("name", Text, "tells backfills of the same fires apart; cut to 300 bytes"),
        ],
    ),
    (
        "BackfillPreview",
        "What a backfill would do.",
        &[
            always("dry_run", Flag, "true"),
            always("backfill_id", Text, "its name"),
            always("fires", Count, "in the range"),
            always("already_ran", Count, "of them ran by themselves"),
            always("launches", Count, "would be launched"),
            or_null("first", Instant, "the oldest fire"),
            or_null("last", Instant, "the newest fire"),
            always("order", ORDERS, "in which they run"),
            always("max_concurrent", Count, "runs at once"),
        ],
    ),
    (
        "Backfill",
        "The fires of a time gone by, run now.",
        &[
            always("backfill_id", Text, "its name"),
            always("schedule_id", Name, "whose fires they are"),
            always("from", Instant, "the first fire it may have"),
            always("to", Instant, "the last"),
            always("order", ORDERS, "in which they run"),
            always("max_concurrent", Count, "runs at once"),
            always("rerun", Flag, "whether what ran by itself runs again"),
            always("state", Word(&["running", "done", "cancelled"]), "whether it goes on"),
            always("fires", Count, "in the range"),
            always("already_ran", Count, "of them ran by themselves"),
            always("succeeded", Count, "of its runs ended well"),
            always("failed", Count, "of its runs ended badly"),
            always("skipped", Count, "of its runs were not launched"),
            always("remaining", Count, "fires it has not come to"),
            always("active", List(&Text), "its runs that are under way"),
            always("created_at", Instant, "when it was asked for"),
            always("created_by", Text, "by whom"),
        ],
    ),
    ("BackfillList", "", &[always("items", List(&Object("Backfill")), "newest first")]),
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
    (
        "Pause",
        "",
        &[
            optional("note", Text, "why; cut to 300 bytes"),
            optional("until", Instant, "when it ends by itself"),
        ],
    ),
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
            always("eventbridge", Number, "events"),
            always("cloudwatch", Number, "logs"),
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
];
