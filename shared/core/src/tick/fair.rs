//! Fairness: the order in which a tick handles due clocks. An owner with few due clocks does not
//! wait for an owner with many.

use std::collections::HashMap;

use crate::id::ScheduleId;

/// An entry of the due index: a clock that is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// The schedule of the clock.
    pub schedule_id: ScheduleId,
    /// The owner of the schedule. Empty if the index entry has no owner.
    pub owner: String,
    /// When the clock is due, as text that sorts as time does.
    pub next_run_at: String,
}

/// Orders due clocks in rounds: the first clock of every owner, then the second clock of every
/// owner, and so on. Within a round, the clock that is due the longest comes first.
pub fn order(mut due: Vec<Due>) -> Vec<ScheduleId> {
    due.sort_by(|one, other| one.next_run_at.cmp(&other.next_run_at));
    let mut turns: HashMap<&str, usize> = HashMap::new();
    let mut places: Vec<(usize, usize)> = Vec::with_capacity(due.len());
    for (place, due) in due.iter().enumerate() {
        let turn = turns.entry(&due.owner).or_default();
        places.push((*turn, place));
        *turn += 1;
    }
    drop(turns);
    places.sort_unstable();
    let mut due: Vec<_> = due.into_iter().map(|due| Some(due.schedule_id)).collect();
    places.into_iter().filter_map(|(_, place)| due[place].take()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(id: &str, owner: &str, minute: u32) -> Due {
        let next_run_at = format!("2026-01-01T00:{minute:02}:00Z");
        Due { schedule_id: id.parse().unwrap(), owner: owner.to_owned(), next_run_at }
    }

    #[track_caller]
    fn check(all: Vec<Due>, expected: &[&str]) {
        let order = order(all);
        let ids: Vec<_> = order.iter().map(ScheduleId::as_str).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn nobody_waits_for_anothers_crowd() {
        let crowd = (0..4).map(|n| due(&format!("a{n}"), "ann", 1));
        check(
            crowd.chain([due("b0", "bob", 2), due("c0", "cat", 1), due("c1", "cat", 3)]).collect(),
            &["a0", "c0", "b0", "a1", "c1", "a2", "a3"],
        );
    }

    #[test]
    fn an_owners_oldest_comes_first() {
        check(vec![due("late", "ann", 9), due("early", "ann", 1)], &["early", "late"]);
        check(Vec::new(), &[]);
    }
}
