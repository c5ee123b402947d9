//! Every fire is explained, whatever happened to the schedule; and lost fires are found.

use belfry_core::run::{Run, Status, Trigger};
use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;
use belfry_tests::dice::Dice;

async fn ledger(world: &World, query: &str) -> Value {
    world.ok("GET", &format!("/schedules/report/ledger{query}"), &Value::Null).await
}

/// Expects that all fires of `report` are explained, by these reasons and with these additional
/// runs.
#[track_caller]
fn expect<'a>(
    world: &'a World,
    query: &'a str,
    by_reason: Value,
    extra: Value,
) -> impl Future<Output = ()> + 'a {
    let caller = std::panic::Location::caller();
    async move {
        let ledger = ledger(world, query).await;
        let count = |n: &Value| n.as_u64().unwrap();
        let expected: u64 = by_reason.as_object().unwrap().values().map(count).sum();
        assert_eq!(ledger["unexplained"], json!([]), "{caller}: {ledger:#}");
        assert_eq!((&ledger["by_reason"], &ledger["extra"]), (&by_reason, &extra), "{caller}");
        assert_eq!(ledger["expected"], expected, "{caller}: {ledger:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_is_explained_under_every_catch_up_policy() {
    for (policy, by_reason) in [
        ("none", json!({"missed": 3, "on_time": 1})),
        ("once", json!({"missed": 2, "caught_up": 1, "on_time": 1})),
        ("fire_immediately", json!({"caught_up": 3, "on_time": 1})),
        ("spread", json!({"caught_up": 3, "on_time": 1})),
    ] {
        let world = World::new().await;
        world.schedule("report", "0 * * * *", &json!({"catchup_policy": policy})).await;
        world.pass_without_ticks(Duration::minutes(3 * 60 + 30)).await;
        world.pass(Duration::minutes(60)).await;
        expect(&world, "", by_reason, json!({})).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_outage_is_explained_by_its_summary_in_every_window() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(3 * 60 + 30)).await;
    world.pass(Duration::minutes(60)).await;
    // The first was sent when the schedule was created; the two before the first tick came late.
    expect(&world, "", json!({"missed": 207, "late": 2, "on_time": 61}), json!({})).await;
    let inside = "?from=2026-01-01T02:00:00Z&to=2026-01-01T03:00:00Z";
    expect(&world, inside, json!({"missed": 61}), json!({})).await;
    let across = "?from=2026-01-01T03:20:00Z&to=2026-01-01T03:32:00Z";
    expect(&world, across, json!({"missed": 9, "late": 2, "on_time": 2}), json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_tick_is_reported_and_its_fires_are_explained_later() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass_without_ticks(Duration::minutes(10)).await;
    let behind = ledger(&world, "").await;
    assert_eq!(behind["by_reason"], json!({"on_time": 1, "pending": 2}));
    let unexplained = behind["unexplained"].as_array().unwrap();
    assert!(unexplained.iter().all(|fire| fire["why"] == "overdue"), "{behind:#}");
    assert_eq!(unexplained.len(), 7);
    world.tick().await;
    world.deliver().await;
    expect(&world, "", json!({"on_time": 2, "missed": 6, "late": 2}), json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pauses_and_edits_are_explained_to_the_second() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(25)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.pass(Duration::minutes(10)).await;
    expect(&world, "", json!({"on_time": 2, "paused": 60}), json!({})).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;
    world.pass(Duration::seconds(35)).await;
    // At the very second of a fire, which belongs to the old definition.
    assert_eq!(world.now(), world.fire("report", "00:11:00").run_at);
    world.ok("PATCH", "/schedules/report", &json!({"cron_expr": "*/15 * * * * *"})).await;
    world.pass(Duration::seconds(60)).await;
    // 11:10, 11:20, 11:40 and 11:50 were already sent.
    let by_reason = json!({"on_time": 2 + 4 + 4, "paused": 60});
    expect(&world, "", by_reason, json!({"superseded": 4})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_pause_is_explained() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(15)).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.pass(Duration::seconds(10)).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;
    world.pass(Duration::seconds(35)).await;
    expect(&world, "", json!({"on_time": 5, "paused": 1}), json!({})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_used_again_is_explained_with_what_was_before() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(15)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    let gone = world.call("GET", "/schedules/report/ledger", &Value::Null).await;
    assert_eq!(gone.0, 404);
    world.pass(Duration::seconds(10)).await;
    world.schedule("report", "*/20 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(35)).await;
    // 20, 30 and 50 were already sent; both definitions have 40 and 60.
    expect(&world, "", json!({"on_time": 3}), json!({"deleted": 3})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_that_overlap_fail_or_are_asked_for_are_told_apart() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let policy = json!({"workflow_id": "t", "overlap_policy": "skip"});
    world.schedule("report", "* * * * *", &policy).await;
    world.pass(Duration::minutes(3)).await;
    expect(&world, "", json!({"in_flight": 1, "skipped_overlap": 2}), json!({})).await;

    let path = "/runs/report@2026-01-01T00:01:00Z/status";
    world.ok("POST", path, &json!({"status": "SUCCESS"})).await;
    world.executor.answers(|_| (404, "nobody here".to_owned()));
    world.ok("POST", "/schedules/report/trigger", &json!({"overlap_policy": "allow"})).await;
    world.pass(Duration::minutes(1)).await;
    let by_reason = json!({"on_time": 1, "skipped_overlap": 2, "failed": 1});
    expect(&world, "", by_reason, json!({"manual": 1})).await;
    let ahead = "?to=2026-01-01T00:07:00Z";
    let by_reason =
        json!({"on_time": 1, "skipped_overlap": 2, "failed": 1, "in_flight": 1, "pending": 2});
    expect(&world, ahead, by_reason, json!({"manual": 1})).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_record_and_a_forged_one_are_found() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(10)).await;
    expect(&world, "", json!({"on_time": 10}), json!({})).await;

    let request = json!({
        "TableName": "belfry-runs",
        "Key": {"schedule_id": {"S": "report"}, "run_at": {"S": "2026-01-01T00:03:00Z"}},
    });
    world.services.database.delete_item(serde_json::from_value(request).unwrap()).unwrap();
    let id = world.fire("report", "00:05:30");
    let trigger = Trigger::Schedule("* * * * *".to_owned());
    let run = Run::planned(id.clone(), trigger, "ann", 1, id.run_at, id.run_at);
    let run = Run { status: Status::Success, started_at: Some(id.run_at), ..run };
    world.app.store.put_run(&run).await.unwrap();

    let ledger = ledger(&world, "").await;
    let unexplained = json!([
        {"run_at": "2026-01-01T00:03:00Z", "why": "no_record"},
        {"run_at": "2026-01-01T00:05:30Z", "why": "unexpected"},
    ]);
    assert_eq!(ledger["unexplained"], unexplained);
    assert_eq!((&ledger["expected"], &ledger["by_reason"]), (&json!(10), &json!({"on_time": 9})));
    assert_eq!(ledger["unexplained_count"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn any_mix_of_outages_and_changes_is_explained() {
    for seed in 1..=6_u64 {
        let world = World::new().await;
        let mut dice = Dice::new(seed);
        world.schedule("report", "*/20 * * * * *", &json!({})).await;
        let mut told = Vec::new();
        for _ in 0..14 {
            let seconds = Duration::seconds(dice.between(0, 149));
            let act = dice.between(0, 6);
            told.push((act, seconds.num_seconds()));
            let path = "/schedules/report";
            match act {
                0 => world.pass_without_ticks(seconds * 4).await,
                1 => drop(world.ok("POST", &format!("{path}/pause"), &Value::Null).await),
                2 => drop(world.ok("POST", &format!("{path}/resume"), &Value::Null).await),
                3 => {
                    let policies = ["none", "once", "fire_immediately", "spread"];
                    let edit = json!({"catchup_policy": dice.pick(&policies)});
                    world.ok("PATCH", path, &edit).await;
                }
                4 => {
                    let exprs = ["*/20 * * * * *", "*/30 * * * * *", "rate(1 minute)"];
                    let edit = json!({"cron_expr": dice.pick(&exprs)});
                    world.ok("PATCH", path, &edit).await;
                }
                5 => {
                    world.pass(Duration::minutes(2)).await;
                    world.ok("DELETE", path, &Value::Null).await;
                    world.pass(seconds).await;
                    world.schedule("report", "*/15 * * * * *", &json!({})).await;
                }
                _ => {}
            }
            world.pass(seconds).await;
        }
        world.pass(Duration::minutes(3)).await;
        let ledger = ledger(&world, "").await;
        assert_eq!(ledger["unexplained"], json!([]), "seed {seed}: {told:?} {ledger:#}");
        let sum: u64 =
            ledger["by_reason"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(ledger["expected"], sum);
        assert!(sum > 20, "{ledger:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_cannot_be_answered_is_refused_by_field() {
    let world = World::new().await;
    world.schedule("report", "* * * * * *", &json!({})).await;
    for (query, field) in [
        ("from=yesterday", "from"),
        ("to=tomorrow", "to"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "from"),
        ("from=2026-01-02T00:00:00Z", "from"),
        ("to=2026-01-03T00:00:00Z&from=2026-01-01T00:00:00Z", "to"),
        ("from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z", "to"),
    ] {
        let path = format!("/schedules/report/ledger?{query}");
        let (status, answer) = world.call("GET", &path, &Value::Null).await;
        assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!(field)), "{query}");
    }
    let day = ledger(&world, "?to=2026-01-02T00:00:00Z").await;
    assert_eq!((&day["expected"], &day["unexplained"]), (&json!(86_400), &json!([])));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_change_log_says_who_changed_what_and_from_what() {
    let world = World::new().await;
    world
        .schedule("report", "0 9 * * *", &json!({"name": "old", "payload": "x".repeat(5000)}))
        .await;
    world.pass(Duration::seconds(1)).await;
    let edit = json!({"name": "new", "cron_expr": "0 10 * * *", "payload": {"n": 1}});
    world.ok("PATCH", "/schedules/report", &edit).await;
    world.ok("POST", "/schedules/report/pause", &Value::Null).await;
    world.ok("POST", "/schedules/report/resume", &Value::Null).await;

    let log = world.ok("GET", "/schedules/report/changes", &Value::Null).await;
    let items = log["items"].as_array().unwrap();
    let verbs: Vec<_> = items.iter().map(|item| item["verb"].as_str().unwrap()).collect();
    assert_eq!(verbs, ["resumed", "paused", "updated", "created"]);
    assert_eq!(log["next_cursor"], Value::Null);
    let paused = json!([{"field": "paused", "old": false, "new": true}]);
    assert_eq!((&items[1]["changes"], &items[1]["paused"]), (&paused, &json!(true)));
    let updated = &items[2];
    assert_eq!((&updated["by"], &updated["revision"]), (&json!("ann"), &json!(2)));
    assert_eq!(updated["at"], "2026-01-01T00:00:01.000Z");
    assert_eq!(updated["cron_expr"], "0 10 * * *");
    assert_eq!(
        updated["changes"][0],
        json!({"field": "cron_expr", "old": "0 9 * * *", "new": "0 10 * * *"})
    );
    assert_eq!(updated["changes"][1], json!({"field": "name", "old": "old", "new": "new"}));
    let payload = &updated["changes"][2];
    assert_eq!((&payload["old"]["bytes"], &payload["new"]), (&json!(5002), &json!({"n": 1})));
    assert!(log.to_string().len() < 5000, "a long payload is in the log");

    assert_eq!(&world.pages("/schedules/report/changes", 3).await, items);
    for cursor in ["x", "2026-01-01T00:00:00Z", "~1"] {
        let path = format!("/schedules/report/changes?cursor={cursor}");
        assert_eq!(world.call("GET", &path, &Value::Null).await.0, 422, "{cursor}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_uses_a_name_again_does_not_see_what_another_did_under_it() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({"name": "secret"})).await;
    world.pass(Duration::minutes(3)).await;
    world.ok("DELETE", "/schedules/report", &Value::Null).await;
    for path in ["/schedules/report/ledger", "/schedules/report/changes"] {
        assert_eq!(world.call_as(Some("bob"), "GET", path, &Value::Null, &[]).await.0, 404);
        assert_eq!(world.call_as(None, "GET", path, &Value::Null, &[]).await.0, 401);
    }
    let version = json!({"target": {"kind": "lambda", "function": "f"}});
    world.call_as(Some("bob"), "PUT", "/workflows/bobs/versions/1", &version, &[]).await;
    let body = json!({"workflow_id": "bobs", "cron_expr": "0 * * * *"});
    let made = world.call_as(Some("bob"), "PUT", "/schedules/report", &body, &[]).await;
    assert_eq!(made.0, 201);
    let bob = async |path: &str| world.call_as(Some("bob"), "GET", path, &Value::Null, &[]).await.1;
    let ledger = bob("/schedules/report/ledger").await;
    assert_eq!((&ledger["expected"], &ledger["extra"]), (&json!(0), &json!({})));
    assert_eq!(ledger["unexplained"], json!([]));
    let changes = bob("/schedules/report/changes").await;
    assert_eq!(changes["items"].as_array().unwrap().len(), 1);
    assert!(!changes.to_string().contains("secret"));
    assert_eq!(bob("/schedules/report").await["stats"]["total"], 0);
    assert_eq!(bob("/stats").await["runs"]["total"], 0);
    assert_eq!(world.call_as(None, "GET", "/stats", &Value::Null, &[]).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_count_every_run_once() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.as_str() {
        id if id.contains("T00:04") || id.contains("T00:05") => (404, String::new()),
        _ => (200, "{}".to_owned()),
    });
    world.schedule("report", "* * * * *", &json!({})).await;
    world.schedule("idle", "0 0 1 1 *", &json!({"paused": true})).await;
    world.pass(Duration::minutes(5)).await;
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    assert_eq!(
        schedule["stats"],
        json!({
            "total": 5, "succeeded": 3, "failed": 2, "skipped": 0, "missed": 0, "recovered": 0,
            "recovery": {
                "attempts": 0, "recovered": 0, "failed": 0, "abandoned": 0, "rate": null,
            },
            "success_rate": 0.6, "consecutive_failures": 2,
        })
    );
    assert_eq!(schedule["last_status"], "FAILED");
    assert_eq!(schedule["durations"], json!({"of_newest": 5, "p50_ms": 0, "p95_ms": 0}));
    let sent_back = world.ok("PUT", "/schedules/report", &schedule).await;
    assert_eq!(sent_back["revision"], 1, "what was read can be sent back");

    world.pass_without_ticks(Duration::minutes(180)).await;
    world.tick().await;
    world.deliver().await;
    let schedule = world.ok("GET", "/schedules/report", &Value::Null).await;
    let stats = &schedule["stats"];
    assert_eq!((&stats["total"], &stats["missed"]), (&json!(185), &json!(176)), "{stats}");
    assert_eq!((&stats["consecutive_failures"], &stats["failed"]), (&json!(0), &json!(2)));

    let overall = world.ok("GET", "/stats", &Value::Null).await;
    let schedules = json!({"total": 2, "by_status": {"active": 1, "paused": 1}, "failing": 0});
    assert_eq!(overall["schedules"], schedules);
    assert_eq!((&overall["runs"]["total"], &overall["runs"]["missed"]), (&json!(185), &json!(176)));
    assert_eq!(world.call("POST", "/stats", &Value::Null).await.0, 405);
    assert_eq!(world.call("POST", "/schedules/report/ledger", &Value::Null).await.0, 405);
}
