//! The ledger: compares every fire that a schedule should have had with the run records.
//!
//! A fire is explained if and only if its record says what happened to it, a summary of missed
//! fires counts it, or the schedule was paused. All other fires are unexplained. A record of a fire
//! that no definition had is unexplained too.

use std::collections::BTreeMap;

use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fire::expected::{Expected, Timeline};
use crate::id::RunId;
use crate::instant::{self, Instant};
use crate::run::trace::Trace;
use crate::run::{Missed, Reason, Status, Trigger};
use crate::words::Words;

/// A run is on time if it starts no later than this after its intended time.
pub const ON_TIME: Duration = Duration::seconds(1);
/// The most unexplained fires that a response lists. A longer list would not tell more.
const MAX_LISTED: usize = 1000;

/// What happened to the fires of a schedule in a time window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// The number of fires that the schedule should have had. It is the sum of `by_reason`, plus
    /// those of `unexplained` that are fires and not records or definitions.
    pub expected: u64,
    /// The number of explained fires, by what happened to them.
    pub by_reason: BTreeMap<Fate, u64>,
    /// The number of other runs: runs that a caller requested, and fires that a change of the
    /// schedule cancelled.
    pub extra: BTreeMap<Fate, u64>,
    /// The fires, records and definitions without an explanation, in order of time.
    pub unexplained: Vec<Unexplained>,
}

/// What became of a fire, or why there is a run beside the fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It succeeded and started within [`ON_TIME`] of its time.
    OnTime,
    /// It succeeded and started later than that.
    Late,
    /// It succeeded after an outage.
    CaughtUp,
    /// It failed.
    Failed,
    /// It was skipped: an earlier run held the slot.
    SkippedOverlap,
    /// It was skipped: too many runs waited.
    QueueFull,
    /// It was missed and not caught up.
    Missed,
    /// It fell into a pause.
    Paused,
    /// It was taken back by a deletion.
    Deleted,
    /// It was taken back by an edit.
    Superseded,
    /// It was taken back with its backfill.
    Cancelled,
    /// It was to follow a run that did not succeed.
    Upstream,
    /// It was skipped and its record does not say why.
    Skipped,
    /// It was lost and could not be recovered.
    Abandoned,
    /// It has not ended yet.
    InFlight,
    /// Its time has not come, or has just come.
    Pending,
    /// Its record may have expired.
    Expired,
    /// A caller asked for it.
    Manual,
    /// A backfill asked for it.
    Backfill,
    /// The catch-up asked for it.
    Catchup,
    /// A run of another schedule succeeded.
    After,
    /// It launched under an earlier definition.
    BeforeChange,
}

impl Words for Fate {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Fate::OnTime => ("On time", "Succeeded, started within a second of its time."),
            Fate::Late => ("Late", "Succeeded, started more than a second after its time."),
            Fate::CaughtUp => ("Caught up", "Succeeded, launched after an outage."),
            Fate::Failed => ("Failed", "Launched, or tried, and failed."),
            Fate::SkippedOverlap => ("Overlap", "Skipped: an earlier run was still going."),
            Fate::QueueFull => ("Queue full", "Skipped: too many runs were waiting already."),
            Fate::Missed => ("Missed", "Passed in an outage, and not caught up."),
            Fate::Paused => ("Paused", "Fell into a pause."),
            Fate::Deleted => ("Deleted", "Taken back when the schedule was deleted."),
            Fate::Superseded => ("Superseded", "Taken back when the definition changed."),
            Fate::Cancelled => ("Cancelled", "Taken back when its backfill was cancelled."),
            Fate::Upstream => ("Upstream", "Not launched: the run it follows did not succeed."),
            Fate::Skipped => ("Skipped", "Not launched, and the record does not say why."),
            Fate::Abandoned => ("Abandoned", "Lost, and could not be recovered."),
            Fate::InFlight => ("In flight", "Has not ended yet."),
            Fate::Pending => ("Pending", "Still to come."),
            Fate::Expired => ("Expired", "Older than run records are kept."),
            Fate::Manual => ("By hand", "A run that a caller asked for."),
            Fate::Backfill => ("Backfill", "A run of a backfill."),
            Fate::Catchup => ("Catch-up", "A run that the catch-up added."),
            Fate::After => ("After another", "A run that followed a run of another schedule."),
            Fate::BeforeChange => {
                ("Before a change", "Launched under a definition that has changed since.")
            }
        }
    }
}

impl From<Reason> for Fate {
    fn from(reason: Reason) -> Fate {
        match reason {
            Reason::Missed => Fate::Missed,
            Reason::Overlap => Fate::SkippedOverlap,
            Reason::QueueFull => Fate::QueueFull,
            Reason::Paused => Fate::Paused,
            Reason::Deleted => Fate::Deleted,
            Reason::Superseded => Fate::Superseded,
            Reason::Cancelled => Fate::Cancelled,
            Reason::Upstream => Fate::Upstream,
            // Reasons of runs that were tried: nothing is skipped for one of them.
            Reason::LaunchFailed | Reason::WorkflowMissing | Reason::Executor => Fate::Skipped,
            Reason::Timeout | Reason::Lost => Fate::Skipped,
        }
    }
}

/// A fire or a record without an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Unexplained {
    /// Nominal time of the fire, or the start of the unknown definition.
    pub run_at: Instant,
    /// What is wrong with the fire or its record; see docs/ledger.md.
    pub why: Why,
}

/// What is wrong with a fire or a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The tick has moved past the fire, and there is no record: the fire was lost.
    NoRecord,
    /// The grace period is over, and the tick has not reached the fire yet. Nothing is lost so far.
    Overdue,
    /// The run was sent to the queue, and no launcher claimed it in time.
    NotLaunched,
    /// The run was launched and has not ended within its time limit.
    NotEnded,
    /// There is a record of a fire that no definition had.
    Unexpected,
    /// The definition of that time can no longer be parsed, so its fires are unknown.
    UnknownDefinition,
}

impl Words for Why {
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Why::NoRecord => ("No record", "The tick passed the fire and recorded no run of it."),
            Why::Overdue => ("Overdue", "The tick is late; nothing is lost yet."),
            Why::NotLaunched => {
                ("Not launched", "The run was handed over, and no launcher took it.")
            }
            Why::NotEnded => {
                ("Not ended", "The run was launched, and its longest runtime is over.")
            }
            Why::Unexpected => ("Unexpected", "There is a run, and no definition had this fire."),
            Why::UnknownDefinition => {
                ("Unknown definition", "The expression of then is no longer understood.")
            }
        }
    }
}

/// Counts by the words that the API has for them.
fn by_word(counts: &BTreeMap<Fate, u64>) -> BTreeMap<String, u64> {
    let word = |fate: &Fate| match serde_json::to_value(fate) {
        Ok(Value::String(word)) => word,
        _ => String::new(),
    };
    counts.iter().map(|(fate, count)| (word(fate), *count)).collect()
}

/// Every fire that a schedule should have had in a window, compared with its runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Ledger", deny_unknown_fields)]
pub struct LedgerView {
    /// Start of the window, included.
    pub from: Instant,
    /// End of the window, included.
    pub to: Instant,
    /// Number of fires that the schedule should have had.
    pub expected: u64,
    /// Explained fires by what became of them; see docs/ledger.md for the words.
    pub by_reason: BTreeMap<String, u64>,
    /// Runs besides the expected fires, by what they are.
    pub extra: BTreeMap<String, u64>,
    /// Number of fires and records without an explanation.
    pub unexplained_count: usize,
    /// Whether `unexplained` leaves some of them out.
    pub truncated: bool,
    /// Fires and records without an explanation, oldest first.
    pub unexplained: Vec<Unexplained>,
}

/// The rules and times by which the ledger classifies fires.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The current time.
    pub now: Instant,
    /// A fire that is younger than this needs no record yet.
    pub grace: Duration,
    /// A run is lost if no launcher claims it for this long.
    pub lost_after: Duration,
    /// How long a run may take. `None` if there is no limit.
    pub max_runtime: Option<Duration>,
    /// Records of fires before this instant may have expired.
    pub kept_since: Instant,
    /// The first fire that the tick has not handled yet.
    pub next_run_at: Option<Instant>,
}

impl Ledger {
    /// Compares the expected fires with the records of the same window. The records must be in
    /// order of time. A summary may begin before the window.
    pub fn reconcile(
        timeline: &Timeline,
        expected: &Expected,
        records: &[(RunId, Trace)],
        rules: &Rules,
    ) -> Ledger {
        let mut ledger = Ledger { expected: expected.fires.len() as u64, ..Ledger::default() };
        let (mut recorded, mut unrecorded) = (Vec::new(), Vec::new());
        let mut of_clock = records.iter().filter(|(id, _)| id.cause.is_none()).peekable();
        for fire in &expected.fires {
            while let Some((id, run)) = of_clock.next_if(|(id, _)| id.run_at < fire.run_at) {
                ledger.count_unexpected(timeline, expected, id.run_at, run, rules);
            }
            match of_clock.next_if(|(id, _)| id.run_at == fire.run_at) {
                Some((_, run)) => {
                    recorded.push(fire.run_at);
                    match fate(run, rules) {
                        Ok(fate) => count(&mut ledger.by_reason, fate),
                        Err(why) => ledger.blame(fire.run_at, why),
                    }
                }
                None if fire.paused => count(&mut ledger.by_reason, Fate::Paused),
                None => unrecorded.push(fire.run_at),
            }
        }
        for (id, run) in of_clock {
            ledger.count_unexpected(timeline, expected, id.run_at, run, rules);
        }
        for (_, run) in
            records.iter().filter(|(id, run)| id.cause.is_some() && run.missed.is_none())
        {
            let asked = match &run.trigger {
                Trigger::After(_) => Fate::After,
                Trigger::Backfill => Fate::Backfill,
                Trigger::Catchup => Fate::Catchup,
                // The clock's own fires have no cause.
                Trigger::Manual | Trigger::Schedule(_) => Fate::Manual,
            };
            count(&mut ledger.extra, asked);
        }
        let summaries = records.iter().filter_map(|(_, run)| run.missed);
        for run_at in ledger.count_summarised(summaries, &recorded, unrecorded) {
            ledger.count_unrecorded(run_at, rules);
        }
        for (from, _) in &expected.unknown {
            ledger.blame(*from, Why::UnknownDefinition);
        }
        ledger.unexplained.sort_by_key(|unexplained| unexplained.run_at);
        ledger
    }

    /// The ledger of a window of a schedule as the API shows it.
    pub fn view(&self, from: Instant, to: Instant) -> LedgerView {
        let listed = self.unexplained.iter().take(MAX_LISTED);
        let listed = listed
            .map(|one| Unexplained { run_at: instant::whole_second(one.run_at), why: one.why });
        LedgerView {
            from: instant::whole_second(from),
            to: instant::whole_second(to),
            expected: self.expected,
            by_reason: by_word(&self.by_reason),
            extra: by_word(&self.extra),
            unexplained_count: self.unexplained.len(),
            truncated: self.unexplained.len() > MAX_LISTED,
            unexplained: listed.collect(),
        }
    }

    /// Counts the fires that summaries explain, and returns the rest. A summary explains as many
    /// fires in its range as it counted, less those that have their own record.
    fn count_summarised(
        &mut self,
        summaries: impl Iterator<Item = Missed>,
        recorded: &[Instant],
        mut unrecorded: Vec<Instant>,
    ) -> Vec<Instant> {
        for Missed { first, last, count } in summaries {
            let within = |fires: &[Instant]| {
                fires.partition_point(|at| *at < first)..fires.partition_point(|at| *at <= last)
            };
            let stands_for = count.saturating_sub(within(recorded).len() as u64);
            let range = within(&unrecorded);
            let explained = (range.len() as u64).min(stands_for);
            if explained > 0 {
                *self.by_reason.entry(Fate::Missed).or_default() += explained;
            }
            unrecorded.drain(range.start..range.start + explained as usize);
        }
        unrecorded
    }

    fn count_unrecorded(&mut self, run_at: Instant, rules: &Rules) {
        if run_at > rules.now - rules.grace {
            count(&mut self.by_reason, Fate::Pending);
        } else if run_at < rules.kept_since {
            count(&mut self.by_reason, Fate::Expired);
        } else if rules.next_run_at.is_some_and(|next| next <= run_at) {
            self.blame(run_at, Why::Overdue);
        } else {
            self.blame(run_at, Why::NoRecord);
        }
    }

    /// Counts a record of a fire that the definition of that time does not have.
    fn count_unexpected(
        &mut self,
        timeline: &Timeline,
        expected: &Expected,
        run_at: Instant,
        run: &Trace,
        rules: &Rules,
    ) {
        let is_unknown = expected.unknown.iter().any(|(from, to)| (*from..=*to).contains(&run_at));
        let waits = matches!(run.status, Status::Enqueued | Status::Queued);
        let launched_before =
            || run.started_at.is_some_and(|start| timeline.had_fire(run.revision, run_at, start));
        match fate(run, rules) {
            // A launcher will judge it by the definition as it is then.
            Ok(fate) if is_unknown || waits || run.was_taken_back() => {
                count(&mut self.extra, fate);
            }
            Ok(_) if launched_before() => count(&mut self.extra, Fate::BeforeChange),
            _ => self.blame(run_at, Why::Unexpected),
        }
    }

    fn blame(&mut self, run_at: Instant, why: Why) {
        self.unexplained.push(Unexplained { run_at, why });
    }
}

fn count(counts: &mut BTreeMap<Fate, u64>, fate: Fate) {
    *counts.entry(fate).or_default() += 1;
}

/// What became of a fire, by its record.
fn fate(run: &Trace, rules: &Rules) -> Result<Fate, Why> {
    let started_on_time = run.started_at.is_some_and(|at| at <= run.launch_at + ON_TIME);
    let is_late = |since: Instant, limit: Duration| since + limit < rules.now;
    Ok(match run.status {
        Status::Success if run.trigger == Trigger::Catchup => Fate::CaughtUp,
        Status::Success if started_on_time => Fate::OnTime,
        Status::Success => Fate::Late,
        Status::Failed => Fate::Failed,
        Status::Abandoned => Fate::Abandoned,
        Status::Skipped => run.reason.map_or(Fate::Skipped, Fate::from),
        Status::Enqueued
            if is_late(
                run.launch_at.max(run.retry_at.unwrap_or(run.launch_at)),
                rules.lost_after,
            ) =>
        {
            return Err(Why::NotLaunched);
        }
        Status::Started
            if rules.max_runtime.is_some_and(|limit| {
                is_late(run.started_at.unwrap_or(run.launch_at), limit + rules.lost_after)
            }) =>
        {
            return Err(Why::NotEnded);
        }
        // Waiting for its turn takes as long as the runs before it.
        Status::Enqueued | Status::Queued | Status::Started => Fate::InFlight,
    })
}

#[cfg(test)]
mod tests;
