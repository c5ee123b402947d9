//! Logs: one JSON object a line on standard output, where CloudWatch reads them.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::SubscriberBuilder;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields};

/// How lines look, and which are written; `filter` such as `info` or `belfry_engine=debug`.
pub fn format(filter: &str) -> SubscriberBuilder<JsonFields, Format<Json>, EnvFilter> {
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_env_filter(filter)
}

/// Starts logging as the function's environment says.
#[expect(clippy::disallowed_methods, reason = "the edge where a function reads its environment")]
pub fn start_from_environment() {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    // A second start keeps the first.
    let _ = format(&filter).try_init();
}
