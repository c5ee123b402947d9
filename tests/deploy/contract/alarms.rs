//! Alarms and dashboard: they use metrics that exist, and every important condition has an alarm.

use std::collections::BTreeSet;

use belfry_engine::metrics::{self, DIMENSION, METRICS, NAMESPACE};
use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, number, referred};
use crate::scenario::Seen;

/// AWS metrics and the dimension they are queried by.
const OF_AWS: [(&str, &str, &[&str]); 4] = [
    ("AWS/Lambda", "FunctionName", &["Errors", "Throttles", "Duration"]),
    (
        "AWS/SQS",
        "QueueName",
        &[
            "ApproximateAgeOfOldestMessage",
            "ApproximateNumberOfMessagesVisible",
            "ApproximateNumberOfMessagesDelayed",
        ],
    ),
    ("AWS/ApiGateway", "ApiId", &["Count", "4xx", "5xx", "Latency"]),
    ("AWS/DynamoDB", "TableName", &["ConsumedWriteCapacityUnits", "ConsumedReadCapacityUnits"]),
];

/// The conditions that need an alarm: the metric, and what it watches.
const NEEDED: [(metrics::Name, &str); 13] = [
    (metrics::SCHEDULES_DUE, "no tick"),
    (metrics::CLOCKS_FAILED, "clocks that fail"),
    (metrics::RUNS_SKIPPED, "missed fires"),
    (metrics::RUNS_LOOKED_AT, "no recovery"),
    (metrics::RECOVERY_FAILED, "recovery that fails"),
    (metrics::RUNS_RECOVERED, "a high rate of recoveries"),
    (metrics::UNEXPLAINED, "unexplained fires"),
    (metrics::RUNS_ABANDONED, "abandoned runs"),
    (metrics::RUNS_FAILED_LAUNCH, "failed launches"),
    (metrics::SCHEDULES_FAILING, "failures in a row"),
    (metrics::LAUNCH_DRIFT, "drift"),
    (metrics::LAUNCHER_FAULTS, "a launcher that fails"),
    (metrics::POISON_MESSAGES, "poison"),
];

const NEEDED_OF_AWS: [(&str, &str); 9] = [
    ("Errors", "TickFunction"),
    ("Throttles", "TickFunction"),
    ("Duration", "TickFunction"),
    ("Errors", "LauncherFunction"),
    ("Throttles", "LauncherFunction"),
    ("Errors", "RecoveryFunction"),
    ("Errors", "ResourceFunction"),
    ("ApproximateAgeOfOldestMessage", "LaunchQueue"),
    ("ApproximateNumberOfMessagesVisible", "DeadLetterQueue"),
];

pub(super) fn check(template: &Template, seen: &Seen, problems: &mut Problems) {
    let names: BTreeSet<_> = METRICS.iter().map(|name| name.as_str().to_owned()).collect();
    problems.same("metrics counted", &seen.metrics, &names);
    let alarms: Vec<_> = template.of_type("AWS::CloudWatch::Alarm").collect();
    for (id, alarm) in &alarms {
        one(id, alarm, problems);
    }
    let watched = |metric: &str, of: &str| {
        alarms.iter().any(|(_, alarm)| {
            let by = referred(&alarm["Dimensions"][0]["Value"]);
            alarm["MetricName"] == *metric && (by == of || of.is_empty())
        })
    };
    for (metric, what) in NEEDED {
        problems.unless(watched(metric.as_str(), ""), format!("no alarm for {what}"));
    }
    for (metric, of) in NEEDED_OF_AWS {
        problems.unless(watched(metric, of), format!("no alarm on {metric} of {of}"));
    }
    dead_man(template.properties("NoTickAlarm"), problems);
    let timeout = number(&template.properties("TickFunction")["Timeout"]);
    let slow = &template.properties("TickSlowAlarm")["Threshold"];
    problems.equal("80 % of the tick's time-out", slow, &json!(timeout * 800));
    let drift = &template.properties("LaunchDriftAlarm")["ExtendedStatistic"];
    problems.equal("the statistic of drift", drift, &json!("p99"));
    dashboard(template, &names, problems);
}

fn one(id: &str, alarm: &Value, problems: &mut Problems) {
    let dimensions = &alarm["Dimensions"];
    let by = (&dimensions[0]["Name"], dimensions.as_array().map_or(0, Vec::len));
    let metric = alarm["MetricName"].as_str().unwrap_or_default();
    if alarm["Namespace"] == NAMESPACE {
        let exists = METRICS.iter().any(|name| name.as_str() == metric);
        problems.unless(exists, format!("{id} uses {metric}, which the code does not count"));
        problems
            .unless(by == (&json!(DIMENSION), 1), format!("{id} lacks the dimension {DIMENSION}"));
        let stack = &dimensions[0]["Value"];
        problems.equal(format!("the deployment of {id}"), stack, &json!({"Ref": "AWS::StackName"}));
    } else {
        let exists = OF_AWS.iter().any(|(space, dimension, names)| {
            alarm["Namespace"] == *space && names.contains(&metric) && by == (&json!(dimension), 1)
        });
        problems.unless(exists, format!("{id} uses {metric}, which AWS does not have"));
    }
    let name = alarm["AlarmName"]["Fn::Sub"].as_str().unwrap_or_default();
    problems.unless(
        name.strip_prefix("${AWS::StackName}-").is_some_and(|rest| !rest.is_empty()),
        format!("the name of {id} does not begin with the stack's"),
    );
    let description = alarm["AlarmDescription"].as_str().unwrap_or_default();
    problems
        .unless(description.len() > 60, format!("the description of {id} does not say what to do"));
    for actions in ["AlarmActions", "OKActions"] {
        let topic = &alarm[actions]["Fn::If"][1][0];
        problems.equal(format!("{actions} of {id}"), topic, &json!({"Ref": "AlarmTopicArn"}));
    }
}

/// Three minutes without data: the alarm must treat missing data as breaching.
fn dead_man(alarm: &Value, problems: &mut Problems) {
    let wanted = json!({
        "MetricName": metrics::SCHEDULES_DUE.as_str(), "Statistic": "SampleCount",
        "ComparisonOperator": "LessThanThreshold", "Threshold": 1, "Period": 60,
        "EvaluationPeriods": 3, "DatapointsToAlarm": 3, "TreatMissingData": "breaching",
    });
    for (field, value) in wanted.as_object().into_iter().flatten() {
        problems.equal(format!("{field} of NoTickAlarm"), &alarm[field], value);
    }
}

/// The dashboard is JSON, with every metric of ours, no unknown one, and every alarm.
fn dashboard(template: &Template, names: &BTreeSet<String>, problems: &mut Problems) {
    let text = &template.properties("Dashboard")["DashboardBody"]["Fn::Sub"];
    let text = text.as_str().unwrap_or_default();
    let body: Value = match serde_json::from_str(text) {
        Ok(body) => body,
        Err(problem) => return problems.add(format!("the dashboard is not JSON: {problem}")),
    };
    let widgets = body["widgets"].as_array().into_iter().flatten();
    let mut shown = BTreeSet::new();
    for widget in widgets {
        let (mut space, mut metric) = (String::new(), String::new());
        for row in widget["properties"]["metrics"].as_array().into_iter().flatten() {
            // A dot repeats the value above it in the previous row, three dots the whole row.
            if row[0] != "..." {
                for (place, into) in [(0, &mut space), (1, &mut metric)] {
                    if let Some(text) = row[place].as_str().filter(|text| *text != ".") {
                        *into = text.to_owned();
                    }
                }
            }
            if space == NAMESPACE {
                shown.insert(metric.clone());
            } else {
                let of_aws = OF_AWS.iter().find(|(name, ..)| *name == space);
                let exists = of_aws.is_some_and(|(_, _, names)| names.contains(&metric.as_str()));
                problems.unless(exists, format!("the dashboard shows {space} {metric}"));
            }
        }
    }
    problems.same("metrics on the dashboard", &shown, names);
    for (id, _) in template.of_type("AWS::CloudWatch::Alarm") {
        let shown = text.contains(&format!("\"${{{id}.Arn}}\""));
        problems.unless(shown, format!("{id} is not on the dashboard"));
    }
}
