//! The API names the field that is wrong, and shows callers only what is theirs.

use chrono::Duration;
use serde_json::{Value, json};

use belfry_tests::World;

#[track_caller]
fn names(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().unwrap();
    errors.iter().map(|error| error["field"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_by_field() {
    let world = World::new().await;
    let bad = json!({"workflow_id": "w", "cron_expr": "61 * * * *", "timezone": "Mars/Base", "colour": 1});
    let (status, answer) = world.call("POST", "/schedules", &bad).await;
    assert_eq!(status, 422);
    let mut fields = names(&answer);
    fields.sort_unstable();
    assert_eq!(fields, ["colour", "cron_expr", "timezone"]);
    assert_eq!((&answer["status"], &answer["title"]), (&json!(422), &json!("Invalid input")));

    for (body, status) in [("", 400), ("{", 400), ("[]", 422), ("7", 422), ("{\"a\":\u{1}}", 400)] {
        let answer = world.call_raw(Some("ann"), "POST", "/schedules", body, &[]).await;
        assert_eq!(answer.0, status, "{body}: {}", answer.1);
    }
    let huge =
        json!({"workflow_id": "w", "cron_expr": "* * * * *", "payload": "x".repeat(300_000)});
    let (status, answer) = world.call("POST", "/schedules", &huge).await;
    assert_eq!((status, names(&answer)), (413, vec!["payload"]));
    let (status, answer) = world.call("PUT", "/schedules/a%20b", &json!({})).await;
    assert_eq!((status, names(&answer)), (422, vec!["schedule_id", "workflow_id", "cron_expr"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_needs_something_to_execute_it() {
    let world = World::new().await;
    let body = |workflow: &str, version: Value| json!({"workflow_id": workflow, "version": version, "cron_expr": "* * * * *"});
    let (status, answer) = world.call("POST", "/schedules", &body("none", Value::Null)).await;
    assert_eq!((status, names(&answer)), (422, vec!["workflow_id"]));
    let (status, answer) = world.call("POST", "/schedules", &body("w", json!(2))).await;
    assert_eq!((status, names(&answer)), (422, vec!["version"]));
    let made = world.ok("POST", "/schedules", &body("w", Value::Null)).await;
    assert_eq!(made["version"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_version_never_changes() {
    let world = World::new().await;
    let path = "/workflows/pipeline/versions/1";
    let one = json!({"definition": {"a": 1.50}, "target": {"kind": "lambda", "function": "f"}});
    let two = json!({"definition": {"a": 2}, "target": {"kind": "lambda", "function": "f"}});
    assert_eq!(world.call("PUT", path, &one).await.0, 201);
    assert_eq!(world.call("PUT", path, &one).await.0, 200);
    assert_eq!(world.call("PUT", path, &two).await.0, 409);
    let stored = world.ok("GET", path, &Value::Null).await;
    assert_eq!(stored["definition"], json!({"a": 1.5}));
    assert_eq!(stored["completion"], "on_launch");
    assert_eq!(world.call("GET", "/workflows/pipeline/versions/2", &Value::Null).await.0, 404);
    assert_eq!(world.call("PUT", "/workflows/pipeline/versions/0", &one).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_yours_looks_like_not_there() {
    let world = World::new().await;
    world.schedule("report", "* * * * *", &json!({})).await;
    world.pass(Duration::minutes(2)).await;
    let run = "/runs/report@2026-01-01T00:01:00Z";
    for (method, path, body) in [
        ("GET", "/schedules/report", Value::Null),
        ("PUT", "/schedules/report", json!({"workflow_id": "w", "cron_expr": "* * * * *"})),
        ("PATCH", "/schedules/report", json!({"name": "mine"})),
        ("DELETE", "/schedules/report", Value::Null),
        ("POST", "/schedules/report/pause", Value::Null),
        ("POST", "/schedules/report/resume", Value::Null),
        ("POST", "/schedules/report/trigger", Value::Null),
        ("GET", "/schedules/report/runs", Value::Null),
        ("GET", run, Value::Null),
        ("POST", &format!("{run}/status"), json!({"status": "SUCCESS"})),
    ] {
        let stranger = world.call_as(Some("bob"), method, path, &body, &[]).await;
        assert_eq!(stranger.0, 404, "{method} {path}: {}", stranger.1);
        let nobody = world.call_as(None, method, path, &body, &[]).await;
        assert_eq!(nobody.0, 401, "{method} {path}: {}", nobody.1);
        let forged = [("authorization", "Bearer x"), ("x-sub", "ann")];
        assert_eq!(world.call_as(None, method, path, &body, &forged).await.0, 401);
    }
    let list = world.call_as(Some("bob"), "GET", "/schedules", &Value::Null, &[]).await.1;
    assert_eq!(list["items"], json!([]));
    assert_eq!(world.call_as(None, "GET", "/health", &Value::Null, &[]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_and_methods_that_do_not_exist_say_so() {
    let world = World::new().await;
    for (method, path, expected) in [
        ("GET", "/nothing", 404),
        ("GET", "/schedules/none", 404),
        ("GET", "/schedules/bad%20name", 404),
        ("GET", "/runs/none", 404),
        ("GET", "/runs/none@2026-01-01T00:00:00Z", 404),
        ("DELETE", "/schedules", 405),
        ("POST", "/schedules/report", 405),
        ("GET", "/schedules/validate/x", 404),
        ("GET", "/schedules?limit=0", 422),
        ("GET", "/schedules?limit=many", 422),
        ("GET", "/schedules?limit=", 422),
        ("GET", "/schedules?state=paused", 422),
        ("GET", "/schedules?status=sleeping", 422),
        ("GET", "/schedules?cursor=%40", 422),
        ("GET", "/schedules?tag=%ff", 400),
    ] {
        let (status, answer) = world.call(method, path, &Value::Null).await;
        assert_eq!(status, expected, "{method} {path}: {answer}");
        assert_eq!(answer["status"], expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_paged_and_filtered() {
    let world = World::new().await;
    world.workflow("other", &json!({"target": {"kind": "lambda", "function": "f"}})).await;
    for n in 0..60 {
        let more = json!({
            "tags": {"team": if n % 2 == 0 { "even" } else { "odd" }},
            "workflow_id": if n < 50 { "w" } else { "other" },
            "paused": n % 10 == 0,
        });
        world.schedule(&format!("s{n:02}"), "0 9 * * *", &more).await;
    }
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/schedules?limit=7{cursor}");
        let page = world.ok("GET", &path, &Value::Null).await;
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["schedule_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
        // A schedule is created before the page's cursor: nothing is repeated or hidden.
        world.schedule("a-new-one", "0 9 * * *", &json!({})).await;
    }
    assert_eq!(seen, (0..60).map(|n| format!("s{n:02}")).collect::<Vec<_>>());

    for (filter, expected) in [
        ("status=paused", 6),
        ("tag=team:odd", 30),
        ("tag=team", 60),
        ("workflow_id=other", 10),
        ("workflow_id=other&tag=team:even&status=active", 4),
    ] {
        let page = world.ok("GET", &format!("/schedules?limit=100&{filter}"), &Value::Null).await;
        assert_eq!(page["items"].as_array().unwrap().len(), expected, "{filter}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_newest_first_and_paged() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    world.pass(Duration::minutes(2)).await;
    let page = world.ok("GET", "/schedules/report/runs?limit=3&status=SUCCESS", &Value::Null).await;
    let times = |page: &Value| {
        let items = page["items"].as_array().unwrap();
        items
            .iter()
            .map(|run| run["run_at"].as_str().unwrap()[14..19].to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(times(&page), ["02:00", "01:50", "01:40"]);
    let cursor = page["next_cursor"].as_str().unwrap();
    let path = format!("/schedules/report/runs?limit=3&status=SUCCESS&cursor={cursor}");
    assert_eq!(times(&world.ok("GET", &path, &Value::Null).await), ["01:30", "01:20", "01:10"]);
    let path = "/schedules/report/runs?from=2026-01-01T00:00:30Z&to=2026-01-01T00:00:50Z";
    assert_eq!(times(&world.ok("GET", path, &Value::Null).await), ["00:50", "00:40", "00:30"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn validation_explains_an_expression_or_its_problems() {
    let world = World::new().await;
    let good = json!({"cron_expr": "0 9 * * MON-FRI", "timezone": "Europe/Zurich", "count": 2});
    let answer = world.ok("POST", "/schedules/validate", &good).await;
    assert_eq!(answer["valid"], true);
    assert_eq!(answer["description"], "At 09:00, Monday to Friday, Europe/Zurich");
    assert_eq!(answer["next_executions"], json!(["2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z"]));
    let bad = json!({"cron_expr": "0 0 30 2 *", "timezone": "Nowhere", "count": -1});
    let answer = world.ok("POST", "/schedules/validate", &bad).await;
    assert_eq!(answer["valid"], false);
    let mut fields = names(&answer);
    fields.sort_unstable();
    assert_eq!(fields, ["count", "cron_expr", "timezone"]);
    let plain = world.ok("POST", "/schedules/validate", &json!({"cron_expr": "0 9 * * *"})).await;
    assert_eq!(plain["next_executions"].as_array().unwrap().len(), 5, "unless asked otherwise");
    let foot_gun = json!({"cron_expr": "* * */4 * * *"});
    let answer = world.ok("POST", "/schedules/validate", &foot_gun).await;
    assert!(!answer["warnings"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_save_warns_of_what_is_legal_and_unwise() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    let cases = [
        (json!({}), vec![]),
        (json!({"workflow_id": "t"}), vec!["no_time_limit"]),
        (json!({"workflow_id": "t", "max_runtime_s": 60}), vec![]),
        (
            json!({"catchup_policy": "fire_immediately", "overlap_policy": "skip"}),
            vec!["catchup_overlaps"],
        ),
        (json!({"catchup_policy": "fire_immediately", "overlap_policy": "queue"}), vec![]),
        (json!({"end_at": "2025-12-31T00:00:00Z"}), vec!["ended"]),
        (
            json!({"start_at": "2026-01-01T10:00:00Z", "end_at": "2026-01-01T11:00:00Z"}),
            vec!["empty_window"],
        ),
        (json!({"end_at": "2026-01-01T09:00:00Z"}), vec![]),
    ];
    for (n, (more, expected)) in cases.into_iter().enumerate() {
        let id = format!("s{n}");
        let saved = world.schedule(&id, "0 9 * * *", &more).await;
        let shown = world.ok("GET", &format!("/schedules/{id}"), &Value::Null).await;
        for answer in [saved, shown] {
            let warnings = answer["warnings"].as_array().unwrap();
            let codes: Vec<_> = warnings.iter().map(|w| w["code"].as_str().unwrap()).collect();
            assert_eq!(codes, expected, "{more}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_run_and_the_status_are_true_within_the_look_ahead() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    // Created a minute before its only fire, which is sent ahead at once.
    let more = json!({"workflow_id": "t"});
    let made = world.schedule("once", "at(2026-01-01T00:01:00)", &more).await;
    let field = |schedule: &Value, name: &str| schedule[name].as_str().map(str::to_owned);
    assert_eq!(made["status"], "active");
    assert_eq!(made["next_run_at"], "2026-01-01T00:01:00Z");
    assert_eq!(made["last_run_at"], Value::Null);
    let lists = |status: &str| {
        let path = format!("/schedules?status={status}");
        let world = &world;
        async move {
            let page = world.ok("GET", &path, &Value::Null).await;
            page["items"].as_array().unwrap().len()
        }
    };
    assert_eq!((lists("active").await, lists("expired").await), (1, 0));

    world.pass(Duration::seconds(90)).await;
    let shown = world.ok("GET", "/schedules/once", &Value::Null).await;
    assert_eq!((&shown["status"], &shown["next_run_at"]), (&json!("active"), &Value::Null));
    assert_eq!(field(&shown, "last_run_id").unwrap(), "once@2026-01-01T00:01:00Z");
    assert_eq!(shown["last_status"], "STARTED");
    assert_eq!((lists("active").await, lists("expired").await), (1, 0));

    let path = "/runs/once@2026-01-01T00:01:00Z/status";
    world.ok("POST", path, &json!({"status": "SUCCESS"})).await;
    let shown = world.ok("GET", "/schedules/once", &Value::Null).await;
    assert_eq!((&shown["status"], &shown["last_status"]), (&json!("expired"), &json!("SUCCESS")));
    assert_eq!((lists("active").await, lists("expired").await), (0, 1));

    // A run that never started is not the last run; a later fire that was sent ahead is not, too.
    world.schedule("often", "*/20 * * * * *", &json!({})).await;
    world.pass(Duration::seconds(65)).await;
    let shown = world.ok("GET", "/schedules/often", &Value::Null).await;
    let newest = world.executor.run_ids().pop().unwrap();
    assert_eq!(field(&shown, "last_run_id").unwrap(), newest);
    world.ok("POST", "/schedules/often/pause", &Value::Null).await;
    let listed = world.ok("GET", "/schedules?status=paused", &Value::Null).await;
    assert_eq!(field(&listed["items"][0], "last_run_id").unwrap(), newest);
}
