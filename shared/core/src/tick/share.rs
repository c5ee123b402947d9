//! Handing over: how much of what is due one tick takes on, when it stops, and what it leaves to
//! others.
//!
//! A hand-over is a hint, not a promise. Lost, the rule's next tick finds what it named; delivered
//! twice, the conditional writes make the second worker lose every race.

use chrono::Duration;
use serde::{Deserialize, Serialize};

use crate::id::ScheduleId;
use crate::instant::Instant;

/// Work left to another tick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandOver {
    /// How many hand-overs led here from the rule's own tick.
    pub generation: u32,
    /// When the rule's tick began.
    pub ticked_at: Instant,
    /// What is to be done.
    pub share: Share,
}

/// A share of what is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Share {
    /// The rest of a shard.
    Shard(Stretch),
    /// Clocks and duties that were read and not dealt with.
    Named {
        /// Whose clocks.
        clocks: Vec<ScheduleId>,
        /// What else.
        duties: Vec<Duty>,
    },
}

/// A shard of the due index, and from where on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Which shard.
    pub shard: u32,
    /// Behind what; from its beginning if not given.
    pub after: Option<Place>,
}

/// A place in a shard of the due index: the key of the entry that was read last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// When that entry was due.
    pub next_run_at: String,
    /// Whose it was.
    pub schedule_id: String,
    /// Which part of the schedule.
    pub part: String,
}

/// Something of a schedule that is due beside its clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Duty {
    /// Whose.
    pub schedule_id: ScheduleId,
    /// What is to be done; in a message, the part of the schedule that asks for it.
    #[serde(rename = "part")]
    pub task: Task,
}

/// What a duty asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Task {
    /// Go on with the backfill of this id.
    Backfill(String),
    /// End the pause, if its time has come.
    EndPause,
}

/// What the part of a backfill begins with.
pub const BACKFILL: &str = "backfill#";
/// The part that ends a pause.
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

/// A chain of hand-overs ends here, and the rule's next tick begins a new one. Lambda stops a
/// function that calls itself through a queue after about 16.
pub const MAX_GENERATION: u32 = 12;

/// A hand-over older than this is dropped: the rule has come since and found what is left of it.
/// Without it a backlog would be worked on by every minute's chain at once.
const STALE_AFTER: Duration = Duration::seconds(60);

/// What ends an invocation in good order takes no longer.
const LONGEST_END: Duration = Duration::seconds(10);

impl HandOver {
    /// Whether another tick has looked at the same since.
    pub fn is_stale(&self, now: Instant) -> bool {
        now - self.ticked_at >= STALE_AFTER
    }

    /// Whether whoever does this may hand over in turn.
    pub fn may_continue(generation: u32) -> bool {
        generation < MAX_GENERATION
    }
}

/// When an invocation that began at `now` takes on nothing new: what it has begun then has time to
/// end before `deadline`.
pub fn stop_at(now: Instant, deadline: Instant) -> Instant {
    let end = LONGEST_END.min((deadline - now) / 3);
    deadline - end.max(Duration::zero())
}

/// Entries to read of each of `open` stretches in the next query, to come to `wanted` in all. A
/// query brings no more than `most`.
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
    fn a_third_of_a_short_time_and_ten_seconds_of_a_long_one_are_kept_for_the_end() {
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
