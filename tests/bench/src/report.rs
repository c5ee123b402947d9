//! The report: prints every figure when it is measured and a table at the end, and writes the same
//! as JSON and as a picture.

use std::fs;
use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::machine;
use crate::picture;

/// The limit of a figure.
#[derive(Clone, Copy)]
pub enum Goal {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

/// One measured figure.
pub struct Figure {
    /// The subject of the measurement.
    pub group: String,
    /// What was measured.
    pub name: String,
    /// The value.
    pub value: f64,
    /// Its unit; empty for counts.
    pub unit: String,
    /// Its limit.
    pub goal: Option<Goal>,
}

/// The figures of one run on one machine.
pub struct Report {
    command: String,
    begin: Instant,
    busy: (u64, u64),
    load: f64,
    /// In the order they were measured.
    pub figures: Vec<Figure>,
    /// Remarks on the figures.
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub fn begin(command: &str) -> Report {
        let (load, busy) = (machine::load(), machine::busy());
        println!("{} cores, load {load} before the bench started", machine::cores());
        let begin = Instant::now();
        Report { command: command.to_owned(), begin, busy, load, figures: vec![], notes: vec![] }
    }

    /// Records a figure.
    pub fn add(&mut self, group: &str, name: &str, value: f64, unit: &str) {
        self.push(group, name, value, unit, None);
    }

    /// Records a figure that has a limit.
    pub fn goal(&mut self, group: &str, name: &str, value: f64, unit: &str, goal: Goal) {
        self.push(group, name, value, unit, Some(goal));
    }

    /// Records a ratio, which should be at most `limit`.
    pub fn ratio(&mut self, group: &str, name: &str, value: f64, limit: f64) {
        self.push(group, name, value, "x", Some(Goal::AtMost(limit)));
    }

    /// Records a remark on the figures.
    pub fn note(&mut self, note: &str) {
        println!("{note}");
        self.notes.push(note.to_owned());
    }

    /// The command of this report.
    fn command(&self) -> String {
        let arguments: Vec<String> = std::env::args().skip(2).collect();
        let quick = if arguments.iter().any(|a| a == "--quick") { " QUICK=1" } else { "" };
        let names: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|a| !a.starts_with("--")).collect();
        let names = if names.is_empty() {
            String::new()
        } else {
            format!(" NAMES=\"{}\"", names.join(" "))
        };
        format!("{}{quick}{names}", self.command)
    }

    fn push(&mut self, group: &str, name: &str, value: f64, unit: &str, goal: Option<Goal>) {
        let (group, name, unit) = (group.to_owned(), name.to_owned(), unit.to_owned());
        let figure = Figure { group, name, value, unit, goal };
        println!("{}", line(&figure, (36, 44)));
        self.figures.push(figure);
    }

    /// Prints the table, and writes it to docs under this name.
    pub fn end(&self, name: Option<&str>) {
        let busy = machine::busy();
        let share = (busy.0 - self.busy.0) as f64 / (busy.1 - self.busy.1).max(1) as f64;
        let seconds = self.begin.elapsed().as_secs_f64();
        let widest = |text: fn(&Figure) -> &str| {
            self.figures.iter().map(|figure| text(figure).chars().count()).max().unwrap_or(0)
        };
        let widths = (widest(|figure| &figure.group), widest(|figure| &figure.name));
        let lines = self.figures.iter().map(|figure| line(figure, widths));
        let mut table = lines.collect::<Vec<_>>();
        table.extend(self.notes.iter().cloned());
        table.push(format!(
            "{seconds:.0} s on {} cores; load {} before it began; cores {:.0} % busy during it",
            machine::cores(),
            self.load,
            share * 100.0
        ));
        let table: Vec<_> = table.iter().map(|line| line.trim_end()).collect();
        let table = table.join("\n");
        println!("\n{}\n{table}", "-".repeat(96));
        let Some(name) = name else { return };
        let command = self.command();
        keep(name, &format!("```console\n$ {command}\n{table}\n```"));
        let document = json!({
            "command": command,
            "date": machine::now().format("%Y-%m-%d").to_string(),
            "cores": machine::cores(),
            "load_before": self.load,
            "seconds": seconds.round(),
            "versions": versions(),
            "notes": self.notes,
            "figures": self.figures.iter().map(document).collect::<Vec<_>>(),
        });
        let text = serde_json::to_string_pretty(&document).unwrap_or_default();
        fs::write(format!("docs/{name}.json"), text + "\n").expect("docs is here");
        fs::write(format!("docs/img/{name}.svg"), picture::draw(self)).expect("docs/img is here");
    }
}

/// Replaces a table between its markers in docs/performance.md.
fn keep(name: &str, table: &str) {
    let page = fs::read_to_string("docs/performance.md").expect("the page is here");
    let (from, to) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let (Some(begin), Some(end)) = (page.find(&from), page.find(&to)) else {
        panic!("docs/performance.md has no marker for {name}");
    };
    let page = format!("{}{from}\n{table}\n{}", &page[..begin], &page[end..]);
    fs::write("docs/performance.md", page).expect("docs is here");
}

fn line(figure: &Figure, (group, name): (usize, usize)) -> String {
    let verdict = match figure.goal {
        None => String::new(),
        Some(Goal::AtMost(limit)) => verdict(figure.value <= limit, "at most", limit),
        Some(Goal::AtLeast(limit)) => verdict(figure.value >= limit, "at least", limit),
    };
    let value = format!("{} {}", number(figure.value), figure.unit);
    format!("{:<group$} {:<name$} {:>14}  {verdict}", figure.group, figure.name, value.trim_end())
}

fn verdict(is_met: bool, word: &str, limit: f64) -> String {
    format!("{} ({word} {})", if is_met { "met" } else { "MISSED" }, number(limit))
}

/// With as many digits as are significant.
pub fn number(value: f64) -> String {
    let (sign, value) = if value < 0.0 { ("-", -value) } else { ("", value) };
    let text = match value {
        value if value >= 1000.0 => {
            let digits = format!("{value:.0}");
            let mut grouped = String::new();
            for (place, digit) in digits.chars().enumerate() {
                if place > 0 && (digits.len() - place) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(digit);
            }
            grouped
        }
        value if value >= 100.0 || value.fract() == 0.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    };
    format!("{sign}{text}")
}

fn document(figure: &Figure) -> Value {
    let mut document = json!({
        "group": figure.group, "name": figure.name, "unit": figure.unit,
        "value": (figure.value * 1000.0).round() / 1000.0,
    });
    match figure.goal {
        None => {}
        Some(Goal::AtMost(limit)) => document["at_most"] = json!(limit),
        Some(Goal::AtLeast(limit)) => document["at_least"] = json!(limit),
    }
    document
}

/// The version of a measured crate, from the lock file. If there are several, the last: older ones
/// are dependencies of other crates.
pub fn version(name: &str) -> String {
    let lock = fs::read_to_string("tests/bench/Cargo.lock").unwrap_or_default();
    let place = lock.rfind(&format!("name = \"{name}\"\nversion = \""));
    let version = place.and_then(|place| lock[place..].split('"').nth(3));
    version.unwrap_or_default().to_owned()
}

/// What was measured: the versions of the crates, and the compiler.
fn versions() -> Value {
    let crates =
        ["cron", "croner", "cronexpr", "tokio-cron-scheduler", "dynoxide-rs", "aws-sdk-dynamodb"];
    let mut versions: serde_json::Map<_, _> =
        crates.iter().map(|name| ((*name).to_owned(), json!(version(name)))).collect();
    let rustc = Command::new("rustc").arg("--version").output();
    let rustc = rustc.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    versions.insert("rustc".to_owned(), json!(rustc.unwrap_or_default()));
    Value::Object(versions)
}
