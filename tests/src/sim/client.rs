//! Users of a simulated life: one per schedule, who changes, pauses, triggers and deletes it, and
//! repeats each request until it is answered.

use std::sync::Arc;

use belfry_core::instant::{Instant, text};
use belfry_engine::app::App;
use serde_json::{Value, json};

use super::Sim;
use super::clock::pass;
use super::executor::TRACKED;
use super::invocation::Function;
use crate::checker::{Change, Definition, Schedule, Trigger};
use crate::world;

const EXPRESSIONS: [&str; 8] = [
    "*/20 * * * * *",
    "*/30 * * * * *",
    "5,45 * * * * *",
    "0 * * * * *",
    "10 * * * * *",
    "0 */2 * * * *",
    "30 1-59/3 * * * *",
    "0 */5 * * * *",
];
const ZONES: [&str; 3] = ["UTC", "Europe/Berlin", "Asia/Kolkata"];
const CATCHUPS: [&str; 4] = ["none", "once", "fire_immediately", "spread"];

/// More attempts than the faults of any life can use up.
const MAX_TRIES: usize = 1000;

/// A user and their schedule.
pub(super) struct User {
    sim: Arc<Sim>,
    apis: Vec<Arc<App>>,
    workflow: &'static str,
    definition: Definition,
    schedule: Schedule,
    /// Whether the schedule's overlap policy is ever changed.
    fickle: bool,
    /// How long its tracked runs may take; `None`: as long as the deployment allows.
    max_runtime_s: Option<u32>,
}

impl User {
    pub(super) fn new(sim: Arc<Sim>, apis: Vec<Arc<App>>, number: usize, end_at: Instant) -> User {
        let mut dice = sim.dice();
        let workflow = dice.pick(&["fn-launch", "sfn-launch", "fn-tracked", "sfn-tracked"]);
        let definition = Definition {
            cron_expr: dice.pick(&EXPRESSIONS).to_owned(),
            timezone: dice.pick(&ZONES).to_owned(),
            end_at,
            paused: false,
            overlap_policy: dice.pick(&["allow", "skip", "skip", "queue", "queue"]).to_owned(),
            max_concurrent: dice.pick(&[1, 1, 1, 2]),
            catchup_policy: dice.pick(&CATCHUPS).to_owned(),
            jitter_ms: dice.pick(&[0, 0, 0, 4_000]),
            payload: 0,
        };
        let fickle = dice.chance(2000);
        let max_runtime_s = dice.pick(&[None, Some(240)]);
        drop(dice);
        let schedule = Schedule { id: format!("s{number}"), ..Schedule::default() };
        User { sim, apis, workflow, definition, schedule, fickle, max_runtime_s }
    }

    /// Creates the schedule, and uses it until `until`.
    pub(super) async fn live(mut self, until: Instant) -> Schedule {
        let first = self.sim.dice().between(0, 90_000);
        pass(first).await;
        self.put(self.definition.clone()).await;
        loop {
            let rest = self.sim.dice().between(5_000, 240_000);
            pass(rest).await;
            if self.sim.now() > until {
                break;
            }
            let roll = self.sim.dice().between(0, 99);
            let next =
                Definition { payload: self.definition.payload + 1, ..self.definition.clone() };
            match roll {
                0..=14 => self.patch(next, false).await,
                15..=29 => {
                    let cron_expr = self.sim.dice().pick(&EXPRESSIONS).to_owned();
                    self.patch(Definition { cron_expr, ..next }, true).await;
                }
                30..=39 => {
                    let cron_expr = self.sim.dice().pick(&EXPRESSIONS).to_owned();
                    self.put(Definition { cron_expr, ..next }).await;
                }
                40..=44 if self.fickle => {
                    let overlap_policy =
                        self.sim.dice().pick(&["allow", "skip", "queue"]).to_owned();
                    self.put(Definition { overlap_policy, ..next }).await;
                }
                45..=69 => self.pause_or_resume().await,
                70..=73 => {
                    self.delete().await;
                    break;
                }
                _ => self.trigger().await,
            }
        }
        self.schedule
    }

    async fn put(&mut self, definition: Definition) {
        let path = format!("/schedules/{}", self.schedule.id);
        let mut body = json!({
            "workflow_id": self.workflow,
            "cron_expr": definition.cron_expr,
            "timezone": definition.timezone,
            "end_at": text(definition.end_at),
            "paused": definition.paused,
            "overlap_policy": definition.overlap_policy,
            "max_concurrent": definition.max_concurrent,
            "catchup_policy": definition.catchup_policy,
            "jitter_ms": definition.jitter_ms,
            "payload": {"n": definition.payload},
        });
        if let Some(seconds) = self.max_runtime_s.filter(|_| self.workflow.ends_with(TRACKED)) {
            body["max_runtime_s"] = json!(seconds);
        }
        self.change("PUT", &path, &body, Some(definition)).await;
    }

    async fn patch(&mut self, definition: Definition, with_time: bool) {
        let path = format!("/schedules/{}", self.schedule.id);
        let mut body = json!({"payload": {"n": definition.payload}});
        if with_time {
            body["cron_expr"] = json!(definition.cron_expr);
        }
        self.change("PATCH", &path, &body, Some(definition)).await;
    }

    async fn pause_or_resume(&mut self) {
        let paused = !self.definition.paused;
        let (verb, body) = match paused {
            true => ("pause", json!({})),
            false if self.sim.dice().chance(5000) => {
                let catchup = self.sim.dice().pick(&CATCHUPS);
                ("resume", json!({"catchup": catchup}))
            }
            false => ("resume", json!({})),
        };
        let path = format!("/schedules/{}/{verb}", self.schedule.id);
        let definition = Definition { paused, ..self.definition.clone() };
        self.change("POST", &path, &body, Some(definition)).await;
    }

    async fn delete(&mut self) {
        let path = format!("/schedules/{}", self.schedule.id);
        self.change("DELETE", &path, &Value::Null, None).await;
    }

    /// Requests a change until it is answered.
    async fn change(
        &mut self,
        method: &str,
        path: &str,
        body: &Value,
        definition: Option<Definition>,
    ) {
        let from = self.sim.now();
        let status = self.insist(method, path, body, &[]).await.0;
        let acknowledged = match status {
            200..300 => true,
            // An earlier attempt deleted it, and died before it answered.
            404 if definition.is_none() => false,
            _ => panic!("{method} {path} {body}: {status}"),
        };
        let to = self.sim.now();
        self.sim.trace(|| format!("user {method} {path} {body}: {status}"));
        self.definition = definition.clone().unwrap_or_else(|| self.definition.clone());
        self.schedule.changes.push(Change { from, to, acknowledged, definition });
    }

    async fn trigger(&mut self) {
        let from = self.sim.now();
        let key = format!("{}-{}", self.schedule.id, self.schedule.triggers.len());
        let path = format!("/schedules/{}/trigger", self.schedule.id);
        let mut run_ids: Vec<String> = Vec::new();
        let own = self.sim.dice().chance(3000);
        let body = if own { json!({"overlap_policy": "allow"}) } else { json!({}) };
        let times = self.sim.dice().pick(&[1, 1, 2]);
        for _ in 0..times {
            let (status, answer) =
                self.insist("POST", &path, &body, &[("idempotency-key", &key)]).await;
            assert_eq!(status, 202, "{answer}");
            let id = answer["run_id"].as_str().unwrap_or_default().to_owned();
            if !run_ids.contains(&id) {
                run_ids.push(id);
            }
        }
        self.schedule.triggers.push(Trigger { from, run_ids });
    }

    async fn insist(
        &self,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> (u16, Value) {
        for _ in 0..MAX_TRIES {
            let place = self.sim.dice().between(0, self.apis.len() as i64 - 1) as usize;
            let api = self.apis[place].clone();
            match self.sim.api(&api, method, path, body, headers).await {
                Some((status, answer)) if status < 500 && status != 409 => {
                    return (status, answer);
                }
                _ => {
                    let rest = self.sim.dice().between(100, 12_000);
                    pass(rest).await;
                }
            }
        }
        panic!("{method} {path}: no answer in {MAX_TRIES} attempts");
    }
}

impl Sim {
    /// Calls the API; `None` if the function died.
    pub(super) async fn api(
        &self,
        app: &Arc<App>,
        method: &str,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> Option<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let number = self.next_number();
        let event = world::request(Some("ann"), method, path, &body, headers, number);
        let answer = self.invoke(app, Function::Api, event).await.ok()?;
        let text = answer["body"].as_str().unwrap_or("null");
        let status = answer["statusCode"].as_u64().unwrap_or(0) as u16;
        Some((status, serde_json::from_str(text).unwrap_or_default()))
    }
}
