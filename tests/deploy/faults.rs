//! Planted faults: copies of the template with one thing wrong, each of which must be caught.

use std::collections::BTreeMap;
use std::path::Path;

use belfry_tests::Template;
use belfry_tests::template::{TEXT, yaml};
use serde_json::Value;

use crate::{contract, scenario};

struct Fault {
    name: String,
    /// Whether the contract must catch the fault; if not, the lint must.
    ours: bool,
    text: String,
}

/// The copies with planted faults.
fn planted() -> Vec<Fault> {
    let list = yaml(include_str!("faults.yaml")).unwrap();
    let plant = |fault: &Value| {
        let text = |field: &str| fault[field].as_str().unwrap();
        let (name, find) = (text("name"), text("find"));
        assert_eq!(TEXT.matches(find).count(), 1, "{name}: its text must occur exactly once");
        let by = fault["by"].as_array().unwrap();
        Fault {
            name: name.to_owned(),
            ours: by.iter().any(|ring| ring == "contract"),
            text: TEXT.replacen(find, text("becomes"), 1),
        }
    };
    list.as_array().unwrap().iter().map(plant).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_planted_fault_is_caught() {
    let seen = scenario::seen().await;
    let mut caught = BTreeMap::new();
    for fault in planted() {
        let problems = match Template::read(&fault.text) {
            Ok(template) => contract::problems(&template, seen),
            Err(problem) => vec![problem],
        };
        assert_eq!(!problems.is_empty(), fault.ours, "{}: {problems:?}", fault.name);
        println!("{:60} {}", fault.name, problems.first().map_or("left to the lint", |p| p));
        caught.insert(fault.name, problems);
    }
    // For the table that `make deploy-lint` prints, together with what the lint caught.
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("planted.json");
    std::fs::write(path, serde_json::to_string(&caught).unwrap()).unwrap();
}
