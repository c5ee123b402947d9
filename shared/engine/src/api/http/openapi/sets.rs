//! The objects of declared sets.

use belfry_core::declare::set::declaration::{MAX_SCHEDULES, MAX_WORKFLOWS};

use super::kind::Kind::{
    Any, Count, Counts, Flag, Instant, List, Name, Object, ShortList, Text, Whole, Word,
};
use super::kind::{Field, Kind, always, optional, or_null, sometimes};
use super::schemas::Table;

const OUTCOME: Kind =
    Word(&["planned", "done", "nothing", "refused", "conflict", "failed", "pending"]);
const WORKFLOWS: Kind = ShortList(&Object("DeclaredWorkflow"), MAX_WORKFLOWS);
const SCHEDULES: Kind = ShortList(&Object("DeclaredSchedule"), MAX_SCHEDULES);

/// A workflow version of a declaration.
pub(super) const WORKFLOW: [Field; 5] = [
    always("workflow_id", Name, "its name"),
    always("version", Whole(1, u32::MAX as u64), "its number; a version never changes"),
    always("target", Object("Target"), "where runs are launched"),
    sometimes("definition", Any, "what its executor runs"),
    optional("completion", Word(&["on_launch", "tracked"]), "when a run counts as done"),
];

pub(super) const SETS: &[Table] = &[
    ("DeclaredWorkflow", "A workflow version that is published if it is not there.", &WORKFLOW),
    (
        "SetInput",
        "The whole of a set.",
        &[
            optional("set", Name, "its name; that of the path"),
            optional("workflows", WORKFLOWS, "versions its schedules need"),
            optional("schedules", SCHEDULES, "its schedules"),
            optional("planned", Counts, "revisions a plan was made from, by schedule; 0 for none"),
        ],
    ),
    (
        "Set",
        "A set as it would be declared.",
        &[
            always("set", Name, "its name"),
            always("workflows", List(&Object("DeclaredWorkflow")), "versions of yours it uses"),
            always("schedules", List(&Any), "what differs from the defaults"),
        ],
    ),
    (
        "SetSize",
        "",
        &[always("set", Name, "its name"), always("schedules", Count, "how many it has")],
    ),
    ("SetList", "", &[always("items", List(&Object("SetSize")), "in the order of their names")]),
    (
        "PlannedFires",
        "What becomes of the fires.",
        &[
            or_null("next_run_at", Instant, "the next fire as declared"),
            or_null("next_run_was", Instant, "the next fire as things are"),
            always("to", Instant, "up to this"),
            always("added_count", Count, "only the declared definition has"),
            always("removed_count", Count, "only the present one has"),
            always("kept_count", Count, "both have"),
            always("truncated", Flag, "there were too many to compare them all"),
        ],
    ),
    (
        "PlannedSchedule",
        "",
        &[
            always("schedule_id", Name, "which"),
            or_null("place", Count, "its place among the declared"),
            always(
                "action",
                Word(&["create", "update", "unchanged", "delete", "undeclared", "refused"]),
                "what is to be done",
            ),
            always("revision", Count, "the revision it was decided by; 0 for none"),
            always("changes", List(&Object("Difference")), "fields that become others"),
            or_null("fires", Object("PlannedFires"), "fires that do"),
            always("says", List(&Text), "the same, said"),
            always("outcome", OUTCOME, "what became of it"),
            or_null("message", Text, "why"),
            sometimes("retry_after_s", Count, "when to try again"),
        ],
    ),
    (
        "PlannedWorkflow",
        "",
        &[
            always("workflow_id", Name, "which"),
            always("version", Count, "which version"),
            always("place", Count, "its place among the declared"),
            always("action", Word(&["publish", "unchanged", "refused"]), "what is to be done"),
            always("outcome", OUTCOME, "what became of it"),
            or_null("message", Text, "why"),
            sometimes("retry_after_s", Count, "when to try again"),
        ],
    ),
    (
        "SetPlan",
        "What declaring a set does, or would do.",
        &[
            always("set", Name, "its name"),
            always("dry_run", Flag, "whether nothing was done"),
            always("prune", Flag, "whether what is left out goes"),
            always("counts", Counts, "schedules by action"),
            or_null("guard", Text, "why so many deletes must be asked for by their number"),
            always("remaining", Count, "schedules left for the next call"),
            always("workflows", List(&Object("PlannedWorkflow")), "as they were declared"),
            always("schedules", List(&Object("PlannedSchedule")), "as declared, then others"),
        ],
    ),
];
