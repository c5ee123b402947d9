//! `belfry import`: converts other schedulers' schedules to a file of schedules, and warns about
//! what does not carry over.

mod crontab;
mod eventbridge;
mod template;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use belfry_core::id::SetName;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::sets::told;
use super::write::write;
use crate::cli::table::plain;
use crate::cli::{complain, fail, print_json, print_line, printed, read_text};

/// Converts other schedulers' schedules to a file of schedules; warns about what does not carry
/// over, and exits with 2 if something was left out.
#[derive(Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    from: Origin,
}

#[derive(Subcommand)]
enum Origin {
    /// Convert a crontab
    Crontab(Crontab),
    /// Convert EventBridge schedules (`aws scheduler get-schedule`), rules with their targets, or a
    /// CloudFormation template with schedules and rules
    Eventbridge(EventBridge),
}

#[derive(Args)]
struct Crontab {
    #[command(flatten)]
    common: Common,
    /// The lines name a user, as in /etc/crontab
    #[arg(long)]
    system: bool,
    /// Time zone of the machine the crontab is from
    #[arg(long, value_name = "ZONE")]
    tz: Option<String>,
    /// Workflow that runs the commands; its target receives {"command": ...} as payload
    #[arg(long, value_name = "ID", default_value = "crontab")]
    workflow: String,
}

#[derive(Args)]
struct EventBridge {
    #[command(flatten)]
    common: Common,
    /// Region that a template is deployed in, for the addresses of its targets
    #[arg(long)]
    region: Option<String>,
    /// Account that a template is deployed in
    #[arg(long)]
    account: Option<String>,
}

#[derive(Args)]
struct Common {
    /// File to convert, or - for standard input
    file: PathBuf,
    /// Set the schedules will belong to
    #[arg(long, default_value = "imported")]
    set: SetName,
    /// Print {"set", "defaults", "workflows", "schedules", "warnings"} as JSON
    #[arg(long)]
    json: bool,
}

/// The result of an import.
#[derive(Default)]
pub(super) struct Imported {
    defaults: Value,
    workflows: Vec<Value>,
    schedules: Vec<Value>,
    warnings: Vec<String>,
    /// Number of lines or entries that the file does not contain although they were to be imported.
    left_out: usize,
    names: BTreeSet<String>,
}

impl Imported {
    fn warn(&mut self, place: &str, message: &str) {
        self.warnings.push(format!("{place}: {message}"));
    }

    fn leave_out(&mut self, place: &str, message: &str) {
        self.left_out += 1;
        self.warn(place, &format!("{message}; left out"));
    }

    /// A unique id for a schedule, similar to `wanted`.
    fn name(&mut self, wanted: &str) -> String {
        unique(wanted, &mut self.names)
    }
}

/// A valid id that is not taken, similar to `wanted`. It is taken from then on.
fn unique(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let plain: String = wanted.chars().map(|c| if allowed(c) { c } else { '-' }).take(56).collect();
    let plain = plain.trim_matches(['-', '.', '_']);
    let plain = if plain.is_empty() { "job" } else { plain };
    let mut name = plain.to_owned();
    for number in 2.. {
        if taken.insert(name.clone()) {
            break;
        }
        name = format!("{plain}-{number}");
    }
    name
}

type Reader = Box<dyn Fn(&str) -> Result<Imported, String>>;

impl Import {
    pub(crate) fn run(self) -> ExitCode {
        let (common, read): (Common, Reader) = match self.from {
            Origin::Crontab(asked) => {
                let wish = crontab::Wish {
                    system: asked.system,
                    zone: asked.tz,
                    workflow: asked.workflow,
                    set: asked.common.set.to_string(),
                };
                (asked.common, Box::new(move |text| Ok(crontab::read(text, &wish))))
            }
            Origin::Eventbridge(asked) => {
                let wish = eventbridge::Wish {
                    set: asked.common.set.to_string(),
                    region: asked.region,
                    account: asked.account,
                };
                (asked.common, Box::new(move |text| eventbridge::read(text, &wish)))
            }
        };
        let text = read_text(&common.file).map_err(|problem| problem.to_string());
        let imported = text.and_then(|text| read(&text));
        match imported {
            Ok(imported) => {
                let code = if imported.left_out == 0 { 0 } else { 2 };
                printed(print(&common, &imported).map(|()| ExitCode::from(code)))
            }
            Err(problem) => fail(&format!("{}: {problem}", common.file.display())),
        }
    }
}

fn print(common: &Common, imported: &Imported) -> io::Result<()> {
    let mut document = told(&json!({
        "set": common.set,
        "defaults": imported.defaults,
        "workflows": imported.workflows,
        "schedules": imported.schedules,
    }));
    if common.json {
        document["warnings"] = json!(imported.warnings);
        return print_json(&document);
    }
    for warning in &imported.warnings {
        complain(&format!("warning: {}", plain(warning)));
    }
    print_line(write(&document).trim_end())
}
