//! Hand-over: how much of the due work one tick takes on, when it stops, and what it leaves to
//! other ticks.
//!
//! A hand-over is an optimisation, and correctness does not depend on it. If a hand-over is lost,
//! the next tick of the EventBridge rule finds the same work. If it is delivered twice, the
//! conditional writes make the second tick lose every race.

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::id::ScheduleId;
use crate::instant::Instant;

/// Work that one tick leaves to another tick, as a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// The number of hand-overs since the tick that the EventBridge rule started.
    pub generation: u32,
    /// When the tick that the rule started began.
    pub ticked_at: Instant,
    /// The work to do.
    pub share: Share,
}

/// A share of the due work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// The rest of a shard.
    Shard(Stretch),
    /// Clocks and duties that a tick has read and not handled.
    Named {
        /// The schedules whose clocks are due.
        clocks: Vec<ScheduleId>,
        /// Other due work of schedules.
        duties: Vec<Duty>,
    },
}

/// A shard of the due index and the position to read from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// The number of the shard.
    pub shard: u32,
    /// The last entry that was read. `None` to read from the beginning of the shard.
    pub after: Option<Place>,
}

/// A position in a shard of the due index: the key of the entry that was read last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// When that entry was due.
    pub next_run_at: String,
    /// The schedule of that entry.
    pub schedule_id: String,
    /// The part of the schedule that the entry is for, such as its clock.
    pub part: String,
}

/// Work of a schedule that is due and is not its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duty {
    /// The schedule that the work belongs to.
    pub schedule_id: ScheduleId,
    /// The work to do. In a message it is written as the part of the schedule that it belongs to.
    #[serde(rename = "part")]
    pub task: Task,
}

/// The kinds of due work besides clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Task {
    /// Continue the backfill with this id.
    Backfill(String),
    /// End the pause of the schedule, if its end has come.
    EndPause,
}

/// The prefix of the part name of a backfill.
pub const BACKFILL: &str = "backfill#";
/// The part name of the end of a pause.
pub const WAKE: &str = "wake";

impl From<String> for Task {
    fn from(part: String) -> Task {
        match part.strip_prefix(BACKFILL) {
            Some(backfill_id) => Task::Backfill(backfill_id.to_owned()),
            None => Task::EndPause,
        }
    }
}

impl From<Task> for String {
    fn from(task: Task) -> String {
        match task {
            Task::Backfill(backfill_id) => format!("{BACKFILL}{backfill_id}"),
            Task::EndPause => WAKE.to_owned(),
        }
    }
}

/// The longest chain of hand-overs. The next tick of the rule begins a new chain. Lambda stops a
/// function that calls itself through a queue after about 16 calls.
pub const MAX_GENERATION: u32 = 12;

/// A hand-over that is older than this is dropped, because the rule has started another tick since,
/// which found the remaining work. Without this limit, the chains of several minutes would work on
/// one backlog at the same time.
const STALE_AFTER: Duration = Duration::seconds(60);

/// The longest time that an invocation needs to finish the work it has begun.
const LONGEST_END: Duration = Duration::seconds(10);

impl HandOver {
    /// Whether a later tick has read the same work since.
    pub fn is_stale(&self, now: Instant) -> bool {
        now - self.ticked_at >= STALE_AFTER
    }

    /// Whether a tick of this generation may hand over work itself.
    pub fn may_continue(generation: u32) -> bool {
        generation < MAX_GENERATION
    }
}

/// The instant after which an invocation that began at `now` starts no new work. Work that is under
/// way then has time to finish before `deadline`.
pub fn stop_at(now: Instant, deadline: Instant) -> Instant {
    let end = LONGEST_END.min((deadline - now) / 3);
    deadline - end.max(Duration::zero())
}

/// The number of entries to read from each of `open` stretches in the next query, to get `wanted`
/// entries in total. A query returns at most `most` entries.
pub fn page(wanted: usize, open: usize, most: usize) -> usize {
    wanted.div_ceil(open.max(1)).clamp(1, most.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Instant {
        Instant::from_timestamp(1_767_225_600 + second, 0).unwrap()
    }

    #[test]
    fn the_end_gets_a_third_of_the_time_and_at_most_ten_seconds() {
        assert_eq!(stop_at(at(0), at(6)), at(4));
        assert_eq!(stop_at(at(0), at(60)), at(50));
        assert_eq!(stop_at(at(60), at(0)), at(0), "late from the start");
    }

    #[test]
    fn a_chain_ends_and_a_minute_too() {
        let work = HandOver {
            generation: MAX_GENERATION,
            ticked_at: at(0),
            share: Share::Shard(Stretch { shard: 3, after: None }),
        };
        assert!(!HandOver::may_continue(work.generation) && HandOver::may_continue(0));
        assert!(!work.is_stale(at(59)) && work.is_stale(at(60)));
    }

    #[test]
    fn pages_are_as_large_as_the_share_wants() {
        assert_eq!(page(10_000, 8, 1000), 1000);
        assert_eq!(page(2_000, 8, 1000), 250);
        assert_eq!(page(1, 8, 1000), 1);
        assert_eq!(page(10, 0, 1000), 10);
    }

    #[test]
    fn what_is_sent_is_read_again() {
        let place = Place {
            next_run_at: "2026-01-01T00:00:00Z".to_owned(),
            schedule_id: "s".to_owned(),
            part: "clock".to_owned(),
        };
        let duty = Duty { schedule_id: "s".parse().unwrap(), task: Task::EndPause };
        for share in [
            Share::Shard(Stretch { shard: 3, after: Some(place) }),
            Share::Named { clocks: vec!["a".parse().unwrap()], duties: vec![duty] },
        ] {
            let work = HandOver { generation: 1, ticked_at: at(0), share };
            let text = serde_json::to_string(&work).unwrap();
            assert_eq!(serde_json::from_str::<HandOver>(&text).unwrap(), work);
        }
    }
}
