//! The operations: every call there is, each with its handler. The router serves these and no others,
//! and the document is made from them.

use belfry_core::guard::access::Scope;

use super::kind::Kind::{self, Flag, Instant, Name, Notation, Text, Whole, Word};
use super::operation::{Answers, Handler, Operation, Parameter};
use super::schemas::{RUN_STATUSES, STATUSES};
use crate::api::http::access::Gate;
use crate::api::http::input::MAX_PAGE;
use crate::api::http::schedules::MAX_RECENT;
use crate::api::http::sets::MAX_DELETES;
use crate::api::http::{
    backfills, bulk, counts, ledger, meta, runs, schedules, sets, trigger_nodes, validate,
    workflows,
};

const fn parameter(name: &'static str, kind: Kind, note: &'static str) -> Parameter {
    Parameter { name, kind, note }
}

const USER: Parameter =
    parameter("user_id", Text, "for admins: whose, or * for everybody's; your own if left out");
const DRY_RUN: Parameter = parameter("dry_run", Flag, "only say what the save would do");
const LIMIT: Parameter = parameter("limit", Whole(1, MAX_PAGE as u64), "at most so many; 50");
const CURSOR: Parameter = parameter("cursor", Notation("cursor"), "next_cursor of the page before");
const FROM: Parameter = parameter("from", Instant, "included");
const TO: Parameter = parameter("to", Instant, "included");
const PRUNE: Parameter = parameter("prune", Flag, "delete schedules of the set that are left out");
const ALLOW_DELETE: Parameter =
    parameter("allow_delete", Whole(0, MAX_DELETES as u64), "so many deletes are meant");
const LIST: &[Parameter] = &[
    parameter("status", Word(STATUSES), "only those that do this"),
    parameter("workflow_id", Name, "only those that launch it"),
    parameter("tag", Text, "only those with this tag, or tag:value"),
    parameter("recent", Whole(0, MAX_RECENT as u64), "tell of so many newest runs; 0"),
    USER,
    LIMIT,
    parameter("cursor", Notation("list-cursor"), "next_cursor of the page before"),
];
const HISTORY: &[Parameter] =
    &[parameter("status", Word(RUN_STATUSES), "only those"), FROM, TO, LIMIT, CURSOR];
const PAGED: &[Parameter] = &[LIMIT, CURSOR];

const IF_MATCH: &[Parameter] =
    &[parameter("If-Match", Notation("revision"), "only if it is still at this revision")];
const KEY: &[Parameter] =
    &[parameter("Idempotency-Key", Text, "the same key within a day is the same run")];
const RUN_TOKEN: &[Parameter] = &[parameter("Belfry-Run-Token", Text, "what its launch carried")];

const SCHEDULE: &str = "/schedules/{schedule_id}";
const BACKFILL: &str = "/schedules/{schedule_id}/backfills/{backfill_id}";
const VERSION: &str = "/workflows/{workflow_id}/versions/{version}";
const TRIGGER: &str = "/workflows/{workflow_id}/triggers/{node_id}/schedule";
const SET: &str = "/sets/{set}";
const MEMBER: &str = "/sets/{set}/members/{schedule_id}";

const ONE_SCHEDULE: Answers = &[(200, Some("Schedule"))];
const MADE_OR_SAVED: Answers =
    &[(200, Some("Schedule")), (200, Some("Diff")), (201, Some("Schedule"))];
const SAVED_OR_DIFF: Answers = &[(200, Some("Schedule")), (200, Some("Diff"))];
const RESUMED: Answers = &[(200, Some("Schedule")), (200, Some("ResumePreview"))];
const ONE_BACKFILL: Answers = &[(200, Some("Backfill"))];
const BEGUN: Answers =
    &[(200, Some("Backfill")), (200, Some("BackfillPreview")), (202, Some("Backfill"))];
const ONE_RUN: Answers = &[(200, Some("Run"))];
const ONE_VERSION: Answers = &[(200, Some("Workflow"))];
const PLAN: Answers = &[(200, Some("SetPlan"))];
const GONE: Answers = &[(204, None)];

const CONFLICT: &[u16] = &[409];
const STALE: &[u16] = &[409, 412];

/// An operation for those who may read schedules.
const fn get(
    path: &'static str,
    id: &'static str,
    does: &'static str,
    handler: Handler,
    answers: Answers,
) -> Operation {
    Operation {
        method: "GET",
        path,
        id,
        does,
        gate: Gate::Token(Scope::SchedulesRead),
        handler,
        query: &[],
        headers: &[],
        body: None,
        answers,
        refusals: &[],
    }
}

impl Operation {
    /// The same by another method.
    const fn by(self, method: &'static str) -> Operation {
        Operation { method, ..self }
    }

    /// For those who may write schedules.
    const fn writes(self) -> Operation {
        Operation { gate: Gate::Token(Scope::SchedulesWrite), ..self }
    }

    /// For those who may write runs.
    const fn runs(self) -> Operation {
        Operation { gate: Gate::Token(Scope::RunsWrite), ..self }
    }

    /// Without a token of the gateway's.
    const fn gate(self, gate: Gate) -> Operation {
        Operation { gate, ..self }
    }
}

/// An `async fn` as a handler.
macro_rules! to {
    ($handler:path) => {
        |app, request| Box::pin($handler(app, request))
    };
}

/// Every call there is.
#[rustfmt::skip]
pub const OPERATIONS: &[Operation] = &[
    get("/health", "health", "Say that it runs", to!(meta::health), &[(200, Some("Health"))])
        .gate(Gate::Open),
    get("/openapi.json", "openapi", "This document", to!(meta::document), &[(200, Some("OpenApi"))])
        .gate(Gate::Open),
    get("/presets", "presets", "Expressions to begin with", to!(meta::list_presets),
        &[(200, Some("Presets"))]),
    get("/timezones", "timezones", "Zones to choose from", to!(meta::list_timezones),
        &[(200, Some("TimeZones"))]),
    get("/vocabulary", "vocabulary", "Fields, statuses and reasons with their words for people",
        to!(meta::show_vocabulary), &[(200, Some("Vocabulary"))]),

    get("/schedules", "list_schedules", "List yours", to!(schedules::list),
        &[(200, Some("SchedulePage"))])
        .query(LIST),
    get("/schedules", "create_schedule", "Make a schedule", to!(schedules::create),
        &[(201, Some("Schedule"))])
        .by("POST").writes().given("NewSchedule").refuses(CONFLICT),
    get("/schedules/validate", "validate", "Explain an expression", to!(validate::validate),
        &[(200, Some("Validation"))])
        .by("POST").may_be_given("Validate"),
    get("/schedules/bulk", "bulk", "Pause or resume many", to!(bulk::bulk),
        &[(200, Some("BulkAnswer"))])
        .by("POST").writes().given("Bulk"),
    get(SCHEDULE, "get_schedule", "Show it", to!(schedules::get), ONE_SCHEDULE),
    get(SCHEDULE, "put_schedule", "Make it, or replace its definition", to!(schedules::put),
        MADE_OR_SAVED)
        .by("PUT").writes().given("ScheduleInput").query(&[DRY_RUN]).headers(IF_MATCH).refuses(STALE),
    get(SCHEDULE, "patch_schedule", "Change some fields", to!(schedules::patch), SAVED_OR_DIFF)
        .by("PATCH").writes().given("SchedulePatch").query(&[DRY_RUN]).headers(IF_MATCH).refuses(STALE),
    get(SCHEDULE, "delete_schedule", "Delete it", to!(schedules::delete), GONE)
        .by("DELETE").writes().headers(IF_MATCH).refuses(STALE),
    get("/schedules/{schedule_id}/pause", "pause", "Stop it", to!(schedules::pause), ONE_SCHEDULE)
        .by("POST").writes().may_be_given("Pause").headers(IF_MATCH).refuses(STALE),
    get("/schedules/{schedule_id}/resume", "resume", "Start it again", to!(schedules::resume), RESUMED)
        .by("POST").writes().may_be_given("Resume").headers(IF_MATCH).refuses(STALE),

    get("/schedules/{schedule_id}/trigger", "trigger", "Run it now", to!(runs::trigger),
        &[(202, Some("Run"))])
        .by("POST").runs().may_be_given("Trigger").headers(KEY),
    get("/schedules/{schedule_id}/backfill", "backfill", "Run the fires of a time gone by",
        to!(backfills::start), BEGUN)
        .by("POST").runs().given("BackfillInput"),
    get("/schedules/{schedule_id}/backfills", "list_backfills", "Its backfills, newest first",
        to!(backfills::list), &[(200, Some("BackfillList"))]),
    get(BACKFILL, "get_backfill", "Show a backfill", to!(backfills::get), ONE_BACKFILL),
    get(BACKFILL, "cancel_backfill", "Cancel a backfill", to!(backfills::cancel), ONE_BACKFILL)
        .by("DELETE").runs(),
    get("/schedules/{schedule_id}/runs", "list_runs", "Its runs, newest first", to!(runs::list),
        &[(200, Some("RunPage"))])
        .query(HISTORY),
    get("/schedules/{schedule_id}/ledger", "ledger",
        "Hold every fire it should have had against its runs", to!(ledger::ledger),
        &[(200, Some("Ledger"))])
        .query(&[FROM, TO]),
    get("/schedules/{schedule_id}/changes", "changes", "Who changed what, newest first",
        to!(ledger::changes), &[(200, Some("ChangePage"))])
        .query(PAGED),

    get("/stats", "stats", "Counts over your schedules", to!(counts::stats),
        &[(200, Some("Overall"))])
        .query(&[USER]),
    get("/overview", "overview", "The coming day, drift, failures", to!(counts::overview),
        &[(200, Some("Overview"))]),
    get("/runs/{run_id}", "get_run", "Show a run", to!(runs::get), ONE_RUN),
    get("/runs/{run_id}/status", "feedback", "Say how a run ended", to!(runs::status), ONE_RUN)
        .by("POST").runs().given("Feedback").refuses(CONFLICT),
    get("/runs/{run_id}/feedback", "run_feedback", "Say how a run ended, by its token",
        to!(runs::feedback), ONE_RUN)
        .by("POST").gate(Gate::RunToken).given("Feedback").headers(RUN_TOKEN).refuses(CONFLICT),

    get("/workflows/{workflow_id}/versions", "list_versions",
        "List the versions of a workflow, newest first", to!(workflows::list),
        &[(200, Some("VersionPage"))])
        .query(PAGED),
    get(VERSION, "get_version", "Show a workflow version", to!(workflows::get), ONE_VERSION),
    get(VERSION, "put_version", "Publish a workflow version", to!(workflows::publish),
        &[(200, Some("Workflow")), (201, Some("Workflow"))])
        .by("PUT").writes().given("WorkflowInput").refuses(CONFLICT),
    get(TRIGGER, "get_trigger_schedule", "Show the schedule of a trigger node",
        to!(trigger_nodes::get), ONE_SCHEDULE),
    get(TRIGGER, "put_trigger_schedule", "Make it, or replace its definition",
        to!(trigger_nodes::put), MADE_OR_SAVED)
        .by("PUT").writes().given("TriggerInput").query(&[DRY_RUN]).headers(IF_MATCH).refuses(STALE),
    get(TRIGGER, "patch_trigger_schedule", "Change some fields", to!(trigger_nodes::patch),
        SAVED_OR_DIFF)
        .by("PATCH").writes().given("TriggerPatch").query(&[DRY_RUN]).headers(IF_MATCH).refuses(STALE),
    get(TRIGGER, "delete_trigger_schedule", "Delete it", to!(trigger_nodes::delete), GONE)
        .by("DELETE").writes().headers(IF_MATCH).refuses(STALE),

    get("/sets", "list_sets", "List your declared sets", to!(sets::list),
        &[(200, Some("SetList"))]),
    get(SET, "get_set", "Show a set as it would be declared", to!(sets::export),
        &[(200, Some("Set"))])
        .refuses(CONFLICT),
    get(SET, "put_set", "Bring a set to what is declared", to!(sets::put), PLAN)
        .by("PUT").writes().given("SetInput").query(&[DRY_RUN, PRUNE, ALLOW_DELETE]).refuses(CONFLICT),
    get("/sets/{set}/plan", "plan_set", "Say what declaring a set would do", to!(sets::plan), PLAN)
        .by("POST").given("SetInput").query(&[PRUNE, ALLOW_DELETE]),
    get(MEMBER, "adopt", "Take a schedule made by hand into a set", to!(sets::adopt), ONE_SCHEDULE)
        .by("PUT").writes().refuses(CONFLICT),
    get(MEMBER, "release", "Let a schedule go from a set, and keep it", to!(sets::release),
        ONE_SCHEDULE)
        .by("DELETE").writes().refuses(CONFLICT),
];
