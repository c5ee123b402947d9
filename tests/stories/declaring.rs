//! Schedules that belong to a declared set: who may change them, and what a change by hand leaves.

use belfry_core::guard::access::Scopes;
use belfry_core::id::SetName;
use belfry_engine::schedules::caller::Caller;
use belfry_engine::schedules::declare;
use belfry_engine::schedules::refusal::Refusal;
use belfry_tests::World;
use serde_json::{Value, json};

fn caller(sub: &str) -> Caller {
    Caller { sub: sub.to_owned(), scopes: Scopes::parse("schedules:write"), origin: None }
}

fn set(name: &str) -> SetName {
    name.parse().unwrap()
}

fn body(cron_expr: &str) -> Value {
    json!({"workflow_id": "w", "cron_expr": cron_expr})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declared_schedule_belongs_to_its_set_whoever_changes_it() {
    let world = World::new().await;
    let (app, ann, billing) = (&world.app, caller("ann"), set("billing"));
    let id = world.id("nightly");
    let made =
        declare::declare(app, &ann, &billing, &id, &body("0 2 * * *"), Some(0)).await.unwrap();
    assert!(made.created);
    assert_eq!(made.schedule["set"], "billing");

    // By hand it can be changed like any other, but not moved to another set.
    let by_hand = json!({"workflow_id": "w", "cron_expr": "0 3 * * *", "set": "elsewhere"});
    let put = world.ok("PUT", "/schedules/nightly", &by_hand).await;
    assert_eq!((&put["set"], &put["cron_expr"]), (&json!("billing"), &json!("0 3 * * *")));
    let patched = world.ok("PATCH", "/schedules/nightly", &json!({"set": null})).await;
    assert_eq!((&patched["set"], &patched["revision"]), (&json!("billing"), &json!(2)));
    let paused = world.ok("POST", "/schedules/nightly/pause", &Value::Null).await;
    assert_eq!(paused["set"], "billing");
    let members = app.store.members("ann", Some(&billing)).await.unwrap();
    assert_eq!(members, [(billing.clone(), id.clone())]);

    // Declaring it again restores its definition and leaves the pause alone.
    let again = declare::declare(app, &ann, &billing, &id, &body("0 2 * * *"), None).await.unwrap();
    assert_eq!(again.schedule["cron_expr"], "0 2 * * *");
    assert_eq!(again.schedule["status"], "paused");
    let resumed = json!({"workflow_id": "w", "cron_expr": "0 2 * * *", "paused": false});
    let again = declare::declare(app, &ann, &billing, &id, &resumed, None).await.unwrap();
    assert_eq!(again.schedule["status"], "active");

    // A caller with an older revision overwrites no later change.
    let stale = declare::declare(app, &ann, &billing, &id, &body("0 4 * * *"), Some(1)).await;
    assert!(matches!(stale, Err(Refusal::Stale { current: 5 })), "{:?}", stale.err());
    let stale = declare::withdraw(app, &ann, &billing, &id, Some(1)).await;
    assert!(matches!(stale, Err(Refusal::Stale { current: 5 })), "{stale:?}");
    declare::withdraw(app, &ann, &billing, &id, Some(5)).await.unwrap();
    assert_eq!(app.store.members("ann", None).await.unwrap(), []);
    let changes = world.ok("GET", "/schedules?limit=10", &Value::Null).await;
    assert_eq!(changes["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_set_does_not_own_it_does_not_touch() {
    let world = World::new().await;
    let (app, ann, billing) = (&world.app, caller("ann"), set("billing"));
    world.schedule("by-hand", "0 2 * * *", &json!({})).await;
    let others = world.id("others");
    declare::declare(app, &ann, &set("reports"), &others, &body("0 2 * * *"), None).await.unwrap();
    for id in [world.id("by-hand"), others] {
        let before = world.ok("GET", &format!("/schedules/{id}"), &Value::Null).await;
        let refused = declare::declare(app, &ann, &billing, &id, &body("0 5 * * *"), None).await;
        assert!(matches!(refused, Err(Refusal::Conflict(_))), "{:?}", refused.err());
        let refused = declare::withdraw(app, &ann, &billing, &id, None).await;
        assert!(matches!(refused, Err(Refusal::Conflict(_))), "{refused:?}");
        // Not even an admin's set may take another owner's schedule.
        let admin = Caller { scopes: Scopes::parse("admin"), ..caller("root") };
        let refused = declare::declare(app, &admin, &billing, &id, &body("0 5 * * *"), None).await;
        assert!(matches!(refused, Err(Refusal::Conflict(_))), "{:?}", refused.err());
        let refused = declare::adopt(app, &caller("bob"), &billing, &id).await;
        assert!(matches!(refused, Err(Refusal::NotFound(_))), "{:?}", refused.err());
        assert_eq!(world.ok("GET", &format!("/schedules/{id}"), &Value::Null).await, before);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_adopted_and_released_without_losing_a_fire() {
    let world = World::new().await;
    let (app, ann, billing) = (&world.app, caller("ann"), set("billing"));
    let made = world.schedule("by-hand", "0 2 * * *", &json!({})).await;
    let id = world.id("by-hand");
    let adopted = declare::adopt(app, &ann, &billing, &id).await.unwrap();
    assert_eq!(adopted.schedule["set"], "billing");
    assert_eq!(adopted.schedule["next_runs"], made["next_runs"]);
    assert_eq!(declare::adopt(app, &ann, &billing, &id).await.unwrap().revision, 2);
    let refused = declare::adopt(app, &ann, &set("reports"), &id).await;
    assert!(matches!(refused, Err(Refusal::Conflict(_))), "{:?}", refused.err());
    let refused = declare::release(app, &ann, &set("reports"), &id).await;
    assert!(matches!(refused, Err(Refusal::Conflict(_))), "{:?}", refused.err());
    let released = declare::release(app, &ann, &billing, &id).await.unwrap();
    assert_eq!((&released.schedule["set"], released.revision), (&Value::Null, 3));
    assert_eq!(app.store.members("ann", None).await.unwrap(), []);
    let log = world.ok("GET", "/schedules/by-hand/changes", &Value::Null).await;
    let verbs: Vec<_> = log["items"].as_array().unwrap().iter().map(|c| &c["verb"]).collect();
    assert_eq!(verbs, ["released", "adopted", "created"]);
    let moved = json!([{"field": "set", "old": null, "new": "billing"}]);
    assert_eq!(log["items"][1]["changes"], moved);
}
