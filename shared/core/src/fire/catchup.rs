//! Catch-up: what becomes of fires that were missed by more than the grace.

use belfry_cron::Timetable;
use chrono::Duration;

use crate::instant::Instant;
use crate::run::Missed;
use crate::schedule::{Catchup, Clock};

/// Missed fires looked at at once: a year of minutes is worked off in six ticks.
pub const MAX_LOOKED_AT: usize = 100_000;

/// The missed fires of one schedule, oldest first, divided by policy. The three parts follow one
/// another and together are what was given.
#[derive(Debug, PartialEq, Eq)]
pub struct Division<'a> {
    /// Recorded, not launched.
    pub given_up: &'a [Instant],
    /// Launched now.
    pub caught_up: &'a [Instant],
    /// Left for the next tick, because a tick does a bounded amount of work.
    pub left: &'a [Instant],
}

/// Divides `missed`. With `more_to_come` the newest missed fires are not among them, so that `once`
/// keeps its one launch for later.
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

/// What a clock has missed, and how much of it would be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The fires from its position up to now.
    pub fires: Missed,
    /// How many of them its policy launches.
    pub launches: u64,
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
