//! An acknowledged change is obeyed, and loses none of the fires that both definitions have.

use belfry_engine::cloud::store::Claim;
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;
use belfry_tests::world::claimant;

#[tokio::test(flavor = "multi_thread")]
async fn nothing_launches_after_a_pause_returned() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(25)).await;
    let paused = world.ok("POST", "/schedules/report/pause", &json!({"note": "moving"})).await;
    assert_eq!((&paused["status"], &paused["pause_note"]), (&json!("paused"), &json!("moving")));
    world.pass(Duration::minutes(5)).await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 2));
    let runs = world.runs("report").await;
    assert!(runs[2..].iter().all(|run| run["reason"] == "paused"), "{runs:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_that_judged_before_the_pause_loses_its_claim() {
    let world = World::new().await;
    world.schedule("report", "0 1 0 * * *", &json!({})).await;
    world.schedule("edited", "0 1 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::seconds(30)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.ok("PATCH", "/schedules/edited", &json!({"payload": {"new": true}})).await;
    let lease = Duration::seconds(60);
    let store = &world.app.store;
    let report = world.fire("report", "00:01:00");
    let claim = store.claim_run(&claimant(&report, "m"), lease, world.now()).await.unwrap();
    assert!(matches!(claim, Claim::Over(_)), "{claim:?}");
    let edited = world.fire("edited", "00:01:00");
    let claim = store.claim_run(&claimant(&edited, "m"), lease, world.now()).await.unwrap();
    assert!(matches!(claim, Claim::Changed), "{claim:?}");
    world.pass(Duration::minutes(1)).await;
    let launches = world.executor.launches();
    assert_eq!(launches.len(), 1);
    assert_eq!(launches[0].body["payload"], json!({"new": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pause_loses_no_fire_behind_it() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(15)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.pass(Duration::seconds(10)).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;
    world.pass(Duration::seconds(35)).await;
    let mut expected = world.every("report", "00:00:10", 10, 1);
    expected.extend(world.every("report", "00:00:30", 10, 4));
    assert_eq!(world.executor.run_ids(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_keeps_the_fires_both_definitions_have_and_drops_the_others() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({"payload": "old"})).await;
    world.pass(Duration::seconds(5)).await;
    world
        .ok(
            "PATCH",
            "/schedules/report",
            &json!({
                "cron_expr": "*/15 * * * * *", "payload": "new",
            }),
        )
        .await;
    world.pass(Duration::seconds(55)).await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:15", 15, 4));
    assert!(world.executor.launches().iter().all(|launch| launch.body["payload"] == "new"));
    let runs = world.runs("report").await;
    let dropped = runs.iter().filter(|run| run["reason"] == "superseded").count();
    // 10, 20, 40, 50 and, of the next half minute, 70 and 80.
    assert_eq!(dropped, 6, "{runs:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_while_the_tick_is_late_keeps_what_was_due() {
    let world = World::new().await;
    world.schedule("report", "0 5,6,7 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::seconds(5 * 60 + 30)).await;
    world.ok("PATCH", "/schedules/report", &json!({"cron_expr": "0 5,7,9 0 * * *"})).await;
    world.pass(Duration::minutes(6)).await;
    let expected = world.every("report", "00:05:00", 120, 3);
    assert_eq!(world.executor.run_ids(), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_launches_after_a_delete_returned_and_the_history_stays() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(25)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    world.pass(Duration::minutes(3)).await;
    assert_eq!(world.executor.run_ids(), world.every("report", "00:00:10", 10, 2));
    assert_eq!(world.call("GET", "/schedules/report", &Value::Null).await.0, 404);
    let run = world.ok("GET", "/runs/report@2026-01-01T00:00:10Z", &Value::Null).await;
    assert_eq!(run["status"], "SUCCESS");
    let cancelled = world.ok("GET", "/runs/report@2026-01-01T00:00:30Z", &Value::Null).await;
    assert_eq!(cancelled["reason"], "deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_used_again_starts_a_schedule_of_its_own() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({"payload": 1})).await;
    world.pass(Duration::seconds(15)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    let made = world.schedule("report", "*/10 * * * * *", &json!({"payload": 2})).await;
    assert_eq!(made["revision"], 3);
    world.pass(Duration::seconds(30)).await;
    let payloads: Vec<_> =
        world.executor.launches().iter().map(|l| l.body["payload"].clone()).collect();
    assert_eq!(payloads, [1, 2, 2, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_that_changes_nothing_is_none() {
    let world = World::new().await;
    let made = world.schedule("report", "0 9 * * *", &json!({"tags": {"team": "a"}})).await;
    let same = world.schedule("report", "0 9 * * *", &json!({"tags": {"team": "a"}})).await;
    assert_eq!((&made["revision"], &same["revision"]), (&json!(1), &json!(1)));
    let sent_back = world.ok("PUT", "/schedules/report", &made).await;
    assert_eq!(sent_back["revision"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_who_edit_what_they_saw_do_not_overwrite_each_other() {
    let world = World::new().await;
    world.schedule("report", "0 9 * * *", &json!({})).await;
    let seen = [("if-match", "\"1\"")];
    let edit = |name: &'static str| json!({"name": name});
    let path = "/schedules/report";
    let (first, second) = (edit("first"), edit("second"));
    let (one, two) = tokio::join!(
        world.call_as(Some("ann"), "PATCH", path, &first, &seen),
        world.call_as(Some("ann"), "PATCH", path, &second, &seen),
    );
    let mut answers = [one.0, two.0];
    answers.sort_unstable();
    assert_eq!(answers, [200, 412]);

    // The same when the other edit is long done.
    let kept = world.ok("GET", path, &Value::Null).await;
    let whole = json!({"workflow_id": "w", "cron_expr": "0 9 * * *", "name": "late"});
    for (method, path, body) in [
        ("PATCH", path, &second),
        ("PUT", path, &whole),
        ("POST", "/schedules/report/pause", &Value::Null),
        ("POST", "/schedules/report/resume", &Value::Null),
        ("DELETE", path, &Value::Null),
    ] {
        let answer = world.call_as(Some("ann"), method, path, body, &seen).await;
        assert_eq!(answer.0, 412, "{method} {path}: {}", answer.1);
    }
    assert_eq!(world.ok("GET", path, &Value::Null).await, kept);

    let (third, fourth) = (edit("third"), json!({"description": "fourth"}));
    let (one, two) =
        tokio::join!(world.call("PATCH", path, &third), world.call("PATCH", path, &fourth));
    assert_eq!((one.0, two.0), (200, 200));
    let both = world.ok("GET", path, &Value::Null).await;
    assert_eq!((&both["name"], &both["description"]), (&json!("third"), &json!("fourth")));
    assert_eq!(both["revision"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_catches_up_as_it_is_told_and_says_before_what_it_would_do() {
    for (catchup, launches) in [
        (json!({"catchup": "none"}), 0),
        (json!({"catchup": "once"}), 1),
        (json!({"catchup": "fire_immediately"}), 300),
        (json!({"catchup": "spread"}), 300),
        // The schedule's own policy.
        (json!({}), 1),
    ] {
        let world = World::new().await;
        world.schedule("report", "* * * * *", &json!({"catchup_policy": "once"})).await;
        world.pass(Duration::seconds(30)).await;
        world.ok("POST", "/schedules/report/pause", &Value::Null).await;
        world.pass(Duration::minutes(300)).await;

        let mut question = catchup.clone();
        question["dry_run"] = json!(true);
        let preview = world.ok("POST", "/schedules/report/resume", &question).await;
        assert_eq!((&preview["fires"], &preview["launches"]), (&json!(300), &json!(launches)));
        assert_eq!(preview["first"], "2026-01-01T00:01:00Z");
        assert_eq!(preview["last"], "2026-01-01T05:00:00Z");
        let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
        assert_eq!(schedule["status"], "paused", "a preview changes nothing");

        world.ok("POST", "/schedules/report/resume", &catchup).await;
        world.pass(Duration::minutes(3)).await;
        let caught_up = world
            .executor
            .launches()
            .iter()
            .filter(|launch| launch.body["metadata"]["triggered_by"] == "catchup")
            .count();
        assert_eq!(caught_up, launches, "{catchup}");
        let after: Vec<_> = world
            .executor
            .run_ids()
            .into_iter()
            .filter(|id| id.as_str() > "report@2026-01-01T05:00:30Z")
            .collect();
        assert_eq!(after, world.every("report", "05:01:00", 60, 3), "{catchup}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delete_while_the_tick_is_late_explains_what_was_due() {
    let world = World::new().await;
    world.schedule("report", "0 5,6,7 0 * * *", &json!({})).await;
    world.pass_without_ticks(Duration::seconds(6 * 60 + 30)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    for time in ["00:05:00", "00:06:00"] {
        let path = format!("/runs/report@2026-01-01T{time}Z");
        assert_eq!(world.ok("GET", &path, &Value::Null).await["reason"], "deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_after_a_long_outage_loses_none_of_what_was_due_before_it() {
    let world = World::new().await;
    let policy = json!({"catchup_policy": "fire_immediately"});
    world.schedule("report", "* * * * *", &policy).await;
    world.pass_without_ticks(Duration::minutes(350)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    let recorded = world.runs("report").await.len();
    assert_eq!(recorded, 350);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_over_a_name_does_not_see_what_ran_under_it_before() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(3)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    let version = json!({"target": {"kind": "lambda", "function": "f"}});
    world.call_as(Some("bob"), "PUT", "/workflows/bobs/versions/1", &version, &[]).await;
    let body = json!({"workflow_id": "bobs", "cron_expr": "0 12 * * *"});
    let made = world.call_as(Some("bob"), "PUT", "/schedules/report", &body, &[]).await;
    assert_eq!(made.0, 201);
    let path = "/schedules/report/runs";
    let seen = world.call_as(Some("bob"), "GET", path, &Value::Null, &[]).await.1;
    assert_eq!(seen["items"], json!([]));
}
