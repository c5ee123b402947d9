//! The change log: who did what, when, from where, and what it was before; entries are never
//! overwritten.

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn every_write_is_in_the_log_and_stays_as_it_was_written() {
    let world = World::new().await;
    world.schedule("report", "0 9 * * *", &json!({})).await;
    let log = async || {
        let page = world.ok("GET", "/schedules/report/changes?limit=200", &Value::Null).await;
        let mut items = page["items"].as_array().unwrap().clone();
        items.reverse();
        items
    };
    let mut known = log().await;
    let patch = json!({"timezone": "Europe/Zurich"});
    for (method, path, body, verb) in [
        ("PATCH", "/schedules/report", &patch, "updated"),
        ("POST", "/schedules/report/trigger", &Value::Null, "triggered"),
        ("POST", "/schedules/report/trigger", &Value::Null, "triggered"),
        ("POST", "/schedules/report/pause", &json!({"note": "lunch"}), "paused"),
        ("POST", "/schedules/report/resume", &Value::Null, "resumed"),
    ] {
        world.ok(method, path, body).await;
        let now = log().await;
        assert_eq!(now.len(), known.len() + 1, "{verb}: {now:#?}");
        assert_eq!(now[..known.len()], known[..], "{verb} overwrote an entry");
        let entry = now.last().unwrap();
        assert_eq!((&entry["verb"], &entry["by"]), (&json!(verb), &json!("ann")));
        assert_eq!(entry["from"], json!({"ip": "127.0.0.1", "user_agent": "story"}));
        known = now;
        world.time.set(world.now() + Duration::seconds(1));
    }
    let zone = json!({"field": "timezone", "old": "UTC", "new": "Europe/Zurich"});
    assert_eq!(known[1]["changes"], json!([zone]));
    let runs: Vec<_> = known.iter().filter_map(|entry| entry["run_id"].as_str()).collect();
    assert_eq!(runs.len(), 2);
    assert_ne!(runs[0], runs[1]);

    // A repeated request makes one entry, and a page continues after it.
    let key = [("idempotency-key", "order-7")];
    for _ in 0..3 {
        let path = "/schedules/report/trigger";
        world.call_as(Some("ann"), "POST", path, &Value::Null, &key).await;
    }
    let now = log().await;
    assert_eq!(now.len(), known.len() + 1);
    let mut paged = world.pages("/schedules/report/changes", 1).await;
    paged.reverse();
    assert_eq!(paged, now);
    // Runs by hand do not change the expected fires.
    world.pass(Duration::hours(24)).await;
    let ledger = world.ok("GET", "/schedules/report/ledger", &Value::Null).await;
    assert_eq!((&ledger["expected"], &ledger["unexplained"]), (&json!(1), &json!([])), "{ledger}");
}
