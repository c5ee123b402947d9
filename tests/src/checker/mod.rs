//! The checker: an oracle that judges a history of the system from outside.
//!
//! It knows the definitions, the acknowledged changes, the calls to executors, and the records. It
//! shares no decision with the code under test: only cron expressions are read with `belfry-cron`,
//! which has oracles of its own.

mod changes;
mod ending;
mod expected;
mod history;
mod launches;
mod overlap;
mod records;
#[cfg(test)]
mod tests;

use std::fmt;

pub use history::{
    Answer, Call, Change, Definition, Execution, History, Record, Rules, Run, Schedule, Trigger,
};

/// A violation of a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The promise.
    pub kind: Kind,
    /// What violates it.
    pub what: String,
}

/// The promises that can be violated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A fire that should have happened has no record.
    Lost,
    /// A run was launched twice without need.
    Duplicate,
    /// The ledger cannot explain a fire.
    Unexplained,
    /// A record of a fire that no definition had.
    Unexpected,
    /// More concurrent runs than the policy allows.
    Overlap,
    /// A run overtook an earlier one that waited.
    Order,
    /// A run of an old definition launched after a change was acknowledged.
    Disobeyed,
    /// A run that never ends.
    Unended,
    /// A slot held by a run that has ended.
    SlotLeaked,
    /// A record that changed in a forbidden way, or contradicts what happened.
    Record,
    /// Statistics that are not the sums of the records.
    Statistics,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.what)
    }
}

/// All violations in a history. Empty if every promise was kept.
pub fn judge(history: &History) -> Vec<Violation> {
    let mut found = Vec::new();
    for schedule in &history.schedules {
        expected::judge(history, schedule, &mut found);
        changes::judge(history, schedule, &mut found);
        launches::judge(history, schedule, &mut found);
        overlap::judge(history, schedule, &mut found);
        records::judge(history, schedule, &mut found);
        ending::judge(history, schedule, &mut found);
    }
    found
}

/// The number of fires that had to happen, for the summary.
pub fn fires(history: &History) -> usize {
    history.schedules.iter().map(|schedule| expected::required(history, schedule).len()).sum()
}

fn blame(found: &mut Vec<Violation>, kind: Kind, what: String) {
    found.push(Violation { kind, what });
}
