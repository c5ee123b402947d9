//! `belfry validate`: checks files of schedules without a deployment.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use super::file::{Files, Problem};
use crate::cli::table::plain;
use crate::cli::{complain, print_json, print_line, printed};

/// Checks files of schedules without a deployment; reports every problem with its line and column.
#[derive(Args)]
pub(crate) struct Validate {
    #[command(flatten)]
    files: Files,
    /// Print {"valid", "errors", "warnings"}
    #[arg(long)]
    json: bool,
}

impl Validate {
    pub(crate) fn run(self) -> ExitCode {
        let (errors, sets) = match self.files.read() {
            Ok(sets) => (Vec::new(), sets),
            Err(problems) => (problems, Vec::new()),
        };
        let warnings: Vec<_> = sets.iter().flat_map(super::file::Set::warnings).collect();
        let told = if self.json {
            let views =
                |problems: &[Problem]| problems.iter().map(Problem::view).collect::<Vec<_>>();
            print_json(&json!({
                "valid": errors.is_empty(),
                "errors": views(&errors),
                "warnings": views(&warnings),
            }))
        } else {
            tell(&errors);
            let warned = warnings
                .iter()
                .try_for_each(|warning| print_line(&plain(&format!("warning: {warning}"))));
            warned.and_then(|()| {
                sets.iter().try_for_each(|set| {
                    print_line(&format!("set {}: {} schedules, valid", set.name, set.size()))
                })
            })
        };
        match errors.is_empty() {
            true => printed(told.map(|()| ExitCode::SUCCESS)),
            false => ExitCode::FAILURE,
        }
    }
}

/// Prints the problems of files.
pub(super) fn tell(problems: &[Problem]) {
    for problem in problems {
        complain(&plain(&problem.to_string()));
    }
}
