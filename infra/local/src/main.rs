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
        Command::Completions { shell } => {
            generate(shell, &mut Belfry::command(), "belfry", &mut std::io::stdout());
            ExitCode::SUCCESS
        }
    }
}
