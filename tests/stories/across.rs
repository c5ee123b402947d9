//! The runs of all schedules of an owner, in one list.

use belfry_tests::World;
use chrono::Duration;
use futures::StreamExt;
use serde_json::{Value, json};

async fn ids(world: &World, who: &str, query: &str, limit: usize) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..100 {
        let path = format!("/runs?limit={limit}{query}{cursor}");
        let (status, page) = world.call_as(Some(who), "GET", &path, &Value::Null, &[]).await;
        assert_eq!(status, 200, "{page}");
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= limit);
        found.extend(items.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
    panic!("the list has no end");
}

/// All runs as the schedules' own histories have them, in the order of the list.
async fn expected(world: &World, schedules: &[&str], fits: impl Fn(&Value) -> bool) -> Vec<String> {
    let mut runs = Vec::new();
    for id in schedules {
        runs.extend(world.runs(id).await.into_iter().filter(&fits));
    }
    let key = |run: &Value| {
        let (schedule, at) = run["run_id"].as_str().unwrap().split_once('@').unwrap();
        (std::cmp::Reverse(at.to_owned()), schedule.to_owned())
    };
    runs.sort_by_key(key);
    runs.iter().map(|run| run["run_id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runs_of_all_schedules_are_listed_newest_first() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.starts_with("often") {
        true => (404, String::new()),
        false => (200, json!({"external_run_id": launch.run_id.replace('@', "-")}).to_string()),
    });
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("other", &json!({"target": target})).await;
    world.schedule("often", "*/10 * * * *", &json!({"tags": {"team": "data"}})).await;
    world.schedule("hourly", "0 * * * *", &json!({"workflow_id": "other"})).await;
    world.schedule("same", "0 * * * *", &json!({"tags": {"team": "ops"}})).await;
    world.schedule("never", "0 9 1 6 *", &json!({})).await;
    world.pass(Duration::hours(4)).await;
    world.ok("POST", "/schedules/never/trigger", &Value::Null).await;
    world.pass(Duration::minutes(2)).await;
    let schedules = ["often", "hourly", "same", "never"];
    let all = expected(&world, &schedules, |_| true).await;
    assert!(all.len() > 32, "{}", all.len());
    for limit in [1, 2, 7, 12, 200] {
        assert_eq!(ids(&world, "ann", "", limit).await, all, "{limit}");
    }
    let failed = expected(&world, &schedules, |run| run["status"] == "FAILED").await;
    assert_eq!(ids(&world, "ann", "&status=FAILED", 5).await, failed);
    let window = |run: &Value| {
        let at = run["run_at"].as_str().unwrap();
        ("2026-01-01T01:00:00Z"..="2026-01-01T02:00:00Z").contains(&at)
    };
    let query = "&from=2026-01-01T01:00:00Z&to=2026-01-01T02:00:00Z";
    assert_eq!(ids(&world, "ann", query, 3).await, expected(&world, &schedules, window).await);
    let one = expected(&world, &["hourly"], |_| true).await;
    assert_eq!(ids(&world, "ann", "&workflow_id=other", 2).await, one);
    let one = expected(&world, &["same"], |_| true).await;
    assert_eq!(ids(&world, "ann", "&tag=team:ops", 2).await, one);
    let found = ids(&world, "ann", "&external_run_id=same-2026-01-01T02:00:00Z", 10).await;
    assert_eq!(found, ["same@2026-01-01T02:00:00Z"]);

    assert_eq!(ids(&world, "bob", "", 10).await, Vec::<String>::new());
    assert_eq!(ids(&world, "root admin", "&user_id=ann", 200).await, all);
    let get = async |who: &str, path: &str| {
        world.call_as(Some(who), "GET", path, &Value::Null, &[]).await.0
    };
    assert_eq!(get("bob", "/runs?user_id=ann").await, 403);
    assert_eq!(get("ann", "/runs?cursor=x&status=x&limit=x").await, 422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_makes_a_bounded_number_of_queries() {
    let world = World::new().await;
    for number in 0..40 {
        world.schedule(&format!("s{number:02}"), "*/5 * * * *", &json!({})).await;
    }
    world.pass(Duration::hours(1)).await;
    world.meter.reset();
    let page = world.ok("GET", "/runs?limit=20", &Value::Null).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 20);
    let queries = world.meter.requests()["Query"];
    // The schedules' names, the newest runs of each, and little more.
    assert!((41..=80).contains(&queries), "{queries}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_narrows_before_the_limit_of_schedules_holds() {
    let world = World::with(&[("CREATE_RATE_PER_MINUTE", "100000")]).await;
    let made = (0..1001).map(|number| {
        let tags = if number < 2 { json!({"team": "data"}) } else { json!({}) };
        let body = json!({"tags": tags});
        let world = &world;
        async move { world.schedule(&format!("s{number:04}"), "0 9 * * *", &body).await }
    });
    futures::stream::iter(made.collect::<Vec<_>>()).buffer_unordered(16).collect::<Vec<_>>().await;
    world.ok("POST", "/schedules/s0001/trigger", &Value::Null).await;
    let (status, answer) = world.call("GET", "/runs", &Value::Null).await;
    let fields: Vec<_> =
        answer["errors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
    assert_eq!((status, fields), (422, vec![&json!("tag"), &json!("workflow_id")]));
    assert_eq!(ids(&world, "ann", "&tag=team:data", 50).await.len(), 1);
    assert_eq!(world.call("GET", "/runs?tag=none", &Value::Null).await.1["items"], json!([]));
}
