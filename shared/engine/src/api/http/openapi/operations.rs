//! The operations: every call there is. The router serves these and no others, and the document is
//! made from them.

use belfry_core::guard::access::Scope;

use super::kind::Kind::{self, Flag, Instant, Name, Notation, Text, Whole, Word};
use super::schemas::{RUN_STATUSES, STATUSES};
use crate::api::http::access::Gate;
use crate::api::http::routes::{MAX_PAGE, MAX_RECENT};
use crate::api::http::sets::MAX_DELETES;

/// A call.
pub struct Operation {
    /// Its method.
    pub method: &'static str,
    /// Below `/api/v1`, with its parameters in braces.
    pub path: &'static str,
    /// Its name for programs.
    pub(super) id: &'static str,
    /// What it does.
    pub(super) does: &'static str,
    /// Who may call it.
    pub gate: Gate,
    pub(super) query: &'static [Parameter],
    pub(super) headers: &'static [Parameter],
    pub(super) body: Option<Body>,
    /// Statuses of success and what they bring.
    pub(super) answers: &'static [(u16, Option<&'static str>)],
    /// Statuses of refusal, besides those that its path, body and token bring about.
    pub(super) refusals: &'static [u16],
}

/// A parameter of the query, or a header.
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) note: &'static str,
}

/// What a call is given.
pub(super) struct Body {
    pub(super) schema: &'static str,
    pub(super) required: bool,
}

const fn parameter(name: &'static str, kind: Kind, note: &'static str) -> Parameter {
    Parameter { name, kind, note }
}

const READ: Gate = Gate::Token(Scope::SchedulesRead);
const WRITE: Gate = Gate::Token(Scope::SchedulesWrite);
const RUN: Gate = Gate::Token(Scope::RunsWrite);

const USER: Parameter =
    parameter("user_id", Text, "for admins: whose, or * for everybody's; your own if left out");
const DRY_RUN: Parameter = parameter("dry_run", Flag, "only say what the save would do");
const LIMIT: Parameter = parameter("limit", Whole(1, MAX_PAGE as u64), "at most so many; 50");
const CURSOR: Parameter = parameter("cursor", Notation("cursor"), "next_cursor of the page before");
const FROM: Parameter = parameter("from", Instant, "included");
const TO: Parameter = parameter("to", Instant, "included");
const PAGED: &[Parameter] = &[LIMIT, CURSOR];
const IF_MATCH: &[Parameter] =
    &[parameter("If-Match", Notation("revision"), "only if it is still at this revision")];

const fn given(schema: &'static str) -> Option<Body> {
    Some(Body { schema, required: true })
}

const fn may_be_given(schema: &'static str) -> Option<Body> {
    Some(Body { schema, required: false })
}

/// An operation that asks for something and is answered with `schema`.
const fn get(
    path: &'static str,
    id: &'static str,
    does: &'static str,
    answers: &'static [(u16, Option<&'static str>)],
) -> Operation {
    Operation {
        method: "GET",
        path,
        id,
        does,
        gate: READ,
        query: &[],
        headers: &[],
        body: None,
        answers,
        refusals: &[],
    }
}

const SCHEDULE: &str = "/schedules/{schedule_id}";
const TRIGGER: &str = "/workflows/{workflow_id}/triggers/{node_id}/schedule";
const MADE_OR_SAVED: &[(u16, Option<&str>)] =
    &[(200, Some("Schedule")), (200, Some("Diff")), (201, Some("Schedule"))];
const SAVED_OR_DIFF: &[(u16, Option<&str>)] = &[(200, Some("Schedule")), (200, Some("Diff"))];
const ONE_SCHEDULE: &[(u16, Option<&str>)] = &[(200, Some("Schedule"))];
const BACKFILL: &str = "/schedules/{schedule_id}/backfills/{backfill_id}";
const ONE_BACKFILL: &[(u16, Option<&str>)] = &[(200, Some("Backfill"))];
const GONE: &[(u16, Option<&str>)] = &[(204, None)];
const RUNS: &[(u16, Option<&str>)] = &[(200, Some("Run"))];
const STALE: &[u16] = &[409, 412];
const SET: &str = "/sets/{set}";
const MEMBER: &str = "/sets/{set}/members/{schedule_id}";
const PLAN: &[(u16, Option<&str>)] = &[(200, Some("SetPlan"))];
const PRUNE: Parameter = parameter("prune", Flag, "delete schedules of the set that are left out");
const ALLOW_DELETE: Parameter =
    parameter("allow_delete", Whole(0, MAX_DELETES as u64), "so many deletes are meant");

/// Every call there is.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        gate: Gate::Open,
        ..get("/health", "health", "Say that it runs", &[(200, Some("Health"))])
    },
    Operation {
        gate: Gate::Open,
        ..get("/openapi.json", "openapi", "This document", &[(200, Some("OpenApi"))])
    },
    get("/presets", "presets", "Expressions to begin with", &[(200, Some("Presets"))]),
    get("/timezones", "timezones", "Zones to choose from", &[(200, Some("TimeZones"))]),
    get(
        "/vocabulary",
        "vocabulary",
        "Fields, statuses and reasons with their words for people",
        &[(200, Some("Vocabulary"))],
    ),
    Operation {
        query: &[
            parameter("status", Word(STATUSES), "only those that do this"),
            parameter("workflow_id", Name, "only those that launch it"),
            parameter("tag", Text, "only those with this tag, or tag:value"),
            parameter("recent", Whole(0, MAX_RECENT as u64), "tell of so many newest runs; 0"),
            USER,
            LIMIT,
            parameter("cursor", Notation("list-cursor"), "next_cursor of the page before"),
        ],
        ..get("/schedules", "list_schedules", "List yours", &[(200, Some("SchedulePage"))])
    },
    Operation {
        gate: WRITE,
        method: "POST",
        body: given("NewSchedule"),
        refusals: &[409],
        ..get("/schedules", "create_schedule", "Make a schedule", &[(201, Some("Schedule"))])
    },
    Operation {
        method: "POST",
        body: may_be_given("Validate"),
        ..get(
            "/schedules/validate",
            "validate",
            "Explain an expression",
            &[(200, Some("Validation"))],
        )
    },
    Operation {
        gate: WRITE,
        method: "POST",
        body: given("Bulk"),
        ..get("/schedules/bulk", "bulk", "Pause or resume many", &[(200, Some("BulkAnswer"))])
    },
    get(SCHEDULE, "get_schedule", "Show it", ONE_SCHEDULE),
    Operation {
        gate: WRITE,
        method: "PUT",
        query: &[DRY_RUN],
        headers: IF_MATCH,
        body: given("ScheduleInput"),
        refusals: STALE,
        ..get(SCHEDULE, "put_schedule", "Make it, or replace its definition", MADE_OR_SAVED)
    },
    Operation {
        gate: WRITE,
        method: "PATCH",
        query: &[DRY_RUN],
        headers: IF_MATCH,
        body: given("SchedulePatch"),
        refusals: STALE,
        ..get(SCHEDULE, "patch_schedule", "Change some fields", SAVED_OR_DIFF)
    },
    Operation {
        gate: WRITE,
        method: "DELETE",
        headers: IF_MATCH,
        refusals: STALE,
        ..get(SCHEDULE, "delete_schedule", "Delete it", GONE)
    },
    Operation {
        gate: WRITE,
        method: "POST",
        headers: IF_MATCH,
        body: may_be_given("Pause"),
        refusals: STALE,
        ..get("/schedules/{schedule_id}/pause", "pause", "Stop it", ONE_SCHEDULE)
    },
    Operation {
        gate: WRITE,
        method: "POST",
        headers: IF_MATCH,
        body: may_be_given("Resume"),
        refusals: STALE,
        ..get(
            "/schedules/{schedule_id}/resume",
            "resume",
            "Start it again",
            &[(200, Some("Schedule")), (200, Some("ResumePreview"))],
        )
    },
    Operation {
        gate: RUN,
        method: "POST",
        headers: &[parameter("Idempotency-Key", Text, "the same key within a day is the same run")],
        body: may_be_given("Trigger"),
        ..get("/schedules/{schedule_id}/trigger", "trigger", "Run it now", &[(202, Some("Run"))])
    },
    Operation {
        gate: RUN,
        method: "POST",
        body: given("BackfillInput"),
        ..get(
            "/schedules/{schedule_id}/backfill",
            "backfill",
            "Run the fires of a time gone by",
            &[(200, Some("Backfill")), (200, Some("BackfillPreview")), (202, Some("Backfill"))],
        )
    },
    get(
        "/schedules/{schedule_id}/backfills",
        "list_backfills",
        "Its backfills, newest first",
        &[(200, Some("BackfillList"))],
    ),
    get(BACKFILL, "get_backfill", "Show a backfill", ONE_BACKFILL),
    Operation {
        gate: RUN,
        method: "DELETE",
        ..get(BACKFILL, "cancel_backfill", "Cancel a backfill", ONE_BACKFILL)
    },
    Operation {
        query: &[parameter("status", Word(RUN_STATUSES), "only those"), FROM, TO, LIMIT, CURSOR],
        ..get(
            "/schedules/{schedule_id}/runs",
            "list_runs",
            "Its runs, newest first",
            &[(200, Some("RunPage"))],
        )
    },
    Operation {
        query: &[FROM, TO],
        ..get(
            "/schedules/{schedule_id}/ledger",
            "ledger",
            "Hold every fire it should have had against its runs",
            &[(200, Some("Ledger"))],
        )
    },
    Operation {
        query: PAGED,
        ..get(
            "/schedules/{schedule_id}/changes",
            "changes",
            "Who changed what, newest first",
            &[(200, Some("ChangePage"))],
        )
    },
    Operation {
        query: &[USER],
        ..get("/stats", "stats", "Counts over your schedules", &[(200, Some("Overall"))])
    },
    get("/overview", "overview", "The coming day, drift, failures", &[(200, Some("Overview"))]),
    get("/runs/{run_id}", "get_run", "Show a run", RUNS),
    Operation {
        gate: RUN,
        method: "POST",
        body: given("Feedback"),
        refusals: &[409],
        ..get("/runs/{run_id}/status", "feedback", "Say how a run ended", RUNS)
    },
    Operation {
        gate: Gate::RunToken,
        method: "POST",
        headers: &[parameter("Belfry-Run-Token", Text, "what its launch carried")],
        body: given("Feedback"),
        refusals: &[409],
        ..get("/runs/{run_id}/feedback", "run_feedback", "Say how a run ended, by its token", RUNS)
    },
    Operation {
        query: PAGED,
        ..get(
            "/workflows/{workflow_id}/versions",
            "list_versions",
            "List the versions of a workflow, newest first",
            &[(200, Some("VersionPage"))],
        )
    },
    get(
        "/workflows/{workflow_id}/versions/{version}",
        "get_version",
        "Show a workflow version",
        &[(200, Some("Workflow"))],
    ),
    Operation {
        gate: WRITE,
        method: "PUT",
        body: given("WorkflowInput"),
        refusals: &[409],
        ..get(
            "/workflows/{workflow_id}/versions/{version}",
            "put_version",
            "Publish a workflow version",
            &[(200, Some("Workflow")), (201, Some("Workflow"))],
        )
    },
    get(TRIGGER, "get_trigger_schedule", "Show the schedule of a trigger node", ONE_SCHEDULE),
    Operation {
        gate: WRITE,
        method: "PUT",
        query: &[DRY_RUN],
        headers: IF_MATCH,
        body: given("TriggerInput"),
        refusals: STALE,
        ..get(TRIGGER, "put_trigger_schedule", "Make it, or replace its definition", MADE_OR_SAVED)
    },
    Operation {
        gate: WRITE,
        method: "PATCH",
        query: &[DRY_RUN],
        headers: IF_MATCH,
        body: given("TriggerPatch"),
        refusals: STALE,
        ..get(TRIGGER, "patch_trigger_schedule", "Change some fields", SAVED_OR_DIFF)
    },
    Operation {
        gate: WRITE,
        method: "DELETE",
        headers: IF_MATCH,
        refusals: STALE,
        ..get(TRIGGER, "delete_trigger_schedule", "Delete it", GONE)
    },
    get("/sets", "list_sets", "List your declared sets", &[(200, Some("SetList"))]),
    Operation {
        refusals: &[409],
        ..get(SET, "get_set", "Show a set as it would be declared", &[(200, Some("Set"))])
    },
    Operation {
        gate: WRITE,
        method: "PUT",
        query: &[DRY_RUN, PRUNE, ALLOW_DELETE],
        body: given("SetInput"),
        refusals: &[409],
        ..get(SET, "put_set", "Bring a set to what is declared", PLAN)
    },
    Operation {
        method: "POST",
        query: &[PRUNE, ALLOW_DELETE],
        body: given("SetInput"),
        ..get("/sets/{set}/plan", "plan_set", "Say what declaring a set would do", PLAN)
    },
    Operation {
        gate: WRITE,
        method: "PUT",
        refusals: &[409],
        ..get(MEMBER, "adopt", "Take a schedule made by hand into a set", ONE_SCHEDULE)
    },
    Operation {
        gate: WRITE,
        method: "DELETE",
        refusals: &[409],
        ..get(MEMBER, "release", "Let a schedule go from a set, and keep it", ONE_SCHEDULE)
    },
];

/// What the parameters of paths hold.
pub(super) fn in_path(name: &str) -> (Kind, &'static str) {
    match name {
        "run_id" => (Notation("run-id"), "<schedule_id>@<run_at>"),
        "version" => (Whole(1, u32::MAX as u64), "its number"),
        "workflow_id" => (Notation("workflow-name"), "its name"),
        "node_id" => (Name, "a trigger node of the workflow"),
        _ => (Name, "its name"),
    }
}

/// The answer of the table to a method and a path.
pub(crate) enum Found {
    /// There is such a call.
    Call(&'static Operation),
    /// There is the path, for these methods.
    Otherwise(String),
    /// There is no such path.
    Nothing,
}

/// Looks a call up. A path without parameters goes before one with some.
pub(crate) fn find(method: &str, segments: &[&str]) -> Found {
    let path = OPERATIONS
        .iter()
        .map(|operation| operation.path)
        .filter(|path| fits(path, segments))
        .min_by_key(|path| path.matches('{').count());
    let Some(path) = path else { return Found::Nothing };
    let here = || OPERATIONS.iter().filter(|operation| operation.path == path);
    match here().find(|operation| operation.method == method) {
        Some(operation) => Found::Call(operation),
        None => {
            let methods: Vec<_> = here().map(|operation| operation.method).collect();
            Found::Otherwise(methods.join(", "))
        }
    }
}

fn fits(path: &str, segments: &[&str]) -> bool {
    let parts = path.split('/').skip(1);
    parts.clone().count() == segments.len()
        && parts.zip(segments).all(|(part, segment)| part.starts_with('{') || part == *segment)
}

impl Operation {
    /// The names in braces.
    pub(super) fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// Whether its query may have a parameter of this name.
    pub(crate) fn takes(&self, name: &str) -> bool {
        self.query.iter().any(|parameter| parameter.name == name)
    }

    /// Every status it may answer with instead of success.
    pub(super) fn refused_with(&self) -> Vec<u16> {
        let mut statuses = vec![400, 422];
        statuses.extend(match self.gate {
            Gate::Open => &[][..],
            Gate::RunToken => &[401, 503],
            Gate::Token(_) => &[401, 403, 503],
        });
        statuses.extend(self.path.contains('{').then_some(404));
        statuses.extend(self.body.as_ref().map(|_| 413));
        statuses.extend(self.refusals);
        statuses.sort_unstable();
        statuses
    }
}
