//! Capacity: simulates a burst of fires in small steps of time, within the limits of the AWS
//! services.
//!
//! The tick runs at second 0 and looks ahead. The first fire is due a minute later. Within that
//! minute the fires must be recorded and sent, and from then on they are launched.

use std::collections::VecDeque;

/// The limits of AWS according to its documentation on 2026-11-16. AWS raises table quotas on
/// request.
///
/// - DynamoDB, *Quotas* and *Best practices for partition keys*: 1,000 write units a second of one
///   partition, 40,000 of an on-demand table, and of each of its indexes.
/// - Lambda, *Scaling behavior for SQS event source mappings*: 5 batches at once, 300 more a minute, at
///   most 1,000; with provisioned pollers 10 at once each, 1,000 more a minute. Account: 1,000 at once.
/// - SQS, *Standard queue quotas*: about 120,000 messages in flight; any number a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Write units a second of one partition of a table or index.
    pub partition_writes: f64,
    /// Write units a second of one table or index.
    pub table_writes: f64,
    /// Concurrent batches with which an event source mapping begins.
    pub mapping_start: f64,
    /// Concurrent batches that a mapping adds in a minute.
    pub mapping_growth: f64,
    /// Concurrent batches that a mapping with provisioned pollers adds in a minute.
    pub provisioned_growth: f64,
    /// Concurrent batches of one provisioned poller.
    pub poller: f64,
    /// Concurrent batches of a mapping, and concurrent invocations of an account.
    pub concurrency: f64,
    /// Messages that are received and not deleted yet.
    pub in_flight: f64,
}

/// The default limits of an account.
pub const AWS: Limits = Limits {
    partition_writes: 1000.0,
    table_writes: 40_000.0,
    mapping_start: 5.0,
    mapping_growth: 300.0,
    provisioned_growth: 1000.0,
    poller: 10.0,
    concurrency: 1000.0,
    in_flight: 120_000.0,
};

/// A burst of fires, and the configuration of the deployment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// The number of fires.
    pub fires: u64,
    /// The seconds over which the fires are due.
    pub within_s: f64,
    /// The number of shards of the due index (`DUE_SHARDS`).
    pub shards: u32,
    /// The most due clocks that one tick takes on (`TICK_SHARE`).
    pub share: u64,
    /// The fires that one tick records and sends in a second, if no limit slows it down.
    pub tick_rate: f64,
    /// How long a launcher takes for a batch of ten, including the targets, in milliseconds.
    pub launch_ms: f64,
    /// Provisioned pollers of the launch queue. 0 means that Lambda scales its own pollers.
    pub pollers: u32,
    /// Write units of a launch in addition to those of its record: 2 if it takes a slot.
    pub slot_writes: f64,
}

/// The result of the simulation of a burst.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The most ticks that work at the same time.
    pub ticks: u64,
    /// Seconds from the rule's tick until all fires are recorded and sent.
    pub sent_s: f64,
    /// What limits the speed of sending.
    pub sending: Bottleneck,
    /// The most launchers that work at the same time.
    pub launchers: u64,
    /// Seconds from the time of the first fire until the last fire is launched.
    pub launched_s: f64,
    /// What limits the speed of launching.
    pub launching: Bottleneck,
    /// The 99th percentile of the lateness of fires, in seconds.
    pub late_p99_s: f64,
    /// The largest lateness of a fire, in seconds.
    pub late_max_s: f64,
    /// The memory that a tick needs for its share of clocks, in megabytes, without the program
    /// itself.
    pub tick_mb: f64,
    /// The units of the services that the burst uses.
    pub used: Used,
}

/// The units of the services that a burst uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// DynamoDB write units.
    pub write_units: f64,
    /// Calls to the queues. Messages are sent, received and deleted in batches of ten.
    pub queue_calls: f64,
    /// Invocations of the tick and of the launcher.
    pub invocations: f64,
    /// The total duration of these invocations, in seconds.
    pub seconds: f64,
}

/// The resource that limits the speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing: fires are handled as fast as they come due.
    None,
    /// The speed of a single tick.
    Tick,
    /// How fast Lambda starts more ticks.
    TickMapping,
    /// The partitions of the due index. More shards help.
    Shards,
    /// The write quota of a table or of the due index.
    TableQuota,
    /// How fast Lambda starts more launchers.
    LaunchMapping,
    /// The limit of concurrent invocations of the account.
    Concurrency,
}

impl Bottleneck {
    /// The name of the bottleneck in the output of the forecast and in docs/operations.md.
    pub fn name(self) -> &'static str {
        match self {
            Bottleneck::None => "none",
            Bottleneck::Tick => "one tick's speed",
            Bottleneck::TickMapping => "ramp of the tick queue's mapping",
            Bottleneck::Shards => "partitions of the due index",
            Bottleneck::TableQuota => "quota of a table",
            Bottleneck::LaunchMapping => "ramp of the launch queue's mapping",
            Bottleneck::Concurrency => "concurrency of the account",
        }
    }
}

/// The look-ahead that is certain, in seconds: the rule starts a tick every minute.
const AHEAD_S: f64 = 60.0;
/// Write units of the due index for advancing a clock: one deletes the old entry, one puts the new
/// entry.
const INDEX_WRITES: f64 = 2.0;
/// Write units of the run record for a launch: one for the claim, one for the end.
const LAUNCH_WRITES: f64 = 2.0;
/// Write units of a fire until it is sent: the run record and its index entry, the clock and its
/// index entries.
const SEND_WRITES: f64 = 2.0 + 1.0 + INDEX_WRITES;
/// The messages in one call or batch.
const BATCH: f64 = 10.0;
/// The memory in bytes for a clock of which the tick has read only the key.
const KEY_BYTES: f64 = 200.0;
/// The memory in bytes for a clock that the tick is working on.
const CLOCK_BYTES: f64 = 4096.0;
/// The clocks that a tick works on at the same time.
const AT_WORK: f64 = 400.0;
/// The fraction of a partition's limit that a plan may use. The rest is a reserve, because
/// schedules do not spread evenly over the shards.
const PART: f64 = 0.7;
/// The seconds of one step of the simulation.
const STEP: f64 = 0.1;
/// The simulation stops after this time, in seconds.
const LONGEST_S: f64 = 4.0 * 3600.0;

/// The number of shards that `fires` within `seconds` need, with a reserve in every partition of
/// the due index.
///
/// ```
/// use belfry_cost::capacity::shards_for;
/// assert_eq!(shards_for(1_000_000, 60.0), 48);
/// assert_eq!(shards_for(100_000, 60.0), 5);
/// ```
pub fn shards_for(fires: u64, seconds: f64) -> u32 {
    let writes = fires as f64 * INDEX_WRITES / seconds.max(1.0);
    (writes / (AWS.partition_writes * PART)).ceil().clamp(1.0, 1000.0) as u32
}

/// Simulates a burst.
pub fn forecast(load: &Load, limits: &Limits) -> Forecast {
    let sent = send(load, limits);
    let launched = launch(load, limits, &sent.sent);
    let share = load.share.min(load.fires) as f64;
    let ticks = (load.fires as f64 / load.share as f64).ceil().max(1.0);
    let batches = (load.fires as f64 / BATCH).ceil();
    Forecast {
        ticks: sent.peak,
        sent_s: sent.at_s,
        sending: sent.why,
        launchers: launched.peak,
        launched_s: launched.at_s,
        launching: launched.why,
        late_p99_s: launched.late_p99_s,
        late_max_s: launched.late_max_s,
        tick_mb: (share * KEY_BYTES + share.min(AT_WORK) * CLOCK_BYTES) / 1e6,
        used: Used {
            write_units: load.fires as f64 * (SEND_WRITES + LAUNCH_WRITES + load.slot_writes),
            queue_calls: batches * 3.0 + (ticks - 1.0) * 3.0,
            invocations: ticks + batches,
            seconds: sent.busy_s + batches * load.launch_ms / 1000.0,
        },
    }
}

/// The result of sending the fires.
struct Sent {
    /// The number of fires that are sent after each step.
    sent: Vec<f64>,
    at_s: f64,
    busy_s: f64,
    peak: u64,
    why: Bottleneck,
}

fn send(load: &Load, limits: &Limits) -> Sent {
    let fires = load.fires as f64;
    let mut done = 0.0;
    let mut sent = Vec::new();
    let mut whys = Tally::default();
    let (mut peak, mut busy_s) = (0.0_f64, 0.0);
    while done < fires && sent.len() as f64 * STEP < LONGEST_S {
        let now = sent.len() as f64 * STEP;
        let wanted = ((fires - done) / load.share as f64).ceil().max(1.0);
        // The rule's tick works alone at first. A second later other ticks receive its hand-overs.
        let started = match now {
            ..1.0 => 1.0,
            _ => 1.0 + limits.mapping_start + limits.mapping_growth / 60.0 * (now - 1.0),
        };
        let ticks = wanted.min(started).min(limits.concurrency);
        let own = if wanted <= started { Bottleneck::Tick } else { Bottleneck::TickMapping };
        let (rate, why) = least(&[
            (ticks * load.tick_rate, own),
            (
                f64::from(load.shards) * limits.partition_writes / INDEX_WRITES * PART,
                Bottleneck::Shards,
            ),
            (limits.table_writes / INDEX_WRITES, Bottleneck::TableQuota),
        ]);
        let step = (rate * STEP).min(fires - done);
        whys.add(why, step);
        done += step;
        busy_s += ticks * STEP;
        peak = peak.max(ticks);
        sent.push(done);
    }
    let at_s = sent.len() as f64 * STEP;
    Sent { sent, at_s, busy_s, peak: peak as u64, why: whys.most() }
}

struct Launched {
    at_s: f64,
    late_p99_s: f64,
    late_max_s: f64,
    peak: u64,
    why: Bottleneck,
}

fn launch(load: &Load, limits: &Limits, sent: &[f64]) -> Launched {
    let fires = load.fires as f64;
    let sent_by = |now: f64| {
        let step = ((now / STEP).floor() as usize).min(sent.len().saturating_sub(1));
        sent.get(step).copied().unwrap_or(fires)
    };
    let due_by = |now: f64| match load.within_s {
        within if within > STEP => (fires * ((now - AHEAD_S) / within).clamp(0.0, 1.0)).ceil(),
        _ => fires,
    };
    let (start, growth) = match load.pollers {
        0 => (limits.mapping_start, limits.mapping_growth),
        pollers => (f64::from(pollers) * limits.poller, limits.provisioned_growth),
    };
    let mut line = Line::default();
    let mut whys = Tally::default();
    let (mut known, mut done, mut visible, mut peak) = (0.0, 0.0, 0.0, 0.0_f64);
    let mut now = AHEAD_S;
    while done < fires && now < LONGEST_S {
        let due = due_by(now + STEP);
        if due > known {
            line.waiting.push_back((now, due - known));
            known = due;
        }
        visible = known.min(sent_by(now)).max(visible);
        let backlog = (visible - done).max(0.0);
        let wanted = (backlog / BATCH).ceil();
        let started = start + growth / 60.0 * (now - AHEAD_S);
        let most = limits.concurrency.min(limits.in_flight / BATCH);
        let (at_once, why) = least(&[
            (wanted, Bottleneck::None),
            (started, Bottleneck::LaunchMapping),
            (most, Bottleneck::Concurrency),
        ]);
        let (rate, why) = least(&[
            (at_once * BATCH / (load.launch_ms / 1000.0), why),
            (limits.table_writes / LAUNCH_WRITES, Bottleneck::TableQuota),
        ]);
        let step = (rate * STEP).min(backlog);
        whys.add(why, step);
        done += step;
        peak = peak.max(at_once);
        line.launch(step, now);
        now += STEP;
    }
    let (late_p99_s, late_max_s) = line.lateness(fires);
    Launched { at_s: now - AHEAD_S, late_p99_s, late_max_s, peak: peak as u64, why: whys.most() }
}

/// The fires in the order in which they came due.
#[derive(Default)]
struct Line {
    /// Groups of waiting fires: when they came due, and how many still wait.
    waiting: VecDeque<(f64, f64)>,
    /// Groups of launched fires: how late they were, and how many.
    late: Vec<(f64, f64)>,
}

impl Line {
    /// Launches the `count` fires that have waited longest.
    fn launch(&mut self, mut count: f64, now: f64) {
        while let Some((due_at, waiting)) = self.waiting.front_mut() {
            let taken = count.min(*waiting);
            self.late.push(((now - *due_at).max(0.0), taken));
            *waiting -= taken;
            count -= taken;
            if *waiting > 1e-6 {
                break;
            }
            self.waiting.pop_front();
        }
    }

    /// The 99th percentile and the maximum of the lateness.
    fn lateness(mut self, fires: f64) -> (f64, f64) {
        self.late.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut before = 0.0;
        let p99 = self.late.iter().find(|(_, count)| {
            before += count;
            before >= fires * 0.99
        });
        let late = |found: Option<&(f64, f64)>| found.map_or(0.0, |(late, _)| *late);
        (late(p99), late(self.late.last()))
    }
}

fn least(of: &[(f64, Bottleneck)]) -> (f64, Bottleneck) {
    let least = of.iter().min_by(|one, other| one.0.total_cmp(&other.0));
    least.copied().unwrap_or((0.0, Bottleneck::None))
}

/// The number of fires that each bottleneck slowed down.
#[derive(Default)]
struct Tally(Vec<(Bottleneck, f64)>);

impl Tally {
    fn add(&mut self, why: Bottleneck, fires: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += fires,
            None => self.0.push((why, fires)),
        }
    }

    fn most(&self) -> Bottleneck {
        let most = self.0.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        most.map_or(Bottleneck::None, |(why, _)| *why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(fires: u64, shards: u32) -> Load {
        Load {
            fires,
            within_s: 60.0,
            shards,
            share: 10_000,
            tick_rate: 1000.0,
            launch_ms: 200.0,
            pollers: 0,
            slot_writes: 0.0,
        }
    }

    #[test]
    fn a_thousand_fires_are_one_tick_and_on_time() {
        let forecast = forecast(&load(1000, 8), &AWS);
        assert_eq!((forecast.ticks, forecast.sending), (1, Bottleneck::Tick));
        assert!(forecast.late_max_s < 1.0 && forecast.sent_s < 2.0, "{forecast:?}");
        assert_eq!(forecast.used.write_units, 7000.0);
    }

    #[test]
    fn few_shards_are_a_bottleneck_that_more_remove() {
        let (few, many) =
            (forecast(&load(1_000_000, 8), &AWS), forecast(&load(1_000_000, 64), &AWS));
        assert_eq!(few.sending, Bottleneck::Shards);
        assert!(few.sent_s > 300.0, "{few:?}");
        assert!(many.sent_s < 80.0 && many.sending != Bottleneck::Shards, "{many:?}");
    }

    #[test]
    fn a_million_fires_need_provisioned_pollers() {
        let own = forecast(&load(1_000_000, 64), &AWS);
        assert_eq!(own.launching, Bottleneck::LaunchMapping);
        let provisioned = forecast(&Load { pollers: 40, ..load(1_000_000, 64) }, &AWS);
        assert!(provisioned.late_p99_s < own.late_p99_s, "{provisioned:?} {own:?}");
        assert!(provisioned.late_p99_s < 10.0, "{provisioned:?}");
    }

    #[test]
    fn no_limit_is_exceeded_however_large_the_burst() {
        let all = forecast(&Load { pollers: 200, ..load(10_000_000, 1000) }, &AWS);
        assert!(all.sent_s >= 10_000_000.0 * 2.0 / 40_000.0 - 1.0, "{all:?}");
        assert!(all.ticks <= 1000 && all.launchers <= 1000);
    }
}
