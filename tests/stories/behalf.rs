//! On behalf: an admin, such as a deployer, creates, lists and edits what belongs to others. A
//! caller without that scope cannot name another owner.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

const DEPLOYER: &str = "deployer admin";

fn problems(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().into_iter().flatten();
    errors.map(|error| error["field"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_names_another_owner_is_refused_by_name() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    let body = json!({"workflow_id": "w", "cron_expr": "0 9 * * *", "user_id": "bob"});
    world.schedule("anns", "0 9 * * *", &json!({})).await;
    for (method, path, body) in [
        ("POST", "/schedules", body.clone()),
        ("PUT", "/schedules/new", body.clone()),
        ("PUT", "/schedules/anns", body.clone()),
        ("PUT", "/schedules/new?dry_run=true", body.clone()),
        ("PATCH", "/schedules/anns", json!({"user_id": "bob"})),
        ("PATCH", "/schedules/anns?dry_run=true", json!({"user_id": "bob"})),
        (
            "PUT",
            "/workflows/w/triggers/n/schedule",
            json!({"cron_expr": "0 9 * * *", "user_id": "bob"}),
        ),
        ("PATCH", "/workflows/w/triggers/n/schedule", json!({"user_id": "bob"})),
        ("PUT", "/workflows/bobs/versions/1", json!({"target": target, "user_id": "bob"})),
        ("POST", "/schedules/bulk", json!({"action": "pause", "tag": "x", "user_id": "bob"})),
    ] {
        let (status, answer) = world.call(method, path, &body).await;
        assert_eq!((status, problems(&answer)), (422, vec!["user_id"]), "{method} {path} {answer}");
    }
    // All problems are told at once, and a set has only what is its caller's.
    let wrong = json!({"workflow_id": "w", "cron_expr": "61 * * * *", "user_id": 7});
    let (_, answer) = world.call("PUT", "/schedules/new", &wrong).await;
    assert_eq!(problems(&answer), ["cron_expr", "user_id"]);
    let mut member = body.clone();
    member["schedule_id"] = json!("member");
    for who in ["ann", DEPLOYER] {
        let set = json!({"schedules": [member]});
        let (status, answer) = world.call_as(Some(who), "PUT", "/sets/s", &set, &[]).await;
        assert_eq!((status, problems(&answer)), (422, vec!["schedules[0].user_id"]), "{answer}");
    }
    for path in ["/schedules/new", "/schedules/member", "/workflows/bobs/versions/1"] {
        assert_eq!(world.call_as(Some(DEPLOYER), "GET", path, &Value::Null, &[]).await.0, 404);
    }
    // What was read can be sent back.
    let seen = world.ok("GET", "/schedules/anns", &Value::Null).await;
    assert_eq!(seen["user_id"], "ann");
    let same = world.ok("PUT", "/schedules/anns", &seen).await;
    assert_eq!(same["revision"], seen["revision"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployer_registers_schedules_for_their_owners() {
    let world = World::with(&[("MAX_SCHEDULES_PER_OWNER", "3")]).await;
    let call = async |who: &str, method: &str, path: &str, body: &Value| {
        world.call_as(Some(who), method, path, body, &[]).await
    };
    let target = json!({"kind": "http", "url": world.executor.url});
    for owner in ["ann", "bob"] {
        let workflow = json!({"target": target, "user_id": owner});
        let path = format!("/workflows/of-{owner}/versions/1");
        assert_eq!(call(DEPLOYER, "PUT", &path, &workflow).await.0, 201);
        let body = json!({
            "workflow_id": format!("of-{owner}"), "cron_expr": "0 9 * * *", "user_id": owner,
        });
        let path = format!("/schedules/{owner}s");
        let (status, made) = call(DEPLOYER, "PUT", &path, &body).await;
        assert_eq!((status, &made["user_id"]), (201, &json!(owner)), "{made}");
        // The same again changes nothing, and the owner has it as if it had made it.
        assert_eq!(call(DEPLOYER, "PUT", &path, &body).await.1["revision"], 1);
        assert_eq!(call(owner, "PATCH", &path, &json!({"name": "mine"})).await.0, 200);
        let changes = call(owner, "GET", &format!("{path}/changes"), &Value::Null).await.1;
        let by: Vec<_> = changes["items"].as_array().unwrap().iter().map(|c| &c["by"]).collect();
        assert_eq!(by, [owner, "deployer"]);
        let node = format!("/workflows/of-{owner}/triggers/n/schedule");
        let body = json!({"cron_expr": "0 10 * * *", "user_id": owner});
        assert_eq!(call(DEPLOYER, "PUT", &node, &body).await.0, 201);
        assert_eq!(call(owner, "GET", &node, &Value::Null).await.1["user_id"], owner);
        let theirs = format!("{node}?user_id={owner}");
        assert_eq!(call(DEPLOYER, "GET", &theirs, &Value::Null).await.0, 200);
        assert_eq!(call(DEPLOYER, "GET", &node, &Value::Null).await.0, 404);
        let patch = json!({"name": "by node", "user_id": owner});
        assert_eq!(call(DEPLOYER, "PATCH", &node, &patch).await.0, 200);
        let mine =
            call(DEPLOYER, "GET", &format!("/schedules?user_id={owner}"), &Value::Null).await;
        assert_eq!(mine.1["items"].as_array().unwrap().len(), 2);
    }
    assert_eq!(call("bob", "GET", "/schedules/anns", &Value::Null).await.0, 404);
    let node = "/workflows/of-ann/triggers/n/schedule?user_id=ann";
    assert_eq!(call("bob", "GET", node, &Value::Null).await.0, 403);
    let own = call(DEPLOYER, "GET", "/schedules", &Value::Null).await.1;
    assert_eq!(own["items"], json!([]));

    // An owner never changes, and it is the owner's limit that counts.
    let (status, answer) =
        call(DEPLOYER, "PATCH", "/schedules/anns", &json!({"user_id": "bob"})).await;
    assert_eq!((status, problems(&answer)), (422, vec!["user_id"]));
    let third = json!({"workflow_id": "of-bob", "cron_expr": "0 9 * * *", "user_id": "bob"});
    assert_eq!(call(DEPLOYER, "POST", "/schedules", &third).await.0, 201);
    assert_eq!(call(DEPLOYER, "POST", "/schedules", &third).await.0, 429);
    let pause = json!({"action": "pause", "workflow_id": "of-bob", "user_id": "bob"});
    assert_eq!(call(DEPLOYER, "POST", "/schedules/bulk", &pause).await.1["changed"], 3);

    // The executor is told the owner.
    world.pass(Duration::hours(9)).await;
    let launches = world.executor.launches();
    assert_eq!(launches.len(), 1);
    assert_eq!(launches[0].body["metadata"]["user_id"], "ann");
    let door = format!("/runs/{}", launches[0].run_id);
    assert_eq!(call("ann", "GET", &door, &Value::Null).await.0, 200);
    assert_eq!(call("bob", "GET", &door, &Value::Null).await.0, 404);
}
