//! `belfry capacity`: forecasts how AWS would handle a burst of fires.

use std::process::ExitCode;

use belfry_cost::capacity::{AWS, Forecast, Load, forecast, shards_for};
use clap::Args;
use serde_json::{Value, json};

use super::{print_json, print_line, printed, table};

/// Burst sizes shown when `--fires` is not given.
const BURSTS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];
/// Seconds within which the fires must be sent: the minute before the first one is due, less the
/// time until all ticks are running.
const SENT_WITHIN_S: f64 = 45.0;

/// Forecasts bursts of fires against the limits of DynamoDB, SQS and Lambda.
///
/// The rates are assumptions until you pass your own (docs/operations.md explains how to measure
/// them). The limits are the defaults of an AWS account, before any increase is requested.
#[derive(Args)]
pub(crate) struct Capacity {
    /// Number of fires; several sizes if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    fires: Option<u64>,
    /// Seconds over which the fires are due; 0 means all in the same second
    #[arg(long, value_name = "S", default_value_t = 60)]
    within: u32,
    /// DUE_SHARDS; as many as the burst needs if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    shards: Option<u32>,
    /// TICK_SHARE: due fires above which a tick hands work to other ticks
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    share: u64,
    /// Fires one tick records and sends per second
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    tick_rate: u32,
    /// Milliseconds a launcher takes for a batch of ten messages, including the calls to the
    /// targets
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    launch_ms: u32,
    /// Provisioned pollers of the launch queue; 0 means Lambda's own pollers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pollers: u32,
    /// Include the writes of the overlap slots that `skip` and `queue` use
    #[arg(long)]
    slots: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Capacity {
    pub(crate) fn run(self) -> ExitCode {
        let bursts = self.fires.map_or(BURSTS.to_vec(), |fires| vec![fires]);
        let all: Vec<_> = bursts.into_iter().map(|fires| self.forecast(fires)).collect();
        let done = if self.json {
            print_json(&Value::Array(all.iter().map(|(load, it)| as_json(load, it)).collect()))
        } else {
            self.print(&all)
        };
        printed(done.map(|()| ExitCode::SUCCESS))
    }

    fn forecast(&self, fires: u64) -> (Load, Forecast) {
        let load = Load {
            fires,
            within_s: f64::from(self.within),
            shards: self.shards.unwrap_or_else(|| shards_for(fires, SENT_WITHIN_S).max(8)),
            share: self.share,
            tick_rate: f64::from(self.tick_rate),
            launch_ms: f64::from(self.launch_ms),
            pollers: self.pollers,
            slot_writes: if self.slots { 2.0 } else { 0.0 },
        };
        (load, forecast(&load, &AWS))
    }

    fn print(&self, all: &[(Load, Forecast)]) -> std::io::Result<()> {
        let when = match self.within {
            0 => "in one second".to_owned(),
            seconds => format!("within {seconds} s"),
        };
        print_line(&format!(
            "fires due {when}; a tick sends {}/s, a launcher takes {} ms for ten; limits of 2026-11-16",
            self.tick_rate, self.launch_ms
        ))?;
        let head = ["fires", "shards", "ticks", "tick MB", "sent in", "bound by"];
        let sending = |(load, it): &(Load, Forecast)| {
            vec![
                load.fires.to_string(),
                load.shards.to_string(),
                it.ticks.to_string(),
                format!("{:.1}", it.tick_mb),
                format!("{:.1} s", it.sent_s),
                it.sending.name().to_owned(),
            ]
        };
        table::print(&head, &all.iter().map(sending).collect::<Vec<_>>())?;
        print_line("")?;
        let head = ["fires", "launchers", "launched in", "late p99", "late max", "bound by"];
        let launching = |(load, it): &(Load, Forecast)| {
            vec![
                load.fires.to_string(),
                it.launchers.to_string(),
                format!("{:.1} s", it.launched_s),
                format!("{:.1} s", it.late_p99_s),
                format!("{:.1} s", it.late_max_s),
                it.launching.name().to_owned(),
            ]
        };
        table::print(&head, &all.iter().map(launching).collect::<Vec<_>>())?;
        print_line("")?;
        let head = ["fires", "write units", "queue calls", "invocations", "busy"];
        let used = |(load, it): &(Load, Forecast)| {
            vec![
                load.fires.to_string(),
                format!("{:.0}", it.used.write_units),
                format!("{:.0}", it.used.queue_calls),
                format!("{:.0}", it.used.invocations),
                format!("{:.0} s", it.used.seconds),
            ]
        };
        table::print(&head, &all.iter().map(used).collect::<Vec<_>>())
    }
}

fn as_json(load: &Load, it: &Forecast) -> Value {
    json!({
        "fires": load.fires, "within_s": load.within_s, "shards": load.shards,
        "ticks": it.ticks, "tick_mb": it.tick_mb, "sent_s": it.sent_s,
        "sending": it.sending.name(),
        "launchers": it.launchers, "launched_s": it.launched_s, "launching": it.launching.name(),
        "late_p99_s": it.late_p99_s, "late_max_s": it.late_max_s,
        "used": {
            "write_units": it.used.write_units, "queue_calls": it.used.queue_calls,
            "invocations": it.used.invocations, "seconds": it.used.seconds,
        },
    })
}
