//! The subcommands of `belfry`, and what several of them need.

mod bulk;
pub(crate) mod capacity;
mod client;
pub(crate) mod cost;
pub(crate) mod declared;
mod definition;
pub(crate) mod dev;
mod history;
pub(crate) mod preview;
pub(crate) mod runs;
pub(crate) mod schedules;
mod table;
pub(crate) mod token;
pub(crate) mod workflows;

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;

/// Prints an error and returns the exit code of a failure.
fn fail(problem: &str) -> ExitCode {
    complain(&format!("belfry: {problem}"));
    ExitCode::FAILURE
}

/// Prints a line on standard error. A closed standard error is ignored: there is no other place for the line.
fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// The exit code of a command that prints. A closed pipe is not a failure: a reader such as `head`
/// stops when it has enough.
pub(crate) fn printed(done: io::Result<ExitCode>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(problem) => fail(&problem.to_string()),
    }
}

/// Goes on although the output is closed: work that has begun is finished.
fn unread_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(problem) if problem.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

fn print_json(value: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{value}")
}

fn print_line(text: &str) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}

/// Parses an argument as JSON.
fn json_text(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|problem| format!("is not JSON: {problem}"))
}

/// Reads a file, or standard input if the file is `-`.
fn read_text(file: &Path) -> io::Result<String> {
    if file != Path::new("-") {
        return std::fs::read_to_string(file);
    }
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// Reads the JSON of a file, or of standard input if the file is `-`.
fn read_json(file: &Path) -> Result<Value, String> {
    let text = read_text(file).map_err(|problem| format!("read {}: {problem}", file.display()))?;
    json_text(&text).map_err(|problem| format!("{} {problem}", file.display()))
}
