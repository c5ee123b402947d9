//! Steps: which function does what, and the state after it.

use std::fmt;

use crate::scenario::Scenario;
use crate::state::State;

/// A step's name, as in the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    pub(crate) who: &'static str,
    pub(crate) what: &'static str,
    pub(crate) fire: Option<usize>,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.fire {
            Some(fire) => write!(f, "{}: {}, fire {fire}", self.who, self.what),
            None => write!(f, "{}: {}", self.who, self.what),
        }
    }
}

/// A step and the state it leads to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) label: Label,
    pub(crate) next: State,
}

/// Collects the steps that are possible in a state.
pub(crate) struct Steps<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) state: &'a State,
    found: &'a mut Vec<Step>,
}

impl<'a> Steps<'a> {
    /// The steps of the system itself.
    pub(crate) fn of_the_system(scenario: &Scenario, state: &State, found: &mut Vec<Step>) {
        let mut steps = Steps { scenario, state, found };
        steps.ticks();
        steps.launchers();
        steps.recovery();
        steps.pause();
        steps.feedback();
        steps.leases();
    }

    /// The faults.
    pub(crate) fn of_fate(scenario: &Scenario, state: &State, found: &mut Vec<Step>) {
        Steps { scenario, state, found }.faults();
    }

    pub(crate) fn add(
        &mut self,
        who: &'static str,
        what: &'static str,
        fire: impl Into<Option<usize>>,
        apply: impl FnOnce(&mut State),
    ) {
        let mut next = self.state.clone();
        apply(&mut next);
        next.sort();
        // A step that changes nothing is left out.
        if next != *self.state {
            self.found.push(Step { label: Label { who, what, fire: fire.into() }, next });
        }
    }
}
