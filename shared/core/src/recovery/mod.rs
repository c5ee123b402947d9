//! Recovery: finds orphans, which are runs that no process is working on. A run is an orphan if and
//! only if one of two conditions holds: its launch is overdue by more than the lost threshold, or
//! its launcher's lease is over and no executor has the run.
//!
//! A started run with a lease belongs to its launcher. When the target has accepted the run, the
//! lease is removed and the run belongs to its executor, until it ends or its time is over.

pub mod check;

use chrono::Duration;

use crate::instant::Instant;
use crate::run::{Reason, Run, Status};

/// The limits of recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A run is lost if no launcher takes it for this long.
    pub lost_after: Duration,
    /// The most times that a lost run is sent again.
    pub max_attempts: u32,
    /// A run whose time is further in the past than this is not sent again.
    pub max_age: Duration,
    /// How long an executor may take if the schedule has no `max_runtime_s`.
    pub max_runtime: Duration,
}

/// The state of the run's schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// The schedule exists and is not paused.
    Running {
        /// The schedule's own limit, if it has one.
        max_runtime: Option<Duration>,
    },
    /// The schedule is paused. Runs that have not launched will not launch, and launched runs
    /// continue.
    Paused {
        /// The schedule's own limit, if it has one.
        max_runtime: Option<Duration>,
    },
    /// The schedule does not exist any more.
    Deleted,
}

/// What recovery does with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Do nothing, and do not check the run again.
    Leave,
    /// Check the run again at this time.
    LookAgain(Instant),
    /// The run is lost: send it again.
    Resend,
    /// The run was missed in an outage and is caught up, starting at this time.
    CatchUp(Instant),
    /// The run waits for earlier runs: check again whether it may start.
    Nudge,
    /// The run took too long: set it to FAILED.
    TimeOut,
    /// The run will not launch: record the reason.
    Cancel(Reason),
    /// All attempts are used up, or the run is too old: set it to ABANDONED and raise an alarm.
    Abandon,
}

/// Decides what recovery does with `run`, whose nominal time is `run_at`.
pub fn next_step(
    run: &Run,
    run_at: Instant,
    setting: Setting,
    now: Instant,
    limits: &Limits,
) -> Step {
    match run.status {
        _ if run.status.is_terminal() => Step::Leave,
        Status::Started => started(run, run_at, setting, now, limits),
        _ => match setting {
            Setting::Paused { .. } => Step::Cancel(Reason::Paused),
            Setting::Deleted => Step::Cancel(Reason::Deleted),
            Setting::Running { .. } if run.status == Status::Queued => Step::Nudge,
            Setting::Running { .. } => {
                let lost_at = last_touched(run) + limits.lost_after;
                if now < lost_at {
                    Step::LookAgain(lost_at)
                } else {
                    lost(run, run_at, now, limits)
                }
            }
        },
    }
}

fn started(run: &Run, run_at: Instant, setting: Setting, now: Instant, limits: &Limits) -> Step {
    let (ends_at, step) = match (run.lease_until, setting) {
        // A healthy launcher ends its run within the lease. If the launcher crashed, the queue
        // delivers the message again. Only if that did not help either, the run is lost.
        (Some(lease), Setting::Running { .. }) => {
            (lease + limits.lost_after, lost(run, run_at, now, limits))
        }
        // It is unknown whether the target has the run, and nothing may launch it again.
        (Some(lease), Setting::Paused { .. } | Setting::Deleted) => {
            (lease + limits.lost_after, Step::Abandon)
        }
        (None, Setting::Running { max_runtime } | Setting::Paused { max_runtime }) => {
            (limit(run, max_runtime, limits), Step::TimeOut)
        }
        // The time limit of the run was deleted together with its schedule.
        (None, Setting::Deleted) => (limit(run, None, limits), Step::TimeOut),
    };
    if now < ends_at { Step::LookAgain(ends_at) } else { step }
}

/// When the time of a run is over that its target has accepted.
pub fn limit(run: &Run, max_runtime: Option<Duration>, limits: &Limits) -> Instant {
    run.started_at.unwrap_or(run.launch_at) + max_runtime.unwrap_or(limits.max_runtime)
}

fn lost(run: &Run, run_at: Instant, now: Instant, limits: &Limits) -> Step {
    let attempts = run.recovery.as_ref().map_or(0, |recovery| recovery.attempts);
    let too_old = now - run_at.max(run.enqueued_at) > limits.max_age;
    if attempts >= limits.max_attempts || too_old { Step::Abandon } else { Step::Resend }
}

/// The last time at which an unlaunched run was due, recorded or sent again. A run between two
/// attempts is due at the next one.
fn last_touched(run: &Run) -> Instant {
    let recovered = run.recovery.as_ref().map(|recovery| recovery.recovery_attempt_time);
    let later = [recovered, run.retry_at].into_iter().flatten();
    later.fold(run.launch_at.max(run.enqueued_at), Instant::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Recovery, Trigger};

    const RUNNING: Setting = Setting::Running { max_runtime: None };

    fn at(text: &str) -> Instant {
        format!("2026-01-01T{text}Z").parse().unwrap()
    }

    fn limits() -> Limits {
        Limits {
            lost_after: Duration::minutes(5),
            max_attempts: 3,
            max_age: Duration::hours(24),
            max_runtime: Duration::hours(20),
        }
    }

    fn run(status: Status) -> Run {
        let trigger = Trigger::Schedule("0 2 * * *".to_owned());
        let id = "nightly@2026-01-01T02:00:00Z".parse().unwrap();
        Run { status, ..Run::planned(id, trigger, "ann", 1, at("02:00:00"), at("01:59:00")) }
    }

    #[track_caller]
    fn check(run: &Run, setting: Setting, now: &str, expected: Step) {
        assert_eq!(next_step(run, at("02:00:00"), setting, at(now), &limits()), expected);
    }

    #[test]
    fn a_run_is_lost_when_nobody_launched_it_in_time() {
        let run = run(Status::Enqueued);
        check(&run, RUNNING, "02:04:59", Step::LookAgain(at("02:05:00")));
        check(&run, RUNNING, "02:05:00", Step::Resend);
    }

    #[test]
    fn a_run_between_two_attempts_is_not_lost() {
        let waiting = Run { retry_at: Some(at("02:14:30")), ..run(Status::Enqueued) };
        check(&waiting, RUNNING, "02:05:00", Step::LookAgain(at("02:19:30")));
        check(&waiting, RUNNING, "02:19:29", Step::LookAgain(at("02:19:30")));
        check(&waiting, RUNNING, "02:19:30", Step::Resend);
        let recovery = Some(Recovery { attempts: 3, recovery_attempt_time: at("02:05:00") });
        let often = Run { recovery, ..waiting };
        check(&often, RUNNING, "02:15:00", Step::LookAgain(at("02:19:30")));
        check(&often, RUNNING, "02:19:30", Step::Abandon);
    }

    #[test]
    fn a_recovered_run_gets_time_and_then_another_attempt_and_then_none() {
        let recovered = |attempts| {
            let recovery = Recovery { attempts, recovery_attempt_time: at("02:05:00") };
            Run { recovery: Some(recovery), ..run(Status::Enqueued) }
        };
        check(&recovered(1), RUNNING, "02:09:00", Step::LookAgain(at("02:10:00")));
        check(&recovered(2), RUNNING, "02:10:00", Step::Resend);
        check(&recovered(3), RUNNING, "02:10:00", Step::Abandon);
    }

    #[test]
    fn a_run_too_old_is_abandoned() {
        let old =
            Run { enqueued_at: at("02:00:00") - Duration::hours(30), ..run(Status::Enqueued) };
        let step = next_step(&old, old.enqueued_at, RUNNING, at("02:10:00"), &limits());
        assert_eq!(step, Step::Abandon);
    }

    #[test]
    fn what_a_paused_or_deleted_schedule_has_not_launched_is_cancelled() {
        let paused = Setting::Paused { max_runtime: None };
        check(&run(Status::Enqueued), paused, "02:05:00", Step::Cancel(Reason::Paused));
        check(&run(Status::Queued), Setting::Deleted, "02:05:00", Step::Cancel(Reason::Deleted));
    }

    #[test]
    fn what_a_paused_or_deleted_schedule_has_launched_ends_some_day() {
        let accepted = Run { started_at: Some(at("02:00:00")), ..run(Status::Started) };
        let paused = Setting::Paused { max_runtime: Some(Duration::hours(1)) };
        check(&accepted, paused, "03:00:00", Step::TimeOut);
        check(&accepted, Setting::Deleted, "21:59:59", Step::LookAgain(at("22:00:00")));
        check(&accepted, Setting::Deleted, "22:00:00", Step::TimeOut);
        let claimed = Run { lease_until: Some(at("02:01:00")), ..accepted };
        for setting in [paused, Setting::Deleted] {
            check(&claimed, setting, "02:05:59", Step::LookAgain(at("02:06:00")));
            check(&claimed, setting, "02:06:00", Step::Abandon);
        }
    }

    #[test]
    fn a_launcher_that_died_after_the_queue_gave_up_is_replaced() {
        let lease_until = Some(at("02:01:00"));
        let started = Run { lease_until, started_at: Some(at("02:00:00")), ..run(Status::Started) };
        check(&started, RUNNING, "02:05:59", Step::LookAgain(at("02:06:00")));
        check(&started, RUNNING, "02:06:00", Step::Resend);
        let recovery = Recovery { attempts: 3, recovery_attempt_time: at("02:00:00") };
        let again = Run { recovery: Some(recovery), ..started };
        check(&again, RUNNING, "02:06:00", Step::Abandon);
    }

    #[test]
    fn an_accepted_run_may_take_as_long_as_it_was_given() {
        let accepted = Run { started_at: Some(at("02:00:00")), ..run(Status::Started) };
        let hour = Setting::Running { max_runtime: Some(Duration::hours(1)) };
        check(&accepted, hour, "02:59:59", Step::LookAgain(at("03:00:00")));
        check(&accepted, hour, "03:00:00", Step::TimeOut);
        check(&accepted, RUNNING, "21:59:59", Step::LookAgain(at("22:00:00")));
        check(&accepted, RUNNING, "22:00:00", Step::TimeOut);
    }

    #[test]
    fn a_terminal_run_is_left_alone() {
        for status in [Status::Success, Status::Failed, Status::Skipped, Status::Abandoned] {
            check(&run(status), Setting::Deleted, "09:00:00", Step::Leave);
        }
    }
}
