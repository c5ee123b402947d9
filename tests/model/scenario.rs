//! A scenario: a policy, how many of each function, which faults, and which step is broken on
//! purpose.

use crate::state::{Faults, Pause, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overlap {
    Allow,
    Skip,
    Queue,
}

/// The protocol with one step done wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    AdvanceBeforePut,
    LauncherWithoutClaim,
    SlotWithoutLimit,
    SlotWithoutFence,
    ReleaseForgotten,
    RecoveryOff,
    PauseNotSettled,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) overlap: Overlap,
    /// The executor reports when a run has ended.
    pub(crate) tracked: bool,
    pub(crate) fires: usize,
    /// Concurrent ticks; if zero, every fire was emitted before the beginning.
    pub(crate) ticks: usize,
    pub(crate) launchers: usize,
    pub(crate) pause: bool,
    pub(crate) faults: Faults,
    pub(crate) mutation: Option<Mutation>,
}

impl Scenario {
    pub(crate) fn new(name: &'static str, overlap: Overlap, faults: Faults) -> Scenario {
        Scenario {
            name,
            overlap,
            tracked: false,
            fires: 2,
            ticks: 0,
            launchers: 2,
            pause: false,
            faults,
            mutation: None,
        }
    }

    pub(crate) fn broken(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }

    pub(crate) fn first(&self) -> State {
        let pause = if self.pause { Pause::Asked } else { Pause::NotAsked };
        let mut state = State::new(self.faults, pause);
        if self.ticks == 0 {
            for fire in 0..self.fires {
                state.put_run(fire, 1);
                state.send(fire);
            }
            state.advance(0, 1, self.fires);
            state.before = state.clock;
        }
        state
    }

    /// Slots of the schedule: one, unless the policy is allow.
    pub(crate) fn has_slots(&self) -> bool {
        self.overlap != Overlap::Allow
    }
}

/// `max_concurrent`.
pub(crate) const MAX: usize = 1;
