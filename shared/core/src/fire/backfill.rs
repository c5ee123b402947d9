//! A backfill: runs the fires of a past time range now. It is independent of the clock and has its
//! own limit of concurrent runs.
//!
//! The record of a backfill contains its progress. The next step, in a tick or at the end of a run,
//! continues from there, so a backfill survives any crash. The id of a run contains the fire and
//! the backfill, so handling a fire twice creates one run.

use std::collections::{BTreeMap, BTreeSet};

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::encoding::json_text;
use crate::id::{Cause, RunId, ScheduleId};
use crate::instant::{self, Instant};
use crate::run::Status;
use crate::schedule::{Catchup, Clock, Timing};

/// The most fires of one backfill. More fires need several backfills.
pub const MAX_FIRES: usize = 10_000;
/// The most concurrent runs of a backfill.
pub const MAX_CONCURRENT: u64 = 100;
/// The most fires that one step handles.
pub const LOOKED_AT: usize = 100;

/// A backfill and its progress.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Backfill {
    /// The backfill's id, unique within its schedule.
    pub backfill_id: String,
    /// The owner of the schedule.
    pub owner: String,
    /// The caller who requested the backfill.
    pub created_by: String,
    /// When the caller requested it.
    pub created_at: Instant,
    /// The start of the time range, included.
    #[serde(with = "instant::required")]
    pub from: Instant,
    /// The end of the time range, included.
    #[serde(with = "instant::required")]
    pub to: Instant,
    /// The order in which the fires run.
    pub order: Order,
    /// The most runs of this backfill at the same time.
    pub max_concurrent: u32,
    /// Whether fires run again that already ran, on schedule or in another backfill.
    pub rerun: bool,
    /// The payload of its runs, instead of the schedule's payload.
    #[serde(default, with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub payload: Option<Value>,
    /// The timing that determines the fires. It is a copy, so a later edit does not change the
    /// fires.
    pub timing: Timing,
    /// The instant from which a `rate()` of that timing counts.
    #[serde(with = "instant::required")]
    pub anchor: Instant,
    /// Whether the backfill is running, done or cancelled.
    pub state: State,
    /// The number of fires in the time range.
    pub total: u64,
    /// The number of fires that are handled so far, in order.
    pub position: u64,
    /// How many of the handled fires were left out, because they ran without this backfill.
    pub already_ran: u64,
    /// The number of ended runs for each terminal status.
    #[serde(default)]
    pub ended: BTreeMap<String, u64>,
    /// The fires whose runs have not ended.
    #[serde(default)]
    pub active: BTreeSet<String>,
    /// Increases with every change. If two processes continue the backfill at once, only one can
    /// write.
    pub version: u64,
}

/// The order in which a backfill runs its fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BackfillOrder")]
pub enum Order {
    /// In the order of their nominal times.
    #[default]
    OldestFirst,
    /// The newest fire first: often the one that matters.
    NewestFirst,
}

/// Whether a backfill goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BackfillState")]
pub enum State {
    /// Fires are left to run, or runs have not ended.
    Running,
    /// Every fire is handled and every run has ended.
    Done,
    /// A caller cancelled the backfill, or its schedule is gone.
    Cancelled,
}

/// The fires of a past time range, run now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Backfill", deny_unknown_fields)]
pub struct BackfillView {
    /// Name of the backfill, unique for its schedule.
    pub backfill_id: String,
    /// The schedule whose fires run.
    pub schedule_id: ScheduleId,
    /// Start of the range, included.
    pub from: Instant,
    /// End of the range, included.
    pub to: Instant,
    /// The order in which the fires run.
    pub order: Order,
    /// How many runs may go at once.
    pub max_concurrent: u32,
    /// Whether fires run again that ran at their time or in another backfill.
    pub rerun: bool,
    /// Whether the backfill goes on.
    pub state: State,
    /// Number of fires in the range.
    pub fires: u64,
    /// Fires left out because they ran at their time or in another backfill, or are left to the clock
    /// or to a backfill that was asked for before.
    pub already_ran: u64,
    /// Runs of this backfill that succeeded.
    pub succeeded: u64,
    /// Runs of this backfill that failed or were abandoned.
    pub failed: u64,
    /// Runs of this backfill that were not launched.
    pub skipped: u64,
    /// Fires not looked at yet; a cancelled backfill leaves them out.
    pub remaining: u64,
    /// Runs of this backfill that are under way.
    pub active: Vec<RunId>,
    /// When the backfill was asked for.
    #[serde(with = "instant::observed")]
    #[schemars(with = "Instant")]
    pub created_at: Instant,
    /// User who asked for the backfill.
    pub created_by: String,
}

/// What a backfill would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct BackfillPreview {
    /// Always `true`.
    pub dry_run: bool,
    /// Name the backfill would have.
    pub backfill_id: String,
    /// Number of fires in the range.
    pub fires: u64,
    /// Fires that would be left out because they ran at their time or in another backfill, or are left
    /// to the clock or to a backfill that was asked for before.
    pub already_ran: u64,
    /// Runs that would be launched; none if the same was asked for before.
    pub launches: u64,
    /// State of the backfill, if the same was asked for before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// The oldest fire of the range.
    pub first: Option<Instant>,
    /// The newest fire of the range.
    pub last: Option<Instant>,
    /// The order in which the fires would run.
    pub order: Order,
    /// How many runs might go at once.
    pub max_concurrent: u32,
}

/// Those of `fires` that the clock itself is still going to run: they are due, no tick has come to them
/// yet, and they are within the grace, or the catch-up policy launches them. A paused clock launches at
/// its resume what its policy catches up.
pub fn left_to_the_clock(
    clock: &Clock,
    fires: &[Instant],
    grace: Duration,
    now: Instant,
) -> BTreeSet<Instant> {
    let (Some(next), Ok(readable)) = (clock.next_run_at, clock.read()) else {
        return BTreeSet::new();
    };
    let (timetable, second) = (&readable.timetable, Duration::seconds(1));
    // Fires before this are missed. A resume knows no grace.
    let overdue = if clock.paused { now + second } else { now - grace };
    let window = clock.policies.catchup_window_s.and_then(|s| i64::try_from(s).ok());
    let window = window.and_then(Duration::try_seconds).map_or(next, |window| now - window);
    let from = match clock.policies.catchup_policy {
        Catchup::None => overdue,
        Catchup::FireImmediately | Catchup::Spread => window,
        Catchup::Once => {
            let end = clock.timing.end_at.map_or(overdue, |end| overdue.min(end + second));
            timetable.prev_before(end).map_or(overdue, |newest| newest.max(window))
        }
    };
    let from = from.min(overdue).max(next);
    let is_fire =
        |at: Instant| timetable.prev_before(at + second) == Some(at) && clock.timing.in_window(at);
    fires.iter().filter(|at| **at >= from && is_fire(**at)).copied().collect()
}

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The backfill's record after this step.
    pub after: Backfill,
    /// The runs to create. A run that already exists is left as it is.
    pub launch: Vec<RunId>,
}

impl Backfill {
    /// The id of a backfill of this time range. Requesting the same range again gives the same
    /// backfill, unless the caller gives it a different name in `called`. A schedule that is created
    /// again under the same id has backfills of its own.
    pub fn name(clock: &Clock, from: Instant, to: Instant, called: &str) -> String {
        let [from, to] = [from, to].map(instant::text);
        let (owner, created_at) = (&clock.owner, instant::observed_text(clock.created_at));
        let what = json!([owner, created_at, from, to, called]).to_string();
        hex::encode(Sha256::digest(what))[..12].to_owned()
    }

    /// Whether this is a backfill of the schedule with this clock, and not of an earlier one of the
    /// same id.
    pub fn is_of(&self, clock: &Clock) -> bool {
        let [anchor, created_at] = [self.anchor, clock.created_at].map(instant::text);
        self.owner == clock.owner && anchor == created_at
    }

    /// The fires of the backfill, in its order. `None` if there are more than [`MAX_FIRES`].
    pub fn fires(&self, schedule: &ScheduleId) -> Option<Vec<Instant>> {
        let Ok(readable) = self.timing.read(schedule, self.anchor) else {
            return Some(Vec::new());
        };
        let fires = readable.timetable.fires_between(self.from, self.to);
        let fires = fires.filter(|at| self.timing.in_window(*at));
        let mut fires: Vec<_> = fires.take(MAX_FIRES + 1).collect();
        if fires.len() > MAX_FIRES {
            return None;
        }
        if self.order == Order::NewestFirst {
            fires.reverse();
        }
        Some(fires)
    }

    /// The id of the run for one of its fires.
    pub fn run_id(&self, schedule: &ScheduleId, run_at: Instant) -> RunId {
        RunId::caused(schedule, run_at, Cause::backfill(&self.backfill_id))
    }

    /// The options in which two backfills of the same id differ, with those of `self`.
    pub fn differences(&self, other: &Backfill, schedule: &ScheduleId) -> Vec<String> {
        let word = |order: Order| serde_json::to_value(order).unwrap_or_default();
        let payload = |backfill: &Backfill| match &backfill.payload {
            Some(_) => "`payload` is another".to_owned(),
            None => "`payload` is the schedule's".to_owned(),
        };
        let mut found = Vec::new();
        if self.rerun != other.rerun {
            found.push(format!("`rerun` is {}", self.rerun));
        }
        if self.order != other.order {
            found.push(format!("`order` is {}", word(self.order)));
        }
        if self.max_concurrent != other.max_concurrent {
            found.push(format!("`max_concurrent` is {}", self.max_concurrent));
        }
        if self.payload != other.payload {
            found.push(payload(self));
        }
        let sorted = |backfill: &Backfill| {
            let in_order = Backfill { order: Order::OldestFirst, ..backfill.clone() };
            in_order.fires(schedule)
        };
        if sorted(self) != sorted(other) {
            found.push("the schedule had other fires in the range then".to_owned());
        }
        found
    }

    /// Whether nothing is left to do: it makes no more runs, and all its runs have ended.
    pub fn is_over(&self) -> bool {
        self.state != State::Running && self.active.is_empty()
    }

    /// Whether another backfill may have, or may get, runs of fires of this one.
    pub fn is_beside(&self, other: &Backfill) -> bool {
        let overlaps = self.from <= other.to && other.from <= self.to;
        self.backfill_id != other.backfill_id && self.owner == other.owner && overlaps
    }

    /// The fires that this one leaves to `other`, which was asked for before and has not come to them
    /// yet. If each of the two took what it comes to first, a dry run could not say what happens.
    pub fn leaves_to(&self, other: &Backfill, schedule: &ScheduleId) -> BTreeSet<Instant> {
        let age = |backfill: &Backfill| (backfill.created_at, backfill.backfill_id.clone());
        if other.state != State::Running || age(self) < age(other) {
            return BTreeSet::new();
        }
        let fires = other.fires(schedule).unwrap_or_default();
        fires.into_iter().skip(other.position as usize).collect()
    }

    /// Decides the next step. `states` has the status of each active fire whose run exists. `ran`
    /// has those of the next [`LOOKED_AT`] fires that ran, or will run, without this backfill. A
    /// cancelled backfill only counts how its runs end.
    pub fn next_step(
        &self,
        schedule: &ScheduleId,
        fires: &[Instant],
        states: &BTreeMap<String, Status>,
        ran: &BTreeSet<Instant>,
    ) -> Step {
        let mut after = self.clone();
        let mut launch = Vec::new();
        for key in &self.active {
            match states.get(key) {
                Some(status) if status.is_terminal() => {
                    after.active.remove(key);
                    *after.ended.entry(status.as_str().to_owned()).or_default() += 1;
                }
                Some(_) => {}
                None if self.state != State::Running => {}
                // The process that decided on this run crashed before it created the run.
                None => launch.extend(instant::parse(key).map(|at| self.run_id(schedule, at))),
            }
        }
        let rest = fires.get(self.position as usize..).filter(|_| self.state == State::Running);
        let rest = rest.unwrap_or_default();
        for at in rest.iter().take(LOOKED_AT) {
            if !self.rerun && ran.contains(at) {
                after.already_ran += 1;
            } else if after.active.len() < self.max_concurrent as usize {
                after.active.insert(instant::text(*at));
                launch.push(self.run_id(schedule, *at));
            } else {
                break;
            }
            after.position += 1;
        }
        let is_through = after.active.is_empty() && after.position >= fires.len() as u64;
        if self.state == State::Running && is_through {
            after.state = State::Done;
        }
        after.version += 1;
        Step { after, launch }
    }

    /// The backfill as the API shows it.
    pub fn view(&self, schedule: &ScheduleId) -> BackfillView {
        let ended = |status: Status| self.ended.get(status.as_str()).copied().unwrap_or(0);
        let active = self.active.iter().filter_map(|key| instant::parse(key));
        let run_ids = active.map(|at| self.run_id(schedule, at));
        BackfillView {
            backfill_id: self.backfill_id.clone(),
            schedule_id: schedule.clone(),
            from: instant::whole_second(self.from),
            to: instant::whole_second(self.to),
            order: self.order,
            max_concurrent: self.max_concurrent,
            rerun: self.rerun,
            state: self.state,
            fires: self.total,
            already_ran: self.already_ran,
            succeeded: ended(Status::Success),
            failed: ended(Status::Failed) + ended(Status::Abandoned),
            skipped: ended(Status::Skipped),
            remaining: self.total - self.position,
            active: run_ids.collect(),
            created_at: self.created_at,
            created_by: self.created_by.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
