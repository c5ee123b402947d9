//! Feedback: the rules that send executions' results to the launch queue match what the code reads,
//! and the queue accepts their messages.

use std::collections::BTreeSet;

use belfry_core::run::feedback::{DETAIL_TYPE, Kind};
use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, referred};

const STEP_FUNCTIONS: &str = "StepFunctionsFeedbackRule";
const LAMBDA: &str = "LambdaFeedbackRule";
const EXECUTOR: &str = "ExecutorFeedbackRule";

pub(super) fn check(template: &Template, problems: &mut Problems) {
    for rule in [STEP_FUNCTIONS, LAMBDA, EXECUTOR] {
        let target = &template.properties(rule)["Targets"][0];
        let queue = referred(&target["Arn"]);
        problems.equal(format!("the target of {rule}"), &json!(queue), &json!("LaunchQueue"));
        // What Lambda sends to a bus has an envelope; what it sends to a queue has none.
        let path = if rule == LAMBDA { json!("$.detail") } else { Value::Null };
        problems.equal(format!("InputPath of {rule}"), &target["InputPath"], &path);
    }
    step_functions(template, problems);
    let pattern = &template.properties(EXECUTOR)["EventPattern"];
    problems.equal(EXECUTOR, pattern, &json!({"detail-type": [DETAIL_TYPE]}));
    let pattern = &template.properties(LAMBDA)["EventPattern"];
    problems.equal(LAMBDA, &pattern["source"], &json!(["lambda"]));
    for rule in [LAMBDA, EXECUTOR] {
        let bus = referred(&template.properties(rule)["EventBusName"]);
        problems.equal(format!("the bus of {rule}"), &json!(bus), &json!("EventBus"));
    }
    let statement = &template.properties("LaunchQueuePolicy")["PolicyDocument"]["Statement"][0];
    let sources = statement["Condition"]["ArnEquals"]["aws:SourceArn"].as_array();
    let sources: BTreeSet<_> = sources
        .into_iter()
        .flatten()
        .map(|source| referred(source.get("Fn::If").map_or(source, |choice| &choice[1])).to_owned())
        .collect();
    let rules = [STEP_FUNCTIONS, LAMBDA, EXECUTOR].map(str::to_owned).into();
    problems.same("who may send to the launch queue", &sources, &rules);
    problems.equal("what they may do", &statement["Action"], &json!("sqs:SendMessage"));
}

/// Exactly the statuses that end a run, of the state machines that runs may start.
fn step_functions(template: &Template, problems: &mut Problems) {
    let pattern = &template.properties(STEP_FUNCTIONS)["EventPattern"];
    problems.equal(STEP_FUNCTIONS, &pattern["source"], &json!(["aws.states"]));
    let machines = &pattern["detail"]["stateMachineArn"];
    problems.equal(STEP_FUNCTIONS, machines, &json!({"Ref": "TargetStateMachineArns"}));
    let run = "nightly@2026-01-01T02:00:00Z";
    let id: belfry_core::id::RunId = run.parse().unwrap();
    let all = ["RUNNING", "SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "PENDING_REDRIVE"];
    let ends = all.into_iter().filter(|status| {
        let input = json!({"metadata": {"run_id": run}}).to_string();
        let event = json!({
            "source": "aws.states",
            "detail": {"status": status, "name": id.idempotency_key(), "input": input},
        });
        Kind::of(&event).and_then(|kind| kind.read(&event)).is_some()
    });
    let ends: BTreeSet<_> = ends.map(str::to_owned).collect();
    let listed = pattern["detail"]["status"].as_array().into_iter().flatten();
    let listed = listed.filter_map(|status| status.as_str().map(str::to_owned)).collect();
    problems.same("statuses that end a run", &listed, &ends);
}
