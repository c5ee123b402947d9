//! Metrics in CloudWatch's embedded metric format: a log line from which CloudWatch reads numbers.

mod table;

use std::io::Write;

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

    /// A metric of durations. Only the first hundred are kept, because CloudWatch takes no more in
    /// one line.
    pub fn millis(name: Name, values: &[i64]) -> Metric {
        let values = values.iter().take(100).map(|v| *v as f64).collect();
        Metric { name, unit: Unit::Milliseconds, values }
    }
}

/// The dimension that separates the metrics of two deployments in one account. There is no other
/// dimension, so that the cost of metrics does not grow with the number of schedules.
pub const DIMENSION: &str = "Deployment";

/// The log line that carries `metrics` of a deployment.
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
}
