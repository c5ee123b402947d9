//! The cost model: what a deployment costs a month at AWS, line by line, compared with EventBridge
//! Scheduler at the same volume.
//!
//! Amounts come from [`units`](crate::units), which are measured, and from [`Load`], which the
//! caller gives. The cost of the targets is not included on either side.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::prices::{Billed, Price, Prices};
use crate::units::{self, Capacity, Fire};
use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;

/// The minutes of a month as AWS counts it: 730 hours.
pub const MINUTES_A_MONTH: f64 = 730.0 * 60.0;
/// The days of a month of 730 hours.
pub const DAYS_A_MONTH: f64 = 730.0 / 24.0;

/// The pollers of Lambda on an idle queue: it starts with five.
const IDLE_POLLERS: f64 = 5.0;
/// How often an idle poller receives in a minute: a long poll takes 20 seconds.
const POLLS_A_MINUTE: f64 = 3.0;
/// How long a launcher waits on average. A message arrives 0.1 to 1.1 seconds before the time of
/// its fire, and the launcher waits for that time.
const WAIT_MS: f64 = 600.0;
/// The log in bytes that Lambda writes about every invocation: start, end and report.
const PLATFORM_LOG_BYTES: f64 = 400.0;
/// The size of compressed log lines, as a fraction of the original. CloudWatch stores them
/// compressed.
const LOG_COMPRESSION: f64 = 0.15;
const GB: f64 = 1_000_000_000.0;

/// The load of a deployment in a month, and its configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// The number of schedules, including those that do not fire.
    pub schedules: f64,
    /// The fires a day of all schedules together.
    pub fires_per_day: f64,
    /// The overlap policy of the schedules.
    pub overlap_policy: Overlap,
    /// When runs count as done.
    pub completion: Completion,
    /// The size of a payload in bytes.
    pub payload_bytes: usize,
    /// How many fires of one owner are due in the same second, 1 to 250. They share messages and
    /// invocations.
    pub batch: f64,
    /// The API calls in a month, without the reports of executors.
    pub api_calls: f64,
    /// Whether Belfry puts events on an event bus.
    pub event_bus: bool,
    /// The number of shards of the due index.
    pub due_shards: f64,
    /// The days for which a finished run is kept.
    pub run_ttl_days: f64,
    /// The days for which a log line is kept.
    pub log_days: f64,
    /// The number of alarms. Each looks at one metric.
    pub alarms: f64,
    /// The memory of every function, in MB.
    pub memory_mb: f64,
    /// How long a call from a function to DynamoDB or SQS takes, in milliseconds.
    pub call_ms: f64,
    /// How long a target takes to accept a launch, in milliseconds.
    pub target_ms: f64,
}

impl Default for Load {
    /// One schedule that fires once a day, in a deployment with the defaults of the template.
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

/// The number of alarms in the template. Each looks at one metric.
pub const ALARMS: f64 = 23.0;
/// The number of dashboards in the template.
pub const DASHBOARDS: f64 = 1.0;
/// The number of queues in the template that Lambda polls: the launch queue and the queue of tick
/// hand-overs.
pub const MAPPINGS: f64 = 2.0;
/// The number of secrets in the template.
pub const SECRETS: f64 = 2.0;
/// The memory of the functions in the template, in MB.
pub const MEMORY_MB: f64 = 512.0;

/// One line of a bill.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// What AWS bills.
    pub billed: Billed,
    /// What Belfry uses it for.
    pub what: &'static str,
    /// Whether the line also exists without any fire.
    pub fixed: bool,
    /// The amount, in the unit of the price.
    pub amount: f64,
    /// The cost in US dollars a month.
    pub usd: f64,
    /// The cost without the amount that is free in every account.
    pub usd_beyond_free: f64,
}

/// What a deployment costs in a month.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bill {
    /// The fires in a month.
    pub fires: f64,
    /// The lines of the bill.
    pub lines: Vec<Line>,
    /// The sum of all lines, in US dollars a month.
    pub total: f64,
    /// The sum without the amounts that are free in every account.
    pub total_beyond_free: f64,
    /// The cost without any fire.
    pub fixed: f64,
    /// The cost that a million fires add.
    pub per_million_fires: f64,
    /// The cost of EventBridge Scheduler for the same number of invocations.
    pub scheduler: f64,
    /// The cost of EventBridge Scheduler without its free invocations.
    pub scheduler_beyond_free: f64,
    /// The cost of a million invocations of EventBridge Scheduler.
    pub scheduler_per_million: f64,
}

impl Load {
    /// The bill of this load for a month.
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
        // A schedule is a clock, a spec and an entry of the change log. The clock has
        // two index entries and the spec one.
        let schedule = units::SCHEDULE_BYTES + self.payload_bytes as f64;
        let schedules = self.schedules * (schedule + 3.0 * units::ITEM_OVERHEAD);
        let indexed = units::SCHEDULE_INDEX_BYTES + 3.0 * units::ITEM_OVERHEAD;
        let storage = Billed::TableStorage;
        lines.add(storage, "schedules, stored", true, (schedules + self.schedules * indexed) / GB);
        lines.add(storage, "runs, stored until they expire", false, (run_bytes + index_bytes) / GB);
        lines.add(Billed::PointInTimeRecovery, "schedules, backed up", true, schedules / GB);
        lines.add(Billed::PointInTimeRecovery, "runs, backed up", false, run_bytes / GB);
    }

    fn queue(&self, lines: &mut Lines<'_>, fires: f64) {
        let messages = units::MESSAGES * fires / self.batch;
        lines.add(Billed::QueueRequests, "send, receive, delete", false, messages);
        lines.add(Billed::FairQueueRequests, "surcharge for message groups", false, messages);
        let polls = MAPPINGS * IDLE_POLLERS * POLLS_A_MINUTE * MINUTES_A_MONTH;
        lines.add(Billed::QueueRequests, "empty receives by Lambda", true, polls);
        let looks = units::IDLE_RECOVERY_RECEIVES * MINUTES_A_MONTH;
        lines.add(Billed::QueueRequests, "receives of dead letters", true, looks);
    }

    fn functions(&self, lines: &mut Lines<'_>, fires: f64) {
        let reports = self.reports(fires);
        let launches = fires / self.batch;
        let calls = self.api_calls + reports;
        lines.add(Billed::Invocations, "tick and recovery", true, 2.0 * MINUTES_A_MONTH);
        lines.add(Billed::Invocations, "launcher", false, launches);
        lines.add(Billed::Invocations, "api", false, calls);
        // The number of calls in sequence. Calls that run at the same time count once.
        let gigabytes = self.memory_mb / 1024.0;
        let seconds = |round_trips: f64| gigabytes * round_trips * self.call_ms / 1000.0;
        let idle = seconds(1.0) + seconds(5.0);
        lines.add(Billed::GigabyteSeconds, "tick and recovery", true, idle * MINUTES_A_MONTH);
        let busy = fires.min(MINUTES_A_MONTH) * (seconds(4.0) + seconds(2.0));
        lines.add(Billed::GigabyteSeconds, "tick and recovery, with fires", false, busy);
        let slots = if self.overlap_policy == Overlap::Allow { 0.0 } else { 2.0 };
        let waits = gigabytes * (WAIT_MS + self.target_ms) / 1000.0;
        let launch = launches * (seconds(3.0 + slots) + waits);
        lines.add(Billed::GigabyteSeconds, "launcher, with its waiting time", false, launch);
        lines.add(Billed::GigabyteSeconds, "api", false, calls * seconds(4.0));
    }

    fn doors(&self, lines: &mut Lines<'_>, fires: f64) {
        let reports = self.reports(fires);
        lines.add(Billed::GatewayCalls, "executors' reports", false, reports);
        lines.add(Billed::GatewayCalls, "API calls", false, self.api_calls);
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
        lines.add(Billed::LogStorage, "log of idle calls, stored", true, idle * kept);
        lines.add(Billed::LogStorage, "log of fires and calls, stored", false, busy * kept);
    }

    /// The number of executor reports that come through the API.
    fn reports(&self, fires: f64) -> f64 {
        match self.completion {
            Completion::OnLaunch => 0.0,
            Completion::Tracked => fires,
        }
    }
}

/// The lines so far, and the total amount of each billed thing.
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

    /// Adds a line, unless the amount is 0. Earlier lines use up the free amount first.
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

/// Converts dollars a month to dollars for a million fires. 0 if there are no fires.
pub fn per_million(usd: f64, fires: f64) -> f64 {
    if fires > 0.0 { usd / fires * 1_000_000.0 } else { 0.0 }
}

/// What the runs of a schedule add to a monthly bill at most, in US dollars.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Cost", deny_unknown_fields)]
pub struct RunCost {
    /// DynamoDB: the tables.
    pub dynamodb: f64,
    /// SQS: the launch queue.
    pub sqs: f64,
    /// Lambda: the launcher.
    pub lambda: f64,
    /// EventBridge: the events about runs.
    pub eventbridge: f64,
    /// CloudWatch: the log lines.
    pub cloudwatch: f64,
    /// Sum of all services.
    pub total: f64,
    /// AWS region of the prices.
    pub region: String,
    /// When the prices were looked up.
    pub as_of: String,
}

/// The most that `runs` a month of one schedule add to a bill, rounded to a hundredth of a cent.
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
        // The daily check reads the runs, for the ledger and for the sums, so its cost grows a
        // little. All other fixed costs stay.
        let grown = some.fixed - idle.fixed;
        assert!((0.0..0.2).contains(&grown), "{grown}");
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
        assert!(
            many.per_million_fires > many.scheduler_per_million,
            "Belfry costs more than EventBridge Scheduler"
        );
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
