//! Statistics of runs. They are computed on request, because a stored counter would cost a write
//! for every fire.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::trace::Trace;
use crate::run::{Reason, Status};

/// What became of the newest runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Stats {
    /// Fires that were launched or will not be: the sum of `succeeded`, `failed`, `skipped` and
    /// `missed`, and the runs that are going.
    pub total: u64,
    /// Runs that succeeded.
    pub succeeded: u64,
    /// Runs that failed or were abandoned.
    pub failed: u64,
    /// Fires that were not launched by policy.
    pub skipped: u64,
    /// Fires that were not launched because their time had passed.
    pub missed: u64,
    /// Runs that were launched after they were lost.
    pub recovered: u64,
    /// Part of the ended runs that succeeded, from 0 to 1; `null` if no run ended.
    pub success_rate: Option<f64>,
    /// Failures since the last success. Failures in a row are of one schedule, so that statistics over
    /// several schedules do not have this field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_failures: Option<u64>,
    /// What became of lost runs.
    pub recovery: RecoveryStats,
    /// Number of run records that were looked at.
    pub of_newest: u64,
}

/// What became of lost runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct RecoveryStats {
    /// How often a lost run was sent again.
    pub attempts: u64,
    /// Lost runs that were launched after all.
    pub recovered: u64,
    /// Lost runs that were sent again and failed.
    pub failed: u64,
    /// Lost runs that were given up.
    pub abandoned: u64,
    /// Part of the lost runs with a known outcome that were launched and did not fail, from 0 to 1;
    /// `null` if there is none.
    pub rate: Option<f64>,
}

/// Counts over many schedules, and statistics of their newest runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Overall {
    /// What the schedules are doing.
    pub schedules: ScheduleCounts,
    /// What became of the newest runs of the schedules.
    pub runs: Stats,
    /// Whether there are more schedules than were looked at.
    pub truncated: bool,
}

/// How many schedules are doing what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScheduleCounts {
    /// Schedules that were looked at.
    pub total: usize,
    /// Schedules by their status.
    pub by_status: BTreeMap<String, u64>,
    /// Schedules whose newest run that ended failed.
    pub failing: usize,
}

impl RecoveryStats {
    fn count(&mut self, run: &Trace) {
        let Some(recovery) = run.recovery else { return };
        self.attempts += u64::from(recovery.attempts);
        match run.status {
            Status::Started | Status::Success => self.recovered += 1,
            Status::Failed => self.failed += 1,
            Status::Abandoned => self.abandoned += 1,
            Status::Enqueued | Status::Queued | Status::Skipped => {}
        }
    }

    fn and(self, other: RecoveryStats) -> RecoveryStats {
        RecoveryStats {
            attempts: self.attempts + other.attempts,
            recovered: self.recovered + other.recovered,
            failed: self.failed + other.failed,
            abandoned: self.abandoned + other.abandoned,
            rate: None,
        }
    }

    fn with_rate(self) -> RecoveryStats {
        let ended = self.recovered + self.failed + self.abandoned;
        let rate = (ended > 0).then(|| self.recovered as f64 / ended as f64);
        RecoveryStats { rate, ..self }
    }
}

/// How long the newest runs took from claim to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Durations {
    /// Median in milliseconds; `null` if no run ended.
    pub p50_ms: Option<i64>,
    /// 95th percentile in milliseconds; `null` if no run ended.
    pub p95_ms: Option<i64>,
}

impl Stats {
    /// The statistics of `runs`, which must be newest first. Two kinds of runs are not counted:
    /// runs that still wait, and fires that a change of the schedule cancelled.
    pub fn of<'a>(runs: impl IntoIterator<Item = &'a Trace>) -> Stats {
        let mut stats = Stats::default();
        let (mut in_a_row, mut since_success) = (0, true);
        for run in runs {
            stats.of_newest += 1;
            if run.was_taken_back() {
                continue;
            }
            match run.status {
                Status::Enqueued | Status::Queued => continue,
                Status::Started => stats.total += 1,
                Status::Success => {
                    stats.succeeded += 1;
                    since_success = false;
                }
                Status::Failed | Status::Abandoned => {
                    stats.failed += 1;
                    in_a_row += u64::from(since_success);
                }
                Status::Skipped if run.reason == Some(Reason::Missed) => {
                    stats.missed += run.missed.map_or(1, |missed| missed.count);
                }
                Status::Skipped => stats.skipped += 1,
            }
            stats.recovery.count(run);
        }
        stats.consecutive_failures = Some(in_a_row);
        stats.recovered = stats.recovery.recovered;
        stats.total += stats.succeeded + stats.failed + stats.skipped + stats.missed;
        stats.with_rate()
    }

    /// Adds the statistics of another schedule. Consecutive failures have a meaning only for one
    /// schedule, so they are not added.
    pub fn and(self, other: &Stats) -> Stats {
        let sum = Stats {
            total: self.total + other.total,
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            missed: self.missed + other.missed,
            recovered: self.recovered + other.recovered,
            success_rate: None,
            consecutive_failures: None,
            recovery: self.recovery.and(other.recovery),
            of_newest: self.of_newest + other.of_newest,
        };
        sum.with_rate()
    }

    fn with_rate(self) -> Stats {
        let ended = self.succeeded + self.failed;
        let rate = (ended > 0).then(|| self.succeeded as f64 / ended as f64);
        Stats { success_rate: rate, recovery: self.recovery.with_rate(), ..self }
    }
}

/// The status of the newest run that no longer waits and that no change of the schedule cancelled.
pub fn last_status<'a>(newest_first: impl IntoIterator<Item = &'a Trace>) -> Option<Status> {
    let waits = |run: &Trace| matches!(run.status, Status::Enqueued | Status::Queued);
    let last = newest_first.into_iter().find(|run| !waits(run) && !run.was_taken_back());
    last.map(|run| run.status)
}

/// The durations of those `runs` that were launched and have ended.
pub fn durations<'a>(runs: impl IntoIterator<Item = &'a Trace>) -> Durations {
    let took = |run: &Trace| match (run.status, run.started_at, run.finished_at) {
        (Status::Success | Status::Failed, Some(start), Some(end)) => {
            Some((end - start).num_milliseconds())
        }
        _ => None,
    };
    let mut took: Vec<_> = runs.into_iter().filter_map(took).collect();
    took.sort_unstable();
    // The nearest-rank method always returns a duration that really occurred.
    let percentile = |percent: usize| {
        let rank = (took.len() * percent).div_ceil(100);
        took.get(rank.checked_sub(1)?).copied()
    };
    Durations { p50_ms: percentile(50), p95_ms: percentile(95) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::tests::trace;
    use serde_json::{Value, json};

    const AT: &str = "2026-01-01T00:00:00Z";

    fn runs(newest_first: &[Value]) -> Vec<Trace> {
        newest_first.iter().map(|more| trace(AT, more.clone())).collect()
    }

    fn status(status: &str) -> Value {
        json!({"status": status})
    }

    fn skipped(reason: &str) -> Value {
        json!({"status": "SKIPPED", "reason": reason})
    }

    #[test]
    fn every_run_counts_once_and_a_summary_as_often_as_it_stands_for() {
        let missed = json!({"first": AT, "last": AT, "count": 40});
        let sent_again = |attempts| json!({"attempts": attempts, "recovery_attempt_time": AT});
        let stats = Stats::of(&runs(&[
            status("ENQUEUED"),
            status("STARTED"),
            status("SUCCESS"),
            json!({"status": "SUCCESS", "recovery": sent_again(1)}),
            status("FAILED"),
            json!({"status": "ABANDONED", "recovery": sent_again(3)}),
            skipped("overlap"),
            skipped("missed"),
            json!({"status": "SKIPPED", "reason": "missed", "missed": missed}),
            skipped("superseded"),
            skipped("paused"),
        ]));
        let expected = Stats {
            total: 1 + 2 + 2 + 1 + 41,
            succeeded: 2,
            failed: 2,
            skipped: 1,
            missed: 41,
            recovered: 1,
            success_rate: Some(0.5),
            consecutive_failures: Some(0),
            recovery: RecoveryStats {
                attempts: 4,
                recovered: 1,
                failed: 0,
                abandoned: 1,
                rate: Some(0.5),
            },
            of_newest: 11,
        };
        assert_eq!(stats, expected);
    }

    #[test]
    fn failures_in_a_row_end_at_the_last_success_and_not_at_a_skip() {
        let (failed, success) = (status("FAILED"), status("SUCCESS"));
        let newest_first = [
            status("ENQUEUED"),
            failed.clone(),
            skipped("overlap"),
            status("ABANDONED"),
            success,
            failed,
        ];
        assert_eq!(Stats::of(&runs(&newest_first)).consecutive_failures, Some(2));
    }

    #[test]
    fn without_an_end_there_is_no_rate() {
        assert_eq!(Stats::of(&runs(&[status("STARTED")])).success_rate, None);
        let none = Stats { consecutive_failures: Some(0), ..Stats::default() };
        assert_eq!(Stats::of([]), none);
    }

    #[test]
    fn sums_have_a_rate_of_their_own_and_no_failures_in_a_row() {
        let bad = Stats::of(&runs(&[status("FAILED")]));
        let good = Stats::of(&runs(&[status("SUCCESS"), status("SUCCESS"), status("SUCCESS")]));
        let sum = Stats::default().and(&bad).and(&good);
        let found = (sum.total, sum.success_rate, sum.consecutive_failures);
        assert_eq!(found, (4, Some(0.75), None));
        let told = serde_json::to_value(sum).unwrap();
        assert!(told.get("consecutive_failures").is_none(), "{told}");
    }

    #[test]
    fn the_last_status_is_of_a_run_that_came_to_something() {
        let newest_first = [status("ENQUEUED"), skipped("superseded"), status("FAILED")];
        assert_eq!(last_status(&runs(&newest_first)), Some(Status::Failed));
        assert_eq!(last_status(&runs(&[status("QUEUED")])), None);
    }

    #[test]
    fn durations_are_of_what_was_launched_and_ended() {
        let ended = |seconds: i64| {
            let end = AT.parse::<crate::instant::Instant>().unwrap();
            json!({"finished_at": end + chrono::Duration::seconds(seconds)})
        };
        let mut all: Vec<_> = (1..=20).map(ended).collect();
        all.push(status("STARTED"));
        all.push(json!({"status": "SKIPPED", "reason": "overlap", "finished_at": AT}));
        let found = durations(&runs(&all));
        assert_eq!((found.p50_ms, found.p95_ms), (Some(10_000), Some(19_000)));
        assert_eq!(durations([]), Durations::default());
    }
}
