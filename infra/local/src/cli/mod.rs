//! The subcommands.

pub(crate) mod dev;
pub(crate) mod preview;

use std::process::ExitCode;

/// Says what went wrong, and fails.
#[expect(clippy::print_stderr, reason = "a command's errors belong on standard error")]
fn fail(problem: &str) -> ExitCode {
    eprintln!("belfry: {problem}");
    ExitCode::FAILURE
}
