//! Logs: one JSON object a line on standard output, where CloudWatch reads them.

use tracing_subscriber::EnvFilter;

/// Starts logging; `filter` such as `info` or `belfry_engine=debug`.
pub fn start(filter: &str) {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    let format = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_env_filter(filter);
    // A second start keeps the first: tests share a process.
    let _ = format.try_init();
}

/// Starts logging as the function's environment says.
#[expect(clippy::disallowed_methods, reason = "the edge where a function reads its environment")]
pub fn start_from_environment() {
    start(&std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned()));
}
