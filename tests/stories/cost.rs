//! What a fire costs, counted by DynamoDB itself.

use std::collections::HashMap;

use chrono::Duration;
use dynoxide::types::AttributeValue;
use serde_json::json;

use belfry_tests::World;

/// The write units of `fires` fires of a schedule, from the tick to the end of the last run.
async fn units(policy: &str, completion: &str) -> f64 {
    let world = World::new().await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": completion})).await;
    let payload = "x".repeat(100 * 1024);
    let more = json!({"workflow_id": "t", "overlap_policy": policy, "payload": payload,
        "name": "n".repeat(200), "timezone": "America/Argentina/ComodRivadavia"});
    // One fire per tick, the most expensive case: fires that share a tick share its advance.
    world
        .schedule("a-schedule-with-a-long-name-as-generated-ones-have", "0 */10 * * * *", &more)
        .await;
    world.pass(Duration::minutes(5)).await;
    world.meter.reset();
    for _ in 0..6 {
        world.pass(Duration::minutes(10)).await;
        let launch = world.executor.launches().pop().unwrap();
        if completion == "tracked" {
            let path = format!("/runs/{}/status", launch.run_id);
            world.ok("POST", &path, &json!({"status": "SUCCESS", "result": {"rows": 10}})).await;
        }
    }
    assert_eq!(world.executor.launches().len(), 6);
    world.meter.write_units() / 6.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_costs_seven_write_units() {
    let (on_launch, tracked) = (units("allow", "on_launch").await, units("allow", "tracked").await);
    println!("write units per fire, allow: {on_launch} on launch, {tracked} tracked");
    // A tracked run also records that its target accepted it.
    assert!(on_launch <= 7.0 && tracked <= 8.0, "{on_launch} {tracked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fire_that_may_not_overlap_costs_nine() {
    for policy in ["skip", "queue"] {
        let on_launch = units(policy, "on_launch").await;
        let tracked = units(policy, "tracked").await;
        println!("write units per fire, {policy}: {on_launch} on launch, {tracked} tracked");
        assert!(on_launch <= 9.0 && tracked <= 10.0, "{policy}: {on_launch} {tracked}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tick_over_a_hundred_thousand_idle_schedules_makes_the_same_requests() {
    let mut requests = Vec::new();
    for idle in [0, 100_000] {
        let world = World::new().await;
        idle_schedules(&world, idle);
        for n in 0..10 {
            world.schedule(&format!("due-{n}"), "0 30 0 * * *", &json!({})).await;
        }
        world.pass_without_ticks(Duration::minutes(29)).await;
        world.meter.reset();
        assert_eq!(world.tick().await["emitted"], 10);
        requests.push(world.meter.requests());
    }
    println!(
        "requests of a tick with 10 due: {:?} with none idle, {:?} with 100,000",
        requests[0], requests[1]
    );
    assert_eq!(requests[0], requests[1]);
}

/// Clocks that are due in a month, written straight to the database to save time.
fn idle_schedules(world: &World, count: usize) {
    let text = |value: &str| AttributeValue::S(value.to_owned());
    let number = |value: &str| AttributeValue::N(value.to_owned());
    let clock = |n: usize| {
        HashMap::from([
            ("schedule_id".to_owned(), text(&format!("idle-{n}"))),
            ("sk".to_owned(), text("clock")),
            ("due_shard".to_owned(), text(&(n % 8).to_string())),
            ("next_run_at".to_owned(), text("2026-02-01T00:00:00Z")),
            ("cron_expr".to_owned(), text("0 0 1 2 *")),
            ("timezone".to_owned(), text("UTC")),
            ("owner".to_owned(), text("ann")),
            ("revision".to_owned(), number("1")),
            ("workflow_id".to_owned(), text("w")),
            ("version".to_owned(), number("1")),
        ])
    };
    let clocks: Vec<_> = (0..count).map(clock).collect();
    for chunk in clocks.chunks(10_000) {
        let items = chunk.to_vec();
        let import =
            world.services.database.import_items("belfry-schedules", items, Default::default());
        import.unwrap();
    }
}
