//! An overview of many schedules: the fires of the next day, how late runs start, and what went
//! wrong.

use chrono::{Duration, DurationRound};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::{self, Instant};
use crate::run::Status;
use crate::run::trace::Trace;
use crate::run::view::RunView;
use crate::schedule::Clock;

/// The number of minutes in a day.
pub const MINUTES: usize = 1440;
/// The most fires that are counted. The remaining schedules are then left out, and `truncated` is
/// set.
const MAX_FIRES: usize = 200_000;

/// The number of future fires in each minute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coming {
    /// The start of the first minute.
    pub from: Instant,
    /// The number of fires in each minute from there. The current minute counts only future fires.
    pub counts: Vec<u32>,
    /// Whether some fires are not counted, because there are too many.
    pub truncated: bool,
    /// How many more fires may be counted.
    #[serde(skip, default = "most_fires")]
    left: usize,
}

fn most_fires() -> usize {
    MAX_FIRES
}

impl Coming {
    /// No fires yet, for this many minutes from the current one on.
    pub fn nothing(minutes: usize, now: Instant) -> Coming {
        let from = now.duration_trunc(Duration::minutes(1)).unwrap_or(now);
        Coming { from, counts: vec![0; minutes], truncated: false, left: MAX_FIRES }
    }

    /// Counts the fires of a clock after `now`.
    pub fn add(&mut self, clock: &Clock, now: Instant) {
        if clock.paused || self.counts.is_empty() {
            return;
        }
        let Ok(readable) = clock.read() else { return };
        let mut last = now;
        while let Some(at) = clock.timing.next_after(&readable.timetable, last) {
            let minute = usize::try_from((at - self.from).num_minutes()).unwrap_or(usize::MAX);
            let Some(count) = self.counts.get_mut(minute) else { break };
            if self.left == 0 {
                self.truncated = true;
                break;
            }
            (*count, self.left, last) = (*count + 1, self.left - 1, at);
        }
    }

    /// Adds the fires of other clocks. Minutes that only one of the two knows are left out.
    pub fn and(&mut self, other: &Coming) {
        let later = usize::try_from((other.from - self.from).num_minutes()).unwrap_or(0);
        self.counts.drain(..later.min(self.counts.len()));
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.from = self.from.max(other.from);
        self.truncated |= other.truncated;
    }

    /// The day from the current minute on, as far as it is known.
    pub fn day(&self, now: Instant) -> (Instant, Vec<u32>) {
        let from = Coming::nothing(0, now).from;
        let past = usize::try_from((from - self.from).num_minutes()).unwrap_or(0);
        (from, self.counts.iter().skip(past).take(MINUTES).copied().collect())
    }
}

/// The upper ends of the drift buckets, in milliseconds. The one second of guarantee G4 is one of
/// them.
const BUCKETS: [i64; 9] = [10, 50, 100, 250, 500, 1_000, 5_000, 30_000, 120_000];

/// Runs whose drift lies above the bucket before and up to this one's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Bucket {
    /// Upper end of the bucket in milliseconds, included; `null` for the last one, which has no end.
    pub up_to_ms: Option<i64>,
    /// Number of runs.
    pub count: u64,
}

/// How late runs started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Drift {
    /// Runs by how late they started, ends ascending; early runs are in the first bucket.
    pub buckets: Vec<Bucket>,
}

/// Failed runs that an overview shows.
pub const MAX_FAILURES: usize = 20;

/// What the caller's schedules are about to do and have done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Overview {
    /// Start of the current minute.
    pub from: Instant,
    /// Number of fires in each minute of the next 24 hours, beginning at `from`.
    #[schemars(length(max = MINUTES))]
    pub due_next_24h: Vec<u32>,
    /// Fires whose time has come and that have not started.
    pub due_now: u64,
    /// How late the newest runs started: at least 20 of each schedule, if there are as many.
    pub drift: Drift,
    /// The newest runs that failed or were abandoned. For very many schedules: the newest failure of
    /// each schedule that is failing.
    #[schemars(length(max = MAX_FAILURES))]
    pub failures: Vec<RunView>,
    /// What had to be rescued.
    pub recovery: Rescued,
    /// Number of schedules.
    pub schedules: u64,
    /// Schedules that were counted, where these are fewer than `schedules`: the others are newer than
    /// `as_of`, or the daily check has not come to them yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<u64>,
    /// Number of runs whose drift is counted.
    pub runs: u64,
    /// When all of this was counted, but for `schedules` and `failures`, which are of now. For up
    /// to 200 schedules that is now, for up to 2,000 it was within minutes, for more it was when the
    /// daily check began to count them.
    #[serde(with = "instant::observed")]
    #[schemars(with = "Instant")]
    pub as_of: Instant,
    /// Whether there are too many fires to count them all.
    pub truncated: bool,
}

/// The drift of those of `runs` that were launched, counted by buckets; early ones are in the first
/// bucket.
pub fn drift<'a>(runs: impl IntoIterator<Item = &'a Trace>) -> [u64; BUCKETS.len() + 1] {
    let mut counts = [0; BUCKETS.len() + 1];
    let launched = runs.into_iter().filter(|run| run.status != Status::Skipped);
    for started_at in launched.filter_map(|run| Some(run.started_at? - run.launch_at)) {
        let late = started_at.num_milliseconds();
        counts[BUCKETS.partition_point(|end| *end < late)] += 1;
    }
    counts
}

impl Drift {
    /// The buckets with these counts.
    pub fn of(counts: &[u64]) -> Drift {
        let ends = BUCKETS.into_iter().map(Some).chain([None]);
        let bucket = |(up_to_ms, count): (Option<i64>, &u64)| Bucket { up_to_ms, count: *count };
        Drift { buckets: ends.zip(counts).map(bucket).collect() }
    }
}

/// What had to be rescued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Rescued {
    /// Runs that were launched after they were lost.
    pub recovered: u64,
    /// Runs that were lost and abandoned.
    pub abandoned: u64,
    /// Fires that were not launched because their time had passed.
    pub missed: u64,
}

/// Whether a run still waits although its intended start has come.
pub fn is_due(run: &Trace, now: Instant) -> bool {
    matches!(run.status, Status::Enqueued | Status::Queued) && run.launch_at <= now
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::tests::trace;
    use crate::schedule::definition::tests::clock;
    use serde_json::json;

    #[test]
    fn fires_are_counted_in_their_minutes_from_the_one_going_on() {
        let now = "2026-01-01T10:30:30Z".parse().unwrap();
        let paused = Clock { paused: true, ..clock("* * * * *") };
        let clocks = [clock("0 * * * *"), clock("*/20 30 10 * * *"), paused];
        let mut coming = Coming::nothing(MINUTES, now);
        clocks.iter().for_each(|clock| coming.add(clock, now));
        assert_eq!(coming.from, "2026-01-01T10:30:00Z".parse::<Instant>().unwrap());
        assert_eq!((coming.counts.len(), coming.truncated), (MINUTES, false));
        // In this minute only 10:30:40 is in the future, and tomorrow's 10:30 is outside the day.
        assert_eq!((coming.counts[0], coming.counts[30], coming.counts[1439]), (1, 1, 0));
        assert_eq!(coming.counts.iter().sum::<u32>(), 24 + 1);
    }

    #[test]
    fn too_many_fires_are_cut_visibly() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut coming = Coming::nothing(MINUTES, now);
        (0..3).for_each(|_| coming.add(&clock("* * * * * *"), now));
        assert!(coming.truncated);
        assert_eq!(coming.counts.iter().map(|n| *n as usize).sum::<usize>(), MAX_FIRES);
    }

    #[test]
    fn drift_is_of_launched_runs_and_has_a_bucket_for_everything() {
        let at = "2026-01-01T00:00:00Z";
        let started = |after: &str, status: &str| {
            trace(at, json!({"status": status, "started_at": format!("2026-01-01T00:{after}Z")}))
        };
        let runs = [
            started("00:00.010", "SUCCESS"),
            started("00:00.011", "STARTED"),
            started("59:00", "FAILED"),
            started("00:09", "SKIPPED"),
            trace(at, json!({"status": "ENQUEUED", "started_at": null})),
        ];
        let counts = drift(&runs);
        assert_eq!(counts, [1, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
        let Drift { buckets } = Drift::of(&counts);
        assert_eq!((buckets.len(), buckets[9].up_to_ms, buckets[9].count), (10, None, 1));
    }

    #[test]
    fn what_waits_past_its_time_is_due() {
        let run = |status: &str| trace("2026-01-01T00:00:00Z", json!({"status": status}));
        let (before, after) =
            ("2025-12-31T23:59:59Z".parse().unwrap(), "2026-01-01T00:00:01Z".parse().unwrap());
        assert!(is_due(&run("ENQUEUED"), after) && is_due(&run("QUEUED"), after));
        assert!(!is_due(&run("ENQUEUED"), before) && !is_due(&run("SUCCESS"), after));
    }
}
