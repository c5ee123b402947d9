//! Declared sets as the API shows them: their plan, their contents, and which there are.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::moves::{Moves, PlannedFires};
use super::plan::{Action, Item};
use crate::id::{ScheduleId, SetName, WorkflowId};
use crate::schedule::change::Difference;
use crate::workflow::{Completion, Target};

/// What declaring a set does, or would do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetPlan {
    /// Name of the set.
    pub set: SetName,
    /// Whether the plan was only made, and nothing was done.
    pub dry_run: bool,
    /// Whether schedules of the set that are not declared are deleted.
    pub prune: bool,
    /// Number of schedules by `action`; every action is counted.
    pub counts: BTreeMap<Action, u64>,
    /// Why the deletes must be allowed by their number before anything is done; `null` if they need
    /// not be.
    pub guard: Option<String>,
    /// Schedules that are left for the next call.
    pub remaining: usize,
    /// Workflow versions in the order they were declared.
    pub workflows: Vec<PlannedWorkflow>,
    /// Schedules in the order they were declared, then schedules of the set that were not.
    pub schedules: Vec<PlannedSchedule>,
}

/// A schedule of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlannedSchedule {
    /// Name of the schedule.
    pub schedule_id: ScheduleId,
    /// Index among the declared schedules; `null` if the schedule is not declared.
    pub place: Option<usize>,
    /// What is to be done.
    pub action: Action,
    /// Revision that the plan was made from; 0 if there was no schedule.
    pub revision: u64,
    /// Fields of the definition that change.
    pub changes: Vec<Difference>,
    /// What happens to the fires; `null` if none moves.
    pub fires: Option<PlannedFires>,
    /// What happens to the fires, in sentences.
    pub says: Vec<String>,
    /// What became of the plan for this schedule.
    pub outcome: Outcome,
    /// Why the outcome is what it is.
    pub message: Option<String>,
    /// Seconds after which the next call may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

/// A workflow version of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlannedWorkflow {
    /// Name of the workflow.
    pub workflow_id: WorkflowId,
    /// Number of the version.
    pub version: u32,
    /// Index among the declared workflow versions.
    pub place: usize,
    /// What is to be done.
    pub action: WorkflowAction,
    /// What became of the plan for this version.
    pub outcome: Outcome,
    /// Why the outcome is what it is.
    pub message: Option<String>,
    /// Seconds after which the next call may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

/// What is to be done about a workflow version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowAction {
    /// Publish the version.
    Publish,
    /// Nothing: the version is published.
    Unchanged,
    /// Nothing: the version cannot be published as declared.
    Refused,
}

/// What became of a part of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The plan was only made.
    Planned,
    /// It was done.
    Done,
    /// There was nothing to do.
    Nothing,
    /// The plan refuses this part.
    Refused,
    /// The schedule changed since the plan was made; nothing was done.
    Conflict,
    /// It could not be done.
    Failed,
    /// It is left for the next call.
    Pending,
}

/// A set as a declaration would have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Set", deny_unknown_fields)]
pub struct SetExport {
    /// Name of the set.
    pub set: SetName,
    /// The caller's workflow versions that the schedules use.
    pub workflows: Vec<ExportedWorkflow>,
    /// The schedules, each with the fields that differ from the defaults.
    pub schedules: Vec<Value>,
}

/// A workflow version as a declaration would have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExportedWorkflow {
    /// Name of the workflow.
    pub workflow_id: WorkflowId,
    /// Number of the version.
    pub version: u32,
    /// Where runs are launched.
    pub target: Target,
    /// What the executor runs; left out if there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Value>,
    /// When a run counts as done; left out if that is when the target accepts the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completion: Option<Completion>,
}

/// The caller's declared sets, in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetList {
    /// The sets.
    pub items: Vec<SetSize>,
}

/// A declared set and how large it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct SetSize {
    /// Name of the set.
    pub set: SetName,
    /// Number of schedules in the set.
    pub schedules: usize,
}

impl Item {
    /// As the API shows it.
    pub fn view(&self) -> PlannedSchedule {
        let is_refused = self.action == Action::Refused;
        PlannedSchedule {
            schedule_id: self.schedule_id.clone(),
            place: self.place,
            action: self.action,
            revision: self.revision,
            changes: self.changes.clone(),
            fires: self.moves.as_ref().map(Moves::view),
            says: self.moves.as_ref().map(|moves| moves.says.clone()).unwrap_or_default(),
            outcome: if is_refused { Outcome::Refused } else { Outcome::Planned },
            message: self.why.clone(),
            retry_after_s: None,
        }
    }
}
