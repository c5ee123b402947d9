//! `belfry dev`: the whole system on this machine.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use belfry_engine::log;
use belfry_local::dev::{self, Options};
use belfry_local::services::Storage;
use belfry_time::SystemTime;
use chrono::Duration;
use clap::Args;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::fail;

/// Runs the tick, the launcher and the API on an embedded DynamoDB and SQS, all on loopback. All
/// stored data survives `kill -9`. Settings are read from the environment, as the functions do in
/// AWS (docs/settings.md).
#[derive(Args)]
pub(crate) struct Dev {
    /// Port of the API; DynamoDB and SQS use the next two ports; 0 picks free ports
    #[arg(long, default_value_t = 7600)]
    port: u16,
    /// Folder for all data
    #[arg(long, value_name = "DIR", default_value = ".belfry")]
    data: PathBuf,
    /// Keep all data in memory instead
    #[arg(long, conflicts_with = "data")]
    memory: bool,
    /// Milliseconds between two ticks
    #[arg(long, value_name = "MS", env = "TICK_MS", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(10..=3_600_000))]
    tick_ms: u32,
    /// Run the real function binaries as processes, over the Lambda Runtime API
    #[arg(long)]
    processes: bool,
    /// Print the functions' metrics (CloudWatch embedded metric format)
    #[arg(long)]
    metrics: bool,
    /// Log filter, such as info, debug or belfry_engine=debug
    #[arg(long, value_name = "FILTER", env = "RUST_LOG", default_value = "info")]
    log: String,
}

impl Dev {
    pub(crate) fn run(self) -> ExitCode {
        // The embedded database warns about every failed condition, which is normal: losers of a race fail it.
        let levels = log::levels(&format!("dynoxide=error,{}", self.log));
        let lines = fmt::layer().with_writer(std::io::stderr).with_target(false).compact();
        tracing_subscriber::registry().with(lines.with_filter(levels)).init();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.serve()),
            Err(problem) => fail(&problem.to_string()),
        }
    }

    async fn serve(self) -> ExitCode {
        let processes = match (self.processes, std::env::current_exe()) {
            (false, _) => None,
            (true, Ok(belfry)) => belfry.parent().map(PathBuf::from),
            (true, Err(problem)) => return fail(&format!("find the functions: {problem}")),
        };
        let storage = if self.memory { Storage::Memory } else { Storage::Folder(self.data) };
        let kept = match &storage {
            Storage::Memory => "in memory, lost when this process ends".to_owned(),
            Storage::Folder(folder) => folder.display().to_string(),
        };
        let options = Options {
            port: self.port,
            storage,
            tick: Duration::milliseconds(i64::from(self.tick_ms)),
            processes,
            metrics: self.metrics,
        };
        let dev = match dev::start(&options, Arc::new(SystemTime), setting).await {
            Ok(dev) => dev,
            Err(problem) => return fail(&problem.to_string()),
        };
        let (url, dynamodb, sqs) = (&dev.url, &dev.endpoints.dynamodb, &dev.endpoints.sqs);
        let token = &dev.token;
        // Flush now and ignore errors: a reader that closes the pipe early must not stop the
        // system.
        let ready = format!(
            "belfry is ready\n  console    {url}/console#token={token}\n  API        {url}/api/v1\n  \
             DynamoDB   {dynamodb}\n  SQS        {sqs}\n  data       {kept}\n  token      {token}\n\
             Press Ctrl-C to stop; no data is lost.\n"
        );
        let _ = std::io::stdout().write_all(ready.as_bytes());
        match tokio::signal::ctrl_c().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => fail(&problem.to_string()),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the command reads its environment here and nowhere else"
)]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
