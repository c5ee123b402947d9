//! Schedules addressed by trigger node, many at once, and consistent pages.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

const TRIGGER: &str = "/workflows/w/triggers/start/schedule";

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_node_has_one_schedule_which_is_like_any_other() {
    let world = World::new().await;
    assert_eq!(world.call("GET", TRIGGER, &Value::Null).await.0, 404);
    let (status, made) = world.call("PUT", TRIGGER, &json!({"cron_expr": "0 9 * * *"})).await;
    assert_eq!((status, &made["workflow_id"]), (201, &json!("w")));
    let (status, same) = world.call("PUT", TRIGGER, &json!({"cron_expr": "0 10 * * *"})).await;
    assert_eq!((status, &same["schedule_id"]), (200, &made["schedule_id"]));

    let by_id = format!("/schedules/{}", made["schedule_id"].as_str().unwrap());
    let patch = json!({"name": "by its node", "timezone": "Europe/Zurich"});
    let stale = [("if-match", "1")];
    assert_eq!(world.call_as(Some("ann"), "PATCH", TRIGGER, &patch, &stale).await.0, 412);
    world.ok("PATCH", TRIGGER, &patch).await;
    let seen = world.ok("GET", &by_id, &Value::Null).await;
    // By its node it has some of its fields under other names too.
    let by_node = world.ok("GET", TRIGGER, &Value::Null).await;
    for (name, value) in seen.as_object().unwrap() {
        assert_eq!(by_node[name], *value, "{name}");
    }
    assert_eq!((&seen["name"], &seen["cron_expr"]), (&json!("by its node"), &json!("0 10 * * *")));
    let list = world.ok("GET", "/schedules?workflow_id=w", &Value::Null).await;
    assert_eq!(list["items"][0]["schedule_id"], made["schedule_id"]);

    let diff =
        world.ok("PATCH", &format!("{TRIGGER}?dry_run=true"), &json!({"paused": true})).await;
    assert_eq!(diff["fires"]["removed_count"], 90);

    let other = world
        .ok("PUT", "/workflows/w/triggers/other/schedule", &json!({"cron_expr": "0 9 * * *"}))
        .await;
    assert_ne!(other["schedule_id"], made["schedule_id"]);

    // The same trigger of another owner is another schedule.
    assert_eq!(world.call_as(Some("root admin"), "GET", TRIGGER, &Value::Null, &[]).await.0, 404);
    let body = json!({"cron_expr": "0 9 * * *"});
    let (status, theirs) = world.call_as(Some("root admin"), "PUT", TRIGGER, &body, &[]).await;
    assert_eq!((status, &theirs["user_id"]), (201, &json!("root")));

    assert_eq!(world.call("DELETE", TRIGGER, &Value::Null).await.0, 204);
    assert_eq!(world.call("GET", &by_id, &Value::Null).await.0, 404);
    assert_eq!(world.call_as(Some("root admin"), "GET", TRIGGER, &Value::Null, &[]).await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trigger_node_cannot_be_given_to_another_workflow() {
    let world = World::new().await;
    world.workflow("v", &json!({"target": {"kind": "lambda", "function": "f"}})).await;
    let other = json!({"cron_expr": "0 9 * * *", "workflow_id": "v"});
    let (status, answer) = world.call("PUT", TRIGGER, &other).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("workflow_id")));
    world.ok("PUT", TRIGGER, &json!({"cron_expr": "0 9 * * *", "workflow_id": "w"})).await;
    for patch in [json!({"workflow_id": "v"}), json!({"workflow_id": null})] {
        assert_eq!(world.call("PATCH", TRIGGER, &patch).await.0, 422);
    }
    let nowhere = "/workflows/none/triggers/start/schedule";
    let (status, answer) = world.call("PUT", nowhere, &json!({"cron_expr": "0 9 * * *"})).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("workflow_id")));
    let bad = "/workflows/w/triggers/a%20b/schedule";
    assert_eq!(world.call("GET", bad, &Value::Null).await.0, 404);
    let (status, answer) = world.call("PUT", bad, &json!({"cron_expr": "0 9 * * *"})).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("node_id")));
    assert_eq!(world.call("POST", TRIGGER, &Value::Null).await.0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_schedules_are_paused_and_resumed_by_tag_a_page_at_a_time() {
    let world = World::new().await;
    for n in 0..120 {
        let team = if n % 2 == 0 { "data" } else { "web" };
        world.schedule(&format!("s{n:03}"), "5 0 * * *", &json!({"tags": {"team": team}})).await;
    }
    world.schedule("s000", "5 0 * * *", &json!({"tags": {"team": "data"}, "paused": true})).await;
    let ask = |more: Value| {
        let mut body = json!({"action": "pause", "tag": "team:data", "note": "maintenance"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let preview = world.ok("POST", "/schedules/bulk", &ask(json!({"dry_run": true}))).await;
    let counted = json!({
        "matched": 60, "changed": 59, "failed": [], "dry_run": true, "next_cursor": null,
    });
    assert_eq!(preview, counted);
    assert_eq!(world.ok("GET", "/schedules/s002", &Value::Null).await["paused"], false);

    let first = world.ok("POST", "/schedules/bulk", &ask(json!({}))).await;
    assert_eq!((&first["matched"], &first["changed"]), (&json!(50), &json!(49)));
    let rest = ask(json!({"cursor": first["next_cursor"]}));
    let second = world.ok("POST", "/schedules/bulk", &rest).await;
    assert_eq!((&second["matched"], &second["next_cursor"]), (&json!(10), &Value::Null));
    let paused = world.ok("GET", "/schedules?status=paused&limit=200", &Value::Null).await;
    assert_eq!(paused["items"].as_array().unwrap().len(), 60);
    assert_eq!(world.ok("GET", "/schedules/s002", &Value::Null).await["pause_note"], "maintenance");

    world.pass(Duration::minutes(6)).await;
    let resume = json!({"action": "resume", "workflow_id": "w", "catchup": "once"});
    let mut resumed = 0;
    let mut cursor = Value::Null;
    loop {
        let mut body = resume.clone();
        body["cursor"] = cursor;
        let page = world.ok("POST", "/schedules/bulk", &body).await;
        resumed += page["changed"].as_u64().unwrap();
        cursor = page["next_cursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(resumed, 60);
    let runs = world.runs("s002").await;
    assert_eq!(runs[0]["trigger"], "catchup");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_change_names_what_it_is_about() {
    let world = World::new().await;
    world.schedule("his", "0 9 * * *", &json!({"tags": {"team": "data"}})).await;
    for (body, field) in [
        (json!({"action": "pause"}), "tag"),
        (json!({"action": "delete", "tag": "team"}), "action"),
        (json!({"action": "pause", "tag": 5}), "tag"),
        (json!({"action": "pause", "tag": "team", "catchup": "once"}), "catchup"),
        (json!({"action": "resume", "tag": "team", "note": "x"}), "note"),
        (json!({"action": "pause", "tag": "team", "colour": 1}), "colour"),
        (json!({"action": "pause", "tag": "team", "cursor": "@"}), "cursor"),
    ] {
        let (status, answer) = world.call("POST", "/schedules/bulk", &body).await;
        assert_eq!((status, answer["errors"][0]["field"].as_str()), (422, Some(field)), "{body}");
    }
    let body = json!({"action": "pause", "tag": "team"});
    let bob = world.call_as(Some("bob"), "POST", "/schedules/bulk", &body, &[]).await.1;
    assert_eq!(bob["matched"], 0);
    // A schedule of this name could not be requested.
    let named = json!({"schedule_id": "bulk", "workflow_id": "w", "cron_expr": "0 9 * * *"});
    assert_eq!(world.call("POST", "/schedules", &named).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_a_workflow_are_listed_newest_first() {
    let world = World::new().await;
    let target = json!({"kind": "lambda", "function": "f"});
    for version in 1..=5 {
        let path = format!("/workflows/v/versions/{version}");
        world.ok("PUT", &path, &json!({"definition": version, "target": target})).await;
    }
    let first = world.ok("GET", "/workflows/v/versions?limit=3", &Value::Null).await;
    let version = json!({
        "workflow_id": "v", "version": 5, "target": target, "completion": "on_launch",
    });
    assert_eq!(first["items"][0], version);
    let path =
        format!("/workflows/v/versions?limit=3&cursor={}", first["next_cursor"].as_str().unwrap());
    let rest = world.ok("GET", &path, &Value::Null).await;
    assert_eq!((&rest["items"][1]["version"], &rest["next_cursor"]), (&json!(1), &Value::Null));
    assert_eq!(world.call("GET", "/workflows/none/versions", &Value::Null).await.0, 404);
    assert_eq!(world.call("GET", "/workflows/v/versions?cursor=x", &Value::Null).await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_neither_repeat_nor_lose_entries_while_others_are_added() {
    let world = World::new().await;
    world.schedule("report", "*/10 * * * * *", &json!({})).await;
    for n in 0..10 {
        world.ok("PATCH", "/schedules/report", &json!({"name": n.to_string()})).await;
    }
    world.pass(Duration::minutes(2)).await;
    for kind in ["runs", "changes"] {
        let all =
            world.ok("GET", &format!("/schedules/report/{kind}?limit=200"), &Value::Null).await;
        // One definition has several entries if it was run by hand.
        let name =
            |item: &Value| if kind == "runs" { item["run_id"].clone() } else { item.clone() };
        let expected: Vec<_> = all["items"].as_array().unwrap().iter().map(name).collect();
        let mut seen = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/schedules/report/{kind}?limit=3{cursor}");
            let page = world.ok("GET", &path, &Value::Null).await;
            seen.extend(page["items"].as_array().unwrap().iter().map(name));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
            let again = json!({"name": format!("while reading {kind} {}", seen.len())});
            world.ok("PATCH", "/schedules/report", &again).await;
            world.ok("POST", "/schedules/report/trigger", &Value::Null).await;
            world.pass(Duration::seconds(10)).await;
        }
        // A run by hand comes before those that are planned ahead, and may also appear.
        let old: Vec<_> = seen.iter().filter(|item| expected.contains(item)).cloned().collect();
        assert_eq!(old, expected, "{kind}");
        let mut unique: Vec<_> = seen.iter().map(ToString::to_string).collect();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), seen.len(), "{kind}");
    }
}
