//! The `belfry` command.

mod cli;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// Show when an expression fires
    Preview(cli::preview::Preview),
}

fn main() -> ExitCode {
    match Belfry::parse().command {
        Command::Dev(dev) => dev.run(),
        Command::Preview(preview) => preview.run(),
    }
}
