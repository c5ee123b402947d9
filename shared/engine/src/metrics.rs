//! Metrics in CloudWatch's embedded metric format: a log line that is also a set of numbers.

use std::io::Write;

use belfry_core::instant::Instant;
use serde_json::{Map, Value, json};

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
    pub name: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// What was seen.
    pub values: Vec<f64>,
}

impl Metric {
    /// A count.
    pub fn count(name: &'static str, value: usize) -> Metric {
        Metric { name, unit: Unit::Count, values: vec![value as f64] }
    }

    /// Durations; CloudWatch takes a hundred in one line.
    pub fn millis(name: &'static str, values: &[i64]) -> Metric {
        let values = values.iter().take(100).map(|v| *v as f64).collect();
        Metric { name, unit: Unit::Milliseconds, values }
    }
}

/// The line for `metrics` of one function. The only dimension is the function: the cost of metrics
/// does not grow with schedules.
pub fn line(function: &str, metrics: &[Metric], now: Instant) -> Value {
    let seen = || metrics.iter().filter(|metric| !metric.values.is_empty());
    let definitions: Vec<_> = seen()
        .map(|metric| {
            let unit = match metric.unit {
                Unit::Count => "Count",
                Unit::Milliseconds => "Milliseconds",
            };
            json!({"Name": metric.name, "Unit": unit})
        })
        .collect();
    let mut line = Map::new();
    line.insert(
        "_aws".to_owned(),
        json!({
            "Timestamp": now.timestamp_millis(),
            "CloudWatchMetrics": [{
                "Namespace": NAMESPACE, "Dimensions": [["Function"]], "Metrics": definitions,
            }],
        }),
    );
    line.insert("Function".to_owned(), json!(function));
    for metric in seen() {
        let value = match metric.values.as_slice() {
            [one] => json!(one),
            many => json!(many),
        };
        line.insert(metric.name.to_owned(), value);
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
            Metric::count("due", 3),
            Metric::millis("drift", &[1, 2]),
            Metric::millis("none", &[]),
        ];
        let line = line("tick", &metrics, now);
        let named = &line["_aws"]["CloudWatchMetrics"][0]["Metrics"];
        assert_eq!(
            *named,
            json!([{"Name": "due", "Unit": "Count"}, {"Name": "drift", "Unit": "Milliseconds"}])
        );
        assert_eq!(line["due"], json!(3.0));
        assert_eq!(line["drift"], json!([1.0, 2.0]));
    }
}
