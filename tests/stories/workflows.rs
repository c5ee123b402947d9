//! Workflows: what a user has, what uses it, and deleting a version.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

async fn publish(world: &World, who: &str, id: &str, version: u32) -> (u16, Value) {
    let target = json!({"kind": "http", "url": world.executor.url});
    let body = json!({"definition": {"version": version}, "target": target});
    let path = format!("/workflows/{id}/versions/{version}");
    world.call_as(Some(who), "PUT", &path, &body, &[]).await
}

fn ids(page: &Value) -> Vec<&str> {
    page["items"].as_array().unwrap().iter().map(|w| w["workflow_id"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_lists_its_own_workflows_with_their_users() {
    let world = World::new().await;
    for (who, id, version) in
        [("ann", "load", 1), ("ann", "load", 2), ("ann", "alert", 7), ("bob", "bobs", 1)]
    {
        assert_eq!(publish(&world, who, id, version).await.0, 201);
    }
    for (id, workflow, version) in [("a", "load", 1), ("b", "load", 2), ("c", "alert", 7)] {
        let more = json!({"workflow_id": workflow, "version": version});
        world.schedule(id, "0 9 * * *", &more).await;
    }
    let shared = json!({"workflow_id": "load", "cron_expr": "0 9 * * *"});
    let roots = world.call_as(Some("root admin"), "PUT", "/schedules/roots", &shared, &[]).await;
    assert_eq!(roots.0, 201);
    let page = world.ok("GET", "/workflows", &Value::Null).await;
    assert_eq!((ids(&page), &page["next_cursor"]), (vec!["alert", "load", "w"], &Value::Null));
    let load = &page["items"][1];
    assert_eq!((&load["version"], &load["user_id"]), (&json!(2), &json!("ann")));
    assert_eq!(load["target"]["kind"], "http");
    // The admin's schedule is counted and not named.
    assert_eq!((&load["schedules"], &load["used_by"]), (&json!(3), &json!(["a", "b"])));
    assert_eq!(
        (&page["items"][2]["schedules"], &page["items"][2]["used_by"]),
        (&json!(0), &json!([]))
    );

    // A schedule that is deleted, or launches another workflow, no longer uses it.
    world.ok("DELETE", "/schedules/a", &Value::Null).await;
    world.ok("PATCH", "/schedules/b", &json!({"workflow_id": "w", "version": null})).await;
    let page = world.ok("GET", "/workflows", &Value::Null).await;
    assert_eq!(
        (&page["items"][1]["schedules"], &page["items"][2]["used_by"]),
        (&json!(1), &json!(["b"]))
    );

    let pages = world.pages("/workflows", 2).await;
    assert_eq!(pages.len(), 3);
    let get = async |who: &str, path: &str| {
        world.call_as(Some(who), "GET", path, &Value::Null, &[]).await
    };
    assert_eq!(ids(&get("bob", "/workflows").await.1), ["bobs"]);
    assert_eq!(get("bob", "/workflows?user_id=ann").await.0, 403);
    assert_eq!(ids(&get("root admin", "/workflows?user_id=bob").await.1), ["bobs"]);
    assert_eq!(ids(&get("bob", "/workflows?user_id=*").await.1), Vec::<&str>::new());
    assert_eq!(get("ann", "/workflows?cursor=a%20b").await.0, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_that_is_used_is_deleted_only_by_force() {
    let world = World::new().await;
    for version in 1..=3 {
        assert_eq!(publish(&world, "ann", "load", version).await.0, 201);
    }
    world.schedule("nightly", "0 * * * *", &json!({"workflow_id": "load", "version": 2})).await;
    let delete = async |who: &str, path: &str| {
        world.call_as(Some(who), "DELETE", path, &Value::Null, &[]).await
    };
    let (one, two) = ("/workflows/load/versions/1", "/workflows/load/versions/2");
    let (status, answer) = delete("ann", two).await;
    let detail = answer["detail"].as_str().unwrap();
    assert_eq!(status, 409);
    assert!(detail.contains("version 2 is used by schedule nightly; with force=true"), "{detail}");
    assert_eq!(delete("bob", one).await.0, 404);
    assert_eq!(delete("ann", one).await.0, 204);
    for path in [one, "/workflows/load/versions/9", "/workflows/none/versions/1"] {
        assert_eq!(delete("ann", path).await.0, 404, "{path}");
    }
    assert_eq!(world.call("GET", one, &Value::Null).await.0, 404);
    let listed = world.pages("/workflows/load/versions", 2).await;
    let numbers: Vec<_> = listed.iter().map(|version| version["version"].clone()).collect();
    assert_eq!(numbers, [3, 2]);

    // A deleted version cannot be chosen, and its number is not used for another content.
    let body = json!({"workflow_id": "load", "version": 1, "cron_expr": "0 9 * * *"});
    let (status, answer) = world.call("PUT", "/schedules/other", &body).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("version")));
    let (status, answer) = publish(&world, "ann", "load", 1).await;
    assert_eq!((status, &answer["title"]), (409, &json!("Conflict")));
    assert_eq!(delete("ann", "/workflows/load/versions/3").await.0, 204);
    let page = world.ok("GET", "/workflows", &Value::Null).await;
    assert_eq!(page["items"][0]["version"], 2);

    // By force its runs fail and say so. The schedule can still be paused.
    assert_eq!(delete("ann", &format!("{two}?force=true")).await.0, 204);
    world.pass(Duration::hours(1)).await;
    let runs = world.runs("nightly").await;
    assert_eq!(runs.last().unwrap()["reason"], "workflow_missing");
    let seen = world.ok("GET", "/schedules/nightly", &Value::Null).await;
    assert_eq!(seen["warnings"][0]["code"], "missing_workflow");
    world.ok("POST", "/schedules/nightly/pause", &Value::Null).await;
    assert_eq!(ids(&world.ok("GET", "/workflows", &Value::Null).await), ["w"]);
}
