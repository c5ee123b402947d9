//! The OpenAPI document and the served routes: neither has an operation that the other lacks.

use belfry_tests::World;
use serde_json::{Value, json};

const METHODS: [&str; 8] = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"];

/// A path of the document with its placeholders filled in.
fn filled(path: &str) -> String {
    path.replace("{run_id}", "none@2026-01-01T00:00:00Z")
        .replace("{version}", "1")
        .replace("{workflow_id}", "w")
        .replace("{node_id}", "start")
        .replace("{schedule_id}", "none")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_of_the_document_is_served_and_no_other() {
    let world = World::new().await;
    let (status, document) = world.call_as(None, "GET", "/openapi.json", &Value::Null, &[]).await;
    assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
    let paths = document["paths"].as_object().unwrap();
    let mut operations = 0;
    for (path, described) in paths {
        let described = described.as_object().unwrap();
        for method in METHODS {
            let call = format!("{method} {path}");
            let (status, answer) = world.call(method, &filled(path), &Value::Null).await;
            let documented = described.get(&method.to_ascii_lowercase());
            match documented {
                // A HEAD is served wherever a GET is.
                None if method == "HEAD" && described.contains_key("get") => {
                    assert_ne!(status, 405, "{call}: {answer}");
                }
                None => assert_eq!(status, 405, "{call}: {answer}"),
                Some(operation) => {
                    operations += 1;
                    assert_ne!(answer["detail"], "resource not found", "{call} is not served");
                    let statuses = operation["responses"].as_object().unwrap();
                    assert!(
                        statuses.contains_key(&status.to_string()),
                        "{call}: {status} {answer}"
                    );
                    let (status, _) =
                        world.call_as(None, method, &filled(path), &Value::Null, &[]).await;
                    // The gateway does not check a run's own token.
                    let open = operation["security"] == json!([]) && !path.ends_with("/feedback");
                    assert_eq!(status != 401, open, "{call} without a token: {status}");
                }
            }
        }
        let deeper = format!("{}/and/deeper", filled(path));
        assert_eq!(world.call("GET", &deeper, &Value::Null).await.0, 404, "{deeper}");
    }
    assert!(operations >= 28, "{operations}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_vocabulary_has_words_for_every_field_of_an_answer() {
    let world = World::with(&[("DEFAULT_JITTER_MS", "250")]).await;
    let schedule = world.schedule("report", "0 9 * * *", &json!({})).await;
    let (status, vocabulary) = world.call("GET", "/vocabulary", &Value::Null).await;
    assert_eq!(status, 200, "{vocabulary}");
    let fields = vocabulary["fields"].as_array().unwrap();
    let field = |name: &str| fields.iter().find(|field| field["name"] == name);
    for name in schedule.as_object().unwrap().keys() {
        let words = field(name).unwrap_or_else(|| panic!("{name} has no words"));
        assert!(words["label"].is_string() && words["description"].is_string(), "{words}");
    }
    // The defaults are this deployment's.
    assert_eq!(field("jitter_ms").unwrap()["default"], schedule["jitter_ms"]);
    assert_eq!(schedule["jitter_ms"], 250);
    for list in
        ["schedule_statuses", "run_statuses", "reasons", "ledger_reasons", "ledger_problems"]
    {
        assert!(vocabulary[list].as_array().unwrap().len() > 4, "{list}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_dynamodb_is_refused_before_it_gets_there() {
    let world = World::new().await;
    world.schedule("report", "0 9 * * *", &json!({})).await;
    // A window that ends before it begins, and a cursor outside its window.
    for query in [
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "from=2026-01-02T00:00:00Z&cursor=2026-01-01T00:00:00Z",
        "to=2026-01-02T00:00:00Z&cursor=2026-01-03T00:00:00Z",
    ] {
        let (status, answer) =
            world.call("GET", &format!("/schedules/report/runs?{query}"), &Value::Null).await;
        assert_eq!((status, &answer["items"]), (200, &json!([])), "{query}: {answer}");
    }
    // A year that would not sort as text.
    let far = "/schedules/report/runs?to=9999-12-31T23:59:59-01:00";
    assert_eq!(world.call("GET", far, &Value::Null).await.0, 422);
    // A source longer than an item.
    let target = json!({
        "kind": "eventbridge", "bus": "b", "source": "s".repeat(500_000), "detail_type": "d",
    });
    let (status, answer) =
        world.call("PUT", "/workflows/v/versions/1", &json!({"target": target})).await;
    assert_eq!((status, &answer["errors"][0]["field"]), (422, &json!("target.source")));
    // The largest possible schedule.
    let long = |count: usize| "\u{10348}".repeat(count);
    let tags: serde_json::Map<_, _> =
        (0..50).map(|n| (format!("{}{n:02}", long(254)), json!(long(256)))).collect();
    let large = json!({
        "tags": tags, "payload": "x".repeat(262_142), "name": long(256), "description": long(4096),
    });
    world.schedule("large", "0 9 * * *", &large).await;
    let more =
        json!({"workflow_id": "w", "cron_expr": "0 9 * * *", "payload": "x".repeat(262_143)});
    assert_eq!(world.call("PUT", "/schedules/larger", &more).await.0, 413);
}
