//! Schedules that CloudFormation stacks declare: created, changed, replaced, rolled back and
//! deleted, and never one that a stack did not create.

use belfry_tests::{Stack, World};
use chrono::Duration;
use serde_json::{Value, json};

/// A schedule of workflow `w`, which is ann's.
fn nightly(id: &str, cron_expr: &str) -> Value {
    json!({"ScheduleId": id, "Owner": "ann", "WorkflowId": "w", "CronExpr": cron_expr})
}

/// A schedule as the API shows it; `None` if it does not exist.
async fn shown(world: &World, id: &str) -> Option<Value> {
    let (status, schedule) = world.call("GET", &format!("/schedules/{id}"), &Value::Null).await;
    (status == 200).then_some(schedule)
}

#[track_caller]
fn done(answer: &Value, physical_id: &str) {
    assert_eq!(answer["Status"], "SUCCESS", "{answer}");
    assert_eq!(answer["PhysicalResourceId"], physical_id, "{answer}");
}

#[track_caller]
fn failed(answer: &Value, reason: &str) {
    assert_eq!(answer["Status"], "FAILED", "{answer}");
    let told = answer["Reason"].as_str().unwrap();
    assert!(told.contains(reason), "{told}");
    assert!(!answer["PhysicalResourceId"].as_str().unwrap().is_empty(), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_makes_a_schedule_that_fires_changes_it_and_deletes_it() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let first = nightly("n", "0 1 0 * * *");
    let made = stack.create(&world, "Nightly", &first).await;
    done(&made, "n");
    let told = &stack.told()[0];
    assert_eq!((told.method.as_str(), told.headers["content-type"].as_bytes()), ("PUT", &b""[..]));
    let event = stack.request("Create", "Nightly", &first, &json!({}));
    for field in ["StackId", "LogicalResourceId"] {
        assert_eq!(made[field], event[field]);
    }
    assert_eq!(made["RequestId"], "request-1");
    let attributes = &made["Data"];
    assert_eq!(attributes["ScheduleId"], "n");
    assert_eq!(attributes["Owner"], "ann");
    assert_eq!(attributes["Version"], "1");
    assert_eq!(attributes["Revision"], "1");
    let schedule = shown(&world, "n").await.unwrap();
    assert_eq!((&schedule["user_id"], &schedule["set"]), (&json!("ann"), &attributes["Set"]));
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.executor.run_ids(), ["n@2026-01-01T00:01:00Z"]);

    let second = nightly("n", "0 5 0 * * *");
    let changed = stack.update(&world, ("Nightly", "n"), &first, &second).await;
    done(&changed, "n");
    assert_eq!(changed["Data"]["Revision"], "2");
    assert_eq!(shown(&world, "n").await.unwrap()["cron_expr"], "0 5 0 * * *");
    let changes = world.ok("GET", "/schedules/n/changes", &Value::Null).await;
    assert_eq!(changes["items"][0]["from"]["user_agent"], "CloudFormation billing Nightly");

    done(&stack.delete(&world, ("Nightly", "n"), &second).await, "n");
    assert_eq!(shown(&world, "n").await, None);
    world.pass(Duration::minutes(10)).await;
    assert_eq!(world.executor.run_ids().len(), 1, "nothing of it launches any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_and_booleans_that_became_texts_are_read() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let properties = json!({
        "ScheduleId": "n", "Owner": "ann", "WorkflowId": "w", "Version": "1",
        "CronExpr": "0 9 * * *", "Paused": "true", "InjectMetadata": "false", "JitterMs": "250",
        "OverlapPolicy": "queue", "MaxConcurrent": "3", "CatchupPolicy": "once",
        "CatchupWindowS": "3600", "MaxRuntimeS": "60", "PauseAfterFailures": "5",
        "Tags": {"year": "2026"}, "PayloadJson": r#"{"month": 11, "test": false}"#,
    });
    done(&stack.create(&world, "Nightly", &properties).await, "n");
    let schedule = shown(&world, "n").await.unwrap();
    let expected = json!({
        "version": 1, "paused": true, "inject_metadata": false, "jitter_ms": 250,
        "max_concurrent": 3, "catchup_window_s": 3600, "max_runtime_s": 60,
        "pause_after_failures": 5, "tags": {"year": "2026"},
        "payload": {"month": 11, "test": false},
    });
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&schedule[field], value, "{field}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_by_hand_outlives_updates_that_do_not_speak_of_it() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let (first, second) = (nightly("n", "0 9 * * *"), nightly("n", "0 10 * * *"));
    stack.create(&world, "Nightly", &first).await;
    world.ok("POST", "/schedules/n/pause", &json!({"note": "holidays"})).await;
    done(&stack.update(&world, ("Nightly", "n"), &first, &second).await, "n");
    let schedule = shown(&world, "n").await.unwrap();
    assert_eq!((&schedule["paused"], &schedule["cron_expr"]), (&json!(true), &json!("0 10 * * *")));
    assert_eq!(schedule["pause_note"], "holidays");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_name_or_an_owner_it_gets_both() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let target = json!({"kind": "http", "url": world.executor.url});
    let (path, workflow) = ("/workflows/stacks/versions/1", json!({"target": target}));
    world.call_as(Some("cloudformation"), "PUT", path, &workflow, &[]).await;
    let properties = json!({"WorkflowId": "stacks", "CronExpr": "0 9 * * *"});
    let made = stack.create(&world, "Nightly", &properties).await;
    let id = made["PhysicalResourceId"].as_str().unwrap();
    assert!(id.starts_with("billing-Nightly-"), "{made}");
    assert_eq!(made["Data"]["Owner"], "cloudformation");
    done(&stack.update(&world, ("Nightly", id), &properties, &properties).await, id);
    done(&stack.delete(&world, ("Nightly", id), &properties).await, id);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_replaces_the_schedule_and_cloudformation_deletes_the_old() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let (old, new) = (nightly("old", "0 9 * * *"), nightly("new", "0 9 * * *"));
    stack.create(&world, "Nightly", &old).await;
    done(&stack.update(&world, ("Nightly", "old"), &old, &new).await, "new");
    assert!(shown(&world, "old").await.is_some() && shown(&world, "new").await.is_some());
    done(&stack.delete(&world, ("Nightly", "old"), &old).await, "old");
    assert!(shown(&world, "old").await.is_none() && shown(&world, "new").await.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_is_told_all_at_once_and_leaves_nothing_behind() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let bad = json!({
        "ScheduleId": "no spaces", "Owner": "*", "WorkflowId": "w", "CronExpr": "0 25 * * *",
        "Timezone": "Mars/Olympus", "MaxConcurrent": "many", "Paused": "perhaps",
        "Colour": "red", "PayloadJson": "{",
    });
    let answer = stack.create(&world, "Nightly", &bad).await;
    for property in [
        "ScheduleId",
        "Owner",
        "CronExpr",
        "Timezone",
        "MaxConcurrent",
        "Paused",
        "Colour",
        "PayloadJson",
    ] {
        failed(&answer, &format!("{property}: "));
    }
    let physical_id = answer["PhysicalResourceId"].as_str().unwrap();
    done(&stack.delete(&world, ("Nightly", physical_id), &bad).await, physical_id);

    let long: serde_json::Map<_, _> =
        (0..500).map(|n| (format!("Unknown{n}"), json!("x"))).collect();
    failed(&stack.create(&world, "Nightly", &json!(long)).await, "CronExpr: is required");
    assert!(stack.told().last().unwrap().text.len() <= 4096);

    let nowhere =
        json!({"ScheduleId": "n", "Owner": "ann", "WorkflowId": "x", "CronExpr": "@daily"});
    failed(
        &stack.create(&world, "Nightly", &nowhere).await,
        "WorkflowId: workflow x does not exist",
    );
    assert_eq!(shown(&world, "n").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_resource_did_not_make_it_never_touches() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let namesake = Stack::start("billing").await;
    world.schedule("by-hand", "0 9 * * *", &json!({})).await;
    stack.create(&world, "Nightly", &nightly("same-stack", "0 9 * * *")).await;
    namesake.create(&world, "Other", &nightly("other-stack", "0 9 * * *")).await;
    let theirs = json!({"workflow_id": "v", "cron_expr": "0 9 * * *"});
    let target = json!({"target": {"kind": "http", "url": world.executor.url}});
    world.call_as(Some("bob"), "PUT", "/workflows/v/versions/1", &target, &[]).await;
    let (status, _) = world.call_as(Some("bob"), "PUT", "/schedules/bobs", &theirs, &[]).await;
    assert_eq!(status, 201);
    for (id, reason) in [
        ("by-hand", "belongs to no set"),
        ("same-stack", "belongs to set stack.billing.Nightly."),
        ("other-stack", "belongs to set stack.billing.Other."),
        ("bobs", "cannot be used"),
    ] {
        let path = format!("/schedules/{id}");
        let as_it_is = || world.call_as(Some("eve admin"), "GET", &path, &Value::Null, &[]);
        let before = as_it_is().await;
        assert_eq!(before.0, 200);
        let properties = nightly(id, "0 10 * * *");
        let refused = stack.create(&world, "Other", &properties).await;
        failed(&refused, reason);
        failed(&refused, id);
        // The rollback of that creation.
        let physical_id = refused["PhysicalResourceId"].as_str().unwrap();
        done(&stack.delete(&world, ("Other", physical_id), &properties).await, physical_id);
        let own = nightly("own", "0 9 * * *");
        done(&stack.create(&world, "Other", &own).await, "own");
        let replacing = stack.update(&world, ("Other", "own"), &own, &properties).await;
        failed(&replacing, reason);
        assert_eq!(replacing["PhysicalResourceId"], "own");
        // The rollback of that replacement.
        done(&stack.update(&world, ("Other", "own"), &properties, &own).await, "own");
        done(&stack.delete(&world, ("Other", "own"), &own).await, "own");
        assert_eq!(as_it_is().await, before, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_that_was_taken_out_of_the_stacks_hands_is_left_alone() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let first = nightly("n", "0 9 * * *");
    stack.create(&world, "Nightly", &first).await;
    // Deleted by hand and created again by hand.
    world.ok("DELETE", "/schedules/n", &Value::Null).await;
    world.schedule("n", "0 11 * * *", &json!({})).await;
    failed(&stack.update(&world, ("Nightly", "n"), &first, &first).await, "belongs to no set");
    done(&stack.delete(&world, ("Nightly", "n"), &first).await, "n");
    assert_eq!(shown(&world, "n").await.unwrap()["cron_expr"], "0 11 * * *");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_failed_is_rolled_back() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let (good, bad) = (nightly("n", "0 9 * * *"), nightly("n", "0 25 * * *"));
    stack.create(&world, "Nightly", &good).await;
    failed(&stack.update(&world, ("Nightly", "n"), &good, &bad).await, "CronExpr: hour: 25");
    let back = stack.update(&world, ("Nightly", "n"), &bad, &good).await;
    done(&back, "n");
    assert_eq!(back["Data"]["Revision"], "1", "nothing had changed");

    // Another resource of the stack failed: the changes are undone.
    let other = nightly("n", "0 10 * * *");
    stack.update(&world, ("Nightly", "n"), &good, &other).await;
    done(&stack.update(&world, ("Nightly", "n"), &other, &good).await, "n");
    assert_eq!(shown(&world, "n").await.unwrap()["cron_expr"], "0 9 * * *");

    // The owner of an existing name cannot change; the rollback finds everything unchanged.
    let mut owner = good.clone();
    owner["Owner"] = json!("bob");
    failed(&stack.update(&world, ("Nightly", "n"), &good, &owner).await, "cannot be used");
    done(&stack.update(&world, ("Nightly", "n"), &owner, &good).await, "n");
    done(&stack.delete(&world, ("Nightly", "n"), &good).await, "n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replacement_is_rolled_back_whether_it_was_answered_or_not() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let (old, new) = (nightly("old", "0 9 * * *"), nightly("new", "0 9 * * *"));
    stack.create(&world, "Nightly", &old).await;
    // Answered: CloudFormation rolls back from the new name, and deletes it.
    stack.update(&world, ("Nightly", "old"), &old, &new).await;
    done(&stack.update(&world, ("Nightly", "new"), &new, &old).await, "old");
    done(&stack.delete(&world, ("Nightly", "new"), &new).await, "new");
    assert!(shown(&world, "old").await.is_some() && shown(&world, "new").await.is_none());
    // Done but not answered: CloudFormation only knows the old name.
    stack.update(&world, ("Nightly", "old"), &old, &new).await;
    done(&stack.update(&world, ("Nightly", "old"), &new, &old).await, "old");
    assert!(shown(&world, "old").await.is_some() && shown(&world, "new").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_nobody_heard_of_is_deleted_all_the_same() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let properties = nightly("n", "0 9 * * *");
    stack.create(&world, "Nightly", &properties).await;
    let made_up = "billing-Nightly-1B2A3C4D5E6F";
    done(&stack.delete(&world, ("Nightly", made_up), &properties).await, made_up);
    assert_eq!(shown(&world, "n").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_twice_does_it_once() {
    let (world, stack) = (World::new().await, Stack::start("billing").await);
    let (first, second) = (nightly("n", "0 9 * * *"), nightly("n", "0 10 * * *"));
    let create = stack.request("Create", "Nightly", &first, &json!({}));
    let more = json!({"PhysicalResourceId": "n", "OldResourceProperties": first});
    let update = stack.request("Update", "Nightly", &second, &more);
    let delete = stack.request("Delete", "Nightly", &second, &more);
    for event in [create, update] {
        let answer = stack.ask(&world, &event).await;
        done(&answer, "n");
        assert_eq!(stack.ask(&world, &event).await, answer);
    }
    let changes = world.ok("GET", "/schedules/n/changes", &Value::Null).await;
    assert_eq!(changes["items"].as_array().unwrap().len(), 2);
    for _ in 0..2 {
        done(&stack.ask(&world, &delete).await, "n");
    }
    // Deleted by hand in between: an update creates it again.
    done(&stack.update(&world, ("Nightly", "n"), &first, &second).await, "n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stack_of_many_schedules_waits_for_its_turn() {
    let world = World::with(&[("CREATE_RATE_PER_MINUTE", "20")]).await;
    let stack = Stack::start("billing").await;
    for n in 0..20 {
        let properties = nightly(&format!("n{n}"), "0 9 * * *");
        done(&stack.create(&world, &format!("N{n}"), &properties).await, &format!("n{n}"));
    }
    let last = nightly("last", "0 9 * * *");
    let mut asked = Box::pin(stack.create(&world, "Last", &last));
    let begin = world.now();
    loop {
        tokio::select! {
            answer = &mut asked => { done(&answer, "last"); break }
            // Its own wait in addition to that for the deadline.
            () = world.time.until_sleeping(2) => {
                world.time.set(world.time.next_wake().unwrap());
                tokio::task::yield_now().await;
            }
        }
    }
    assert_eq!(world.now() - begin, Duration::seconds(3));
}
