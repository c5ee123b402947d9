//! The plan: which fires of a clock are due, and what a tick does with each of them.

use belfry_cron::Timetable;
use chrono::Duration;

use crate::fire::catchup::{self, Division, MAX_LOOKED_AT};
use crate::fire::jitter::Jitter;
use crate::id::{Cause, RunId};
use crate::instant::Instant;
use crate::run::{Missed, Reason, Run, Trigger};
use crate::schedule::{Catchup, Clock};

/// How far ahead a plan looks, and how much work it takes on at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Horizon {
    /// Fires up to this far in the future are recorded and sent ahead of time.
    pub lookahead: Duration,
    /// The grace period. A fire that is less late than this still launches and does not count as
    /// missed.
    pub grace: Duration,
    /// The most missed fires that one tick launches or records one by one.
    pub max_catchup: usize,
}

/// What a tick does with one clock, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The run records of its fires, oldest first. A record that already exists is kept.
    pub fires: Vec<Run>,
    /// The clock's next run afterwards. `None` if there are no more fires.
    pub next_run_at: Option<Instant>,
}

/// Plans the fires that are due from `clock.next_run_at` up to the horizon. A clock without a next
/// run has no due fires.
pub fn plan(clock: &Clock, timetable: &Timetable, now: Instant, horizon: &Horizon) -> Plan {
    let Some(cursor) = clock.next_run_at else {
        return Plan { fires: Vec::new(), next_run_at: None };
    };
    let overdue = now - horizon.grace;
    let mut upcoming = timetable
        .fires_after(cursor - Duration::seconds(1))
        .filter(|at| clock.timing.start_at.is_none_or(|start| start <= *at))
        .take_while(|at| clock.timing.end_at.is_none_or(|end| *at <= end))
        .peekable();

    let window = clock
        .policies
        .catchup_window_s
        .map(|s| Duration::seconds(i64::try_from(s).unwrap_or(i64::MAX / 1000)));
    let catches_all =
        matches!(clock.policies.catchup_policy, Catchup::FireImmediately | Catchup::Spread);
    let mut missed = Vec::new();
    let mut wanted = 0;
    // Looking at one fire more than a tick takes on shows whether there are more.
    while missed.len() < MAX_LOOKED_AT && wanted <= horizon.max_catchup {
        match upcoming.next_if(|at| *at < overdue) {
            Some(at) => {
                let in_window = window.is_none_or(|window| now - window <= at);
                wanted += usize::from(catches_all && in_window);
                missed.push(at);
            }
            None => break,
        }
    }
    let more_missed = upcoming.peek().is_some_and(|at| *at < overdue);
    let division = catchup::divide(
        &missed,
        clock.policies.catchup_policy,
        window,
        horizon.max_catchup,
        more_missed,
        now,
    );
    let mut fires = given_up(clock, division.given_up, now, horizon);
    fires.extend(caught_up(clock, &division, now, horizon));
    if let Some(next) = division.left.first() {
        return Plan { fires, next_run_at: Some(*next) };
    }
    if more_missed {
        return Plan { fires, next_run_at: upcoming.next() };
    }

    let end = now + horizon.lookahead;
    while let Some(run_at) = upcoming.next_if(|at| *at <= end) {
        let next = upcoming.peek().copied();
        fires.push(on_time(clock, timetable, run_at, next, now, horizon));
    }
    Plan { fires, next_run_at: upcoming.next() }
}

/// The record of a fire that was not missed.
fn on_time(
    clock: &Clock,
    timetable: &Timetable,
    run_at: Instant,
    next: Option<Instant>,
    now: Instant,
    horizon: &Horizon,
) -> Run {
    let id = RunId::scheduled(&clock.schedule_id, run_at);
    let launch_at = match clock.policies.jitter_ms {
        0 => run_at,
        jitter_ms => {
            let jitter = Jitter { jitter_ms, lookahead: horizon.lookahead };
            jitter.launch_at(&id, timetable.prev_before(run_at), next, now)
        }
    };
    let trigger = Trigger::Schedule(clock.timing.cron_expr.clone());
    Run::planned(id, trigger, &clock.owner, clock.revision, launch_at, now)
}

/// The records of missed fires that are not launched: one for each fire, or one summary if there
/// are too many.
fn given_up(clock: &Clock, missed: &[Instant], now: Instant, horizon: &Horizon) -> Vec<Run> {
    let record = |id: RunId| {
        let trigger = Trigger::Schedule(clock.timing.cron_expr.clone());
        let run_at = id.run_at;
        Run::planned(id, trigger, &clock.owner, clock.revision, run_at, now)
            .skipped(Reason::Missed, now)
    };
    match missed {
        [] => Vec::new(),
        [first, .., last] if missed.len() > horizon.max_catchup => {
            let id = RunId::caused(&clock.schedule_id, *first, Cause::summary());
            let mut summary = record(id);
            let count = missed.len() as u64;
            summary.missed = Some(Missed { first: *first, last: *last, count });
            vec![summary]
        }
        _ => missed.iter().map(|at| record(RunId::scheduled(&clock.schedule_id, *at))).collect(),
    }
}

fn caught_up(clock: &Clock, division: &Division<'_>, now: Instant, horizon: &Horizon) -> Vec<Run> {
    let count = division.caught_up.len() as i32;
    let apart = match clock.policies.catchup_policy {
        Catchup::Spread if count > 0 => horizon.lookahead / count,
        _ => Duration::zero(),
    };
    let fire = |(place, run_at): (i32, &Instant)| {
        let (id, at) = (RunId::scheduled(&clock.schedule_id, *run_at), now + apart * place);
        Run::planned(id, Trigger::Catchup, &clock.owner, clock.revision, at, now)
    };
    (0..).zip(division.caught_up).map(fire).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instant;
    use crate::schedule::definition::tests::clock;

    fn at(text: &str) -> Instant {
        instant::parse(text).unwrap()
    }

    fn horizon() -> Horizon {
        Horizon {
            lookahead: Duration::seconds(60),
            grace: Duration::seconds(120),
            max_catchup: 100,
        }
    }

    fn planned(clock: &Clock, now: &str) -> Plan {
        let readable = clock.read().unwrap();
        plan(clock, &readable.timetable, at(now), &horizon())
    }

    fn due(expr: &str, next: &str) -> Clock {
        Clock { next_run_at: Some(at(next)), ..clock(expr) }
    }

    #[track_caller]
    fn check(clock: &Clock, now: &str, expected: &[(&str, &str)], next: Option<&str>) {
        let plan = planned(clock, now);
        let fires: Vec<_> = plan
            .fires
            .iter()
            .map(|fire| (instant::text(fire.id.run_at), fire.status.as_str()))
            .collect();
        let fires: Vec<_> = fires.iter().map(|(at, status)| (at.as_str(), *status)).collect();
        assert_eq!(fires, expected);
        assert_eq!(plan.next_run_at.map(instant::text).as_deref(), next);
    }

    #[test]
    fn fires_up_to_the_horizon_are_sent_ahead() {
        let clock = due("*/30 * * * * *", "2026-01-01T00:00:00Z");
        check(
            &clock,
            "2026-01-01T00:00:00Z",
            &[
                ("2026-01-01T00:00:00Z", "ENQUEUED"),
                ("2026-01-01T00:00:30Z", "ENQUEUED"),
                ("2026-01-01T00:01:00Z", "ENQUEUED"),
            ],
            Some("2026-01-01T00:01:30Z"),
        );
    }

    #[test]
    fn a_fire_late_within_the_grace_is_simply_late() {
        let clock = due("0 * * * *", "2026-01-01T00:00:00Z");
        check(
            &clock,
            "2026-01-01T00:01:59Z",
            &[("2026-01-01T00:00:00Z", "ENQUEUED")],
            Some("2026-01-01T01:00:00Z"),
        );
    }

    #[test]
    fn a_fire_missed_beyond_the_grace_is_recorded() {
        let clock = due("0 * * * *", "2026-01-01T00:00:00Z");
        check(
            &clock,
            "2026-01-01T01:30:00Z",
            &[("2026-01-01T00:00:00Z", "SKIPPED"), ("2026-01-01T01:00:00Z", "SKIPPED")],
            Some("2026-01-01T02:00:00Z"),
        );
    }

    #[test]
    fn a_long_outage_is_one_record() {
        let clock = due("* * * * *", "2026-01-01T00:00:00Z");
        let plan = planned(&clock, "2026-01-02T00:00:00Z");
        assert_eq!(
            plan.fires[0].missed,
            Some(Missed {
                first: at("2026-01-01T00:00:00Z"),
                last: at("2026-01-01T23:57:00Z"),
                count: 1438
            })
        );
        assert!(plan.fires[1..].iter().all(|fire| fire.reason.is_none()));
        assert_eq!(plan.fires.len(), 1 + 4);
        assert_eq!(plan.next_run_at, Some(at("2026-01-02T00:02:00Z")));
    }

    #[test]
    fn a_very_long_outage_is_worked_off_in_several_ticks() {
        let mut clock = due("* * * * * *", "2026-01-01T00:00:00Z");
        let mut counted = 0;
        loop {
            let plan = planned(&clock, "2026-01-04T00:00:00Z");
            counted += plan.fires.iter().filter_map(|f| f.missed).map(|m| m.count).sum::<u64>();
            clock.next_run_at = plan.next_run_at;
            if plan.next_run_at > Some(at("2026-01-04T00:00:00Z")) {
                break;
            }
        }
        assert_eq!(counted, 3 * 86_400 - 120);
    }

    #[test]
    fn catch_up_of_ninety_days_is_bounded_per_tick_and_complete() {
        for policy in [Catchup::FireImmediately, Catchup::Spread] {
            let mut clock = due("* * * * *", "2026-01-01T00:00:00Z");
            clock.policies.catchup_policy = policy;
            let mut fires = Vec::new();
            while clock.next_run_at < Some(at("2026-04-01T00:00:00Z")) {
                let plan = planned(&clock, "2026-04-01T00:00:00Z");
                assert!(plan.fires.len() <= 100 + 4, "{}", plan.fires.len());
                fires.extend(plan.fires.into_iter().map(|fire| fire.id.run_at));
                clock.next_run_at = plan.next_run_at;
            }
            let first = at("2026-01-01T00:00:00Z");
            let every_minute = (0..90 * 1440 + 2).map(|n| first + Duration::minutes(n));
            assert!(fires.into_iter().eq(every_minute));
        }
    }

    #[test]
    fn start_and_end_are_inclusive() {
        let mut clock = due("* * * * *", "2026-01-01T00:00:00Z");
        clock.timing.start_at = Some(at("2026-01-01T00:01:00Z"));
        clock.timing.end_at = Some(at("2026-01-01T00:02:00Z"));
        check(
            &clock,
            "2026-01-01T00:01:30Z",
            &[("2026-01-01T00:01:00Z", "ENQUEUED"), ("2026-01-01T00:02:00Z", "ENQUEUED")],
            None,
        );
    }

    #[test]
    fn spread_catches_up_evenly_over_the_look_ahead() {
        let mut clock = due("0 * * * *", "2026-01-01T00:00:00Z");
        clock.policies.catchup_policy = Catchup::Spread;
        let plan = planned(&clock, "2026-01-01T05:30:00Z");
        let starts: Vec<_> = plan.fires.iter().map(|f| instant::text(f.launch_at)).collect();
        assert_eq!(
            starts,
            ["05:30:00", "05:30:10", "05:30:20", "05:30:30", "05:30:40", "05:30:50"]
                .map(|time| format!("2026-01-01T{time}Z"))
        );
        assert!(plan.fires.iter().all(|f| f.trigger == Trigger::Catchup));
    }
}
