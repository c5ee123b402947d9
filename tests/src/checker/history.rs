//! A history: what was asked of the system, what it asked of others, and what it left behind.

use belfry_cron::{Cron, Timetable, Zone};
use chrono::{DateTime, Duration, Utc};
use serde_json::Value;

/// An instant of the true time, which no clock of a function need agree with.
pub(crate) type Instant = DateTime<Utc>;

/// All that happened.
#[derive(Clone, Debug)]
pub struct History {
    /// By what it is judged.
    pub rules: Rules,
    /// Every schedule there was.
    pub schedules: Vec<Schedule>,
    /// What executors were asked, in order.
    pub calls: Vec<Call>,
    /// What they did.
    pub executions: Vec<Execution>,
    /// Every state a run's record went through, in order. Empty if nobody watched.
    pub records: Vec<Record>,
}

/// What the deployment promises, and what its surroundings do to it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// No function's clock is further from the true time.
    pub skew: Duration,
    /// A fire late by less is simply late.
    pub grace: Duration,
    /// How long a claim holds.
    pub lease: Duration,
    /// Fires later than this are not judged: their time has not come.
    pub until: Instant,
}

/// A schedule's life.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Its name.
    pub id: String,
    /// The changes of its definition, one after the other.
    pub changes: Vec<Change>,
    /// Runs asked for by hand.
    pub triggers: Vec<Trigger>,
    /// What is recorded of its runs, oldest first.
    pub runs: Vec<Run>,
    /// Runs that hold a slot at the end.
    pub active: Vec<String>,
    /// What its ledger cannot explain at the end.
    pub unexplained: Vec<String>,
    /// Its statistics as the API tells them at the end.
    pub stats: Option<Value>,
}

/// A change of a definition, from the first request to the answer.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it was first asked for.
    pub from: Instant,
    /// When the last answer came.
    pub to: Instant,
    /// Whether that answer was a yes; otherwise the change stands but nobody promised anything.
    pub acknowledged: bool,
    /// What holds afterwards. `None`: the schedule is gone.
    pub definition: Option<Definition>,
}

/// What a user wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// When it fires.
    pub cron_expr: String,
    /// Where.
    pub timezone: String,
    /// No fire after it.
    pub end_at: Instant,
    /// Whether it is paused.
    pub paused: bool,
    /// `allow`, `skip` or `queue`.
    pub overlap_policy: String,
    /// Runs at once.
    pub max_concurrent: usize,
    /// What happens to missed fires.
    pub catchup_policy: String,
    /// How far from its time a fire may start.
    pub jitter_ms: i64,
    /// Tells one definition's payload from another's.
    pub payload: i64,
}

impl Definition {
    /// When it fires.
    pub fn timetable(&self, id: &str) -> Timetable {
        let cron = Cron::parse(&self.cron_expr, id).expect("the history's own expression");
        Timetable::new(cron, Zone::parse(&self.timezone).expect("the history's own zone"))
    }

    /// Whether it has a fire at `at`, paused or not.
    pub fn has(&self, id: &str, at: Instant) -> bool {
        at <= self.end_at && self.timetable(id).contains(at)
    }
}

/// A run asked for by hand.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// When it was first asked for.
    pub from: Instant,
    /// The runs that answers named: one, if the caller's key holds.
    pub run_ids: Vec<String>,
}

/// How an executor's answer arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The launcher heard a yes and had no trouble afterwards.
    Accepted,
    /// The launcher heard a yes; then it died, or a later call of it was disturbed.
    AcceptedThenTrouble,
    /// The launcher heard a no.
    Refused,
    /// The launcher heard nothing.
    Lost,
}

/// A launch as its executor saw it.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it arrived.
    pub at: Instant,
    /// When its answer was given, or its caller died.
    pub until: Instant,
    /// Which run.
    pub run_id: String,
    /// Its key.
    pub key: String,
    /// The fence it carried.
    pub fence: u64,
    /// The payload it carried.
    pub payload: i64,
    /// Whether it started something.
    pub effective: bool,
    /// What the launcher heard.
    pub answer: Answer,
    /// Whether the executor reports the end.
    pub tracked: bool,
}

/// What an executor did about a run it tracks.
#[derive(Clone, Debug)]
pub struct Execution {
    /// Which run.
    pub run_id: String,
    /// When it began.
    pub from: Instant,
    /// When it ended; `None`: it never did.
    pub to: Option<Instant>,
}

/// A state of a run's record, as it was written.
#[derive(Clone, Debug)]
pub struct Record {
    /// When.
    pub at: Instant,
    /// Which run.
    pub run_id: String,
    /// Its state.
    pub status: String,
    /// Its fence.
    pub attempt: u64,
    /// When it was claimed last, by the clock of its holder: the lease counts from there, though the
    /// write may arrive seconds later.
    pub claimed_at: Option<Instant>,
    /// Whether a change of the schedule ended it.
    pub cancelled: bool,
}

/// What is recorded of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name.
    pub run_id: String,
    /// Its nominal time.
    pub run_at: Instant,
    /// Why it is beside its clock, if it is.
    pub cause: Option<String>,
    /// Where it stands.
    pub status: String,
    /// Why.
    pub reason: Option<String>,
    /// When the record was made, by the clock of its maker.
    pub enqueued_at: Instant,
    /// When it ended, by the clock of who ended it.
    pub finished_at: Option<Instant>,
    /// For a summary, the first and the last fire it stands for.
    pub missed: Option<(Instant, Instant)>,
    /// For a summary, how many it stands for.
    pub missed_count: u64,
    /// The overlap policy it asked for itself.
    pub overlap_policy: Option<String>,
    /// How often recovery sent it again.
    pub recoveries: u64,
}

impl Run {
    /// Reads an item of the runs table, in DynamoDB's JSON.
    pub fn read(item: &Value) -> Run {
        let text = |name: &str| item[name]["S"].as_str().map(str::to_owned);
        let time = |name: &str| text(name).and_then(|text| text.parse::<Instant>().ok());
        let key = text("run_at").expect("a run has a time");
        let (at, cause) = match key.split_once('~') {
            Some((at, cause)) => (at.to_owned(), Some(cause.to_owned())),
            None => (key.clone(), None),
        };
        let missed = &item["missed"]["M"];
        let bound = |name: &str| missed[name]["S"].as_str()?.parse::<Instant>().ok();
        let number = |value: &Value| value["N"].as_str().and_then(|n| n.parse().ok()).unwrap_or(0);
        Run {
            run_id: format!("{}@{key}", text("schedule_id").expect("a run has a schedule")),
            run_at: at.parse().expect("a run's time is one"),
            cause,
            status: text("status").expect("a run has a state"),
            reason: text("reason"),
            enqueued_at: time("enqueued_at").expect("a run was made some time"),
            finished_at: time("finished_at"),
            missed: bound("first").zip(bound("last")),
            missed_count: number(&missed["count"]),
            overlap_policy: text("overlap_policy"),
            recoveries: number(&item["recovery"]["M"]["attempts"]),
        }
    }

    /// Whether it changes no more.
    pub fn is_over(&self) -> bool {
        is_over(&self.status)
    }

    /// Whether a change of its schedule took it back before it launched.
    pub fn was_taken_back(&self) -> bool {
        let by_change = ["paused", "deleted", "superseded"];
        self.status == "SKIPPED" && self.reason.as_deref().is_some_and(|r| by_change.contains(&r))
    }
}

/// Whether a state is terminal.
pub(super) fn is_over(status: &str) -> bool {
    matches!(status, "SUCCESS" | "FAILED" | "SKIPPED" | "ABANDONED")
}

impl Schedule {
    /// What a ledger, as the API tells it, cannot explain.
    pub fn unexplained(ledger: &Value) -> Vec<String> {
        let listed = ledger["unexplained"].as_array().expect("a ledger lists what it lacks");
        listed.iter().map(Value::to_string).collect()
    }

    /// The definitions that may have been in force at some moment of `from..=to`: each from the
    /// request that made it to the answer to the one that replaced it.
    pub(super) fn in_force(&self, from: Instant, to: Instant) -> impl Iterator<Item = &Definition> {
        let ends = self.changes.iter().skip(1).map(|next| match next.acknowledged {
            true => Some(next.to),
            // Nobody promised when it would hold.
            false => None,
        });
        self.changes
            .iter()
            .zip(ends.chain([None]))
            .filter(move |(change, end)| change.from <= to && end.is_none_or(|end| from <= end))
            .filter_map(|(change, _)| change.definition.as_ref())
    }

    /// The run of this name.
    pub(super) fn run(&self, run_id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.run_id == run_id)
    }

    /// What executors were asked about this schedule's runs.
    pub(super) fn calls<'a>(&'a self, history: &'a History) -> impl Iterator<Item = &'a Call> {
        history.calls.iter().filter(|call| schedule_of(&call.run_id) == self.id)
    }
}

/// The schedule a run belongs to.
pub(super) fn schedule_of(run_id: &str) -> &str {
    run_id.split('@').next().unwrap_or_default()
}
