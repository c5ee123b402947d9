//! A schedule is registered, read with its next five fires, paused and deleted; its time zone is
//! given, changed and taken away.

use belfry_core::instant::Instant;
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// The fields that a refusal names, with their codes.
fn refused((status, answer): (u16, Value)) -> (u16, Vec<(String, String)>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let errors = answer["errors"].as_array().into_iter().flatten();
    (status, errors.map(|error| (text(&error["field"]), text(&error["message"]))).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_zone_is_put_patched_returned_and_cleared_and_the_fires_move_with_it() {
    let world = World::new().await;
    let body =
        |zone: Value| json!({"workflow_id": "w", "cron_expr": "45 5 * * *", "timezone": zone});
    let path = "/schedules/report";
    // What an answer and a GET say, and then the time until just after that fire.
    let seen = async |zone: &str, next: &str, answer: Value| {
        let read = world.ok("GET", path, &Value::Null).await;
        for told in [answer, read] {
            assert_eq!(told["timezone"], zone);
            assert_eq!(told["next_run_at"], next);
            assert_eq!(told["next_runs"][0], next);
        }
        let left = next.parse::<Instant>().unwrap() - world.now();
        world.pass_without_ticks(left - Duration::minutes(5)).await;
        world.pass(Duration::minutes(6)).await;
    };
    // 05:45 in India is a quarter past midnight, UTC.
    let (status, put) = world.call("PUT", path, &body(json!("Asia/Kolkata"))).await;
    assert_eq!(status, 201);
    seen("Asia/Kolkata", "2026-01-01T00:15:00Z", put).await;
    let patched = world.ok("PATCH", path, &json!({"timezone": "Asia/Tokyo"})).await;
    seen("Asia/Tokyo", "2026-01-01T20:45:00Z", patched).await;
    let cleared = world.ok("PATCH", path, &json!({"timezone": null})).await;
    seen("UTC", "2026-01-02T05:45:00Z", cleared).await;
    let put = world.ok("PUT", path, &body(json!("America/New_York"))).await;
    seen("America/New_York", "2026-01-02T10:45:00Z", put).await;
    // A PUT is the whole definition: without a zone it is UTC again.
    let mut without = body(Value::Null);
    without.as_object_mut().unwrap().remove("timezone");
    let put = world.ok("PUT", path, &without).await;
    seen("UTC", "2026-01-03T05:45:00Z", put).await;
    assert_eq!(
        world.executor.run_ids(),
        [
            "report@2026-01-01T00:15:00Z",
            "report@2026-01-01T20:45:00Z",
            "report@2026-01-02T05:45:00Z",
            "report@2026-01-02T10:45:00Z",
            "report@2026-01-03T05:45:00Z",
        ]
    );

    for (method, body) in
        [("PUT", body(json!("Mars/Base"))), ("PATCH", json!({"timezone": "Mars/Base"}))]
    {
        let (status, errors) = refused(world.call(method, path, &body).await);
        assert_eq!((status, errors.len(), errors[0].0.as_str()), (422, 1, "timezone"), "{method}");
    }
    assert_eq!(world.ok("GET", path, &Value::Null).await["timezone"], "UTC");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_registered_and_read_with_its_next_five_then_paused_and_deleted() {
    let world = World::new().await;
    world.time.set("2026-03-27T12:00:00Z".parse().unwrap());
    let nightly =
        json!({"workflow_id": "w", "cron_expr": "30 2 * * *", "timezone": "Europe/Zurich"});
    // The id is optional: without one, the schedule gets an id of its own each time.
    let (status, made) = world.call("POST", "/schedules", &nightly).await;
    let (again, other) = world.call("POST", "/schedules", &nightly).await;
    assert_eq!((status, again), (201, 201));
    assert_ne!(made["schedule_id"], other["schedule_id"]);
    let path = format!("/schedules/{}", made["schedule_id"].as_str().unwrap());
    // The clock in Zurich skips 02:30 on 29 March, and is an hour ahead afterwards.
    let five = json!([
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
        "2026-03-31T00:30:00Z",
        "2026-04-01T00:30:00Z",
    ]);
    assert_eq!(made["next_runs"], five);
    assert_eq!(world.ok("GET", &path, &Value::Null).await["next_runs"], five);

    // With an id, the same call again changes nothing, and another one replaces the definition.
    let monthly =
        json!({"workflow_id": "w", "cron_expr": "0 9 L * *", "timezone": "Europe/Zurich"});
    for (body, status, revision) in [(&nightly, 201, 1), (&monthly, 200, 2), (&monthly, 200, 2)] {
        let answer = world.call("PUT", "/schedules/mine", body).await;
        assert_eq!((answer.0, &answer.1["revision"]), (status, &json!(revision)), "{}", answer.1);
    }
    let five = json!([
        "2026-03-31T07:00:00Z",
        "2026-04-30T07:00:00Z",
        "2026-05-31T07:00:00Z",
        "2026-06-30T07:00:00Z",
        "2026-07-31T07:00:00Z",
    ]);
    let mine = async || world.ok("GET", "/schedules/mine", &Value::Null).await;
    assert_eq!(mine().await["next_runs"], five);

    world.ok("POST", "/schedules/mine/pause", &Value::Null).await;
    let paused = mine().await;
    assert_eq!((&paused["status"], &paused["next_runs"]), (&json!("paused"), &json!([])));
    world.ok("POST", "/schedules/mine/resume", &Value::Null).await;
    assert_eq!(mine().await["next_runs"], five);

    for path in ["/schedules/mine", &path] {
        assert_eq!(world.call("DELETE", path, &Value::Null).await.0, 204);
        assert_eq!(world.call("GET", path, &Value::Null).await.0, 404);
    }
    world.pass_without_ticks(Duration::hours(13)).await;
    world.pass(Duration::hours(1)).await;
    let fire = format!("{}@2026-03-28T01:30:00Z", other["schedule_id"].as_str().unwrap());
    assert_eq!(world.executor.run_ids(), [fire], "only what was not deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_allows_some_zones_refuses_all_others() {
    let world = World::with(&[("ALLOWED_TIMEZONES", "UTC, Europe/Zurich")]).await;
    world.schedule("report", "0 9 * * *", &json!({"timezone": "Europe/Zurich"})).await;
    let problem = ("timezone".to_owned(), "is not allowed in this deployment".to_owned());
    let body = json!({"workflow_id": "w", "cron_expr": "0 9 * * *", "timezone": "Europe/Berlin"});
    for (method, path, body) in [
        ("POST", "/schedules", body.clone()),
        ("PUT", "/schedules/other", body.clone()),
        ("PUT", "/schedules/report", body.clone()),
        ("PATCH", "/schedules/report", json!({"timezone": "Europe/Berlin"})),
        ("PUT", "/workflows/w/triggers/node/schedule", body.clone()),
    ] {
        let answer = refused(world.call(method, path, &body).await);
        assert_eq!(answer, (422, vec![problem.clone()]), "{method} {path}");
    }
    let expression = json!({"cron_expr": "0 9 * * *", "timezone": "Europe/Berlin"});
    let told = world.ok("POST", "/schedules/validate", &expression).await;
    assert_eq!((&told["valid"], &told["errors"][0]["field"]), (&json!(false), &json!("timezone")));
    let kept = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!((&kept["timezone"], &kept["revision"]), (&json!("Europe/Zurich"), &json!(1)));
    world.ok("PATCH", "/schedules/report", &json!({"timezone": null})).await;
    let zones = world.ok("GET", "/timezones", &Value::Null).await;
    let zones =
        zones["items"].as_array().unwrap().iter().map(|zone| zone["name"].as_str().unwrap());
    assert_eq!(zones.collect::<Vec<_>>(), ["Europe/Zurich", "UTC"]);
}
