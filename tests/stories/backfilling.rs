//! Backfills: the fires of a past time range, run now.

use belfry_core::fire::backfill::Backfill;
use belfry_engine::cloud::store::{Put, Saved};
use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// A schedule created at noon that fires at every full hour.
async fn at_noon(more: &Value) -> World {
    let world = World::new().await;
    world.pass_without_ticks(Duration::hours(12)).await;
    world.schedule("s", "0 * * * *", more).await;
    world
}

fn range(from: &str, to: &str) -> Value {
    json!({"from": format!("2026-01-01T{from}:00Z"), "to": format!("2026-01-01T{to}:00Z")})
}

fn with(mut body: Value, more: &Value) -> Value {
    for (field, value) in more.as_object().unwrap() {
        body[field] = value.clone();
    }
    body
}

async fn backfill(world: &World, body: &Value) -> Value {
    world.ok("POST", "/schedules/s/backfill", body).await
}

async fn state(world: &World, backfill: &Value) -> Value {
    let path = format!("/schedules/s/backfills/{}", backfill["backfill_id"].as_str().unwrap());
    world.ok("GET", &path, &Value::Null).await
}

fn hours(world: &World) -> Vec<String> {
    let launches = world.executor.run_ids();
    launches.iter().map(|id| id[13..15].to_owned()).collect()
}

#[tokio::test]
async fn a_backfill_runs_every_fire_once_in_order_beside_the_clock() {
    let world = at_noon(&json!({})).await;
    let before = world.ok("GET", "/schedules/s", &Value::Null).await;
    let begun = backfill(&world, &range("03:00", "08:30")).await;
    assert_eq!((&begun["fires"], &begun["state"]), (&json!(6), &json!("running")));
    world.deliver().await;
    assert_eq!(hours(&world), ["03", "04", "05", "06", "07", "08"]);
    let runs = world.runs("s").await;
    assert!(runs.iter().all(|run| run["trigger"] == "backfill" && run["status"] == "SUCCESS"));
    let done = state(&world, &begun).await;
    assert_eq!((&done["state"], &done["succeeded"]), (&json!("done"), &json!(6)));
    let after = world.ok("GET", "/schedules/s", &Value::Null).await;
    for field in ["next_run_at", "last_run_at", "revision", "status"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    let ledger = world.ok("GET", "/schedules/s/ledger", &Value::Null).await;
    assert_eq!((&ledger["extra"], &ledger["unexplained"]), (&json!({"backfill": 6}), &json!([])));
}

#[tokio::test]
async fn the_same_again_is_the_same_backfill_and_another_name_another() {
    let world = at_noon(&json!({})).await;
    let body = range("03:00", "05:00");
    let first = backfill(&world, &body).await;
    world.deliver().await;
    assert_eq!(backfill(&world, &body).await["backfill_id"], first["backfill_id"]);
    world.deliver().await;
    assert_eq!(hours(&world).len(), 3);
    let body = with(body, &json!({"name": "again", "order": "newest_first", "rerun": true}));
    assert_ne!(backfill(&world, &body).await["backfill_id"], first["backfill_id"]);
    world.deliver().await;
    assert_eq!(hours(&world)[3..], ["05", "04", "03"]);
    let all = world.ok("GET", "/schedules/s/backfills", &Value::Null).await;
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn another_backfill_of_the_same_range_is_not_taken_for_the_same() {
    let world = at_noon(&json!({})).await;
    let body = range("03:00", "05:00");
    let first = backfill(&world, &body).await;
    world.deliver().await;
    for (more, named) in [
        (json!({"rerun": true}), "`rerun` is false"),
        (json!({"order": "newest_first"}), "`order` is \"oldest_first\""),
        (json!({"payload": {"n": 1}}), "`payload` is the schedule's"),
        (json!({"max_concurrent": 2}), "`max_concurrent` is 1"),
    ] {
        for dry_run in [false, true] {
            let body = with(with(body.clone(), &more), &json!({"dry_run": dry_run}));
            let (status, answer) = world.call("POST", "/schedules/s/backfill", &body).await;
            let detail = answer["detail"].as_str().unwrap();
            assert!(status == 409 && detail.contains(named), "{body}: {status} {detail}");
        }
    }
    assert_eq!(hours(&world).len(), 3, "nothing more was launched");
    let again = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
    assert_eq!((&again["launches"], &again["state"]), (&json!(0), &json!("done")));
    assert_eq!(again["backfill_id"], first["backfill_id"]);
    world.ok("PATCH", "/schedules/s", &json!({"cron_expr": "30 * * * *"})).await;
    let (status, answer) = world.call("POST", "/schedules/s/backfill", &body).await;
    assert_eq!(status, 409, "its fires are others now: {answer}");
}

#[tokio::test]
async fn backfills_that_overlap_run_a_fire_once_unless_it_shall_run_again() {
    let world = at_noon(&json!({})).await;
    let one = backfill(&world, &range("03:00", "07:00")).await;
    world.time.advance(Duration::milliseconds(1));
    let other = with(range("05:00", "09:00"), &json!({"order": "newest_first"}));
    // Nothing has launched yet. What the first will run is left to it.
    let dry = backfill(&world, &with(other.clone(), &json!({"dry_run": true}))).await;
    assert_eq!((&dry["already_ran"], &dry["launches"]), (&json!(3), &json!(2)));
    let two = backfill(&world, &other).await;
    world.deliver().await;
    let mut launched = hours(&world);
    launched.sort_unstable();
    assert_eq!(launched, ["03", "04", "05", "06", "07", "08", "09"]);
    let (one, two) = (state(&world, &one).await, state(&world, &two).await);
    assert_eq!((&one["state"], &two["state"]), (&json!("done"), &json!("done")));
    let left_out = (&one["already_ran"], &two["already_ran"]);
    assert_eq!(left_out, (&json!(0), &json!(3)), "05, 06 and 07 were asked for twice");
    let dry = with(range("02:00", "09:00"), &json!({"dry_run": true}));
    let dry = backfill(&world, &dry).await;
    assert_eq!((&dry["already_ran"], &dry["launches"]), (&json!(7), &json!(1)));
    backfill(&world, &with(range("03:00", "04:00"), &json!({"rerun": true}))).await;
    world.deliver().await;
    assert_eq!(hours(&world)[7..], ["03", "04"]);
}

#[tokio::test]
async fn two_backfills_do_not_decide_about_the_same_fire_at_once() {
    let world = at_noon(&json!({})).await;
    let one = backfill(&world, &range("03:00", "07:00")).await;
    let two = backfill(&world, &range("03:00", "09:00")).await;
    let (store, id) = (&world.app.store, world.id("s"));
    let read = async |made: &Value| {
        let name = made["backfill_id"].as_str().unwrap();
        store.backfill(&id, name).await.unwrap().unwrap()
    };
    let (one, two) = (read(&one).await, read(&two).await);
    let next = |backfill: &Backfill| Backfill { version: backfill.version + 1, ..backfill.clone() };
    let save = async |mine: &Backfill, beside: &Backfill| {
        let (after, beside) = (next(mine), std::slice::from_ref(beside));
        store.save_backfill(&id, mine.version, &after, world.now(), beside).await.unwrap()
    };
    assert_eq!(save(&one, &two).await, Saved::Yes);
    assert_eq!(save(&two, &one).await, Saved::Stale, "the first has taken a step since");
    assert_eq!(save(&two, &next(&one)).await, Saved::Yes);
}

#[tokio::test]
async fn a_fire_that_the_clock_is_about_to_run_is_left_to_the_clock() {
    let world = at_noon(&json!({})).await;
    world.pass_without_ticks(Duration::minutes(61)).await;
    let body = range("11:00", "13:00");
    let dry = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
    assert_eq!((&dry["already_ran"], &dry["launches"]), (&json!(1), &json!(2)));
    backfill(&world, &body).await;
    world.pass(Duration::minutes(5)).await;
    assert_eq!(hours(&world), ["11", "12", "13"], "each once");
}

#[tokio::test]
async fn fires_that_the_clock_will_catch_up_are_left_to_the_clock() {
    for paused in [false, true] {
        let world = at_noon(&json!({"catchup_policy": "fire_immediately"})).await;
        if paused {
            world.ok("POST", "/schedules/s/pause", &Value::Null).await;
        }
        world.pass_without_ticks(Duration::minutes(190)).await;
        let body = range("11:00", "15:00");
        let dry = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
        assert_eq!((&dry["already_ran"], &dry["launches"]), (&json!(3), &json!(2)), "{paused}");
        backfill(&world, &body).await;
        world.deliver().await;
        assert_eq!(hours(&world), ["11", "12"], "{paused}");
        if paused {
            world.ok("POST", "/schedules/s/resume", &Value::Null).await;
        }
        world.pass(Duration::minutes(5)).await;
        let mut launched = hours(&world);
        launched.sort_unstable();
        assert_eq!(launched, ["11", "12", "13", "14", "15"], "each once, {paused}");
    }
}

#[tokio::test]
async fn a_cancelled_backfill_stays_cancelled_and_another_name_runs_the_rest() {
    let world = at_noon(&json!({})).await;
    let body = range("03:00", "06:00");
    let begun = backfill(&world, &body).await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    world.ok("DELETE", &path, &Value::Null).await;
    let (status, again) = world.call("POST", "/schedules/s/backfill", &body).await;
    assert_eq!((status, &again["state"]), (200, &json!("cancelled")));
    assert_eq!(again["backfill_id"], begun["backfill_id"]);
    let dry = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
    assert_eq!((&dry["launches"], &dry["state"]), (&json!(0), &json!("cancelled")));
    world.pass(Duration::minutes(5)).await;
    assert!(hours(&world).is_empty());
    backfill(&world, &with(body, &json!({"name": "the rest"}))).await;
    world.deliver().await;
    assert_eq!(hours(&world), ["03", "04", "05", "06"]);
}

#[tokio::test]
async fn a_backfill_continues_when_a_run_of_it_is_abandoned() {
    let world = at_noon(&json!({})).await;
    let begun = backfill(&world, &range("03:00", "05:00")).await;
    for _ in 0..60 {
        if state(&world, &begun).await["failed"] == 1 {
            break;
        }
        world.lose_messages().await;
        world.pass_without_ticks(Duration::minutes(1)).await;
        world.recover().await;
    }
    let first = &world.runs("s").await[0];
    assert_eq!((&first["status"], &first["reason"]), (&json!("ABANDONED"), &json!("lost")));
    world.deliver().await;
    assert_eq!(hours(&world), ["04", "05"]);
    let done = state(&world, &begun).await;
    let told = (&done["state"], &done["succeeded"], &done["failed"]);
    assert_eq!(told, (&json!("done"), &json!(2), &json!(1)));
}

#[tokio::test]
async fn old_fires_that_fail_do_not_pause_the_schedule() {
    let world = at_noon(&json!({"pause_after_failures": 2})).await;
    let is_old = |launch: &belfry_tests::Launch| launch.run_id.contains("backfill");
    world.executor.answers(move |launch| (if is_old(launch) { 404 } else { 200 }, String::new()));
    backfill(&world, &range("03:00", "07:00")).await;
    world.pass(Duration::hours(2)).await;
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!((&schedule["status"], &schedule["paused"]), (&json!("active"), &json!(false)));
    assert_eq!(hours(&world).len(), 7);
    // Nor does their success, or their failure, change how many failed in a row.
    world.executor.answers(move |launch| (if is_old(launch) { 200 } else { 404 }, String::new()));
    world.pass(Duration::hours(1)).await;
    backfill(&world, &with(range("13:00", "14:00"), &json!({"rerun": true}))).await;
    world.pass(Duration::hours(1)).await;
    let schedule = world.ok("GET", "/schedules/s", &Value::Null).await;
    assert_eq!(schedule["status"], "paused", "15:00 and 16:00 failed");
}

#[tokio::test]
async fn its_own_bound_holds_under_any_overlap_policy_and_ends_make_room() {
    let world = at_noon(&json!({"overlap_policy": "skip"})).await;
    let target = json!({"kind": "http", "url": world.executor.url});
    let tracked = json!({"definition": {}, "target": target, "completion": "tracked"});
    world.workflow("t", &tracked).await;
    world.ok("PATCH", "/schedules/s", &json!({"workflow_id": "t", "version": null})).await;
    backfill(&world, &with(range("03:00", "08:00"), &json!({"max_concurrent": 2}))).await;
    for ended in 0..6 {
        world.pass(Duration::minutes(2)).await;
        let launched = world.executor.run_ids();
        assert_eq!(launched.len(), 6.min(ended + 2), "two at once");
        let path = format!("/runs/{}/status", launched[ended].replace('~', "%7E"));
        world.ok("POST", &path, &json!({"status": "SUCCESS"})).await;
    }
    let all = world.ok("GET", "/schedules/s/backfills", &Value::Null).await;
    assert_eq!(all["items"][0]["state"], "done");
}

#[tokio::test]
async fn what_ran_by_itself_is_not_run_again_unless_asked() {
    let world = World::new().await;
    world.schedule("s", "0 * * * *", &json!({})).await;
    world.pass(Duration::hours(2)).await;
    world.pass_without_ticks(Duration::hours(3)).await;
    world.pass(Duration::minutes(30)).await;
    let body = range("01:00", "05:00");
    let dry = backfill(&world, &with(body.clone(), &json!({"dry_run": true}))).await;
    assert_eq!(
        (&dry["fires"], &dry["already_ran"], &dry["launches"], &dry["first"], &dry["last"]),
        (
            &json!(5),
            &json!(3),
            &json!(2),
            &json!("2026-01-01T01:00:00Z"),
            &json!("2026-01-01T05:00:00Z")
        )
    );
    let launched = hours(&world);
    assert_eq!(launched, ["01", "02", "05"], "a dry run starts nothing");
    backfill(&world, &body).await;
    world.deliver().await;
    assert_eq!(hours(&world)[3..], ["03", "04"], "only what was missed");
    backfill(&world, &with(body, &json!({"rerun": true, "name": "all"}))).await;
    world.deliver().await;
    assert_eq!(hours(&world)[5..], ["01", "02", "03", "04", "05"]);
}

#[tokio::test]
async fn a_backfill_whose_message_was_lost_goes_on() {
    let world = at_noon(&json!({})).await;
    backfill(&world, &range("03:00", "06:00")).await;
    world.lose_messages().await;
    for _ in 0..8 {
        world.pass(Duration::minutes(1)).await;
        world.recover().await;
    }
    world.pass(Duration::minutes(2)).await;
    assert_eq!(hours(&world), ["03", "04", "05", "06"]);
}

#[tokio::test]
async fn a_cancelled_backfill_launches_nothing_more() {
    let world = at_noon(&json!({})).await;
    let begun = backfill(&world, &range("03:00", "06:00")).await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    let cancelled = world.ok("DELETE", &path, &Value::Null).await;
    assert_eq!(cancelled["state"], "cancelled");
    world.pass(Duration::minutes(30)).await;
    assert_eq!(hours(&world), Vec::<String>::new());
    let run = &world.runs("s").await[0];
    assert_eq!((&run["status"], &run["reason"]), (&json!("SKIPPED"), &json!("cancelled")));
}

#[tokio::test]
async fn a_cancelled_backfill_counts_how_its_runs_end() {
    let world = at_noon(&json!({})).await;
    let target = json!({"kind": "http", "url": world.executor.url});
    world.workflow("t", &json!({"target": target, "completion": "tracked"})).await;
    world.ok("PATCH", "/schedules/s", &json!({"workflow_id": "t", "version": null})).await;
    let body = with(range("03:00", "08:00"), &json!({"max_concurrent": 3}));
    let begun = backfill(&world, &body).await;
    world.deliver().await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    // Launched at once, they arrive in any order; the backfill lists them in its own.
    let mut runs = world.executor.run_ids();
    runs.sort_unstable();
    assert_eq!(runs.len(), 3);
    let end = async |run: &str, status: &str| {
        let path = format!("/runs/{}/status", run.replace('~', "%7E"));
        world.ok("POST", &path, &json!({"status": status})).await;
    };
    // Its end makes room for the fourth, whose message is on its way.
    end(&runs[0], "SUCCESS").await;
    let cancelled = world.ok("DELETE", &path, &Value::Null).await;
    assert_eq!(cancelled["state"], "cancelled");
    assert_eq!(cancelled["active"], json!([runs[1], runs[2]]), "they have launched");
    assert_eq!((&cancelled["skipped"], &cancelled["remaining"]), (&json!(1), &json!(2)));
    end(&runs[1], "FAILED").await;
    end(&runs[2], "SUCCESS").await;
    world.pass(Duration::minutes(5)).await;
    let over = state(&world, &begun).await;
    assert_eq!((&over["state"], &over["active"]), (&json!("cancelled"), &json!([])));
    assert_eq!(
        (&over["succeeded"], &over["failed"], &over["skipped"], &over["remaining"]),
        (&json!(2), &json!(1), &json!(1), &json!(2))
    );
    assert_eq!(world.executor.launches().len(), 3);
}

#[tokio::test]
async fn a_run_that_a_cancelled_backfill_decided_on_is_never_made() {
    let world = at_noon(&json!({})).await;
    let begun = backfill(&world, &range("03:00", "06:00")).await;
    // The function that decided on 03:00 is about to record it.
    let run = world.runs("s").await[0]["run_id"].as_str().unwrap().to_owned();
    let late = world.app.store.run(&run.parse().unwrap()).await.unwrap().unwrap();
    let (schedule, at) = run.split_once('@').unwrap();
    let key = json!({"schedule_id": {"S": schedule}, "run_at": {"S": at}});
    let request = json!({"TableName": "belfry-runs", "Key": key});
    world.services.database.delete_item(serde_json::from_value(request).unwrap()).unwrap();
    world.lose_messages().await;
    let path = format!("/schedules/s/backfills/{}", begun["backfill_id"].as_str().unwrap());
    let cancelled = world.ok("DELETE", &path, &Value::Null).await;
    assert_eq!((&cancelled["skipped"], &cancelled["active"]), (&json!(1), &json!([])));
    let put = world.app.store.put_run(&late).await.unwrap();
    assert!(matches!(put, Put::Beyond(_)), "{put:?}");
}

#[tokio::test]
async fn a_deleted_schedule_takes_its_backfills_with_it() {
    let world = at_noon(&json!({})).await;
    backfill(&world, &range("03:00", "06:00")).await;
    world.ok("DELETE", "/schedules/s", &Value::Null).await;
    world.pass(Duration::minutes(30)).await;
    assert_eq!(hours(&world), Vec::<String>::new());
}

#[tokio::test]
async fn a_paused_schedule_can_be_backfilled() {
    let world = at_noon(&json!({"paused": true})).await;
    backfill(&world, &range("03:00", "04:00")).await;
    world.deliver().await;
    assert_eq!(hours(&world), ["03", "04"]);
}

#[tokio::test]
async fn bad_ranges_are_refused_by_the_field() {
    let world = at_noon(&json!({})).await;
    for (body, field) in [
        (json!({"to": "2026-01-01T03:00:00Z"}), "from"),
        (range("05:00", "03:00"), "from"),
        (range("03:10", "03:50"), "from"),
        (range("03:00", "13:00"), "to"),
        (with(range("03:00", "04:00"), &json!({"max_concurrent": 0})), "max_concurrent"),
        (with(range("03:00", "04:00"), &json!({"order": "random"})), "order"),
        (with(range("03:00", "04:00"), &json!({"colour": 1})), "colour"),
        (json!({"from": "1990-01-01T00:00:00Z", "to": "2026-01-01T00:00:00Z"}), "to"),
    ] {
        let (status, answer) = world.call("POST", "/schedules/s/backfill", &body).await;
        assert_eq!(
            (status, &answer["errors"][0]["field"]),
            (422, &json!(field)),
            "{body}: {answer}"
        );
    }
}
