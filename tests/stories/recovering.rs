//! Recovery alone launches or explains every orphan.

use belfry_core::id::RunId;
use belfry_core::run::{Run, Status, Trigger};
use belfry_engine::cloud::launch_queue::Parcel;
use belfry_engine::cloud::store::{Claim, Stored};
use belfry_tests::World;
use belfry_tests::world::claimant;
use chrono::Duration;
use serde_json::{Value, json};

/// A world with a schedule that fires at 00:10, without any further tick.
async fn world_without_ticks(more: &Value) -> World {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    world.schedule("report", "0 10 0 * * *", more).await;
    world.pass_without_ticks(Duration::minutes(9)).await;
    world
}

/// Recovery's rule, once a minute, and messages; no tick.
async fn recover_for(world: &World, minutes: i64) {
    for _ in 0..minutes {
        world.pass_without_ticks(Duration::minutes(1)).await;
        world.recover().await;
        world.deliver().await;
    }
}

/// The fire of 00:10 is claimed by a launcher that dies at once, and its message is lost.
async fn claimed_by_a_dead_launcher(world: &World) -> RunId {
    world.tick().await;
    world.lose_messages().await;
    world.pass_without_ticks(Duration::minutes(1)).await;
    let id = world.fire("report", "00:10:00");
    let lease = Duration::seconds(15);
    let store = &world.app.store;
    let claim = store.claim_run(&claimant(&id, "gone"), lease, world.now()).await.unwrap();
    assert!(matches!(claim, Claim::Won(_)));
    id
}

async fn only_run(world: &World) -> Value {
    let runs = world.runs("report").await;
    let [run] = runs.as_slice() else { panic!("{runs:#?}") };
    run.clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_died_after_the_put_is_made_good() {
    let world = world_without_ticks(&json!({})).await;
    let id = world.fire("report", "00:10:00");
    let trigger = Trigger::Schedule("0 10 0 * * *".to_owned());
    let run = Run::planned(id.clone(), trigger, "ann", 1, id.run_at, world.now());
    world.app.store.put_run(&run).await.unwrap();
    recover_for(&world, 5).await;
    assert!(world.executor.launches().is_empty(), "it is not lost yet");
    recover_for(&world, 3).await;
    let [launch] = world.executor.launches().try_into().unwrap();
    let metadata = &launch.body["metadata"];
    assert_eq!(metadata["is_recovery"], true);
    assert_eq!(metadata["original_scheduled_time"], "2026-01-01T00:10:00Z");
    assert_eq!(metadata["execution_id"], "report@2026-01-01T00:10:00Z");
    assert!(metadata["recovery_attempt_time"].is_string());
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["recovery"]["attempts"]), (&json!("SUCCESS"), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_was_lost_is_made_good() {
    let world = world_without_ticks(&json!({})).await;
    world.tick().await;
    world.lose_messages().await;
    recover_for(&world, 10).await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:10:00Z"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_dead_after_its_claim_is_recovered_without_its_message() {
    let world = world_without_ticks(&json!({})).await;
    world.tick().await;
    world.lose_messages().await;
    world.pass_without_ticks(Duration::minutes(1)).await;
    let id = world.fire("report", "00:10:00");
    let lease = Duration::seconds(60);
    let claim = world.app.store.claim_run(&claimant(&id, "m"), lease, world.now()).await.unwrap();
    assert!(matches!(claim, Claim::Won(_)));
    recover_for(&world, 12).await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:10:00Z"]);
    let run = only_run(&world).await;
    assert_eq!(run["attempt"], 2);
    let lost = "no record: its launcher stopped, and recovery found the run";
    assert_eq!(run["attempts"][0]["error"], lost);
    assert_eq!(run["attempts"][0]["started_at"], "2026-01-01T00:10:00.000Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_between_two_attempts_is_not_lost() {
    let world = world_without_ticks(&json!({})).await;
    world.executor.answers_with(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1) => (503, Some(("retry-after", "840".to_owned())), "busy".to_owned()),
        _ => (200, None, String::new()),
    });
    world.tick().await;
    let mut resent = 0;
    for _ in 0..14 {
        world.pass_without_ticks(Duration::minutes(1)).await;
        resent += world.recover().await["resent"].as_u64().unwrap();
        world.deliver().await;
        assert_eq!(only_run(&world).await["retry_at"], "2026-01-01T00:24:00Z");
        let ledger = world.ok("GET", "/schedules/report/ledger", &Value::Null).await;
        assert_eq!(ledger["unexplained"], json!([]), "the run is under way");
    }
    assert_eq!((resent, world.executor.launches().len()), (0, 1));
    recover_for(&world, 2).await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(2)));
    assert_eq!((&run["recovery"], &run["drift_ms"]), (&Value::Null, &json!(840_000)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_message_is_lost_between_two_attempts_is_made_good() {
    let world = world_without_ticks(&json!({})).await;
    world.executor.answers(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1) => (503, "busy".to_owned()),
        _ => (200, String::new()),
    });
    world.tick().await;
    world.pass_without_ticks(Duration::minutes(1)).await;
    world.lose_messages().await;
    recover_for(&world, 10).await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(2)));
    assert_eq!(run["recovery"]["attempts"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_keeps_getting_lost_is_abandoned_after_three_attempts() {
    let world = world_without_ticks(&json!({})).await;
    world.tick().await;
    let mut resent = 0;
    for _ in 0..40 {
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(1)).await;
        resent += world.recover().await["resent"].as_u64().unwrap();
    }
    assert_eq!(resent, 3);
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("ABANDONED"), &json!("lost")));
    assert!(world.executor.launches().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_abandoned_run_counts_as_a_failure_in_a_row() {
    let world = world_without_ticks(&json!({"pause_after_failures": 1})).await;
    world.tick().await;
    for _ in 0..40 {
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(1)).await;
        world.recover().await;
    }
    assert_eq!(only_run(&world).await["status"], "ABANDONED");
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(schedule["paused"], true);
    let note = schedule["pause_note"].as_str().unwrap();
    assert!(note.starts_with("paused after 1 failures in a row"), "{note}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backfill_continues_when_its_run_times_out() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let more = json!({"workflow_id": "t", "max_runtime_s": 60});
    world.schedule("report", "0 0 * * * *", &more).await;
    world.pass_without_ticks(Duration::hours(3)).await;
    let range = json!({"from": "2026-01-01T01:00:00Z", "to": "2026-01-01T02:00:00Z"});
    world.ok("POST", "/schedules/report/backfill", &range).await;
    world.deliver().await;
    assert_eq!(world.executor.launches().len(), 1, "one at a time");
    // No tick comes, and the executor never reports: only the end by recovery can take it on.
    recover_for(&world, 20).await;
    assert_eq!(world.executor.launches().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn recovery_launches_nothing_for_a_paused_schedule() {
    let world = world_without_ticks(&json!({})).await;
    world.tick().await;
    world.lose_messages().await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    recover_for(&world, 10).await;
    assert_eq!(only_run(&world).await["reason"], "paused");
    assert!(world.executor.launches().is_empty());
}

/// Pauses or deletes the schedule without a word to the runs that are under way, as a restored
/// table would have it.
fn behind_its_back(world: &World, attribute: &str, value: &Value) {
    let request = json!({
        "TableName": "belfry-schedules",
        "Key": {"schedule_id": {"S": "report"}, "sk": {"S": "clock"}},
        "UpdateExpression": "SET #a = :v",
        "ExpressionAttributeNames": {"#a": attribute},
        "ExpressionAttributeValues": {":v": value},
    });
    world.services.database.update_item(serde_json::from_value(request).unwrap()).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_paused_or_deleted_behind_recoverys_back_launches_nothing() {
    let deleted_at = json!({"S": "2026-01-01T00:09:30Z"});
    for (attribute, value, reason) in
        [("paused", json!({"BOOL": true}), "paused"), ("deleted_at", deleted_at, "deleted")]
    {
        // The run is lost and never launched: recovery itself finds the change.
        let world = world_without_ticks(&json!({})).await;
        world.tick().await;
        world.lose_messages().await;
        behind_its_back(&world, attribute, &value);
        let id = world.fire("report", "00:10:00");
        let status = async || world.app.store.run(&id).await.unwrap().unwrap();
        recover_for(&world, 4).await;
        assert_eq!(status().await.status, Status::Enqueued, "the run was not changed");
        recover_for(&world, 6).await;
        let run = world.ok("GET", &format!("/runs/{id}"), &Value::Null).await;
        assert_eq!((&run["status"], &run["reason"]), (&json!("SKIPPED"), &json!(reason)));
        assert!(world.executor.launches().is_empty());

        // Recovery has sent the run again when the change comes: the launcher finds it.
        let world = world_without_ticks(&json!({})).await;
        world.tick().await;
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(7)).await;
        assert_eq!(world.recover().await["resent"], 1);
        behind_its_back(&world, attribute, &value);
        world.deliver().await;
        let run = world.ok("GET", &format!("/runs/{id}"), &Value::Null).await;
        assert_eq!((&run["status"], &run["reason"]), (&json!("SKIPPED"), &json!(reason)));
        assert!(world.executor.launches().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_dead_before_a_pause_leaves_no_blocking_run() {
    let world = world_without_ticks(&json!({"overlap_policy": "skip"})).await;
    claimed_by_a_dead_launcher(&world).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    recover_for(&world, 12).await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("ABANDONED"), &json!("lost")));
    assert!(world.executor.launches().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tracked_run_that_takes_too_long_fails_and_frees_its_slot() {
    let more = json!({"workflow_id": "t", "max_runtime_s": 900, "overlap_policy": "skip"});
    let world = world_without_ticks(&more).await;
    world.tick().await;
    recover_for(&world, 15).await;
    assert_eq!(only_run(&world).await["status"], "STARTED");
    recover_for(&world, 3).await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("timeout")));
    world.ok("POST", "/schedules/report/trigger", &Value::Null).await;
    world.deliver().await;
    assert_eq!(world.executor.launches().len(), 2, "the slot is free");
    let done = json!({"status": "SUCCESS"});
    let late = world.call("POST", "/runs/report@2026-01-01T00:10:00Z/status", &done).await;
    assert_eq!(late.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreported_run_of_a_paused_or_deleted_schedule_ends() {
    let more = json!({"workflow_id": "t", "max_runtime_s": 900, "overlap_policy": "skip"});
    let world = world_without_ticks(&more).await;
    world.tick().await;
    recover_for(&world, 2).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    recover_for(&world, 16).await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("timeout")));

    world.ok("POST", "/schedules/report/trigger", &Value::Null).await;
    world.deliver().await;
    let run_id = world.executor.run_ids().pop().unwrap();
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    recover_for(&world, 10).await;
    world.pass_without_ticks(Duration::hours(25)).await;
    // Each call sweeps at most two hours.
    for _ in 0..15 {
        world.recover().await;
    }
    let run = world.ok("GET", &format!("/runs/{run_id}"), &Value::Null).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("timeout")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_that_nobody_lived_to_give_back_is_freed() {
    let world = world_without_ticks(&json!({"overlap_policy": "skip"})).await;
    world.tick().await;
    world.pass_without_ticks(Duration::minutes(2)).await;
    let id = world.fire("report", "00:10:00");
    let active = async || match world.app.store.schedule(&id.schedule_id).await.unwrap() {
        Stored::Schedule(schedule) => schedule.clock.active.len(),
        other => panic!("{other:?}"),
    };
    let Stored::Schedule(schedule) = world.app.store.schedule(&id.schedule_id).await.unwrap()
    else {
        panic!("it is there")
    };
    world.app.store.take_slot(&schedule.clock, &id).await.unwrap();
    assert_eq!((active().await, &only_run(&world).await["status"]), (1, &json!("SUCCESS")));
    recover_for(&world, 6).await;
    assert_eq!(active().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_is_opened_and_its_run_launched() {
    let world = world_without_ticks(&json!({})).await;
    world.tick().await;
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let (queue, dead) =
        (&world.app.settings.launch_queue_url, &world.app.settings.dead_letter_queue_url);
    world.time.advance(Duration::minutes(1));
    let received = client.receive_message().queue_url(queue).send().await.unwrap();
    let body = received.messages()[0].body().unwrap();
    client.send_message().queue_url(dead).message_body(body).send().await.unwrap();
    client.send_message().queue_url(dead).message_body("what is this").send().await.unwrap();
    world.lose_messages().await;
    let report = world.recover().await;
    assert_eq!((&report["resent"], &report["poison"]), (&json!(1), &json!(1)), "{report}");
    world.deliver().await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:10:00Z"]);
}

/// A message is lost, and then neither ticks nor recovery run for five hours.
async fn outage_of_recovery(policy: &str) -> World {
    let world = world_without_ticks(&json!({"catchup_policy": policy})).await;
    world.recover().await;
    world.tick().await;
    world.lose_messages().await;
    world.pass_without_ticks(Duration::hours(5)).await;
    for _ in 0..5 {
        // A call sweeps at most two hours.
        world.recover().await;
        world.deliver().await;
    }
    world
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_recovery_itself_is_caught_up() {
    let world = outage_of_recovery("fire_immediately").await;
    assert_eq!(world.executor.run_ids(), ["report@2026-01-01T00:10:00Z"]);
    let world = outage_of_recovery("none").await;
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("SKIPPED"), &json!("missed")));
    assert!(world.executor.launches().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tracked_run_whose_launcher_died_ends_without_a_time_limit() {
    for change in ["pause", "edit", "delete"] {
        let more = json!({"workflow_id": "t", "overlap_policy": "skip"});
        let world = world_without_ticks(&more).await;
        let id = claimed_by_a_dead_launcher(&world).await;
        match change {
            "pause" => world.ok("POST", "/schedules/report/pause", &Value::Null).await,
            "edit" => world.ok("PATCH", "/schedules/report", &json!({"payload": {"n": 1}})).await,
            _ => world.ok("DELETE", "/schedules/report", &Value::Null).await,
        };
        recover_for(&world, 12).await;
        let run = world.ok("GET", &format!("/runs/{id}"), &Value::Null).await;
        let launches = world.executor.launches().len();
        if change == "edit" {
            assert_eq!((&run["status"], launches), (&json!("STARTED"), 1), "sent again: {run}");
        } else {
            let lost = (&json!("ABANDONED"), &json!("lost"), 0);
            assert_eq!((&run["status"], &run["reason"], launches), lost, "{change}: {run}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_run_is_not_launched_again_and_ends_after_a_day() {
    let more = json!({"workflow_id": "t", "overlap_policy": "skip"});
    let world = world_without_ticks(&more).await;
    world.tick().await;
    recover_for(&world, 2).await;
    let id = world.fire("report", "00:10:00");
    let run = world.app.store.run(&id).await.unwrap().unwrap();
    assert_eq!((run.status, run.lease_until), (Status::Started, None), "accepted");
    // Its message comes once more, long after the lease.
    world.pass_without_ticks(Duration::minutes(30)).await;
    let again = world.app.queue.send(&[Parcel::of(&run)], world.now()).await;
    assert!(again.iter().all(Result::is_ok));
    recover_for(&world, 10).await;
    assert_eq!(world.executor.launches().len(), 1);
    world.pass_without_ticks(Duration::hours(22)).await;
    for _ in 0..15 {
        world.recover().await;
    }
    assert_eq!(only_run(&world).await["status"], "STARTED");
    world.pass_without_ticks(Duration::hours(2)).await;
    for _ in 0..5 {
        world.recover().await;
    }
    let run = only_run(&world).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("timeout")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_is_enforced_within_seconds_without_recovery() {
    for paused in [false, true] {
        let more = json!({"workflow_id": "t", "overlap_policy": "skip", "max_runtime_s": 30});
        let world = world_without_ticks(&more).await;
        world.tick().await;
        world.pass_without_ticks(Duration::seconds(60 + 29)).await;
        assert_eq!(only_run(&world).await["status"], "STARTED");
        if paused {
            world.ok("POST", "/schedules/report/pause", &Value::Null).await;
        }
        world.pass_without_ticks(Duration::seconds(3)).await;
        let run = only_run(&world).await;
        assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("timeout")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ended_well_is_left_alone() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    let mut looked_at = 0;
    for _ in 0..20 {
        world.pass(Duration::minutes(1)).await;
        let report = world.recover().await;
        looked_at += report["looked_at"].as_u64().unwrap();
        assert_eq!((&report["resent"], &report["failed"]), (&json!(0), &json!(0)), "{report}");
    }
    assert!(looked_at >= 13, "each run is looked at once: {looked_at}");
    assert_eq!(world.executor.launches().len(), 20);
}
