//! Metrics in CloudWatch's embedded metric format: a log line from which CloudWatch reads numbers.

mod table;

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use belfry_core::instant::Instant;
use serde_json::{Map, Value, json};

pub use table::*;

/// The CloudWatch namespace of every metric.
pub const NAMESPACE: &str = "Belfry";

/// The unit of a metric, as CloudWatch names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// A duration.
    Milliseconds,
}

/// A metric of one invocation. Several values make a histogram.
#[derive(Clone)]
pub struct Metric {
    /// The name, from the table of metrics.
    pub name: Name,
    /// The unit of every value.
    pub unit: Unit,
    /// The values of this invocation; a metric without values is left out of the line.
    pub values: Vec<f64>,
}

impl Metric {
    /// A metric that counts.
    pub fn count(name: Name, value: usize) -> Metric {
        Metric { name, unit: Unit::Count, values: vec![value as f64] }
    }

    /// A metric of durations, one value for each event.
    pub fn millis(name: Name, values: &[i64]) -> Metric {
        let values = values.iter().map(|v| *v as f64).collect();
        Metric { name, unit: Unit::Milliseconds, values }
    }
}

/// CloudWatch takes no more values of a metric in one line.
const MAX_VALUES: usize = 100;

/// The dimension that separates the metrics of two deployments in one account. There is no other
/// dimension, so that the cost of metrics does not grow with the number of schedules.
pub const DIMENSION: &str = "Deployment";

/// The log lines that carry `metrics` of a deployment. The first has every metric. If a metric has
/// more values than a line takes, the further lines have the values that are left, so that none is
/// lost.
pub fn lines(deployment: &str, metrics: &[Metric], now: Instant) -> Vec<Value> {
    let longest = metrics.iter().map(|metric| metric.values.len()).max().unwrap_or_default();
    let part = |number: usize| {
        let of = |metric: &Metric| {
            let values = metric.values.chunks(MAX_VALUES).nth(number).unwrap_or_default().to_vec();
            Metric { name: metric.name, unit: metric.unit, values }
        };
        line(deployment, &metrics.iter().map(of).collect::<Vec<_>>(), now)
    };
    (0..longest.div_ceil(MAX_VALUES)).map(part).collect()
}

fn line(deployment: &str, metrics: &[Metric], now: Instant) -> Value {
    let seen = || metrics.iter().filter(|metric| !metric.values.is_empty());
    let definitions: Vec<_> = seen()
        .map(|metric| {
            let unit = match metric.unit {
                Unit::Count => "Count",
                Unit::Milliseconds => "Milliseconds",
            };
            json!({"Name": metric.name.as_str(), "Unit": unit})
        })
        .collect();
    let mut line = Map::new();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now.timestamp_millis(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE, "Dimensions": [[DIMENSION]], "Metrics": definitions,
            }],
        }),
    );
    line.insert(DIMENSION.to_owned(), json!(deployment));
    for metric in seen() {
        let value = match metric.values.as_slice() {
            [one] => json!(one),
            many => json!(many),
        };
        line.insert(metric.name.as_str().to_owned(), value);
    }
    Value::Object(line)
}

/// Counts that wait for the next metric line of the process. What happens to single runs is counted
/// here, so that it does not cost a line for each run.
#[derive(Default)]
pub(crate) struct Tally(Mutex<Vec<(Name, usize)>>);

impl Tally {
    /// Counts one event.
    pub(crate) fn add(&self, name: Name) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match counts.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }

    /// The counts since the last call.
    pub(crate) fn take(&self) -> impl Iterator<Item = Metric> + use<> {
        let counts = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        counts.into_iter().map(|(name, count)| Metric::count(name, count))
    }
}

/// A function that takes metric lines.
pub type Sink = fn(&Value);

/// Writes the line to standard output, which CloudWatch collects.
pub fn to_stdout(line: &Value) {
    // A closed standard output must not fail the work that was done.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Drops the line.
pub fn to_nowhere(_: &Value) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_every_number_it_carries() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let metrics = [
            Metric::count(SCHEDULES_DUE, 3),
            Metric::millis(LAUNCH_DRIFT, &[1, 2]),
            Metric::millis(EMIT_DRIFT, &[]),
        ];
        let line = line("belfry", &metrics, now);
        let named = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(
            *named,
            json!([
                {"Name": "schedules_due", "Unit": "Count"},
                {"Name": "launch_drift", "Unit": "Milliseconds"},
            ])
        );
        assert_eq!(line["schedules_due"], json!(3.0));
        assert_eq!(line["launch_drift"], json!([1.0, 2.0]));
        assert_eq!(line["Deployment"], "belfry");
    }

    #[test]
    fn no_value_is_lost_however_many_there_are() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let drift: Vec<i64> = (0..250).collect();
        let metrics = [
            Metric::count(RUNS_LAUNCHED, 250),
            Metric::millis(LAUNCH_DRIFT, &drift),
            Metric::millis(EMIT_DRIFT, &[]),
        ];
        let lines = lines("belfry", &metrics, now);
        let launched: Vec<_> = lines.iter().map(|line| &line["runs_launched"]).collect();
        assert_eq!(launched, [&json!(250.0), &Value::Null, &Value::Null], "counted once");
        let parts: Vec<_> =
            lines.iter().map(|line| line["launch_drift"].as_array().unwrap()).collect();
        assert!(parts.iter().all(|part| part.len() <= MAX_VALUES));
        let written: Vec<_> =
            parts.into_iter().flatten().map(|v| v.as_f64().unwrap() as i64).collect();
        assert_eq!(written, drift);
        assert!(lines.iter().all(|line| line.get("emit_drift").is_none()));
        assert!(super::lines("belfry", &[Metric::millis(EMIT_DRIFT, &[])], now).is_empty());
    }

    #[test]
    fn a_tally_counts_until_it_is_taken() {
        let tally = Tally::default();
        for name in [RUNS_FAILED, RUNS_SUCCEEDED, RUNS_FAILED] {
            tally.add(name);
        }
        let taken: Vec<_> = tally.take().map(|metric| (metric.name, metric.values)).collect();
        assert_eq!(taken, [(RUNS_FAILED, vec![2.0]), (RUNS_SUCCEEDED, vec![1.0])]);
        assert_eq!(tally.take().count(), 0);
    }
}
