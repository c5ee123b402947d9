//! Declared sets over the API: planned, applied, drifted, pruned, guarded.

use std::fmt::Write;

use belfry_tests::World;
use serde_json::{Value, json};

fn one(id: &str, cron_expr: &str) -> Value {
    json!({"schedule_id": id, "workflow_id": "w", "cron_expr": cron_expr})
}

fn set(schedules: &[Value]) -> Value {
    json!({"schedules": schedules})
}

/// What happens to each schedule, as `name action outcome`.
fn told(answer: &Value) -> Vec<String> {
    let line = |item: &Value| {
        let text = |field: &str| item[field].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("schedule_id"), text("action"), text("outcome"))
    };
    answer["schedules"].as_array().unwrap().iter().map(line).collect()
}

async fn apply(world: &World, query: &str, body: &Value) -> Value {
    world.ok("PUT", &format!("/sets/billing{query}"), body).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_set_is_planned_applied_and_then_unchanged() {
    let world = World::new().await;
    let body = json!({
        "set": "billing",
        "workflows": [{
            "workflow_id": "invoices", "version": 1, "definition": {"steps": 2},
            "target": {"kind": "http", "url": world.executor.url},
        }],
        "schedules": [
            {"schedule_id": "after", "workflow_id": "w", "after_schedule_id": "nightly"},
            {"schedule_id": "nightly", "workflow_id": "invoices", "cron_expr": "0 2 * * *"},
        ],
    });
    let plan = apply(&world, "?dry_run=true", &body).await;
    assert_eq!(told(&plan), ["after create planned", "nightly create planned"]);
    assert_eq!(plan["workflows"][0]["action"], "publish");
    assert_eq!(plan["schedules"][1]["says"], json!(["first run Thu 2026-01-01 02:00 UTC"]));
    assert_eq!(world.call("GET", "/schedules/nightly", &Value::Null).await.0, 404);
    assert_eq!(world.call("GET", "/sets/billing", &Value::Null).await.0, 404);

    let applied = apply(&world, "", &body).await;
    assert_eq!(told(&applied), ["after create done", "nightly create done"]);
    assert_eq!(applied["workflows"][0]["outcome"], "done");
    let nightly = world.ok("GET", "/schedules/nightly", &Value::Null).await;
    assert_eq!((&nightly["set"], &nightly["version"]), (&json!("billing"), &json!(1)));
    let listed = world.ok("GET", "/sets", &Value::Null).await;
    assert_eq!(listed["items"], json!([{"set": "billing", "schedules": 2}]));

    // Applying the same again changes nothing, nor does applying the export.
    for body in [body, world.ok("GET", "/sets/billing", &Value::Null).await] {
        let again = apply(&world, "?prune=true", &body).await;
        assert_eq!(told(&again), ["after unchanged nothing", "nightly unchanged nothing"]);
    }
    assert_eq!(world.ok("GET", "/schedules/nightly", &Value::Null).await["revision"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_by_hand_shows_as_drift_in_fire_times_and_is_mended() {
    let world = World::new().await;
    let declared = json!({"schedules": [{
        "schedule_id": "nightly", "workflow_id": "w", "cron_expr": "30 2 * * *",
        "timezone": "Europe/Zurich",
    }]});
    apply(&world, "", &declared).await;
    let by_hand = json!({"cron_expr": "0 2 * * *", "jitter_ms": 500});
    world.ok("PATCH", "/schedules/nightly", &by_hand).await;
    world.ok("POST", "/schedules/nightly/pause", &Value::Null).await;
    world.ok("POST", "/schedules/nightly/resume", &Value::Null).await;
    let plan = world.ok("POST", "/sets/billing/plan", &declared).await;
    let drift = &plan["schedules"][0];
    assert_eq!((&drift["action"], &drift["revision"]), (&json!("update"), &json!(4)));
    let fields: Vec<_> =
        drift["changes"].as_array().unwrap().iter().map(|c| (&c["field"], &c["new"])).collect();
    let (cron, jitter) = (json!("cron_expr"), json!("jitter_ms"));
    assert_eq!(fields, [(&cron, &json!("30 2 * * *")), (&jitter, &json!(0))]);
    assert_eq!(
        drift["says"],
        json!([
            "next run Thu 2026-01-01 02:00 -> Thu 2026-01-01 02:30 Europe/Zurich",
            "until 2026-04-01: 89 runs added, 90 removed, 1 kept",
            "on 2026-03-29 the clock in Europe/Zurich skips 02:30: it fires at 03:00 instead",
            "on 2026-10-25 the clock in Europe/Zurich shows 02:30 twice: it fires the first time \
             only",
        ])
    );
    assert_eq!(told(&apply(&world, "", &declared).await), ["nightly update done"]);
    let mended = world.ok("GET", "/schedules/nightly", &Value::Null).await;
    assert_eq!(mended["cron_expr"], "30 2 * * *");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_left_alone_unless_it_is_declared() {
    let world = World::new().await;
    let silent = set(&[one("nightly", "0 2 * * *")]);
    apply(&world, "", &silent).await;
    let note = json!({"note": "migration"});
    world.ok("POST", "/schedules/nightly/pause", &note).await;
    assert_eq!(told(&apply(&world, "", &silent).await), ["nightly unchanged nothing"]);
    let moved = set(&[one("nightly", "0 3 * * *")]);
    assert_eq!(told(&apply(&world, "", &moved).await), ["nightly update done"]);
    let nightly = world.ok("GET", "/schedules/nightly", &Value::Null).await;
    assert_eq!(
        (&nightly["status"], &nightly["pause_note"]),
        (&json!("paused"), &json!("migration"))
    );
    let mut resumed = one("nightly", "0 3 * * *");
    resumed["paused"] = json!(false);
    apply(&world, "", &set(&[resumed])).await;
    let nightly = world.ok("GET", "/schedules/nightly", &Value::Null).await;
    assert_eq!(nightly["status"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_schedules_are_refused_and_their_neighbours_are_not() {
    let world = World::new().await;
    world.schedule("by-hand", "0 2 * * *", &json!({})).await;
    world.ok("PUT", "/sets/reports", &set(&[one("report", "0 2 * * *")])).await;
    let target = json!({"target": {"kind": "lambda", "function": "f"}});
    world.call_as(Some("bob"), "PUT", "/workflows/bobs/versions/1", &target, &[]).await;
    let bobs = json!({"schedules": [
        {"schedule_id": "his", "workflow_id": "bobs", "cron_expr": "0 2 * * *"},
    ]});
    world.call_as(Some("bob"), "PUT", "/sets/billing", &bobs, &[]).await;
    let before = world.ok("GET", "/schedules/by-hand", &Value::Null).await;

    let mut unknown = one("lost", "0 2 * * *");
    unknown["workflow_id"] = json!("nowhere");
    let all = set(&[
        one("by-hand", "0 5 * * *"),
        one("report", "0 5 * * *"),
        one("his", "0 5 * * *"),
        unknown,
        one("mine", "0 5 * * *"),
    ]);
    let answer = apply(&world, "?prune=true", &all).await;
    assert_eq!(
        told(&answer),
        [
            "by-hand refused refused",
            "report refused refused",
            "his refused refused",
            "lost refused refused",
            "mine create done",
        ]
    );
    let why = |place: usize| answer["schedules"][place]["message"].as_str().unwrap().to_owned();
    assert!(why(0).contains("adopt it first") && why(1).contains("set reports"), "{answer}");
    assert_eq!(why(2), "schedule his is a name that cannot be used");
    assert!(why(3).starts_with("workflow_id: workflow nowhere does not exist"), "{answer}");
    assert_eq!(world.ok("GET", "/schedules/by-hand", &Value::Null).await, before);

    // Adopted, it belongs to the set; released, it belongs to none and stays.
    world.ok("PUT", "/sets/billing/members/by-hand", &Value::Null).await;
    let declared = set(&[one("by-hand", "0 5 * * *"), one("mine", "0 5 * * *")]);
    let answer = apply(&world, "?prune=true", &declared).await;
    assert_eq!(told(&answer), ["by-hand update done", "mine unchanged nothing"]);
    assert_eq!(world.call("PUT", "/sets/other/members/by-hand", &Value::Null).await.0, 409);
    world.ok("DELETE", "/sets/billing/members/by-hand", &Value::Null).await;
    let answer = apply(&world, "?prune=true", &set(&[one("mine", "0 5 * * *")])).await;
    assert_eq!(told(&answer), ["mine unchanged nothing"]);
    assert_eq!(world.ok("GET", "/schedules/by-hand", &Value::Null).await["set"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_goes_only_if_asked_and_not_by_mistake() {
    let world = World::new().await;
    let names = ["a", "b", "c", "d"];
    let all: Vec<_> = names.iter().map(|name| one(name, "0 2 * * *")).collect();
    apply(&world, "", &set(&all)).await;
    let answer = apply(&world, "", &set(&all[..1])).await;
    assert_eq!(told(&answer)[1], "b undeclared nothing");

    // Most of the set: the number of deletions must be given.
    let plan = apply(&world, "?prune=true&dry_run=true", &set(&all[..1])).await;
    assert_eq!(plan["counts"]["delete"], 3);
    let why = "would delete 3 of 4 schedules; pass allow_delete=3 to allow that";
    assert_eq!(plan["guard"], why);
    let path = "/sets/billing?prune=true";
    let (status, refused) = world.call("PUT", path, &set(&all[..1])).await;
    assert_eq!((status, &refused["detail"]), (409, &json!(why)));
    let path = "/sets/billing?prune=true&allow_delete=2";
    assert_eq!(world.call("PUT", path, &json!({})).await.0, 409);
    for name in names {
        world.ok("GET", &format!("/schedules/{name}"), &Value::Null).await;
    }

    let answer = apply(&world, "?prune=true", &set(&all[..2])).await;
    assert_eq!(told(&answer)[2..], ["c delete done", "d delete done"]);
    let says = answer["schedules"][2]["says"][0].as_str().unwrap();
    assert_eq!(says, "next run Thu 2026-01-01 02:00 UTC will not happen");
    assert_eq!(world.call("GET", "/schedules/c", &Value::Null).await.0, 404);

    // Deletions wait until every creation has succeeded.
    world.schedule("taken", "0 2 * * *", &json!({})).await;
    let renamed = set(&[one("taken", "0 2 * * *"), one("a", "0 2 * * *")]);
    let answer = apply(&world, "?prune=true", &renamed).await;
    assert_eq!(told(&answer)[2], "b delete failed");
    let answer = apply(&world, "?prune=true&allow_delete=2", &json!({})).await;
    assert_eq!(told(&answer), ["a delete done", "b delete done"]);
    assert_eq!(world.ok("GET", "/sets", &Value::Null).await["items"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_between_plan_and_apply_is_a_conflict_and_loses_nothing() {
    let world = World::new().await;
    let first = set(&[one("a", "0 2 * * *"), one("b", "0 2 * * *"), one("c", "0 2 * * *")]);
    apply(&world, "", &first).await;
    let mut wanted = set(&[one("a", "0 3 * * *"), one("b", "0 3 * * *"), one("new", "0 3 * * *")]);
    let plan = apply(&world, "?dry_run=true&prune=true", &wanted).await;
    let items = plan["schedules"].as_array().unwrap();
    let planned: serde_json::Map<_, _> = items
        .iter()
        .map(|item| (item["schedule_id"].as_str().unwrap().to_owned(), item["revision"].clone()))
        .collect();
    assert_eq!(Value::Object(planned.clone()), json!({"a": 1, "b": 1, "c": 1, "new": 0}));
    wanted["planned"] = Value::Object(planned);

    world.ok("PATCH", "/schedules/b", &json!({"cron_expr": "0 4 * * *"})).await;
    world.schedule("new", "0 6 * * *", &json!({})).await;
    let answer = apply(&world, "?prune=true", &wanted).await;
    assert_eq!(
        told(&answer),
        ["a update done", "b update conflict", "new refused refused", "c delete failed"]
    );
    let message = "was planned from revision 1 and is at 2";
    assert_eq!(answer["schedules"][1]["message"], message);
    assert_eq!(world.ok("GET", "/schedules/b", &Value::Null).await["cron_expr"], "0 4 * * *");
    assert_eq!(world.ok("GET", "/schedules/new", &Value::Null).await["cron_expr"], "0 6 * * *");
    world.ok("GET", "/schedules/c", &Value::Null).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_set_is_named_by_its_place_and_nothing_is_done() {
    let world = World::new().await;
    let body = set(&[
        one("fine", "0 2 * * *"),
        one("bad", "61 2 * * *"),
        json!({"schedule_id": "bad name", "workflow_id": "w", "cron_expr": "* * * * *", "x": 1}),
    ]);
    let (status, problem) = world.call("PUT", "/sets/billing", &body).await;
    assert_eq!(status, 422);
    let fields: Vec<_> =
        problem["errors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
    assert_eq!(fields, ["schedules[1].cron_expr", "schedules[2].schedule_id", "schedules[2].x"]);
    assert_eq!(world.call("GET", "/schedules/fine", &Value::Null).await.0, 404);
    for query in ["?prune=maybe", "?allow_delete=x", "?dry_run="] {
        let path = format!("/sets/billing{query}");
        assert_eq!(world.call("PUT", &path, &json!({})).await.0, 422, "{query}");
    }
    assert_eq!(world.call("PUT", "/sets/bad%20name", &json!({})).await.0, 422);
    assert_eq!(world.call("GET", "/sets/bad%20name", &Value::Null).await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_published_first_and_a_version_never_changes() {
    let world = World::new().await;
    let with = |version: u32, function: &str| {
        let target = json!({"kind": "lambda", "function": function});
        json!({
            "workflows": [{"workflow_id": "job", "version": version, "target": target}],
            "schedules": [{"schedule_id": "s", "workflow_id": "job", "cron_expr": "0 2 * * *"}],
        })
    };
    apply(&world, "", &with(1, "f")).await;
    let plan = apply(&world, "?dry_run=true", &with(2, "g")).await;
    assert_eq!(plan["workflows"][0]["action"], "publish");
    let change = json!({"field": "version", "old": 1, "new": 2});
    assert_eq!(plan["schedules"][0]["changes"], json!([change]));
    assert_eq!(told(&apply(&world, "", &with(2, "g")).await), ["s update done"]);
    assert_eq!(world.ok("GET", "/schedules/s", &Value::Null).await["version"], 2);
    let answer = apply(&world, "", &with(2, "other")).await;
    assert_eq!(answer["workflows"][0]["outcome"], "refused");
    let message = answer["workflows"][0]["message"].as_str().unwrap();
    assert!(message.contains("a version never changes"), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_set_is_made_in_several_calls_at_the_pace_its_owner_may() {
    let world = World::with(&[("CREATE_RATE_PER_MINUTE", "250")]).await;
    let mut name = String::new();
    let mut many = Vec::new();
    for number in 0..300 {
        name.clear();
        write!(name, "s{number:03}").unwrap();
        many.push(one(&name, "0 2 * * *"));
    }
    let body = set(&many);
    let first = apply(&world, "", &body).await;
    assert_eq!(first["remaining"], 100);
    let second = apply(&world, "", &body).await;
    assert_eq!((&second["remaining"], &second["counts"]["create"]), (&json!(50), &json!(100)));
    let waits = second["schedules"][299]["retry_after_s"].as_i64().unwrap();
    assert!((1..=60).contains(&waits), "{waits}");
    world.time.set(world.now() + chrono::Duration::minutes(1));
    let third = apply(&world, "", &body).await;
    assert_eq!((&third["remaining"], &third["counts"]["unchanged"]), (&json!(0), &json!(250)));
    let unchanged = apply(&world, "?prune=true", &body).await;
    assert_eq!(unchanged["counts"]["unchanged"], 300);
}
