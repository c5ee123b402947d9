//! A trace: the part of a run that the ledger and the statistics need. They read thousands of runs,
//! so they do not read whole records.

use serde::Deserialize;

use crate::instant::Instant;
use crate::run::{Missed, Reason, Recovery, Status, Trigger};

/// The attributes of a run record that a trace contains, besides the key.
pub const ATTRIBUTES: [&str; 11] = [
    "status",
    "trigger",
    "owner",
    "revision",
    "launch_at",
    "retry_at",
    "started_at",
    "finished_at",
    "reason",
    "missed",
    "recovery",
];

/// The attributes of a run that the ledger and the statistics need.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Trace {
    /// The status of the run.
    pub status: Status,
    /// What caused the run.
    pub trigger: Trigger,
    /// The owner of the schedule.
    pub owner: String,
    /// The revision of the definition that planned the run, or of the newest definition that still
    /// had the fire.
    pub revision: u64,
    /// The intended start.
    pub launch_at: Instant,
    /// When the next attempt is due, after one that the target refused for now.
    #[serde(default, with = "chrono::serde::ts_milliseconds_option")]
    pub retry_at: Option<Instant>,
    /// When a launcher last claimed the run.
    #[serde(default)]
    pub started_at: Option<Instant>,
    /// When the run reached a terminal status.
    #[serde(default)]
    pub finished_at: Option<Instant>,
    /// The reason for the status, if the status alone does not say it.
    #[serde(default)]
    pub reason: Option<Reason>,
    /// For a summary: the missed fires that it stands for.
    #[serde(default)]
    pub missed: Option<Missed>,
    /// What recovery did for the run.
    #[serde(default)]
    pub recovery: Option<Recovery>,
}

impl Trace {
    /// Whether a change of the schedule cancelled this fire before it launched.
    pub fn was_taken_back(&self) -> bool {
        let by_a_change =
            matches!(self.reason, Some(Reason::Paused | Reason::Deleted | Reason::Superseded));
        self.status == Status::Skipped && by_a_change
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::Run;
    use serde_json::{Value, json};

    /// The trace of a run of ann's schedule with the intended start `launch_at`. `more` has further
    /// attributes as they are stored.
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called")]
    pub(crate) fn trace(launch_at: &str, more: Value) -> Trace {
        let mut stored = json!({
            "status": "SUCCESS", "trigger": "schedule:x", "owner": "ann", "revision": 1,
            "launch_at": launch_at, "started_at": launch_at,
        });
        stored.as_object_mut().unwrap().extend(crate::schedule::definition::object(&more));
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn a_trace_is_read_from_a_whole_record_and_needs_only_its_attributes() {
        let at = "2026-01-01T00:00:00Z".parse().unwrap();
        let run = Run::planned(
            "nightly@2026-01-01T00:00:00Z".parse().unwrap(),
            Trigger::Catchup,
            "ann",
            3,
            at,
            at,
        )
        .skipped(Reason::Missed, at);
        let mut record = serde_json::to_value(run).unwrap();
        let whole: Trace = serde_json::from_value(record.clone()).unwrap();
        record.as_object_mut().unwrap().retain(|key, _| ATTRIBUTES.contains(&key.as_str()));
        assert_eq!(serde_json::from_value::<Trace>(record).unwrap(), whole);
        assert_eq!((whole.revision, whole.reason), (3, Some(Reason::Missed)));
    }
}
