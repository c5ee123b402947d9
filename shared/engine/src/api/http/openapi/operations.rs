//! The operations: every call there is, each with its handler. The router serves these and no others,
//! and the document is made from them.

use belfry_core::declare::set::view::{SetExport, SetList, SetPlan};
use belfry_core::fire::backfill::{BackfillPreview, BackfillView};
use belfry_core::fire::catchup::ResumePreview;
use belfry_core::guard::access::Scope;
use belfry_core::ledger::LedgerView;
use belfry_core::page::{List, Page};
use belfry_core::run::overview::Overview;
use belfry_core::run::stats::Overall;
use belfry_core::run::view::RunView;
use belfry_core::schedule::change::ChangeView;
use belfry_core::vocabulary::Vocabulary;
use belfry_core::workflow::{VersionView, WorkflowSummary, WorkflowView};

use super::derived::{any_object, of};
use super::kind::Kind::{self, Flag, Instant, Name, Notation, Text, Whole, Word};
use super::operation::{Answers, Handler, Operation, Parameter};
use super::requests;
use super::words::{RUN_STATUSES, STATUSES};
use crate::api::bulk::BulkAnswer;
use crate::api::diff::DiffView;
use crate::api::http::answer::Answer;
use crate::api::http::gate::Gate;
use crate::api::http::input::MAX_PAGE;
use crate::api::http::meta::Health;
use crate::api::http::presets::Presets;
use crate::api::http::problem::Routed;
use crate::api::http::request::Request;
use crate::api::http::schedules::MAX_RECENT;
use crate::api::http::sets::MAX_DELETES;
use crate::api::http::timezones::TimeZones;
use crate::api::http::validate::Validation;
use crate::api::http::{
    backfills, bulk, counts, ledger, meta, runs, schedules, sets, trigger_nodes, validate,
    workflows,
};
use crate::api::list::ScheduleView;
use crate::app::App;

const fn parameter(name: &'static str, kind: Kind, note: &'static str) -> Parameter {
    Parameter { name, kind, note }
}

const USER: Parameter = parameter(
    "user_id",
    Text,
    "Owner of the schedules, or * for all owners; admins only. Default: the caller.",
);
const OF_USER: Parameter =
    parameter("user_id", Text, "Owner of the schedule; admins only. Default: the caller.");
const DRY_RUN: Parameter = parameter("dry_run", Flag, "Only answer what the call would change.");
const LIMIT: Parameter = parameter("limit", Whole(1, MAX_PAGE as u64), "Page size, default 50.");
const CURSOR: Parameter =
    parameter("cursor", Notation("cursor"), "`next_cursor` of the previous page.");
const FROM: Parameter = parameter("from", Instant, "Start of the time range, included.");
const TO: Parameter = parameter("to", Instant, "End of the time range, included.");
const PRUNE: Parameter =
    parameter("prune", Flag, "Delete the set's schedules that are not declared.");
const ALLOW_DELETE: Parameter = parameter(
    "allow_delete",
    Whole(0, MAX_DELETES as u64),
    "Number of deletes that the caller expects.",
);
const LIST_CURSOR: Parameter =
    parameter("cursor", Notation("list-cursor"), "`next_cursor` of the previous page.");
const LIST: &[Parameter] = &[
    parameter("status", Word(STATUSES), "Only schedules with this status."),
    parameter("workflow_id", Name, "Only schedules that launch this workflow."),
    parameter("tag", Text, "Only schedules with this tag, or this `tag:value`."),
    parameter(
        "recent",
        Whole(0, MAX_RECENT as u64),
        "How many newest runs of each schedule to include, default 0.",
    ),
    USER,
    LIMIT,
    LIST_CURSOR,
];
const HISTORY: &[Parameter] = &[
    parameter("status", Word(RUN_STATUSES), "Only runs with this status."),
    FROM,
    TO,
    LIMIT,
    CURSOR,
];
const WORKFLOWS: &[Parameter] = &[
    parameter(
        "user_id",
        Text,
        "Owner of the workflows, admins only; or * for those that everybody may use. Default: the \
         caller.",
    ),
    LIMIT,
    LIST_CURSOR,
];
const FORCE: Parameter =
    parameter("force", Flag, "Delete the version although schedules use it; their runs then fail.");
const RUNS: &[Parameter] = &[
    parameter("status", Word(RUN_STATUSES), "Only runs with this status."),
    FROM,
    TO,
    parameter("workflow_id", Name, "Only runs of schedules that launch this workflow."),
    parameter("tag", Text, "Only runs of schedules with this tag, or this `tag:value`."),
    parameter("external_run_id", Text, "Only the run that its executor calls so."),
    parameter("user_id", Text, "Owner of the schedules; admins only. Default: the caller."),
    LIMIT,
    parameter("cursor", Notation("run-id"), "`next_cursor` of the previous page."),
];
const PAGED: &[Parameter] = &[LIMIT, CURSOR];

const IF_MATCH: &[Parameter] = &[parameter(
    "If-Match",
    Notation("revision"),
    "Refuse the call unless the schedule is at this revision.",
)];
const NEW_OR_SEEN: &[Parameter] = &[
    IF_MATCH[0],
    parameter("If-None-Match", Word(&["*"]), "Refuse the call if the schedule exists."),
];
const NEW: &[Parameter] =
    &[parameter("If-None-Match", Word(&["*"]), "Refuse the call if the version exists.")];
const KEY: &[Parameter] = &[parameter(
    "Idempotency-Key",
    Notation("idempotency-key"),
    "A call with the same key within a day answers with the same run, or is refused if its body differs.",
)];
const RUN_TOKEN: &[Parameter] =
    &[parameter("Belfry-Run-Token", Text, "Token that the launch of the run carried.")];

const SCHEDULE: &str = "/schedules/{schedule_id}";
const BACKFILL: &str = "/schedules/{schedule_id}/backfills/{backfill_id}";
const VERSION: &str = "/workflows/{workflow_id}/versions/{version}";
const TRIGGER: &str = "/workflows/{workflow_id}/triggers/{node_id}/schedule";
const SET: &str = "/sets/{set}";
const MEMBER: &str = "/sets/{set}/members/{schedule_id}";

const ONE_SCHEDULE: Answers = &[(200, Some(of::<ScheduleView>))];
const MADE_OR_SAVED: Answers = &[
    (200, Some(of::<ScheduleView>)),
    (200, Some(of::<DiffView>)),
    (201, Some(of::<ScheduleView>)),
];
const SAVED_OR_DIFF: Answers = &[(200, Some(of::<ScheduleView>)), (200, Some(of::<DiffView>))];
const RESUMED: Answers = &[(200, Some(of::<ScheduleView>)), (200, Some(of::<ResumePreview>))];
const ONE_BACKFILL: Answers = &[(200, Some(of::<BackfillView>))];
const BEGUN: Answers = &[
    (200, Some(of::<BackfillView>)),
    (200, Some(of::<BackfillPreview>)),
    (202, Some(of::<BackfillView>)),
];
const ONE_RUN: Answers = &[(200, Some(of::<RunView>))];
const ONE_VERSION: Answers = &[(200, Some(of::<WorkflowView>))];
const PLAN: Answers = &[(200, Some(of::<SetPlan>))];
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

async fn document(_: &App, _: &Request) -> Routed {
    Ok(Answer::json(200, &super::document()))
}

/// Every call there is.
#[rustfmt::skip]
pub const OPERATIONS: &[Operation] = &[
    get("/health", "health", "Check that the API answers",
        to!(meta::health), &[(200, Some(of::<Health>))])
        .gate(Gate::Open),
    get("/openapi.json", "openapi", "Get this document",
        to!(document), &[(200, Some(any_object))])
        .gate(Gate::Open),
    get("/presets", "presets", "List common expressions", to!(meta::list_presets),
        &[(200, Some(of::<Presets>))]),
    get("/timezones", "timezones", "List the time zones that schedules may use",
        to!(meta::list_timezones),
        &[(200, Some(of::<TimeZones>))]),
    get("/vocabulary", "vocabulary", "List fields, statuses and reasons with their words for people",
        to!(meta::show_vocabulary), &[(200, Some(of::<Vocabulary>))]),

    get("/schedules", "list_schedules", "List schedules", to!(schedules::list),
        &[(200, Some(of::<Page<ScheduleView>>))])
        .query(LIST),
    get("/schedules", "create_schedule", "Create a schedule", to!(schedules::create),
        &[(201, Some(of::<ScheduleView>))])
        .by("POST").writes().given("NewSchedule").refuses(CONFLICT),
    get("/schedules/validate", "validate", "Explain an expression", to!(validate::validate),
        &[(200, Some(of::<Validation>))])
        .by("POST").may_be_given(requests::VALIDATE.name),
    get("/schedules/bulk", "bulk", "Pause or resume many schedules", to!(bulk::bulk),
        &[(200, Some(of::<BulkAnswer>))])
        .by("POST").writes().given(requests::BULK.name),
    get(SCHEDULE, "get_schedule", "Get a schedule", to!(schedules::get), ONE_SCHEDULE),
    get(SCHEDULE, "put_schedule", "Create a schedule, or replace its definition",
        to!(schedules::put),
        MADE_OR_SAVED)
        .by("PUT").writes().given("ScheduleInput").query(&[DRY_RUN])
        .headers(NEW_OR_SEEN).refuses(STALE),
    get(SCHEDULE, "patch_schedule", "Change fields of a schedule",
        to!(schedules::patch), SAVED_OR_DIFF)
        .by("PATCH").writes().given("SchedulePatch").query(&[DRY_RUN])
        .headers(IF_MATCH).refuses(STALE),
    get(SCHEDULE, "delete_schedule", "Delete a schedule", to!(schedules::delete), GONE)
        .by("DELETE").writes().headers(IF_MATCH).refuses(STALE),
    get("/schedules/{schedule_id}/pause", "pause", "Pause a schedule",
        to!(schedules::pause), ONE_SCHEDULE)
        .by("POST").writes().may_be_given(requests::PAUSE.name).headers(IF_MATCH).refuses(STALE),
    get("/schedules/{schedule_id}/resume", "resume", "Resume a schedule",
        to!(schedules::resume), RESUMED)
        .by("POST").writes().may_be_given(requests::RESUME.name).headers(IF_MATCH).refuses(STALE),

    get("/schedules/{schedule_id}/trigger", "trigger", "Run a schedule now", to!(runs::trigger),
        &[(202, Some(of::<RunView>))])
        .by("POST").runs().may_be_given(requests::TRIGGER.name).headers(KEY).refuses(CONFLICT),
    get("/schedules/{schedule_id}/backfill", "backfill", "Run the fires of a past time range",
        to!(backfills::start), BEGUN)
        .by("POST").runs().given(requests::BACKFILL.name).refuses(CONFLICT),
    get("/schedules/{schedule_id}/backfills", "list_backfills",
        "List the backfills of a schedule, newest first",
        to!(backfills::list), &[(200, Some(of::<List<BackfillView>>))]),
    get(BACKFILL, "get_backfill", "Get a backfill", to!(backfills::get), ONE_BACKFILL),
    get(BACKFILL, "cancel_backfill", "Cancel a backfill", to!(backfills::cancel), ONE_BACKFILL)
        .by("DELETE").runs(),
    get("/schedules/{schedule_id}/runs", "list_runs", "List the runs of a schedule, newest first",
        to!(runs::list),
        &[(200, Some(of::<Page<RunView>>))])
        .query(HISTORY),
    get("/schedules/{schedule_id}/ledger", "ledger",
        "Compare the fires a schedule should have had with its runs", to!(ledger::ledger),
        &[(200, Some(of::<LedgerView>))])
        .query(&[FROM, TO]),
    get("/schedules/{schedule_id}/changes", "changes",
        "List the changes of a schedule, newest first",
        to!(ledger::changes), &[(200, Some(of::<Page<ChangeView>>))])
        .query(PAGED),

    get("/stats", "stats", "Count schedules and the runs of their whole life", to!(counts::stats),
        &[(200, Some(of::<Overall>))])
        .query(&[USER]),
    get("/overview", "overview", "Show the coming day, drift and failures", to!(counts::overview),
        &[(200, Some(of::<Overview>))]),
    get("/runs", "list_all_runs", "List the runs of all schedules, newest first",
        to!(runs::across), &[(200, Some(of::<Page<RunView>>))])
        .query(RUNS),
    get("/runs/{run_id}", "get_run", "Get a run", to!(runs::get), ONE_RUN),
    get("/runs/{run_id}/status", "feedback", "Report what happened to a run",
        to!(runs::status), ONE_RUN)
        .by("POST").runs().given(requests::FEEDBACK.name).refuses(CONFLICT),
    get("/runs/{run_id}/feedback", "run_feedback",
        "Report what happened to a run, with the token of its launch",
        to!(runs::feedback), ONE_RUN)
        .by("POST").gate(Gate::RunToken).given(requests::FEEDBACK.name)
        .headers(RUN_TOKEN).refuses(CONFLICT),

    get("/workflows", "list_workflows", "List workflows and the schedules that use them",
        to!(workflows::list),
        &[(200, Some(of::<Page<WorkflowSummary>>))])
        .query(WORKFLOWS),
    get("/workflows/{workflow_id}/versions", "list_versions",
        "List the versions of a workflow, newest first", to!(workflows::versions),
        &[(200, Some(of::<Page<VersionView>>))])
        .query(PAGED),
    get(VERSION, "get_version", "Get a workflow version", to!(workflows::get), ONE_VERSION),
    get(VERSION, "put_version", "Publish a workflow version", to!(workflows::publish),
        &[(200, Some(of::<WorkflowView>)), (201, Some(of::<WorkflowView>))])
        .by("PUT").writes().given(requests::WORKFLOW_VERSION.name).headers(NEW).refuses(STALE),
    get(VERSION, "delete_version", "Delete a workflow version", to!(workflows::delete), GONE)
        .by("DELETE").writes().query(&[FORCE]).refuses(CONFLICT),
    get(TRIGGER, "get_trigger_schedule", "Get the schedule of a trigger node",
        to!(trigger_nodes::get), ONE_SCHEDULE)
        .query(&[OF_USER]),
    get(TRIGGER, "put_trigger_schedule",
        "Create the schedule of a trigger node, or replace its definition",
        to!(trigger_nodes::put), MADE_OR_SAVED)
        .by("PUT").writes().given("TriggerInput").query(&[DRY_RUN])
        .headers(NEW_OR_SEEN).refuses(STALE),
    get(TRIGGER, "patch_trigger_schedule", "Change fields of the schedule of a trigger node",
        to!(trigger_nodes::patch),
        SAVED_OR_DIFF)
        .by("PATCH").writes().given("TriggerPatch").query(&[DRY_RUN])
        .headers(IF_MATCH).refuses(STALE),
    get(TRIGGER, "delete_trigger_schedule", "Delete the schedule of a trigger node",
        to!(trigger_nodes::delete), GONE)
        .by("DELETE").writes().query(&[OF_USER]).headers(IF_MATCH).refuses(STALE),

    get("/sets", "list_sets", "List declared sets", to!(sets::list),
        &[(200, Some(of::<SetList>))]),
    get(SET, "get_set", "Get a set as a declaration", to!(sets::export),
        &[(200, Some(of::<SetExport>))])
        .refuses(CONFLICT),
    get(SET, "put_set", "Apply the declaration of a set", to!(sets::put), PLAN)
        .by("PUT").writes().given(requests::SET.name).query(&[DRY_RUN, PRUNE, ALLOW_DELETE])
        .refuses(CONFLICT),
    get("/sets/{set}/plan", "plan_set", "Plan the declaration of a set", to!(sets::plan), PLAN)
        .by("POST").given(requests::SET.name).query(&[PRUNE, ALLOW_DELETE]),
    get(MEMBER, "adopt", "Add an existing schedule to a set", to!(sets::adopt), ONE_SCHEDULE)
        .by("PUT").writes().refuses(CONFLICT),
    get(MEMBER, "release", "Remove a schedule from a set without deleting it", to!(sets::release),
        ONE_SCHEDULE)
        .by("DELETE").writes().refuses(CONFLICT),
];
