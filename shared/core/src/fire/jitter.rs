//! Jitter: moves a fire away from its nominal time, by the same offset on every retry.

use chrono::Duration;
use sha2::{Digest, Sha256};

use crate::id::RunId;
use crate::instant::Instant;
use crate::schedule::Clock;

/// The interval of the tick's rule. A fire is first seen between this much and nothing before the
/// end of the look-ahead.
const TICK: Duration = Duration::minutes(1);

/// How far the fires of a schedule may move.
#[derive(Clone, Copy, Debug)]
pub struct Jitter {
    /// The schedule's `jitter_ms`.
    pub jitter_ms: u32,
    /// How far ahead a tick looks: no fire can start before a tick has seen it.
    pub lookahead: Duration,
}

impl Jitter {
    /// The instant at which a fire starts, between the fires `previous` and `next` of its schedule.
    ///
    /// Every instant from `jitter_ms` before the nominal time to `jitter_ms` after it is equally
    /// likely, except that a fire stays on its own side of the middle between itself and a
    /// neighbour, so that fires keep their order, and is no earlier than every tick can send it. A
    /// fire that is not late yet never starts before `now`. The offset depends only on the fire, so
    /// a repeated plan gives the same instant.
    pub fn launch_at(
        self,
        id: &RunId,
        previous: Option<Instant>,
        next: Option<Instant>,
        now: Instant,
    ) -> Instant {
        let ahead = (self.lookahead - TICK).num_milliseconds().max(0);
        let before = room(self.jitter_ms, previous.map(|previous| id.run_at - previous)).min(ahead);
        let after = room(self.jitter_ms, next.map(|next| next - id.run_at));
        if before + after == 0 {
            return id.run_at;
        }
        let digest = Sha256::digest(id.to_string());
        let dice = u64::from_be_bytes([
            digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
        ]);
        let offset = (dice % (before + after + 1).unsigned_abs()) as i64 - before;
        (id.run_at + Duration::milliseconds(offset)).max(now.min(id.run_at))
    }
}

/// How far a fire may move towards a neighbour that is `gap` away, in milliseconds.
fn room(jitter_ms: u32, gap: Option<Duration>) -> i64 {
    let jitter = i64::from(jitter_ms);
    gap.map_or(jitter, |gap| jitter.min((gap.num_milliseconds() - 1) / 2))
}

/// Until when a fire that finds no free slot waits for one before it is skipped. Jitter may have
/// moved the run before it towards it by as much as this; without jitter that run would have ended
/// by so much earlier, and the schedule would not have skipped its own fire.
pub fn waits_until(clock: &Clock, id: &RunId) -> Instant {
    let jitter_ms = clock.policies.jitter_ms;
    if jitter_ms == 0 || id.cause.is_some() {
        return id.run_at;
    }
    let Ok(readable) = clock.read() else { return id.run_at };
    let previous = readable.timetable.prev_before(id.run_at);
    let next = readable.timetable.next_after(id.run_at);
    let gaps = [previous.map(|previous| id.run_at - previous), next.map(|next| next - id.run_at)];
    let wait = gaps.into_iter().map(|gap| room(jitter_ms, gap)).min().unwrap_or(0);
    id.run_at + Duration::milliseconds(wait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::definition::tests::clock;
    use proptest::prelude::*;

    fn id(second: i64) -> RunId {
        let run_at = chrono::DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap();
        RunId::scheduled(&"nightly".parse().unwrap(), run_at)
    }

    fn jitter(jitter_ms: u32) -> Jitter {
        Jitter { jitter_ms, lookahead: Duration::seconds(90) }
    }

    proptest! {
        #[test]
        fn jitter_stays_in_its_bounds_and_keeps_the_order(
            second in 0i64..100_000, jitter_ms in 1u32..600_000, gaps in [1i64..4000, 1i64..4000, 1i64..4000],
        ) {
            let times = [0, gaps[0], gaps[0] + gaps[1], gaps.iter().sum()].map(|gap| id(second + gap));
            let [first, one, two, last] = &times;
            let now = first.run_at - Duration::days(1);
            let start = |id: &RunId, previous: &RunId, next: &RunId| {
                jitter(jitter_ms).launch_at(id, Some(previous.run_at), Some(next.run_at), now)
            };
            let (start_one, start_two) = (start(one, first, two), start(two, one, last));
            prop_assert!(start_one < start_two);
            prop_assert!(first.run_at < start_one && start_two < last.run_at);
            for (id, start) in [(one, start_one), (two, start_two)] {
                prop_assert!((start - id.run_at).num_milliseconds().abs() <= i64::from(jitter_ms));
                prop_assert!(id.run_at - start <= Duration::seconds(30), "every tick can send it");
            }
            prop_assert_eq!(start_one, start(one, first, two));
        }
    }

    #[test]
    fn offsets_are_uniform_on_both_sides_where_there_is_room() {
        let hour = Duration::hours(1);
        let offsets: Vec<i64> = (0..10_000)
            .map(|n| {
                let id = id(3600 * n);
                let (previous, next) = (Some(id.run_at - hour), Some(id.run_at + hour));
                let at = jitter(20_000).launch_at(&id, previous, next, id.run_at - hour);
                (at - id.run_at).num_milliseconds()
            })
            .collect();
        // Eight parts of equal width; 1,250 each, give or take four standard deviations.
        for part in 0..8 {
            let from = -20_000 + part * 5_000;
            let count = offsets.iter().filter(|ms| (from..from + 5_000).contains(*ms)).count();
            assert!((1_110..1_390).contains(&count), "{from}: {count}");
        }
    }

    #[test]
    fn a_fire_is_not_moved_before_the_moment_it_is_planned() {
        let hour = Duration::hours(1);
        for n in 0..100 {
            let id = id(3600 * n);
            let now = id.run_at - Duration::seconds(2);
            let at = jitter(20_000).launch_at(&id, Some(id.run_at - hour), None, now);
            assert!(at >= now);
        }
    }

    #[test]
    fn a_blocked_fire_waits_as_long_as_jitter_may_have_moved_the_run_in_its_way() {
        let mut clock = clock("* * * * *");
        let id: RunId = "nightly@2026-01-01T02:00:00Z".parse().unwrap();
        assert_eq!(waits_until(&clock, &id), id.run_at);
        clock.policies.jitter_ms = 5000;
        assert_eq!(waits_until(&clock, &id), id.run_at + Duration::seconds(5));
        clock.policies.jitter_ms = 90_000;
        assert_eq!(waits_until(&clock, &id), id.run_at + Duration::milliseconds(29_999));
    }
}
