//! History: reading the change log and the traces of runs.

use std::ops::ControlFlow;

use aws_sdk_dynamodb::operation::query::builders::QueryFluentBuilder;
use belfry_core::id::{RunId, ScheduleId};
use belfry_core::instant::{self, Instant};
use belfry_core::run::trace::{ATTRIBUTES, Trace};
use belfry_core::schedule::change::Change;

use super::paging::{self, until};
use super::{Item, Store, part_key, run_key, string, text};
use crate::cloud::store::tables::{CHANGE, PART, RUN_AT, SCHEDULE_ID};
use crate::fault::{Fault, Unreadable};

/// Records read before a window to find a summary that reaches into it, at most.
const MAX_RECORDS_BEFORE: usize = 1000;
/// Records read at once for that: mostly the first of them ends the search.
const RECORDS_BEFORE: i32 = 10;
/// Records read at once where mostly some dozens are wanted.
const SOME: usize = 50;

/// One page of the change log, newest first.
pub struct Changes {
    /// The entries, each with the cursor that continues after it.
    pub changes: Vec<(String, Change)>,
    /// Whether there may be more.
    pub more: bool,
}

/// The traces of a window, unless there are too many.
pub enum Traces {
    /// All traces, oldest first.
    All(Vec<(RunId, Trace)>),
    /// There are more than the caller asked for.
    TooMany,
}

impl Store {
    /// All changes of a schedule, read consistently.
    pub async fn all_changes(&self, id: &ScheduleId) -> Result<Vec<Change>, Fault> {
        let query = self.query_changes(id).consistent_read(true);
        let items = paging::all(query, format!("read changes of {id}")).await?;
        items.into_iter().map(|item| read_change(id, item)).collect()
    }

    /// One page of the changes of `owner`'s schedule, newest first. Changes by another owner of the
    /// same id are left out.
    pub async fn changes(
        &self,
        id: &ScheduleId,
        owner: &str,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Changes, Fault> {
        let start = cursor.map(|cursor| part_key(id, &format!("{CHANGE}{}", unlisted(cursor))));
        let query = self.query_changes(id).scan_index_forward(false).limit(limit as i32);
        let mut changes = Vec::new();
        let take = |item: Item| {
            let part = string(&item, PART).and_then(|part| part.strip_prefix(CHANGE));
            let cursor = part.map(listed).unwrap_or_default();
            let change = read_change(id, item)?;
            if change.owner() == owner {
                changes.push((cursor, change));
            }
            until(&changes, limit)
        };
        let query = query.set_exclusive_start_key(start);
        paging::each(query, format!("list changes of {id}"), take).await?;
        Ok(Changes { more: changes.len() >= limit, changes })
    }

    /// The traces of a schedule's runs from `from` to `to`, both included, read consistently,
    /// unless there are more than `max`. A summary that begins before the window and reaches into
    /// it is included.
    pub async fn traces(
        &self,
        id: &ScheduleId,
        from: Instant,
        to: Instant,
        max: usize,
    ) -> Result<Traces, Fault> {
        let mut found: Vec<_> = self.summary_reaching(id, from).await?.into_iter().collect();
        let query = self
            .query_traces(id)
            .consistent_read(true)
            .key_condition_expression("schedule_id = :id AND run_at BETWEEN :from AND :to")
            .expression_attribute_values(":from", text(instant::text(from)))
            .expression_attribute_values(":to", text(behind(to)));
        let take = |item| {
            found.push(read_trace(item)?);
            until(&found, max + 1)
        };
        paging::each(query, format!("read traces of {id}"), take).await?;
        Ok(if found.len() > max { Traces::TooMany } else { Traces::All(found) })
    }

    /// The summary that begins before `from` and ends at or after it, if there is one. The search ends
    /// at a fire that has a record of its own: no summary from before it reaches further.
    async fn summary_reaching(
        &self,
        id: &ScheduleId,
        from: Instant,
    ) -> Result<Option<(RunId, Trace)>, Fault> {
        let query = self
            .query_traces(id)
            .consistent_read(true)
            .key_condition_expression("schedule_id = :id AND run_at < :from")
            .expression_attribute_values(":from", text(instant::text(from)))
            .scan_index_forward(false)
            .limit(RECORDS_BEFORE);
        let (mut newest, mut looked_at) = (None, 0);
        let take = |item| {
            let (id, run) = read_trace(item)?;
            looked_at += 1;
            // A fire that a change took back may lie among those that a resume has summed up.
            let is_fire = id.cause.is_none() && !run.was_taken_back();
            let is_summary = run.missed.is_some();
            if is_summary {
                newest = Some((id, run));
            }
            Ok(match is_summary || is_fire || looked_at == MAX_RECORDS_BEFORE {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })
        };
        paging::each(query, format!("read summaries of {id}"), take).await?;
        Ok(newest.filter(|(_, run)| run.missed.is_some_and(|missed| missed.last >= from)))
    }

    /// The traces of a schedule's newest runs, newest first; only runs planned up to `until`, if it
    /// is given.
    pub async fn newest_traces(
        &self,
        id: &ScheduleId,
        limit: usize,
        until: Option<Instant>,
    ) -> Result<Vec<(RunId, Trace)>, Fault> {
        let query = self.query_traces(id).scan_index_forward(false).limit(limit as i32);
        let query = match until {
            None => query.key_condition_expression("schedule_id = :id"),
            Some(until) => query
                .key_condition_expression("schedule_id = :id AND run_at <= :until")
                .expression_attribute_values(":until", text(behind(until))),
        };
        let mut found = Vec::new();
        let take = |item| {
            found.push(read_trace(item)?);
            paging::until(&found, limit)
        };
        paging::each(query, format!("read newest runs of {id}"), take).await?;
        Ok(found)
    }

    /// The traces of a schedule's runs from `from` on, oldest first, read consistently: at most
    /// `limit`.
    pub async fn oldest_traces(
        &self,
        id: &ScheduleId,
        from: Instant,
        limit: usize,
    ) -> Result<Vec<(RunId, Trace)>, Fault> {
        let query = self
            .query_traces(id)
            .consistent_read(true)
            .key_condition_expression("schedule_id = :id AND run_at >= :from")
            .expression_attribute_values(":from", text(instant::text(from)))
            .limit(limit as i32);
        let mut found = Vec::new();
        let take = |item| {
            found.push(read_trace(item)?);
            until(&found, limit)
        };
        paging::each(query, format!("read oldest runs of {id}"), take).await?;
        Ok(found)
    }

    /// The traces of these runs, read consistently, in any order. Runs that do not exist are left out.
    /// At most as many as one request may name.
    pub async fn traces_of(&self, ids: &[RunId]) -> Result<Vec<(RunId, Trace)>, Fault> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys = ids.iter().map(run_key).collect();
        let items = self.get_all(&self.runs, keys, true).await?;
        items.into_iter().map(read_trace).collect()
    }

    /// The traces of a schedule's newest runs, newest first: all from `from` on if there are at most
    /// `most`, and at least `least` if there are as many.
    pub async fn traces_back_to(
        &self,
        id: &ScheduleId,
        from: Option<Instant>,
        least: usize,
        most: usize,
    ) -> Result<Vec<(RunId, Trace)>, Fault> {
        let query = self
            .query_traces(id)
            .key_condition_expression("schedule_id = :id")
            .scan_index_forward(false)
            .limit(least.max(SOME) as i32);
        let mut found: Vec<(RunId, Trace)> = Vec::new();
        let take = |item| {
            let (id, run) = read_trace(item)?;
            let is_before = from.is_some_and(|from| id.run_at < from);
            if is_before && found.len() >= least {
                return Ok(ControlFlow::Break(()));
            }
            found.push((id, run));
            until(&found, most)
        };
        paging::each(query, format!("read newest runs of {id}"), take).await?;
        Ok(found)
    }

    fn query_changes(&self, id: &ScheduleId) -> QueryFluentBuilder {
        self.client
            .query()
            .table_name(&self.schedules)
            .key_condition_expression("schedule_id = :id AND begins_with(sk, :change)")
            .expression_attribute_values(":id", text(id.as_str()))
            .expression_attribute_values(":change", text(CHANGE))
    }

    /// A query that reads only the attributes of a trace: payloads and results are left out.
    fn query_traces(&self, id: &ScheduleId) -> QueryFluentBuilder {
        let mut query = self
            .client
            .query()
            .table_name(&self.runs)
            .expression_attribute_values(":id", text(id.as_str()));
        let mut projection = vec![SCHEDULE_ID.to_owned(), RUN_AT.to_owned()];
        for attribute in ATTRIBUTES {
            let place = format!("#{attribute}");
            query = query.expression_attribute_names(&place, attribute);
            projection.push(place);
        }
        query.projection_expression(projection.join(", "))
    }
}

/// A key after every run of that second: the tildes sort after every cause.
fn behind(at: Instant) -> String {
    format!("{}~~", instant::text(at))
}

/// Whether a text has the form of a cursor of the change log.
pub fn is_change_cursor(cursor: &str) -> bool {
    let mut parts = cursor.split('~');
    let at = parts.next().and_then(instant::parse);
    let revision = parts.next().and_then(|revision| revision.parse::<u64>().ok());
    let key = parts.next().is_none_or(|key| key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    at.is_some() && revision.is_some() && key && parts.next().is_none()
}

/// A number sign would begin the fragment of the URL that carries the cursor.
fn listed(part: &str) -> String {
    part.replace('#', "~")
}

fn unlisted(cursor: &str) -> String {
    cursor.replace('~', "#")
}

fn read_change(id: &ScheduleId, item: Item) -> Result<Change, Fault> {
    serde_dynamo::from_item(item)
        .map_err(|e| Fault::new(format!("read change of {id}"), Unreadable(e.to_string())))
}

fn read_trace(item: Item) -> Result<(RunId, Trace), Fault> {
    let unreadable = |what: String| Fault::new("read trace", Unreadable(what));
    let id = || {
        let schedule_id = string(&item, SCHEDULE_ID)?.parse().ok()?;
        RunId::from_keys(schedule_id, string(&item, RUN_AT)?).ok()
    };
    let id = id().ok_or_else(|| unreadable("the key".to_owned()))?;
    let trace = serde_dynamo::from_item(item).map_err(|e| unreadable(format!("{id}: {e}")))?;
    Ok((id, trace))
}
