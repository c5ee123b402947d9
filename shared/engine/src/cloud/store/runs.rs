//! Runs: the claim of a fire, the claim of a launch, the outcome, and the history.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::{Reason, Run, Status};
use chrono::Duration;
use futures::FutureExt;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::clocks::{is_refused, refused_item};
use super::expression::Update;
use super::paging::{self, until};
use super::{FORMAT, Item, Store, conditions, number, part_key, run_key, string, text};
use crate::cloud::store::tables::{EXPIRES_AT, RUN_AT, SCHEDULE_ID, SWEEP};
use crate::fault::{Fault, Unreadable, sdk};

/// The answer to the put of a fire.
#[derive(Debug)]
pub enum Put {
    /// The fire is ours.
    New,
    /// It was recorded before and has not launched.
    Unlaunched(Box<Run>),
    /// It was recorded before and went on.
    Beyond(Box<Run>),
}

/// The answer to a launcher that wants a run.
#[derive(Debug)]
pub enum Claim {
    /// It is ours, with `attempt` as the fence.
    Won(Run),
    /// This very message has it, in an earlier delivery that may still be at work.
    Held(Instant),
    /// Another message has it.
    Busy,
    /// It reached a terminal state.
    Over(Run),
    /// It was confirmed under a newer definition than the clock we judged by.
    Changed,
    /// There is no such run.
    Missing,
}

/// Who wants a run, and what it was judged by.
pub struct Claimant<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The definition it was judged by.
    pub revision: u64,
    /// The message that brought it: only that one takes over when the lease is over.
    pub message: &'a str,
    /// This very call: a claim whose answer was lost on the way is known again by it.
    pub call: &'a str,
    /// Whether it judged by what it read ahead of the run's time.
    pub ahead: bool,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A terminal state.
    pub status: Status,
    /// Why, where the state does not say.
    pub reason: Option<Reason>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the executor answered.
    pub result: Option<Value>,
    /// The executor's name for it.
    pub external_run_id: Option<String>,
    /// The run in whose favour it was skipped.
    pub blocked_by: Option<String>,
}

impl Outcome {
    /// An outcome that needs no more words.
    pub fn of(status: Status) -> Outcome {
        Outcome {
            status,
            reason: None,
            error: None,
            result: None,
            external_run_id: None,
            blocked_by: None,
        }
    }

    /// The same with a reason.
    pub fn because(status: Status, reason: Reason) -> Outcome {
        Outcome { reason: Some(reason), ..Outcome::of(status) }
    }
}

/// Which part of a schedule's history is wanted.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Only runs in this state.
    pub status: Option<Status>,
    /// Not before.
    pub from: Option<Instant>,
    /// Not after.
    pub to: Option<Instant>,
    /// At most so many.
    pub limit: usize,
    /// The sort key the previous page ended at.
    pub cursor: Option<String>,
}

/// Some runs, newest first.
pub struct History {
    /// The runs.
    pub runs: Vec<Run>,
    /// Where the next page begins.
    pub cursor: Option<String>,
}

impl Store {
    /// Records a fire if nobody has: the put is the claim of that fire.
    pub async fn put_run(&self, run: &Run) -> Result<Put, Fault> {
        let (doing, item) = (format!("claim fire {}", run.id), self.run_item(run)?);
        let given = Some((":revision", number(run.revision)));
        let condition = conditions::FIRE_IS_UNCLAIMED;
        Ok(match self.put_if(&self.runs, item, condition, given, &doing).await? {
            None => Put::New,
            Some(old) => match read_run(old)? {
                old if old.status == Status::Enqueued => Put::Unlaunched(Box::new(old)),
                old => Put::Beyond(Box::new(old)),
            },
        })
    }

    /// What is put of a fire.
    pub(super) fn run_item(&self, run: &Run) -> Result<Item, Fault> {
        let mut item: Item = serde_dynamo::to_item(run)
            .map_err(|e| Fault::new(format!("claim fire {}", run.id), e))?;
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        if run.status.is_terminal() {
            item.insert(EXPIRES_AT.into(), self.expires_at(run.enqueued_at));
        } else {
            // Status changes leave it alone: an index entry is paid for once.
            let look_at = run.launch_at.max(run.enqueued_at) + self.lost_after;
            item.insert(SWEEP.into(), text(self.sweep_bucket(&run.id, look_at)));
        }
        Ok(item)
    }

    /// Remembers for a day which run a caller's key stands for. Answers with the run it stands for:
    /// `id`, or the one it was used for before.
    pub async fn remember_trigger(
        &self,
        key: &str,
        id: &RunId,
        now: Instant,
    ) -> Result<RunId, Fault> {
        let doing = format!("remember the key of {id}");
        let mut item =
            part_key(&id.schedule_id, &format!("trigger#{}", hex::encode(Sha256::digest(key))));
        item.insert("run_id".into(), text(id.to_string()));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        item.insert(EXPIRES_AT.into(), number((now + Duration::days(1)).timestamp()));
        let given = Some((":now", number(now.timestamp())));
        match self.put_if(&self.schedules, item, conditions::KEY_IS_NEW, given, &doing).await? {
            None => Ok(id.clone()),
            Some(old) => {
                let old = string(&old, "run_id").and_then(|run_id| run_id.parse().ok());
                old.ok_or_else(|| Fault::new(doing, Unreadable("its run".to_owned())))
            }
        }
    }

    /// Claims a run for a launcher.
    pub async fn claim_run(
        &self,
        claimant: &Claimant<'_>,
        lease: Duration,
        now: Instant,
    ) -> Result<Claim, Fault> {
        let (id, holder) = (claimant.run, claimant.message);
        let update = claiming(claimant, lease, now)
            .count_up("attempt")
            .naming_status()
            .given(":enqueued", text(Status::Enqueued.as_str()))
            .given(":queued", text(Status::Queued.as_str()))
            .given(":started", text(Status::Started.as_str()))
            .given(":holder", text(holder))
            .given(":now", number(now.timestamp_millis()))
            .given(":revision", number(claimant.revision));
        let condition = match claimant.ahead {
            true => format!("{} AND {}", conditions::RUN_IS_FREE, conditions::NO_CHANGE_MET_IT),
            false => conditions::RUN_IS_FREE.to_owned(),
        };
        let request = self
            .client
            .update_item()
            .table_name(&self.runs)
            .set_key(Some(run_key(id)))
            .condition_expression(condition)
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        match update.on(request).send().boxed().await {
            Ok(answer) => Ok(Claim::Won(read_run(answer.attributes.unwrap_or_default())?)),
            Err(error) if is_refused(&error) => {
                let Some(old) = refused_item(&error) else { return Ok(Claim::Missing) };
                let is_this_call = string(old, "claim") == Some(claimant.call);
                Ok(refused_claim(read_run(old.clone())?, holder, is_this_call, now))
            }
            Err(error) => Err(sdk(format!("claim run {id}"))(error)),
        }
    }

    /// Ends a run. `fence`: only if that claim is still the newest; `None`: whoever claimed it.
    /// `false`: it was not ours to end.
    pub async fn finish_run(
        &self,
        id: &RunId,
        fence: Option<u32>,
        outcome: &Outcome,
        now: Instant,
    ) -> Result<bool, Fault> {
        let mut update = self.ending(outcome, now);
        let condition = match fence {
            Some(fence) => {
                update = update.given(":fence", number(fence));
                conditions::CLAIM_IS_NEWEST
            }
            None => conditions::RUN_IS_STARTED,
        };
        self.update_run(id, update, condition, "finish run").await
    }

    /// What the end of a run writes.
    pub(super) fn ending(&self, outcome: &Outcome, now: Instant) -> Update {
        let result = outcome.result.as_ref().map(|value| text(value.to_string()));
        let update = Update::default()
            .set("status", text(outcome.status.as_str()))
            .set("finished_at", time(now))
            .set(EXPIRES_AT, self.expires_at(now))
            .set_if("reason", reason(outcome.reason))
            .set_if("result", result)
            .set_if("external_run_id", outcome.external_run_id.clone().map(text))
            .set_if("blocked_by", outcome.blocked_by.clone().map(text));
        let update = unclaim(update);
        // The error of an attempt that was tried again is not the run's.
        match &outcome.error {
            Some(error) => update.set("error", text(error)),
            None => update.remove("error"),
        }
    }

    /// Writes the executor's name for a run that goes on. From then on it is the executor's: no
    /// launcher takes it over.
    pub async fn link_run(&self, id: &RunId, fence: u32, external: &str) -> Result<bool, Fault> {
        let update = Update::default().set("external_run_id", text(external));
        let update = unclaim(update).given(":fence", number(fence));
        self.update_run(id, update, conditions::CLAIM_IS_NEWEST, "link run").await
    }

    /// Gives a claimed run back, to be claimed again.
    pub async fn give_back_run(
        &self,
        id: &RunId,
        fence: u32,
        error: Option<&str>,
    ) -> Result<bool, Fault> {
        let update = Update::default()
            .set("status", text(Status::Enqueued.as_str()))
            .set_if("error", error.map(text));
        let update = unclaim(update).given(":fence", number(fence));
        self.update_run(id, update, conditions::CLAIM_IS_NEWEST, "give back run").await
    }

    pub(super) async fn update_run(
        &self,
        id: &RunId,
        update: Update,
        condition: &str,
        doing: &str,
    ) -> Result<bool, Fault> {
        let request = self
            .client
            .update_item()
            .table_name(&self.runs)
            .set_key(Some(run_key(id)))
            .condition_expression(condition);
        match update.on(request).send().boxed().await {
            Ok(_) => Ok(true),
            Err(error) if is_refused(&error) => Ok(false),
            Err(error) => Err(sdk(format!("{doing} {id}"))(error)),
        }
    }

    /// One run, as it is at this moment.
    pub async fn run(&self, id: &RunId) -> Result<Option<Run>, Fault> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.runs)
            .set_key(Some(run_key(id)))
            .consistent_read(true)
            .send()
            .boxed()
            .await
            .map_err(sdk(format!("read run {id}")))?;
        answer.item.map(read_run).transpose()
    }

    /// Some of a schedule's runs, newest first.
    pub async fn history(
        &self,
        schedule: &ScheduleId,
        wanted: &HistoryQuery,
    ) -> Result<History, Fault> {
        let from = wanted.from.map_or("0".to_owned(), instant::text);
        // A tilde sorts behind every cause of that second.
        let to = wanted.to.map_or("~".to_owned(), |to| format!("{}~~", instant::text(to)));
        // DynamoDB refuses a window that ends before it begins, and a start outside of it.
        let cursor = wanted.cursor.as_ref().filter(|cursor| **cursor < to);
        if to < from || cursor.is_some_and(|cursor| *cursor < from) {
            return Ok(History { runs: Vec::new(), cursor: None });
        }
        let mut query = self
            .client
            .query()
            .table_name(&self.runs)
            .key_condition_expression("schedule_id = :id AND run_at BETWEEN :from AND :to")
            .expression_attribute_values(":id", text(schedule.as_str()))
            .expression_attribute_values(":from", text(&from))
            .expression_attribute_values(":to", text(&to))
            .scan_index_forward(false)
            .set_exclusive_start_key(cursor.map(|cursor| {
                let schedule_id = (SCHEDULE_ID.into(), text(schedule.as_str()));
                Item::from([schedule_id, (RUN_AT.into(), text(cursor))])
            }));
        query = match wanted.status {
            None => query.limit(wanted.limit as i32),
            Some(status) => query
                .filter_expression("#status = :status")
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":status", text(status.as_str())),
        };
        let mut runs = Vec::new();
        let take = |item| {
            runs.push(read_run(item)?);
            until(&runs, wanted.limit)
        };
        paging::each(query, format!("read history of {schedule}"), take).await?;
        // A full page may be the last; the next one is empty then.
        let is_full = runs.len() >= wanted.limit;
        let cursor = runs.last().filter(|_| is_full).map(|run| run.id.sort_key());
        Ok(History { runs, cursor })
    }
}

/// Why a claim was refused, by the run as it is.
fn refused_claim(run: Run, holder: &str, is_this_call: bool, now: Instant) -> Claim {
    let is_mine = run.holder.as_deref() == Some(holder);
    match (run.status, run.lease_until) {
        (Status::Enqueued | Status::Queued, _) => Claim::Changed,
        // Our own claim, made by a try whose answer was lost on the way.
        (Status::Started, _) if is_mine && is_this_call => Claim::Won(run),
        (Status::Started, Some(until)) if is_mine && until < now => Claim::Changed,
        (Status::Started, Some(until)) if is_mine => Claim::Held(until),
        (Status::Started, _) => Claim::Busy,
        _ => Claim::Over(run),
    }
}

/// What a claim writes, besides the number of the attempt.
pub(super) fn claiming(claimant: &Claimant<'_>, lease: Duration, now: Instant) -> Update {
    Update::default()
        .set("status", text(Status::Started.as_str()))
        .set("holder", text(claimant.message))
        .set("claim", text(claimant.call))
        .set("lease_until", number((now + lease).timestamp_millis()))
        .set("started_at", time(now))
}

/// No launcher has the run any more. For conditions on what was started.
fn unclaim(update: Update) -> Update {
    update
        .remove("lease_until")
        .remove("holder")
        .remove("claim")
        .naming_status()
        .given(":started", text(Status::Started.as_str()))
}

pub(super) fn unlaunched(update: Update) -> Update {
    update
        .naming_status()
        .given(":enqueued", text(Status::Enqueued.as_str()))
        .given(":queued", text(Status::Queued.as_str()))
}

pub(super) fn reason(reason: Option<Reason>) -> Option<AttributeValue> {
    serde_dynamo::to_attribute_value(reason?).ok()
}

pub(super) fn time(at: Instant) -> AttributeValue {
    text(at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true))
}

pub(super) fn read_run(item: Item) -> Result<Run, Fault> {
    let name = format!(
        "{}@{}",
        string(&item, SCHEDULE_ID).unwrap_or_default(),
        string(&item, RUN_AT).unwrap_or_default()
    );
    let unreadable = |problem| Fault::new("read run", Unreadable(format!("{name}: {problem}")));
    serde_dynamo::from_item(item).map_err(unreadable)
}
