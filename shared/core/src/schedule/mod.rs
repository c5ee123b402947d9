//! A schedule as stored: the clock, small and hot, and the spec, cold and as large as its payload.

pub mod alert;
pub mod change;
pub mod definition;
pub mod diff;
pub mod fields;
pub mod house;
pub mod view;
pub mod warning;

use std::collections::{BTreeMap, BTreeSet};

use belfry_cron::{Cron, DstFold, DstGap, Timetable, Zone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::encoding::json_text;
use crate::id::{NodeId, RunId, ScheduleId, SetName, WorkflowId};
use crate::instant::{self, Instant};
use crate::schedule::alert::Destination;
use crate::words::Words;

/// A schedule as stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// What the tick reads and writes.
    pub clock: Clock,
    /// What its author wrote.
    pub spec: Spec,
}

/// What the tick reads and writes of a schedule. Stays under a kilobyte: its size is paid at every
/// fire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// The schedule.
    pub schedule_id: ScheduleId,
    /// Who made it: the message group of its fires.
    pub owner: String,
    /// Counts the acknowledged changes of the definition.
    pub revision: u64,
    /// Which fires exist.
    #[serde(flatten)]
    pub timing: Timing,
    /// What happens to them.
    #[serde(flatten)]
    pub policies: Policies,
    /// What they launch.
    pub workflow_id: WorkflowId,
    /// Which version of it.
    pub version: u32,
    /// A paused schedule is not in the due index and launches nothing by itself.
    #[serde(default)]
    pub paused: bool,
    /// Whether the log says that its zone is lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub zone_lost: bool,
    /// When it was made: `rate()` counts from here if there is no `start_at`.
    #[serde(with = "instant::required")]
    pub created_at: Instant,
    /// The first fire the tick has not dealt with. `None`: there is none.
    #[serde(default, with = "instant::optional", skip_serializing_if = "Option::is_none")]
    pub next_run_at: Option<Instant>,
    /// The newest fire the tick has dealt with.
    #[serde(default, with = "instant::optional", skip_serializing_if = "Option::is_none")]
    pub last_run_at: Option<Instant>,
    /// Its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run_id: Option<RunId>,
    /// Sort keys of the runs that hold a slot, for the policies that count them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub active: BTreeSet<String>,
    /// The schedules that run when a run of this one succeeds.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub then: BTreeSet<ScheduleId>,
    /// The run that took a slot last: under `queue`, every run before it has had its turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_claimed: Option<String>,
    /// Whether the newest run that ended failed. The owner's list of failing schedules has a row for
    /// it then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failing: bool,
}

/// What the user wrote and only the user changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// What the user added to timing and policies.
    #[serde(flatten)]
    pub options: Options,
    /// What every run is given.
    #[serde(with = "json_text")]
    pub payload: Value,
    /// The declared set it belongs to. Changed by declaring, adopting and releasing, by nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<SetName>,
    /// Why it was paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_note: Option<String>,
    /// When the pause ends by itself.
    #[serde(default, with = "instant::optional", skip_serializing_if = "Option::is_none")]
    pub pause_until: Option<Instant>,
    /// The change that wrote this.
    pub revision: u64,
    /// When that was.
    pub updated_at: Instant,
}

/// What a user may add to a schedule: everything that is neither timing nor policy. The tick does not
/// need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For people and filters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Whether the target is told about schedule, run and upcoming fires.
    pub inject_metadata: bool,
    /// How often a launch is tried before its run has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u32>,
    /// How long a tracked run may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_runtime_s: Option<u32>,
    /// How many failures in a row pause the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_after_failures: Option<u32>,
    /// How many failures in a row are told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_after_failures: Option<u32>,
    /// Where they are told, besides the bus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert_to: Option<Destination>,
    /// The schedule whose successful runs this one follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_schedule_id: Option<ScheduleId>,
    /// The trigger node of the workflow that the schedule belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_node_id: Option<NodeId>,
}

impl Options {
    /// How long a tracked run may take, if the schedule says so.
    pub fn max_runtime(&self) -> Option<chrono::Duration> {
        self.max_runtime_s.map(|seconds| chrono::Duration::seconds(i64::from(seconds)))
    }
}

/// Which fires a schedule has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// As the user wrote it. Empty: it has no fires of its own, and only follows another schedule.
    pub cron_expr: String,
    /// An IANA name.
    pub timezone: String,
    /// No fire before it; a fire at this very second happens.
    #[serde(default, with = "instant::optional", skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Instant>,
    /// No fire after it; a fire at this very second happens.
    #[serde(default, with = "instant::optional", skip_serializing_if = "Option::is_none")]
    pub end_at: Option<Instant>,
    /// Overrides what the expression's kind does in a gap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_gap: Option<DstGap>,
    /// Overrides what the expression's kind does in a fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dst_fold: Option<DstFold>,
}

/// What happens to a schedule's fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policies {
    /// How far from its nominal time a fire may start, either way.
    pub jitter_ms: u32,
    /// What happens when the previous run is still going.
    pub overlap_policy: Overlap,
    /// How many runs may go at once under `skip` and `queue`.
    pub max_concurrent: u32,
    /// What happens to fires missed by more than the grace.
    pub catchup_policy: Catchup,
    /// Missed fires older than this are never caught up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub catchup_window_s: Option<u64>,
}

/// What happens when a fire's time comes while earlier runs are still going.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is recorded and not launched.
    Skip,
    /// It is launched beside them.
    Allow,
    /// It waits, and is launched when they have ended, in the order of the nominal times.
    Queue,
}

/// What happens to fires that were missed by more than the grace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "CatchupPolicy")]
pub enum Catchup {
    /// They are recorded as missed.
    None,
    /// The newest missed fire is launched, the others are recorded.
    Once,
    /// All are launched at once, oldest first, bounded per tick.
    FireImmediately,
    /// All are launched, evenly over the look-ahead window.
    Spread,
}

/// Whether a schedule fires, and if not why. Derived, never stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It fires.
    Active,
    /// Somebody paused it.
    Paused,
    /// It has not started yet.
    Pending,
    /// It has no fire left.
    Expired,
    /// Its stored expression is no longer understood.
    Invalid,
}

impl Words for Overlap {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Overlap::Skip => {
                ("Skip", "The fire is skipped, and its record names the run in its way.")
            }
            Overlap::Allow => ("Run beside it", "Every fire launches, however many are going."),
            Overlap::Queue => ("Wait", "The fire waits for its turn and launches in order."),
        }
    }
}

impl Words for Catchup {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Catchup::None => {
                ("Let them go", "Missed fires are recorded as missed, and nothing is launched.")
            }
            Catchup::Once => {
                ("Run once", "The newest missed fire is launched, the others are recorded.")
            }
            Catchup::FireImmediately => {
                ("Run all now", "All missed fires are launched at once, oldest first.")
            }
            Catchup::Spread => {
                ("Spread them", "All missed fires are launched, evenly over the look-ahead.")
            }
        }
    }
}

impl Words for DstGap {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            DstGap::Shift => ("Right after", "One fire right after the gap."),
            DstGap::Skip => ("Not at all", "No fire on that day."),
        }
    }
}

impl Words for DstFold {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            DstFold::First => ("Once", "The schedule fires the first time only."),
            DstFold::Both => ("Both times", "The schedule fires twice on that day."),
        }
    }
}

impl Words for Status {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Status::Active => ("Active", "The schedule fires."),
            Status::Paused => ("Paused", "The schedule does not fire until it is resumed."),
            Status::Pending => ("Pending", "The schedule's start has not come yet."),
            Status::Expired => ("Expired", "The schedule has no fire left."),
            Status::Invalid => ("Invalid", "The stored expression is no longer understood."),
        }
    }
}

/// Stands for an expression without fires: it had its only one long before there were schedules.
const NO_FIRES: &str = "at(1970-01-01T00:00:00)";

/// A stored schedule's timetable, and what had to give way to make one.
pub struct Readable {
    /// When it fires.
    pub timetable: Timetable,
    /// The stored zone is gone from the zone data; UTC stands in for it, visibly.
    pub zone_lost: bool,
}

impl Timing {
    /// The timetable of this timing. `Err`: the stored expression no longer parses.
    pub fn read(
        &self,
        seed: &ScheduleId,
        created_at: Instant,
    ) -> Result<Readable, belfry_cron::CronError> {
        let text = if self.is_silent() { NO_FIRES } else { &self.cron_expr };
        let cron = Cron::recall(text, seed.as_str())?;
        let zone = Zone::parse(&self.timezone);
        let zone_lost = zone.is_err();
        let timetable = Timetable::new(cron, zone.unwrap_or(Zone::UTC))
            .with_dst(self.dst_gap, self.dst_fold)
            .with_anchor(self.start_at.unwrap_or(created_at));
        Ok(Readable { timetable, zone_lost })
    }

    /// Whether it has no fires of its own.
    pub fn is_silent(&self) -> bool {
        self.cron_expr.is_empty()
    }

    /// Whether a fire at `at` lies between start and end, both included.
    pub fn in_window(&self, at: Instant) -> bool {
        self.start_at.is_none_or(|start| start <= at) && self.end_at.is_none_or(|end| at <= end)
    }

    /// The first fire strictly after `after` that lies in the window.
    pub fn next_after(&self, timetable: &Timetable, after: Instant) -> Option<Instant> {
        let just_before_start = self.start_at.map(|start| start - chrono::Duration::seconds(1));
        let after = just_before_start.map_or(after, |start| after.max(start));
        timetable.next_after(after).filter(|at| self.in_window(*at))
    }
}

impl Clock {
    /// The timetable of this schedule.
    pub fn read(&self) -> Result<Readable, belfry_cron::CronError> {
        self.timing.read(&self.schedule_id, self.created_at)
    }

    /// Whether a fire at `at` belongs to the definition as it is now.
    pub fn has_fire_at(&self, at: Instant) -> bool {
        self.timing.in_window(at)
            && self.read().is_ok_and(|readable| readable.timetable.contains(at))
    }

    /// What the schedule is doing at `now`. A schedule whose last fire has passed may still have a
    /// run that is going, `is_going`: it has not expired before that run ended.
    pub fn status(&self, now: Instant, is_going: bool) -> Status {
        let Ok(readable) = self.read() else { return Status::Invalid };
        let has_fires = || {
            self.next_run_at.is_some() || self.timing.next_after(&readable.timetable, now).is_some()
        };
        if self.paused {
            Status::Paused
        } else if self.timing.start_at.is_some_and(|start| now < start) {
            Status::Pending
        } else if self.timing.is_silent() || is_going || has_fires() {
            Status::Active
        } else {
            Status::Expired
        }
    }
}
