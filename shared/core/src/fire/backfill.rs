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
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::encoding::json_text;
use crate::id::{Cause, RunId, ScheduleId};
use crate::instant::{self, Instant};
use crate::run::Status;
use crate::schedule::{Clock, Timing};

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
    /// Fires left out because they ran at their time or in another backfill.
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
    /// Fires that would be left out because they ran at their time or in another backfill.
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

/// Whether the clock itself is about to run this fire: it is due, and no tick has come to it yet.
pub fn is_the_clocks(clock: &Clock, at: Instant, grace: Duration, now: Instant) -> bool {
    let is_ahead = clock.next_run_at.is_some_and(|next| next <= at);
    is_ahead && !clock.paused && now - at < grace
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
    /// backfill, unless the caller gives it a different name in `called`.
    pub fn name(from: Instant, to: Instant, called: &str) -> String {
        let what = format!("{}/{}/{called}", instant::text(from), instant::text(to));
        hex::encode(Sha256::digest(what))[..12].to_owned()
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
        self.backfill_id != other.backfill_id && overlaps
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
mod tests {
    use super::*;
    use crate::schedule::definition::tests::clock;

    fn schedule() -> ScheduleId {
        "nightly".parse().unwrap()
    }

    fn at(hour: i64) -> Instant {
        let midnight: Instant = "2026-01-01T00:00:00Z".parse().unwrap();
        midnight + chrono::Duration::hours(hour)
    }

    /// A backfill of six hourly fires, two at a time.
    fn backfill() -> Backfill {
        Backfill {
            backfill_id: "b".to_owned(),
            owner: "ann".to_owned(),
            created_by: "ann".to_owned(),
            created_at: at(48),
            from: at(0),
            to: at(5),
            order: Order::OldestFirst,
            max_concurrent: 2,
            rerun: false,
            payload: None,
            timing: clock("0 * * * *").timing,
            anchor: at(0),
            state: State::Running,
            total: 6,
            position: 0,
            already_ran: 0,
            ended: BTreeMap::new(),
            active: BTreeSet::new(),
            version: 1,
        }
    }

    fn hours(launch: &[RunId]) -> Vec<i64> {
        launch.iter().map(|id| (id.run_at - at(0)).num_hours()).collect()
    }

    #[test]
    fn it_goes_through_its_fires_never_more_than_it_may_at_once() {
        for order in [Order::OldestFirst, Order::NewestFirst] {
            let mut backfill = Backfill { order, ..backfill() };
            let fires = backfill.fires(&schedule()).unwrap();
            let mut launched = Vec::new();
            while backfill.state == State::Running {
                assert!(backfill.active.len() <= 2);
                let ended = backfill.active.iter().cloned().map(|key| (key, Status::Success));
                let step =
                    backfill.next_step(&schedule(), &fires, &ended.collect(), &BTreeSet::new());
                launched.extend(hours(&step.launch));
                backfill = step.after;
            }
            let expected: Vec<i64> = match order {
                Order::OldestFirst => (0..6).collect(),
                Order::NewestFirst => (0..6).rev().collect(),
            };
            assert_eq!(launched, expected);
            assert_eq!(backfill.ended["SUCCESS"], 6);
        }
    }

    #[test]
    fn what_ran_by_itself_is_left_alone_unless_it_shall_run_again() {
        let ran = BTreeSet::from([at(0), at(2)]);
        let fires = backfill().fires(&schedule()).unwrap();
        let step = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &ran);
        assert_eq!((hours(&step.launch), step.after.already_ran), (vec![1, 3], 2));
        let again = Backfill { rerun: true, ..backfill() };
        let step = again.next_step(&schedule(), &fires, &BTreeMap::new(), &ran);
        assert_eq!((hours(&step.launch), step.after.already_ran), (vec![0, 1], 0));
    }

    #[test]
    fn a_run_decided_on_and_never_made_is_made() {
        let fires = backfill().fires(&schedule()).unwrap();
        let first = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &BTreeSet::new());
        let one = BTreeMap::from([("2026-01-01T00:00:00Z".to_owned(), Status::Started)]);
        let step = first.after.next_step(&schedule(), &fires, &one, &BTreeSet::new());
        assert_eq!((hours(&step.launch), step.after.position), (vec![1], 2));
    }

    #[test]
    fn a_cancelled_one_starts_nothing_and_counts_how_its_runs_end() {
        let fires = backfill().fires(&schedule()).unwrap();
        let first = backfill().next_step(&schedule(), &fires, &BTreeMap::new(), &BTreeSet::new());
        let cancelled = Backfill { state: State::Cancelled, ..first.after };
        let key = |hour| instant::text(at(hour));
        let states = BTreeMap::from([(key(0), Status::Success), (key(1), Status::Started)]);
        let step = cancelled.next_step(&schedule(), &fires, &states, &BTreeSet::new());
        assert_eq!((hours(&step.launch), step.after.state), (vec![], State::Cancelled));
        assert_eq!((step.after.active.len(), step.after.is_over()), (1, false));
        let states = BTreeMap::from([(key(1), Status::Failed)]);
        let step = step.after.next_step(&schedule(), &fires, &states, &BTreeSet::new());
        assert!(step.after.is_over());
        let view = step.after.view(&schedule());
        assert_eq!((view.succeeded, view.failed, view.remaining), (1, 1, 4));
        assert!(view.active.is_empty());
    }

    #[test]
    fn its_options_are_compared_one_by_one() {
        let one = backfill();
        let check = |other: Backfill, expected: &[&str]| {
            assert_eq!(one.differences(&other, &schedule()), expected);
        };
        check(Backfill { position: 3, version: 9, created_at: at(60), ..one.clone() }, &[]);
        check(Backfill { rerun: true, ..one.clone() }, &["`rerun` is false"]);
        let newest = Backfill { order: Order::NewestFirst, ..one.clone() };
        check(newest, &["`order` is \"oldest_first\""]);
        check(Backfill { max_concurrent: 3, ..one.clone() }, &["`max_concurrent` is 2"]);
        let paid = Backfill { payload: Some(Value::Null), ..one.clone() };
        check(paid, &["`payload` is the schedule's"]);
        let hourly = Backfill { timing: clock("30 * * * *").timing, ..one.clone() };
        check(hourly, &["the schedule had other fires in the range then"]);
    }

    #[test]
    fn a_fire_that_the_clock_is_about_to_run_is_the_clocks() {
        let grace = Duration::minutes(2);
        let check = |next: Option<i64>, paused: bool, late_s: i64, expected: bool| {
            let mut clock = clock("0 * * * *");
            (clock.next_run_at, clock.paused) = (next.map(at), paused);
            let now = at(5) + Duration::seconds(late_s);
            assert_eq!(is_the_clocks(&clock, at(5), grace, now), expected, "{next:?} {late_s}");
        };
        check(Some(5), false, 0, true);
        check(Some(4), false, 119, true);
        check(Some(5), false, 120, false);
        check(Some(6), false, 0, false);
        check(Some(5), true, 0, false);
        check(None, false, 0, false);
    }

    #[test]
    fn too_many_fires_are_several_backfills() {
        let long = Backfill { timing: clock("* * * * * *").timing, ..backfill() };
        assert_eq!(long.fires(&schedule()), None);
    }

    #[test]
    fn the_same_again_is_the_same_one() {
        let name = |called| Backfill::name(at(0), at(5), called);
        assert_eq!(name(""), name(""));
        assert_ne!(name(""), name("again"));
    }
}
