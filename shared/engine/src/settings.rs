//! Settings: read once through a lookup function, with all problems reported at once.

use std::str::FromStr;

use belfry_core::fire::plan::Horizon;
use belfry_core::guard::access::is_user;
use belfry_core::guard::network::Reachable;
use belfry_core::guard::own::Own;
use belfry_core::guard::quota::Quota;
use belfry_core::recovery::Limits;
use belfry_core::schedule::fields::bounds;
use belfry_core::schedule::house::House;
use belfry_core::schedule::{Catchup, Overlap};
use chrono::Duration;
use ipnet::IpNet;
use serde::de::DeserializeOwned;

/// All settings of a deployment.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The name that separates its metrics from those of another deployment.
    pub deployment: String,
    /// Table of clocks, specs and changes.
    pub schedules_table: String,
    /// Table of runs.
    pub runs_table: String,
    /// Table of workflow versions.
    pub workflows_table: String,
    /// The queue in which fires wait for their launch time.
    pub launch_queue_url: String,
    /// The queue of messages that were received too often.
    pub dead_letter_queue_url: String,
    /// The queue through which ticks hand over work; empty: every tick works alone.
    pub tick_queue_url: String,
    /// The number of clocks that a tick takes on before it hands over the rest.
    pub tick_share: usize,
    /// The number of shards of the due index and of the sweep index.
    pub due_shards: u32,
    /// How far ahead the tick looks, how late a fire may be, and how much a tick catches up.
    pub horizon: Horizon,
    /// The defaults of a schedule that leaves fields out, and the time zones it may use.
    pub house: House,
    /// How many schedules an owner may have, and how many the owner may create in a minute.
    pub quota: Quota,
    /// How long the record of an ended run is kept.
    pub run_ttl: Duration,
    /// When a run counts as lost, and when recovery abandons it.
    pub recovery: Limits,
    /// How long a launcher may hold a run before another delivery takes it over.
    pub launch_lease: Duration,
    /// The addresses that HTTP targets may have.
    pub reachable: Reachable,
    /// How long a target may take to answer.
    pub target_timeout: Duration,
    /// The bus that receives events; empty: no events are sent.
    pub event_bus: String,
    /// The key that signs requests to HTTPS targets.
    pub signing_key: Secret,
    /// The key that makes the tokens which executors report with; empty: no tokens are issued.
    pub run_token_key: Secret,
    /// The owner of what a stack declares without an owner.
    pub resource_owner: String,
}

/// A secret that debug output does not show.
#[derive(Clone, Default)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A setting whose value cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct BadSetting {
    /// The environment variable.
    pub name: &'static str,
    /// What the value must be, as a fragment: `must be ...`.
    pub problem: String,
}

/// One row of the settings table.
pub struct Row {
    /// The variable's name.
    pub name: &'static str,
    /// The value if the variable is not set; `None`: the variable is required.
    pub default: Option<&'static str>,
    /// What the setting decides, as `docs/settings.md` says it.
    pub meaning: &'static str,
}

macro_rules! rows {
    ($($name:ident $default:expr, $meaning:literal;)*) => {
        /// All settings. `docs/settings.md` has the same table; a test compares the two.
        pub const ROWS: &[Row] = &[$(Row { name: stringify!($name), default: $default, meaning: $meaning }),*];
    };
}

rows! {
    DEPLOYMENT Some("belfry"), "name of the deployment; it separates its metrics from those of another deployment in the account";
    SCHEDULES_TABLE None, "table of clocks, specs and changes";
    RUNS_TABLE None, "table of runs";
    WORKFLOWS_TABLE None, "table of workflow versions";
    LAUNCH_QUEUE_URL None, "queue in which fires wait for their launch time";
    DEAD_LETTER_QUEUE_URL None, "queue of messages that were received too often";
    SIGNING_KEY None, "key that signs the requests to HTTPS targets, at least 16 bytes";
    RUN_TOKEN_KEY Some(""), "key of the tokens that executors report with, at least 16 bytes; no target may know it; empty: no tokens are issued";
    DUE_SHARDS Some("8"), "number of shards of the due index, 1 to 1000; it may be raised while schedules exist, but not lowered";
    TICK_QUEUE_URL Some(""), "queue through which a tick hands over the clocks that it cannot take on; empty: each tick works alone, and what is left waits for the next tick";
    TICK_SHARE Some("10000"), "number of clocks that a tick takes on before it hands over the rest";
    LOOKAHEAD_MS Some("90000"), "fires due within this time are recorded and sent ahead; at least the interval of the tick's rule plus the time by which a tick may be late";
    MISFIRE_GRACE_MS Some("120000"), "a fire that is late by less is launched late; for a later one the catch-up policy decides";
    MAX_CATCHUP_PER_TICK Some("100"), "missed fires of one schedule that one tick launches, or records one by one";
    DEFAULT_OVERLAP_POLICY Some("skip"), "overlap policy of a schedule that names none";
    DEFAULT_CATCHUP_POLICY Some("none"), "catch-up policy of a schedule that names none";
    DEFAULT_JITTER_MS Some("0"), "jitter of a schedule that names none";
    DEFAULT_MAX_RUNTIME_S Some("86400"), "seconds a tracked run may take if its schedule does not say; after that it is `FAILED`, reason `timeout`";
    ALLOWED_TIMEZONES Some(""), "time zones that schedules may use, separated by commas; empty allows all";
    ALLOWED_TARGET_NETWORKS Some(""), "networks besides the public internet in which HTTP targets may be, separated by commas, such as `10.0.0.0/8`; plain http is allowed in these networks only; empty allows none";
    CREATE_RATE_PER_MINUTE Some("300"), "schedules an owner may create in a minute; after a minute without any, as many at once";
    MAX_SCHEDULES_PER_OWNER Some("10000"), "schedules an owner may have";
    RUN_TTL_DAYS Some("90"), "days for which the record of an ended run is kept";
    LOST_AFTER_S Some("300"), "seconds after its time at which a run that no function works on counts as lost";
    RECOVERY_MAX_ATTEMPTS Some("3"), "how often a lost run is sent again before it is abandoned";
    RECOVERY_MAX_AGE_S Some("86400"), "seconds after its time at which a lost run is abandoned";
    LAUNCH_MAX_ATTEMPTS Some("5"), "attempts to launch a run before it fails";
    LAUNCH_LEASE_S Some("60"), "seconds for which a launcher may hold a run before another delivery takes the run over";
    EVENT_BUS Some(""), "EventBridge bus that receives events about runs and schedules; empty: no events are sent";
    TARGET_TIMEOUT_MS Some("10000"), "milliseconds a target may take to answer; must be shorter than the launch lease";
    RESOURCE_OWNER Some("cloudformation"), "owner of the schedules and workflows that a CloudFormation stack declares without an owner";
}

/// A shorter key can be guessed.
const MIN_SECRET: usize = 16;

/// A delay beyond a year is taken for a mistake in the unit.
const YEAR_MS: i64 = 366 * 86_400_000;

impl Settings {
    /// Reads all settings through `lookup`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings, Vec<BadSetting>> {
        let mut reader = Reader { lookup, problems: Vec::new() };
        let (least, most) = bounds("jitter_ms").unwrap_or_default();
        let max_runtime_s = reader.number("DEFAULT_MAX_RUNTIME_S", 1, 31_536_000);
        let settings = Settings {
            deployment: reader.text("DEPLOYMENT"),
            schedules_table: reader.text("SCHEDULES_TABLE"),
            runs_table: reader.text("RUNS_TABLE"),
            workflows_table: reader.text("WORKFLOWS_TABLE"),
            launch_queue_url: reader.text("LAUNCH_QUEUE_URL"),
            dead_letter_queue_url: reader.text("DEAD_LETTER_QUEUE_URL"),
            tick_queue_url: reader.text("TICK_QUEUE_URL"),
            tick_share: reader.number("TICK_SHARE", 1, 100_000),
            due_shards: reader.number("DUE_SHARDS", 1, 1000),
            horizon: Horizon {
                lookahead: Duration::milliseconds(reader.number("LOOKAHEAD_MS", 0, 900_000)),
                grace: Duration::milliseconds(reader.number("MISFIRE_GRACE_MS", 0, YEAR_MS)),
                max_catchup: reader.number("MAX_CATCHUP_PER_TICK", 1, 10_000),
            },
            house: House {
                overlap_policy: reader.choice("DEFAULT_OVERLAP_POLICY", Overlap::Skip),
                catchup_policy: reader.choice("DEFAULT_CATCHUP_POLICY", Catchup::None),
                jitter_ms: reader.number("DEFAULT_JITTER_MS", least as u32, most as u32),
                launch_attempts: reader.number("LAUNCH_MAX_ATTEMPTS", 1, 100),
                max_runtime_s,
                allowed_zones: reader.list("ALLOWED_TIMEZONES"),
            },
            quota: Quota {
                per_minute: reader.number("CREATE_RATE_PER_MINUTE", 1, 1_000_000),
                schedules: reader.number("MAX_SCHEDULES_PER_OWNER", 1, 1_000_000_000),
            },
            run_ttl: Duration::days(reader.number("RUN_TTL_DAYS", 1, 3660)),
            recovery: Limits {
                lost_after: Duration::seconds(reader.number("LOST_AFTER_S", 60, 86_400)),
                max_attempts: reader.number("RECOVERY_MAX_ATTEMPTS", 0, 100),
                max_age: Duration::seconds(reader.number("RECOVERY_MAX_AGE_S", 60, 31_536_000)),
                max_runtime: Duration::seconds(i64::from(max_runtime_s)),
            },
            reachable: Reachable { allowed: reader.networks("ALLOWED_TARGET_NETWORKS") },
            launch_lease: Duration::seconds(reader.number("LAUNCH_LEASE_S", 1, 900)),
            target_timeout: Duration::milliseconds(reader.number("TARGET_TIMEOUT_MS", 1, 900_000)),
            event_bus: reader.text("EVENT_BUS"),
            signing_key: reader.secret("SIGNING_KEY"),
            run_token_key: reader.secret("RUN_TOKEN_KEY"),
            resource_owner: reader.text("RESOURCE_OWNER"),
        };
        if settings.target_timeout >= settings.launch_lease {
            reader.problem("TARGET_TIMEOUT_MS", "must be shorter than LAUNCH_LEASE_S");
        }
        if !is_user(&settings.resource_owner) {
            reader.problem("RESOURCE_OWNER", "must be the id of a user");
        }
        if reader.problems.is_empty() { Ok(settings) } else { Err(reader.problems) }
    }
}

/// The functions, by the ends of their names: the template names them after the deployment.
const FUNCTIONS: [&str; 5] = ["tick", "launcher", "recovery", "api", "resource"];

impl Settings {
    /// The parts of this deployment, which are no targets.
    pub fn own(&self) -> Own {
        let queues = [&self.launch_queue_url, &self.tick_queue_url, &self.dead_letter_queue_url];
        Own {
            queues: queues.map(Clone::clone).to_vec(),
            functions: FUNCTIONS.map(|name| format!("{}-{name}", self.deployment)).to_vec(),
            bus: self.event_bus.clone(),
        }
    }

    /// The addresses that HTTP targets may have, even if other settings are invalid. A value that
    /// cannot be read allows no networks.
    pub fn reachable(lookup: impl Fn(&str) -> Option<String>) -> Reachable {
        let mut reader = Reader { lookup, problems: Vec::new() };
        Reachable { allowed: reader.networks("ALLOWED_TARGET_NETWORKS") }
    }
}

struct Reader<L> {
    lookup: L,
    problems: Vec<BadSetting>,
}

impl<L: Fn(&str) -> Option<String>> Reader<L> {
    fn text(&mut self, name: &'static str) -> String {
        let row = ROWS.iter().find(|row| row.name == name);
        let value = (self.lookup)(name).or_else(|| row?.default.map(str::to_owned));
        value.unwrap_or_else(|| {
            self.problem(name, "is required");
            String::new()
        })
    }

    fn number<N: FromStr + PartialOrd + std::fmt::Display + Copy>(
        &mut self,
        name: &'static str,
        min: N,
        max: N,
    ) -> N {
        match self.text(name).parse() {
            Ok(number) if min <= number && number <= max => number,
            _ => {
                self.problem(name, format!("must be a whole number from {min} to {max}"));
                min
            }
        }
    }

    fn choice<T: DeserializeOwned>(&mut self, name: &'static str, otherwise: T) -> T {
        let text = self.text(name);
        serde_json::from_value(text.as_str().into()).unwrap_or_else(|_| {
            self.problem(name, format!("is {text}, which is not one of its values"));
            otherwise
        })
    }

    fn secret(&mut self, name: &'static str) -> Secret {
        let text = self.text(name);
        if (1..MIN_SECRET).contains(&text.len()) {
            self.problem(name, format!("must be at least {MIN_SECRET} bytes"));
        }
        Secret(text)
    }

    fn list(&mut self, name: &'static str) -> Vec<String> {
        let text = self.text(name);
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    fn networks(&mut self, name: &'static str) -> Vec<IpNet> {
        let read: Result<_, _> = self.list(name).iter().map(|item| item.parse()).collect();
        read.unwrap_or_else(|_| {
            self.problem(name, "must be networks such as 10.0.0.0/8 or fd00::/8");
            Vec::new()
        })
    }

    fn problem(&mut self, name: &'static str, problem: impl Into<String>) {
        self.problems.push(BadSetting { name, problem: problem.into() });
    }
}

#[cfg(test)]
mod tests;
