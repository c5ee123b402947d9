//! The sums of a schedule's life: what became of its runs up to some time. They outlive the records
//! of the runs, and they make the statistics of a whole life as cheap as those of its newest part.
//!
//! Runs are added to the sums once they cannot change any more and no run can appear among them.
//! The sums say up to which time that is so; what is younger is counted from the records.

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::run::stats::{Counts, Stats, row_after};
use crate::run::trace::Trace;
use crate::schedule::Clock;

/// Runs younger than this are not added: a call that records a run may be slow, and clocks differ.
const SETTLES_AFTER: Duration = Duration::minutes(10);

/// The sums of a schedule's runs up to some time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// The owner whose runs these are. An id may be used by another owner later.
    pub owner: String,
    /// Runs planned before this time are in the sums, the others are not.
    #[serde(with = "instant::required")]
    pub until: Instant,
    /// How often the sums of this id were written, for any owner.
    #[serde(default)]
    pub written: u64,
    /// The failures in a row at that time.
    #[serde(default)]
    pub in_a_row: u64,
    /// The numbers of runs.
    #[serde(flatten)]
    pub counts: Counts,
}

impl Sums {
    /// The sums before the first run.
    pub fn of_nothing(owner: &str) -> Sums {
        let (until, counts) = (Instant::UNIX_EPOCH, Counts::default());
        Sums { owner: owner.to_owned(), until, written: 0, in_a_row: 0, counts }
    }

    /// The statistics of a whole life: of the runs in `sums`, and of `runs`, which are not in them,
    /// newest first.
    pub fn stats<'a, I>(sums: Option<&Sums>, runs: I) -> Stats
    where
        I: IntoIterator<Item = &'a Trace>,
        I::IntoIter: DoubleEndedIterator,
    {
        let older = sums.map_or_else(Default::default, |sums| (sums.counts, sums.in_a_row));
        Stats::continued(older.0, older.1, runs)
    }

    /// Adds those of `runs` that are settled. `runs` are the records from [`Sums::until`] on, oldest
    /// first, all of them or the oldest, as `is_all` says; `clock` must have been read before them.
    /// `late` is how long after its time a run of this schedule may be recorded. `None`: there is
    /// nothing to add.
    pub fn with(
        &self,
        runs: &[(RunId, Trace)],
        is_all: bool,
        clock: &Clock,
        late: Duration,
        now: Instant,
    ) -> Option<Sums> {
        let is_open = |run: &Trace| run.owner == self.owner && !run.status.is_terminal();
        let open = runs.iter().find(|(_, run)| is_open(run));
        // Of the second of the last record there may be more records.
        let last = if is_all { None } else { runs.last() };
        let bounds = [
            Some(now - SETTLES_AFTER - late),
            // The tick records a fire before it moves the clock past it, so that before the clock's
            // next run no fire appears. A paused clock stands at the first fire that it has missed.
            clock.next_run_at,
            open.map(|(id, _)| id.run_at),
            last.map(|(id, _)| id.run_at),
        ];
        let until = bounds.into_iter().flatten().min().map(instant::whole_second)?;
        let mut sums = Sums { until, ..self.clone() };
        let settled = runs.iter().take_while(|(id, _)| id.run_at < until);
        let mut passed = 0;
        for (_, run) in settled {
            // Runs that another owner had under this id are passed over, so that they are not read
            // again and again.
            if run.owner == self.owner {
                sums.counts.count(run);
                sums.in_a_row = row_after(sums.in_a_row, run);
            }
            passed += 1;
        }
        (passed > 0 && until > self.until).then_some(sums)
    }
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
        let found = none.with(runs, is_all, &clock, late, at("05:30:00"));
        let found = found.map(|sums| (sums.until, sums.counts.succeeded + sums.counts.failed));
        assert_eq!(found, Some((at(expected.0), expected.1)));
    }

    #[test]
    fn runs_are_added_up_to_the_first_that_may_change() {
        let mut runs = hourly();
        check(&runs, true, "06:00:00", 0, ("04:00:00", 3));
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
        let with = |runs: &[_]| sums.with(runs, true, &clock, Duration::zero(), now);
        assert_eq!(with(&[]), None);
        assert_eq!(with(&hourly()[3..]), None);
    }

    #[test]
    fn runs_of_another_owner_are_passed_over_and_not_counted() {
        let (sums, clock) = (Sums::of_nothing("bob"), clock("0 * * * *"));
        let clock = Clock { next_run_at: Some(at("06:00:00")), ..clock };
        let mut runs = hourly();
        runs[4].1.owner = "bob".into();
        let found = sums.with(&runs, true, &clock, Duration::zero(), at("05:30:00")).unwrap();
        assert_eq!((found.until, found.counts.stats().total), (at("05:20:00"), 1));
    }

    #[test]
    fn a_life_is_the_same_wherever_its_sums_end() {
        let mut runs = hourly();
        runs[3] = run("04:00:00", json!({"status": "SKIPPED", "reason": "overlap"}));
        let whole: Vec<_> = runs.iter().rev().map(|(_, run)| run.clone()).collect();
        let whole = Sums::stats(None, &whole);
        assert_eq!((whole.total, whole.consecutive_failures), (5, Some(0)));
        for now in ["01:30:00", "02:30:00", "03:30:00", "04:30:00", "05:30:00"] {
            let sums = sums_at(&runs, now);
            let rest = runs.iter().rev().filter(|(id, _)| id.run_at >= sums.until);
            let rest: Vec<_> = rest.map(|(_, run)| run.clone()).collect();
            assert_eq!(Sums::stats(Some(&sums), &rest), whole, "{now}");
        }
        let until_three = sums_at(&runs, "03:30:00");
        assert_eq!(Sums::stats(Some(&until_three), []).consecutive_failures, Some(2));
    }

    fn sums_at(runs: &[(RunId, Trace)], now: &str) -> Sums {
        let clock = Clock { next_run_at: Some(at("23:00:00")), ..clock("0 * * * *") };
        let none = Sums::of_nothing("ann");
        none.with(runs, true, &clock, Duration::zero(), at(now)).unwrap()
    }
}
