//! The custom resource: valid requests with one thing wrong, in the event or in its properties.

use belfry_engine::functions;
use belfry_tests::{Stack, World};
use chrono::Duration;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::odd;
use crate::{check, runtime};

fn properties() -> Vec<(&'static str, Value)> {
    let schedule = json!({
        "ScheduleId": "a", "Owner": "ann", "Name": "a", "Tags": {"team": "x"}, "WorkflowId": "w",
        "Version": "1", "CronExpr": "*/5 * * * *", "Timezone": "Europe/Berlin",
        "StartAt": "2026-01-01T00:00:00Z", "Paused": "false", "JitterMs": "10",
        "MaxConcurrent": "1", "CatchupPolicy": "once", "PayloadJson": "{}",
        "AfterScheduleId": "b",
    });
    let workflow = json!({
        "WorkflowId": "x", "Owner": "ann", "DefinitionJson": "[1]", "Completion": "tracked",
        "Target": {"Kind": "http", "Url": "http://127.0.0.1:1/"},
    });
    vec![("Custom::BelfrySchedule", schedule), ("Custom::BelfryWorkflow", workflow)]
}

#[test]
fn a_stack_is_answered_whatever_it_says() {
    let runtime = runtime();
    let world = runtime.block_on(World::new());
    let stack = runtime.block_on(Stack::start("odd"));
    let asked = (
        select(properties()),
        select(vec!["Create", "Update", "Delete"]),
        any::<bool>(),
        odd::change(),
    );
    check(400, &asked, |((kind, properties), action, inside, change)| {
        let more = json!({
            "ResourceType": kind, "PhysicalResourceId": "a", "OldResourceProperties": properties,
        });
        let mut event = stack.request(action, "Odd", &properties, &more);
        let document = if inside { event["ResourceProperties"].clone() } else { event.clone() };
        let Ok(changed) = serde_json::from_str::<Value>(&change.of(&document)) else {
            return Ok(());
        };
        if inside {
            event["ResourceProperties"] = changed;
        } else {
            event = changed;
        }
        let can_be_answered = event["ResponseURL"] == stack.url;
        let (before, deadline) = (stack.told().len(), world.now() + Duration::seconds(60));
        let app = Ok::<_, &String>(world.app.as_ref());
        let handled = runtime.block_on(functions::resource(app, event, deadline));
        prop_assert_eq!(handled.is_ok(), can_be_answered);
        prop_assert_eq!(stack.told().len() - before, usize::from(can_be_answered));
        if can_be_answered {
            let answer = stack.answer();
            let failed = answer["Status"] == "FAILED";
            prop_assert!(failed || answer["Status"] == "SUCCESS", "{}", answer);
            prop_assert_eq!(failed, !answer["Reason"].is_null());
            prop_assert!(answer["PhysicalResourceId"].as_str().is_some_and(|id| !id.is_empty()));
            // The answer echoes fields of the event, so an oversized event makes an oversized
            // answer.
            prop_assert!(!inside || stack.told().last().unwrap().text.len() <= 4096);
            prop_assert!(action != "Delete" || !inside || !failed, "{}", answer);
        }
        Ok(())
    });
}
