//! `belfry runs`: lists, shows and watches runs over the API.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::client::{Api, Connection, Done};
use super::print_json;
use super::table::{print, print_fields, shown};

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
        #[arg(long, value_name = "N", default_value_t = 20)]
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
            let runs = api.all(&["schedules", &schedule_id, "runs"], &query, limit).await?;
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

fn list(api: &Api, runs: &[Value]) -> std::io::Result<()> {
    if api.json {
        return print_json(&json!({"items": runs}));
    }
    let fields = ["run_id", "status", "reason", "trigger", "attempt", "drift_ms", "error"];
    let rows: Vec<_> =
        runs.iter().map(|run| fields.iter().map(|f| shown(&run[*f])).collect()).collect();
    print(&["run", "status", "reason", "trigger", "attempt", "drift ms", "error"], &rows)
}

pub(crate) fn show(api: &Api, run: &Value) -> std::io::Result<()> {
    if api.json {
        return print_json(run);
    }
    let fields = [
        "run_id",
        "status",
        "reason",
        "trigger",
        "run_at",
        "launch_at",
        "started_at",
        "finished_at",
        "drift_ms",
        "attempt",
        "external_run_id",
        "result",
        "error",
        "blocked_by",
        "idempotency_key",
    ];
    let lines: Vec<_> = fields.iter().map(|field| (*field, shown(&run[*field]))).collect();
    print_fields(&lines)
}

/// Waits until a run has ended.
async fn wait_for(api: &Api, id: &str, every: Duration) -> Done {
    loop {
        let run = api.get(&["runs", id], &[]).await?;
        if is_over(&run) {
            show(api, &run)?;
            let good = run["status"] == "SUCCESS";
            return Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        tokio::time::sleep(every).await;
    }
}

/// Prints a line for every run whose status changed, oldest first.
async fn watch(api: &Api, schedule: &str, count: Option<usize>, every: Duration) -> Done {
    let mut known: Option<HashMap<String, Value>> = None;
    let mut ended = 0;
    loop {
        let runs = api.all(&["schedules", schedule, "runs"], &[], WATCHED).await?;
        let mut seen = HashMap::new();
        for run in runs.iter().rev() {
            let id = shown(&run["run_id"]);
            // Leave out runs planned ahead, which have not happened yet, and runs that ended before
            // the watch began.
            let news = run["status"] != "ENQUEUED"
                && known.as_ref().is_some_and(|known| known.get(&id) != Some(&run["status"]));
            if news {
                line(api, run)?;
                ended += usize::from(is_over(run));
            }
            seen.insert(id, run["status"].clone());
            if count.is_some_and(|count| ended >= count) {
                return Ok(ExitCode::SUCCESS);
            }
        }
        known = Some(seen);
        tokio::time::sleep(every).await;
    }
}

fn line(api: &Api, run: &Value) -> std::io::Result<()> {
    if api.json {
        return print_json(run);
    }
    let fields = ["run_id", "status", "reason", "error"];
    let words: Vec<_> =
        fields.iter().map(|field| super::table::plain(&shown(&run[*field]))).collect();
    super::print_line(words.join("  ").trim_end())
}

fn is_over(run: &Value) -> bool {
    let over = ["SUCCESS", "FAILED", "SKIPPED", "ABANDONED"];
    run["status"].as_str().is_some_and(|status| over.contains(&status))
}
