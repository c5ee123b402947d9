//! The launcher, as in the engine's `launcher`: judge, look, claim, take slot,
//! call, record, release, wake.

use crate::scenario::{MAX, Mutation, Overlap, Scenario};
use crate::state::{FIRES, Launcher, Launching as At, Pause, State, Status};
use crate::steps::Steps;
use crate::store::{Claim, Slot};

const WHO: &str = "launcher";

impl Steps<'_> {
    pub(crate) fn launchers(&mut self) {
        let places =
            self.state.launchers.len() - self.scenario.launchers..self.state.launchers.len();
        if let Some(idle) = places.clone().find(|place| self.state.launchers[*place].is_none()) {
            self.receive(idle);
        }
        for place in places {
            if let Some(launcher) = self.state.launchers[place] {
                self.launch(place, launcher);
            }
        }
    }

    fn receive(&mut self, place: usize) {
        for (number, message) in self.state.messages.iter().enumerate() {
            let Some(message) = *message else { continue };
            let scenario = self.scenario;
            let is_held = || {
                let run = self.state.runs[message.fire];
                let holds = |run: crate::state::Run| {
                    run.status == Status::Started
                        && run.holder == Some(number as u8)
                        && !run.lease_over
                };
                message.held && run.is_some_and(holds)
            };
            if !message.visible || message.dead || is_held() {
                continue;
            }
            self.add(WHO, "receive, judge", message.fire, |state| {
                if let Some(message) = &mut state.messages[number] {
                    message.visible = false;
                    message.held = false;
                }
                let me = Launcher {
                    message: number as u8,
                    fire: message.fire,
                    at: At::Read,
                    clock: state.clock,
                    fence: 0,
                    late: false,
                    stalled: false,
                };
                // Dying before it has judged is equivalent to not receiving.
                advance(state, scenario, place, me);
            });
        }
    }

    fn launch(&mut self, place: usize, me: Launcher) {
        let scenario = self.scenario;
        let what = match me.at {
            At::Read => "judge",
            At::Cancel => "cancel",
            At::Look => "look",
            At::FreeEnded | At::FreeForSlot { .. } => "free ended",
            At::Queue => "queue",
            At::ReadAgain => "read again",
            At::LookAgain { .. } => "look again",
            At::Claim => "claim",
            At::TakeSlot | At::TakeSlotAgain => "take slot",
            At::Skip => "skip for overlap",
            At::GiveBackAndRead | At::GiveBackForLater => "give back",
            At::Call => "call",
            At::Record => "record",
            At::IsOver => "is it over",
            At::Release | At::ReleaseRefused => "release slot",
            At::LookForNext => "look for the next",
            At::Wake { .. } => "wake",
            At::Delete => "delete message",
        };
        self.add(WHO, what, me.fire, |state| advance(state, scenario, place, me));
        if me.at == At::Call && !me.stalled && self.state.faults.refusals > 0 {
            self.add(WHO, "call, refused for now", me.fire, |state| {
                state.faults.refusals -= 1;
                state.running = state.running.without(me.fire);
                let at = match scenario.has_slots() {
                    true => At::ReleaseRefused,
                    false => At::GiveBackForLater,
                };
                state.launchers[place] = Some(Launcher { at, ..me });
            });
        }
    }
}

/// Performs the current step of a launcher.
fn advance(state: &mut State, scenario: &Scenario, place: usize, mut me: Launcher) {
    let fire = me.fire;
    let next = match me.at {
        At::Read => {
            me.clock = state.clock;
            match scenario.overlap {
                _ if state.clock.paused => At::Cancel,
                Overlap::Queue => At::Look,
                _ => At::Claim,
            }
        }
        At::Cancel => {
            state.cancel_run(fire, Status::Skipped);
            after_release(scenario)
        }
        At::Look => match state.is_turn(fire, me.clock.active, me.clock.last_claimed, MAX) {
            true => At::Claim,
            false => At::FreeEnded,
        },
        At::FreeEnded => {
            state.free_ended(me.clock.active, fire);
            At::Queue
        }
        At::Queue => {
            state.queue_run(fire);
            At::ReadAgain
        }
        At::ReadAgain => {
            let clock = state.clock;
            At::LookAgain { active: clock.active, last_claimed: clock.last_claimed }
        }
        At::LookAgain { active, last_claimed } => {
            match state.is_turn(fire, active, last_claimed, MAX) {
                true => At::Claim,
                false => At::Delete,
            }
        }
        At::Claim => match claim(state, scenario, &me) {
            Claim::Won { fence } => {
                me.fence = fence;
                me.late = state.pause == Pause::Acknowledged;
                if scenario.has_slots() { At::TakeSlot } else { At::Call }
            }
            Claim::Changed => At::Read,
            Claim::Held => return come_again(state, place, &me, true),
            Claim::Over if me.clock.active.has(fire) => At::Release,
            Claim::Busy | Claim::Over | Claim::Missing => At::Delete,
        },
        // Another launcher may have replaced it.
        At::TakeSlot | At::TakeSlotAgain | At::Call if me.stalled => {
            return come_again(state, place, &me, false);
        }
        At::TakeSlot | At::TakeSlotAgain => {
            let unlimited = scenario.broken(Mutation::SlotWithoutLimit);
            let max = if unlimited { FIRES } else { MAX };
            match state.take_slot(fire, me.clock.revision, max) {
                Slot::Taken => At::Call,
                Slot::Changed => At::GiveBackAndRead,
                Slot::Full(holders) if me.at == At::TakeSlot => At::FreeForSlot { holders },
                Slot::Full(_) => full(scenario),
            }
        }
        At::FreeForSlot { holders } => match state.free_ended(holders, fire) {
            true => At::TakeSlotAgain,
            false => full(scenario),
        },
        At::Skip => {
            state.finish_run(fire, Some(me.fence), Status::Skipped);
            At::Delete
        }
        At::GiveBackAndRead => {
            state.give_back_run(fire, me.fence);
            At::Read
        }
        At::GiveBackForLater => {
            state.give_back_run(fire, me.fence);
            return come_again(state, place, &me, false);
        }
        At::Call => {
            call(state, scenario, &me);
            if scenario.tracked { At::Delete } else { At::Record }
        }
        At::Record => record(state, scenario, &me),
        At::IsOver => match state.has_ended(fire) {
            true => At::Release,
            false => At::Delete,
        },
        At::Release => {
            state.release_slot(fire);
            after_release(scenario)
        }
        At::LookForNext => match state.next_queued(&me.clock, fire) {
            Some(next) => At::Wake { next },
            None => At::Delete,
        },
        At::Wake { next } => {
            state.send(next);
            At::Delete
        }
        At::ReleaseRefused => {
            if !me.stalled {
                state.release_slot(fire);
            }
            At::GiveBackForLater
        }
        At::Delete => {
            let number = usize::from(me.message);
            if state.messages[number].is_some_and(|message| !message.dead) {
                state.messages[number] = None;
            }
            state.launchers[place] = None;
            return;
        }
    };
    me.at = next;
    state.launchers[place] = Some(me);
}

fn claim(state: &mut State, scenario: &Scenario, me: &Launcher) -> Claim {
    if scenario.broken(Mutation::LauncherWithoutClaim)
        && let Some(run) = &mut state.runs[me.fire]
    {
        return Claim::Won { fence: run.claim(me.message) };
    }
    state.claim_run(me.fire, me.clock.revision, me.message)
}

/// The target is called. Every other run in progress at this moment overlaps with it.
fn call(state: &mut State, scenario: &Scenario, me: &Launcher) {
    let is_called = |other: &Launcher| {
        let newest = state.runs[other.fire].is_some_and(|run| run.attempt == other.fence);
        other.at == At::Record && newest
    };
    let mut beside = state.running;
    for other in state.launchers.iter().flatten().filter(|other| is_called(other)) {
        beside = beside.with(other.fire);
    }
    // An executor of tracked runs recognises a run by its key.
    let is_new = !scenario.tracked || state.calls[me.fire] == 0;
    if is_new && scenario.has_slots() && beside.without(me.fire).count() >= MAX {
        state.overlapped = true;
    }
    state.calls[me.fire] += 1;
    state.launched_late |= me.late;
    if scenario.tracked && is_new {
        state.running = state.running.with(me.fire);
    }
}

fn record(state: &mut State, scenario: &Scenario, me: &Launcher) -> At {
    let unfenced = scenario.broken(Mutation::SlotWithoutFence);
    let fence = if unfenced { None } else { Some(me.fence) };
    let ended = state.finish_run(me.fire, fence, Status::Success);
    if !scenario.has_slots() || scenario.broken(Mutation::ReleaseForgotten) {
        At::Delete
    } else if ended || unfenced {
        At::Release
    } else {
        At::IsOver
    }
}

fn after_release(scenario: &Scenario) -> At {
    if scenario.overlap == Overlap::Queue { At::LookForNext } else { At::Delete }
}

fn full(scenario: &Scenario) -> At {
    if scenario.overlap == Overlap::Queue { At::GiveBackForLater } else { At::Skip }
}

/// The message is not deleted: it is delivered again later.
fn come_again(state: &mut State, place: usize, me: &Launcher, held: bool) {
    if let Some(message) = &mut state.messages[usize::from(me.message)] {
        message.visible = true;
        message.held = held;
    }
    state.launchers[place] = None;
}
