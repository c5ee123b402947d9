//! The `belfry` command.

mod cli;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::{Shell, generate};

/// A cron scheduler made of functions on managed services.
#[derive(Parser)]
#[command(name = "belfry", version, about)]
struct Belfry {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the whole system on this machine, on embedded services
    Dev(cli::dev::Dev),
    /// Show what a burst of fires would come to in AWS
    Capacity(cli::capacity::Capacity),
    /// Show when an expression fires
    Preview(cli::preview::Preview),
    /// Reckon up what a deployment costs a month
    Cost(cli::cost::Cost),
    /// Print a token for the API of this machine
    Token(cli::token::Token),
    /// Work with schedules over the API
    Schedules(cli::schedules::Schedules),
    /// Work with runs over the API
    Runs(cli::runs::Runs),
    /// Work with workflows over the API
    Workflows(cli::workflows::Workflows),
    /// Show what files of schedules would change
    Plan(cli::declared::Plan),
    /// Bring sets of schedules to what files declare
    Apply(cli::declared::Apply),
    /// Check files of schedules, without any system
    Validate(cli::declared::Validate),
    /// Print a set of schedules as a file
    Export(cli::declared::Export),
    /// Take schedules made by hand into a set
    Adopt(cli::declared::Adopt),
    /// Let schedules go from a set, and keep them
    Release(cli::declared::Release),
    /// Convert what other schedulers have to a file of schedules
    Import(cli::declared::Import),
    /// Print the JSON Schema of files of schedules
    Schema(cli::declared::Schema),
    /// Print completions for a shell
    Completions {
        /// Which shell
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
            generate(shell, &mut Belfry::command(), "belfry", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
    }
}
