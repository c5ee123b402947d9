//! What a function's role allows, according to the deploy template, and what a request needs.

use std::collections::BTreeSet;

use belfry_local::services::{DEAD_LETTER_QUEUE, LAUNCH_QUEUE, TICK_QUEUE};
use serde_json::Value;

use crate::Template;
use crate::embedded::{RUNS, SCHEDULES, WORKFLOWS};

/// An action on a resource, which is a resource or a parameter of the template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Demand {
    /// Such as `dynamodb:Query`.
    pub action: String,
    /// Such as `SchedulesTable/index/due`.
    pub resource: String,
}

impl Demand {
    fn new(action: impl Into<String>, resource: impl Into<String>) -> Demand {
        Demand { action: action.into(), resource: resource.into() }
    }
}

impl std::fmt::Display for Demand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} on {}", self.action, self.resource)
    }
}

/// The functions of a template, by the names of their binaries, with their properties.
pub fn functions(template: &Template) -> impl Iterator<Item = (&str, &Value)> {
    let all = template.resources();
    all.filter(|(_, resource)| resource["Type"] == "AWS::Serverless::Function").map(
        |(_, function)| {
            let name = function["Metadata"]["BuildProperties"]["Binary"].as_str();
            (name.unwrap_or_default(), &function["Properties"])
        },
    )
}

/// What a function with these properties may do; conditional statements count as present.
pub fn allowed(template: &Template, function: &Value) -> BTreeSet<Demand> {
    let role = function["Role"]["Fn::GetAtt"][0].as_str().unwrap_or_default();
    let role = template.properties(role);
    let policies = role["Policies"].as_array().into_iter().flatten();
    let statements = policies.flat_map(|policy| list(&policy["PolicyDocument"]["Statement"]));
    let mut allowed = BTreeSet::new();
    for statement in statements {
        let statement = match statement.get("Fn::If") {
            Some(choice) => &choice[1],
            None => statement,
        };
        for action in list(&statement["Action"]) {
            for resource in list(&statement["Resource"]) {
                let action = action.as_str().unwrap_or_default();
                allowed.insert(Demand::new(action, named(resource)));
            }
        }
    }
    allowed
}

/// A single value, or a list.
fn list(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// A resource by its name in the template.
fn named(resource: &Value) -> String {
    if let Some(name) = resource["Ref"].as_str().or(resource["Fn::GetAtt"][0].as_str()) {
        return name.to_owned();
    }
    match resource["Fn::Sub"].as_str().and_then(|text| text.strip_prefix("${")?.split_once(".Arn}"))
    {
        Some((name, rest)) => format!("{name}{rest}"),
        None => resource.to_string(),
    }
}

/// The permissions that a request of the SDK needs. `bus` is the deployment's own event bus.
pub fn demands(target: &str, path: &str, body: &Value, bus: &str) -> Vec<Demand> {
    let (service, operation) = target.rsplit_once('.').unwrap_or_default();
    let text = |field: &str| body[field].as_str().unwrap_or_default();
    match (service, operation) {
        ("DynamoDB_20120810", "BatchGetItem") => {
            let tables = body["RequestItems"].as_object().into_iter().flatten();
            tables.map(|(name, _)| Demand::new("dynamodb:BatchGetItem", table(name))).collect()
        }
        ("DynamoDB_20120810", "TransactWriteItems") => {
            let writes = body["TransactItems"].as_array().into_iter().flatten();
            writes.flat_map(|write| write.as_object().into_iter().flatten()).map(written).collect()
        }
        ("DynamoDB_20120810", "BatchExecuteStatement") => {
            let statements = body["Statements"].as_array().into_iter().flatten();
            statements.map(stated).collect()
        }
        ("DynamoDB_20120810", _) => {
            let index = body["IndexName"].as_str().map(|index| format!("/index/{index}"));
            let resource = format!("{}{}", table(text("TableName")), index.unwrap_or_default());
            vec![Demand::new(format!("dynamodb:{operation}"), resource)]
        }
        ("AmazonSQS", _) => {
            // A batch needs the permission of the single call.
            let action = operation.trim_end_matches("Batch");
            vec![Demand::new(format!("sqs:{action}"), queue(text("QueueUrl")))]
        }
        ("AWSEvents", _) => {
            let entries = body["Entries"].as_array().into_iter().flatten();
            let resource = |entry: &Value| match entry["EventBusName"] == *bus {
                true => "EventBus",
                false => "TargetEventBusArns",
            };
            let action = format!("events:{operation}");
            entries.map(|entry| Demand::new(action.clone(), resource(entry))).collect()
        }
        ("AWSStepFunctions", _) => {
            vec![Demand::new(format!("states:{operation}"), "TargetStateMachineArns")]
        }
        _ if body["Action"] == "Publish" => vec![Demand::new("sns:Publish", "AlertTopicArns")],
        _ if path.contains("/functions/") && path.ends_with("/invocations") => {
            vec![Demand::new("lambda:InvokeFunction", "TargetFunctionArns")]
        }
        _ => vec![Demand::new(format!("unknown:{target}"), path)],
    }
}

/// IAM has no permission for transactions, only for the operations in them.
fn written((kind, write): (&String, &Value)) -> Demand {
    let action = match kind.as_str() {
        "ConditionCheck" => "dynamodb:ConditionCheckItem".to_owned(),
        kind => format!("dynamodb:{kind}Item"),
    };
    Demand::new(action, table(write["TableName"].as_str().unwrap_or_default()))
}

/// The statement's text names its operation and its table: `UPDATE "runs" SET ...`.
fn stated(statement: &Value) -> Demand {
    let text = statement["Statement"].as_str().unwrap_or_default();
    let action = match text.split(' ').next().unwrap_or_default() {
        "INSERT" => "dynamodb:PartiQLInsert",
        "UPDATE" => "dynamodb:PartiQLUpdate",
        other => return Demand::new(format!("unknown:{other}"), text),
    };
    Demand::new(action, table(text.split('"').nth(1).unwrap_or_default()))
}

fn table(name: &str) -> &str {
    match name {
        SCHEDULES => "SchedulesTable",
        RUNS => "RunsTable",
        WORKFLOWS => "WorkflowsTable",
        other => other,
    }
}

fn queue(url: &str) -> &str {
    match url.rsplit('/').next() {
        Some(LAUNCH_QUEUE) => "LaunchQueue",
        Some(TICK_QUEUE) => "TickQueue",
        Some(DEAD_LETTER_QUEUE) => "DeadLetterQueue",
        _ => "TargetQueueArns",
    }
}
