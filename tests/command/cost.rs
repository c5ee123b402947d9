//! `belfry cost`.

use std::process::{Command, Output};

use serde_json::Value;

use crate::binary;

fn cost(arguments: &[&str]) -> Output {
    let mut command = Command::new(binary("belfry"));
    command.arg("cost").args(["--schedules", "1,000", "--fires-per-day", "24000"]);
    command.args(arguments).output().unwrap()
}

fn told(arguments: &[&str]) -> Value {
    let output = cost(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_month_is_reckoned_up_for_people_and_for_programs() {
    let output = cost(&[]);
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{text}");
    let json = told(&[]);
    assert_eq!(json["bill"]["fires"], 730_000.0);
    let total = json["bill"]["total"].as_f64().unwrap();
    let line = text.lines().find(|line| line.starts_with("total")).unwrap();
    assert!(line.contains(&format!("{total:.2}")), "{line} {total}");
    for service in ["DynamoDB", "SQS", "Lambda", "CloudWatch", "EventBridge Scheduler"] {
        assert!(text.lines().any(|line| line.starts_with(service)), "{service}: {text}");
    }
    // Columns of numbers are right-aligned with their heads.
    let head = text.lines().find(|line| line.contains("a month  ")).unwrap();
    assert_eq!(head.len(), line.len(), "{text}");
}

#[test]
fn what_is_asked_for_changes_what_is_told() {
    let total = |arguments: &[&str]| told(arguments)["bill"]["total"].as_f64().unwrap();
    let usual = total(&[]);
    for dearer in [
        &["--completion", "tracked"][..],
        &["--policy", "queue"],
        &["--payload-kb", "100"],
        &["--api-calls", "1000000"],
        &["--memory-mb", "1024"],
        &["--target-ms", "1000"],
    ] {
        assert!(total(dearer) > usual, "{dearer:?}");
    }
    for cheaper in [&["--policy", "allow"][..], &["--batch", "10"], &["--no-event-bus"]] {
        assert!(total(cheaper) < usual, "{cheaper:?}");
    }
}

#[test]
fn own_prices_are_used_and_unknown_regions_are_refused() {
    let refused = cost(&["--region", "eu-west-1"]);
    assert!(!refused.status.success());
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(problem.contains("--prices"), "{problem}");
    let file = std::env::temp_dir().join(format!("belfry-prices-{}.json", std::process::id()));
    std::fs::write(&file, r#"{"region": "mine", "prices": {"write_units": 1000}}"#).unwrap();
    let path = file.to_str().unwrap();
    let json = told(&["--prices", path]);
    assert_eq!(json["prices"]["region"], "mine");
    assert!(json["bill"]["total"].as_f64().unwrap() > 1000.0);
    std::fs::write(&file, r#"{"prices": {"gold": 1}}"#).unwrap();
    let refused = cost(&["--prices", path]);
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("gold"));
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_page_shows_what_the_command_prints() {
    let page = include_str!("../../docs/cost.md");
    let output = String::from_utf8(cost(&[]).stdout).unwrap();
    assert!(page.contains(&output), "docs/cost.md is not what `belfry cost` prints:\n{output}");
    let json = told(&[]);
    for price in json["prices"]["rows"].as_array().unwrap() {
        let read = price["read"].as_str().unwrap();
        assert!(page.contains(read), "docs/cost.md does not say where a price is from: {price}");
    }
}
