//! Faults: what may happen to the system between any two steps, as often as the scenario allows.

use crate::state::{Feedback, Launcher, Launching, Message, Pause, Recovery, State, Status};
use crate::steps::Steps;

const FATE: &str = "fate";

impl Steps<'_> {
    pub(crate) fn faults(&mut self) {
        if self.state.faults.crashes > 0 {
            self.crashes();
        }
        self.queue_faults();
        self.stalls();
        self.silences();
    }

    /// Time, not a fault: an unrenewed lease expires.
    pub(crate) fn leases(&mut self) {
        for (fire, run) in self.state.runs.iter().enumerate() {
            let held = run.filter(|run| run.status == Status::Started && !run.lease_over);
            let Some(held) = held else { continue };
            let is_alive = self
                .state
                .launchers
                .iter()
                .flatten()
                .any(|launcher| launcher.fire == fire && launcher.fence == held.attempt);
            if !is_alive {
                self.add("time", "lease over", fire, |state| end_lease(state, fire));
            }
        }
    }

    fn crashes(&mut self) {
        let tracked = self.scenario.tracked;
        for place in 0..self.state.ticks.len() {
            if self.state.ticks[place].is_some() {
                self.add(FATE, "tick dies", None, |state| {
                    state.crash();
                    state.ticks[place] = None;
                });
            }
        }
        for place in 0..self.state.launchers.len() {
            let Some(dead) = self.state.launchers[place] else { continue };
            self.add(FATE, "launcher dies", dead.fire, |state| {
                state.crash();
                state.launchers[place] = None;
                if dead.at == Launching::Record {
                    state.running = state.running.with(dead.fire);
                    state.ambiguous[dead.fire] += 1;
                }
                if tracked && dead.at == Launching::Delete {
                    // The record does not say that the target was called.
                    state.ambiguous[dead.fire] += 1;
                }
                if let Some(message) = &mut state.messages[usize::from(dead.message)] {
                    message.visible = true;
                }
            });
        }
        if self.state.recovery != Recovery::Idle {
            self.add(FATE, "recovery dies", None, |state| {
                state.crash();
                state.recovery = Recovery::Idle;
            });
        }
        if matches!(self.state.pause, Pause::Edited | Pause::Settling { .. }) {
            self.add(FATE, "api dies, asked again", None, |state| {
                state.crash();
                state.pause = Pause::Asked;
            });
        }
        if self.state.feedback != Feedback::Idle {
            self.add(FATE, "api dies", None, |state| {
                state.crash();
                state.feedback = Feedback::Idle;
            });
        }
    }

    fn queue_faults(&mut self) {
        let tracked = self.scenario.tracked;
        for (number, message) in self.state.messages.iter().enumerate() {
            let Some(message) = *message else { continue };
            if self.state.faults.duplicates > 0 && !message.visible && !message.dead {
                self.add(FATE, "message delivered twice", message.fire, |state| {
                    state.faults.duplicates -= 1;
                    if tracked {
                        // It may be launched again when its lease expires.
                        state.ambiguous[message.fire] += 1;
                        state.unclean = true;
                    }
                    state.messages[number] = Some(Message { visible: true, ..message });
                });
            }
            if self.state.faults.losses > 0 && message.visible {
                self.add(FATE, "message lost", message.fire, |state| {
                    state.faults.losses -= 1;
                    state.unclean = true;
                    state.messages[number] = None;
                });
            }
            if self.state.faults.dead_letters > 0 && message.visible && !message.dead {
                self.add(FATE, "message given up", message.fire, |state| {
                    state.faults.dead_letters -= 1;
                    state.unclean = true;
                    state.messages[number] = Some(Message { dead: true, ..message });
                });
            }
        }
    }

    /// A launcher that is alive exceeds its lease, and its message is delivered again.
    fn stalls(&mut self) {
        if self.state.faults.stalls == 0 {
            return;
        }
        for (place, launcher) in self.state.launchers.iter().enumerate() {
            let Some(launcher) = *launcher else { continue };
            let fire = launcher.fire;
            let run = self.state.runs[fire];
            let holds = run.is_some_and(|run| {
                run.status == Status::Started && run.attempt == launcher.fence && !run.lease_over
            });
            if holds {
                self.add(FATE, "launcher outlives its lease", fire, |state| {
                    state.faults.stalls -= 1;
                    state.ambiguous[fire] += 1;
                    end_lease(state, fire);
                    state.launchers[place] = Some(Launcher { stalled: true, ..launcher });
                    if let Some(message) = &mut state.messages[usize::from(launcher.message)] {
                        message.visible = true;
                    }
                });
            }
        }
    }

    fn silences(&mut self) {
        if self.state.faults.silences == 0 || !self.scenario.tracked {
            return;
        }
        for fire in self.state.running.iter() {
            self.add(FATE, "executor never reports", fire, |state| {
                state.faults.silences -= 1;
                state.running = state.running.without(fire);
            });
        }
    }
}

impl State {
    fn crash(&mut self) {
        self.faults.crashes -= 1;
        self.unclean = true;
    }
}

fn end_lease(state: &mut State, fire: usize) {
    if let Some(run) = &mut state.runs[fire] {
        run.lease_over = true;
    }
}
