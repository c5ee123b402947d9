//! Units: what a fire, a tick and a recovery consume, as counted on the embedded services.
//!
//! `tests/stories/counting.rs` counts every number of this file again and fails if one is no longer
//! true. So the estimates of a dry run and of `belfry cost` match the code.

use serde::Serialize;

use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;

/// Request units of DynamoDB, for tables and indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Capacity {
    /// Read units. A consistent read of 4 KB is one unit, and an eventually consistent read is half
    /// a unit.
    pub reads: f64,
    /// Write units. A write of 1 KB is one unit.
    pub writes: f64,
}

impl Capacity {
    const fn new(reads: f64, writes: f64) -> Capacity {
        Capacity { reads, writes }
    }
}

impl std::ops::Add for Capacity {
    type Output = Capacity;

    fn add(self, more: Capacity) -> Capacity {
        Capacity::new(self.reads + more.reads, self.writes + more.writes)
    }
}

impl std::ops::Mul<f64> for Capacity {
    type Output = Capacity;

    fn mul(self, times: f64) -> Capacity {
        Capacity::new(self.reads * times, self.writes * times)
    }
}

/// What one fire consumes if no other fire of its schedule shares its tick or its second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fire {
    /// The tick: reads and advances the clock, and puts the run.
    pub tick: Capacity,
    /// The launcher: reads the schedule and claims the run. It also takes a slot and writes the
    /// outcome, if the policies require it.
    pub launch: Capacity,
    /// The report of the executor, if the run is tracked.
    pub report: Capacity,
    /// Recovery: checks the run once.
    pub recovery: Capacity,
}

impl Fire {
    /// The consumption of a fire of a schedule with a payload of `payload_bytes`.
    pub fn of(overlap: Overlap, completion: Completion, payload_bytes: usize) -> Fire {
        let spec = (payload_bytes + SPEC_BYTES).div_ceil(READ_UNIT_BYTES) as f64;
        // Taking a slot and releasing it cost one write each. Under `queue`, finding the run whose
        // turn it is costs one query each time.
        let slot = if overlap == Overlap::Allow { 0.0 } else { 1.0 };
        let turn = if overlap == Overlap::Queue { 1.0 } else { 0.0 };
        let begin = Capacity::new(1.0 + spec + turn, 1.0 + slot);
        let (launch, report) = match completion {
            Completion::OnLaunch => (begin + Capacity::new(turn, 1.0 + slot), Capacity::default()),
            // The acceptance of the target is one write more.
            Completion::Tracked => {
                let accepted = Capacity::new(0.0, 1.0);
                (begin + accepted, Capacity::new(3.0 + spec + turn, 1.0 + slot))
            }
        };
        let (tick, recovery) = (Capacity::new(0.5, 5.0), Capacity::new(1.5, 0.0));
        Fire { tick, launch, report, recovery }
    }

    /// The sum of all four parts.
    ///
    /// ```
    /// use belfry_core::{schedule::Overlap, workflow::Completion};
    /// use belfry_cost::units::Fire;
    /// assert_eq!(Fire::of(Overlap::Allow, Completion::OnLaunch, 0).total().writes, 7.0);
    /// assert_eq!(Fire::of(Overlap::Skip, Completion::Tracked, 0).total().writes, 10.0);
    /// ```
    pub fn total(&self) -> Capacity {
        self.tick + self.launch + self.report + self.recovery
    }
}

/// The number of bytes that one read unit reads.
const READ_UNIT_BYTES: usize = 4096;
/// The largest size of a spec without its payload.
const SPEC_BYTES: usize = 1024;

/// A tick without due fires: it queries every shard.
pub fn idle_tick(shards: f64) -> Capacity {
    Capacity::new(0.5 * shards, 0.0)
}

/// A recovery without any run to check: it queries every shard of the minute, reads two bookmarks
/// and moves the first of them.
pub fn idle_recovery(shards: f64) -> Capacity {
    Capacity::new(0.5 * shards + 2.0, 1.0)
}

/// The SQS requests of a recovery without dead letters.
pub const IDLE_RECOVERY_RECEIVES: f64 = 1.0;

/// Runs that the daily check adds to the sums of their schedule by one write.
pub const RUNS_ADDED: f64 = 100.0;

/// The daily check of a schedule with `fires` a day and a payload of `payload_bytes`: schedule, ledger,
/// sums, and the runs that are not in the sums, half of [`RUNS_ADDED`] on average. When they are added,
/// at most once a day, they are read once more.
pub fn check(fires: f64, payload_bytes: usize) -> Capacity {
    let spec = (payload_bytes + SPEC_BYTES).div_ceil(READ_UNIT_BYTES) as f64;
    let units = |runs: f64| (runs * RUN_BYTES / READ_UNIT_BYTES as f64).ceil().max(1.0);
    let uncounted = (units(RUNS_ADDED / 2.0 + fires) + 1.0) / 2.0;
    let (times, added) = ((fires / RUNS_ADDED).min(1.0), units(RUNS_ADDED + fires));
    Capacity::new(4.0 + spec + units(fires) + uncounted + times * added, times)
}

/// The SQS requests of a fire that shares no batch with others: send, receive, delete.
pub const MESSAGES: f64 = 3.0;

/// The events that a successful fire puts on the event bus.
pub const EVENTS: f64 = 2.0;

/// The stored size of a finished run, including the names of its attributes.
pub const RUN_BYTES: f64 = 350.0;
/// The size of a run in the sweep index.
pub const SWEEP_BYTES: f64 = 120.0;
/// The stored size of a schedule without its payload: the clock, the spec and the change log entry
/// of its creation.
pub const SCHEDULE_BYTES: f64 = 1_950.0;
/// The size of a schedule in the due index, the owner index and the workflow index.
pub const SCHEDULE_INDEX_BYTES: f64 = 300.0;
/// The bytes that DynamoDB adds to every item and to every index entry.
pub const ITEM_OVERHEAD: f64 = 100.0;

/// The number of metrics that are published every minute or at every launch.
pub const METRICS: f64 = 29.0;

/// The log in bytes of an idle tick and an idle recovery together.
pub const IDLE_LOG_BYTES: f64 = 2_000.0;
/// The log in bytes that a fire adds to an idle tick, if it shares neither its tick nor its batch.
pub const FIRE_LOG_BYTES: f64 = 1_600.0;
