//! A run: the durable record of a fire and of what happened to it.

pub mod attempts;
pub mod ending;
pub mod feedback;
pub mod overview;
pub mod stats;
pub mod streak;
pub mod sums;
pub mod totals;
pub mod trace;
pub mod view;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encoding::json_text;
use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::run::attempts::Attempt;
use crate::words::Words;

/// The largest result in bytes that a record keeps. A larger result is not cut, because a part of a
/// JSON text is not valid JSON.
pub const MAX_RESULT: usize = 300;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The record of a fire and its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The identity of the run. The stored record has it as two keys.
    #[serde(flatten, with = "crate::id::keys")]
    pub id: RunId,
    /// The status of the run.
    pub status: Status,
    /// What caused the run.
    pub trigger: Trigger,
    /// The owner of the schedule. The run stores it, because the schedule may be deleted before its
    /// history expires.
    pub owner: String,
    /// The revision of the definition that planned the run, or of the newest definition that still
    /// had the fire.
    pub revision: u64,
    /// The intended start: `run_at`, moved by jitter or by a spread catch-up.
    pub launch_at: Instant,
    /// When the record was created.
    pub enqueued_at: Instant,
    /// How often a launcher has claimed the run.
    #[serde(default)]
    pub attempt: u32,
    /// How many of the claims were given back before the target was called.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_called: u32,
    /// The attempts that ended without success, oldest first: the newest of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// When the next attempt is due, after one that the target refused for now. No launcher claims
    /// the run before, and recovery does not take it for lost.
    #[serde(
        default,
        with = "chrono::serde::ts_milliseconds_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub retry_at: Option<Instant>,
    /// The end of the lease of the launcher that claimed the run. Until then the launcher is
    /// assumed to be alive.
    #[serde(
        default,
        with = "chrono::serde::ts_milliseconds_option",
        skip_serializing_if = "Option::is_none"
    )]
    pub lease_until: Option<Instant>,
    /// The id of the message whose delivery claimed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// When a launcher last claimed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Instant>,
    /// When the run reached a terminal status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Instant>,
    /// The executor's own id for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_run_id: Option<String>,
    /// The error message, if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The result that the executor returned.
    #[serde(default, with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// The reason for the status, if the status alone does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The sort key of the run that held the slot when this run was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// For a summary: the missed fires that it stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
    /// What recovery did for the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// For a manual run: the payload that replaces the schedule's payload.
    #[serde(default, with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// For a manual run: the overlap policy that the caller requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_policy: Option<crate::schedule::Overlap>,
    /// The release of the zone data with which the run was planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tzdb: Option<String>,
}

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(rename = "RunStatus")]
pub enum Status {
    /// Recorded and sent to the launch queue.
    Enqueued,
    /// Waiting for an earlier run of the same schedule.
    Queued,
    /// Claimed by a launcher, or running at the target.
    Started,
    /// The run succeeded.
    Success,
    /// The run failed and will not be retried.
    Failed,
    /// Deliberately not launched. The reason says why.
    Skipped,
    /// Lost, and recovery gave up.
    Abandoned,
}

impl Status {
    /// The name of the status in the API and in the table.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Enqueued => "ENQUEUED",
            Status::Queued => "QUEUED",
            Status::Started => "STARTED",
            Status::Success => "SUCCESS",
            Status::Failed => "FAILED",
            Status::Skipped => "SKIPPED",
            Status::Abandoned => "ABANDONED",
        }
    }

    /// Reads what [`Status::as_str`] writes.
    pub fn parse(text: &str) -> Option<Status> {
        use Status::*;
        [Enqueued, Queued, Started, Success, Failed, Skipped, Abandoned]
            .into_iter()
            .find(|status| status.as_str() == text)
    }

    /// Whether the status is final: a run in a terminal status does not change any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Status::Success | Status::Failed | Status::Skipped | Status::Abandoned)
    }

    /// Whether a run may change from this status to `next`.
    pub fn may_become(self, next: Status) -> bool {
        use Status::*;
        match self {
            Enqueued => matches!(next, Queued | Started | Skipped | Failed | Abandoned),
            Queued => matches!(next, Enqueued | Started | Skipped | Failed | Abandoned),
            Started => matches!(next, Enqueued | Queued | Success | Failed | Skipped | Abandoned),
            Success | Failed | Skipped | Abandoned => false,
        }
    }
}

/// What caused a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Trigger {
    /// The clock, by this cron expression.
    Schedule(String),
    /// The catch-up policy, which launched a missed fire.
    Catchup,
    /// A caller of the API, who requested this run.
    Manual,
    /// A backfill of past fires.
    Backfill,
    /// The success of this run of another schedule, which the schedule follows.
    After(RunId),
}

impl From<Trigger> for String {
    fn from(trigger: Trigger) -> String {
        match trigger {
            Trigger::Schedule(cron_expr) => format!("schedule:{cron_expr}"),
            Trigger::Catchup => "catchup".to_owned(),
            Trigger::Manual => "manual".to_owned(),
            Trigger::Backfill => "backfill".to_owned(),
            Trigger::After(run) => format!("after:{run}"),
        }
    }
}

impl TryFrom<String> for Trigger {
    type Error = String;
    fn try_from(text: String) -> Result<Trigger, String> {
        match text.as_str() {
            "catchup" => Ok(Trigger::Catchup),
            "manual" => Ok(Trigger::Manual),
            "backfill" => Ok(Trigger::Backfill),
            _ => match text.split_once(':') {
                Some(("schedule", cron_expr)) => Ok(Trigger::Schedule(cron_expr.to_owned())),
                Some(("after", run)) => run.parse().map(Trigger::After).map_err(|e| format!("{e}")),
                _ => Err(format!("unknown trigger {text}")),
            },
        }
    }
}

/// Why a run is in the state it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The fire was late by more than the grace period, and the policy did not catch it up.
    Missed,
    /// An earlier run still held the slot, and the overlap policy is `skip`.
    Overlap,
    /// The maximum number of runs was already waiting.
    QueueFull,
    /// The schedule was paused before the run launched.
    Paused,
    /// The schedule was deleted before the run launched.
    Deleted,
    /// The definition changed before the run launched, and the new definition has no such fire.
    Superseded,
    /// The backfill that the run belongs to was cancelled.
    Cancelled,
    /// The run that this run was to follow did not succeed after all.
    Upstream,
    /// The target refused the launch, or all attempts to reach it failed.
    LaunchFailed,
    /// The workflow version does not exist any more.
    WorkflowMissing,
    /// The executor reported a failure.
    Executor,
    /// The run took longer than `max_runtime_s`.
    Timeout,
    /// The run was lost, and every attempt to recover it failed or it was too old to try.
    Lost,
}

impl Words for Status {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Status::Enqueued => (
                "Enqueued",
                "The run is recorded; its message waits for its second, or for the next attempt.",
            ),
            Status::Queued => ("Queued", "The run waits for an earlier run of its schedule."),
            Status::Started => {
                ("Started", "The run is claimed by a launcher, or going on at its target.")
            }
            Status::Success => ("Success", "The run is done."),
            Status::Failed => ("Failed", "The run failed and is not tried again."),
            Status::Skipped => ("Skipped", "The run was deliberately not launched."),
            Status::Abandoned => ("Abandoned", "The run was lost and could not be recovered."),
        }
    }
}

impl Words for Reason {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Reason::Missed => {
                ("Missed", "The fire was late by more than the grace, and was not caught up.")
            }
            Reason::Overlap => ("Overlap", "An earlier run was still going and held the slot."),
            Reason::QueueFull => ("Queue full", "As many runs as may wait were waiting already."),
            Reason::Paused => ("Paused", "The schedule was paused before the run launched."),
            Reason::Deleted => ("Deleted", "The schedule was deleted before the run launched."),
            Reason::Superseded => (
                "Superseded",
                "The definition changed before the run launched, and the new one has no such fire.",
            ),
            Reason::Cancelled => ("Cancelled", "The backfill of the run was cancelled."),
            Reason::Upstream => ("Upstream", "The run that this run follows did not succeed."),
            Reason::LaunchFailed => {
                ("Launch failed", "The target refused the run, or could not be reached.")
            }
            Reason::WorkflowMissing => ("Workflow missing", "The workflow version is gone."),
            Reason::Executor => ("Executor", "The executor reported the end of the run."),
            Reason::Timeout => ("Timeout", "The run took longer than its longest runtime."),
            Reason::Lost => ("Lost", "The run was lost, and every attempt to recover it failed."),
        }
    }
}

/// What recovery did about a lost run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovery {
    /// How often the run was sent again.
    pub attempts: u32,
    /// When the run was last sent again.
    pub recovery_attempt_time: Instant,
}

/// The fires that a summary of a long outage stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Missed {
    /// The oldest fire.
    #[serde(with = "instant::required")]
    #[schemars(with = "Instant")]
    pub first: Instant,
    /// The newest fire.
    #[serde(with = "instant::required")]
    #[schemars(with = "Instant")]
    pub last: Instant,
    /// The number of fires, oldest and newest included.
    pub count: u64,
}

impl Run {
    /// A new record of a fire that is planned and not launched.
    pub fn planned(
        id: RunId,
        trigger: Trigger,
        owner: &str,
        revision: u64,
        launch_at: Instant,
        now: Instant,
    ) -> Run {
        Run {
            id,
            status: Status::Enqueued,
            trigger,
            owner: owner.to_owned(),
            revision,
            launch_at,
            enqueued_at: now,
            attempt: 0,
            not_called: 0,
            attempts: Vec::new(),
            retry_at: None,
            lease_until: None,
            holder: None,
            started_at: None,
            finished_at: None,
            external_run_id: None,
            error: None,
            result: None,
            reason: None,
            blocked_by: None,
            missed: None,
            recovery: None,
            payload: None,
            overlap_policy: None,
            tzdb: Some(belfry_cron::tzdb_version().to_owned()),
        }
    }

    /// Turns a new record into one of a fire that will not launch.
    pub fn skipped(self, reason: Reason, now: Instant) -> Run {
        Run { status: Status::Skipped, reason: Some(reason), finished_at: Some(now), ..self }
    }

    /// The difference between the actual start and the intended start.
    pub fn drift_ms(&self) -> Option<i64> {
        self.started_at.map(|at| (at - self.launch_at).num_milliseconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_run_changes_no_more() {
        for from in ["SUCCESS", "FAILED", "SKIPPED", "ABANDONED"] {
            for to in ["ENQUEUED", "QUEUED", "STARTED", "SUCCESS", "FAILED", "SKIPPED"] {
                let (from, to) = (Status::parse(from).unwrap(), Status::parse(to).unwrap());
                assert!(!from.may_become(to), "{from:?} -> {to:?}");
            }
        }
    }

    #[test]
    fn nothing_succeeds_before_it_started() {
        assert!(!Status::Enqueued.may_become(Status::Success));
        assert!(!Status::Queued.may_become(Status::Success));
        assert!(Status::Started.may_become(Status::Success));
    }
}
