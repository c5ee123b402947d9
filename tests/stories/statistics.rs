//! Statistics: of a whole life, however long, and of all schedules, however many.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use belfry_core::id::RunId;
use belfry_core::instant;
use belfry_core::run::{Reason, Run, Trigger};
use belfry_engine::cloud::store::Of;
use belfry_tests::{World, embedded};
use chrono::Duration;
use serde_json::{Value, json};

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

async fn get(world: &World, path: &str) -> Value {
    world.ok("GET", path, &Value::Null).await
}

async fn stats(world: &World, schedule: &str) -> Value {
    get(world, &format!("/schedules/{schedule}")).await["stats"].clone()
}

/// Deletes the record of a run, as its expiry does.
async fn expire(world: &World, run: &RunId) {
    let client = aws_sdk_dynamodb::Client::new(&world.services.sdk());
    let delete = client.delete_item().table_name(&world.app.settings.runs_table);
    let delete = delete.key("schedule_id", text(run.schedule_id.as_str()));
    delete.key("run_at", text(&run.sort_key())).send().await.unwrap();
}

/// Records fires of the past as skipped, one every `step` seconds up to now.
async fn skipped(world: &World, schedule: &str, count: i64, step: i64) {
    let (id, now) = (world.id(schedule), world.now());
    for place in (1..=count).rev() {
        let at = instant::whole_second(now - Duration::seconds(step * place));
        let trigger = Trigger::Schedule("* * * * * *".to_owned());
        let run = Run::planned(RunId::scheduled(&id, at), trigger, "ann", 1, at, at);
        world.app.store.put_run(&run.skipped(Reason::Overlap, at)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_life_is_counted_beyond_its_records() {
    let world = World::new().await;
    world.executor.answers(|launch| match launch.run_id.contains("T01:") {
        true => (404, String::new()),
        false => (200, "{}".to_owned()),
    });
    let path = "/workflows/w/triggers/node/schedule";
    let body = json!({"cron_expr": "* * * * *", "overlap_policy": "allow"});
    let id = world.ok("PUT", path, &body).await["schedule_id"].as_str().unwrap().to_owned();
    world.pass(Duration::minutes(200)).await;
    let before = stats(&world, &id).await;
    let found = (&before["total"], &before["succeeded"], &before["failed"]);
    assert_eq!(found, (&json!(200), &json!(140), &json!(60)), "{before}");
    world.recover().await;
    let sums = world.app.store.sums(&world.id(&id)).await.unwrap().unwrap();
    assert_eq!((sums.counts.succeeded, sums.counts.failed), (129, 60), "all but ten minutes");
    assert_eq!(stats(&world, &id).await, before, "counted from the sums");
    for minute in 1..190 {
        let at = "2026-01-01T00:00:00Z".parse::<instant::Instant>().unwrap();
        let run = RunId::scheduled(&world.id(&id), at + Duration::minutes(minute));
        expire(&world, &run).await;
    }
    assert_eq!(stats(&world, &id).await, before, "the records have expired");
    let shown = get(&world, path).await;
    let counts = (&shown["execution_count"], &shown["failure_count"]);
    assert_eq!(counts, (&json!(200), &json!(60)));
    world.pass(Duration::minutes(10)).await;
    world.recover().await;
    assert_eq!(stats(&world, &id).await["total"], 210);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_runs_than_are_read_at_once_are_counted() {
    let world = World::new().await;
    world.schedule("s", "0 0 1 1 *", &json!({})).await;
    skipped(&world, "s", 2600, 60).await;
    let counted = stats(&world, "s").await;
    assert_eq!((&counted["skipped"], counted.get("counted_since")), (&json!(2600), None));
    assert!(world.app.store.sums(&world.id("s")).await.unwrap().is_some());
    assert_eq!(stats(&world, "s").await, counted);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_run_keeps_none_behind_it_from_being_counted() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    world.schedule("s", "0 0 1 1 *", &json!({"workflow_id": "t"})).await;
    let run = world.ok("POST", "/schedules/s/trigger", &Value::Null).await;
    world.deliver().await;
    world.pass_without_ticks(Duration::hours(5)).await;
    skipped(&world, "s", 2600, 6).await;
    let counted = stats(&world, "s").await;
    let told = (&counted["total"], &counted["skipped"], counted.get("counted_since"));
    assert_eq!(told, (&json!(2601), &json!(2600), None), "{counted}");
    let path = format!("/runs/{}/status", run["run_id"].as_str().unwrap().replace('~', "%7E"));
    world.ok("POST", &path, &json!({"status": "FAILED"})).await;
    let failed = stats(&world, "s").await;
    let told = |stats: &Value| {
        let (total, failed) = (stats["total"].clone(), stats["failed"].clone());
        (total, failed, stats["consecutive_failures"].clone())
    };
    assert_eq!(told(&failed), (json!(2601), json!(1), json!(1)));
    let open = async || world.app.store.sums(&world.id("s")).await.unwrap().unwrap().open.len();
    assert_eq!(open().await, 1);
    world.recover().await;
    assert_eq!((open().await, stats(&world, "s").await), (0, failed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_follows_a_long_one_is_counted() {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    world.schedule("long", "0 1 * * *", &json!({"workflow_id": "t"})).await;
    let body = json!({"workflow_id": "w", "after_schedule_id": "long"});
    world.ok("PUT", "/schedules/next", &body).await;
    world.pass(Duration::hours(7)).await;
    skipped(&world, "next", 150, 120).await;
    world.recover().await;
    let run = world.fire("long", "01:00:00");
    world.ok("POST", &format!("/runs/{run}/status"), &json!({"status": "SUCCESS"})).await;
    world.deliver().await;
    let counted = stats(&world, "next").await;
    assert_eq!((&counted["skipped"], &counted["succeeded"]), (&json!(150), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_in_the_list_of_failing_ones_while_it_fails() {
    let world = World::new().await;
    world.executor.answers(|_| (404, String::new()));
    world.schedule("s", "* * * * *", &json!({})).await;
    // The check of this day is done: what follows is found by the sweep.
    world.recover().await;
    let store = &world.app.store;
    let failing = async || {
        let runs = store.failing_of("ann", 10).await.unwrap();
        assert_eq!(store.count_failing("ann").await.unwrap(), runs.len() as u64);
        runs.into_iter().map(|failing| failing.run.to_string()).collect::<Vec<_>>()
    };
    world.pass(Duration::minutes(3)).await;
    assert_eq!(failing().await, ["s@2026-01-01T00:01:00Z"], "since its first failure");
    world.executor.answers(|_| (200, String::new()));
    world.pass(Duration::minutes(1)).await;
    assert!(failing().await.is_empty());

    // A launcher that died before it noted the failure leaves that to recovery.
    world.executor.answers(|_| (404, String::new()));
    world.pass(Duration::minutes(1)).await;
    let clock = store.clocks(&[world.id("s")]).await.unwrap().remove(0).unwrap();
    store.note_failing(&clock, None, world.now()).await.unwrap();
    world.ok("POST", "/schedules/s/pause", &Value::Null).await;
    world.pass(Duration::minutes(7)).await;
    assert!(failing().await.is_empty());
    world.recover().await;
    assert_eq!(failing().await, ["s@2026-01-01T00:05:00Z"]);
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    assert!(failing().await.is_empty());
}

/// Makes `count` schedules of an owner that fire once an hour.
async fn crowd(world: &World, owner: &str, count: usize) {
    let version = json!({"target": {"kind": "http", "url": world.executor.url}});
    let path = format!("/workflows/{owner}/versions/1");
    world.call_as(Some(owner), "PUT", &path, &version, &[]).await;
    for place in 0..count {
        let body = json!({"workflow_id": owner, "cron_expr": "0 * * * *"});
        let path = format!("/schedules/{place:03}-{owner}");
        let (status, answer) = world.call_as(Some(owner), "PUT", &path, &body, &[]).await;
        assert_eq!(status, 201, "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_of_many_schedules_are_read_and_not_counted() {
    let limits = [("MAX_SCHEDULES_PER_OWNER", "1000"), ("CREATE_RATE_PER_MINUTE", "1000")];
    let world = World::with(&limits).await;
    world.executor.answers(|launch| match launch.run_id.starts_with("007") {
        true => (404, String::new()),
        false => (200, String::new()),
    });
    crowd(&world, "bob", 205).await;
    let bob = async |path: &str| world.call_as(Some("bob"), "GET", path, &Value::Null, &[]).await.1;
    world.pass(Duration::hours(1)).await;
    let found = bob("/stats").await;
    assert_eq!(found["schedules"].get("counted"), None, "{found}");
    let schedules = json!({"total": 205, "by_status": {"active": 205}, "failing": 1});
    assert_eq!(found["schedules"], schedules);
    assert_eq!((&found["runs"]["succeeded"], &found["runs"]["failed"]), (&json!(204), &json!(1)));

    // The next questions read three items: the number, the totals and the list of failing ones.
    world.executor.answers(|_| (404, String::new()));
    for path in ["/schedules/001-bob/trigger", "/schedules/002-bob/trigger"] {
        world.call_as(Some("bob"), "POST", path, &Value::Null, &[]).await;
    }
    world.deliver().await;
    world.meter.reset();
    let found = bob("/stats").await;
    assert_eq!(requests(&world), 3, "{:?}", world.meter.requests());
    assert_eq!(found["schedules"]["failing"], 3, "failing is of now");
    assert_eq!(found["runs"]["failed"], 1, "as of {}", found["as_of"]);
    let overview = bob("/overview").await;
    assert_eq!((&overview["schedules"], &overview["truncated"]), (&json!(205), &json!(false)));
    assert_eq!(overview["failures"].as_array().unwrap().len(), 3);
    let due: Vec<_> = overview["due_next_24h"].as_array().unwrap().iter().collect();
    assert_eq!((due.len(), due[0], due[60]), (1440, &json!(0), &json!(205)));

    let body = json!({"workflow_id": "bob", "cron_expr": "0 * * * *"});
    world.call_as(Some("bob"), "PUT", "/schedules/new-bob", &body, &[]).await;
    let found = bob("/stats").await;
    let told = (&found["schedules"]["total"], &found["schedules"]["counted"]);
    assert_eq!(told, (&json!(206), &json!(205)), "one is newer than the totals");
    world.pass_without_ticks(Duration::minutes(6)).await;
    let found = bob("/stats").await;
    assert_eq!(found["runs"]["failed"], 3, "counted anew after some minutes");
    assert_eq!(found["schedules"].get("counted"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn totals_of_very_many_say_how_many_were_counted_before_the_first_check() {
    let world = World::new().await;
    crowd(&world, "bob", 1).await;
    // The others are copies of the first.
    let database = &world.services.database;
    let copy = |part: &str, place: usize| {
        let key = json!({"schedule_id": {"S": "000-bob"}, "sk": {"S": part}});
        let mut item = embedded::item(database, "belfry-schedules", &key);
        item["schedule_id"] = json!({"S": format!("{place:04}-bob")});
        let request = json!({"TableName": "belfry-schedules", "Item": item});
        embedded::dynamodb(database, "PutItem", &request).unwrap();
    };
    for place in 1..2051 {
        copy("clock", place);
        copy("spec", place);
    }
    let count = json!({"schedule_id": {"S": "#owner#bob"}, "sk": {"S": "count"}});
    let mut count = embedded::item(database, "belfry-schedules", &count);
    count["schedules"] = json!({"N": "2051"});
    let request = json!({"TableName": "belfry-schedules", "Item": count});
    embedded::dynamodb(database, "PutItem", &request).unwrap();
    let all = ("root admin", "/stats?user_id=*");
    for (caller, path) in [("bob", "/stats"), all] {
        let found = world.call_as(Some(caller), "GET", path, &Value::Null, &[]).await.1;
        let told = (&found["schedules"]["total"], &found["schedules"]["counted"]);
        assert_eq!(told, (&json!(2051), &json!(2000)), "{caller}");
    }
}

fn requests(world: &World) -> usize {
    world.meter.requests().values().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_daily_check_counts_owners_across_its_calls() {
    let limits = [("MAX_SCHEDULES_PER_OWNER", "1000"), ("CREATE_RATE_PER_MINUTE", "1000")];
    let world = World::with(&limits).await;
    for owner in ["bob", "cyd", "dee"] {
        crowd(&world, owner, 210).await;
    }
    world.pass(Duration::hours(1)).await;
    assert_eq!(world.recover().await["checked"]["schedules"], 500);
    assert_eq!(world.recover().await["checked"]["schedules"], 130);
    let mut found = BTreeMap::new();
    for owner in ["bob", "cyd", "dee"] {
        let totals = world.app.store.totals(Of::Owner(owner)).await.unwrap().unwrap();
        found.insert(owner, (totals.schedules, totals.counts.succeeded));
    }
    assert_eq!(
        found,
        BTreeMap::from([("bob", (210, 210)), ("cyd", (210, 210)), ("dee", (210, 210))])
    );
    let path = "/stats?user_id=*";
    let all = world.call_as(Some("root admin"), "GET", path, &Value::Null, &[]).await.1;
    let told = (&all["schedules"]["total"], &all["runs"]["succeeded"]);
    assert_eq!(told, (&json!(630), &json!(630)), "{all}");
}
