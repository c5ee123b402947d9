//! Checks docs/cron.md, the reference for users: the tests read its tables and try every example.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

use belfry_cron::{Cron, Timetable, Zone, tzdb_version};
use chrono::{DateTime, TimeDelta, Utc};

const PAGE: &str = include_str!("../../../docs/cron.md");

fn section(heading: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap();
    rest.split("\n## ").next().unwrap()
}

/// The cells of every table row, without the `|---` lines between head and body.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let tables = text.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    tables.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The text between the first two backticks.
fn code(cell: &str) -> Option<&str> {
    cell.split('`').nth(1)
}

fn table(text: &str, zone: &str) -> Timetable {
    let cron = Cron::parse(text, "some-schedule").unwrap_or_else(|e| panic!("{text}: {e}"));
    Timetable::new(cron, Zone::parse(zone).unwrap())
}

#[test]
fn what_you_may_want_can_be_written() {
    let first = PAGE.split("\n## ").next().unwrap();
    let wanted: Vec<_> = rows(first).into_iter().filter_map(|row| code(row[1])).collect();
    assert!(wanted.len() >= 8);
    wanted.into_iter().for_each(|text| drop(table(text, "UTC")));
}

#[test]
fn the_clock_change_tables_are_what_happens() {
    let section = section("When clocks change");
    let mut tried = 0;
    for (day, table_text) in [("2026-03-29", "29 March 2026"), ("2026-10-25", "25 October 2026")] {
        let (_, text) = section.split_once(table_text).unwrap();
        let rows = rows(text.split("\n\n").nth(1).unwrap());
        let tables: Vec<_> =
            rows[0][2..].iter().map(|head| table(code(head).unwrap(), "Europe/Berlin")).collect();
        for row in &rows[1..] {
            let at: DateTime<Utc> = format!("{day}T{}:00Z", row[0]).parse().unwrap();
            let local = tables[0].zone().to_local(at).format("%H:%M").to_string();
            assert!(row[1].starts_with(&local), "{row:?} {local}");
            for (table, cell) in tables.iter().zip(&row[2..]) {
                let said = cell.contains("fires");
                assert_eq!(table.contains(at), said, "{} at {at}", table.cron().text());
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 24);
}

#[test]
fn every_warning_is_listed_with_an_example_that_earns_it() {
    let now = "2026-11-16T00:00:00Z".parse().unwrap();
    let mut listed = Vec::new();
    for row in &rows(section("Warnings"))[1..] {
        let (code, example) = (code(row[0]).unwrap(), code(row[1]).unwrap());
        let zone = if row[1].ends_with("in Berlin") { "Europe/Berlin" } else { "UTC" };
        let given: Vec<_> = table(example, zone)
            .warnings(now)
            .iter()
            .map(|warning| serde_json::to_value(warning.code).unwrap())
            .collect();
        assert!(given.contains(&code.into()), "{example}: {given:?}");
        listed.push(code);
    }
    assert_eq!(listed.len(), 9);
}

#[test]
fn macros_mean_what_the_page_says() {
    let mut names = Vec::new();
    for meaning in section("Macros").split("There is no").next().unwrap().split('·') {
        let said: Vec<_> = meaning.split('`').skip(1).step_by(2).collect();
        let after = "2026-01-01T00:00:00Z".parse().unwrap();
        let fires = |text| table(text, "UTC").fires_after(after).take(30).collect::<Vec<_>>();
        for name in &said[..said.len() - 1] {
            assert_eq!(fires(name), fires(said[said.len() - 1]), "{name}");
            names.push(*name);
        }
    }
    assert_eq!(names.len(), 7);
}

#[test]
fn both_day_fields_combine_as_the_page_says() {
    let days = |text: &str| {
        let from: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        table(text, "UTC").fires_between(from, from + TimeDelta::days(3650)).count()
    };
    let [either, both, star] = rows(section("Day of month and day of week"))[1..]
        .iter()
        .map(|row| days(code(row[0]).unwrap()))
        .collect::<Vec<_>>()[..]
    else {
        panic!("three rows");
    };
    // In ten years there are 120 times the 13th, about 521 Fridays, and about 17 Fridays the 13th.
    assert!(either > 600 && both < 25 && (250..290).contains(&star), "{either} {both} {star}");
}

#[test]
fn the_page_names_the_zone_data_in_force() {
    assert!(section("Time zones").contains(&format!("**{}**", tzdb_version())));
}
