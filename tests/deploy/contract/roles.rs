//! The roles: each function may make exactly the calls it was seen to make.

use std::collections::BTreeSet;

use belfry_tests::Template;
use belfry_tests::policy::{allowed, functions};
use serde_json::{Value, json};

use super::{Problems, referred};
use crate::scenario::Seen;

/// What Lambda does with a function's role: write its log, receive the messages of a queue, and
/// delete those that were processed.
fn by_lambda(template: &Template, function: &Value) -> BTreeSet<String> {
    let log = referred(&function["LoggingConfig"]["LogGroup"]);
    let logs = ["logs:CreateLogStream", "logs:PutLogEvents"];
    let mut done: BTreeSet<_> = logs.map(|action| format!("{action} on {log}")).into();
    for (_, mapping) in template.of_type("AWS::Lambda::EventSourceMapping") {
        if template.properties(referred(&mapping["FunctionName"])) == function {
            let queue = referred(&mapping["EventSourceArn"]);
            let actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"];
            done.extend(actions.map(|action| format!("{action} on {queue}")));
        }
    }
    done
}

pub(super) fn check(template: &Template, seen: &Seen, problems: &mut Problems) {
    for (name, function) in functions(template) {
        let found = allowed(template, function).iter().map(ToString::to_string).collect();
        let used = seen.used.iter().filter(|(user, _)| *user == name);
        let mut needed = by_lambda(template, function);
        needed.extend(used.map(|(_, demand)| demand.to_string()));
        problems.same(&format!("the role of {name}"), &found, &needed);
    }
    for (id, role) in template.of_type("AWS::IAM::Role") {
        let who = &role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"];
        problems.equal(
            format!("the service that assumes {id}"),
            who,
            &json!({"Service": "lambda.amazonaws.com"}),
        );
        let managed = &role["ManagedPolicyArns"];
        problems.unless(managed.is_null(), format!("{id} has policies that are not written here"));
    }
}
