//! The properties: what must hold in every state, and once everything is quiet.

use stateright::{Model, Property};

use crate::scenario::Scenario;
use crate::state::{Pause, Recovery, State, Status};
use crate::steps::{Step, Steps};

pub(crate) const NO_FIRE_LOST: &str = "no fire lost";
pub(crate) const ONE_LAUNCH: &str = "one launch a fire";
pub(crate) const OVERLAP_HOLDS: &str = "overlap holds";
pub(crate) const PAUSE_OBEYED: &str = "an acknowledged pause is obeyed";
pub(crate) const NO_SLOT_LEAK: &str = "no slot leaks";

/// All properties, in the order they are printed.
pub(crate) const ALL: [&str; 5] =
    [NO_FIRE_LOST, ONE_LAUNCH, OVERLAP_HOLDS, PAUSE_OBEYED, NO_SLOT_LEAK];

impl Model for Scenario {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        vec![self.first()]
    }

    fn actions(&self, state: &State, found: &mut Vec<Step>) {
        Steps::of_the_system(self, state, found);
        Steps::of_fate(self, state, found);
    }

    fn next_state(&self, _: &State, step: Step) -> Option<State> {
        Some(step.next)
    }

    fn format_action(&self, step: &Step) -> String {
        step.label.to_string()
    }

    fn properties(&self) -> Vec<Property<Scenario>> {
        vec![
            Property::always(NO_FIRE_LOST, no_fire_lost),
            Property::always(ONE_LAUNCH, one_launch),
            Property::always(OVERLAP_HOLDS, |_, state: &State| !state.overlapped),
            Property::always(PAUSE_OBEYED, |_, state: &State| !state.launched_late),
            Property::always(NO_SLOT_LEAK, no_slot_leak),
        ]
    }
}

/// No function has anything left to do.
fn is_quiet(scenario: &Scenario, state: &State) -> bool {
    let at_rest = state.ticks.iter().all(Option::is_none)
        && state.launchers.iter().all(Option::is_none)
        && state.recovery == Recovery::Idle
        && matches!(state.pause, Pause::NotAsked | Pause::Acknowledged);
    at_rest && {
        let mut steps = Vec::new();
        Steps::of_the_system(scenario, state, &mut steps);
        steps.is_empty()
    }
}

/// When everything is quiet, every fire has a run that has ended; recovery abandoned none.
fn no_fire_lost(scenario: &Scenario, state: &State) -> bool {
    let stands = |fire: usize| match state.status(fire) {
        None => state.clock.paused && fire >= state.clock.next,
        // A launcher that died before a pause leaves a run that must not be launched again.
        Some(Status::Abandoned) => state.clock.paused,
        Some(status) => status.is_terminal(),
    };
    (0..scenario.fires).all(stands) || !is_quiet(scenario, state)
}

/// A fire is launched once. Before a further call there was a moment after which it was impossible
/// to know whether the target had been called; the further call carries the same key.
fn one_launch(scenario: &Scenario, state: &State) -> bool {
    (0..scenario.fires).all(|fire| state.calls[fire] <= 1 + state.ambiguous[fire])
}

/// When everything is quiet, no slot is taken. If the function that should have released one died,
/// or its message was lost, the next fire frees it: then its run must have ended.
fn no_slot_leak(scenario: &Scenario, state: &State) -> bool {
    let stands = match state.unclean {
        false => state.clock.active.is_empty(),
        true => state.clock.active.iter().all(|fire| state.has_ended(fire)),
    };
    stands || !is_quiet(scenario, state)
}
