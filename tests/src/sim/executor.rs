//! The executor of a simulated life: Step Functions and Lambda in one, with random behaviour.

use std::collections::BTreeMap;
use std::sync::Arc;

use belfry_core::instant::Instant;
use belfry_engine::app::App;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use super::Sim;
use super::clock::pass;
use super::invocation::Invocation;
use super::mutation::Mutation;
use super::wire::{Asked, Reply};
use crate::checker::{Answer, Call, Execution};

/// Workflows whose names end like this report their end.
pub(super) const TRACKED: &str = "tracked";
/// Attempts to report a run that cannot be ended yet: it may be launched anew.
const MAX_REPORTS: usize = 40;

/// The calls to executors, and what they did.
#[derive(Default)]
pub(super) struct Executor {
    asked: Vec<Asking>,
    work: BTreeMap<String, Work>,
}

struct Asking {
    call: Call,
    invocation: u64,
    pending: bool,
}

struct Work {
    from: Instant,
    to: Option<Instant>,
    /// What it reports; `None` if it never reports.
    outcome: Option<&'static str>,
}

impl Executor {
    /// A caller of the executor had trouble with a later call about one of its runs.
    pub(super) fn trouble(&mut self, who: &Invocation, about: &Value) {
        let mine = self.asked.iter_mut().filter(|asking| asking.invocation == who.number);
        let text = about.to_string();
        for Asking { call, .. } in mine.filter(|asking| asking.call.answer == Answer::Accepted) {
            let key = call.run_id.split('@').nth(1).unwrap_or_default();
            if text.contains(key) {
                call.answer = Answer::AcceptedThenTrouble;
            }
        }
    }

    /// A caller of the executor died.
    pub(super) fn death(&mut self, invocation: u64, now: Instant) {
        for asking in self.asked.iter_mut().filter(|asking| asking.invocation == invocation) {
            if asking.pending {
                (asking.pending, asking.call.until) = (false, now);
            }
            if asking.call.answer == Answer::Accepted {
                asking.call.answer = Answer::AcceptedThenTrouble;
            }
        }
    }

    /// Whether no execution is in progress, except those that never end.
    pub(super) fn rests(&self) -> bool {
        self.work.values().all(|work| work.to.is_some() || work.outcome.is_none())
    }

    /// The calls and executions so far.
    pub(super) fn history(&self) -> (Vec<Call>, Vec<Execution>) {
        let execution = |(run_id, work): (&String, &Work)| Execution {
            run_id: run_id.clone(),
            from: work.from,
            to: work.to,
        };
        let calls = self.asked.iter().map(|asking| asking.call.clone()).collect();
        (calls, self.work.iter().map(execution).collect())
    }
}

/// How an executor handles a call.
enum Mood {
    Accepts,
    RefusesForNow,
    RefusesForGood,
}

impl Sim {
    /// Handles a launch. `heard` says whether the caller will receive the answer.
    pub(super) async fn execute(&self, asked: &Asked, who: &Arc<Invocation>, heard: bool) -> Reply {
        let is_machine = asked.operation == "StartExecution";
        let input = asked.body["input"].as_str().map(serde_json::from_str::<Value>);
        let input = input.transpose().ok().flatten().unwrap_or_else(|| asked.body.clone());
        let metadata = &input["metadata"];
        let text = |name: &str| metadata[name].as_str().unwrap_or_default().to_owned();
        let (mood, slow_ms) = self.mood();
        let tracked = text("workflow_id").ends_with(TRACKED);
        let run_id = text("run_id");
        let mut key = match is_machine {
            true => asked.body["name"].as_str().unwrap_or_default().to_owned(),
            false => text("idempotency_key"),
        };
        if self.mutation == Some(Mutation::KeyOfTheAttempt) {
            key = format!("{key}-{}", metadata["fence"]);
        }
        let place = {
            let mut executor = self.executor();
            let known = executor.asked.iter().any(|a| a.call.effective && a.call.key == key);
            let deduplicates = is_machine || tracked;
            let effective = matches!(mood, Mood::Accepts) && !(deduplicates && known);
            let now = self.now();
            let call = Call {
                at: now,
                until: now,
                run_id: run_id.clone(),
                key,
                fence: metadata["fence"].as_u64().unwrap_or(0),
                payload: input["payload"]["n"].as_i64().unwrap_or(-1),
                effective,
                answer: Answer::Lost,
                tracked,
            };
            executor.asked.push(Asking { call, invocation: who.number, pending: true });
            executor.asked.len() - 1
        };
        if tracked && matches!(mood, Mood::Accepts) {
            let _ = self.begun.send(run_id.clone());
        }
        pass(slow_ms).await;
        let known_before = !self.executor().asked[place].call.effective;
        let (status, body, answer) = match mood {
            Mood::Accepts if is_machine && known_before => {
                let body = json!({"__type": "ExecutionAlreadyExists", "message": "the call was just recorded"});
                (400, body, Answer::Accepted)
            }
            Mood::Accepts if is_machine => {
                (200, json!({"executionArn": "arn:sim", "startDate": 0.0}), Answer::Accepted)
            }
            Mood::Accepts => (202, Value::Null, Answer::Accepted),
            Mood::RefusesForNow => {
                let body = json!({"__type": "ServiceUnavailable", "message": "throttled for now"});
                (503, body, Answer::Refused)
            }
            Mood::RefusesForGood => {
                let body = json!({"__type": "ValidationException", "message": "never"});
                (400, body, Answer::Refused)
            }
        };
        let now = self.now();
        let mut executor = self.executor();
        let asking = &mut executor.asked[place];
        (asking.pending, asking.call.until) = (false, now);
        if heard {
            asking.call.answer = answer;
        }
        Reply { status, body }
    }

    fn mood(&self) -> (Mood, i64) {
        let mut dice = self.dice();
        let mut faults = self.faults();
        let (slow, refusal, for_good) =
            (faults.slow_executor, faults.refusal, faults.final_refusal);
        let is_slow = faults.strikes(&mut dice, slow);
        let slow_ms = if is_slow { dice.between(1_000, 15_000) } else { dice.between(1, 40) };
        if faults.strikes(&mut dice, refusal) {
            (Mood::RefusesForNow, slow_ms)
        } else if faults.strikes(&mut dice, for_good) {
            (Mood::RefusesForGood, slow_ms)
        } else {
            (Mood::Accepts, slow_ms)
        }
    }
}

/// Executes what is started, and reports, for ever.
pub(super) async fn work(sim: Arc<Sim>, api: Arc<App>, mut begun: UnboundedReceiver<String>) {
    while let Some(run_id) = begun.recv().await {
        tokio::spawn(work_on(sim.clone(), api.clone(), run_id));
    }
}

/// Executes a run once; when called again for the same run, reports the same result again.
async fn work_on(sim: Arc<Sim>, api: Arc<App>, run_id: String) {
    let known = sim.executor().work.get(&run_id).map(|work| (work.to, work.outcome));
    let outcome = match known {
        Some((None, _)) | Some((_, None)) => return,
        Some((_, outcome)) => outcome,
        None => {
            let now = sim.now();
            let (takes_ms, outcome) = {
                let mut dice = sim.dice();
                let mut faults = sim.faults();
                let silence = faults.silence;
                let outcome = match faults.strikes(&mut dice, silence) {
                    true => None,
                    false if dice.chance(1500) => Some("FAILED"),
                    false => Some("SUCCESS"),
                };
                (dice.pick(&[200, 5_000, 20_000, 45_000, 100_000]), outcome)
            };
            sim.executor().work.insert(run_id.clone(), Work { from: now, to: None, outcome });
            pass(takes_ms).await;
            if outcome.is_some()
                && let Some(work) = sim.executor().work.get_mut(&run_id)
            {
                work.to = Some(sim.now());
            }
            outcome
        }
    };
    let Some(status) = outcome else { return };
    let path = format!("/runs/{run_id}/status");
    for _ in 0..MAX_REPORTS {
        let answer = sim.api(&api, "POST", &path, &json!({"status": status}), &[]).await;
        let rest = match answer {
            Some((200..300, _)) => return,
            // The record says that it is not started yet, which may change soon.
            Some((409, _)) => 20_000,
            Some((400..500, _)) => return,
            _ => sim.dice().between(500, 8_000),
        };
        pass(rest).await;
    }
}
