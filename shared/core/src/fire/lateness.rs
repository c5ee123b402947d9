//! Lateness: what becomes of a fire that was sent ahead and reaches its launcher after the grace.
//!
//! The answer is the one that [`plan`](super::plan) gives for a fire that was not sent ahead: the
//! catch-up policy and its window decide.

use chrono::Duration;

use crate::fire::plan::Horizon;
use crate::instant::Instant;
use crate::run::{Run, Status, Trigger};
use crate::schedule::{Catchup, Clock};

/// What a launcher does with a fire, judged by how late it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// The fire is not late by more than the grace, or lateness does not count for its run.
    Launch,
    /// The fire was missed and is caught up, starting at this instant.
    CatchUp(Instant),
    /// The fire was missed and is not caught up.
    Missed,
}

/// Judges a run that no launcher has called yet.
///
/// Lateness does not count for a run that a caller asked for, that was caught up, whose target was
/// called before, that waits for its turn, or that recovery sent again: those were decided about at
/// a time when they were not missed, or although they were.
pub fn judge(run: &Run, clock: &Clock, now: Instant, horizon: &Horizon) -> Lateness {
    let counts = run.status == Status::Enqueued
        && run.calls() == 0
        && run.recovery.is_none()
        && run.id.cause.is_none()
        && matches!(run.trigger, Trigger::Schedule(_));
    let run_at = run.id.run_at;
    if !counts || now - run_at.max(run.launch_at) <= horizon.grace {
        return Lateness::Launch;
    }
    let window = clock.policies.catchup_window_s.unwrap_or(u64::MAX);
    if (now - run_at).num_seconds().unsigned_abs() > window {
        return Lateness::Missed;
    }
    match clock.policies.catchup_policy {
        Catchup::None => Lateness::Missed,
        Catchup::Once if is_newest_missed(run_at, clock, now, horizon) => Lateness::CatchUp(now),
        Catchup::Once => Lateness::Missed,
        Catchup::FireImmediately => Lateness::CatchUp(now),
        Catchup::Spread => Lateness::CatchUp(now + place(run_at, horizon.lookahead)),
    }
}

/// Whether the fire behind this one was not missed.
fn is_newest_missed(run_at: Instant, clock: &Clock, now: Instant, horizon: &Horizon) -> bool {
    let next = clock.read().ok().and_then(|r| clock.timing.next_after(&r.timetable, run_at));
    next.is_none_or(|next| now - next <= horizon.grace)
}

/// Where in the look-ahead a fire is caught up under `spread`. The fires that were sent ahead lay
/// within one look-ahead, so the remainder keeps them as far apart as they were.
fn place(run_at: Instant, lookahead: Duration) -> Duration {
    let lookahead = lookahead.num_milliseconds().max(1);
    Duration::milliseconds(run_at.timestamp_millis().rem_euclid(lookahead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Cause, RunId};
    use crate::instant;
    use crate::run::Recovery;
    use crate::schedule::definition::tests::clock;

    fn at(time: &str) -> Instant {
        instant::parse(&format!("2026-01-01T{time}Z")).unwrap()
    }

    fn run(run_at: &str) -> Run {
        let id: RunId = format!("nightly@2026-01-01T{run_at}Z").parse().unwrap();
        let trigger = Trigger::Schedule("* * * * *".to_owned());
        Run::planned(id.clone(), trigger, "ann", 1, id.run_at, at("00:00:00"))
    }

    fn judged(run: &Run, policy: Catchup, window: Option<u64>, now: &str) -> Lateness {
        let mut clock = clock("* * * * *");
        clock.policies.catchup_policy = policy;
        clock.policies.catchup_window_s = window;
        let seconds = Duration::seconds;
        let horizon = Horizon { lookahead: seconds(90), grace: seconds(120), max_catchup: 100 };
        judge(run, &clock, at(now), &horizon)
    }

    #[test]
    fn the_policy_and_its_window_decide_beyond_the_grace() {
        use Catchup::*;
        let fire = run("01:00:00");
        for policy in [None, Once, FireImmediately, Spread] {
            let on_time = judged(&fire, policy, Option::None, "01:02:00");
            assert_eq!(on_time, Lateness::Launch, "{policy:?}");
            let too_old = judged(&fire, policy, Some(60), "01:02:01");
            assert_eq!(too_old, Lateness::Missed, "{policy:?}");
        }
        let late = |policy| judged(&fire, policy, Some(3600), "01:02:01");
        assert_eq!(late(None), Lateness::Missed);
        assert_eq!(late(FireImmediately), Lateness::CatchUp(at("01:02:01")));
        // 01:00:00 is a multiple of 90 seconds.
        assert_eq!(late(Spread), Lateness::CatchUp(at("01:02:01")));
        let next = judged(&run("01:01:00"), Spread, Option::None, "01:04:00");
        assert_eq!(next, Lateness::CatchUp(at("01:05:00")));
    }

    #[test]
    fn once_catches_up_the_newest_only() {
        let newest = judged(&run("01:00:00"), Catchup::Once, None, "01:02:30");
        assert_eq!(newest, Lateness::CatchUp(at("01:02:30")));
        let older = judged(&run("01:00:00"), Catchup::Once, None, "01:03:30");
        assert_eq!(older, Lateness::Missed);
    }

    #[test]
    fn a_jittered_fire_is_late_from_its_own_start_on() {
        let jittered = Run { launch_at: at("01:05:00"), ..run("01:00:00") };
        assert_eq!(judged(&jittered, Catchup::None, None, "01:07:00"), Lateness::Launch);
        assert_eq!(judged(&jittered, Catchup::None, None, "01:07:01"), Lateness::Missed);
    }

    #[test]
    fn lateness_counts_only_for_a_fire_that_was_not_dealt_with() {
        let fire = run("01:00:00");
        let recovery = Some(Recovery { attempts: 1, recovery_attempt_time: at("01:06:00") });
        let manual = RunId { cause: Some(Cause::manual("x")), ..fire.id.clone() };
        for exempt in [
            Run { attempt: 1, ..fire.clone() },
            Run { status: Status::Queued, ..fire.clone() },
            Run { trigger: Trigger::Catchup, ..fire.clone() },
            Run { recovery, ..fire.clone() },
            Run { id: manual, ..fire.clone() },
        ] {
            assert_eq!(judged(&exempt, Catchup::None, None, "04:00:00"), Lateness::Launch);
        }
        assert_eq!(judged(&fire, Catchup::None, None, "04:00:00"), Lateness::Missed);
        let not_called = Run { attempt: 1, not_called: 1, ..fire };
        assert_eq!(judged(&not_called, Catchup::None, None, "04:00:00"), Lateness::Missed);
    }
}
