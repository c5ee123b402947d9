//! The totals of many schedules: what they are doing, what became of their runs, and what is coming.
//!
//! For few schedules the totals are counted on request. For many they are stored, because counting
//! reads every schedule.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::instant::Instant;
use crate::run::Status;
use crate::run::overview::{
    Coming, Drift, MAX_FAILURES, MINUTES, Overview, Rescued, drift, is_due,
};
use crate::run::stats::{Counts, Newest, Overall, ScheduleCounts, Stats};
use crate::run::sums::Sums;
use crate::run::trace::Trace;
use crate::run::view::RunView;
use crate::schedule::Clock;

/// The minutes whose coming fires are counted in totals that are stored: they are up to a day old, and
/// still know the day that comes.
pub const STORED_MINUTES: usize = 2 * MINUTES;

/// The life of a schedule: its sums, and the records that they do not have, newest first. If there are
/// only few of those, older records follow that are in the sums too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Life {
    /// What became of the older runs.
    pub sums: Option<Sums>,
    /// The newest records.
    pub newest: Vec<(RunId, Trace)>,
    /// The records that the sums name as open, newest first.
    pub open: Vec<(RunId, Trace)>,
    /// Whether there are records between the sums and the newest ones, which are not counted.
    pub gap: bool,
}

impl Life {
    /// The records that are not in the sums, newest first.
    fn uncounted(&self) -> impl DoubleEndedIterator<Item = &Trace> {
        let until = self.sums.as_ref().map(|sums| sums.until);
        let is_left = move |id: &RunId| until.is_none_or(|until| id.run_at >= until);
        self.newest.iter().filter(move |(id, _)| is_left(id)).map(|(_, run)| run)
    }

    /// The statistics of the whole life.
    pub fn stats(&self) -> Stats {
        let oldest = self.newest.last().filter(|_| self.gap);
        let counted_since = oldest.map(|(id, _)| id.run_at);
        let whole = Sums::stats(self.sums.as_ref(), &self.open, self.uncounted());
        Stats { counted_since, ..whole }
    }

    /// What became of the runs, in numbers that can be added.
    fn counts(&self) -> Counts {
        let sums = self.sums.as_ref();
        let mut counts = sums.map_or_else(Counts::default, |sums| sums.so_far(&self.open).0);
        self.uncounted().for_each(|run| counts.count(run));
        counts
    }

    /// The newest runs whose time has come.
    pub fn so_far(&self, now: Instant) -> Newest {
        Newest::of(self.due(now))
    }

    /// The records that were read of runs whose time has come, newest first.
    fn due(&self, now: Instant) -> impl Iterator<Item = &(RunId, Trace)> + Clone {
        let is_read = |id: &RunId| self.newest.iter().any(|(read, _)| read == id);
        let open = self.open.iter().filter(move |(id, _)| !is_read(id));
        self.newest.iter().chain(open).filter(move |(id, _)| id.run_at <= now)
    }
}

/// The totals of some schedules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// When they were counted; if that took several calls, when it began.
    pub as_of: Instant,
    /// Schedules counted.
    pub schedules: u64,
    /// Schedules by their status.
    pub by_status: BTreeMap<String, u64>,
    /// Schedules whose newest run that ended failed.
    pub failing: u64,
    /// What became of the runs.
    #[serde(flatten)]
    pub counts: Counts,
    /// The drift of the newest runs, by buckets.
    pub drift: Vec<u64>,
    /// Runs looked at for the drift.
    pub runs: u64,
    /// Fires whose time has come and that have not started.
    pub due_now: u64,
    /// The newest failures, newest first.
    pub failures: Vec<RunId>,
    /// The fires to come.
    pub coming: Coming,
}

impl Totals {
    /// The totals of no schedules, with the fires of this many minutes to come.
    pub fn of_nothing(minutes: usize, now: Instant) -> Totals {
        Totals {
            as_of: now,
            schedules: 0,
            by_status: BTreeMap::new(),
            failing: 0,
            counts: Counts::default(),
            drift: drift([]).to_vec(),
            runs: 0,
            due_now: 0,
            failures: Vec::new(),
            coming: Coming::nothing(minutes, now),
        }
    }

    /// Adds a schedule with its life.
    pub fn add(&mut self, clock: &Clock, life: &Life, now: Instant) {
        let so_far = life.so_far(now);
        let status = serde_json::to_value(clock.status(now, so_far.is_going)).unwrap_or_default();
        let status = status.as_str().unwrap_or_default().to_owned();
        self.schedules += 1;
        *self.by_status.entry(status).or_insert(0) += 1;
        self.failing += u64::from(life.stats().consecutive_failures > Some(0));
        self.counts = self.counts.and(life.counts());
        let due = || life.due(now);
        add(&mut self.drift, &drift(due().map(|(_, run)| run)));
        self.runs += due().count() as u64;
        let is_late = !clock.paused && clock.next_run_at.is_some_and(|next| next <= now);
        let waiting = due().filter(|(_, run)| is_due(run, now)).count() as u64;
        self.due_now += u64::from(is_late) + waiting;
        let bad = |run: &Trace| matches!(run.status, Status::Failed | Status::Abandoned);
        let bad = due().filter(|(_, run)| bad(run)).take(MAX_FAILURES);
        self.failures.extend(bad.map(|(id, _)| id.clone()));
        self.keep_newest_failures();
        self.coming.add(clock, now);
    }

    fn keep_newest_failures(&mut self) {
        self.failures.sort_by_key(|id| std::cmp::Reverse(id.run_at));
        self.failures.truncate(MAX_FAILURES);
    }

    /// The totals of these schedules and of `other` ones.
    pub fn and(mut self, other: &Totals) -> Totals {
        self.schedules += other.schedules;
        for (status, count) in &other.by_status {
            *self.by_status.entry(status.clone()).or_insert(0) += count;
        }
        self.failing += other.failing;
        self.counts = self.counts.and(other.counts);
        add(&mut self.drift, &other.drift);
        self.runs += other.runs;
        self.due_now += other.due_now;
        self.failures.extend(other.failures.iter().cloned());
        self.keep_newest_failures();
        self.coming.and(&other.coming);
        self.as_of = self.as_of.min(other.as_of);
        self
    }

    /// The answer to a question for statistics, with what is known of now.
    pub fn overall(&self, total: u64, failing: u64) -> Overall {
        let by_status = self.by_status.clone();
        let schedules =
            ScheduleCounts { total, counted: self.counted_of(total), by_status, failing };
        Overall { schedules, runs: self.counts.stats(), as_of: self.as_of }
    }

    /// The number of schedules that were counted, if it is smaller than `total`.
    fn counted_of(&self, total: u64) -> Option<u64> {
        Some(self.schedules).filter(|counted| *counted < total)
    }

    /// The answer to a question for an overview, with what is known of now.
    pub fn overview(&self, schedules: u64, failures: Vec<RunView>, now: Instant) -> Overview {
        let (from, due_next_24h) = self.coming.day(now);
        let is_short = due_next_24h.len() < MINUTES;
        Overview {
            from,
            due_next_24h,
            due_now: self.due_now,
            drift: Drift::of(&self.drift),
            failures,
            recovery: Rescued {
                recovered: self.counts.recovered,
                abandoned: self.counts.abandoned,
                missed: self.counts.missed,
            },
            schedules,
            counted: self.counted_of(schedules),
            runs: self.runs,
            as_of: self.as_of,
            truncated: self.coming.truncated || is_short,
        }
    }
}

fn add(to: &mut [u64], more: &[u64]) {
    to.iter_mut().zip(more).for_each(|(to, more)| *to += more);
}
