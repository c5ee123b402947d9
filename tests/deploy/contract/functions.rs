//! The functions: all are deployed, built for the right runtime, called by their rules, and their
//! logs expire.

use std::collections::BTreeSet;
use std::path::Path;

use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, default, referred};

const KIND: &str = "AWS::Serverless::Function";

pub(super) fn check(template: &Template, problems: &mut Problems) {
    let globals = template.at("/Globals/Function");
    problems.equal("the runtime", &globals["Runtime"], &json!("provided.al2023"));
    let architecture = referred(&globals["Architectures"][0]);
    let built_for = default(template, architecture).unwrap_or_default();
    problems.equal("the architecture", &json!(built_for), &json!("arm64"));
    let choices = template.at("/Parameters/Architecture/AllowedValues");
    problems.equal("the architectures", choices, &json!(["arm64", "x86_64"]));

    let mut names = BTreeSet::new();
    let mut roles = BTreeSet::new();
    for (id, resource) in template.resources().filter(|(_, r)| r["Type"] == KIND) {
        let properties = &resource["Properties"];
        let metadata = &resource["Metadata"];
        let name = metadata["BuildProperties"]["Binary"].as_str().unwrap_or_default();
        names.insert(name.to_owned());
        problems.equal(id, &metadata["BuildMethod"], &json!("rust-cargolambda"));
        problems.equal(id, &properties["CodeUri"], &json!(format!("../functions/{name}")));
        let role = referred(&properties["Role"]);
        problems.unless(roles.insert(role), format!("{id} shares its role {role}"));
        logs(template, id, properties, problems);
    }
    problems.same("functions", &names, &in_folder());
    rule(template, "TickRule", "TickFunction", problems);
    rule(template, "RecoveryRule", "RecoveryFunction", problems);
}

/// The functions of the workspace.
fn in_folder() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../functions");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

/// The log group has the name Lambda writes to, and its logs expire.
fn logs(template: &Template, id: &str, properties: &Value, problems: &mut Problems) {
    let group = referred(&properties["LoggingConfig"]["LogGroup"]);
    let group = template.properties(group);
    let name = properties["FunctionName"]["Fn::Sub"].as_str().unwrap_or_default();
    let wanted = json!(format!("/aws/lambda/{name}"));
    problems.equal(format!("the log of {id}"), &group["LogGroupName"]["Fn::Sub"], &wanted);
    let days = referred(&group["RetentionInDays"]);
    problems.unless(
        default(template, days).is_some(),
        format!("the log of {id} is kept for ever: no RetentionInDays"),
    );
}

/// Once a minute: the code's look-ahead and the sweep depend on it.
fn rule(template: &Template, rule: &str, function: &str, problems: &mut Problems) {
    let properties = template.properties(rule);
    problems.equal(rule, &properties["ScheduleExpression"], &json!("rate(1 minute)"));
    problems.equal(format!("the state of {rule}"), &properties["State"], &json!("ENABLED"));
    let target = referred(&properties["Targets"][0]["Arn"]);
    problems.equal(format!("the target of {rule}"), &json!(target), &json!(function));
    let allowed = template.of_type("AWS::Lambda::Permission").any(|(_, permission)| {
        referred(&permission["FunctionName"]) == function
            && permission["Principal"] == "events.amazonaws.com"
            && permission["Action"] == "lambda:InvokeFunction"
            && referred(&permission["SourceArn"]) == rule
    });
    problems.unless(allowed, format!("{rule} may not invoke {function}"));
}
