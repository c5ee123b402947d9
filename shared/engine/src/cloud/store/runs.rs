//! Runs: recording a fire, claiming a run for a launch, ending it, and reading the history.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure};
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::attempts::Attempt;
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

/// The answer to recording a fire.
#[derive(Debug)]
pub enum Put {
    /// The fire was not recorded before, and is now.
    New,
    /// The fire was recorded before and has not launched.
    Unlaunched(Box<Run>),
    /// The fire was recorded before and has launched or ended.
    Beyond(Box<Run>),
}

/// The answer to a launcher that claims a run.
#[derive(Debug)]
pub enum Claim {
    /// The claim succeeded; the run's `attempt` is the fence of the claim.
    Won(Run),
    /// The run waits until this instant for its next attempt.
    Waits(Instant),
    /// An earlier delivery of this message holds the run until this instant and may still work on
    /// it.
    Held(Instant),
    /// Another message holds the run.
    Busy,
    /// The run has ended.
    Over(Run),
    /// The run was confirmed or marked by a newer revision than the one that the launcher read.
    Changed,
    /// There is no such run.
    Missing,
}

/// The launcher that claims a run, and what it decided by.
pub struct Claimant<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The revision of the definition by which the launcher decided.
    pub revision: u64,
    /// The id of the message that delivered the fire: only this message may take the run over when
    /// the lease is over.
    pub message: &'a str,
    /// The id of this very call, by which the launcher recognises its own claim if the answer was
    /// lost.
    pub call: &'a str,
    /// Whether the launcher read the schedule ahead of the launch time.
    pub ahead: bool,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A terminal status.
    pub status: Status,
    /// The reason, if the status alone does not say it.
    pub reason: Option<Reason>,
    /// The error, if there was one.
    pub error: Option<String>,
    /// The result that the executor returned.
    pub result: Option<Value>,
    /// The id that the executor gave the run.
    pub external_run_id: Option<String>,
    /// The sort key of the run for which this one was skipped.
    pub blocked_by: Option<String>,
    /// The attempts of the run, if its last one failed.
    pub attempts: Vec<Attempt>,
}

/// Why a launcher gives a run back that it has claimed.
#[derive(Clone, Debug, Default)]
pub struct GivenBack {
    /// The error of the run so far, if its target refused it.
    pub error: Option<String>,
    /// The attempts of the run, this one included.
    pub attempts: Vec<Attempt>,
    /// When the next attempt is due; `None`: at once.
    pub retry_at: Option<Instant>,
    /// How many claims of the run were given back before the target was called.
    pub not_called: u32,
}

impl Outcome {
    /// An outcome that is only a status.
    pub fn of(status: Status) -> Outcome {
        Outcome {
            status,
            reason: None,
            error: None,
            result: None,
            external_run_id: None,
            blocked_by: None,
            attempts: Vec::new(),
        }
    }

    /// An outcome with a reason.
    pub fn because(status: Status, reason: Reason) -> Outcome {
        Outcome { reason: Some(reason), ..Outcome::of(status) }
    }
}

/// The filter and the page of a schedule's history.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuery {
    /// Only runs with this status.
    pub status: Option<Status>,
    /// Only runs planned at or after this instant.
    pub from: Option<Instant>,
    /// Only runs planned at or before this instant.
    pub to: Option<Instant>,
    /// The page size.
    pub limit: usize,
    /// The sort key of the last run of the previous page.
    pub cursor: Option<String>,
}

/// One page of a schedule's runs, newest first.
pub struct History {
    /// The runs.
    pub runs: Vec<Run>,
    /// The cursor of the next page; `None` if this is the last one.
    pub cursor: Option<String>,
}

/// Which runs of a schedule are wanted.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// Only runs with this status.
    pub status: Option<Status>,
    /// Only the run that its executor calls so.
    pub external_run_id: Option<String>,
    /// Only runs planned at or after this instant.
    pub from: Option<Instant>,
    /// Only runs planned at or before this instant.
    pub to: Option<Instant>,
}

/// What one query of a schedule's history found.
pub struct Step {
    /// The runs that fit, newest first.
    pub runs: Vec<Run>,
    /// The sort key of the last run that was looked at; `None` if there are no more.
    pub reached: Option<String>,
}

impl Store {
    /// Records a fire unless it is recorded already. Of all functions that try, exactly one
    /// succeeds.
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

    /// The item that records a fire.
    pub(super) fn run_item(&self, run: &Run) -> Result<Item, Fault> {
        let mut item: Item = serde_dynamo::to_item(run)
            .map_err(|e| Fault::new(format!("claim fire {}", run.id), e))?;
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        if run.status.is_terminal() {
            item.insert(EXPIRES_AT.into(), self.expires_at(run.enqueued_at));
        } else {
            // Later changes of the status do not touch this attribute, so the index entry is paid
            // for once.
            let look_at = run.launch_at.max(run.enqueued_at) + self.lost_after;
            item.insert(SWEEP.into(), text(self.sweep_bucket(&run.id, look_at)));
        }
        Ok(item)
    }

    /// Stores for a day which run an idempotency key names. Answers with that run: `id`, or the run
    /// for which the key was used before.
    /// `None`: the key was used before for other content.
    pub async fn remember_trigger(
        &self,
        key: &str,
        content: &str,
        id: &RunId,
        now: Instant,
    ) -> Result<Option<RunId>, Fault> {
        let doing = format!("store the idempotency key of {id}");
        let mut item =
            part_key(&id.schedule_id, &format!("trigger#{}", hex::encode(Sha256::digest(key))));
        let content = hex::encode(Sha256::digest(content));
        item.insert("content".into(), text(&content));
        item.insert("run_id".into(), text(id.to_string()));
        item.insert(FORMAT.0.into(), number(FORMAT.1));
        item.insert(EXPIRES_AT.into(), number((now + Duration::days(1)).timestamp()));
        let given = Some((":now", number(now.timestamp())));
        match self.put_if(&self.schedules, item, conditions::KEY_IS_NEW, given, &doing).await? {
            None => Ok(Some(id.clone())),
            // An older release stored no content.
            Some(old) if string(&old, "content").is_some_and(|old| old != content) => Ok(None),
            Some(old) => {
                let old = string(&old, "run_id").and_then(|run_id| run_id.parse().ok());
                let old = old.map(Some);
                old.ok_or_else(|| Fault::new(doing, Unreadable("the run id".to_owned())))
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
            .remove("retry_at")
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

    /// Ends a run. With a `fence`, only if that claim is still the newest; with `None`, whichever
    /// launcher claimed it. `false`: the run has ended or was claimed anew.
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

    /// Ends a run as its executor reports, between two attempts or at work. `false`: the run has ended,
    /// or was given back again since it was read.
    pub async fn finish_waiting_run(
        &self,
        seen: &Run,
        outcome: &Outcome,
        now: Instant,
    ) -> Result<bool, Fault> {
        let update = self
            .ending(outcome, now)
            .given(":enqueued", text(Status::Enqueued.as_str()))
            .given(":fence", number(seen.attempt));
        self.update_run(&seen.id, update, conditions::EXECUTOR_HAS_RUN, "finish run").await
    }

    /// The update that ends a run.
    pub(super) fn ending(&self, outcome: &Outcome, now: Instant) -> Update {
        let result = outcome.result.as_ref().map(|value| text(value.to_string()));
        let update = Update::default()
            .set("status", text(outcome.status.as_str()))
            .set("finished_at", time(now))
            .set(EXPIRES_AT, self.expires_at(now))
            .set_if("reason", reason(outcome.reason))
            .set_if("result", result)
            .set_if("external_run_id", outcome.external_run_id.clone().map(text))
            .set_if("blocked_by", outcome.blocked_by.clone().map(text))
            .set_if("attempts", kept(&outcome.attempts));
        let update = unclaim(update);
        // The error of an attempt that was repeated is not the error of the run.
        match &outcome.error {
            Some(error) => update.set("error", text(error)),
            None => update.remove("error"),
        }
    }

    /// Records that the target has accepted a run that is still going, and the executor's id of it.
    /// From then on the run belongs to the executor, and no launcher takes it over.
    pub async fn link_run(
        &self,
        id: &RunId,
        fence: u32,
        external: Option<&str>,
    ) -> Result<bool, Fault> {
        let update = Update::default().set_if("external_run_id", external.map(text));
        let update = unclaim(update).given(":fence", number(fence));
        self.update_run(id, update, conditions::CLAIM_IS_NEWEST, "link run").await
    }

    /// Gives a claimed run back, so that it can be claimed again.
    pub async fn give_back_run(
        &self,
        id: &RunId,
        fence: u32,
        back: &GivenBack,
    ) -> Result<bool, Fault> {
        let retry_at = back.retry_at.map(|at| number(at.timestamp_millis()));
        let update = Update::default()
            .set("status", text(Status::Enqueued.as_str()))
            .set_if("attempts", kept(&back.attempts))
            .set_if("retry_at", retry_at)
            .set_if("not_called", (back.not_called > 0).then(|| number(back.not_called)))
            .set_if("error", back.error.as_ref().map(text));
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

    /// One run, read consistently.
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

    /// One page of a schedule's runs, newest first.
    pub async fn history(
        &self,
        schedule: &ScheduleId,
        wanted: &HistoryQuery,
    ) -> Result<History, Fault> {
        let from = wanted.from.map_or("0".to_owned(), instant::text);
        // The tildes sort after every cause of that second.
        let to = wanted.to.map_or("~".to_owned(), |to| format!("{}~~", instant::text(to)));
        // DynamoDB refuses a window that ends before it begins, and a start key outside the window.
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
        // A full page may be the last one; the next page is empty then.
        let is_full = runs.len() >= wanted.limit;
        let cursor = runs.last().filter(|_| is_full).map(|run| run.id.sort_key());
        Ok(History { runs, cursor })
    }

    /// One query of a schedule's history, newest first, that looks at no more than `limit` runs: those
    /// from the sort key `at` on, or those behind the sort key `behind`.
    pub async fn step(
        &self,
        schedule: &ScheduleId,
        filter: &RunFilter,
        at: Option<&str>,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Step, Fault> {
        let from = filter.from.map_or("0".to_owned(), instant::text);
        let to = filter.to.map_or("~".to_owned(), |to| format!("{}~~", instant::text(to)));
        let to = at.map_or(to.clone(), |at| to.min(at.to_owned()));
        // DynamoDB refuses a window that ends before it begins, and a start key outside the window.
        let behind = behind.filter(|behind| **behind < *to);
        if to < from || behind.is_some_and(|behind| *behind < *from) {
            return Ok(Step { runs: Vec::new(), reached: None });
        }
        let start = behind.map(|behind| {
            let schedule_id = (SCHEDULE_ID.into(), text(schedule.as_str()));
            Item::from([schedule_id, (RUN_AT.into(), text(behind))])
        });
        let mut query = self
            .client
            .query()
            .table_name(&self.runs)
            .key_condition_expression("schedule_id = :id AND run_at BETWEEN :from AND :to")
            .expression_attribute_values(":id", text(schedule.as_str()))
            .expression_attribute_values(":from", text(from))
            .expression_attribute_values(":to", text(to))
            .scan_index_forward(false)
            .set_exclusive_start_key(start)
            .limit(limit as i32);
        let mut conditions = Vec::new();
        if let Some(status) = filter.status {
            conditions.push("#status = :status");
            query = query
                .expression_attribute_names("#status", "status")
                .expression_attribute_values(":status", text(status.as_str()));
        }
        if let Some(id) = &filter.external_run_id {
            conditions.push("external_run_id = :external");
            query = query.expression_attribute_values(":external", text(id));
        }
        if !conditions.is_empty() {
            query = query.filter_expression(conditions.join(" AND "));
        }
        let page = query.send().await.map_err(sdk(format!("read history of {schedule}")))?;
        let reached = page.last_evaluated_key().and_then(|key| string(key, RUN_AT));
        let reached = reached.map(str::to_owned);
        let runs = page.items.unwrap_or_default().into_iter().map(read_run);
        Ok(Step { runs: runs.collect::<Result<_, _>>()?, reached })
    }
}

/// Why a claim was refused, judged by the run as it is stored.
fn refused_claim(run: Run, holder: &str, is_this_call: bool, now: Instant) -> Claim {
    let is_mine = run.holder.as_deref() == Some(holder);
    match (run.status, run.lease_until) {
        (Status::Enqueued | Status::Queued, _) => match run.retry_at {
            Some(at) if at > now => Claim::Waits(at),
            _ => Claim::Changed,
        },
        // This call made the claim itself, in an earlier try whose answer was lost.
        (Status::Started, _) if is_mine && is_this_call => Claim::Won(run),
        (Status::Started, Some(until)) if is_mine && until < now => Claim::Changed,
        (Status::Started, Some(until)) if is_mine => Claim::Held(until),
        (Status::Started, _) => Claim::Busy,
        _ => Claim::Over(run),
    }
}

/// The update of a claim, without the number of the attempt.
pub(super) fn claiming(claimant: &Claimant<'_>, lease: Duration, now: Instant) -> Update {
    Update::default()
        .set("status", text(Status::Started.as_str()))
        .set("holder", text(claimant.message))
        .set("claim", text(claimant.call))
        .set("lease_until", number((now + lease).timestamp_millis()))
        .set("started_at", time(now))
}

/// Removes the claim of a launcher, and gives the condition its value of `:started`.
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

/// The attempts as the record keeps them.
pub(super) fn kept(attempts: &[Attempt]) -> Option<AttributeValue> {
    let stored = serde_dynamo::to_attribute_value(attempts).ok();
    stored.filter(|_| !attempts.is_empty())
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
