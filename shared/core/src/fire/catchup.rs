//! Catch-up: what happens to missed fires, which are late by more than the grace period.

use belfry_cron::Timetable;
use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::{self, Instant};
use crate::run::Missed;
use crate::schedule::{Catchup, Clock};

/// The most missed fires that one plan looks at. Six ticks work off a year of fires every minute.
pub const MAX_LOOKED_AT: usize = 100_000;

/// The missed fires of one schedule, oldest first, divided by the catch-up policy. The three parts
/// are consecutive and together contain all missed fires.
#[derive(Debug, PartialEq, Eq)]
pub struct Division<'a> {
    /// Fires that are recorded as missed and not launched.
    pub given_up: &'a [Instant],
    /// Fires that are launched now.
    pub caught_up: &'a [Instant],
    /// Fires that are left for the next tick, because a tick does a limited amount of work.
    pub left: &'a [Instant],
}

/// Divides `missed`. `more_to_come` means that the newest missed fires are not in `missed` yet.
/// Then the policy `once` launches nothing now and keeps its one launch for the newest fire.
pub fn divide<'a>(
    missed: &'a [Instant],
    policy: Catchup,
    window: Option<Duration>,
    max_per_tick: usize,
    more_to_come: bool,
    now: Instant,
) -> Division<'a> {
    let too_old = window.map_or(0, |window| missed.partition_point(|at| *at < now - window));
    let wanted_from = match policy {
        Catchup::None => missed.len(),
        Catchup::Once if more_to_come => missed.len(),
        Catchup::Once => too_old.max(missed.len().saturating_sub(1)),
        Catchup::FireImmediately | Catchup::Spread => too_old,
    };
    let (given_up, wanted) = missed.split_at(wanted_from);
    let (caught_up, left) = wanted.split_at(wanted.len().min(max_per_tick));
    Division { given_up, caught_up, left }
}

/// The fires that a clock has missed, and how many of them the policy would launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The fires from the clock's next run up to now.
    pub fires: Missed,
    /// How many of these fires the catch-up policy launches.
    pub launches: u64,
}

/// What a resume would catch up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ResumePreview {
    /// Catch-up policy that the resume would follow.
    pub catchup: Catchup,
    /// Number of fires missed so far.
    pub fires: u64,
    /// Number of missed fires that would be launched.
    pub launches: u64,
    /// The oldest missed fire.
    pub first: Option<Instant>,
    /// The newest missed fire.
    pub last: Option<Instant>,
}

impl ResumePreview {
    /// What `policy` does about what was missed.
    pub fn of(policy: Catchup, missed: Option<Preview>) -> ResumePreview {
        ResumePreview {
            catchup: policy,
            fires: missed.map_or(0, |missed| missed.fires.count),
            launches: missed.map_or(0, |missed| missed.launches),
            first: missed.map(|missed| instant::whole_second(missed.fires.first)),
            last: missed.map(|missed| instant::whole_second(missed.fires.last)),
        }
    }
}

/// Previews what is caught up of `clock` at `now`, without a grace. `None`: nothing was missed.
pub fn preview(clock: &Clock, timetable: &Timetable, now: Instant) -> Option<Preview> {
    let cursor = clock.next_run_at?;
    let window = clock.policies.catchup_window_s.unwrap_or(u64::MAX);
    let mut preview: Option<Preview> = None;
    let fires = timetable.fires_between(cursor, now).filter(|at| clock.timing.in_window(*at));
    for at in fires.take(MAX_LOOKED_AT) {
        let fires = preview.map_or(Missed { first: at, last: at, count: 0 }, |p| p.fires);
        let fires = Missed { last: at, count: fires.count + 1, ..fires };
        let is_wanted = (now - at).num_seconds().unsigned_abs() <= window;
        let launches = match clock.policies.catchup_policy {
            Catchup::None => 0,
            Catchup::Once => u64::from(is_wanted),
            Catchup::FireImmediately | Catchup::Spread => {
                preview.map_or(0, |p| p.launches) + u64::from(is_wanted)
            }
        };
        preview = Some(Preview { fires, launches });
    }
    preview
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instants(count: i64) -> (Vec<Instant>, Instant) {
        let first: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
        let missed = (0..count).map(|i| first + Duration::minutes(i)).collect();
        (missed, first + Duration::minutes(count + 10))
    }

    #[track_caller]
    fn check(policy: Catchup, window: Option<i64>, more: bool, expected: (usize, usize, usize)) {
        let (missed, now) = instants(10);
        let parts = divide(&missed, policy, window.map(Duration::minutes), 4, more, now);
        assert_eq!((parts.given_up.len(), parts.caught_up.len(), parts.left.len()), expected);
    }

    #[test]
    fn none_gives_everything_up() {
        check(Catchup::None, None, false, (10, 0, 0));
    }

    #[test]
    fn once_launches_the_newest() {
        check(Catchup::Once, None, false, (9, 1, 0));
        check(Catchup::Once, None, true, (10, 0, 0));
        check(Catchup::Once, Some(5), false, (10, 0, 0));
    }

    #[test]
    fn all_are_launched_a_bounded_number_at_a_time() {
        check(Catchup::FireImmediately, None, false, (0, 4, 6));
        check(Catchup::Spread, None, false, (0, 4, 6));
    }

    #[test]
    fn what_is_older_than_the_window_is_given_up() {
        check(Catchup::FireImmediately, Some(15), false, (5, 4, 1));
        check(Catchup::FireImmediately, Some(12), false, (8, 2, 0));
    }
}
