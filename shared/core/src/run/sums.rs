//! The sums of a schedule's life: what became of its runs up to some time. They outlive the records
//! of the runs, and they make the statistics of a whole life as cheap as those of its newest part.
//!
//! Runs are added to the sums once they cannot change any more and no run can appear among them.
//! The sums say up to which time that is so; what is younger is counted from the records. A few runs
//! before that time may still be open: the sums name them, and they too are counted from their records.

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::run::Trigger;
use crate::run::stats::{Counts, Stats, row_after};
use crate::run::trace::Trace;
use crate::schedule::Clock;

/// Runs younger than this are not added: a call that records a run may be slow, and clocks differ.
const SETTLES_AFTER: Duration = Duration::minutes(10);
/// Open runs that the sums pass over at most. Each is a record that is read for the statistics.
const MAX_OPEN: usize = 20;

/// The sums of a schedule's runs up to some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// The owner whose runs these are. An id may be used by another owner later.
    pub owner: String,
    /// Runs planned before this time are in the sums, but for the open ones. The others are not.
    #[serde(with = "instant::required")]
    pub until: Instant,
    /// How often the sums of this id were written, for any owner.
    #[serde(default)]
    pub written: u64,
    /// The failures in a row at that time, or before the first open run.
    #[serde(default)]
    pub in_a_row: u64,
    /// The runs before that time that had not ended when it was passed, oldest first.
    #[serde(default)]
    pub open: Vec<Open>,
    /// The numbers of runs.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A run that had not ended when the sums passed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The run.
    pub run: RunId,
    /// What the runs between this one and the next open one do to the failures in a row.
    pub then: Row,
}

/// What some runs do to the number of failures in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Whether one of them succeeded.
    pub anew: bool,
    /// The failures since then, or all failures.
    pub failures: u64,
}

impl Row {
    fn of(run: &Trace) -> Row {
        Row { anew: row_after(1, run) == 0, failures: row_after(0, run) }
    }

    fn and(self, later: Row) -> Row {
        Row { anew: self.anew || later.anew, failures: later.after(self.failures) }
    }

    fn after(self, in_a_row: u64) -> u64 {
        if self.anew { self.failures } else { in_a_row + self.failures }
    }
}

impl Sums {
    /// The sums before the first run.
    pub fn of_nothing(owner: &str) -> Sums {
        let (until, counts) = (Instant::UNIX_EPOCH, Counts::default());
        Sums { owner: owner.to_owned(), until, written: 0, in_a_row: 0, open: Vec::new(), counts }
    }

    /// The statistics of a whole life: of the runs in `sums`, of those that they name as `open`, and of
    /// `runs`, which are not in them, newest first.
    pub fn stats<'a, I>(sums: Option<&Sums>, open: &[(RunId, Trace)], runs: I) -> Stats
    where
        I: IntoIterator<Item = &'a Trace>,
        I::IntoIter: DoubleEndedIterator,
    {
        let (counts, in_a_row) = sums.map_or_else(Default::default, |sums| sums.so_far(open));
        Stats::continued(counts, in_a_row, runs)
    }

    /// The numbers of runs and the failures in a row, with the records of the open runs.
    pub fn so_far(&self, open: &[(RunId, Trace)]) -> (Counts, u64) {
        let mut sums = self.with_ended(open);
        let going = open.iter().filter(|(_, run)| !run.status.is_terminal());
        going.for_each(|(_, run)| sums.counts.count(run));
        let in_a_row = sums.open.iter().fold(sums.in_a_row, |row, open| open.then.after(row));
        (sums.counts, in_a_row)
    }

    /// Adds those of the open runs that have ended. One without a record has expired.
    fn with_ended(&self, records: &[(RunId, Trace)]) -> Sums {
        let mut sums = Sums { open: Vec::new(), ..self.clone() };
        for open in &self.open {
            if let Some((id, run)) = records.iter().find(|(id, _)| *id == open.run) {
                sums.add(id, run);
            }
            sums.add_row(open.then);
        }
        sums
    }

    fn add(&mut self, id: &RunId, run: &Trace) {
        if run.status.is_terminal() {
            self.counts.count(run);
            self.add_row(Row::of(run));
        } else if is_counted(run) {
            self.open.push(Open { run: id.clone(), then: Row::default() });
        }
    }

    fn add_row(&mut self, row: Row) {
        match self.open.last_mut() {
            Some(open) => open.then = open.then.and(row),
            None => self.in_a_row = row.after(self.in_a_row),
        }
    }

    /// Adds those of `runs` that are settled. `runs` are the records from [`Sums::until`] on, oldest
    /// first, all of them or the oldest, as `is_all` says; `clock` must have been read before them.
    /// `open` are the records of [`Sums::open`]. `late` is how long after its time a run of this
    /// schedule may be recorded. `None`: there is nothing to add.
    pub fn with(
        &self,
        runs: &[(RunId, Trace)],
        open: &[(RunId, Trace)],
        is_all: bool,
        clock: &Clock,
        late: Duration,
        now: Instant,
    ) -> Option<Sums> {
        let mut sums = self.with_ended(open);
        let is_open =
            |run: &Trace| run.owner == self.owner && !run.status.is_terminal() && is_counted(run);
        let room = MAX_OPEN.saturating_sub(sums.open.len());
        let one_too_many = runs.iter().filter(|(_, run)| is_open(run)).nth(room);
        // Of the second of the last record there may be more records.
        let last = if is_all { None } else { runs.last() };
        let bounds = [
            Some(now - SETTLES_AFTER - late),
            // The tick records a fire before it moves the clock past it, so that before the clock's
            // next run no fire appears. A paused clock stands at the first fire that it has missed.
            clock.next_run_at,
            one_too_many.map(|(id, _)| id.run_at),
            last.map(|(id, _)| id.run_at),
        ];
        let until = bounds.into_iter().flatten().min().map(instant::whole_second)?;
        sums.until = until.max(self.until);
        let settled = runs.iter().take_while(|(id, _)| id.run_at < until);
        let mut passed = 0;
        for (id, run) in settled {
            // Runs that another owner had under this id are passed over, so that they are not read
            // again and again.
            if run.owner == self.owner {
                sums.add(id, run);
            }
            passed += 1;
        }
        let has_ended = open.iter().any(|(_, run)| run.status.is_terminal());
        (has_ended || passed > 0 && until > self.until).then_some(sums)
    }
}

/// Runs of backfills are not counted.
fn is_counted(run: &Trace) -> bool {
    run.trigger != Trigger::Backfill
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::trace::tests::trace;
    use crate::schedule::definition::tests::clock;
    use serde_json::{Value, json};

    fn at(time: &str) -> Instant {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    fn run(time: &str, more: Value) -> (RunId, Trace) {
        let at = format!("2026-01-01T{time}Z");
        (format!("s@{at}").parse().unwrap(), trace(&at, more))
    }

    fn hourly() -> Vec<(RunId, Trace)> {
        vec![
            run("01:00:00", json!({})),
            run("02:00:00", json!({"status": "FAILED"})),
            run("03:00:00", json!({"status": "FAILED"})),
            run("04:00:00", json!({"status": "STARTED"})),
            run("05:00:00", json!({})),
        ]
    }

    #[track_caller]
    fn check(runs: &[(RunId, Trace)], is_all: bool, next: &str, late: i64, expected: (&str, u64)) {
        let clock = Clock { next_run_at: Some(at(next)), ..clock("0 * * * *") };
        let (none, late) = (Sums::of_nothing("ann"), Duration::hours(late));
        let found = none.with(runs, &[], is_all, &clock, late, at("05:30:00"));
        let found = found.map(|sums| (sums.until, sums.counts.succeeded + sums.counts.failed));
        assert_eq!(found, Some((at(expected.0), expected.1)));
    }

    #[test]
    fn runs_are_added_up_to_the_first_that_may_change() {
        let mut runs = hourly();
        check(&runs, true, "06:00:00", 0, ("05:20:00", 4));
        let many = (0..21).map(|n| run(&format!("04:00:{n:02}"), json!({"status": "STARTED"})));
        let many: Vec<_> = hourly().into_iter().take(3).chain(many).collect();
        check(&many, true, "06:00:00", 0, ("04:00:20", 3));
        check(&runs, true, "03:00:00", 0, ("03:00:00", 2));
        check(&runs, true, "06:00:00", 3, ("02:20:00", 2));
        check(&runs[..3], false, "06:00:00", 0, ("03:00:00", 2));
        runs.remove(3);
        check(&runs, true, "06:00:00", 0, ("05:20:00", 4));
    }

    #[test]
    fn nothing_to_add_is_nothing_to_write() {
        let (sums, clock) = (Sums::of_nothing("ann"), clock("0 * * * *"));
        let now = at("05:30:00");
        let with = |runs: &[_]| sums.with(runs, &[], true, &clock, Duration::zero(), now);
        assert_eq!(with(&[]), None);
    }

    #[test]
    fn runs_of_another_owner_are_passed_over_and_not_counted() {
        let (sums, clock) = (Sums::of_nothing("bob"), clock("0 * * * *"));
        let clock = Clock { next_run_at: Some(at("06:00:00")), ..clock };
        let mut runs = hourly();
        runs[4].1.owner = "bob".into();
        let found = sums.with(&runs, &[], true, &clock, Duration::zero(), at("05:30:00")).unwrap();
        assert_eq!((found.until, found.counts.stats().total), (at("05:20:00"), 1));
    }

    #[test]
    fn a_life_is_the_same_wherever_its_sums_end() {
        let mut runs = hourly();
        runs[3] = run("04:00:00", json!({"status": "SKIPPED", "reason": "overlap"}));
        let whole: Vec<_> = runs.iter().rev().map(|(_, run)| run.clone()).collect();
        let whole = Sums::stats(None, &[], &whole);
        assert_eq!((whole.total, whole.consecutive_failures), (5, Some(0)));
        for now in ["01:30:00", "02:30:00", "03:30:00", "04:30:00", "05:30:00"] {
            let sums = sums_at(&runs, now);
            let rest = runs.iter().rev().filter(|(id, _)| id.run_at >= sums.until);
            let rest: Vec<_> = rest.map(|(_, run)| run.clone()).collect();
            assert_eq!(Sums::stats(Some(&sums), &[], &rest), whole, "{now}");
        }
        let until_three = sums_at(&runs, "03:30:00");
        assert_eq!(Sums::stats(Some(&until_three), &[], []).consecutive_failures, Some(2));
    }

    #[test]
    fn a_life_is_the_same_whichever_of_its_runs_end_late() {
        let clock = Clock { next_run_at: Some(at("23:00:00")), ..clock("0 * * * *") };
        let ends = ["SUCCESS", "FAILED", "SUCCESS", "FAILED", "FAILED"];
        let place = |n: usize| format!("0{}:00:00", n + 1);
        // Each bit of `late` says whether that run is still open when the sums pass it, each bit of
        // `ended` whether it has ended when the statistics are asked for.
        for (late, ended) in (0..32_u32).flat_map(|late| (0..32).map(move |ended| (late, ended))) {
            let is = |bits: u32, n: usize| bits & (1 << n) != 0;
            let at_first = |n| {
                run(&place(n), json!({"status": if is(late, n) { "STARTED" } else { ends[n] }}))
            };
            let at_last = |n| {
                let open = is(late, n) && !is(ended, n);
                run(&place(n), json!({"status": if open { "STARTED" } else { ends[n] }}))
            };
            let runs: Vec<_> = (0..5).map(at_first).collect();
            let none = Sums::of_nothing("ann");
            let with = |sums: &Sums, runs: &[_], open: &[_]| {
                sums.with(runs, open, true, &clock, Duration::zero(), at("07:00:00"))
            };
            let sums = with(&none, &runs, &[]).unwrap();
            assert_eq!(sums.open.len(), late.count_ones() as usize);
            let whole: Vec<_> = (0..5).rev().map(|n| at_last(n).1).collect();
            let whole = Sums::stats(None, &[], &whole);
            let open: Vec<_> = (0..5).filter(|n| is(late, *n)).map(at_last).collect();
            assert_eq!(Sums::stats(Some(&sums), &open, []), whole, "{late:b} {ended:b}");
            let next = with(&sums, &[], &open);
            assert_eq!(next.is_some(), late & ended != 0);
            let next = next.unwrap_or(sums);
            assert_eq!(next.open.len(), (late & !ended).count_ones() as usize);
            let open: Vec<_> = (0..5).filter(|n| is(late & !ended, *n)).map(at_last).collect();
            assert_eq!(Sums::stats(Some(&next), &open, []), whole, "{late:b} {ended:b}");
        }
    }

    fn sums_at(runs: &[(RunId, Trace)], now: &str) -> Sums {
        let clock = Clock { next_run_at: Some(at("23:00:00")), ..clock("0 * * * *") };
        let none = Sums::of_nothing("ann");
        none.with(runs, &[], true, &clock, Duration::zero(), at(now)).unwrap()
    }
}
