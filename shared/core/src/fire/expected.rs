//! The fires that a schedule should have had, recomputed from its change log.
//!
//! A definition has the fires strictly after the instant at which it was saved, up to and including
//! the instant at which it was replaced. An edit records the fires that came due under the old
//! definition up to that instant, and the new definition begins with its next fire after it.

use chrono::Duration;

use crate::id::ScheduleId;
use crate::instant::{self, Instant};
use crate::schedule::change::{Change, Verb};

/// The longest time between the instant of a change and its write: the API responds within this
/// time or not at all. Until the write, fires of the old definition launch.
const CHANGE_TAKES: Duration = Duration::seconds(30);

/// The definitions of a schedule over time, oldest first.
#[derive(Clone, Debug)]
pub struct Timeline {
    schedule_id: ScheduleId,
    spans: Vec<Span>,
}

/// A definition and the time in which it was in force.
#[derive(Clone, Debug)]
struct Span {
    change: Change,
    after: Instant,
    /// `None` if it is still in force.
    until: Option<Instant>,
    created_at: Instant,
}

/// The fires that a schedule should have had in a time window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected {
    /// The fires in order of time, without duplicates.
    pub fires: Vec<Fire>,
    /// Parts of the window, both ends included, whose definition can no longer be parsed. Their
    /// fires are unknown.
    pub unknown: Vec<(Instant, Instant)>,
}

/// A fire that the schedule should have had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fire {
    /// The nominal time of the fire.
    pub run_at: Instant,
    /// Whether the schedule was paused at that time.
    pub paused: bool,
}

/// The error for a window that has more fires than the caller accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

impl Timeline {
    /// The history of `owner`'s schedule with this name. Changes by earlier owners of the name are
    /// ignored.
    pub fn of(schedule_id: &ScheduleId, owner: &str, changes: Vec<Change>) -> Timeline {
        let mut spans: Vec<Span> = Vec::new();
        let mut newest = Instant::MIN_UTC;
        let defining =
            changes.into_iter().filter(|change| change.verb != Verb::Triggered).collect();
        for change in in_order(defining).filter(|change| change.owner() == owner) {
            let at = change.at.max(newest);
            newest = at;
            if let Some(last) = spans.last_mut() {
                last.until.get_or_insert(at);
            }
            if change.verb == Verb::Deleted {
                continue;
            }
            let created_at = match spans.last() {
                Some(last) if change.verb != Verb::Created => last.created_at,
                _ => instant::whole_second(at),
            };
            spans.push(Span { change, after: at, until: None, created_at });
        }
        Timeline { schedule_id: schedule_id.clone(), spans }
    }

    /// The fires from `from` to `to`, both included. An error if there are more than `max`.
    pub fn fires(&self, from: Instant, to: Instant, max: usize) -> Result<Expected, TooMany> {
        let mut expected = Expected::default();
        for span in &self.spans {
            let after = span.after.max(from - Duration::seconds(1));
            let until = span.until.map_or(to, |until| until.min(to));
            if after >= until {
                continue;
            }
            let timing = &span.change.timing;
            let Ok(readable) = timing.read(&self.schedule_id, span.created_at) else {
                expected.unknown.push((span.after.max(from), until));
                continue;
            };
            let mut last = after;
            while let Some(run_at) = timing.next_after(&readable.timetable, last)
                && run_at <= until
            {
                if expected.fires.len() == max {
                    return Err(TooMany);
                }
                expected.fires.push(Fire { run_at, paused: span.change.paused });
                last = run_at;
            }
        }
        Ok(expected)
    }

    /// Whether it was right to launch the run at `run_at` of definition `revision` at `started_at`,
    /// although a newer definition has no such fire. It can be right for two reasons: jitter may
    /// start a run before its nominal time, and writing a change takes a moment.
    pub fn had_fire(&self, revision: u64, run_at: Instant, started_at: Instant) -> bool {
        self.spans.iter().any(|span| {
            let timing = &span.change.timing;
            span.change.revision == revision
                && !span.change.paused
                && span.after <= started_at
                && span.until.is_none_or(|until| started_at <= until + CHANGE_TAKES)
                && timing.in_window(run_at)
                && timing
                    .read(&self.schedule_id, span.created_at)
                    .is_ok_and(|readable| readable.timetable.contains(run_at))
        })
    }
}

/// Sorts changes into the order in which they were made. Revisions are more reliable than
/// timestamps, because the clocks of machines differ. But revisions start at 1 again if a name is
/// reused long after its last schedule was deleted.
fn in_order(mut changes: Vec<Change>) -> impl Iterator<Item = Change> {
    changes.sort_by_key(|change| (change.at, change.revision));
    let mut age = 0;
    let mut aged: Vec<_> = changes
        .into_iter()
        .map(|change| {
            age += u64::from(change.revision == 1);
            (age, change)
        })
        .collect();
    aged.sort_by_key(|(age, change)| (*age, change.revision));
    aged.into_iter().map(|(_, change)| change)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::schedule::definition::tests::clock;

    /// A time on 1 January 2026.
    pub(crate) fn at(time: &str) -> Instant {
        format!("2026-01-01T{time}Z").parse().unwrap()
    }

    pub(crate) fn change(time: &str, verb: &str, revision: u64, cron_expr: &str) -> Change {
        Change {
            by: "ann".to_owned(),
            owner: None,
            at: at(time),
            origin: None,
            verb: serde_json::from_value(verb.into()).unwrap(),
            run_id: None,
            revision,
            timing: clock(cron_expr).timing,
            paused: verb == "paused",
            changes: Vec::new(),
        }
    }

    pub(crate) fn timeline(changes: Vec<Change>) -> Timeline {
        Timeline::of(&"nightly".parse().unwrap(), "ann", changes)
    }

    /// Compares the fires of the first hour, as minutes and seconds. Fires in a pause have a `p`.
    #[track_caller]
    fn check(changes: Vec<Change>, expected: &[&str]) {
        let found = timeline(changes).fires(at("00:00:00"), at("00:59:59"), 1000).unwrap();
        let found: Vec<_> = found
            .fires
            .iter()
            .map(|fire| {
                let paused = if fire.paused { "p" } else { "" };
                format!("{}{paused}", fire.run_at.format("%M:%S"))
            })
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn there_is_no_fire_before_creation_or_after_deletion() {
        check(
            vec![
                change("00:15:00", "created", 1, "*/10 * * * *"),
                change("00:45:00", "deleted", 2, "*/10 * * * *"),
            ],
            &["20:00", "30:00", "40:00"],
        );
        check(Vec::new(), &[]);
    }

    #[test]
    fn a_fire_at_the_very_instant_of_a_change_belongs_to_the_old_definition() {
        check(
            vec![
                change("00:10:00", "created", 1, "*/10 * * * *"),
                change("00:20:00", "updated", 2, "5-59/10 * * * *"),
                change("00:35:00.001", "deleted", 3, "5-59/10 * * * *"),
            ],
            &["20:00", "25:00", "35:00"],
        );
        check(
            vec![
                change("00:09:59.999", "created", 1, "*/10 * * * *"),
                change("00:19:59.999", "deleted", 2, "*/10 * * * *"),
            ],
            &["10:00"],
        );
    }

    #[test]
    fn fires_of_a_pause_are_expected_and_marked() {
        check(
            vec![
                change("00:00:00", "created", 1, "*/10 * * * *"),
                change("00:10:00", "paused", 2, "*/10 * * * *"),
                change("00:30:00", "resumed", 3, "*/10 * * * *"),
            ],
            &["10:00", "20:00p", "30:00p", "40:00", "50:00"],
        );
    }

    #[test]
    fn start_and_end_are_inclusive() {
        let mut made = change("00:00:00", "created", 1, "*/10 * * * *");
        made.timing.start_at = Some(at("00:20:00"));
        made.timing.end_at = Some(at("00:40:00"));
        check(vec![made], &["20:00", "30:00", "40:00"]);
    }

    #[test]
    fn a_rate_counts_from_the_creation_of_its_own_schedule() {
        check(
            vec![
                change("00:01:00.700", "created", 1, "rate(20 minutes)"),
                change("00:30:00", "deleted", 2, "rate(20 minutes)"),
                change("00:32:00", "created", 3, "rate(20 minutes)"),
                change("00:33:00", "updated", 4, "rate(10 minutes)"),
            ],
            &["21:00", "42:00", "52:00"],
        );
    }

    #[test]
    fn revisions_order_changes_of_machines_whose_clocks_differ() {
        check(
            vec![
                change("00:00:00", "created", 1, "*/10 * * * *"),
                change("00:15:00.010", "updated", 2, "*/20 * * * *"),
                change("00:15:00.005", "updated", 3, "*/30 * * * *"),
            ],
            &["10:00", "30:00"],
        );
    }

    #[test]
    fn a_name_whose_revisions_began_anew_keeps_its_order() {
        check(
            vec![
                change("00:00:00", "created", 1, "*/10 * * * *"),
                change("00:05:00", "updated", 2, "*/10 * * * *"),
                change("00:15:00", "deleted", 3, "*/10 * * * *"),
                change("00:25:00", "created", 1, "*/20 * * * *"),
                change("00:45:00", "updated", 2, "*/25 * * * *"),
            ],
            &["10:00", "40:00", "50:00"],
        );
    }

    #[test]
    fn what_another_owner_had_under_the_name_is_none_of_ours() {
        let by_bob = |change: Change| Change { by: "bob".to_owned(), ..change };
        check(
            vec![
                by_bob(change("00:00:00", "created", 1, "*/10 * * * *")),
                by_bob(change("00:25:00", "deleted", 2, "*/10 * * * *")),
                change("00:35:00", "created", 3, "*/20 * * * *"),
            ],
            &["40:00"],
        );
    }

    #[test]
    fn an_unreadable_definition_is_a_part_nobody_knows() {
        let mut bad = change("00:20:00", "updated", 2, "0 * * * *");
        bad.timing.cron_expr = "when the owl cries".to_owned();
        let made = change("00:00:00", "created", 1, "*/15 * * * *");
        let found = timeline(vec![made, bad]).fires(at("00:00:00"), at("00:59:59"), 10).unwrap();
        assert_eq!(found.fires, [Fire { run_at: at("00:15:00"), paused: false }]);
        assert_eq!(found.unknown, [(at("00:20:00"), at("00:59:59"))]);
    }

    #[test]
    fn more_fires_than_asked_for_are_refused() {
        let made = || vec![change("00:00:00", "created", 1, "* * * * *")];
        let fires = |max| timeline(made()).fires(at("00:00:00"), at("00:10:00"), max);
        assert_eq!(fires(9), Err(TooMany));
        assert_eq!(fires(10).unwrap().fires.len(), 10);
    }
}
