//! The roles: each function may do what it was seen to do, and nothing else.

use std::collections::BTreeSet;

use belfry_tests::Template;
use belfry_tests::policy::{allowed, functions};
use serde_json::{Value, json};

use super::{Problems, referred};
use crate::scenario::Seen;

/// What Lambda does in the name of a function: writing its log, and for the launcher, bringing the
/// messages and deleting those it is done with.
fn by_lambda(name: &str, function: &Value) -> BTreeSet<String> {
    let log = referred(&function["LoggingConfig"]["LogGroup"]);
    let logs = ["logs:CreateLogStream", "logs:PutLogEvents"];
    let mut done: BTreeSet<_> = logs.map(|action| format!("{action} on {log}")).into();
    if name == "launcher" {
        let actions = ["sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"];
        done.extend(actions.map(|action| format!("{action} on LaunchQueue")));
    }
    done
}

pub(super) fn check(template: &Template, seen: &Seen, problems: &mut Problems) {
    for (name, function) in functions(template) {
        let found = allowed(template, function).iter().map(ToString::to_string).collect();
        let used = seen.used.iter().filter(|(user, _)| *user == name);
        let mut needed = by_lambda(name, function);
        needed.extend(used.map(|(_, demand)| demand.to_string()));
        problems.same(&format!("the role of {name}"), &found, &needed);
    }
    for (id, role) in template.of_type("AWS::IAM::Role") {
        let who = &role["AssumeRolePolicyDocument"]["Statement"][0]["Principal"];
        problems.equal(format!("who takes {id}"), who, &json!({"Service": "lambda.amazonaws.com"}));
        let managed = &role["ManagedPolicyArns"];
        problems.unless(managed.is_null(), format!("{id} has policies that are not written here"));
    }
}
