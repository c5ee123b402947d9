//! `belfry runs`: lists, shows and watches runs over the API.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use belfry_core::id::RunId;
use belfry_core::run::Status;
use belfry_core::run::view::RunView;
use clap::{Args, Subcommand};
use serde_json::Value;

use super::client::{Answer, Api, Connection, Done, Listing, most};
use super::print_json;
use super::table::{plain, print, print_fields, shown};

/// Lists, shows and watches runs over the API.
#[derive(Args)]
pub(crate) struct Runs {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List a schedule's runs, newest first
    List {
        /// Id of the schedule
        schedule_id: String,
        /// Only runs with this status, such as FAILED
        #[arg(long)]
        status: Option<String>,
        /// Only runs at or after this time (RFC 3339)
        #[arg(long, value_name = "TIME")]
        from: Option<String>,
        /// Only runs up to this time (RFC 3339)
        #[arg(long, value_name = "TIME")]
        to: Option<String>,
        /// Maximum number of runs
        #[arg(long, value_name = "N", value_parser = most, default_value_t = 20)]
        limit: usize,
    },
    /// Show a run
    Get {
        /// Id of the run
        run_id: String,
    },
    /// Print runs as they change; given a run's id, wait for its end and exit with 0 if it
    /// succeeded, 1 if not
    Watch {
        /// Id of a schedule, or of one run
        id: String,
        /// Stop after this many runs have ended
        #[arg(long, value_name = "N")]
        count: Option<usize>,
        /// Milliseconds between two polls
        #[arg(long, value_name = "MS", default_value_t = 1000)]
        every_ms: u64,
    },
}

/// Newest runs compared in each poll.
const WATCHED: usize = 100;

impl Runs {
    pub(crate) fn run(self) -> ExitCode {
        let command = self.command;
        self.connection.run(|api| carry_out(api, command))
    }
}

async fn carry_out(api: Api, command: Command) -> Done {
    match command {
        Command::List { schedule_id, status, from, to, limit } => {
            let query = [("status", status), ("from", from), ("to", to)];
            let path = ["schedules", &schedule_id, "runs"];
            let runs = api.all::<RunView>(&path, &query, Some(limit)).await?;
            runs.tell_rest();
            list(&api, &runs)?;
        }
        Command::Get { run_id } => show(&api, &api.get(&["runs", &run_id], &[]).await?)?,
        Command::Watch { id, count, every_ms } => {
            let every = Duration::from_millis(every_ms);
            return match id.contains('@') {
                true => wait_for(&api, &id, every).await,
                false => watch(&api, &id, count, every).await,
            };
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn list(api: &Api, runs: &Listing<RunView>) -> std::io::Result<()> {
    if api.json {
        return runs.print_json();
    }
    let row = |Answer { view: run, .. }: &Answer<RunView>| {
        vec![
            shown(&run.run_id),
            shown(&run.status),
            shown(&run.reason),
            shown(&run.trigger),
            shown(&run.attempt),
            shown(&run.drift_ms),
            shown(&run.error),
        ]
    };
    let rows: Vec<_> = runs.items.iter().map(row).collect();
    print(&["run", "status", "reason", "trigger", "attempt", "drift ms", "error"], &rows)
}

pub(crate) fn show(api: &Api, answer: &Answer<RunView>) -> std::io::Result<()> {
    if api.json {
        return print_json(&answer.json);
    }
    let run = &answer.view;
    print_fields(&[
        ("run_id", shown(&run.run_id)),
        ("status", shown(&run.status)),
        ("reason", shown(&run.reason)),
        ("trigger", shown(&run.trigger)),
        ("run_at", shown(&run.run_at)),
        ("launch_at", shown(&run.launch_at)),
        ("started_at", shown(&run.started_at)),
        ("finished_at", shown(&run.finished_at)),
        ("drift_ms", shown(&run.drift_ms)),
        ("attempt", shown(&run.attempt)),
        ("external_run_id", shown(&run.external_run_id)),
        ("result", shown(&run.result)),
        ("error", shown(&run.error)),
        ("blocked_by", shown(&run.blocked_by)),
        ("idempotency_key", shown(&run.idempotency_key)),
    ])
}

/// Waits until a run has ended.
async fn wait_for(api: &Api, id: &str, every: Duration) -> Done {
    loop {
        let run = api.get::<RunView>(&["runs", id], &[]).await?;
        let status = run.view.status;
        if status.is_terminal() {
            show(api, &run)?;
            let good = status == Status::Success;
            return Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        tokio::time::sleep(every).await;
    }
}

/// Prints a line for every run whose status changed, oldest first.
async fn watch(api: &Api, schedule: &str, count: Option<usize>, every: Duration) -> Done {
    let mut known: Option<HashMap<RunId, Status>> = None;
    let mut ended = 0;
    loop {
        let path = ["schedules", schedule, "runs"];
        let newest = api.all::<RunView>(&path, &[], Some(WATCHED)).await?;
        let mut seen = HashMap::new();
        for Answer { json, view: run } in newest.items.into_iter().rev() {
            // What is planned ahead has not happened yet, and what was over before is no news.
            let is_new = |known: &HashMap<_, _>| known.get(&run.run_id) != Some(&run.status);
            if run.status != Status::Enqueued && known.as_ref().is_some_and(is_new) {
                line(api, &json, &run)?;
                ended += usize::from(run.status.is_terminal());
            }
            seen.insert(run.run_id, run.status);
            if count.is_some_and(|count| ended >= count) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        known = Some(seen);
        tokio::time::sleep(every).await;
    }
}

fn line(api: &Api, json: &Value, run: &RunView) -> std::io::Result<()> {
    if api.json {
        return print_json(json);
    }
    let words = [shown(&run.run_id), shown(&run.status), shown(&run.reason), shown(&run.error)];
    super::print_line(plain(&words.join("  ")).trim_end())
}
