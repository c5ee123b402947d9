//! Capacity: a burst of fires against the limits of the services, played through second by second.
//!
//! The tick comes at 0 and looks ahead; the first of the fires is due a minute later. Between the two
//! they have to be recorded and sent, and from then on launched.

use std::collections::VecDeque;

/// What AWS allows, as its documentation said on 2026-11-16. Table quotas can be raised on request.
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
    /// Batches a mapping begins with.
    pub mapping_start: f64,
    /// Batches a mapping adds in a minute.
    pub mapping_growth: f64,
    /// The same with provisioned pollers.
    pub provisioned_growth: f64,
    /// Batches of one provisioned poller.
    pub poller: f64,
    /// Batches of a mapping, and invocations of an account, at once.
    pub concurrency: f64,
    /// Messages received and not deleted.
    pub in_flight: f64,
}

/// The limits of an account that asked for none to be raised.
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

/// A burst, and how a deployment meets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// How many fires.
    pub fires: u64,
    /// Over how many seconds they are due.
    pub within_s: f64,
    /// `DUE_SHARDS`.
    pub shards: u32,
    /// `TICK_SHARE`.
    pub share: u64,
    /// Fires one tick records and sends in a second, with nothing in its way.
    pub tick_rate: f64,
    /// What a launcher takes for a batch of ten, targets included, in milliseconds.
    pub launch_ms: f64,
    /// Provisioned pollers of the launch queue; none: Lambda's own.
    pub pollers: u32,
    /// Write units of a launch besides those of its record: 2 for a slot.
    pub slot_writes: f64,
}

/// What a burst comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// Ticks at work at once, at most.
    pub ticks: u64,
    /// Seconds from the rule's tick until everything is recorded and sent.
    pub sent_s: f64,
    /// What kept that from being faster.
    pub sending: Bottleneck,
    /// Launchers at work at once, at most.
    pub launchers: u64,
    /// Seconds from the first fire's time until the last is launched.
    pub launched_s: f64,
    /// What kept that from being faster.
    pub launching: Bottleneck,
    /// How late the 99th of a hundred fires is, in seconds.
    pub late_p99_s: f64,
    /// How late the last is.
    pub late_max_s: f64,
    /// Memory of a tick, in megabytes: what it holds of its share, besides the program.
    pub tick_mb: f64,
    /// What all of it uses.
    pub used: Used,
}

/// Units of the services a burst uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Used {
    /// DynamoDB write units.
    pub write_units: f64,
    /// Calls to the queues: sent, received and deleted by tens.
    pub queue_calls: f64,
    /// Invocations of the tick and the launcher.
    pub invocations: f64,
    /// Seconds they run, in sum.
    pub seconds: f64,
}

/// What is used to the full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing: it is as fast as fires are due.
    None,
    /// One tick's own speed.
    Tick,
    /// How fast Lambda starts more ticks.
    TickMapping,
    /// Partitions of the due index: more shards help.
    Shards,
    /// The quota of a table or of the due index.
    TableQuota,
    /// How fast Lambda starts more launchers.
    LaunchMapping,
    /// Invocations of the account at once.
    Concurrency,
}

impl Bottleneck {
    /// In words.
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

/// The look-ahead that is safe to count on: the rule's minute.
const AHEAD_S: f64 = 60.0;
/// Write units of the due index an advance takes: the old entry goes, the new one comes.
const INDEX_WRITES: f64 = 2.0;
/// Write units of a record's launch: claimed, ended.
const LAUNCH_WRITES: f64 = 2.0;
/// Write units of a fire until it is sent: record and its index entry, clock and its index entries.
const SEND_WRITES: f64 = 2.0 + 1.0 + INDEX_WRITES;
/// Messages in one call or batch.
const BATCH: f64 = 10.0;
/// Bytes a tick holds of a clock it has read the key of, and of one it works on.
const KEY_BYTES: f64 = 200.0;
const CLOCK_BYTES: f64 = 4096.0;
/// Clocks a tick works on at once.
const AT_WORK: f64 = 400.0;
/// A part of a limit that leaves room for chance: schedules do not spread evenly.
const PART: f64 = 0.7;
/// Seconds of one step.
const STEP: f64 = 0.1;
/// A forecast that takes longer is no forecast.
const LONGEST_S: f64 = 4.0 * 3600.0;

/// The shards with which `fires` a `seconds` leave room in every partition of the due index.
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

/// Plays a burst through.
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

/// How the fires were sent.
struct Sent {
    /// How many had been, after each step.
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
        // The rule's tick begins alone; a second later its first hand-overs are received.
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

/// The fires in the order they came due.
#[derive(Default)]
struct Line {
    /// When some came due, and how many of them wait.
    waiting: VecDeque<(f64, f64)>,
    /// How late some were launched, and how many.
    late: Vec<(f64, f64)>,
}

impl Line {
    /// Launches the `count` that have waited longest.
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

    /// How late 99 of 100 fires were at most, and the last one.
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

/// What was in the way of how many fires.
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
    fn lambdas_own_pollers_ramp_too_slowly_for_a_million_and_provisioned_ones_do_not() {
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
