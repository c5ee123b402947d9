//! A life: some schedules, their users, the rules, the pollers and an executor, until all is quiet.

use std::sync::Arc;

use belfry_core::instant::{Instant, text};
use belfry_engine::app::App;
use belfry_local::rules;
use chrono::{Duration, DurationRound};
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::client::User;
use super::clock::pass;
use super::invocation::Function;
use super::mutation::Mutation;
use super::{LAUNCH_QUEUE, Sim, TICK_QUEUE, executor, queue};
use crate::checker::{History, Rules, Run, Schedule};
use crate::embedded;

/// Concurrent launchers.
const LAUNCHERS: usize = 4;
/// A life that is not quiet this long after its last fire never will be.
const LONGEST_END: Duration = Duration::minutes(100);
/// The time within which every message of the last fires has arrived.
const SHORTEST_END: Duration = Duration::minutes(5);

/// The apps of a life, each with its own clock.
pub(super) struct Apps {
    pub(super) ticks: Vec<Arc<App>>,
    pub(super) launchers: Vec<Arc<App>>,
    pub(super) recoveries: Vec<Arc<App>>,
    pub(super) apis: Vec<Arc<App>>,
}

/// Runs the life until all is quiet, and returns its history.
pub(super) async fn live(
    sim: &Arc<Sim>,
    apps: &Apps,
    begun: UnboundedReceiver<String>,
    rules: Rules,
) -> History {
    let began_at = sim.now();
    let (schedules, minutes, calm_after) = {
        let mut dice = sim.dice();
        let minutes = dice.between(10, 25);
        (dice.between(1, 4), minutes, dice.between(minutes * 40, minutes * 70))
    };
    let end_at = began_at + Duration::minutes(minutes);
    let calm_at = began_at + Duration::seconds(calm_after);
    let mut actors = JoinSet::new();
    actors.spawn(rule(sim.clone(), apps.ticks.clone(), Function::Tick));
    if sim.mutation != Some(Mutation::RecoveryOff) {
        actors.spawn(rule(sim.clone(), apps.recoveries.clone(), Function::Recovery));
    }
    for place in 0..LAUNCHERS {
        let app = apps.launchers[place % apps.launchers.len()].clone();
        actors.spawn(queue::poll(sim.clone(), app, LAUNCH_QUEUE, Function::Launcher));
    }
    for app in &apps.ticks {
        if app.tick_queue.is_there() {
            actors.spawn(queue::poll(sim.clone(), app.clone(), TICK_QUEUE, Function::Tick));
        }
    }
    actors.spawn(executor::work(sim.clone(), apps.apis[0].clone(), begun));
    actors.spawn(calm(sim.clone(), calm_at));
    let mut users = Vec::new();
    for number in 0..schedules {
        let user = User::new(sim.clone(), apps.apis.clone(), number as usize, end_at);
        users.push(tokio::spawn(user.live(end_at)));
    }
    let mut lived = Vec::new();
    for user in users {
        lived.push(user.await.expect("a user that does not panic"));
    }
    let over_at = end_at.max(calm_at).max(sim.now());
    loop {
        pass(30_000).await;
        let since = sim.now() - over_at;
        if since > LONGEST_END || (since > SHORTEST_END && is_quiet(sim, &lived)) {
            break;
        }
    }
    let until = sim.now();
    actors.shutdown().await;
    for schedule in &mut lived {
        finish(sim, &apps.apis[0], schedule, began_at).await;
    }
    let (calls, executions) = sim.executor().history();
    let records = sim.records().clone();
    let sent_early = sim.sent_early.lock().unwrap().clone();
    let rules = Rules { until, calm_at, ..rules };
    History { rules, schedules: lived, calls, executions, records, sent_early }
}

/// Stops the faults, and lets the system finish.
async fn calm(sim: Arc<Sim>, at: Instant) {
    let left = (at - sim.now()).num_milliseconds();
    pass(left).await;
    sim.faults().on = false;
    sim.trace(|| "calm: no more faults".to_owned());
}

/// Calls a function every minute: sometimes late, twice, or not at all. Lambda retries an
/// invocation that died.
async fn rule(sim: Arc<Sim>, apps: Vec<Arc<App>>, function: Function) {
    let minute = Duration::minutes(1);
    loop {
        let now = sim.now();
        let next = (now + Duration::milliseconds(1)).duration_round_up(minute).expect("a minute");
        pass((next - now).num_milliseconds()).await;
        let (count, late_ms) = {
            let mut dice = sim.dice();
            let mut faults = sim.faults();
            let (missing, late, double) =
                (faults.missing_tick, faults.late_tick, faults.double_tick);
            let count = match () {
                () if faults.strikes(&mut dice, missing) => 0,
                () if faults.strikes(&mut dice, double) => 2,
                () => 1,
            };
            let is_late = faults.strikes(&mut dice, late);
            (count, if is_late { dice.between(5_000, 240_000) } else { dice.between(0, 900) })
        };
        for _ in 0..count {
            let app = apps[sim.dice().between(0, apps.len() as i64 - 1) as usize].clone();
            let more_ms = sim.dice().between(0, 500);
            tokio::spawn(occur(sim.clone(), app, function, late_ms + more_ms));
        }
    }
}

async fn occur(sim: Arc<Sim>, app: Arc<App>, function: Function, after_ms: i64) {
    pass(after_ms).await;
    for _ in 0..3 {
        if sim.invoke(&app, function, rules::event(sim.now())).await.is_ok() {
            return;
        }
        let rest = sim.dice().between(30_000, 90_000);
        pass(rest).await;
    }
}

/// Whether every run has ended, no slot is held, and no message is waiting.
fn is_quiet(sim: &Sim, schedules: &[Schedule]) -> bool {
    let rests = sim.executor().rests();
    let no_message = sim.queues.next_visible_at(LAUNCH_QUEUE).expect("the queue exists").is_none();
    let is_over = |schedule: &Schedule| {
        embedded::active(&sim.database, &schedule.id).is_empty()
            && embedded::runs(&sim.database, &schedule.id).iter().all(Run::is_over)
    };
    rests && no_message && schedules.iter().all(is_over)
}

/// Reads the final state of a schedule.
async fn finish(sim: &Sim, api: &Arc<App>, schedule: &mut Schedule, began_at: Instant) {
    schedule.runs = embedded::runs(&sim.database, &schedule.id);
    schedule.active = embedded::active(&sim.database, &schedule.id);
    if schedule.changes.last().is_none_or(|change| change.definition.is_none()) {
        return;
    }
    let (from, to) = (text(began_at), text(sim.now()));
    let path = format!("/schedules/{}/ledger?from={from}&to={to}", schedule.id);
    schedule.unexplained = Schedule::unexplained(&ask(sim, api, &path).await);
    let shown = ask(sim, api, &format!("/schedules/{}", schedule.id)).await;
    schedule.stats = Some(shown["stats"].clone());
}

async fn ask(sim: &Sim, api: &Arc<App>, path: &str) -> Value {
    match sim.api(api, "GET", path, &Value::Null, &[]).await {
        Some((200, answer)) => answer,
        other => panic!("GET {path}: {other:?}"),
    }
}
