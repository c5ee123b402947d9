//! Every policy in every situation: exactly which runs there are, and what the ledger says.

use std::collections::BTreeMap;

use belfry_tests::World;
use chrono::Duration;
use serde_json::{Value, json};

/// What happens to a schedule that fires at every full hour, created at midnight.
#[derive(Clone, Copy, Debug)]
enum Situation {
    /// Nothing: three hours pass.
    OnTime,
    /// The tick before a fire and the one after it do not run.
    LateWithinGrace,
    /// No tick runs for three hours.
    OutageOf3Hours,
    /// No tick runs for thirty days.
    OutageOf30Days,
    /// It is paused for three hours and resumed.
    ResumeAfterPause,
    /// After the fire of one o'clock was sent, its time becomes half past one.
    EditInFlight,
    /// Its runs are tracked; the first ends at half past two, the others do not.
    PreviousStillRunning,
}

use Situation::*;

/// Policy, situation, runs (how many in which state for which reason, by which trigger), ledger.
#[rustfmt::skip]
const TABLE: &[(&str, Situation, &str, &str)] = &[
    ("allow", OnTime, "3 SUCCESS", "3 on_time"),
    ("allow", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("allow", OutageOf3Hours, "3 SKIPPED missed, 1 SUCCESS", "3 missed, 1 on_time"),
    ("allow", OutageOf30Days, "1 SKIPPED missed for 720, 1 SUCCESS", "720 missed, 1 on_time"),
    ("allow", ResumeAfterPause, "1 SUCCESS", "1 on_time, 3 paused"),
    ("allow", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("allow", PreviousStillRunning, "2 STARTED, 1 SUCCESS", "2 in_flight, 1 on_time"),
    ("skip", OnTime, "3 SUCCESS", "3 on_time"),
    ("skip", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("skip", OutageOf3Hours, "3 SKIPPED missed, 1 SUCCESS", "3 missed, 1 on_time"),
    ("skip", OutageOf30Days, "1 SKIPPED missed for 720, 1 SUCCESS", "720 missed, 1 on_time"),
    ("skip", ResumeAfterPause, "1 SUCCESS", "1 on_time, 3 paused"),
    ("skip", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("skip", PreviousStillRunning, "1 SKIPPED overlap, 1 STARTED, 1 SUCCESS", "1 in_flight, 1 on_time, 1 skipped_overlap"),
    ("queue", OnTime, "3 SUCCESS", "3 on_time"),
    ("queue", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("queue", OutageOf3Hours, "3 SKIPPED missed, 1 SUCCESS", "3 missed, 1 on_time"),
    ("queue", OutageOf30Days, "1 SKIPPED missed for 720, 1 SUCCESS", "720 missed, 1 on_time"),
    ("queue", ResumeAfterPause, "1 SUCCESS", "1 on_time, 3 paused"),
    ("queue", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("queue", PreviousStillRunning, "1 QUEUED, 1 STARTED, 1 SUCCESS", "2 in_flight, 1 on_time"),
    ("once", OnTime, "3 SUCCESS", "3 on_time"),
    ("once", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("once", OutageOf3Hours, "2 SKIPPED missed, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 2 missed, 1 on_time"),
    ("once", OutageOf30Days, "1 SKIPPED missed for 719, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 719 missed, 1 on_time"),
    ("once", ResumeAfterPause, "2 SKIPPED missed, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 2 missed, 1 on_time"),
    ("once", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("once, 1 h window", OnTime, "3 SUCCESS", "3 on_time"),
    ("once, 1 h window", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("once, 1 h window", OutageOf3Hours, "2 SKIPPED missed, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 2 missed, 1 on_time"),
    ("once, 1 h window", OutageOf30Days, "1 SKIPPED missed for 719, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 719 missed, 1 on_time"),
    ("once, 1 h window", ResumeAfterPause, "2 SKIPPED missed, 1 SUCCESS, 1 SUCCESS catchup", "1 caught_up, 2 missed, 1 on_time"),
    ("once, 1 h window", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("fire_immediately", OnTime, "3 SUCCESS", "3 on_time"),
    ("fire_immediately", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("fire_immediately", OutageOf3Hours, "1 SUCCESS, 3 SUCCESS catchup", "3 caught_up, 1 on_time"),
    ("fire_immediately", OutageOf30Days, "1 SUCCESS, 720 SUCCESS catchup", "720 caught_up, 1 on_time"),
    ("fire_immediately", ResumeAfterPause, "1 SUCCESS, 3 SUCCESS catchup", "3 caught_up, 1 on_time"),
    ("fire_immediately", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("spread", OnTime, "3 SUCCESS", "3 on_time"),
    ("spread", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("spread", OutageOf3Hours, "1 SUCCESS, 3 SUCCESS catchup", "3 caught_up, 1 on_time"),
    ("spread", OutageOf30Days, "1 SUCCESS, 720 SUCCESS catchup", "720 caught_up, 1 on_time"),
    ("spread", ResumeAfterPause, "1 SUCCESS, 3 SUCCESS catchup", "3 caught_up, 1 on_time"),
    ("spread", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("spread, 2 h window", OnTime, "3 SUCCESS", "3 on_time"),
    ("spread, 2 h window", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("spread, 2 h window", OutageOf3Hours, "1 SKIPPED missed, 1 SUCCESS, 2 SUCCESS catchup", "2 caught_up, 1 missed, 1 on_time"),
    ("spread, 2 h window", OutageOf30Days, "1 SKIPPED missed for 718, 1 SUCCESS, 2 SUCCESS catchup", "2 caught_up, 718 missed, 1 on_time"),
    ("spread, 2 h window", ResumeAfterPause, "1 SKIPPED missed, 1 SUCCESS, 2 SUCCESS catchup", "2 caught_up, 1 missed, 1 on_time"),
    ("spread, 2 h window", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("jitter", OnTime, "3 SUCCESS", "3 on_time"),
    ("jitter", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("jitter", OutageOf3Hours, "3 SKIPPED missed, 1 SUCCESS", "3 missed, 1 on_time"),
    ("jitter", OutageOf30Days, "1 SKIPPED missed for 720, 1 SUCCESS", "720 missed, 1 on_time"),
    ("jitter", ResumeAfterPause, "1 SUCCESS", "1 on_time, 3 paused"),
    ("jitter", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
    ("ends at 02:00", OnTime, "2 SUCCESS", "2 on_time"),
    ("ends at 02:00", LateWithinGrace, "1 SUCCESS", "1 late"),
    ("ends at 02:00", OutageOf3Hours, "2 SKIPPED missed", "2 missed"),
    ("ends at 02:00", OutageOf30Days, "2 SKIPPED missed", "2 missed"),
    ("ends at 02:00", ResumeAfterPause, "", "2 paused"),
    ("ends at 02:00", EditInFlight, "1 SKIPPED superseded, 1 SUCCESS", "1 on_time; beside: 1 superseded"),
];

fn policy(name: &str) -> Value {
    match name {
        "allow" => json!({"overlap_policy": "allow"}),
        "skip" => json!({"overlap_policy": "skip"}),
        "queue" => json!({"overlap_policy": "queue"}),
        "once" => json!({"catchup_policy": "once"}),
        "once, 1 h window" => json!({"catchup_policy": "once", "catchup_window_s": 3600}),
        "fire_immediately" => json!({"catchup_policy": "fire_immediately"}),
        "spread" => json!({"catchup_policy": "spread"}),
        "spread, 2 h window" => json!({"catchup_policy": "spread", "catchup_window_s": 7200}),
        "jitter" => json!({"jitter_ms": 5000}),
        "ends at 02:00" => json!({"end_at": "2026-01-01T02:00:00Z"}),
        other => panic!("no policy {other}"),
    }
}

async fn live_through(world: &World, situation: Situation) {
    let call = async |what: &str| {
        world.ok("POST", &format!("/schedules/s/{what}"), &json!({})).await;
    };
    match situation {
        OnTime => world.pass(Duration::minutes(190)).await,
        LateWithinGrace => {
            world.pass(Duration::minutes(58)).await;
            world.pass_without_ticks(Duration::seconds(210)).await;
            world.pass(Duration::minutes(20)).await;
        }
        OutageOf3Hours => {
            world.pass(Duration::minutes(10)).await;
            world.pass_without_ticks(Duration::hours(3)).await;
            world.pass(Duration::minutes(60)).await;
        }
        OutageOf30Days => {
            world.pass(Duration::minutes(10)).await;
            world.pass_without_ticks(Duration::days(30)).await;
            world.pass(Duration::minutes(60)).await;
        }
        ResumeAfterPause => {
            world.pass(Duration::minutes(10)).await;
            call("pause").await;
            world.pass(Duration::hours(3)).await;
            call("resume").await;
            world.pass(Duration::minutes(60)).await;
        }
        EditInFlight => {
            world.pass(Duration::seconds(59 * 60 + 30)).await;
            assert_eq!(world.runs("s").await.len(), 1, "the fire was sent");
            world.ok("PATCH", "/schedules/s", &json!({"cron_expr": "30 1 * * *"})).await;
            world.pass(Duration::minutes(60)).await;
        }
        PreviousStillRunning => {
            let target = json!({"kind": "http", "url": world.executor.url});
            let tracked = json!({"definition": {}, "target": target, "completion": "tracked"});
            world.workflow("t", &tracked).await;
            world.ok("PATCH", "/schedules/s", &json!({"workflow_id": "t", "version": null})).await;
            world.pass(Duration::minutes(150)).await;
            let done = json!({"status": "SUCCESS"});
            world.ok("POST", "/runs/s@2026-01-01T01:00:00Z/status", &done).await;
            world.pass(Duration::minutes(40)).await;
        }
    }
}

fn told(counts: &BTreeMap<String, u64>) -> String {
    let rows: Vec<_> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
    rows.join(", ")
}

async fn runs(world: &World) -> String {
    let mut counts = BTreeMap::new();
    for run in world.runs("s").await {
        let text = |field: &str| run[field].as_str().unwrap_or_default().to_owned();
        let trigger = text("trigger");
        let trigger = trigger.split_once(':').map_or(trigger.as_str(), |(kind, _)| kind);
        let trigger = if trigger == "schedule" { "" } else { trigger };
        let sum = run["missed"]["count"].as_u64().map_or(String::new(), |n| format!("for {n}"));
        let words = [text("status"), text("reason"), trigger.to_owned(), sum];
        let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
        *counts.entry(words.join(" ")).or_default() += 1;
    }
    told(&counts)
}

async fn ledger(world: &World) -> String {
    let ledger =
        world.ok("GET", "/schedules/s/ledger?from=2026-01-01T00:00:00Z", &Value::Null).await;
    assert_eq!(ledger["unexplained"], json!([]), "{ledger}");
    let counts = |of: &str| {
        let counts = ledger[of].as_object().unwrap().iter();
        counts.map(|(word, n)| (word.clone(), n.as_u64().unwrap())).collect::<BTreeMap<_, _>>()
    };
    let expected: u64 = counts("by_reason").values().sum();
    assert_eq!(ledger["expected"], expected, "the ledger adds up: {ledger}");
    let extra = told(&counts("extra"));
    let beside = if extra.is_empty() { String::new() } else { format!("; beside: {extra}") };
    format!("{}{beside}", told(&counts("by_reason")))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_policy_in_every_situation() {
    let mut wrong = Vec::new();
    for (name, situation, expected_runs, expected_ledger) in TABLE {
        let world = World::new().await;
        world.schedule("s", "0 * * * *", &policy(name)).await;
        live_through(&world, *situation).await;
        let found = (runs(&world).await, ledger(&world).await);
        if found != ((*expected_runs).to_owned(), (*expected_ledger).to_owned()) {
            wrong.push(format!("    ({name:?}, {situation:?}, {:?}, {:?}),", found.0, found.1));
        }
    }
    assert!(wrong.is_empty(), "different from the table:\n{}", wrong.join("\n"));
}
