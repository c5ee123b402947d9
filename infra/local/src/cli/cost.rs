//! `belfry cost`: the monthly cost of a deployment, compared with EventBridge Scheduler.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use belfry_core::schedule::Overlap;
use belfry_core::workflow::Completion;
use belfry_cost::cost::{Bill, Load, per_million};
use belfry_cost::prices::{Prices, REGION};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::{fail, print_json, printed, read_json};

/// Estimates a month's AWS bill from counted units and a dated price table.
#[derive(Args)]
pub(crate) struct Cost {
    /// Number of schedules, whether they fire or not
    #[arg(long, value_name = "N", value_parser = amount)]
    schedules: f64,
    /// Fires per day, of all schedules together
    #[arg(long, value_name = "N", value_parser = amount)]
    fires_per_day: f64,
    /// Overlap policy of the schedules
    #[arg(long, value_enum, default_value = "skip")]
    policy: Policy,
    /// When runs count as done; executors report tracked runs through the API
    #[arg(long, value_enum, default_value = "on_launch")]
    completion: Done,
    /// Payload size of a schedule
    #[arg(long, value_name = "KB", default_value = "1", value_parser = amount)]
    payload_kb: f64,
    /// Fires of one owner due in the same second; they share messages and invocations
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=250))]
    batch: u8,
    /// API calls per month, not counting executors' reports
    #[arg(long, value_name = "N", default_value = "0", value_parser = amount)]
    api_calls: f64,
    /// Leave out the events sent to an event bus
    #[arg(long)]
    no_event_bus: bool,
    /// Memory of each function
    #[arg(long, value_name = "MB", default_value = "512", value_parser = amount)]
    memory_mb: f64,
    /// Milliseconds a call to DynamoDB or SQS takes; measure yours
    #[arg(long, value_name = "MS", default_value = "10", value_parser = amount)]
    call_ms: f64,
    /// Milliseconds a target takes to accept a launch; measure yours
    #[arg(long, value_name = "MS", default_value = "100", value_parser = amount)]
    target_ms: f64,
    /// Region of the prices
    #[arg(long, default_value = REGION)]
    region: String,
    /// File with your own prices: {"region", "as_of", "prices": {"write_units": 0.705, ...}}
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Print load, bill and price table as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Policy {
    Allow,
    Skip,
    Queue,
}

#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum Done {
    OnLaunch,
    Tracked,
}

/// Larger amounts are typing errors: no deployment is that large.
const MOST: f64 = 1e15;

fn amount(text: &str) -> Result<f64, String> {
    let plain = text.replace(['_', ','], "");
    match plain.parse::<f64>() {
        Ok(amount) if (0.0..=MOST).contains(&amount) => Ok(amount),
        _ => Err("must be a number between 0 and 1e15".to_owned()),
    }
}

impl Cost {
    pub(crate) fn run(self) -> ExitCode {
        let prices = match self.read_prices() {
            Ok(prices) => prices,
            Err(problem) => return fail(&problem),
        };
        let load = self.load();
        let bill = load.bill(&prices);
        let done = match self.json {
            true => print_json(&json!({"load": load, "bill": bill, "prices": prices})),
            false => print(&mut io::stdout().lock(), &load, &bill, &prices),
        };
        printed(done.map(|()| ExitCode::SUCCESS))
    }

    fn read_prices(&self) -> Result<Prices, String> {
        match &self.prices {
            Some(file) => Prices::default()
                .with(&read_json(file)?)
                .map_err(|problem| format!("{}: {problem}", file.display())),
            None if self.region == REGION => Ok(Prices::default()),
            None => Err(format!(
                "the built-in price table covers {REGION} only: pass the prices of {} with --prices",
                self.region
            )),
        }
    }

    fn load(&self) -> Load {
        Load {
            schedules: self.schedules,
            fires_per_day: self.fires_per_day,
            overlap_policy: match self.policy {
                Policy::Allow => Overlap::Allow,
                Policy::Skip => Overlap::Skip,
                Policy::Queue => Overlap::Queue,
            },
            completion: match self.completion {
                Done::OnLaunch => Completion::OnLaunch,
                Done::Tracked => Completion::Tracked,
            },
            payload_bytes: (self.payload_kb * 1024.0) as usize,
            batch: f64::from(self.batch),
            api_calls: self.api_calls,
            event_bus: !self.no_event_bus,
            memory_mb: self.memory_mb,
            call_ms: self.call_ms,
            target_ms: self.target_ms,
            ..Load::default()
        }
    }
}

fn print(out: &mut impl Write, load: &Load, bill: &Bill, prices: &Prices) -> io::Result<()> {
    writeln!(
        out,
        "{} schedules, {} fires a day, {} a month; US dollars, {}, prices looked up {}\n",
        grouped(load.schedules),
        grouped(load.fires_per_day),
        grouped(bill.fires),
        prices.region,
        prices.as_of,
    )?;
    let head = ["", "amount", "a month", "beyond free", "per million fires"];
    row(out, head[0], head[1], "", &head[2..].iter().map(|h| (*h).to_owned()).collect::<Vec<_>>())?;
    let dollars =
        |usd: f64, free: f64| vec![money(usd), money(free), money(per_million(usd, bill.fires))];
    let mut service = "";
    for line in &bill.lines {
        let price = prices.row(line.billed);
        if service != price.service {
            service = price.service;
            writeln!(out, "{service}")?;
        }
        let what = format!("  {}", line.what);
        let cells = dollars(line.usd, line.usd_beyond_free);
        row(out, &what, &grouped(line.amount), price.unit, &cells)?;
    }
    row(out, "total", "", "", &dollars(bill.total, bill.total_beyond_free))?;
    let fixed = vec![money(bill.fixed)];
    row(out, "  of which fixed, without fires", "", "", &fixed)?;
    let scheduler = dollars(bill.scheduler, bill.scheduler_beyond_free);
    row(out, "EventBridge Scheduler", &grouped(bill.fires), "invocation", &scheduler)?;
    writeln!(out, "\n{}", verdict(bill))
}

/// Compares Belfry with EventBridge Scheduler honestly, including where Belfry costs more.
fn verdict(bill: &Bill) -> String {
    if bill.fires <= 0.0 {
        return "Nothing fires: this is the cost of an idle deployment.".to_owned();
    }
    format!(
        "Each further million fires adds {}, against {} at EventBridge Scheduler, which is cheaper at any\n\
         volume. The {}-fold price pays for overlap and catch-up policies, a record of every fire, and the\n\
         recovery of lost ones.",
        money(bill.per_million_fires),
        money(bill.scheduler_per_million),
        (bill.per_million_fires / bill.scheduler_per_million).round(),
    )
}

fn row(
    out: &mut impl Write,
    what: &str,
    amount: &str,
    unit: &str,
    dollars: &[String],
) -> io::Result<()> {
    let mut line = format!("{what:<36} {amount:>14} {unit:<28}");
    for (text, width) in dollars.iter().zip([10, 12, 18]) {
        line.push_str(&format!(" {text:>width$}"));
    }
    writeln!(out, "{}", line.trim_end())
}

fn money(usd: f64) -> String {
    let text = format!("{usd:.2}");
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    format!("{}.{cents}", groups(whole))
}

/// A number formatted for people: 1,234,567, or 0.12 when it is small.
fn grouped(number: f64) -> String {
    match number {
        n if n >= 100.0 || n.fract() == 0.0 => groups(&format!("{n:.0}")),
        n if n >= 0.01 => format!("{n:.2}"),
        n => format!("{n:.6}"),
    }
}

fn groups(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_small_ones_told() {
        let shown: Vec<_> = [0.0, 5.0, 1234.0, 1_234_567.0, 0.5, 0.000_02].map(grouped).into();
        assert_eq!(shown, ["0", "5", "1,234", "1,234,567", "0.50", "0.000020"]);
        assert_eq!((money(0.004), money(1234.567)), ("0.00".to_owned(), "1,234.57".to_owned()));
    }

    #[test]
    fn an_amount_may_be_grouped_and_is_never_less_than_nothing() {
        assert_eq!((amount("1,000_000"), amount("0.5")), (Ok(1_000_000.0), Ok(0.5)));
        for bad in ["-1", "NaN", "inf", "many", "1e30"] {
            assert!(amount(bad).is_err(), "{bad}");
        }
    }
}
