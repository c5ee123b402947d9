//! The calls of a schedule editor: presets, zones, the meaning of an expression, and what a save
//! would do.

use belfry_tests::World;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn presets_and_zones_are_there_to_choose_from() {
    let world = World::new().await;
    let presets = world.ok("GET", "/presets", &Value::Null).await;
    let presets = presets["items"].as_array().unwrap();
    let shown = presets.iter().map(|it| (it["name"].as_str(), it["cron_expr"].as_str()));
    let wanted = [
        ("Every minute", "* * * * *"),
        ("Every 5 minutes", "*/5 * * * *"),
        ("Hourly", "0 * * * *"),
        ("Daily at midnight", "0 0 * * *"),
        ("Daily at 9:00", "0 9 * * *"),
        ("Mondays at 9:00", "0 9 * * MON"),
        ("First of the month", "0 0 1 * *"),
        ("Weekdays at 8:00", "0 8 * * MON-FRI"),
    ];
    assert!(shown.eq(wanted.map(|(name, cron)| (Some(name), Some(cron)))), "{presets:?}");
    for preset in presets {
        let body = json!({"cron_expr": preset["cron_expr"]});
        let answer = world.ok("POST", "/schedules/validate", &body).await;
        assert_eq!(answer["valid"], true, "{preset}");
        assert_eq!(answer["description"], preset["description"]);
    }
    let zones = world.ok("GET", "/timezones", &Value::Null).await;
    assert!(zones["tzdb"].is_string());
    let zurich = json!({
        "name": "Europe/Zurich", "offset": "+01:00", "local_time": "2026-01-01T01:00:00+01:00",
    });
    assert!(zones["items"].as_array().unwrap().contains(&zurich));
    for path in ["/presets", "/timezones"] {
        assert_eq!(world.call_as(None, "GET", path, &Value::Null, &[]).await.0, 401);
        assert_eq!(world.call("POST", path, &Value::Null).await.0, 405);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_tells_local_times_and_the_character_that_is_wrong() {
    let world = World::new().await;
    let validate = |body: Value| {
        let world = &world;
        async move { world.ok("POST", "/schedules/validate", &body).await }
    };
    let answer = validate(json!({
        "cron_expr": "30 2 * * *", "timezone": "Europe/Zurich", "after": "2026-03-28T12:00:00Z",
        "count": 2,
    }))
    .await;
    assert_eq!(answer["next_executions"], json!(["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]));
    let local = json!(["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]);
    assert_eq!(answer["local_executions"], local);
    let codes: Vec<_> = answer["warnings"].as_array().unwrap().iter().map(|w| &w["code"]).collect();
    assert_eq!(codes, ["dst_gap", "dst_fold"]);

    let answer = validate(json!({"cron_expr": "0 9 * * FOO"})).await;
    assert_eq!(answer["valid"], false);
    assert_eq!(answer["errors"][0]["field"], "cron_expr");
    assert_eq!(answer["errors"][0]["at"], 8, "{answer}");

    let skipping = json!({
        "cron_expr": "30 2 * * *", "timezone": "Europe/Zurich", "after": "2026-03-28T12:00:00Z",
        "count": 1, "dst_gap": "skip",
    });
    assert_eq!(validate(skipping).await["next_executions"], json!(["2026-03-30T00:30:00Z"]));

    let hashed = json!({"cron_expr": "H H * * *", "schedule_id": "report", "count": 1});
    world.schedule("report", "H H * * *", &json!({})).await;
    let report = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(validate(hashed).await["next_executions"][0], report["next_run_at"]);

    let bad = json!({
        "cron_expr": 5, "timezone": 5, "dst_gap": "x", "schedule_id": "a b",
        "start_at": "2026-01-02T00:00:00Z", "end_at": "2026-01-01T00:00:00Z",
    });
    let answer = validate(bad).await;
    let mut fields: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|e| &e["field"]).collect();
    fields.sort_by_key(|field| field.to_string());
    assert_eq!(fields, ["cron_expr", "dst_gap", "end_at", "schedule_id", "timezone"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_tells_what_a_save_would_do_and_saves_nothing() {
    let world = World::new().await;
    let body = json!({
        "workflow_id": "w", "cron_expr": "30 2 * * *", "timezone": "Europe/Zurich",
        "overlap_policy": "allow",
    });
    let diff = world.ok("PUT", "/schedules/report?dry_run=true", &body).await;
    assert_eq!((&diff["dry_run"], &diff["creates"]), (&json!(true), &json!(true)));
    assert_eq!(diff["fires"]["added_count"], 90);
    assert_eq!(diff["fires"]["to"], "2026-04-01T00:00:00Z");
    assert_eq!(diff["fires"]["added"].as_array().unwrap().len(), 20);
    assert_eq!(diff["dst"][0]["code"], "dst_gap");
    assert_eq!(world.call("GET", "/schedules/report", &Value::Null).await.0, 404);

    world.ok("PUT", "/schedules/report", &body).await;
    let patch = json!({"cron_expr": "30 2 * * MON-FRI", "name": "weekdays"});
    let diff = world.ok("PATCH", "/schedules/report?dry_run=true", &patch).await;
    let changed: Vec<_> =
        diff["changes"].as_array().unwrap().iter().map(|change| &change["field"]).collect();
    assert_eq!(changed, ["cron_expr", "name"]);
    assert_eq!(diff["changes"][0]["old"], "30 2 * * *");
    let fires = &diff["fires"];
    assert_eq!((&fires["added_count"], &fires["removed_count"]), (&json!(0), &json!(26)));
    assert_eq!((&fires["kept_count"], &fires["truncated"]), (&json!(64), &json!(false)));
    assert_eq!(diff["runs_per_month"], 21.8);
    assert!(diff["cost_per_month_usd"]["total"].as_f64().unwrap() > 0.0);
    let report = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!((&report["revision"], &report["name"]), (&json!(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_refuses_what_a_save_would_refuse() {
    let world = World::new().await;
    let path = "/schedules/report?dry_run=true";
    let bad = json!({"workflow_id": "none", "cron_expr": "61 * * * *"});
    assert_eq!(world.call("PUT", path, &bad).await.0, 422);
    let missing = json!({"workflow_id": "none", "cron_expr": "1 * * * *"});
    assert_eq!(world.call("PUT", path, &missing).await.1["errors"][0]["field"], "workflow_id");
    assert_eq!(world.call("PATCH", path, &json!({"name": "x"})).await.0, 404);
    world.schedule("report", "1 * * * *", &json!({})).await;
    let stale = [("if-match", "\"7\"")];
    let body = json!({"name": "x"});
    assert_eq!(world.call_as(Some("ann"), "PATCH", path, &body, &stale).await.0, 412);
    assert_eq!(world.call_as(Some("bob"), "PATCH", path, &body, &[]).await.0, 404);
    assert_eq!(world.call("PATCH", "/schedules/report?dry_run=perhaps", &body).await.0, 422);
}
