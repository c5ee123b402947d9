//! The README, the pages of docs/ and the other pages: the links, tests and alarms they name exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use belfry_cost::cost;

/// The top of the repository.
fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every page a reader meets, by its path from the top.
fn pages() -> BTreeMap<String, String> {
    let single = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "tests/README.md"];
    let mut paths: Vec<_> = single.map(PathBuf::from).into();
    for folder in ["docs", "docs/decisions"] {
        for entry in std::fs::read_dir(top().join(folder)).unwrap() {
            paths.push(Path::new(folder).join(entry.unwrap().file_name()));
        }
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    let page = |path: PathBuf| {
        let text = std::fs::read_to_string(top().join(&path)).unwrap();
        (path.to_str().unwrap().to_owned(), text)
    };
    paths.into_iter().map(page).collect()
}

/// Every Rust file of ours, by its path from the top.
fn sources() -> BTreeMap<String, String> {
    let mut sources = BTreeMap::new();
    let mut folders: Vec<_> = ["shared", "functions", "infra", "tests"].map(PathBuf::from).into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(top().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = folder.join(entry.file_name());
            let name = path.to_str().unwrap().to_owned();
            match entry.file_type().unwrap().is_dir() {
                true if name.ends_with("node_modules") || name.ends_with("target") => {}
                true => folders.push(path),
                false if name.ends_with(".rs") => {
                    sources.insert(name, std::fs::read_to_string(top().join(&path)).unwrap());
                }
                false => {}
            }
        }
    }
    sources
}

/// What stands between backticks in a page, outside of blocks of code.
fn quoted(page: &str) -> impl Iterator<Item = &str> {
    let blocks = page.split("```").step_by(2);
    blocks.flat_map(|text| text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)))
}

#[test]
fn every_test_a_page_names_exists() {
    let sources = sources();
    let mut named = 0;
    let mut missing = Vec::new();
    for (page, text) in pages() {
        for quoted in quoted(&text) {
            let Some((file, test)) = quoted.split_once(".rs::") else { continue };
            named += 1;
            let file = format!("{file}.rs");
            let is = |path: &str| path == file || path.ends_with(&format!("/{file}"));
            let mut found = sources.iter().filter(|(path, _)| is(path));
            if !found.any(|(_, source)| source.contains(&format!("fn {test}("))) {
                missing.push(format!("{page}: {quoted}"));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(named > 100, "{named}: the pages are not understood any more");
}

#[test]
fn every_link_of_a_page_leads_somewhere() {
    let pages = pages();
    let mut broken = Vec::new();
    let mut followed = 0;
    for (page, text) in &pages {
        for block in text.split("```").step_by(2) {
            for link in block.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if link.contains("://") {
                    continue;
                }
                followed += 1;
                let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
                let file = match file {
                    "" => page.clone(),
                    file => beside(page, file),
                };
                let there = match pages.get(&file) {
                    Some(other) => anchor.is_empty() || anchors(other).contains(anchor),
                    None => top().join(file).exists(),
                };
                if !there {
                    broken.push(format!("{page}: {link}"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(followed > 100, "{followed}: the pages are not understood any more");
}

/// The path from the top of what a page calls `file`.
fn beside(page: &str, file: &str) -> String {
    let mut path: Vec<_> = page.split('/').collect();
    path.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    path.join("/")
}

/// The template of a deployment.
fn template() -> String {
    std::fs::read_to_string(top().join("infra/template.yaml")).unwrap()
}

#[test]
fn every_alarm_has_a_section_of_the_runbook_and_no_other_has() {
    let template = template();
    let names = template.lines().filter_map(|line| line.trim().strip_prefix("AlarmName: "));
    let alarms: BTreeSet<_> =
        names.map(|name| name.strip_prefix("!Sub ${AWS::StackName}-").unwrap()).collect();
    let runbook = &pages()["docs/runbook.md"];
    let from = runbook.find("\n## Alarms\n").unwrap();
    let to = runbook.find("\n## Complaints\n").unwrap();
    let sections: Vec<_> = runbook[from..to].split("\n### ").skip(1).collect();
    let named: BTreeSet<_> = sections.iter().map(|text| text.lines().next().unwrap()).collect();
    assert_eq!(named, alarms);
    assert_eq!(named.len(), sections.len(), "an alarm has one section");
    for section in sections {
        let name = section.lines().next().unwrap();
        assert!(section.contains("\n| check | "), "{name}: what to check");
        assert!(section.contains("\n| do | "), "{name}: what to do");
    }
}

#[test]
fn the_cost_ledger_reckons_with_what_the_template_deploys() {
    let template = template();
    let count = |kind: &str| template.matches(&format!("Type: AWS::{kind}\n")).count() as f64;
    let watched = template.lines().filter(|line| line.trim().starts_with("MetricName: "));
    assert_eq!(watched.count() as f64, cost::ALARMS);
    assert_eq!(count("CloudWatch::Dashboard"), cost::DASHBOARDS);
    assert_eq!(count("SecretsManager::Secret"), cost::SECRETS);
    assert_eq!(count("Lambda::EventSourceMapping"), cost::MAPPINGS);
    assert_eq!(count("DynamoDB::Table"), 3.0);
    let sizes = template.lines().filter_map(|line| line.trim().strip_prefix("MemorySize: "));
    let sizes: BTreeSet<_> = sizes.map(|size| size.parse::<u32>().unwrap()).collect();
    assert_eq!(sizes, BTreeSet::from([cost::MEMORY_MB as u32]));
    let default = |name: &str| {
        let (_, rest) = template.split_once(&format!("\n  {name}:\n")).unwrap();
        let line = rest.lines().find(|line| line.trim().starts_with("Default: ")).unwrap();
        line.trim()["Default: ".len()..].parse::<f64>().unwrap()
    };
    let load = cost::Load::default();
    assert_eq!(default("DueShards"), load.due_shards);
    assert_eq!(default("RunTtlDays"), load.run_ttl_days);
    assert_eq!(default("LogRetentionDays"), load.log_days);
    assert_eq!(template.contains("EVENT_BUS: !Ref EventBus"), load.event_bus);
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = page.split("```").step_by(2).flat_map(str::lines).filter(|l| l.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}
