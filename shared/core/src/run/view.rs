//! A run as the API shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attempts::Attempt;
use super::{Missed, Reason, Run, Status, Trigger};
use crate::encoding::is_shallow;
use crate::id::{RunId, ScheduleId};
use crate::instant::{self, Instant};

/// The record of one fire and of what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Run", deny_unknown_fields)]
pub struct RunView {
    /// Unique name of the run: `<schedule_id>@<run_at>`, with `~<cause>` behind it if it was not the
    /// schedule's clock that asked for the run.
    pub run_id: RunId,
    /// The schedule whose fire this is.
    pub schedule_id: ScheduleId,
    /// Nominal time of the fire, a whole second.
    pub run_at: Instant,
    /// Key that every attempt sends to the target, so that an executor recognises a repeated launch.
    pub idempotency_key: String,
    /// Where the run stands.
    pub status: Status,
    /// What asked for the run: `schedule:<cron_expr>`, `after:<run_id>`, `catchup`, `manual` or
    /// `backfill`.
    #[schemars(with = "String")]
    pub trigger: Trigger,
    /// How often a launcher has claimed the run.
    pub attempt: u32,
    /// The newest ten attempts, oldest first.
    pub attempts: Vec<Attempt>,
    /// Intended start: `run_at`, moved by jitter or spread.
    pub launch_at: Instant,
    /// When the record was made.
    #[serde(with = "instant::observed")]
    #[schemars(with = "Instant")]
    pub enqueued_at: Instant,
    /// When a launcher last claimed the run; `null` before the first claim.
    #[serde(with = "instant::observed::optional")]
    #[schemars(with = "Option<Instant>")]
    pub started_at: Option<Instant>,
    /// When the run reached its final status; `null` before that.
    #[serde(with = "instant::observed::optional")]
    #[schemars(with = "Option<Instant>")]
    pub finished_at: Option<Instant>,
    /// Milliseconds from `launch_at` to `started_at`; negative if the run started early.
    pub drift_ms: Option<i64>,
    /// The executor's name for the run.
    pub external_run_id: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the executor answered; left out if it is nested too deep.
    pub result: Option<Value>,
    /// Why the run is in its status, where the status alone does not say.
    pub reason: Option<Reason>,
    /// Release of the time zone data that the fire was planned with.
    pub tzdb: Option<String>,
    /// When the next attempt is due, if the run waits for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Instant>,
    /// The run that held the slot when this run was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked_by: Option<String>,
    /// What recovery did about a lost run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryView>,
    /// The fires that this record stands for, if it is the summary of a long outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed: Option<Missed>,
}

/// What recovery did about a lost run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Recovery", deny_unknown_fields)]
pub struct RecoveryView {
    /// Always `true`.
    pub is_recovery: bool,
    /// Nominal time of the fire, as `run_at`.
    pub original_scheduled_time: Instant,
    /// When the run was last sent again.
    #[serde(with = "instant::observed")]
    #[schemars(with = "Instant")]
    pub recovery_attempt_time: Instant,
    /// The run, as `run_id`.
    pub execution_id: RunId,
    /// How often the run was sent again.
    pub attempts: u32,
}

impl Run {
    /// What the API and the target are told of a run that was recovered.
    pub fn recovery_view(&self) -> Option<RecoveryView> {
        let (id, recovery) = (&self.id, self.recovery.as_ref()?);
        Some(RecoveryView {
            is_recovery: true,
            original_scheduled_time: instant::whole_second(id.run_at),
            recovery_attempt_time: recovery.recovery_attempt_time,
            execution_id: id.clone(),
            attempts: recovery.attempts,
        })
    }

    /// The run as the API shows it.
    pub fn view(&self) -> RunView {
        let id = &self.id;
        RunView {
            run_id: id.clone(),
            schedule_id: id.schedule_id.clone(),
            run_at: instant::whole_second(id.run_at),
            idempotency_key: id.idempotency_key(),
            status: self.status,
            trigger: self.trigger.clone(),
            attempt: self.attempt,
            attempts: self.attempts_shown(),
            launch_at: self.launch_at,
            enqueued_at: self.enqueued_at,
            started_at: self.started_at,
            finished_at: self.finished_at,
            drift_ms: self.drift_ms(),
            external_run_id: self.external_run_id.clone(),
            error: self.error.clone(),
            result: self.result.clone().filter(is_shallow),
            reason: self.reason,
            tzdb: self.tzdb.clone(),
            retry_at: self.waits_until(),
            blocked_by: self.blocked_by.as_ref().map(|key| format!("{}@{key}", id.schedule_id)),
            recovery: self.recovery_view(),
            missed: self.missed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Recovery;
    use serde_json::json;

    #[test]
    fn a_run_has_null_for_unknown_and_leaves_out_what_does_not_apply() {
        let at: Instant = "2026-01-01T09:00:00.250Z".parse().unwrap();
        let id: RunId = "nightly@2026-01-01T09:00:00Z".parse().unwrap();
        let key = id.idempotency_key();
        let run = Run { tzdb: None, ..Run::planned(id, Trigger::Manual, "ann", 1, at, at) };
        let plain = json!({
            "run_id": "nightly@2026-01-01T09:00:00Z", "schedule_id": "nightly",
            "run_at": "2026-01-01T09:00:00Z", "idempotency_key": key, "status": "ENQUEUED",
            "trigger": "manual", "attempt": 0, "attempts": [], "launch_at": "2026-01-01T09:00:00.250Z",
            "enqueued_at": "2026-01-01T09:00:00.250Z", "started_at": null, "finished_at": null,
            "drift_ms": null, "external_run_id": null, "error": null, "result": null,
            "reason": null, "tzdb": null,
        });
        assert_eq!(serde_json::to_value(run.view()).unwrap(), plain);
        let recovery = Some(Recovery { attempts: 2, recovery_attempt_time: at });
        let blocked_by = Some("2026-01-01T08:00:00Z".to_owned());
        let missed = Some(Missed { first: at, last: at, count: 3 });
        let retry_at = Some(at);
        let view = Run { recovery, blocked_by, missed, retry_at, ..run }.view();
        let told = serde_json::to_value(&view).unwrap();
        assert_eq!(told["retry_at"], "2026-01-01T09:00:00.250Z");
        assert_eq!(told["blocked_by"], "nightly@2026-01-01T08:00:00Z");
        assert_eq!(
            told["recovery"],
            json!({
                "is_recovery": true, "original_scheduled_time": "2026-01-01T09:00:00Z",
                "recovery_attempt_time": "2026-01-01T09:00:00.250Z",
                "execution_id": "nightly@2026-01-01T09:00:00Z", "attempts": 2,
            })
        );
        assert_eq!(
            told["missed"],
            json!({"first": "2026-01-01T09:00:00Z", "last": "2026-01-01T09:00:00Z", "count": 3})
        );
        // The whole second is all that the answer keeps of a summary's ends.
        let read: RunView = serde_json::from_value(told.clone()).unwrap();
        assert_eq!(serde_json::to_value(read).unwrap(), told);
    }
}
