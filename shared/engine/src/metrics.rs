//! Metrics in CloudWatch's embedded metric format: a log line that is also a set of numbers.

mod table;

use std::io::Write;

use belfry_core::instant::Instant;
use serde_json::{Map, Value, json};

pub use table::*;

/// Every metric is under this name.
pub const NAMESPACE: &str = "Belfry";

/// A number's unit, as CloudWatch names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// How many.
    Count,
    /// How long.
    Milliseconds,
}

/// A metric of one invocation; several values make a histogram.
pub struct Metric {
    /// Its name.
    pub name: Name,
    /// Its unit.
    pub unit: Unit,
    /// What was seen.
    pub values: Vec<f64>,
}

impl Metric {
    /// A count.
    pub fn count(name: Name, value: usize) -> Metric {
        Metric { name, unit: Unit::Count, values: vec![value as f64] }
    }

    /// Durations; CloudWatch takes a hundred in one line.
    pub fn millis(name: Name, values: &[i64]) -> Metric {
        let values = values.iter().take(100).map(|v| *v as f64).collect();
        Metric { name, unit: Unit::Milliseconds, values }
    }
}

/// What tells metrics of one name apart: two deployments may share an account. It is the only
/// dimension, so that the cost of metrics does not grow with schedules.
pub const DIMENSION: &str = "Deployment";

/// The line for `metrics` of a deployment.
pub fn line(deployment: &str, metrics: &[Metric], now: Instant) -> Value {
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

/// Where lines go.
pub type Sink = fn(&Value);

/// To standard output, where CloudWatch reads them.
pub fn to_stdout(line: &Value) {
    // A closed standard output must not fail the work that was done.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Nowhere.
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
}
