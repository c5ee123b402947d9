//! The `belfry` command.

mod cli;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::{Shell, generate};

/// A cron scheduler made of functions on managed AWS services.
#[derive(Parser)]
#[command(name = "belfry", version)]
struct Belfry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the whole system on this machine, on embedded services
    Dev(cli::dev::Dev),
    /// Forecast how AWS would handle a burst of fires
    Capacity(cli::capacity::Capacity),
    /// Show when an expression fires
    Preview(cli::preview::Preview),
    /// Estimate the monthly cost of a deployment
    Cost(cli::cost::Cost),
    /// Print a token for the local API
    Token(cli::token::Token),
    /// List, create, edit and control schedules
    Schedules(cli::schedules::Schedules),
    /// List, show and watch runs
    Runs(cli::runs::Runs),
    /// List, show and publish workflow versions
    Workflows(cli::workflows::Workflows),
    /// Show what applying files of schedules would change
    Plan(cli::declared::Plan),
    /// Apply files of schedules to their sets
    Apply(cli::declared::Apply),
    /// Check files of schedules without a deployment
    Validate(cli::declared::Validate),
    /// Print a set of schedules as a file
    Export(cli::declared::Export),
    /// Add existing schedules to a set
    Adopt(cli::declared::Adopt),
    /// Remove schedules from a set without deleting them
    Release(cli::declared::Release),
    /// Convert other schedulers' schedules to a file of schedules
    Import(cli::declared::Import),
    /// Print the JSON Schema of files of schedules
    Schema(cli::declared::Schema),
    /// Print shell completions
    Completions {
        /// Shell to print completions for
        shell: Shell,
    },
}

fn main() -> ExitCode {
    match Belfry::parse().command {
        Command::Dev(dev) => dev.run(),
        Command::Capacity(capacity) => capacity.run(),
        Command::Preview(preview) => preview.run(),
        Command::Cost(cost) => cost.run(),
        Command::Token(token) => token.run(),
        Command::Schedules(schedules) => schedules.run(),
        Command::Runs(runs) => runs.run(),
        Command::Workflows(workflows) => workflows.run(),
        Command::Plan(plan) => plan.run(),
        Command::Apply(apply) => apply.run(),
        Command::Validate(validate) => validate.run(),
        Command::Export(export) => export.run(),
        Command::Adopt(adopt) => adopt.run(),
        Command::Release(release) => release.run(),
        Command::Import(import) => import.run(),
        Command::Schema(schema) => schema.run(),
        Command::Completions { shell } => {
            // Into memory first: `generate` panics if a write fails.
            let mut text = Vec::new();
            generate(shell, &mut Belfry::command(), "belfry", &mut text);
            cli::printed(std::io::stdout().write_all(&text).map(|()| ExitCode::SUCCESS))
        }
    }
}
