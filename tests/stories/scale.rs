//! What one tick cannot handle, others do: hand-over, its faults, fairness, and shards added later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use belfry_core::tick::share::{HandOver, MAX_GENERATION, Share, Stretch};
use belfry_engine::app::App;
use belfry_engine::settings::Settings;
use belfry_engine::{functions, metrics, tick};
use chrono::Duration;
use futures::future::join_all;
use serde_json::{Value, json};

use belfry_tests::crowd::{only_one_among, only_one_behind};
use belfry_tests::embedded;
use belfry_tests::{Flaky, Line, World};

/// Creates schedules that all fire at half past, and moves to the minute before.
async fn crowd(world: &World, count: usize) {
    for chunk in (0..count).collect::<Vec<_>>().chunks(50) {
        let make = |n: usize| async move {
            world.schedule(&format!("s{n}"), "0 30 0 * * *", &json!({})).await;
        };
        join_all(chunk.iter().map(|n| make(*n))).await;
    }
    world.pass_without_ticks(Duration::minutes(29)).await;
    world.meter.reset();
}

/// Every schedule of a crowd fired once, and was launched once.
async fn expect_all_once(world: &World, count: usize) {
    world.meter.reset();
    world.pass_without_ticks(Duration::minutes(5)).await;
    let mut launched = world.executor.run_ids();
    launched.sort();
    let mut expected: Vec<_> = (0..count).map(|n| format!("s{n}@2026-01-01T00:30:00Z")).collect();
    expected.sort();
    assert_eq!(launched, expected);
    for n in 0..count {
        assert_eq!(embedded::runs(&world.services.database, &format!("s{n}")).len(), 1);
    }
}

fn count(report: &Value, what: &str) -> u64 {
    report[what].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_that_runs_out_of_time_hands_over_and_another_finishes() {
    let world = World::new().await;
    crowd(&world, 800).await;
    // Each request takes some time, so that the tick starts four batches of a hundred, and its time
    // is up before the fifth.
    world.meter.charge(&world.time, Duration::milliseconds(60));
    let first = world.tick_within(Duration::milliseconds(1500)).await;
    assert_eq!((count(&first, "emitted"), count(&first, "left")), (400, 0), "{first}");
    assert_eq!(count(&first, "handed_over"), 1);

    let handed_over = world.handed_over().await;
    let second = world.take_over(&handed_over[0]).await;
    assert_eq!((count(&second, "emitted"), count(&second, "handed_over")), (400, 0), "{second}");
    expect_all_once(&world, 800).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn work_beyond_one_ticks_share_is_handed_over_and_done_in_parallel() {
    let world = World::with(&[("TICK_SHARE", "100"), ("DUE_SHARDS", "4")]).await;
    crowd(&world, 500).await;
    let first = world.tick().await;
    assert_eq!(count(&first, "handed_over"), 4, "the rest of each shard: {first}");
    let mut generations = vec![count(&first, "emitted")];
    let mut under_way = world.handed_over().await;
    while !under_way.is_empty() {
        let reports = join_all(under_way.iter().map(|message| world.take_over(message))).await;
        generations.push(reports.iter().map(|report| count(report, "emitted")).sum());
        assert!(reports.iter().all(|r| count(r, "resent") == 0), "no tick repeats another's work");
        under_way = world.handed_over().await;
    }
    assert_eq!(generations.iter().sum::<u64>(), 500, "{generations:?}");
    assert!(generations.len() <= 4, "{generations:?}");
    expect_all_once(&world, 500).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn little_is_due_and_nobody_is_told() {
    let world = World::new().await;
    crowd(&world, 20).await;
    assert_eq!(count(&world.tick().await, "handed_over"), 0);
    let requests = world.meter.requests();
    assert_eq!(requests["SendMessageBatch"], 1, "twenty fires, and nothing else: {requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_over_that_comes_twice_or_late_or_never_does_no_harm() {
    // Nothing is delivered for four minutes, and nothing is to be missed for that.
    let grace = ("MISFIRE_GRACE_MS", "600000");
    let world = World::with(&[("TICK_SHARE", "100"), ("DUE_SHARDS", "2"), grace]).await;
    crowd(&world, 300).await;
    let first = world.tick().await;
    let messages = world.handed_over().await;
    assert_eq!(messages.len(), 2, "{first}");
    // One hand-over comes twice, at the same time.
    let (one, again) = tokio::join!(world.take_over(&messages[0]), world.take_over(&messages[0]));
    let emitted = count(&first, "emitted") + count(&one, "emitted") + count(&again, "emitted");
    assert!((150..300).contains(&emitted), "{emitted}");
    // The other is lost until the rule's next tick. Every further hand-over is lost, too: what each
    // tick does itself suffices.
    for _ in 0..4 {
        world.time.advance(Duration::minutes(1));
        world.tick().await;
        world.handed_over().await;
    }
    // The lost one arrives after all.
    let late = world.take_over(&messages[1]).await;
    assert_eq!(count(&late, "due"), 0, "{late}");
    expect_all_once(&world, 300).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_killed_at_any_request_of_a_hand_over_loses_nothing() {
    let mut killed = 0;
    for requests in [2, 4, 5, 8, 10, 12, 30] {
        let world = World::with(&[("TICK_SHARE", "60"), ("DUE_SHARDS", "2")]).await;
        crowd(&world, 150).await;
        world.meter.cut_after(requests);
        let done = world.meter.until_cut(world.tick_within(Duration::minutes(1))).await;
        killed += usize::from(done.is_none());
        world.meter.reset();
        world.deliver_ticks().await;
        world.time.advance(Duration::minutes(1));
        world.tick().await;
        world.deliver_ticks().await;
        expect_all_once(&world, 150).await;
    }
    assert!(killed >= 5, "{killed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_hand_overs_ends_and_a_stale_one_is_dropped() {
    let world = World::with(&[("TICK_SHARE", "10"), ("DUE_SHARDS", "1")]).await;
    crowd(&world, 40).await;
    let share = Share::Shard(Stretch { shard: 0, after: None });
    let work = |generation, ticked_at| HandOver { generation, ticked_at, share: share.clone() };
    let deadline = world.now() + Duration::minutes(1);
    let old = work(1, world.now() - Duration::minutes(1));
    let report = tick::take_over(&world.app, old, world.now(), deadline).await;
    assert_eq!((report.due, report.handed_over), (0, 0));

    // The last of a chain hands over no more: it does what it can itself.
    let last = work(MAX_GENERATION, world.now());
    let report = tick::take_over(&world.app, last, world.now(), deadline).await;
    assert_eq!((report.emitted, report.handed_over), (40, 0));

    let odd = json!({"Records": [{"messageId": "1", "body": "no hand-over", "attributes": {},
        "messageAttributes": {}, "eventSource": "aws:sqs"}]});
    let answer = functions::tick(&world.app, odd, deadline).await.unwrap();
    assert_eq!(answer["batchItemFailures"], json!([]), "dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_without_a_queue_works_alone_and_leaves_the_rest_to_the_next() {
    let world = World::with(&[("TICK_SHARE", "100"), ("TICK_QUEUE_URL", "")]).await;
    crowd(&world, 900).await;
    world.meter.charge(&world.time, Duration::milliseconds(30));
    let first = world.tick_within(Duration::seconds(3)).await;
    assert_eq!(count(&first, "handed_over"), 0);
    assert!(count(&first, "left") > 0 && count(&first, "emitted") < 900, "{first}");
    world.meter.reset();
    let second = world.tick().await;
    assert_eq!(count(&first, "emitted") + count(&second, "emitted"), 900, "{second}");
    expect_all_once(&world, 900).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_may_be_added_while_schedules_exist() {
    let world = World::with(&[("DUE_SHARDS", "2")]).await;
    for n in 0..30 {
        world.schedule(&format!("s{n}"), "*/10 * * * *", &json!({})).await;
    }
    world.schedule("later", "0 0 1 2 *", &json!({})).await;
    assert_eq!(shards(&world).len(), 2);
    let world = with_settings(world, |settings| settings.due_shards = 16);
    world.pass(Duration::minutes(11)).await;
    assert_eq!(world.executor.run_ids().len(), 30, "found where they were");
    let shards = shards(&world);
    assert!(shards.len() > 8, "moved by their fires: {shards:?}");
    assert!(shards.keys().all(|shard| shard.parse::<u32>().unwrap() < 16));
    world.pass(Duration::minutes(10)).await;
    assert_eq!(world.executor.run_ids().len(), 60, "found where they are");
    assert_eq!(world.recover().await["failed"], 0);
}

/// The same world with other settings.
fn with_settings(world: World, change: impl FnOnce(&mut Settings)) -> World {
    let mut settings = world.app.settings.clone();
    change(&mut settings);
    let sdk = world.services.sdk().into_builder().http_client(Line(world.meter.clone())).build();
    let mut app = App::new(&sdk, settings, Arc::new(world.time.clone()));
    app.metrics = metrics::to_nowhere;
    world.replace_app(app)
}

/// How many clocks are in each shard.
fn shards(world: &World) -> BTreeMap<String, usize> {
    let request = json!({"TableName": embedded::SCHEDULES});
    let all = embedded::dynamodb(&world.services.database, "Scan", &request).unwrap();
    let mut shards = BTreeMap::new();
    for item in all["Items"].as_array().unwrap() {
        if let Some(shard) = item["due_shard"]["S"].as_str() {
            *shards.entry(shard.to_owned()).or_default() += 1;
        }
    }
    shards
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_asked_too_much_is_asked_less() {
    let world = World::new().await;
    crowd(&world, 600).await;
    // The service handles eight concurrent writes; the tick would make 128.
    let flaky = Flaky::crowded(world.services.sdk().http_client().unwrap(), 8);
    let sdk = world.services.sdk().into_builder().http_client(Line(flaky.clone())).build();
    let settings = world.app.settings.clone();
    let mut app = App::new(&sdk, settings, Arc::new(world.time.clone()));
    app.metrics = metrics::to_nowhere;
    let world = world.replace_app(app);
    assert_eq!(world.app.store.writes().width(), 128);
    let mut ticks = 0;
    while ticks == 0 || count(&world.tick().await, "due") > 0 {
        ticks += 1;
        assert!(ticks < 5, "the tick succeeds");
    }
    let throttles = flaky.throttles();
    let refused = |some: &[bool]| some.iter().filter(|throttled| **throttled).count();
    let (begin, end) = throttles.split_at(throttles.len() / 2);
    println!(
        "writes {}, throttled {} in the first half, {} in the second; width {} of 128",
        throttles.len(),
        refused(begin),
        refused(end),
        world.app.store.writes().width()
    );
    assert!(world.app.store.writes().throttled() > 0);
    assert!(refused(end) < refused(begin), "the tick adapts");
    assert!(refused(&throttles) < 600, "{}", refused(&throttles));
    expect_all_once(&world, 600).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_with_twenty_thousand_fires_does_not_delay_anothers_one() {
    let place = only_one_among(20_000).await;
    println!("{place:?}");
    assert!(place.requests < 200, "{place:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_behind_the_share_of_a_tick_waits_for_nobodys_work() {
    let way = only_one_behind(1000, 20_000).await;
    println!("{way:?}");
    // Every tick reads a share, hands over what is beyond it, and only then starts to work.
    assert!((2..=4).contains(&way.ticks) && way.requests < 200, "{way:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_launch_queue_full_of_one_owners_fires_brings_anothers_at_once() {
    let world = World::new().await;
    crowd(&world, 300).await;
    let target = json!({"definition": {}, "target": {"kind": "http", "url": world.executor.url}});
    let path = "/workflows/bobs/versions/1";
    assert_eq!(world.call_as(Some("bob"), "PUT", path, &target, &[]).await.0, 201);
    let one = json!({"workflow_id": "bobs", "cron_expr": "0 30 0 * * *"});
    let made = world.call_as(Some("bob"), "PUT", "/schedules/the-only-one", &one, &[]).await;
    assert_eq!(made.0, 201, "{made:?}");
    world.tick().await;
    world.time.advance(Duration::minutes(1));
    let first = world.mapping.receive(0).await;
    let bodies: BTreeSet<_> = first.iter().filter_map(|message| message.body()).collect();
    assert!(bodies.iter().any(|body| body.contains("the-only-one@")), "{bodies:?}");
}
