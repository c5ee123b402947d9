//! The bodies of requests, field by field. The handlers refuse what is not a field of these.

use belfry_core::declare::set::declaration::{MAX_SCHEDULES, MAX_WORKFLOWS};
use belfry_core::fire::backfill::MAX_CONCURRENT;

use super::kind::Kind::{Any, Counts, Flag, Instant, Name, Object, ShortList, Text, Whole, Word};
use super::kind::{Kind, Table, always, optional, sometimes};
use super::words::{CATCHUPS, ORDERS, OVERLAPS, USER, WORKFLOW};

const COMPLETION: Kind = Word(&["on_launch", "tracked"]);

pub(in crate::api::http) const PAUSE: Table = Table {
    name: "Pause",
    note: "How to pause a schedule.",
    fields: &[
        optional("note", Text, "Reason for the pause, cut to 300 bytes."),
        optional("until", Instant, "End of the pause; left out: until a resume."),
    ],
};

pub(in crate::api::http) const RESUME: Table = Table {
    name: "Resume",
    note: "How to resume a schedule.",
    fields: &[
        optional("catchup", CATCHUPS, "Catch-up policy in place of the schedule's own."),
        optional("dry_run", Flag, "Only answer what would be caught up."),
    ],
};

pub(in crate::api::http) const BULK: Table = Table {
    name: "Bulk",
    note: "Which schedules to pause or resume. One of `tag` and `workflow_id` is required.",
    fields: &[
        always("action", Word(&["pause", "resume"]), "What to do with each schedule."),
        optional("tag", Text, "Only schedules with this tag, or this `tag:value`."),
        optional("workflow_id", WORKFLOW, "Only schedules that launch this workflow."),
        optional("user_id", USER, "Owner of the schedules; admins only, if not the caller."),
        optional("note", Text, "Reason for the pause; only with `pause`."),
        optional("catchup", CATCHUPS, "Catch-up policy; only with `resume`."),
        optional("dry_run", Flag, "Only count the schedules."),
        optional("cursor", Name, "`next_cursor` of the previous call."),
    ],
};

pub(in crate::api::http) const TRIGGER: Table = Table {
    name: "Trigger",
    note: "A run that is asked for by hand.",
    fields: &[
        sometimes(
            "payload",
            Any,
            "Payload in place of the schedule's, up to 262144 bytes; `null` is one too.",
        ),
        optional("overlap_policy", OVERLAPS, "Overlap policy in place of the schedule's."),
    ],
};

pub(in crate::api::http) const BACKFILL: Table = Table {
    name: "BackfillInput",
    note: "Which past fires to run, and how.",
    fields: &[
        always("from", Instant, "Start of the range, included."),
        always("to", Instant, "End of the range, included; not in the future."),
        optional("dry_run", Flag, "Only answer what the backfill would do."),
        optional("order", ORDERS, "Order of the fires, default `oldest_first`."),
        optional(
            "max_concurrent",
            Whole(1, MAX_CONCURRENT),
            "How many runs may go at once, default 1.",
        ),
        optional(
            "rerun",
            Flag,
            "Whether fires that ran at their time or in another backfill run again.",
        ),
        sometimes(
            "payload",
            Any,
            "Payload in place of the schedule's, up to 262144 bytes; `null` is one too.",
        ),
        optional("name", Text, "Tells backfills of the same range apart; cut to 300 bytes."),
    ],
};

pub(in crate::api::http) const FEEDBACK: Table = Table {
    name: "Feedback",
    note: "What an executor reports about a run.",
    fields: &[
        always("status", Word(&["STARTED", "SUCCESS", "FAILED"]), "What happened to the run."),
        optional("error", Text, "What went wrong, cut to 300 bytes."),
        optional("result", Any, "What the run answers, up to 300 bytes of JSON."),
        optional("external_run_id", Text, "The executor's own id of the run."),
    ],
};

pub(in crate::api::http) const VALIDATE: Table = Table {
    name: "Validate",
    note: "An expression to explain. Wrong fields are named in the answer; the request is not refused.",
    fields: &[
        sometimes("cron_expr", Any, "The expression."),
        sometimes("cron_expression", Any, "Another name for `cron_expr`."),
        sometimes("timezone", Any, "IANA time zone, default UTC."),
        sometimes("start_at", Any, "No fire before this time."),
        sometimes("end_at", Any, "No fire after this time."),
        sometimes("dst_gap", Any, "What happens to a local time that the clock skips."),
        sometimes("dst_fold", Any, "What happens to a local time that the clock shows twice."),
        sometimes("schedule_id", Any, "Schedule that decides what `H` means."),
        sometimes("after", Any, "Fires strictly after this time, default now."),
        sometimes("count", Any, "How many fires, 0 to 100, default 5."),
    ],
};

pub(super) const WORKFLOW_VERSION: Table = Table {
    name: "WorkflowInput",
    note: "A version of a workflow.",
    fields: &[
        optional("user_id", USER, "Owner of the workflow; admins only, if not the caller."),
        sometimes(
            "definition",
            Any,
            "What the executor runs; handed to the target as `dag`, up to 358400 bytes.",
        ),
        always("target", Object("Target"), "Where runs are launched."),
        optional("completion", COMPLETION, "When a run counts as done, default `on_launch`."),
    ],
};

const DECLARED_WORKFLOW: Table = Table {
    name: "DeclaredWorkflow",
    note: "A workflow version to publish if it does not exist.",
    fields: &[
        always("workflow_id", Name, "Name of the workflow."),
        always(
            "version",
            Whole(1, u32::MAX as u64),
            "Number of the version; a published version never changes.",
        ),
        always("target", Object("Target"), "Where runs are launched."),
        sometimes("definition", Any, "What the executor runs; handed to the target as `dag`."),
        optional("completion", COMPLETION, "When a run counts as done, default `on_launch`."),
    ],
};

const WORKFLOWS: Kind = ShortList(&Object("DeclaredWorkflow"), MAX_WORKFLOWS);
const SCHEDULES: Kind = ShortList(&Object("DeclaredSchedule"), MAX_SCHEDULES);

pub(super) const SET: Table = Table {
    name: "SetInput",
    note: "Everything that a set is to contain.",
    fields: &[
        optional("set", Name, "Name of the set; the same as in the path."),
        optional("workflows", WORKFLOWS, "Workflow versions that the schedules need."),
        optional("schedules", SCHEDULES, "The schedules of the set."),
        optional(
            "planned",
            Counts,
            "Revision of each schedule that the plan was made from; 0 if there was no schedule.",
        ),
    ],
};

/// Every body but those of schedules.
pub(super) const REQUESTS: &[Table] = &[
    PAUSE,
    RESUME,
    BULK,
    TRIGGER,
    BACKFILL,
    FEEDBACK,
    VALIDATE,
    WORKFLOW_VERSION,
    DECLARED_WORKFLOW,
    SET,
];
