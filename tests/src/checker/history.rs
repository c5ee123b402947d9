//! A history: the requests to the system, the calls it made, and the records it left behind.

use belfry_cron::{Cron, Timetable, Zone};
use chrono::{DateTime, Duration, Utc};
use serde_json::Value;

/// An instant of the true time, from which the functions' clocks may differ.
pub(crate) type Instant = DateTime<Utc>;

/// Everything that happened.
#[derive(Clone, Debug)]
pub struct History {
    /// The limits by which it is judged.
    pub rules: Rules,
    /// Every schedule that existed.
    pub schedules: Vec<Schedule>,
    /// The calls to executors, in order.
    pub calls: Vec<Call>,
    /// What the executors did.
    pub executions: Vec<Execution>,
    /// Every state a run's record went through, in order. Empty if the records were not watched.
    pub records: Vec<Record>,
    /// Runs that had no record when a message with their name was sent.
    pub sent_early: Vec<String>,
}

/// What the deployment promises, and the disturbances around it.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The largest error of a function's clock.
    pub skew: Duration,
    /// A fire late by less still runs, without catch-up.
    pub grace: Duration,
    /// How long a claim holds.
    pub lease: Duration,
    /// How long a tracked run may take at most, whatever its schedule says.
    pub runtime: Duration,
    /// When the last disturbance was over.
    pub calm_at: Instant,
    /// Fires later than this are not judged, because their time has not come.
    pub until: Instant,
}

/// A schedule's life.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Its id.
    pub id: String,
    /// The changes of its definition, one after the other.
    pub changes: Vec<Change>,
    /// Runs requested by hand.
    pub triggers: Vec<Trigger>,
    /// The records of its runs, oldest first.
    pub runs: Vec<Run>,
    /// Runs that hold a slot at the end.
    pub active: Vec<String>,
    /// The fires its ledger cannot explain at the end.
    pub unexplained: Vec<String>,
    /// Its statistics from the API at the end.
    pub stats: Option<Value>,
}

/// A change of a definition, from the first request to the answer.
#[derive(Clone, Debug)]
pub struct Change {
    /// When it was first requested.
    pub from: Instant,
    /// When the last answer came.
    pub to: Instant,
    /// Whether that answer was a success. If not, the change may have happened, but was not
    /// acknowledged.
    pub acknowledged: bool,
    /// The definition afterwards; `None` if the schedule was deleted.
    pub definition: Option<Definition>,
}

/// A definition as its user wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its cron expression.
    pub cron_expr: String,
    /// Its time zone.
    pub timezone: String,
    /// Its end: no fire is later.
    pub end_at: Instant,
    /// Whether it is paused.
    pub paused: bool,
    /// `allow`, `skip` or `queue`.
    pub overlap_policy: String,
    /// The number of concurrent runs.
    pub max_concurrent: usize,
    /// The catch-up policy.
    pub catchup_policy: String,
    /// How far from its time a fire may start.
    pub jitter_ms: i64,
    /// Distinguishes this definition's payload from others.
    pub payload: i64,
}

impl Definition {
    /// The parsed expression in its zone.
    pub fn timetable(&self, id: &str) -> Timetable {
        let cron = Cron::parse(&self.cron_expr, id).expect("the history's own expression");
        Timetable::new(cron, Zone::parse(&self.timezone).expect("the history's own zone"))
    }

    /// Whether it has a fire at `at`, paused or not.
    pub fn has(&self, id: &str, at: Instant) -> bool {
        at <= self.end_at && self.timetable(id).contains(at)
    }
}

/// A run requested by hand.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// When it was first requested.
    pub from: Instant,
    /// The runs that the answers named: one, if the idempotency key works.
    pub run_ids: Vec<String>,
}

/// What the launcher received of an executor's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The launcher received a success and had no trouble afterwards.
    Accepted,
    /// The launcher received a success; then it died, or one of its later calls was disturbed.
    AcceptedThenTrouble,
    /// The launcher received a refusal.
    Refused,
    /// The launcher received no answer.
    Lost,
}

/// A launch as its executor saw it.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it arrived.
    pub at: Instant,
    /// When it was answered, or its caller died.
    pub until: Instant,
    /// The run.
    pub run_id: String,
    /// Its idempotency key.
    pub key: String,
    /// The fence it carried.
    pub fence: u64,
    /// The payload it carried.
    pub payload: i64,
    /// Whether it started something.
    pub effective: bool,
    /// What the launcher received.
    pub answer: Answer,
    /// Whether the executor reports the end.
    pub tracked: bool,
}

/// The execution of a tracked run.
#[derive(Clone, Debug)]
pub struct Execution {
    /// The run.
    pub run_id: String,
    /// When it began.
    pub from: Instant,
    /// When it ended; `None` if it never did.
    pub to: Option<Instant>,
}

/// A state of a run's record, as it was written.
#[derive(Clone, Debug)]
pub struct Record {
    /// When it was written.
    pub at: Instant,
    /// The run.
    pub run_id: String,
    /// Its state.
    pub status: String,
    /// Its fence.
    pub attempt: u64,
    /// When it was last claimed, by the clock of its holder: the lease counts from there, although
    /// the write may arrive seconds later.
    pub claimed_at: Option<Instant>,
    /// Whether a change of the schedule ended it.
    pub cancelled: bool,
}

/// The record of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its id.
    pub run_id: String,
    /// Its nominal time.
    pub run_at: Instant,
    /// Its cause, if it is not one of the clock's fires.
    pub cause: Option<String>,
    /// Its status.
    pub status: String,
    /// Its reason.
    pub reason: Option<String>,
    /// When the record was made, by the clock of the function that made it.
    pub enqueued_at: Instant,
    /// When it ended, by the clock of the function that ended it.
    pub finished_at: Option<Instant>,
    /// For a summary, the first and the last fire it covers.
    pub missed: Option<(Instant, Instant)>,
    /// For a summary, how many fires it covers.
    pub missed_count: u64,
    /// The overlap policy it requested itself.
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
            run_at: at.parse().expect("a run's time is valid"),
            cause,
            status: text("status").expect("a run has a state"),
            reason: text("reason"),
            enqueued_at: time("enqueued_at").expect("a run has a creation time"),
            finished_at: time("finished_at"),
            missed: bound("first").zip(bound("last")),
            missed_count: number(&missed["count"]),
            overlap_policy: text("overlap_policy"),
            recoveries: number(&item["recovery"]["M"]["attempts"]),
        }
    }

    /// Whether its status is final.
    pub fn is_over(&self) -> bool {
        is_over(&self.status)
    }

    /// Whether a change of its schedule cancelled it before it launched.
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
    /// The fires that a ledger from the API cannot explain.
    pub fn unexplained(ledger: &Value) -> Vec<String> {
        let listed = ledger["unexplained"].as_array().expect("a ledger lists unexplained fires");
        listed.iter().map(Value::to_string).collect()
    }

    /// The definitions that may have been in force at some moment of `from..=to`: each from the
    /// request that made it to the answer to the request that replaced it.
    pub(super) fn in_force(&self, from: Instant, to: Instant) -> impl Iterator<Item = &Definition> {
        let ends = self.changes.iter().skip(1).map(|next| match next.acknowledged {
            true => Some(next.to),
            // An unacknowledged change may take effect at any later time.
            false => None,
        });
        self.changes
            .iter()
            .zip(ends.chain([None]))
            .filter(move |(change, end)| change.from <= to && end.is_none_or(|end| from <= end))
            .filter_map(|(change, _)| change.definition.as_ref())
    }

    /// The run with this id.
    pub(super) fn run(&self, run_id: &str) -> Option<&Run> {
        self.runs.iter().find(|run| run.run_id == run_id)
    }

    /// The calls to executors for this schedule's runs.
    pub(super) fn calls<'a>(&'a self, history: &'a History) -> impl Iterator<Item = &'a Call> {
        history.calls.iter().filter(|call| schedule_of(&call.run_id) == self.id)
    }
}

/// The schedule a run belongs to.
pub(super) fn schedule_of(run_id: &str) -> &str {
    run_id.split('@').next().unwrap_or_default()
}
