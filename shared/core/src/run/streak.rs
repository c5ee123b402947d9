//! Streaks: failures in a row, and whether an alert about them is due.

use chrono::Duration;

use crate::id::RunId;
use crate::instant::Instant;
use crate::run::{Run, Status, Trigger};

/// The failures since the last success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Streak {
    /// The runs that failed, newest first.
    failures: Vec<RunId>,
    /// Whether the runs that were read go back to the beginning of the streak.
    is_whole: bool,
}

/// What is recorded of the newest alert of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The sort key of the run that the alert is about: the failure that reached the limit.
    pub run: String,
    /// Whether the destination has accepted the alert.
    pub told: bool,
    /// Names the claim of the function that sends the alert.
    pub claim: String,
    /// When that function claimed it.
    pub claimed_at: Instant,
}

/// How long a function that claimed an alert is left alone with it: longer than a destination may
/// take.
const CLAIM: Duration = Duration::seconds(10);

/// An alert that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// The sort key of the run that the alert is about. It is the same however often the alert is
    /// sent, so that the idempotency key is too.
    pub run: String,
    /// Whether it is sent again: an earlier sender died, or the destination did not accept it.
    pub again: bool,
}

impl Streak {
    /// The streak at the head of a schedule's runs, newest first. Runs without an end and skipped
    /// runs neither count nor interrupt. Backfills run old fires: how they end says nothing about
    /// the schedule as it is now. `is_all`: the schedule has no older runs.
    pub fn of(runs: &[Run], is_all: bool) -> Streak {
        let mut failures = Vec::new();
        for run in runs.iter().filter(|run| run.trigger != Trigger::Backfill) {
            match run.status {
                Status::Failed | Status::Abandoned => failures.push(run.id.clone()),
                Status::Success => return Streak { failures, is_whole: true },
                Status::Enqueued | Status::Queued | Status::Started | Status::Skipped => {}
            }
        }
        Streak { failures, is_whole: is_all }
    }

    /// The number of failures.
    pub fn len(&self) -> usize {
        self.failures.len()
    }

    /// Whether the newest run that counts was a success.
    pub fn is_empty(&self) -> bool {
        self.failures.is_empty()
    }

    /// The alert that is due after `limit` failures in a row, if one is. A streak has one alert. It
    /// is due once the limit is reached, not only in that moment: of two failures at the same time,
    /// both may see that it is passed.
    pub fn alert(&self, limit: u32, mark: Option<&Mark>, now: Instant) -> Option<Alert> {
        let limit = limit.max(1) as usize;
        let reached = self.failures.len().checked_sub(limit)?;
        let is_of_this = |mark: &&Mark| {
            // The run of the mark may be older than the runs that were read.
            !self.is_whole || self.failures.iter().any(|run| run.sort_key() == mark.run)
        };
        match mark.filter(is_of_this) {
            Some(mark) if mark.told || now < mark.claimed_at + CLAIM => None,
            Some(mark) => Some(Alert { run: mark.run.clone(), again: true }),
            None => Some(Alert { run: self.failures.get(reached)?.sort_key(), again: false }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a minute apart, the oldest first in `statuses`: F failed, A abandoned, S success,
    /// B a failed backfill, K skipped, R running.
    fn streak(statuses: &str, is_all: bool) -> Streak {
        let at =
            |place: usize| -> Instant { format!("2026-01-01T00:{place:02}:00Z").parse().unwrap() };
        let run = |(place, letter): (usize, char)| {
            let id = format!("s@2026-01-01T00:{place:02}:00Z").parse().unwrap();
            let (trigger, status) = match letter {
                'F' => (Trigger::Manual, Status::Failed),
                'A' => (Trigger::Manual, Status::Abandoned),
                'S' => (Trigger::Manual, Status::Success),
                'B' => (Trigger::Backfill, Status::Failed),
                'K' => (Trigger::Manual, Status::Skipped),
                _ => (Trigger::Manual, Status::Started),
            };
            Run { status, ..Run::planned(id, trigger, "ann", 1, at(place), at(place)) }
        };
        let mut runs: Vec<_> = statuses.chars().enumerate().map(run).collect();
        runs.reverse();
        Streak::of(&runs, is_all)
    }

    fn mark(place: usize, told: bool) -> Mark {
        let claimed_at = "2026-01-01T01:00:00Z".parse().unwrap();
        Mark {
            run: format!("2026-01-01T00:{place:02}:00Z"),
            told,
            claim: "c".to_owned(),
            claimed_at,
        }
    }

    fn at(time: &str) -> Instant {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    #[track_caller]
    fn check(statuses: &str, mark: Option<&Mark>, expected: Option<(usize, bool)>) {
        let found = streak(statuses, true).alert(3, mark, at("01:01:00"));
        let expected = expected
            .map(|(place, again)| Alert { run: format!("2026-01-01T00:{place:02}:00Z"), again });
        assert_eq!(found, expected, "{statuses}");
    }

    #[test]
    fn failures_count_since_the_last_success() {
        for (statuses, failures) in
            [("", 0), ("FF", 2), ("FSF", 1), ("FS", 0), ("FKAR", 2), ("FBF", 2), ("SBB", 0)]
        {
            assert_eq!(streak(statuses, true).len(), failures, "{statuses}");
        }
    }

    #[test]
    fn a_streak_has_one_alert_and_the_next_streak_another() {
        check("FF", None, None);
        check("FFF", None, Some((2, false)));
        check("FFFF", Some(&mark(2, true)), None);
        check("FFFSFF", Some(&mark(2, true)), None);
        check("FFFSFFF", Some(&mark(2, true)), Some((6, false)));
    }

    #[test]
    fn an_alert_that_was_not_sent_is_about_the_same_run() {
        // Two failures at the same time: each sees four.
        check("FFFF", None, Some((2, false)));
        // The sender died, or the destination did not accept it.
        check("FFFFF", Some(&mark(2, false)), Some((2, true)));
        check("SFFF", Some(&mark(0, false)), Some((3, false)));
    }

    #[test]
    fn a_function_that_claimed_an_alert_is_left_alone_with_it() {
        let alert = |time: &str| streak("FFFF", true).alert(3, Some(&mark(2, false)), at(time));
        assert_eq!(alert("01:00:09"), None);
        assert!(alert("01:00:10").is_some_and(|alert| alert.again));
    }

    #[test]
    fn a_streak_longer_than_what_is_read_has_its_alert_already() {
        assert_eq!(streak("FFFF", false).alert(3, Some(&mark(59, true)), at("01:01:00")), None);
        let alert = streak("FFFF", false).alert(3, None, at("01:01:00"));
        assert!(alert.is_some_and(|alert| !alert.again));
    }
}
