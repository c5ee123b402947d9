//! The cost ledger: what a deployment costs a month at AWS, line by line, beside EventBridge
//! Scheduler at the same volume.
//!
//! Amounts come from [`units`](crate::units), which are counted, and from [`Load`], which is told.
//! What a target costs is left out on both sides.

use serde::Serialize;

use crate::prices::{Billed, Price, Prices};
use crate::units::{self, Capacity, Fire};
use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;

/// As AWS counts a month: 730 hours.
pub const MINUTES_A_MONTH: f64 = 730.0 * 60.0;
/// The same in days.
pub const DAYS_A_MONTH: f64 = 730.0 / 24.0;

/// Pollers that Lambda has on a queue where nothing happens: it starts with five.
const IDLE_POLLERS: f64 = 5.0;
/// How often such a poller asks in a minute: a long poll takes 20 seconds.
const POLLS_A_MINUTE: f64 = 3.0;
/// A message is there 0.1 to 1.1 seconds before its time, and its launcher waits for the rest.
const WAIT_MS: f64 = 600.0;
/// What Lambda writes about every invocation: its start, its end, its report.
const PLATFORM_LOG_BYTES: f64 = 400.0;
/// CloudWatch keeps log lines compressed, to about this part.
const LOG_COMPRESSION: f64 = 0.15;
const GB: f64 = 1_000_000_000.0;

/// What a deployment does in a month, and how.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Schedules there are, whether they fire or not.
    pub schedules: f64,
    /// Fires a day, of all schedules together.
    pub fires_per_day: f64,
    /// Their overlap policy.
    pub overlap_policy: Overlap,
    /// When their runs count as done.
    pub completion: Completion,
    /// Bytes of their payload.
    pub payload_bytes: usize,
    /// Fires of an owner that are due in the same second and so share messages and invocations, 1 to
    /// 250.
    pub batch: f64,
    /// Calls of the API in a month, besides executors' reports.
    pub api_calls: f64,
    /// Whether a bus is told what happens.
    pub event_bus: bool,
    /// Parts of the due index.
    pub due_shards: f64,
    /// Days a finished run is kept.
    pub run_ttl_days: f64,
    /// Days a log line is kept.
    pub log_days: f64,
    /// Alarms, each of one metric.
    pub alarms: f64,
    /// Memory of every function, in MB.
    pub memory_mb: f64,
    /// What a call of a function to DynamoDB or SQS takes, in milliseconds.
    pub call_ms: f64,
    /// What a target takes to accept a launch, in milliseconds.
    pub target_ms: f64,
}

impl Default for Load {
    /// One schedule that fires once a day, in the deployment of the template.
    fn default() -> Load {
        Load {
            schedules: 1.0,
            fires_per_day: 1.0,
            overlap_policy: Overlap::Skip,
            completion: Completion::OnLaunch,
            payload_bytes: 1024,
            batch: 1.0,
            api_calls: 0.0,
            event_bus: true,
            due_shards: 8.0,
            run_ttl_days: 90.0,
            log_days: 30.0,
            alarms: ALARMS,
            memory_mb: MEMORY_MB,
            call_ms: 10.0,
            target_ms: 100.0,
        }
    }
}

/// Alarms of the template, each of which looks at one metric.
pub const ALARMS: f64 = 22.0;
/// Dashboards of the template.
pub const DASHBOARDS: f64 = 1.0;
/// Queues of the template that Lambda polls: of launches, and of what one tick leaves to others.
pub const MAPPINGS: f64 = 2.0;
/// Secrets of the template.
pub const SECRETS: f64 = 2.0;
/// Memory of the template's functions, in MB.
pub const MEMORY_MB: f64 = 512.0;

/// A line of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What is billed.
    pub billed: Billed,
    /// What it is for.
    pub what: &'static str,
    /// Whether it is there without any fire.
    pub fixed: bool,
    /// How many of them.
    pub amount: f64,
    /// US dollars a month.
    pub usd: f64,
    /// The same beyond what is free in every account.
    pub usd_beyond_free: f64,
}

/// What a deployment costs a month.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// Fires in a month.
    pub fires: f64,
    /// Line by line.
    pub lines: Vec<Line>,
    /// All lines, US dollars a month.
    pub total: f64,
    /// The same beyond what is free in every account.
    pub total_beyond_free: f64,
    /// What is there without any fire.
    pub fixed: f64,
    /// What a million fires add.
    pub per_million_fires: f64,
    /// EventBridge Scheduler, as many invocations.
    pub scheduler: f64,
    /// The same beyond its free ones.
    pub scheduler_beyond_free: f64,
    /// What a million invocations of EventBridge Scheduler cost.
    pub scheduler_per_million: f64,
}

impl Load {
    /// The bill of a month.
    pub fn bill(&self, prices: &Prices) -> Bill {
        let fires = self.fires_per_day * DAYS_A_MONTH;
        let mut lines = Lines { prices, used: vec![0.0; prices.rows.len()], lines: Vec::new() };
        self.tables(&mut lines, fires);
        self.queue(&mut lines, fires);
        self.functions(&mut lines, fires);
        self.doors(&mut lines, fires);
        self.watching(&mut lines, fires);
        lines.add(Billed::Secrets, "signing and run token keys", true, SECRETS);
        let lines = lines.lines;
        let sum = |of: &dyn Fn(&Line) -> f64| lines.iter().map(of).sum::<f64>();
        let total = sum(&|line| line.usd);
        let fixed = sum(&|line| if line.fixed { line.usd } else { 0.0 });
        let scheduler = prices.row(Billed::SchedulerInvocations);
        Bill {
            fires,
            total,
            total_beyond_free: sum(&|line| line.usd_beyond_free),
            fixed,
            per_million_fires: per_million(total - fixed, fires),
            scheduler: scheduler.of(fires),
            scheduler_beyond_free: scheduler.of((fires - scheduler.free).max(0.0)),
            scheduler_per_million: scheduler.of(1_000_000.0),
            lines,
        }
    }

    fn tables(&self, lines: &mut Lines<'_>, fires: f64) {
        let fire = Fire::of(self.overlap_policy, self.completion, self.payload_bytes).total();
        let each = self.fires_per_day / self.schedules.max(1.0);
        let checks = self.schedules * DAYS_A_MONTH;
        let check = units::check(each, self.payload_bytes) * checks;
        let tick = units::idle_tick(self.due_shards) * MINUTES_A_MONTH;
        let recovery = units::idle_recovery(self.due_shards) * MINUTES_A_MONTH;
        lines.units("fires", false, fire * fires);
        lines.units("idle ticks", true, tick);
        lines.units("idle recovery", true, recovery);
        lines.units("daily check of every ledger", true, check);
        let runs = self.fires_per_day * self.run_ttl_days;
        let run_bytes = runs * (units::RUN_BYTES + units::ITEM_OVERHEAD);
        let index_bytes = runs * (units::SWEEP_BYTES + units::ITEM_OVERHEAD);
        // A clock, a spec and an entry of the change log; the first two have an index entry each.
        let schedule = units::SCHEDULE_BYTES + self.payload_bytes as f64;
        let schedules = self.schedules * (schedule + 3.0 * units::ITEM_OVERHEAD);
        let due = units::SCHEDULE_INDEX_BYTES + 2.0 * units::ITEM_OVERHEAD;
        let storage = Billed::TableStorage;
        lines.add(storage, "schedules, stored", true, (schedules + self.schedules * due) / GB);
        lines.add(storage, "runs, stored for their days", false, (run_bytes + index_bytes) / GB);
        lines.add(Billed::PointInTimeRecovery, "schedules, backed up", true, schedules / GB);
        lines.add(Billed::PointInTimeRecovery, "runs, backed up", false, run_bytes / GB);
    }

    fn queue(&self, lines: &mut Lines<'_>, fires: f64) {
        let messages = units::MESSAGES * fires / self.batch;
        lines.add(Billed::QueueRequests, "send, receive, delete", false, messages);
        lines.add(Billed::FairQueueRequests, "the same, for the owner's group", false, messages);
        let polls = MAPPINGS * IDLE_POLLERS * POLLS_A_MINUTE * MINUTES_A_MONTH;
        lines.add(Billed::QueueRequests, "empty receives of the mappings", true, polls);
        let looks = units::IDLE_RECOVERY_RECEIVES * MINUTES_A_MONTH;
        lines.add(Billed::QueueRequests, "looks at the dead letters", true, looks);
    }

    fn functions(&self, lines: &mut Lines<'_>, fires: f64) {
        let reports = self.reports(fires);
        let launches = fires / self.batch;
        let calls = self.api_calls + reports;
        lines.add(Billed::Invocations, "tick and recovery", true, 2.0 * MINUTES_A_MONTH);
        lines.add(Billed::Invocations, "launcher", false, launches);
        lines.add(Billed::Invocations, "api", false, calls);
        // Calls one after the other; those side by side count once.
        let gigabytes = self.memory_mb / 1024.0;
        let seconds = |round_trips: f64| gigabytes * round_trips * self.call_ms / 1000.0;
        let idle = seconds(1.0) + seconds(5.0);
        lines.add(Billed::GigabyteSeconds, "tick and recovery", true, idle * MINUTES_A_MONTH);
        let busy = fires.min(MINUTES_A_MONTH) * (seconds(4.0) + seconds(2.0));
        lines.add(Billed::GigabyteSeconds, "the same with fires", false, busy);
        let slots = if self.overlap_policy == Overlap::Allow { 0.0 } else { 2.0 };
        let waits = gigabytes * (WAIT_MS + self.target_ms) / 1000.0;
        let launch = launches * (seconds(3.0 + slots) + waits);
        lines.add(Billed::GigabyteSeconds, "launcher, its wait for the second", false, launch);
        lines.add(Billed::GigabyteSeconds, "api", false, calls * seconds(4.0));
    }

    fn doors(&self, lines: &mut Lines<'_>, fires: f64) {
        let reports = self.reports(fires);
        lines.add(Billed::GatewayCalls, "executors' reports", false, reports);
        lines.add(Billed::GatewayCalls, "calls of the API", false, self.api_calls);
        let events = if self.event_bus { units::EVENTS * fires } else { 0.0 };
        lines.add(Billed::BusEvents, "events of runs", false, events);
    }

    fn watching(&self, lines: &mut Lines<'_>, fires: f64) {
        lines.add(Billed::CustomMetrics, "metrics", true, units::METRICS);
        lines.add(Billed::AlarmMetrics, "alarms", true, self.alarms);
        lines.add(Billed::Dashboards, "dashboard", true, DASHBOARDS);
        let idle = units::IDLE_LOG_BYTES + 2.0 * PLATFORM_LOG_BYTES;
        let idle = idle * MINUTES_A_MONTH / GB;
        let calls = fires / self.batch + self.reports(fires) + self.api_calls;
        let busy = (fires * units::FIRE_LOG_BYTES + calls * PLATFORM_LOG_BYTES) / GB;
        lines.add(Billed::LogIngestion, "log of idle calls", true, idle);
        lines.add(Billed::LogIngestion, "log of fires and calls", false, busy);
        let kept = LOG_COMPRESSION * self.log_days / DAYS_A_MONTH;
        lines.add(Billed::LogStorage, "the first, compressed", true, idle * kept);
        lines.add(Billed::LogStorage, "the second, compressed", false, busy * kept);
    }

    /// Reports that come over the API.
    fn reports(&self, fires: f64) -> f64 {
        match self.completion {
            Completion::OnLaunch => 0.0,
            Completion::Tracked => fires,
        }
    }
}

/// Lines so far, and how much of each thing they used.
struct Lines<'a> {
    prices: &'a Prices,
    used: Vec<f64>,
    lines: Vec<Line>,
}

impl Lines<'_> {
    fn units(&mut self, what: &'static str, fixed: bool, units: Capacity) {
        self.add(Billed::WriteUnits, what, fixed, units.writes);
        self.add(Billed::ReadUnits, what, fixed, units.reads);
    }

    /// A line, unless there is nothing to tell. What is free goes to whom comes first.
    fn add(&mut self, billed: Billed, what: &'static str, fixed: bool, amount: f64) {
        if amount <= 0.0 {
            return;
        }
        let price: &Price = self.prices.row(billed);
        let used = &mut self.used[billed as usize];
        let before = (*used - price.free).max(0.0);
        *used += amount;
        let beyond = (*used - price.free).max(0.0) - before;
        self.lines.push(Line {
            billed,
            what,
            fixed,
            amount,
            usd: price.of(amount),
            usd_beyond_free: price.of(beyond),
        });
    }
}

/// Dollars a month as dollars for a million fires; nothing if there are none.
pub fn per_million(usd: f64, fires: f64) -> f64 {
    if fires > 0.0 { usd / fires * 1_000_000.0 } else { 0.0 }
}

/// What runs add to a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunCost {
    /// Tables.
    pub dynamodb: f64,
    /// Queue.
    pub sqs: f64,
    /// Launcher.
    pub lambda: f64,
    /// Events.
    pub eventbridge: f64,
    /// Logs.
    pub cloudwatch: f64,
    /// All of it.
    pub total: f64,
    /// Where these prices hold.
    pub region: String,
    /// When they were read.
    pub as_of: String,
}

/// What so many runs a month of one schedule add to a bill at most, to a hundredth of a cent.
pub fn of_runs(runs: f64, overlap_policy: Overlap, payload_bytes: usize) -> RunCost {
    let prices = Prices::default();
    let fires_per_day = runs / DAYS_A_MONTH;
    let load = Load { fires_per_day, overlap_policy, payload_bytes, ..Load::default() };
    let bill = load.bill(&prices);
    let rounded = |usd: f64| (usd * 10_000.0).round() / 10_000.0;
    let of = |service: &str| {
        let lines = bill.lines.iter().filter(|line| !line.fixed);
        let lines = lines.filter(|line| prices.row(line.billed).service == service);
        lines.map(|line| line.usd).sum::<f64>()
    };
    let (dynamodb, sqs) = (of("DynamoDB"), of("SQS"));
    let (lambda, eventbridge, cloudwatch) = (of("Lambda"), of("EventBridge"), of("CloudWatch"));
    RunCost {
        dynamodb: rounded(dynamodb),
        sqs: rounded(sqs),
        lambda: rounded(lambda),
        eventbridge: rounded(eventbridge),
        cloudwatch: rounded(cloudwatch),
        total: rounded(dynamodb + sqs + lambda + eventbridge + cloudwatch),
        region: prices.region,
        as_of: prices.as_of,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bill(load: &Load) -> Bill {
        load.bill(&Prices::default())
    }

    #[test]
    fn a_bill_is_the_sum_of_its_lines_and_fires_are_what_makes_it_grow() {
        let idle = bill(&Load { fires_per_day: 0.0, ..Load::default() });
        assert!(idle.lines.iter().all(|line| line.fixed), "{:#?}", idle.lines);
        assert_eq!((idle.fixed, idle.per_million_fires), (idle.total, 0.0));
        let busy = |fires_per_day| bill(&Load { fires_per_day, ..Load::default() });
        let (some, more) = (busy(100_000.0), busy(200_000.0));
        let sum: f64 = some.lines.iter().map(|line| line.usd).sum();
        assert!((some.total - sum).abs() < 1e-9);
        // The daily check reads what was fired; all else that is fixed is what it was.
        assert!(some.fixed - idle.fixed < 0.1 && some.fixed >= idle.fixed);
        let grown = (more.total - more.fixed) / (some.total - some.fixed);
        assert!((1.9..=2.0).contains(&grown), "{grown}");
    }

    #[test]
    fn what_is_free_is_taken_off_once() {
        let prices = Prices::default();
        let bill = bill(&Load { fires_per_day: 1_000_000.0, ..Load::default() });
        for row in &prices.rows {
            let of = |line: &&Line| line.billed == row.billed;
            let amount: f64 = bill.lines.iter().filter(of).map(|line| line.amount).sum();
            let beyond: f64 = bill.lines.iter().filter(of).map(|line| line.usd_beyond_free).sum();
            let expected = row.of((amount - row.free).max(0.0));
            assert!((beyond - expected).abs() < 1e-6, "{row:?}: {beyond} {expected}");
        }
        assert!(bill.total_beyond_free < bill.total);
    }

    #[test]
    fn eventbridge_scheduler_is_reckoned_with_its_free_invocations() {
        let fires = |fires_per_day| bill(&Load { fires_per_day, ..Load::default() });
        let few = fires(14_000_000.0 / DAYS_A_MONTH);
        assert!((few.scheduler - 14.0).abs() < 1e-6 && few.scheduler_beyond_free < 1e-6);
        let many = fires(15_000_000.0 / DAYS_A_MONTH);
        assert!((many.scheduler_beyond_free - 1.0).abs() < 1e-6);
        assert!(many.per_million_fires > many.scheduler_per_million, "we are dearer, and say so");
    }

    #[test]
    fn tracked_runs_pay_for_their_reports_and_a_bus_for_its_events() {
        let lines = |load: Load| bill(&load).lines.into_iter().map(|line| line.billed);
        let has = |load: Load, billed| lines(load).any(|b| b == billed);
        let tracked = Load { completion: Completion::Tracked, ..Load::default() };
        assert!(has(tracked, Billed::GatewayCalls));
        assert!(!has(Load::default(), Billed::GatewayCalls));
        assert!(has(Load::default(), Billed::BusEvents));
        assert!(!has(Load { event_bus: false, ..Load::default() }, Billed::BusEvents));
    }

    #[test]
    fn a_minutely_schedule_adds_cents_and_no_runs_add_nothing() {
        let cost = of_runs(43_800.0, Overlap::Skip, 2);
        assert!(cost.total > 0.3 && cost.total < 1.0, "{cost:?}");
        let parts = cost.dynamodb + cost.sqs + cost.lambda + cost.eventbridge + cost.cloudwatch;
        assert!((cost.total - parts).abs() < 0.0003);
        assert_eq!(of_runs(0.0, Overlap::Skip, 2).total, 0.0);
    }
}
