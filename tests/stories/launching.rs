//! A run is launched once, and every run ends.

use belfry_core::run::Status;
use belfry_engine::cloud::store::{Claim, GivenBack, Outcome};
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;
use belfry_tests::world::claimant;

fn row(at: &str, status: &str, reason: &str) -> (String, String, String) {
    (at.to_owned(), status.to_owned(), reason.to_owned())
}

/// A workflow whose executor reports back.
async fn tracked(world: &World) {
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_target_is_tried_again_with_the_same_key_and_then_given_up() {
    let world = World::new().await;
    world.executor.answers(|_| (503, "busy".to_owned()));
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(5)).await;
    let launches = world.executor.launches();
    assert_eq!(launches.len(), 5);
    assert!(launches.iter().all(|launch| launch.key == launches[0].key));
    let attempts: Vec<_> = launches.iter().map(|l| l.body["metadata"]["attempt"].clone()).collect();
    assert_eq!(attempts, [1, 2, 3, 4, 5]);
    assert_eq!(world.story("report").await, [row("00:01:00", "FAILED", "launch_failed")]);
    assert_eq!(world.runs("report").await[0]["error"], "HTTP 503: busy");
}

#[tokio::test(flavor = "multi_thread")]
async fn max_attempts_of_a_schedule_goes_before_the_deployments() {
    let world = World::with(&[("LAUNCH_MAX_ATTEMPTS", "3")]).await;
    world.executor.answers(|_| (503, "busy".to_owned()));
    let once = world.schedule("once", "0 1 0 * * *", &json!({"max_attempts": 1})).await;
    let usual = world.schedule("usual", "0 1 0 * * *", &json!({})).await;
    assert_eq!((&once["max_attempts"], &usual["max_attempts"]), (&json!(1), &Value::Null));
    world.pass(Duration::minutes(5)).await;
    for (id, attempts) in [("once", 1), ("usual", 3)] {
        assert_eq!(world.story(id).await, [row("00:01:00", "FAILED", "launch_failed")]);
        assert_eq!(world.runs(id).await[0]["attempt"], attempts, "{id}");
    }
    let cleared = world.ok("PATCH", "/schedules/once", &json!({"max_attempts": null})).await;
    assert_eq!(cleared["max_attempts"], Value::Null);
    for wrong in [json!(0), json!(11), json!("2")] {
        let body = json!({"max_attempts": wrong});
        let (status, answer) = world.call("PATCH", "/schedules/once", &body).await;
        assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("max_attempts")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_recovers_gets_the_run() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1 | 2) => (500, String::new()),
        _ => (200, r#"{"result": {"rows": 7}}"#.to_owned()),
    });
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(3)).await;
    let run = &world.runs("report").await[0];
    assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(3)));
    assert_eq!((&run["result"], &run["error"]), (&json!({"rows": 7}), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_that_refuses_is_not_asked_again() {
    let world = World::new().await;
    world.executor.answers(|_| (404, "nobody here".to_owned()));
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(3)).await;
    assert_eq!(world.executor.launches().len(), 1);
    assert_eq!(world.story("report").await, [row("00:01:00", "FAILED", "launch_failed")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_failing_target_leaves_its_neighbours_alone() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.starts_with("bad") {
        true => (500, String::new()),
        false => (200, String::new()),
    });
    for id in ["bad", "good-1", "good-2", "good-3"] {
        world.schedule(id, "0 1 0 * * *", &json!({})).await;
    }
    world.pass(Duration::minutes(1)).await;
    for id in ["good-1", "good-2", "good-3"] {
        assert_eq!(world.story(id).await, [row("00:01:00", "SUCCESS", "")]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_launcher_is_replaced_after_its_lease_and_fenced_off() {
    let world = World::new().await;
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(1) - Duration::seconds(2)).await;
    world.time.advance(Duration::seconds(2));
    // It received the message, claimed the run and died.
    let messages = world.mapping.receive(0).await;
    let holder = messages[0].message_id().unwrap().to_owned();
    let id = world.fire("report", "00:01:00");
    let lease = Duration::seconds(60);
    let claim =
        world.app.store.claim_run(&claimant(&id, &holder), lease, world.now()).await.unwrap();
    let Claim::Won(dead) = claim else { panic!("{claim:?}") };

    world.pass(Duration::seconds(50)).await;
    assert!(world.executor.launches().is_empty(), "the lease still holds");
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.executor.run_ids(), [id.to_string()]);
    let run = &world.runs("report").await[0];
    assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(2)));

    // It wakes up after all: its fence is old.
    let back = GivenBack::default();
    assert!(!world.app.store.give_back_run(&id, dead.attempt, &back).await.unwrap());
    let attempts = world.runs("report").await[0]["attempts"].clone();
    assert_eq!(attempts[0]["error"], "no record: its launcher stopped before it wrote one");
    assert_eq!((&attempts[1]["attempt"], &attempts[1]["error"]), (&json!(2), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_launcher_cannot_write_while_its_successor_is_at_work() {
    let world = World::new().await;
    tracked(&world).await;
    world.schedule("report", "0 1 0 * * *", &json!({"workflow_id": "t"})).await;
    world.pass_without_ticks(Duration::minutes(1) - Duration::seconds(2)).await;
    world.time.advance(Duration::seconds(2));
    let messages = world.mapping.receive(0).await;
    let holder = messages[0].message_id().unwrap().to_owned();
    let (id, store) = (world.fire("report", "00:01:00"), &world.app.store);
    let lease = Duration::seconds(60);
    let claim = store.claim_run(&claimant(&id, &holder), lease, world.now()).await.unwrap();
    let Claim::Won(dead) = claim else { panic!("{claim:?}") };
    world.pass(Duration::minutes(3)).await;
    let before = store.run(&id).await.unwrap().unwrap();
    assert_eq!((before.status, before.attempt), (Status::Started, 2), "the successor is at work");

    // It wakes up: whatever came of its own call, it may not say so.
    let now = world.now();
    for status in [Status::Success, Status::Failed] {
        let outcome = Outcome::of(status);
        assert!(!store.finish_run(&id, Some(dead.attempt), &outcome, now).await.unwrap());
    }
    assert!(!store.give_back_run(&id, dead.attempt, &GivenBack::default()).await.unwrap());
    assert!(!store.link_run(&id, dead.attempt, Some("its own job")).await.unwrap());
    assert_eq!(store.run(&id).await.unwrap().unwrap(), before);

    let path = format!("/runs/{id}/status");
    let done = world.ok("POST", &path, &json!({"status": "SUCCESS"})).await;
    assert_eq!((&done["status"], &done["attempt"]), (&json!("SUCCESS"), &json!(2)));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_has_a_record_of_its_own() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1) => (503, "busy".to_owned()),
        Some(2) => (500, "out of order".to_owned()),
        _ => (200, r#"{"result": {"rows": 7}}"#.to_owned()),
    });
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.schedule("once", "0 1 0 * * *", &json!({"max_attempts": 1})).await;
    world.pass(Duration::minutes(1)).await;
    let path = "/runs/report@2026-01-01T00:01:00Z";
    let waiting = world.ok("GET", path, &Value::Null).await;
    assert_eq!(
        (&waiting["status"], &waiting["retry_at"]),
        (&json!("ENQUEUED"), &json!("2026-01-01T00:01:02Z"))
    );
    world.pass(Duration::minutes(1)).await;
    let attempt = |number: i64, at: &str, error: Value, answer: Value| {
        let at = format!("2026-01-01T00:01:0{at}.000Z");
        json!({
            "attempt": number, "started_at": at, "finished_at": at, "error": error,
            "answer": answer,
        })
    };
    let done = world.ok("GET", path, &Value::Null).await;
    assert_eq!((&done["status"], &done["retry_at"]), (&json!("SUCCESS"), &Value::Null));
    let expected = [
        attempt(1, "0", json!("HTTP 503"), json!("busy")),
        attempt(2, "2", json!("HTTP 500"), json!("out of order")),
        attempt(3, "6", Value::Null, json!(r#"{"rows":7}"#)),
    ];
    assert_eq!(done["attempts"], json!(expected));
    let once = &world.runs("once").await[0];
    assert_eq!((&once["status"], &once["error"]), (&json!("FAILED"), &json!("HTTP 503: busy")));
    assert_eq!(once["attempts"], json!([attempt(1, "0", json!("HTTP 503"), json!("busy"))]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_does_not_shorten_the_wait_for_the_next_attempt() {
    let world = World::new().await;
    world.executor.answers_with(|launch| match launch.body["metadata"]["attempt"].as_u64() {
        Some(1) => (429, Some(("retry-after", "120".to_owned())), String::new()),
        _ => (200, None, String::new()),
    });
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::seconds(90)).await;
    let id = world.fire("report", "00:01:00");
    let run = world.app.store.run(&id).await.unwrap().unwrap();
    let parcel = belfry_engine::cloud::launch_queue::Parcel::of(&run);
    assert!(world.app.queue.send(&[parcel], world.now()).await[0].is_ok());
    world.pass(Duration::minutes(5)).await;
    let run = &world.runs("report").await[0];
    assert_eq!((&run["status"], &run["attempt"]), (&json!("SUCCESS"), &json!(2)));
    assert_eq!(run["drift_ms"], 120_000, "{run}");
    assert_eq!(world.next_message_at(), None, "no message is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_is_free_between_two_attempts_unless_the_run_may_be_going_on() {
    let world = World::new().await;
    tracked(&world).await;
    // Half an answer is none: whether the target took the run is not known.
    world.executor.answers(|launch| {
        let is_first = launch.run_id.contains("00:01:05");
        let fails = is_first && launch.body["metadata"]["attempt"].as_u64() < Some(3);
        (200, if fails { r#"{"status": "#.to_owned() } else { "{}".to_owned() })
    });
    for (id, workflow) in [("call", "w"), ("work", "t")] {
        let more = json!({"workflow_id": workflow, "overlap_policy": "skip"});
        world.schedule(id, "5,10 1 0 * * *", &more).await;
    }
    world.pass(Duration::minutes(3)).await;
    // The first is called at :05, :07 and :11; the second comes in between.
    let done = |at: &str| row(at, "SUCCESS", "");
    assert_eq!(world.story("call").await, [done("00:01:05"), done("00:01:10")]);
    let going = row("00:01:05", "STARTED", "");
    assert_eq!(world.story("work").await, [going, row("00:01:10", "SKIPPED", "overlap")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_message_for_a_run_that_is_being_launched_goes_away() {
    let world = World::new().await;
    tracked(&world).await;
    world.schedule("report", "0 1 0 * * *", &json!({"workflow_id": "t"})).await;
    world.pass(Duration::minutes(1)).await;
    assert_eq!(world.executor.launches().len(), 1);
    let id = world.fire("report", "00:01:00");
    let run = world.app.store.run(&id).await.unwrap().unwrap();
    let parcel = belfry_engine::cloud::launch_queue::Parcel::of(&run);
    assert!(world.app.queue.send(&[parcel], world.now()).await[0].is_ok());
    world.pass(Duration::minutes(10)).await;
    assert_eq!(world.executor.launches().len(), 1);
    assert_eq!(world.next_message_at(), None, "no message is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_message_ends_among_the_dead_letters() {
    let world = World::new().await;
    let client = aws_sdk_sqs::Client::new(&world.services.sdk());
    let queue = &world.app.settings.launch_queue_url;
    for body in ["not json", "{}", r#"{"run_id": 7}"#] {
        client.send_message().queue_url(queue).message_body(body).send().await.unwrap();
    }
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.pass(Duration::minutes(30)).await;
    assert_eq!(world.story("report").await, [row("00:01:00", "SUCCESS", "")]);
    let dead = client.get_queue_url().queue_name("belfry-dead-letters").send().await.unwrap();
    let dead = client
        .receive_message()
        .queue_url(dead.queue_url().unwrap())
        .max_number_of_messages(10)
        .send()
        .await
        .unwrap();
    assert_eq!(dead.messages().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tracked_run_ends_by_its_executors_word() {
    let world = World::new().await;
    tracked(&world).await;
    world.schedule("report", "0 1 0 * * *", &json!({"workflow_id": "t"})).await;
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.story("report").await, [row("00:01:00", "STARTED", "")]);

    let path = "/runs/report@2026-01-01T00:01:00Z/status";
    let say = |status: &str| json!({"status": status});
    let (status, _) = world.call("POST", path, &say("SKIPPED")).await;
    assert_eq!(status, 422);
    world.ok("POST", path, &say("STARTED")).await;
    let done = json!({"status": "FAILED", "error": "no disk", "result": [1]});
    let run = world.ok("POST", path, &done).await;
    assert_eq!((&run["status"], &run["reason"]), (&json!("FAILED"), &json!("executor")));
    assert_eq!((&run["error"], &run["result"]), (&json!("no disk"), &json!([1])));
    world.ok("POST", path, &say("FAILED")).await;
    assert_eq!(world.call("POST", path, &say("SUCCESS")).await.0, 409);
    assert_eq!(world.call("POST", path, &say("STARTED")).await.0, 409);
    let unknown = "/runs/report@2026-01-01T00:02:00Z/status";
    assert_eq!(world.call("POST", unknown, &say("SUCCESS")).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_target_may_end_a_tracked_run_in_its_answer() {
    let world = World::new().await;
    tracked(&world).await;
    world
        .executor
        .answers(|_| (200, r#"{"status": "SUCCESS", "external_run_id": "job-7"}"#.to_owned()));
    world.schedule("report", "0 1 0 * * *", &json!({"workflow_id": "t"})).await;
    world.pass(Duration::minutes(2)).await;
    let run = &world.runs("report").await[0];
    assert_eq!((&run["status"], &run["external_run_id"]), (&json!("SUCCESS"), &json!("job-7")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_would_overlap_is_skipped_and_names_the_one_in_its_way() {
    let world = World::new().await;
    tracked(&world).await;
    let policy = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("report", "* * * * *", &policy).await;
    world.pass(Duration::minutes(3)).await;
    let runs = world.runs("report").await;
    assert_eq!(runs[0]["status"], "STARTED");
    assert_eq!((&runs[1]["status"], &runs[1]["reason"]), (&json!("SKIPPED"), &json!("overlap")));
    assert_eq!(runs[1]["blocked_by"], "report@2026-01-01T00:01:00Z");

    let path = "/runs/report@2026-01-01T00:01:00Z/status";
    world.ok("POST", path, &json!({"status": "SUCCESS"})).await;
    world.pass(Duration::minutes(1)).await;
    let launched = ["report@2026-01-01T00:01:00Z", "report@2026-01-01T00:04:00Z"];
    assert_eq!(world.executor.run_ids(), launched);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slot_whose_run_is_over_blocks_nobody() {
    let world = World::new().await;
    let policy = json!({"overlap_policy": "skip"});
    world.schedule("report", "* * * * *", &policy).await;
    world.pass(Duration::minutes(1)).await;
    // The launcher died between the outcome and the release of the slot.
    let stored = world.app.store.schedule(&world.id("report")).await.unwrap();
    let belfry_engine::cloud::store::Stored::Schedule(schedule) = stored else { panic!() };
    let ended = world.fire("report", "00:01:00");
    world.app.store.take_slot(&schedule.clock, &ended).await.unwrap();
    world.pass(Duration::minutes(1)).await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:01:00", 60, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_by_hand_has_a_record_of_its_own() {
    let world = World::new().await;
    world.schedule("report", "0 12 * * *", &json!({"payload": {"from": "schedule"}})).await;
    let body = json!({"payload": {"from": "hand"}});
    let run = world.ok("POST", "/schedules/report/trigger", &body).await;
    let again = world.ok("POST", "/schedules/report/trigger", &Value::Null).await;
    assert_ne!(run["run_id"], again["run_id"]);
    world.pass(Duration::seconds(1)).await;
    let launches = world.executor.launches();
    assert_eq!(launches.len(), 2);
    let mut payloads: Vec<_> = launches.iter().map(|l| l.body["payload"]["from"].clone()).collect();
    payloads.sort_by_key(Value::to_string);
    assert_eq!(payloads, ["hand", "schedule"]);
    assert_eq!(world.runs("report").await[0]["trigger"], "manual");

    let key = [("idempotency-key", "order-7")];
    let path = "/schedules/report/trigger";
    let one = world.call_as(Some("ann"), "POST", path, &Value::Null, &key).await;
    world.pass(Duration::minutes(3)).await;
    let two = world.call_as(Some("ann"), "POST", path, &Value::Null, &key).await;
    assert_eq!(one.1["run_id"], two.1["run_id"]);
    assert_eq!(
        (one.1["status"].as_str(), two.1["status"].as_str()),
        (Some("ENQUEUED"), Some("SUCCESS"))
    );
    assert_eq!(world.executor.launches().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_gone_fails_the_run_and_says_so() {
    let world = World::new().await;
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    let request = json!({
        "TableName": "belfry-workflows",
        "Key": {"workflow_id": {"S": "w"}, "version": {"N": "1"}},
    });
    world.services.database.delete_item(serde_json::from_value(request).unwrap()).unwrap();
    // A cold launcher: this one cached the workflow when the schedule was created.
    let world = cold(world).await;
    world.pass(Duration::minutes(2)).await;
    assert_eq!(world.story("report").await, [row("00:01:00", "FAILED", "workflow_missing")]);
}

/// The same world with a launcher whose caches are empty.
async fn cold(world: World) -> World {
    let sdk = world.services.sdk();
    let time = std::sync::Arc::new(world.time.clone());
    let mut app = belfry_engine::app::App::new(&sdk, world.app.settings.clone(), time);
    app.metrics = belfry_engine::metrics::to_nowhere;
    world.replace_app(app)
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_in_a_row_pause_the_schedule_and_a_success_resets_them() {
    let world = World::new().await;
    let minute =
        |launch: &belfry_tests::Launch| launch.run_id[launch.run_id.len() - 6..][..2].to_owned();
    world.executor.answers(move |launch| match minute(launch).as_str() {
        "03" => (200, String::new()),
        _ => (404, "gone".to_owned()),
    });
    world.schedule("report", "* * * * *", &json!({"pause_after_failures": 3})).await;
    world.pass(Duration::minutes(5)).await;
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(schedule["status"], "active", "two, a success, two");
    world.pass(Duration::minutes(5)).await;
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(schedule["status"], "paused");
    let note = schedule["pause_note"].as_str().unwrap();
    assert_eq!(note, "paused after 3 failures in a row, the last report@2026-01-01T00:06:00Z");
    assert_eq!(world.executor.launches().len(), 6);
}
