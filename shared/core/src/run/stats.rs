//! Statistics of runs. A stored counter would cost a write for every fire. Runs are therefore counted
//! on request, and those of the past are kept as sums ([`crate::run::sums`]).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::run::trace::Trace;
use crate::run::{Reason, Status, Trigger};
use crate::schedule::definition::object;
use crate::schedule::{Clock, Spec, view};

/// What became of runs: of all runs of a schedule, or of the newest if `of_newest` is there. Runs of
/// backfills are not counted: a backfill has counts of its own.
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
    /// Where only the newest runs are counted: the number of records that were looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_newest: Option<u64>,
    /// Where older runs are not counted yet: the time from which runs are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted_since: Option<Instant>,
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

/// Counts over many schedules, and statistics of all their runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Overall {
    /// What the schedules are doing.
    pub schedules: ScheduleCounts,
    /// What became of the runs of the schedules.
    pub runs: Stats,
    /// When `by_status` and `runs` were counted. For up to 200 schedules that is now, for up to 2,000 it
    /// was within minutes, for more it was when the daily check began to count them. `total` and
    /// `failing` of one owner are always of now; those of all owners together, if there are more than
    /// 200 schedules, are of `as_of` too.
    #[serde(with = "instant::observed")]
    #[schemars(with = "Instant")]
    pub as_of: Instant,
}

/// How many schedules are doing what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ScheduleCounts {
    /// All schedules.
    pub total: u64,
    /// Schedules that `by_status` and `runs` are of, where these are fewer than `total`: the others
    /// are newer than `as_of`, or the daily check has not come to them yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Schedules by their status.
    pub by_status: BTreeMap<String, u64>,
    /// Schedules whose newest run that ended failed.
    pub failing: u64,
}

/// Numbers of runs. They can be added, and stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Runs that are going.
    pub started: u64,
    /// Runs that succeeded.
    pub succeeded: u64,
    /// Runs that failed or were abandoned.
    pub failed: u64,
    /// Fires that were not launched by policy.
    pub skipped: u64,
    /// Fires that were not launched because their time had passed.
    pub missed: u64,
    /// How often a lost run was sent again.
    pub sent_again: u64,
    /// Lost runs that were launched after all.
    pub recovered: u64,
    /// Lost runs that were sent again and failed.
    pub recovered_failed: u64,
    /// Lost runs that were given up.
    pub abandoned: u64,
}

impl Counts {
    /// Counts one more run. Three kinds of runs are not counted: runs that still wait, fires that a
    /// change of the schedule cancelled, and runs of backfills.
    pub fn count(&mut self, run: &Trace) {
        if run.was_taken_back() || run.trigger == Trigger::Backfill {
            return;
        }
        match run.status {
            Status::Enqueued | Status::Queued => return,
            Status::Started => self.started += 1,
            Status::Success => self.succeeded += 1,
            Status::Failed => self.failed += 1,
            Status::Abandoned => {
                self.failed += 1;
                self.abandoned += 1;
            }
            Status::Skipped if run.reason == Some(Reason::Missed) => {
                self.missed += run.missed.map_or(1, |missed| missed.count);
            }
            Status::Skipped => self.skipped += 1,
        }
        let Some(recovery) = run.recovery else { return };
        self.sent_again += u64::from(recovery.attempts);
        match run.status {
            Status::Started | Status::Success => self.recovered += 1,
            Status::Failed => self.recovered_failed += 1,
            Status::Enqueued | Status::Queued | Status::Skipped | Status::Abandoned => {}
        }
    }

    /// The sum of two counts.
    pub fn and(self, other: Counts) -> Counts {
        Counts {
            started: self.started + other.started,
            succeeded: self.succeeded + other.succeeded,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
            missed: self.missed + other.missed,
            sent_again: self.sent_again + other.sent_again,
            recovered: self.recovered + other.recovered,
            recovered_failed: self.recovered_failed + other.recovered_failed,
            abandoned: self.abandoned + other.abandoned,
        }
    }

    /// The statistics of these runs, which may be of many schedules.
    pub fn stats(self) -> Stats {
        let Counts { started, succeeded, failed, skipped, missed, recovered, .. } = self;
        let rate = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
        Stats {
            total: started + succeeded + failed + skipped + missed,
            succeeded,
            failed,
            skipped,
            missed,
            recovered,
            success_rate: rate(succeeded, succeeded + failed),
            recovery: RecoveryStats {
                attempts: self.sent_again,
                recovered,
                failed: self.recovered_failed,
                abandoned: self.abandoned,
                rate: rate(recovered, recovered + self.recovered_failed + self.abandoned),
            },
            ..Stats::default()
        }
    }
}

/// What the end of a run does to the number of failures in a row.
pub(crate) fn row_after(in_a_row: u64, run: &Trace) -> u64 {
    match run.status {
        _ if run.trigger == Trigger::Backfill => in_a_row,
        Status::Success => 0,
        Status::Failed | Status::Abandoned => in_a_row + 1,
        _ => in_a_row,
    }
}

/// How long the newest runs took from claim to end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Durations {
    /// Number of runs whose durations these are: the newest that were launched and ended.
    pub of_newest: u64,
    /// Median in milliseconds; `null` if no run ended.
    pub p50_ms: Option<i64>,
    /// 95th percentile in milliseconds; `null` if no run ended.
    pub p95_ms: Option<i64>,
}

impl Stats {
    /// The statistics of the newest `runs`, which must be newest first.
    pub fn of<'a, I>(runs: I) -> Stats
    where
        I: IntoIterator<Item = &'a Trace>,
        I::IntoIter: DoubleEndedIterator + ExactSizeIterator,
    {
        let runs = runs.into_iter();
        let of_newest = Some(runs.len() as u64);
        Stats { of_newest, ..Stats::continued(Counts::default(), 0, runs) }
    }

    /// The statistics of older runs, given by their counts and their failures in a row, and of `runs`,
    /// newest first.
    pub fn continued<'a, I>(older: Counts, older_in_a_row: u64, runs: I) -> Stats
    where
        I: IntoIterator<Item = &'a Trace>,
        I::IntoIter: DoubleEndedIterator,
    {
        let (mut counts, mut in_a_row) = (older, older_in_a_row);
        for run in runs.into_iter().rev() {
            counts.count(run);
            in_a_row = row_after(in_a_row, run);
        }
        Stats { consecutive_failures: Some(in_a_row), ..counts.stats() }
    }
}

/// The newest runs of a schedule up to now, in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Newest {
    /// The newest run that was started, and its status. Runs of a backfill do not count: they are
    /// of the past, beside the clock.
    pub started: Option<(RunId, Status)>,
    /// Whether a run whose time has come has not ended.
    pub is_going: bool,
}

impl Newest {
    /// Of `runs`, which are newest first.
    pub fn of<'a, I>(runs: I) -> Newest
    where
        I: IntoIterator<Item = &'a (RunId, Trace)>,
        I::IntoIter: Clone,
    {
        let mut runs = runs.into_iter();
        let is_going = runs.clone().any(|(_, run)| !run.status.is_terminal());
        let started = |(_, run): &&(RunId, Trace)| {
            use Status::{Abandoned, Failed, Started, Success};
            let began = matches!(run.status, Started | Success | Failed | Abandoned);
            began && run.started_at.is_some() && run.trigger != Trigger::Backfill
        };
        let started = runs.find(started).map(|(id, run)| (id.clone(), run.status));
        Newest { started, is_going }
    }

    /// A schedule with these newest runs, as the API shows it at `now`.
    pub fn schedule(&self, clock: &Clock, spec: &Spec, now: Instant) -> Map<String, Value> {
        let last = self.started.as_ref();
        let mut fields = view::schedule(clock, spec, self.is_going, now);
        fields.extend(object(&json!({
            "last_run_at": last.map(|(id, _)| instant::text(id.run_at)),
            "last_run_id": last.map(|(id, _)| id),
            "last_status": last.map(|(_, status)| status),
        })));
        fields
    }
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
    Durations { of_newest: took.len() as u64, p50_ms: percentile(50), p95_ms: percentile(95) }
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
            of_newest: Some(11),
            counted_since: None,
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
        let none = Stats { consecutive_failures: Some(0), of_newest: Some(0), ..Stats::default() };
        assert_eq!(Stats::of([]), none);
    }

    #[test]
    fn sums_have_a_rate_of_their_own_and_no_failures_in_a_row() {
        let counted = |all: &[Value]| {
            let mut counts = Counts::default();
            runs(all).iter().for_each(|run| counts.count(run));
            counts
        };
        let bad = counted(&[status("FAILED")]);
        let good = counted(&[status("SUCCESS"), status("SUCCESS"), status("SUCCESS")]);
        let sum = bad.and(good).stats();
        let found = (sum.total, sum.success_rate, sum.consecutive_failures);
        assert_eq!(found, (4, Some(0.75), None));
        let told = serde_json::to_value(sum).unwrap();
        assert!(told.get("consecutive_failures").is_none(), "{told}");
    }

    #[test]
    fn a_backfill_changes_no_statistics() {
        let old = |status: &str| json!({"status": status, "trigger": "backfill"});
        let all = [old("FAILED"), status("FAILED"), old("SUCCESS"), status("FAILED")];
        let stats = Stats::of(&runs(&all));
        assert_eq!((stats.total, stats.failed, stats.consecutive_failures), (2, 2, Some(2)));
    }

    #[test]
    fn the_last_run_is_the_newest_that_started() {
        let newest_first = [status("QUEUED"), skipped("superseded"), status("FAILED")];
        let runs = |all: &[Value]| -> Vec<(RunId, Trace)> {
            let id = |n: usize| format!("s@2026-01-01T00:00:0{n}Z").parse().unwrap();
            runs(all).into_iter().enumerate().map(|(n, run)| (id(n), run)).collect()
        };
        let newest = Newest::of(&runs(&newest_first));
        let third = "s@2026-01-01T00:00:02Z".parse().unwrap();
        assert_eq!(newest, Newest { started: Some((third, Status::Failed)), is_going: true });
        assert_eq!(Newest::of(&runs(&[skipped("overlap")])), Newest::default());
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
        assert_eq!(found.of_newest, 20);
        assert_eq!(durations([]), Durations::default());
    }
}
