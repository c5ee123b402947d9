//! Recovery, as in `recovery/mod.rs` of the engine and `next_step` of core: sweep, recover, send,
//! nudge, time out, cancel, abandon, and the dead letters.

use crate::scenario::{MAX, Mutation, Overlap, Scenario};
use crate::state::{
    Feedback, Launching, MAX_RECOVERIES, Recovery as At, RecoveryStep, Run, State, Status,
};
use crate::steps::Steps;

const WHO: &str = "recovery";

impl Steps<'_> {
    pub(crate) fn recovery(&mut self) {
        if self.scenario.broken(Mutation::RecoveryOff) {
            return;
        }
        let scenario = self.scenario;
        match self.state.recovery {
            At::Idle => {
                self.sweep();
                self.open_letters();
            }
            At::Act { fire, step, seen, clock, letter } => {
                let what = match step {
                    RecoveryStep::Leave => "leave",
                    RecoveryStep::Resend => "recover run",
                    RecoveryStep::Nudge => "nudge",
                    RecoveryStep::TimeOut => "time out",
                    RecoveryStep::Cancel => "cancel",
                    RecoveryStep::Abandon => "abandon",
                };
                let free = At::Release { fire, clock, letter };
                self.add(WHO, what, fire, |state| act(state, fire, step, seen, letter, free));
            }
            At::Send { fire, letter } => self.add(WHO, "send", fire, |state| {
                state.send(fire);
                state.recovery = rest(letter);
            }),
            At::Release { fire, clock, letter } => self.add(WHO, "release", fire, |state| {
                if clock.active.has(fire) {
                    state.release_slot(fire);
                }
                state.recovery = match scenario.overlap {
                    Overlap::Queue => At::LookForNext { fire, clock, letter },
                    _ => rest(letter),
                };
            }),
            At::LookForNext { fire, clock, letter } => {
                self.add(WHO, "look for the next", fire, |state| {
                    state.recovery = match state.next_queued(&clock, fire) {
                        Some(next) => At::Send { fire: next, letter },
                        None => rest(letter),
                    };
                });
            }
            At::Bury { letter } => self.add(WHO, "bury the letter", None, |state| {
                state.messages[usize::from(letter)] = None;
                state.recovery = At::Idle;
            }),
        }
    }

    /// Looks at runs that no function is working on, as the lost threshold ensures, and with a
    /// fault at one that is only late.
    fn sweep(&mut self) {
        let scenario = self.scenario;
        for fire in 0..scenario.fires {
            let Some(run) = self.state.runs[fire].filter(|run| !run.status.is_terminal()) else {
                continue;
            };
            let step = next_step(self.state, scenario, run);
            let is_late = |state: &State| state.faults.early > 0 && is_overdue(run);
            let lost = is_lost(self.state, scenario, fire, run);
            if !lost && !is_late(self.state) {
                continue;
            }
            self.add(WHO, "sweep", fire, |state| {
                if !lost {
                    state.faults.early -= 1;
                }
                let clock = state.clock;
                if step != RecoveryStep::Leave {
                    state.recovery = At::Act { fire, step, seen: run, clock, letter: None };
                }
            });
        }
    }

    fn open_letters(&mut self) {
        let scenario = self.scenario;
        for (number, message) in self.state.messages.iter().enumerate() {
            let Some(message) = message.filter(|message| message.dead) else { continue };
            let run = self.state.runs[message.fire].filter(|run| !run.status.is_terminal());
            if run.is_some_and(|run| run.status == Status::Started && !run.lease_over) {
                // Another receiver has it: this letter comes again later.
                continue;
            }
            self.add(WHO, "open a dead letter", message.fire, |state| {
                let letter = number as u8;
                state.recovery = match run {
                    None => At::Bury { letter },
                    Some(seen) => At::Act {
                        fire: message.fire,
                        step: next_step(state, scenario, as_lost(seen)),
                        seen,
                        clock: state.clock,
                        letter: Some(letter),
                    },
                };
            });
        }
    }
}

fn rest(letter: Option<u8>) -> At {
    letter.map_or(At::Idle, |letter| At::Bury { letter })
}

fn act(
    state: &mut State,
    fire: usize,
    step: RecoveryStep,
    seen: Run,
    letter: Option<u8>,
    free: At,
) {
    state.recovery = match step {
        RecoveryStep::Leave => rest(letter),
        RecoveryStep::Nudge => At::Send { fire, letter },
        RecoveryStep::Resend if state.recover_run(fire, seen) => At::Send { fire, letter },
        RecoveryStep::Resend => rest(letter),
        RecoveryStep::Cancel => {
            state.cancel_run(fire, Status::Skipped);
            rest(letter)
        }
        RecoveryStep::TimeOut if state.finish_run(fire, Some(seen.attempt), Status::Failed) => free,
        RecoveryStep::TimeOut => rest(letter),
        RecoveryStep::Abandon => {
            let abandoned = match seen.status {
                Status::Started => state.finish_run(fire, Some(seen.attempt), Status::Abandoned),
                _ => state.cancel_run(fire, Status::Abandoned),
            };
            if abandoned { free } else { rest(letter) }
        }
    };
}

/// Claimed and never handed over: it starts over, whatever its completion.
fn as_lost(run: Run) -> Run {
    match run.status {
        Status::Started => Run { status: Status::Enqueued, ..run },
        _ => run,
    }
}

/// `next_step` of core, after the lost threshold.
fn next_step(state: &State, scenario: &Scenario, run: Run) -> RecoveryStep {
    match run.status {
        Status::Started if state.clock.paused && !scenario.tracked => RecoveryStep::Abandon,
        Status::Started if scenario.tracked => RecoveryStep::TimeOut,
        _ if state.clock.paused => RecoveryStep::Cancel,
        Status::Queued => RecoveryStep::Nudge,
        Status::Started => RecoveryStep::Resend,
        _ if run.recoveries >= MAX_RECOVERIES => RecoveryStep::Abandon,
        _ => RecoveryStep::Resend,
    }
}

/// The lease expires long before the threshold.
fn is_overdue(run: Run) -> bool {
    run.status != Status::Started || run.lease_over
}

/// No function is going to handle it.
fn is_lost(state: &State, scenario: &Scenario, fire: usize, run: Run) -> bool {
    let has_message = state.messages.iter().flatten().any(|message| message.fire == fire);
    let has_launcher =
        state.launchers.iter().flatten().any(|launcher| {
            launcher.fire == fire || launcher.at == (Launching::Wake { next: fire })
        });
    let has_tick = state.ticks.iter().flatten().any(|tick| (tick.seen..tick.until).contains(&fire));
    let has_feedback = state.feedback != Feedback::Idle;
    let will_be_told = scenario.tracked && state.running.has(fire);
    // A waiting run is nudged again and again; the model counts only a nudge that changes
    // something.
    let waits = run.status == Status::Queued
        && !state.clock.paused
        && !state.is_turn(fire, state.clock.active, state.clock.last_claimed, MAX)
        && state.clock.active.iter().all(|holder| !state.has_ended(holder));
    !has_message
        && !has_launcher
        && !has_tick
        && !has_feedback
        && !will_be_told
        && !waits
        && is_overdue(run)
}
