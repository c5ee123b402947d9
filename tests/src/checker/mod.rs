//! The checker: an oracle that judges a history of the system from outside.
//!
//! It knows definitions and the changes that were acknowledged, what executors were asked, and the
//! records that were left behind. It shares no decision with the code under test: only cron
//! expressions are read with `belfry-cron`, which has oracles of its own.

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

/// Something that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which promise was broken.
    pub kind: Kind,
    /// By what.
    pub what: String,
}

/// A promise that can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A fire that should be has no record.
    Lost,
    /// A run was launched twice without need.
    Duplicate,
    /// The ledger cannot explain a fire.
    Unexplained,
    /// A record of a fire that no definition had.
    Unexpected,
    /// More runs at once than the policy allows.
    Overlap,
    /// A run overtook an earlier one that waited.
    Order,
    /// Something of an old definition launched after a change was acknowledged.
    Disobeyed,
    /// A run that never ends.
    Unended,
    /// A slot held by nobody.
    SlotLeaked,
    /// A record that changed as it never should, or contradicts what happened.
    Record,
    /// Statistics that do not add up.
    Statistics,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.what)
    }
}

/// Everything that is wrong with a history. Empty: every promise was kept.
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

/// The fires that had to happen, for the figures.
pub fn fires(history: &History) -> usize {
    history.schedules.iter().map(|schedule| expected::required(history, schedule).len()).sum()
}

fn blame(found: &mut Vec<Violation>, kind: Kind, what: String) {
    found.push(Violation { kind, what });
}
