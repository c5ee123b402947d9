//! Workflows that CloudFormation stacks declare: every definition is a version, and versions stay.

use belfry_tests::{Stack, World};
use serde_json::{Value, json};

fn flow(stack: &Stack, action: &str, steps: &str) -> Value {
    let properties = json!({
        "WorkflowId": "flow", "Owner": "ann", "DefinitionJson": steps,
        "Target": {"Kind": "lambda", "Function": "report"},
    });
    let more = json!({"ResourceType": "Custom::BelfryWorkflow", "PhysicalResourceId": "flow"});
    stack.request(action, "Flow", &properties, &more)
}

#[track_caller]
fn version(answer: &Value, version: &str) {
    assert_eq!(answer["Status"], "SUCCESS", "{answer}");
    assert_eq!(answer["PhysicalResourceId"], "flow", "{answer}");
    assert_eq!(answer["Data"]["Version"], version, "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_definition_is_a_version_that_schedules_can_name_and_that_stays() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let created = flow(&stack, "Create", "[1]");
    version(&stack.ask(&world, &created).await, "1");
    version(&stack.ask(&world, &created).await, "1");
    version(&stack.ask(&world, &flow(&stack, "Update", "[2]")).await, "2");
    version(&stack.ask(&world, &flow(&stack, "Update", "[2]")).await, "2");
    let schedule = json!({
        "ScheduleId": "n", "Owner": "ann", "WorkflowId": "flow", "Version": "2",
        "CronExpr": "0 9 * * *",
    });
    let made = stack.create(&world, "Nightly", &schedule).await;
    assert_eq!((&made["Status"], &made["Data"]["Version"]), (&json!("SUCCESS"), &json!("2")));
    // Rolled back: the former definition becomes the newest version.
    version(&stack.ask(&world, &flow(&stack, "Update", "[1]")).await, "3");
    let third = world.ok("GET", "/workflows/flow/versions/3", &Value::Null).await;
    assert_eq!(third["definition"], json!([1]));
    let deleted = stack.ask(&world, &flow(&stack, "Delete", "[1]")).await;
    assert_eq!(deleted["Status"], "SUCCESS", "{deleted}");
    let versions = world.ok("GET", "/workflows/flow/versions", &Value::Null).await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 3);
    // Declared again, with its last definition.
    version(&stack.ask(&world, &flow(&stack, "Create", "[1]")).await, "3");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deliveries_at_once_publish_one_version() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    version(&stack.ask(&world, &flow(&stack, "Create", "[1]")).await, "1");
    let update = flow(&stack, "Update", "[2]");
    let deadline = world.now() + chrono::Duration::seconds(60);
    let deliver = || {
        let app = world.app.as_ref();
        belfry_engine::functions::resource(Ok::<_, &String>(app), update.clone(), deadline)
    };
    let (first, second) = tokio::join!(deliver(), deliver());
    assert_eq!(
        (&first.unwrap()["Status"], &second.unwrap()["Status"]),
        (&json!("SUCCESS"), &json!("SUCCESS"))
    );
    let versions = world.ok("GET", "/workflows/flow/versions", &Value::Null).await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_somebody_elses_or_wrong_is_refused() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let target = json!({"target": {"kind": "lambda", "function": "theirs"}});
    world.call_as(Some("bob"), "PUT", "/workflows/flow/versions/1", &target, &[]).await;
    let refused = stack.ask(&world, &flow(&stack, "Create", "[1]")).await;
    assert_eq!(refused["Status"], "FAILED");
    assert_eq!(refused["Reason"], "workflow flow is a name that cannot be used");
    let (_, versions) =
        world.call_as(Some("bob"), "GET", "/workflows/flow/versions", &Value::Null, &[]).await;
    assert_eq!(versions["items"].as_array().unwrap().len(), 1);

    let properties = json!({
        "WorkflowId": "other", "Owner": "ann", "Completion": "perhaps", "Steps": "3",
        "Target": {"Kind": "http", "Url": "https://169.254.169.254/"},
    });
    let kind = json!({"ResourceType": "Custom::BelfryWorkflow"});
    let refused = stack.ask(&world, &stack.request("Create", "Other", &properties, &kind)).await;
    let reason = refused["Reason"].as_str().unwrap();
    assert!(reason.contains("Completion: ") && reason.contains("Steps: "), "{reason}");
    let properties = json!({
        "WorkflowId": "other", "Owner": "ann",
        "Target": {"Kind": "http", "Url": "https://169.254.169.254/"},
    });
    let refused = stack.ask(&world, &stack.request("Create", "Other", &properties, &kind)).await;
    let reason = refused["Reason"].as_str().unwrap();
    assert!(reason.starts_with("Target.Url: "), "{reason}");
    let more = json!({"ResourceType": "Custom::BelfryWorkflow", "PhysicalResourceId": "other"});
    let deleted = stack.ask(&world, &stack.request("Delete", "Other", &properties, &more)).await;
    assert_eq!(deleted["Status"], "SUCCESS");
}
