//! Bounds: JSON of any depth, numbers of any size and lists of any length, in requests and answers.

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_core::id::RunId;
use belfry_core::instant::Instant;
use belfry_core::run::attempts::Attempt;
use belfry_core::run::{Run, Trigger};
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

async fn raw(world: &World, method: &str, path: &str, body: &str) -> (u16, Value) {
    world.call_raw(Some("ann"), method, path, body, &[]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_nested_too_deep_is_refused_by_name() {
    let world = World::new().await;
    let schedule = |levels: usize| {
        let payload = nested(levels);
        format!(r#"{{"workflow_id": "w", "cron_expr": "0 9 * * *", "payload": {payload}}}"#)
    };
    let target = json!({"kind": "http", "url": world.executor.url});
    assert_eq!(raw(&world, "PUT", "/schedules/deep", &schedule(64)).await.0, 201);
    let triggered = raw(
        &world,
        "POST",
        "/schedules/deep/trigger",
        &format!(r#"{{"payload": {}}}"#, nested(64)),
    )
    .await;
    assert_eq!(triggered.0, 202);
    let run = triggered.1["run_id"].as_str().unwrap().to_owned();
    let (range, run) = (
        r#""from": "2025-12-01T00:00:00Z", "to": "2025-12-02T00:00:00Z""#,
        format!("/runs/{run}/status"),
    );
    for levels in [65, 100, 126, 130, 5000] {
        let deep = nested(levels);
        let payload = format!(r#"{{"payload": {deep}}}"#);
        for (method, path, body, field) in [
            ("PUT", "/schedules/deep", schedule(levels), "payload"),
            ("POST", "/schedules", schedule(levels), "payload"),
            ("PATCH", "/schedules/deep", payload.clone(), "payload"),
            ("POST", "/schedules/deep/trigger", payload.clone(), "payload"),
            (
                "POST",
                "/schedules/deep/backfill",
                format!(r#"{{{range}, "payload": {deep}}}"#),
                "payload",
            ),
            (
                "PUT",
                "/workflows/d/versions/1",
                format!(r#"{{"target": {target}, "definition": {deep}}}"#),
                "definition",
            ),
            ("POST", &run, format!(r#"{{"status": "SUCCESS", "result": {deep}}}"#), "result"),
        ] {
            let (status, answer) = raw(&world, method, path, &body).await;
            let told = (status, answer["errors"][0]["field"].as_str());
            // What is too large besides is told so.
            assert!(
                [422, 413].contains(&told.0) && told.1 == Some(field),
                "{levels} {method} {path}: {answer}"
            );
        }
    }
    // What the limit allows can be read everywhere.
    world.pass(Duration::hours(10)).await;
    let ledger = world.ok("GET", "/schedules/deep/ledger", &Value::Null).await;
    assert_eq!(ledger["unexplained"], json!([]));
    for path in ["/schedules", "/schedules/deep", "/schedules/deep/changes", "/schedules/deep/runs"]
    {
        assert_eq!(world.call("GET", path, &Value::Null).await.0, 200, "{path}");
    }
    assert_eq!(world.executor.launches().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ledger_is_read_although_its_change_log_is_too_deep() {
    let world = World::new().await;
    world.schedule("old", "0 9 * * *", &json!({})).await;
    // As an older release wrote it.
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let table = &world.app.settings.schedules_table;
    let query = client
        .query()
        .table_name(table)
        .key_condition_expression("schedule_id = :id AND begins_with(sk, :change)")
        .expression_attribute_values(":id", AttributeValue::S("old".to_owned()))
        .expression_attribute_values(":change", AttributeValue::S("change#".to_owned()));
    let mut entry = query.send().await.unwrap().items.unwrap().remove(0);
    let text = format!(r#"[{{"field": "payload", "old": null, "new": {}}}]"#, nested(126));
    entry.insert("changes".to_owned(), AttributeValue::S(text));
    client.put_item().table_name(table).set_item(Some(entry)).send().await.unwrap();
    world.pass(Duration::hours(10)).await;
    let ledger = world.ok("GET", "/schedules/old/ledger", &Value::Null).await;
    assert_eq!((&ledger["expected"], &ledger["unexplained"]), (&json!(1), &json!([])));
    let changes = world.ok("GET", "/schedules/old/changes", &Value::Null).await;
    assert_eq!(changes["items"][0]["changes"][0]["field"], "changes");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_any_size_come_back_as_they_were_sent() {
    let world = World::new().await;
    let payload = "{\"big\":123456789012345678901234567890,\"less\":-98765432109876543210,\
                   \"price\":1.10,\"wide\":18446744073709551616}";
    let body = format!(r#"{{"workflow_id": "w", "cron_expr": "0 9 * * *", "payload": {payload}}}"#);
    assert_eq!(raw(&world, "PUT", "/schedules/a", &body).await.1["payload"].to_string(), payload);
    let seen = world.ok("GET", "/schedules/a", &Value::Null).await;
    assert_eq!(seen["payload"].to_string(), payload);
    // Sending it back changes nothing.
    assert_eq!(world.ok("PUT", "/schedules/a", &seen).await["revision"], 1);
    let body = format!(r#"{{"payload": {payload}}}"#);
    assert_eq!(raw(&world, "POST", "/schedules/a/trigger", &body).await.0, 202);
    world.deliver().await;
    world.pass(Duration::hours(10)).await;
    let launches = world.executor.launches();
    assert_eq!(launches.len(), 2);
    for launch in launches {
        assert!(launch.text.contains(payload), "{}", launch.text);
    }
    let target = json!({"kind": "http", "url": world.executor.url});
    let body = format!(r#"{{"target": {target}, "definition": {payload}}}"#);
    assert_eq!(raw(&world, "PUT", "/workflows/n/versions/1", &body).await.0, 201);
    let seen = world.ok("GET", "/workflows/n/versions/1", &Value::Null).await;
    assert_eq!(seen["definition"].to_string(), payload);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_large_schedules_ends_its_pages_early() {
    let world = World::new().await;
    // Every quote is escaped in the payload, and again in the answer of the function.
    let payload = "\"".repeat(100_000);
    for number in 0..30 {
        let id = format!("large-{number:02}");
        world.schedule(&id, "0 9 * * *", &json!({"payload": payload, "paused": true})).await;
    }
    let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = world.ok("GET", &format!("/schedules?limit=200{cursor}"), &Value::Null).await;
        let size = json!(page.to_string()).to_string().len();
        assert!(size <= 5 * 1024 * 1024 + 1024, "{size}");
        let items = page["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["schedule_id"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let all: Vec<_> = (0..30).map(|number| format!("large-{number:02}")).collect();
    assert_eq!((seen, pages), (all, 3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_large_runs_ends_its_pages_early() {
    let world = World::new().await;
    world.schedule("large", "0 9 * * *", &json!({"paused": true})).await;
    // Every such character is written as `\\u0001`, and its backslash again in the answer.
    let long = "\u{1}".repeat(300);
    let start: Instant = "2025-12-01T00:00:00Z".parse().unwrap();
    for number in 0..150 {
        let id = RunId::scheduled(&"large".parse().unwrap(), start + Duration::hours(number));
        let run = Run::planned(id, Trigger::Catchup, "ann", 1, start, start);
        let attempts = (1..=10).map(|attempt| Attempt {
            attempt,
            started_at: None,
            finished_at: None,
            error: Some(long.clone()),
            answer: Some(long.clone()),
        });
        world
            .app
            .store
            .put_run(&Run { attempt: 10, attempts: attempts.collect(), ..run })
            .await
            .unwrap();
    }
    for list in ["/schedules/large/runs", "/runs"] {
        let (mut seen, mut cursor, mut pages) = (Vec::new(), String::new(), 0);
        loop {
            let page = world.ok("GET", &format!("{list}?limit=200{cursor}"), &Value::Null).await;
            let size = json!(page.to_string()).to_string().len();
            assert!(size <= 5 * 1024 * 1024 + 1024, "{list} {size}");
            let items = page["items"].as_array().unwrap();
            seen.extend(items.iter().map(|item| item["run_id"].as_str().unwrap().to_owned()));
            pages += 1;
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        let distinct: std::collections::BTreeSet<_> = seen.iter().collect();
        assert_eq!((seen.len(), distinct.len(), pages), (150, 150, 2), "{list}");
    }
}
