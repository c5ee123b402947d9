//! The API, as in `schedules/change.rs`, `schedules/settle.rs` and `api/runs.rs`: a pause until it
//! is acknowledged, and an executor's report on a tracked run.

use crate::scenario::{Mutation, Overlap};
use crate::state::{Feedback, Fires, Pause, State, Status};
use crate::steps::Steps;

const PAUSE: &str = "pause";
const FEEDBACK: &str = "feedback";

impl Steps<'_> {
    pub(crate) fn pause(&mut self) {
        let unsettled = self.scenario.broken(Mutation::PauseNotSettled);
        match self.state.pause {
            Pause::NotAsked | Pause::Acknowledged => {}
            Pause::Asked => self.add(PAUSE, "edit", None, |state| {
                if !state.clock.paused {
                    state.before = state.clock;
                    state.clock.paused = true;
                    state.clock.revision += 1;
                }
                state.pause = if unsettled { Pause::Acknowledged } else { Pause::Edited };
            }),
            Pause::Edited => self.add(PAUSE, "read unended", None, |state| {
                state.pause = Pause::Settling { left: unsettled_runs(state) };
            }),
            Pause::Settling { left } => match left.iter().next() {
                None => self.add(PAUSE, "acknowledge", None, |state| {
                    state.pause = Pause::Acknowledged;
                }),
                Some(fire) => self.add(PAUSE, "settle", fire, |state| {
                    settle(state, fire);
                    state.pause = Pause::Settling { left: left.without(fire) };
                }),
            },
        }
    }

    pub(crate) fn feedback(&mut self) {
        let queue = self.scenario.overlap == Overlap::Queue;
        match self.state.feedback {
            Feedback::Idle => {
                for fire in self.state.running.iter().filter(|_| self.scenario.tracked) {
                    self.add(FEEDBACK, "record", fire, |state| {
                        if state.finish_run(fire, None, Status::Success) {
                            state.feedback = Feedback::Read { fire };
                        } else {
                            state.running = state.running.without(fire);
                        }
                    });
                }
            }
            Feedback::Read { fire } => self.add(FEEDBACK, "read the clock", fire, |state| {
                let clock = state.clock;
                state.feedback = match clock.active.has(fire) {
                    true => Feedback::Release { fire, clock },
                    false => Feedback::Idle,
                };
            }),
            Feedback::Release { fire, clock } => self.add(FEEDBACK, "release", fire, |state| {
                state.release_slot(fire);
                state.feedback =
                    if queue { Feedback::LookForNext { fire, clock } } else { Feedback::Idle };
            }),
            Feedback::LookForNext { fire, clock } => self.add(FEEDBACK, "wake", fire, |state| {
                if let Some(next) = state.next_queued(&clock, fire) {
                    state.send(next);
                }
                state.feedback = Feedback::Idle;
            }),
        }
    }
}

fn unsettled_runs(state: &State) -> Fires {
    (0..state.runs.len()).filter(|fire| !state.has_ended(*fire)).fold(Fires::default(), Fires::with)
}

fn settle(state: &mut State, fire: usize) {
    if !state.cancel_run(fire, Status::Skipped)
        && let Some(run) = state.runs[fire].as_mut().filter(|run| !run.status.is_terminal())
    {
        run.revision = state.clock.revision;
    }
}
