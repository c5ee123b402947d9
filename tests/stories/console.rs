//! What a console shows of many schedules at once.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn a_list_tells_what_became_of_recent_runs_if_asked() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.schedule("silent", "0 0 1 1 *", &json!({})).await;
    world.pass(Duration::seconds(65)).await;
    let list = world.ok("GET", "/schedules?recent=4", &Value::Null).await;
    let [report, silent] = list["items"].as_array().unwrap().as_slice() else { panic!("{list}") };
    // Fires planned ahead are not included.
    assert_eq!(report["recent"], json!(["SUCCESS", "SUCCESS", "SUCCESS", "SUCCESS"]));
    assert_eq!(
        (&report["last_status"], &report["stats"]["success_rate"]),
        (&json!("SUCCESS"), &json!(1.0))
    );
    assert_eq!((&silent["recent"], &silent["last_status"]), (&json!([]), &Value::Null));
    let list = world.ok("GET", "/schedules", &Value::Null).await;
    assert_eq!(list["items"][0].get("recent"), None);
    assert_eq!(world.call("GET", "/schedules?recent=101", &Value::Null).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overview_tells_what_is_coming_and_what_went_wrong() {
    let world = World::new().await;
    world.schedule("report", "*/20 * * * * *", &json!({})).await;
    world.schedule("hourly", "30 * * * *", &json!({})).await;
    world.schedule("asleep", "* * * * *", &json!({"paused": true})).await;
    world.pass(Duration::seconds(90)).await;
    let fine = world.ok("GET", "/overview", &Value::Null).await;
    assert_eq!((&fine["from"], &fine["schedules"]), (&json!("2026-01-01T00:01:00Z"), &json!(3)));
    let due: Vec<u64> =
        fine["due_next_24h"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!((due.len(), due[0], due[1], due[29]), (1440, 1, 3, 4));
    assert_eq!((&fine["due_now"], &fine["truncated"]), (&json!(0), &json!(false)));
    assert_eq!(fine["drift"]["buckets"][0], json!({"up_to_ms": 10, "count": 4}));
    assert_eq!(fine["failures"], json!([]));

    world.executor.answers(|_| (400, "no such thing".to_owned()));
    world.pass(Duration::seconds(60)).await;
    let failing = world.ok("GET", "/overview", &Value::Null).await;
    let failures = failing["failures"].as_array().unwrap();
    assert_eq!(failures.len(), 3);
    assert_eq!(failures[0]["run_id"], "report@2026-01-01T00:02:20Z");
    assert!(failures[0]["error"].is_string() && failures[0]["status"] == "FAILED");

    // No tick runs, so the fires become due.
    world.pass_without_ticks(Duration::minutes(10)).await;
    let late = world.ok("GET", "/overview", &Value::Null).await;
    assert!(late["due_now"].as_u64().unwrap() >= 1, "{late}");
    // They come too late, and the catch-up policy is none.
    world.tick().await;
    let after = world.ok("GET", "/overview", &Value::Null).await;
    assert!(after["recovery"]["missed"].as_u64().unwrap() > 10, "{}", after["recovery"]);

    let stranger = world.call_as(Some("bob"), "GET", "/overview", &Value::Null, &[]).await.1;
    assert_eq!((&stranger["schedules"], &stranger["failures"]), (&json!(0), &json!([])));
    assert_eq!(world.call_as(None, "GET", "/overview", &Value::Null, &[]).await.0, 401);
}
