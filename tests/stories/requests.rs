//! Requests: preconditions, keys, methods and mistakes, as HTTP and the pages have them.

use belfry_tests::World;
use belfry_tests::door::Door;
use belfry_tests::world::SCOPES;
use chrono::Duration;
use serde_json::{Value, json};

fn fields(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().into_iter().flatten();
    let mut fields: Vec<_> = errors.map(|error| error["field"].as_str().unwrap()).collect();
    fields.sort_unstable();
    fields
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_with_if_none_match_only_creates() {
    let world = World::new().await;
    let body = json!({"workflow_id": "w", "cron_expr": "0 9 * * *"});
    let put = async |path: &str, headers: &[(&str, &str)]| {
        world.call_as(Some("ann"), "PUT", path, &body, headers).await
    };
    let new = [("if-none-match", "*")];
    assert_eq!(put("/schedules/a?dry_run=true", &new).await.0, 200);
    for path in ["/schedules/a", "/workflows/w/triggers/n/schedule"] {
        assert_eq!(put(path, &new).await.0, 201);
        let (status, answer) = put(path, &new).await;
        assert_eq!((status, fields(&answer)), (412, vec!["If-None-Match"]), "{answer}");
        let dry = put(&format!("{path}?dry_run=true"), &new).await;
        assert_eq!((dry.0, fields(&dry.1)), (412, vec!["If-None-Match"]));
        assert_eq!(put(path, &[]).await.1["revision"], 1);
    }
    // The name of a deleted schedule is free.
    world.ok("DELETE", "/schedules/a", &Value::Null).await;
    assert_eq!(put("/schedules/a", &new).await.0, 201);
    for headers in
        [[("if-none-match", "\"3\""), ("x", "")], [("if-none-match", "*"), ("if-match", "1")]]
    {
        let (status, answer) = put("/schedules/b", &headers).await;
        assert_eq!((status, fields(&answer)), (422, vec!["If-None-Match"]));
    }
    let (status, answer) = put("/schedules/b", &[("if-match", "0")]).await;
    assert_eq!((status, fields(&answer)), (422, vec!["If-Match"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_stands_for_one_request() {
    let world = World::new().await;
    world.schedule("nightly", "0 9 * * *", &json!({"payload": {"own": true}})).await;
    let trigger = async |key: &str, body: &Value| {
        let headers = [("idempotency-key", key)];
        world.call_as(Some("ann"), "POST", "/schedules/nightly/trigger", body, &headers).await
    };
    for empty in ["", "  "] {
        let (status, answer) = trigger(empty, &Value::Null).await;
        assert_eq!((status, fields(&answer)), (422, vec!["Idempotency-Key"]));
    }
    let body = json!({"payload": {"day": 1}, "overlap_policy": "allow"});
    let (status, run) = trigger("k", &body).await;
    assert_eq!(status, 202);
    let again = json!({"overlap_policy": "allow", "payload": {"day": 1}});
    assert_eq!(trigger("k", &again).await.1["run_id"], run["run_id"]);
    for other in [json!({"payload": {"day": 2}, "overlap_policy": "allow"}), Value::Null] {
        assert_eq!(trigger("k", &other).await.0, 409);
    }
    // A payload of null is another request than none.
    assert_eq!(trigger("null", &json!({"payload": null})).await.0, 202);
    assert_eq!(trigger("null", &json!({"payload": null})).await.0, 202);
    assert_eq!(trigger("null", &json!({})).await.0, 409);
    world.pass(Duration::days(1) + Duration::seconds(1)).await;
    assert_eq!(trigger("k", &json!({"payload": 3})).await.0, 202);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_of_null_is_a_payload() {
    let world = World::new().await;
    world.schedule("nightly", "0 9 * * *", &json!({"payload": {"own": true}})).await;
    world.ok("POST", "/schedules/nightly/trigger", &json!({"payload": null})).await;
    world.ok("POST", "/schedules/nightly/trigger", &json!({})).await;
    world.deliver().await;
    let mut given: Vec<_> =
        world.executor.launches().iter().map(|l| l.body["payload"].to_string()).collect();
    given.sort_unstable();
    assert_eq!(given, ["null", "{\"own\":true}"]);
    // So it is in a backfill.
    let past = |to: &str| json!({"from": "2025-12-10T00:00:00Z", "to": to, "payload": null});
    let body = past("2025-12-10T23:00:00Z");
    world.ok("POST", "/schedules/nightly/backfill", &body).await;
    world.deliver().await;
    assert_eq!(world.executor.launches().last().unwrap().body["payload"], Value::Null);
    let mut without = body.clone();
    without.as_object_mut().unwrap().remove("payload");
    assert_eq!(world.call("POST", "/schedules/nightly/backfill", &without).await.0, 409);
}

#[tokio::test(flavor = "multi_thread")]
async fn head_answers_as_get_does_without_the_body() {
    let world = World::new().await;
    world.schedule("nightly", "0 9 * * *", &json!({})).await;
    let door = Door::of(&world).await;
    let token = door.token("ann", SCOPES, |_| {});
    for path in ["/health", "/schedules", "/schedules/nightly", "/runs/nightly@x", "/workflows"] {
        let get = door.ask(Some(&token), "GET", path, &Value::Null, &[]).await;
        let head = door.ask(Some(&token), "HEAD", path, &Value::Null, &[]).await;
        assert_eq!(get.status(), head.status(), "{path}");
        assert_eq!(get.headers().get("etag"), head.headers().get("etag"), "{path}");
        assert_eq!(get.headers().get("content-type"), head.headers().get("content-type"));
        assert!(head.bytes().await.unwrap().is_empty(), "{path}");
        // Nor does the function make one, which a gateway would drop.
        assert_eq!(world.call("HEAD", path, &Value::Null).await.1, Value::Null);
    }
    assert_eq!(door.ask(None, "HEAD", "/health", &Value::Null, &[]).await.status(), 200);
    assert_eq!(door.ask(None, "HEAD", "/schedules", &Value::Null, &[]).await.status(), 401);
    let other = door.ask(Some(&token), "POST", "/schedules/nightly", &Value::Null, &[]).await;
    assert_eq!(other.headers()["allow"], "GET, HEAD, PUT, PATCH, DELETE");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wrong_field_of_a_request_is_named_at_once() {
    let world = World::new().await;
    world.schedule("a", "0 9 * * *", &json!({})).await;
    world.ok("POST", "/schedules/a/trigger", &Value::Null).await;
    let run = world.runs("a").await[0]["run_id"].as_str().unwrap().to_owned();
    let status = format!("/runs/{run}/status");
    let check = async |method: &str, path: &str, body: Value, expected: &[&str]| {
        let (status, answer) = world.call(method, path, &body).await;
        assert_eq!((status, fields(&answer)), (422, expected.to_vec()), "{method} {path} {answer}");
    };
    let null = || Value::Null;
    check("GET", "/schedules?x=1&y=2", null(), &["x", "y"]).await;
    let query = "/schedules?status=x&workflow_id=a%20b&recent=x&limit=0&cursor=a%20b";
    check("GET", query, null(), &["cursor", "limit", "recent", "status", "workflow_id"]).await;
    let query = "/schedules/a/runs?status=x&from=x&to=x&limit=x&cursor=x";
    check("GET", query, null(), &["cursor", "from", "limit", "status", "to"]).await;
    check("GET", "/schedules/a/ledger?from=x&to=x", null(), &["from", "to"]).await;
    check("GET", "/schedules/a/changes?limit=x&cursor=x", null(), &["cursor", "limit"]).await;
    check("GET", "/workflows?limit=x&cursor=a%20b", null(), &["cursor", "limit"]).await;
    let wrong = json!({"note": 1, "until": 2, "x": 3, "y": 4});
    check("POST", "/schedules/a/pause", wrong, &["note", "until", "x", "y"]).await;
    let wrong = json!({"catchup": 1, "dry_run": 2, "x": 3});
    check("POST", "/schedules/a/resume", wrong, &["catchup", "dry_run", "x"]).await;
    let wrong = json!({"overlap_policy": 1, "x": 3});
    check("POST", "/schedules/a/trigger", wrong, &["overlap_policy", "x"]).await;
    let wrong = json!({
        "from": 1, "order": 2, "max_concurrent": "x", "rerun": 3, "name": 4, "dry_run": 5, "x": 6,
    });
    let names = ["dry_run", "from", "max_concurrent", "name", "order", "rerun", "to", "x"];
    check("POST", "/schedules/a/backfill", wrong, &names).await;
    let wrong =
        json!({"action": "x", "tag": 1, "workflow_id": 2, "cursor": 3, "dry_run": 4, "x": 5});
    let names = ["action", "cursor", "dry_run", "tag", "workflow_id", "x"];
    check("POST", "/schedules/bulk", wrong, &names).await;
    let wrong = json!({"error": 1, "result": "x".repeat(400), "external_run_id": 2, "x": 3});
    let names = ["error", "external_run_id", "result", "status", "x"];
    check("POST", &status, wrong, &names).await;
    let target = json!({"kind": "eventbridge", "bus": "", "source": "", "detail_type": ""});
    let wrong = json!({"target": target, "completion": "x", "x": 1});
    let names = ["completion", "target.bus", "target.detail_type", "target.source", "x"];
    check("PUT", "/workflows/v/versions/1", wrong, &names).await;
    check("PUT", "/workflows/a%20b/versions/0", null(), &["version", "workflow_id"]).await;
    let wrong = json!({"schedule_id": "a b", "cron_expr": "x", "enabled": 1, "colour": 2});
    let names = ["colour", "cron_expr", "enabled", "schedule_id", "workflow_id"];
    check("POST", "/schedules", wrong.clone(), &names).await;
    check("PUT", "/schedules/a%20b", wrong, &names).await;
    let wrong = json!({"enabled": 1, "name": 2, "cron_expr": "x"});
    check("PATCH", "/schedules/a", wrong, &["cron_expr", "enabled", "name"]).await;
    check(
        "PUT",
        "/sets/a%20b?prune=x&allow_delete=x",
        json!({}),
        &["allow_delete", "prune", "set"],
    )
    .await;
}

/// Wherever the parts of a request are: in the path, the query, the headers or the body.
#[tokio::test(flavor = "multi_thread")]
async fn the_wrong_fields_of_all_parts_of_a_request_are_named_at_once() {
    let world = World::new().await;
    world.schedule("a", "0 9 * * *", &json!({})).await;
    let node = "/workflows/w/triggers/n/schedule";
    world.ok("PUT", node, &json!({"cron_expr": "0 9 * * *"})).await;
    let bad = json!({"workflow_id": "w", "cron_expr": "x", "colour": 1});
    let patch = json!({"cron_expr": "x", "user_id": "bob"});
    let node_bad = json!({"cron_expr": "x", "trigger_node_id": "m", "user_id": "bob"});
    let set = json!({"schedules": [{"schedule_id": "b", "cron_expr": "0 9 * * *"}], "x": 1});
    let rows: &[(&str, &str, &Value, &[&str])] = &[
        ("GET", "/schedules?x=1&limit=0", &Value::Null, &["limit", "x"]),
        ("GET", "/runs?x=1&limit=0&user_id=*", &Value::Null, &["limit", "user_id", "x"]),
        ("PUT", "/schedules/a?x=1&dry_run=2", &bad, &["dry_run", "x"]),
        ("PUT", "/sets/s?x=1&allow_delete=a", &set, &["allow_delete", "x"]),
        (
            "POST",
            "/schedules/validate",
            &json!({"cron_expr": "x", "colour": 1}),
            &["colour", "cron_expr"],
        ),
        ("PUT", "/schedules/a?dry_run=x", &bad, &["If-Match", "colour", "cron_expr", "dry_run"]),
        (
            "PUT",
            "/schedules/a%20b?dry_run=x",
            &bad,
            &["If-Match", "colour", "cron_expr", "dry_run", "schedule_id"],
        ),
        (
            "PATCH",
            "/schedules/a?dry_run=x",
            &patch,
            &["If-Match", "cron_expr", "dry_run", "user_id"],
        ),
        ("PATCH", "/schedules/a?dry_run=true", &patch, &["If-Match", "cron_expr", "user_id"]),
        (
            "PUT",
            &format!("{node}?dry_run=x"),
            &node_bad,
            &["If-Match", "cron_expr", "dry_run", "trigger_node_id", "user_id"],
        ),
        (
            "PUT",
            "/workflows/a%20b/triggers/c%20d/schedule",
            &json!({"cron_expr": "x", "user_id": "bob"}),
            &["If-Match", "cron_expr", "node_id", "user_id", "workflow_id"],
        ),
        (
            "PATCH",
            &format!("{node}?dry_run=x"),
            &node_bad,
            &["If-Match", "cron_expr", "dry_run", "trigger_node_id", "user_id"],
        ),
        (
            "PUT",
            "/sets/a%20b?dry_run=x&prune=x",
            &set,
            &["dry_run", "prune", "schedules[0].workflow_id", "set", "x"],
        ),
        ("POST", "/schedules/bulk", &json!({"note": 1, "action": "x"}), &["action", "note", "tag"]),
        (
            "POST",
            "/schedules/a/backfill",
            &json!({
                "from": "2026-02-01T00:00:00Z", "to": "2026-01-31T00:00:00Z", "max_concurrent": 0
            }),
            &["from", "max_concurrent", "to"],
        ),
    ];
    for (method, path, body, expected) in rows {
        let headers = [("if-match", "x")];
        let (status, answer) = world.call_as(Some("ann"), method, path, body, &headers).await;
        assert_eq!((status, fields(&answer)), (422, expected.to_vec()), "{method} {path} {answer}");
    }
    // Without the wrong header, the rest is told all the same.
    let (status, answer) = world.call("PATCH", "/schedules/a", &patch).await;
    assert_eq!((status, fields(&answer)), (422, vec!["cron_expr", "user_id"]));
    assert_eq!(world.ok("GET", "/schedules/a", &Value::Null).await["revision"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn if_none_match_is_heeded_or_refused() {
    let world = World::new().await;
    world.schedule("a", "0 9 * * *", &json!({})).await;
    let new = [("if-none-match", "*")];
    let ask = async |method: &str, path: &str, body: &Value| {
        let (status, answer) = world.call_as(Some("ann"), method, path, body, &new).await;
        (status, fields(&answer).join(" "))
    };
    let refused = (422, "If-None-Match".to_owned());
    assert_eq!(ask("PATCH", "/schedules/a", &json!({"name": "b"})).await, refused);
    assert_eq!(ask("DELETE", "/schedules/a", &Value::Null).await, refused);
    assert_eq!(ask("POST", "/schedules/a/pause", &Value::Null).await, refused);
    assert_eq!(world.ok("GET", "/schedules/a", &Value::Null).await["revision"], 1);
    let body = json!({"target": {"kind": "http", "url": world.executor.url}});
    let path = "/workflows/v/versions/1";
    assert_eq!(ask("PUT", path, &body).await.0, 201);
    assert_eq!(ask("PUT", path, &body).await, (412, "If-None-Match".to_owned()));
    assert_eq!(world.call("PUT", path, &body).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_of_a_trigger_node_stays_with_its_workflow() {
    let world = World::new().await;
    world.workflow("v", &json!({"target": {"kind": "http", "url": world.executor.url}})).await;
    let node = "/workflows/w/triggers/n/schedule";
    let made = world.ok("PUT", node, &json!({"cron_expr": "0 9 * * *"})).await;
    let own = format!("/schedules/{}", made["schedule_id"].as_str().unwrap());
    for path in [own.clone(), format!("{own}?dry_run=true")] {
        let (status, answer) = world.call("PATCH", &path, &json!({"workflow_id": "v"})).await;
        assert_eq!((status, fields(&answer)), (422, vec!["workflow_id"]), "{answer}");
    }
    world.ok("PATCH", &own, &json!({"workflow_id": "w", "name": "b"})).await;
    let seen = world.ok("GET", node, &Value::Null).await;
    assert_eq!(world.ok("PUT", node, &seen).await["revision"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_values_with_colons_are_found() {
    let world = World::new().await;
    let tags = json!({"arn:aws": "x", "team": "data:eu", "plain": "1"});
    world.schedule("a", "0 9 * * *", &json!({"tags": tags})).await;
    world.schedule("b", "0 9 * * *", &json!({"tags": {"team": "data"}})).await;
    for (tag, found) in [
        ("arn:aws", vec!["a"]),
        ("arn:aws:x", vec!["a"]),
        ("arn:aws:y", vec![]),
        ("arn", vec![]),
        ("team", vec!["a", "b"]),
        ("team:data:eu", vec!["a"]),
        ("team:data", vec!["b"]),
        ("plain:1", vec!["a"]),
    ] {
        let page = world.ok("GET", &format!("/schedules?tag={tag}"), &Value::Null).await;
        let ids: Vec<_> = page["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| s["schedule_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, found, "{tag}");
    }
    let paused = json!({"action": "pause", "tag": "arn:aws:x"});
    assert_eq!(world.ok("POST", "/schedules/bulk", &paused).await["changed"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn observed_times_always_have_milliseconds() {
    let world = World::new().await;
    let made = world.schedule("a", "0 9 * * *", &json!({})).await;
    world.ok("POST", "/schedules/a/trigger", &Value::Null).await;
    world.deliver().await;
    let past = json!({"from": "2025-12-10T00:00:00Z", "to": "2025-12-10T23:00:00Z"});
    let backfill = world.ok("POST", "/schedules/a/backfill", &past).await;
    let run = &world.runs("a").await[0];
    let changes = world.ok("GET", "/schedules/a/changes", &Value::Null).await;
    // The world begins on a whole second.
    for at in [
        &made["created_at"],
        &made["updated_at"],
        &backfill["created_at"],
        &changes["items"][0]["at"],
        &world.runs("a").await[1]["enqueued_at"],
        &world.runs("a").await[1]["started_at"],
        &world.runs("a").await[1]["finished_at"],
    ] {
        assert!(at.as_str().unwrap().ends_with(".000Z"), "{at}");
    }
    // Planned times are whole seconds.
    assert_eq!(run["run_at"], "2025-12-10T09:00:00Z");
    assert_eq!(made["next_run_at"], "2026-01-01T09:00:00Z");
}
