//! Settings: read once from a lookup, every problem reported at once.

use std::str::FromStr;

use belfry_core::fire::plan::Horizon;
use belfry_core::guard::access::is_user;
use belfry_core::guard::network::Reachable;
use belfry_core::guard::quota::Quota;
use belfry_core::recovery::Limits;
use belfry_core::schedule::fields::bounds;
use belfry_core::schedule::house::House;
use belfry_core::schedule::{Catchup, Overlap};
use chrono::Duration;
use ipnet::IpNet;
use serde::de::DeserializeOwned;

/// Everything a deployment decides.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What its metrics are told apart by.
    pub deployment: String,
    /// Table of clocks, specs and changes.
    pub schedules_table: String,
    /// Table of runs.
    pub runs_table: String,
    /// Table of workflow versions.
    pub workflows_table: String,
    /// Where fires wait for their second.
    pub launch_queue_url: String,
    /// Where messages go that were delivered too often.
    pub dead_letter_queue_url: String,
    /// Where ticks leave what they do not take on; empty: they work alone.
    pub tick_queue_url: String,
    /// Clocks one tick takes on before it hands over.
    pub tick_share: usize,
    /// Parts of the due and sweep indexes.
    pub due_shards: u32,
    /// How far the tick looks and how much it takes on.
    pub horizon: Horizon,
    /// What schedules get where their maker is silent.
    pub house: House,
    /// How many schedules an owner may make, and how fast.
    pub quota: Quota,
    /// How long finished runs are kept.
    pub run_ttl: Duration,
    /// How hard recovery tries.
    pub recovery: Limits,
    /// How long a launcher may hold a run before another delivery takes it over.
    pub launch_lease: Duration,
    /// The addresses HTTP targets may have.
    pub reachable: Reachable,
    /// How long a target may take to answer.
    pub target_timeout: Duration,
    /// The bus events are put on; empty puts none.
    pub event_bus: String,
    /// Signs what HTTPS targets receive.
    pub signing_key: Secret,
    /// Makes the tokens executors report with; empty makes none.
    pub run_token_key: Secret,
    /// Who owns what a stack makes without naming an owner.
    pub resource_owner: String,
}

/// A secret that does not print.
#[derive(Clone, Default)]
pub struct Secret(pub String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {problem}")]
pub struct BadSetting {
    /// The variable.
    pub name: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

/// One row of the settings table: the variable, its default (`None`: required), its meaning.
pub struct Row {
    /// The variable's name.
    pub name: &'static str,
    /// What it is where it is not set.
    pub default: Option<&'static str>,
    /// What it decides.
    pub meaning: &'static str,
}

macro_rules! rows {
    ($($name:ident $default:expr, $meaning:literal;)*) => {
        /// Every setting there is. `docs/settings.md` is this table; a test compares them.
        pub const ROWS: &[Row] = &[$(Row { name: stringify!($name), default: $default, meaning: $meaning }),*];
    };
}

rows! {
    DEPLOYMENT Some("belfry"), "name of the deployment, by which its metrics are told from another's";
    SCHEDULES_TABLE None, "table of clocks, specs and changes";
    RUNS_TABLE None, "table of runs";
    WORKFLOWS_TABLE None, "table of workflow versions";
    LAUNCH_QUEUE_URL None, "queue where fires wait for their second";
    DEAD_LETTER_QUEUE_URL None, "queue of messages that were delivered too often";
    SIGNING_KEY None, "key of the signature HTTPS targets receive, 16 bytes or more";
    RUN_TOKEN_KEY Some(""), "key of the tokens executors report with, 16 bytes or more, no target's to know; empty hands out none";
    DUE_SHARDS Some("8"), "parts of the due index, 1 to 1000; it may be raised while schedules exist, and not lowered";
    TICK_QUEUE_URL Some(""), "queue through which ticks hand over what one of them cannot take on; empty: each works alone, and what is left waits for the next";
    TICK_SHARE Some("10000"), "clocks one tick takes on before it hands the rest over";
    LOOKAHEAD_MS Some("90000"), "fires up to this far ahead are recorded and sent; at least the rule's rate and what it may be late";
    MISFIRE_GRACE_MS Some("120000"), "a fire late by less is simply late; beyond it the catch-up policy decides";
    MAX_CATCHUP_PER_TICK Some("100"), "missed fires of one schedule launched, or recorded one by one, in one tick";
    DEFAULT_OVERLAP_POLICY Some("skip"), "overlap policy of a schedule that names none";
    DEFAULT_CATCHUP_POLICY Some("none"), "catch-up policy of a schedule that names none";
    DEFAULT_JITTER_MS Some("0"), "jitter of a schedule that names none";
    ALLOWED_TIMEZONES Some(""), "zones schedules may use, separated by commas; empty allows all";
    ALLOWED_TARGET_NETWORKS Some(""), "networks HTTP targets may be in besides the public internet, separated by commas, such as `10.0.0.0/8`; plain http is for them alone; empty allows none";
    CREATE_RATE_PER_MINUTE Some("300"), "schedules an owner may make in a minute, and at once after a minute of none";
    MAX_SCHEDULES_PER_OWNER Some("10000"), "schedules an owner may have";
    RUN_TTL_DAYS Some("90"), "days a finished run is kept";
    LOST_AFTER_S Some("300"), "seconds after which a run without a handoff is lost";
    RECOVERY_MAX_ATTEMPTS Some("3"), "how often a lost run is sent again before it is abandoned";
    RECOVERY_MAX_AGE_S Some("86400"), "seconds after its time at which a lost run is abandoned";
    LAUNCH_MAX_ATTEMPTS Some("5"), "launches tried before a run has failed";
    LAUNCH_LEASE_S Some("60"), "seconds a launcher may hold a run before another delivery takes it over";
    EVENT_BUS Some(""), "EventBridge bus that is told what happens to runs and schedules; empty tells nobody";
    TARGET_TIMEOUT_MS Some("10000"), "time a target may take to answer; shorter than the lease";
    RESOURCE_OWNER Some("cloudformation"), "owner of the schedules and workflows of a CloudFormation stack that names none";
}

/// A shorter key can be guessed.
const MIN_SECRET: usize = 16;

/// Delays beyond a year are a mistake in the unit.
const YEAR_MS: i64 = 366 * 86_400_000;

impl Settings {
    /// Reads every setting through `lookup`.
    pub fn read(lookup: impl Fn(&str) -> Option<String>) -> Result<Settings, Vec<BadSetting>> {
        let mut reader = Reader { lookup, problems: Vec::new() };
        let (least, most) = bounds("jitter_ms").unwrap_or_default();
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

impl Settings {
    /// The addresses HTTP targets may have, whatever is wrong with other settings; what cannot be
    /// read allows none.
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
            self.problem(name, format!("does not know {text}"));
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
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_reported_at_once() {
        let problems = Settings::read(|name| match name {
            "DUE_SHARDS" => Some("many".to_owned()),
            "DEFAULT_OVERLAP_POLICY" => Some("maybe".to_owned()),
            "SIGNING_KEY" => Some("short".to_owned()),
            "ALLOWED_TARGET_NETWORKS" => Some("10.0.0.0/8, home".to_owned()),
            _ => None,
        })
        .unwrap_err();
        let mut names: Vec<_> = problems.iter().map(|p| p.name).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            [
                "ALLOWED_TARGET_NETWORKS",
                "DEAD_LETTER_QUEUE_URL",
                "DEFAULT_OVERLAP_POLICY",
                "DUE_SHARDS",
                "LAUNCH_QUEUE_URL",
                "RUNS_TABLE",
                "SCHEDULES_TABLE",
                "SIGNING_KEY",
                "WORKFLOWS_TABLE",
            ]
        );
    }

    #[test]
    fn the_defaults_are_usable() {
        let required = |name: &str| {
            let row = ROWS.iter().find(|row| row.name == name)?;
            row.default.is_none().then(|| "a text of some length".to_owned())
        };
        Settings::read(required).unwrap();
    }

    #[test]
    fn the_documentation_lists_every_setting() {
        let page = include_str!("../../../docs/settings.md");
        for row in ROWS {
            let default = row.default.map_or("required".to_owned(), |d| format!("`{d}`"));
            let line = format!("| `{}` | {} | {} |", row.name, default, row.meaning);
            assert!(page.contains(&line), "docs/settings.md lacks: {line}");
        }
    }
}
