//! An owner creates no more schedules than allowed, and no faster, however many requests come at
//! once.

use belfry_tests::World;
use belfry_tests::door::{Door, read};
use belfry_tests::world::SCOPES;
use chrono::Duration;
use futures::future::join_all;
use serde_json::{Value, json};

/// The answer to a creation: its status, and when to come back.
type Answer = (u16, Option<u64>);

async fn create(door: &Door, token: &str, id: String) -> Answer {
    let body = json!({"schedule_id": id, "workflow_id": "w", "cron_expr": "0 9 * * *"});
    let answer = door.ask(Some(token), "POST", "/schedules", &body, &[]).await;
    let retry = answer.headers().get("retry-after").cloned();
    let retry = retry.map(|value| value.to_str().unwrap().parse().unwrap());
    (read(answer).await.0, retry)
}

/// A hundred creations at once.
async fn a_hundred(door: &Door, token: &str, prefix: &str) -> Vec<Answer> {
    let requests: Vec<_> = (0..100).map(|n| create(door, token, format!("{prefix}{n}"))).collect();
    join_all(requests).await
}

fn made(answers: &[Answer]) -> usize {
    for answer in answers {
        assert!(matches!(answer, (201, None) | (429, Some(_))), "{answer:?}");
    }
    answers.iter().filter(|answer| answer.0 == 201).count()
}

async fn count(world: &World) -> usize {
    let page = world.ok("GET", "/schedules?limit=200", &Value::Null).await;
    page["items"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_concurrent_creations_keep_exactly_to_the_rate() {
    let world = World::with(&[("CREATE_RATE_PER_MINUTE", "10")]).await;
    let door = Door::of(&world).await;
    let ann = door.token("ann", SCOPES, |_| {});
    let answers = a_hundred(&door, &ann, "a").await;
    assert_eq!((made(&answers), count(&world).await), (10, 10));
    let retry: Vec<_> = answers.iter().filter_map(|answer| answer.1).collect();
    assert!(retry.iter().all(|seconds| *seconds == 6), "{retry:?}");

    // Changing an existing schedule is not a creation.
    let made_one = &world.ok("GET", "/schedules?limit=1", &Value::Null).await["items"][0];
    let path = format!("/schedules/{}", made_one["schedule_id"].as_str().unwrap());
    for name in ["one", "two", "three"] {
        let body = json!({"workflow_id": "w", "cron_expr": "0 9 * * *", "name": name});
        world.ok("PUT", &path, &body).await;
    }
    // A request refused for another reason is not a creation either.
    let bad = json!({"workflow_id": "none", "cron_expr": "0 9 * * *"});
    assert_eq!(world.call("POST", "/schedules", &bad).await.0, 422);

    world.time.set(world.now() + Duration::milliseconds(5999));
    assert_eq!(made(&a_hundred(&door, &ann, "b").await), 0);
    world.time.set(world.now() + Duration::milliseconds(1));
    assert_eq!(made(&a_hundred(&door, &ann, "c").await), 1);
    world.time.set(world.now() + Duration::seconds(30));
    assert_eq!(made(&a_hundred(&door, &ann, "d").await), 5);
    world.time.set(world.now() + Duration::minutes(10));
    assert_eq!(made(&a_hundred(&door, &ann, "e").await), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_concurrent_creations_keep_exactly_to_the_count() {
    let world = World::with(&[("MAX_SCHEDULES_PER_OWNER", "7")]).await;
    let door = Door::of(&world).await;
    let ann = door.token("ann", SCOPES, |_| {});
    assert_eq!(made(&a_hundred(&door, &ann, "a").await), 7);
    assert_eq!(count(&world).await, 7);
    assert_eq!(made(&a_hundred(&door, &ann, "b").await), 0);

    // A deletion frees one place, however often it is requested.
    let page = world.ok("GET", "/schedules", &Value::Null).await;
    let ids: Vec<_> = page["items"].as_array().unwrap()[..3]
        .iter()
        .map(|item| item["schedule_id"].as_str().unwrap().to_owned())
        .collect();
    let paths: Vec<_> = ids.iter().map(|id| format!("/schedules/{id}")).collect();
    let deletions = paths.iter().chain(&paths).map(|path| world.call("DELETE", path, &Value::Null));
    let deleted = join_all(deletions.collect::<Vec<_>>()).await;
    assert_eq!(deleted.iter().filter(|answer| answer.0 == 204).count(), 3, "{deleted:?}");
    assert_eq!(made(&a_hundred(&door, &ann, "c").await), 3);
    assert_eq!(count(&world).await, 7);

    // Other owners have their own limits.
    let version = json!({"target": {"kind": "lambda", "function": "f"}});
    world.call_as(Some("bob"), "PUT", "/workflows/bobs/versions/1", &version, &[]).await;
    let body = json!({"workflow_id": "bobs", "cron_expr": "0 9 * * *"});
    assert_eq!(world.call_as(Some("bob"), "POST", "/schedules", &body, &[]).await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_for_one_name_count_once() {
    let world = World::with(&[("MAX_SCHEDULES_PER_OWNER", "2")]).await;
    let body = json!({"workflow_id": "w", "cron_expr": "0 9 * * *"});
    let requests = (0..20).map(|_| world.call("PUT", "/schedules/one", &body));
    for (status, answer) in join_all(requests.collect::<Vec<_>>()).await {
        assert!(matches!(status, 200 | 201), "{status} {answer}");
    }
    assert_eq!(world.call("PUT", "/schedules/two", &body).await.0, 201);
    let (status, answer) = world.call("PUT", "/schedules/three", &body).await;
    assert_eq!(status, 429, "{answer}");
    assert!(answer["detail"].as_str().unwrap().contains("2 schedules"), "{answer}");
}
