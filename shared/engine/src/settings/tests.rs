//! The settings: every default by its value, every bound from both sides.

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

/// Reads the settings with one of them given; what is required has a text.
fn read_with(given: &str, value: &str) -> Result<Settings, Vec<BadSetting>> {
    Settings::read(|name| {
        let row = ROWS.iter().find(|row| row.name == name)?;
        match name {
            name if name == given => Some(value.to_owned()),
            // A lease at its lower bound needs a shorter call.
            "TARGET_TIMEOUT_MS" if given == "LAUNCH_LEASE_S" => Some("1".to_owned()),
            // And a call at its upper bound needs a longer lease.
            "LAUNCH_LEASE_S" if given == "TARGET_TIMEOUT_MS" => Some("900".to_owned()),
            _ => row.default.is_none().then(|| format!("the value of {name}")),
        }
    })
}

#[test]
fn every_default_has_its_value() {
    let defaults = [
        ("DEPLOYMENT", Some("belfry")),
        ("SCHEDULES_TABLE", None),
        ("RUNS_TABLE", None),
        ("WORKFLOWS_TABLE", None),
        ("LAUNCH_QUEUE_URL", None),
        ("DEAD_LETTER_QUEUE_URL", None),
        ("SIGNING_KEY", None),
        ("RUN_TOKEN_KEY", Some("")),
        ("DUE_SHARDS", Some("8")),
        ("TICK_QUEUE_URL", Some("")),
        ("TICK_SHARE", Some("10000")),
        ("LOOKAHEAD_MS", Some("90000")),
        ("MISFIRE_GRACE_MS", Some("120000")),
        ("MAX_CATCHUP_PER_TICK", Some("100")),
        ("DEFAULT_OVERLAP_POLICY", Some("skip")),
        ("DEFAULT_CATCHUP_POLICY", Some("none")),
        ("DEFAULT_JITTER_MS", Some("0")),
        ("DEFAULT_MAX_RUNTIME_S", Some("86400")),
        ("ALLOWED_TIMEZONES", Some("")),
        ("ALLOWED_TARGET_NETWORKS", Some("")),
        ("CREATE_RATE_PER_MINUTE", Some("300")),
        ("MAX_SCHEDULES_PER_OWNER", Some("10000")),
        ("RUN_TTL_DAYS", Some("90")),
        ("LOST_AFTER_S", Some("300")),
        ("RECOVERY_MAX_ATTEMPTS", Some("3")),
        ("RECOVERY_MAX_AGE_S", Some("86400")),
        ("LAUNCH_MAX_ATTEMPTS", Some("5")),
        ("LAUNCH_LEASE_S", Some("60")),
        ("EVENT_BUS", Some("")),
        ("TARGET_TIMEOUT_MS", Some("10000")),
        ("RESOURCE_OWNER", Some("cloudformation")),
    ];
    let rows: Vec<_> = ROWS.iter().map(|row| (row.name, row.default)).collect();
    assert_eq!(rows, defaults);
}

/// A default that is right in the table but read into another field, or in another unit, shows here.
#[test]
fn every_default_is_read_into_its_field() {
    let read = read_with("", "").unwrap();
    assert_eq!(read.deployment, "belfry");
    assert_eq!(read.schedules_table, "the value of SCHEDULES_TABLE");
    assert_eq!(read.runs_table, "the value of RUNS_TABLE");
    assert_eq!(read.workflows_table, "the value of WORKFLOWS_TABLE");
    assert_eq!(read.launch_queue_url, "the value of LAUNCH_QUEUE_URL");
    assert_eq!(read.dead_letter_queue_url, "the value of DEAD_LETTER_QUEUE_URL");
    assert_eq!(read.signing_key.0, "the value of SIGNING_KEY");
    assert_eq!((read.run_token_key.0.as_str(), read.tick_queue_url.as_str()), ("", ""));
    assert_eq!((read.due_shards, read.tick_share), (8, 10_000));
    assert_eq!(read.horizon.lookahead, Duration::seconds(90));
    assert_eq!(read.horizon.grace, Duration::minutes(2));
    assert_eq!(read.horizon.max_catchup, 100);
    assert_eq!(read.house.overlap_policy, Overlap::Skip);
    assert_eq!(read.house.catchup_policy, Catchup::None);
    assert_eq!((read.house.jitter_ms, read.house.launch_attempts), (0, 5));
    assert_eq!(read.house.max_runtime_s, 86_400);
    assert_eq!(read.house.allowed_zones, Vec::<String>::new());
    assert_eq!(read.reachable.allowed, Vec::<IpNet>::new());
    assert_eq!((read.quota.per_minute, read.quota.schedules), (300, 10_000));
    assert_eq!(read.run_ttl, Duration::days(90));
    assert_eq!(read.recovery.lost_after, Duration::minutes(5));
    assert_eq!(read.recovery.max_attempts, 3);
    assert_eq!(read.recovery.max_age, Duration::days(1));
    assert_eq!(read.recovery.max_runtime, Duration::days(1));
    assert_eq!(read.launch_lease, Duration::minutes(1));
    assert_eq!(read.target_timeout, Duration::seconds(10));
    assert_eq!(read.event_bus, "");
    assert_eq!(read.resource_owner, "cloudformation");
    // What a schedule gets where no settings are read, such as in `belfry plan` of a file.
    let house = House::default();
    assert_eq!(house.overlap_policy, read.house.overlap_policy);
    assert_eq!(house.catchup_policy, read.house.catchup_policy);
    assert_eq!(house.jitter_ms, read.house.jitter_ms);
    assert_eq!(house.launch_attempts, read.house.launch_attempts);
    assert_eq!(house.max_runtime_s, read.house.max_runtime_s);
}

#[test]
fn every_number_is_accepted_up_to_its_bounds_and_refused_beyond() {
    let bounds: [(&str, i64, i64); 16] = [
        ("DUE_SHARDS", 1, 1000),
        ("TICK_SHARE", 1, 100_000),
        ("LOOKAHEAD_MS", 0, 900_000),
        ("MISFIRE_GRACE_MS", 0, 31_622_400_000),
        ("MAX_CATCHUP_PER_TICK", 1, 10_000),
        ("DEFAULT_JITTER_MS", 0, 86_400_000),
        ("DEFAULT_MAX_RUNTIME_S", 1, 31_536_000),
        ("CREATE_RATE_PER_MINUTE", 1, 1_000_000),
        ("MAX_SCHEDULES_PER_OWNER", 1, 1_000_000_000),
        ("RUN_TTL_DAYS", 1, 3660),
        ("LOST_AFTER_S", 60, 86_400),
        ("RECOVERY_MAX_ATTEMPTS", 0, 100),
        ("RECOVERY_MAX_AGE_S", 60, 31_536_000),
        ("LAUNCH_MAX_ATTEMPTS", 1, 100),
        ("LAUNCH_LEASE_S", 1, 900),
        // Longer calls than the longest lease are refused for that reason.
        ("TARGET_TIMEOUT_MS", 1, 899_999),
    ];
    let numbers = ROWS.iter().filter(|row| row.default.is_some_and(|it| it.parse::<i64>().is_ok()));
    let known = bounds.iter().map(|(name, ..)| *name).collect();
    assert_eq!(sorted(numbers.map(|row| row.name).collect()), sorted(known));
    for (name, least, most) in &bounds {
        for good in [least, most] {
            let read = read_with(name, &good.to_string());
            assert!(read.is_ok(), "{name}={good}: {:?}", read.err());
        }
        for bad in [least - 1, most + 1] {
            let refused = read_with(name, &bad.to_string()).expect_err(name);
            assert_eq!(refused[0].name, *name, "{name}={bad}");
        }
        for bad in ["", "x", "1.5"] {
            assert_eq!(read_with(name, bad).expect_err(name)[0].name, *name, "{name}={bad}");
        }
    }
}

fn sorted(mut names: Vec<&str>) -> Vec<&str> {
    names.sort_unstable();
    names
}

#[test]
fn the_look_ahead_is_no_longer_than_a_message_can_be_delayed() {
    assert_eq!(
        read_with("LOOKAHEAD_MS", "900000").unwrap().horizon.lookahead,
        Duration::minutes(15)
    );
    let refused = read_with("LOOKAHEAD_MS", "900001").unwrap_err();
    let told: Vec<_> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["LOOKAHEAD_MS: must be a whole number from 0 to 900000"]);
}

#[test]
fn a_call_is_shorter_than_the_lease_and_a_key_is_long_enough() {
    let refused = |name: &str, value: &str| read_with(name, value).unwrap_err()[0].to_string();
    let settings = Settings::read(|name| match name {
        "LAUNCH_LEASE_S" | "TARGET_TIMEOUT_MS" => Some("10".to_owned()),
        name => ROWS.iter().find(|row| row.name == name)?.default.is_none().then(|| "x".repeat(16)),
    });
    assert_eq!(settings.unwrap().target_timeout, Duration::milliseconds(10));
    assert_eq!(
        refused("TARGET_TIMEOUT_MS", "900000"),
        "TARGET_TIMEOUT_MS: must be shorter than LAUNCH_LEASE_S"
    );
    for name in ["SIGNING_KEY", "RUN_TOKEN_KEY"] {
        assert!(read_with(name, &"k".repeat(16)).is_ok());
        assert_eq!(refused(name, &"k".repeat(15)), format!("{name}: must be at least 16 bytes"));
    }
    assert!(refused("RESOURCE_OWNER", "").contains("must be the id of a user"));
    assert!(refused("DEFAULT_CATCHUP_POLICY", "all").contains("not one of its values"));
}

#[test]
fn the_documentation_lists_every_setting() {
    let page = include_str!("../../../../docs/settings.md");
    for row in ROWS {
        let default = row.default.map_or("required".to_owned(), |d| format!("`{d}`"));
        let line = format!("| `{}` | {} | {} |", row.name, default, row.meaning);
        assert!(page.contains(&line), "docs/settings.md lacks: {line}");
    }
    let listed = page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    // The interval of the local ticks is an option of `belfry dev`.
    let listed: Vec<_> = listed.filter(|name| *name != "TICK_MS").collect();
    assert_eq!(sorted(listed), sorted(ROWS.iter().map(|row| row.name).collect()));
}
