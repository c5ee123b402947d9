//! The fire protocol, explored completely: every interleaving of ticks, launchers, recovery and a
//! pause, with crashes, duplicates, lost messages and stale reads between any two steps. Then the
//! same with one step done wrong, which the properties must detect.

mod api;
mod faults;
mod launcher;
mod properties;
mod recovery;
mod scenario;
mod state;
mod steps;
mod store;
mod tick;

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model, Path};

use scenario::{Mutation, Overlap, Scenario};
use state::{Faults, State};
use steps::Step;

/// Both cores of a small machine.
const THREADS: usize = 2;
/// The depth at which the search for a mutation's counterexample ends.
const DEEPEST: usize = 30;

fn main() {
    let begun = Instant::now();
    let states: usize = scenarios().into_iter().map(hold).sum();
    println!("states explored {states}, properties held: {}", properties::ALL.join(", "));
    for (mutation, scenario, property) in mutations() {
        refuse(mutation, scenario, property);
    }
    println!("explored in {:.1} s", begun.elapsed().as_secs_f64());
}

/// The scenarios, each with as many faults as can be explored completely.
fn scenarios() -> Vec<Scenario> {
    use Overlap::{Allow, Queue, Skip};
    let none = Faults::default();
    let one = Scenario { fires: 1, ticks: 1, ..Scenario::new("", Allow, none) };
    vec![
        Scenario {
            name: "two ticks",
            ticks: 2,
            faults: Faults { crashes: 2, stale: 1, ..none },
            ..one
        },
        Scenario {
            ticks: 2,
            launchers: 1,
            ..Scenario::new("two ticks, two fires", Allow, Faults { stale: 1, ..none })
        },
        Scenario {
            name: "crashes and lost messages",
            faults: Faults { crashes: 2, duplicates: 1, losses: 1, refusals: 1, ..none },
            ..one
        },
        Scenario {
            name: "dead letters",
            faults: Faults { crashes: 1, stalls: 1, dead_letters: 1, refusals: 1, ..none },
            ..one
        },
        Scenario {
            name: "hasty recovery",
            faults: Faults { crashes: 1, duplicates: 1, early: 1, ..none },
            ..one
        },
        Scenario::new("skip", Skip, Faults { crashes: 1, duplicates: 1, refusals: 1, ..none }),
        Scenario::new("skip, slow", Skip, Faults { stalls: 1, losses: 1, refusals: 1, ..none }),
        Scenario::new("queue", Queue, Faults { crashes: 1, duplicates: 1, ..none }),
        Scenario::new("queue, slow", Queue, Faults { stalls: 1, losses: 1, ..none }),
        Scenario::new("queue, refused", Queue, Faults { refusals: 1, ..none }),
        Scenario {
            name: "pause",
            pause: true,
            faults: Faults { crashes: 1, stale: 1, ..none },
            ..one
        },
        Scenario {
            fires: 1,
            pause: true,
            ..Scenario::new(
                "pause, refused",
                Allow,
                Faults { crashes: 1, duplicates: 1, refusals: 1, ..none },
            )
        },
        Scenario {
            pause: true,
            ..Scenario::new("pause, skip", Skip, Faults { crashes: 1, ..none })
        },
        Scenario {
            pause: true,
            ..Scenario::new("pause, queue", Queue, Faults { crashes: 1, ..none })
        },
        Scenario {
            tracked: true,
            ..Scenario::new(
                "tracked, skip",
                Skip,
                Faults { crashes: 1, duplicates: 1, silences: 1, ..none },
            )
        },
        Scenario {
            tracked: true,
            ..Scenario::new(
                "tracked, queue",
                Queue,
                Faults { crashes: 1, losses: 1, silences: 1, ..none },
            )
        },
    ]
}

/// The mutations: a step done wrong, and the property that it violates.
fn mutations() -> Vec<(Mutation, Scenario, &'static str)> {
    use Overlap::{Allow, Skip};
    let none = Faults::default();
    let crash = Faults { crashes: 1, ..none };
    let allow = |faults| Scenario { ticks: 1, ..Scenario::new("", Allow, faults) };
    let skip = |faults| Scenario::new("", Skip, faults);
    let pause = Scenario { pause: true, ..allow(none) };
    vec![
        (Mutation::AdvanceBeforePut, allow(crash), properties::NO_FIRE_LOST),
        (
            Mutation::LauncherWithoutClaim,
            allow(Faults { duplicates: 1, ..none }),
            properties::ONE_LAUNCH,
        ),
        (Mutation::SlotWithoutLimit, skip(none), properties::OVERLAP_HOLDS),
        (Mutation::SlotWithoutFence, skip(Faults { stalls: 1, ..none }), properties::OVERLAP_HOLDS),
        (Mutation::ReleaseForgotten, skip(none), properties::NO_SLOT_LEAK),
        (Mutation::RecoveryOff, allow(Faults { losses: 1, ..none }), properties::NO_FIRE_LOST),
        (Mutation::PauseNotSettled, pause, properties::PAUSE_OBEYED),
    ]
}

/// Explores a scenario completely. Every property holds in every state; returns the number of
/// states.
fn hold(scenario: Scenario) -> usize {
    let name = scenario.name;
    let checker = scenario.checker().threads(THREADS).spawn_bfs().join();
    if let Some((property, path)) = checker.discoveries().into_iter().next() {
        panic!("{name}: {property} does not hold:{}", trace(path));
    }
    let states = checker.unique_state_count();
    println!("{name}: {states} states, up to {} steps", checker.max_depth() - 1);
    states
}

/// Breaks a step and expects a counterexample, the shortest there is.
fn refuse(mutation: Mutation, scenario: Scenario, property: &'static str) {
    let broken = Scenario { mutation: Some(mutation), ..scenario };
    let found = || HasDiscoveries::AnyOf([property].into());
    let within = |depth| {
        let checker = broken.checker().target_max_depth(depth).finish_when(found());
        checker.spawn_bfs().join().discovery(property)
    };
    let Some(path) = (1..DEEPEST).find_map(within) else {
        panic!("{mutation:?} was not detected in {DEEPEST} steps");
    };
    let steps = path.clone().into_actions().len();
    println!("mutation {mutation:?}: {property} is broken in {steps} steps");
    if std::env::args().any(|arg| arg == "--traces") {
        println!("{}", trace(path));
    }
}

fn trace(path: Path<State, Step>) -> String {
    path.into_actions().iter().map(|step| format!("\n  {}", step.label)).collect()
}
