//! The settings: every one is given to the functions, no other is, and what a parameter is without
//! anybody's word is what the code would take.

use std::collections::BTreeSet;

use belfry_engine::settings::{ROWS, Settings};
use belfry_tests::Template;
use serde_json::{Value, json};

use super::{Problems, default, number, referred};

/// Read by the log, not by the settings.
const LOG: &str = "RUST_LOG";

pub(super) fn check(template: &Template, problems: &mut Problems) {
    let given = template.at("/Globals/Function/Environment/Variables");
    let names = |value: &Value| -> BTreeSet<String> {
        value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
    };
    let mut known: BTreeSet<_> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    known.insert(LOG.to_owned());
    problems.same("environment", &names(given), &known);
    for (id, function) in template.of_type("AWS::Serverless::Function") {
        let own = names(&function["Environment"]["Variables"]);
        for name in own.difference(&known) {
            problems.add(format!("environment of {id}: {name} is no setting"));
        }
    }
    for row in ROWS {
        let parameter = referred(&given[row.name]);
        let is_parameter = !template.at(&format!("/Parameters/{parameter}")).is_null();
        if !is_parameter || parameter.is_empty() {
            continue;
        }
        let found = default(template, parameter);
        problems.equal(
            format!("the default of {parameter}"),
            &json!(found),
            &json!(row.default.map(str::to_owned)),
        );
        bounds(template, row.name, parameter, problems);
    }
    for (name, table) in [
        ("SCHEDULES_TABLE", "SchedulesTable"),
        ("RUNS_TABLE", "RunsTable"),
        ("WORKFLOWS_TABLE", "WorkflowsTable"),
        ("LAUNCH_QUEUE_URL", "LaunchQueue"),
        ("DEAD_LETTER_QUEUE_URL", "DeadLetterQueue"),
        ("EVENT_BUS", "EventBus"),
        ("DEPLOYMENT", "AWS::StackName"),
    ] {
        problems.equal(name, &given[name], &json!({"Ref": table}));
    }
    for name in ["SIGNING_KEY", "RUN_TOKEN_KEY"] {
        secret(template, name, &given[name], problems);
    }
    problems.unless(
        given["SIGNING_KEY"] != given["RUN_TOKEN_KEY"],
        "SIGNING_KEY and RUN_TOKEN_KEY are one secret, and targets know the first",
    );
}

/// What a parameter lets through, the functions start with.
fn bounds(template: &Template, name: &str, parameter: &str, problems: &mut Problems) {
    let parameter = template.at(&format!("/Parameters/{parameter}"));
    let choices = parameter["AllowedValues"].as_array().into_iter().flatten();
    let ends = [&parameter["MinValue"], &parameter["MaxValue"]];
    let values = ends.into_iter().filter(|value| !value.is_null()).chain(choices);
    for value in values {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let read =
            Settings::read(|asked| match ROWS.iter().find(|row| row.name == asked)?.default {
                _ if asked == name => Some(text.clone()),
                // Its own rule: it is less than the lease.
                _ if asked == "TARGET_TIMEOUT_MS" && name == "LAUNCH_LEASE_S" => {
                    Some("1".to_owned())
                }
                Some(default) => Some(default.to_owned()),
                None => Some("a text of some length".to_owned()),
            });
        if let Err(refused) = read {
            problems.add(format!("the template allows {name}={text}: {}", refused[0]));
        }
    }
}

/// Made by the deployment and never written down.
fn secret(template: &Template, name: &str, value: &Value, problems: &mut Problems) {
    let text = value["Fn::Sub"].as_str().unwrap_or_default();
    let id = text
        .strip_prefix("{{resolve:secretsmanager:${")
        .and_then(|rest| rest.strip_suffix("}:SecretString}}"))
        .unwrap_or_default();
    let generated = &template.properties(id)["GenerateSecretString"];
    problems.unless(
        number(&generated["PasswordLength"]) >= 32,
        format!("{name} is no secret that the deployment makes"),
    );
}
