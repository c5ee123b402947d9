//! Units: what fires, ticks and recoveries consume, as counted on the embedded services.
//!
//! `tests/stories/counting.rs` counts every number of this file anew. One that is no longer true
//! fails there, so that neither a dry run nor the cost ledger tells what the code no longer does.

use serde::Serialize;

use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;

/// Request units of DynamoDB, indexes included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Capacity {
    /// Read units: a consistent read of 4 KB is one, any other a half.
    pub reads: f64,
    /// Write units: a write of 1 KB is one.
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

/// What one fire consumes that shares neither its tick nor its second with another of its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fire {
    /// Its clock read and advanced, its run put.
    pub tick: Capacity,
    /// Schedule read, run claimed; slot and outcome where they are the launcher's.
    pub launch: Capacity,
    /// Its executor's report, if it is tracked.
    pub report: Capacity,
    /// Recovery's one look at it.
    pub recovery: Capacity,
}

impl Fire {
    /// Of a schedule with a payload of so many bytes.
    pub fn of(overlap: Overlap, completion: Completion, payload_bytes: usize) -> Fire {
        let spec = (payload_bytes + SPEC_BYTES).div_ceil(READ_UNIT_BYTES) as f64;
        // A slot is taken and given back with a write each; whose turn it is, is a query each time.
        let slot = if overlap == Overlap::Allow { 0.0 } else { 1.0 };
        let turn = if overlap == Overlap::Queue { 1.0 } else { 0.0 };
        let begin = Capacity::new(1.0 + spec + turn, 1.0 + slot);
        let (launch, report) = match completion {
            Completion::OnLaunch => (begin + Capacity::new(turn, 1.0 + slot), Capacity::default()),
            Completion::Tracked => (begin, Capacity::new(3.0 + spec + turn, 1.0 + slot)),
        };
        let (tick, recovery) = (Capacity::new(0.5, 5.0), Capacity::new(1.5, 0.0));
        Fire { tick, launch, report, recovery }
    }

    /// All of it.
    ///
    /// ```
    /// use belfry_core::{schedule::Overlap, units::Fire, workflow::Completion};
    /// assert_eq!(Fire::of(Overlap::Allow, Completion::OnLaunch, 0).total().writes, 7.0);
    /// assert_eq!(Fire::of(Overlap::Skip, Completion::Tracked, 0).total().writes, 9.0);
    /// ```
    pub fn total(&self) -> Capacity {
        self.tick + self.launch + self.report + self.recovery
    }
}

/// A read unit reads so much.
const READ_UNIT_BYTES: usize = 4096;
/// What a spec is beside its payload, at most.
const SPEC_BYTES: usize = 1024;

/// A tick with nothing due: a query of every shard.
pub fn idle_tick(shards: f64) -> Capacity {
    Capacity::new(0.5 * shards, 0.0)
}

/// A recovery with nothing to look at: a query of every shard of the minute, two bookmarks, and the
/// first of them moved.
pub fn idle_recovery(shards: f64) -> Capacity {
    Capacity::new(0.5 * shards + 2.0, 1.0)
}

/// Requests to SQS of a recovery without dead letters.
pub const IDLE_RECOVERY_RECEIVES: f64 = 1.0;

/// The daily check of a schedule with so many fires a day and a payload of so many bytes.
pub fn check(fires: f64, payload_bytes: usize) -> Capacity {
    let spec = (payload_bytes + SPEC_BYTES).div_ceil(READ_UNIT_BYTES) as f64;
    let runs = (fires * RUN_BYTES / READ_UNIT_BYTES as f64).ceil().max(1.0);
    Capacity::new(3.0 + spec + runs, 0.0)
}

/// Requests to SQS of a fire whose messages share no batch: send, receive, delete.
pub const MESSAGES: f64 = 3.0;

/// Events that a bus is told of a fire that succeeds.
pub const EVENTS: f64 = 2.0;

/// A finished run as it is stored, names of attributes included.
pub const RUN_BYTES: f64 = 350.0;
/// What a run is in the sweep index.
pub const SWEEP_BYTES: f64 = 120.0;
/// A schedule as it is stored, without its payload: clock, spec and the entry of its making.
pub const SCHEDULE_BYTES: f64 = 1_950.0;
/// What a schedule is in the due and owner indexes.
pub const SCHEDULE_INDEX_BYTES: f64 = 200.0;
/// What DynamoDB adds to every item, and to every entry of an index.
pub const ITEM_OVERHEAD: f64 = 100.0;

/// Metrics that are told every minute, or at every launch.
pub const METRICS: f64 = 29.0;

/// Bytes of log a tick with nothing due writes, and a recovery with nothing to do.
pub const IDLE_LOG_BYTES: f64 = 2_000.0;
/// Bytes of log a fire writes that shares neither tick nor batch, besides the idle tick's.
pub const FIRE_LOG_BYTES: f64 = 1_500.0;
