//! Logs: one JSON object per line on standard output, which CloudWatch collects.

use tracing::Subscriber;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry;

/// Lines to a writer, those that `filter` lets through, such as `info` or `belfry_engine=debug`.
pub fn to<W>(writer: W, filter: &str) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().json().flatten_event(true).with_current_span(false);
    registry().with(lines.with_writer(writer).with_filter(levels(filter)))
}

/// Libraries that write whole requests and answers at level `trace`, and with them payloads and
/// tokens.
const TALKATIVE: [&str; 5] = ["aws_", "h2", "hyper", "lambda_runtime", "reqwest"];

/// What a filter lets through; one that cannot be read lets `info` through. The `trace` lines of
/// talkative libraries are let through only if the filter names the library.
pub fn levels(filter: &str) -> Targets {
    let levels: Targets =
        filter.parse().unwrap_or_else(|_| Targets::new().with_default(LevelFilter::INFO));
    if levels.default_level() != Some(LevelFilter::TRACE) {
        return levels;
    }
    let is_named = |library: &str| levels.iter().any(|(target, _)| target.starts_with(library));
    let capped = TALKATIVE.into_iter().filter(|library| !is_named(library));
    let capped: Vec<_> = capped.map(|library| (library, LevelFilter::DEBUG)).collect();
    levels.with_targets(capped)
}

/// Starts logging at the level that `RUST_LOG` names; `info` if it names none.
#[expect(clippy::disallowed_methods, reason = "the edge where a function reads its environment")]
pub fn start_from_environment() {
    let filter = std::env::var("RUST_LOG").unwrap_or_else(|_| "info".to_owned());
    // A second start keeps the first.
    let _ = tracing::subscriber::set_global_default(to(std::io::stdout, &filter));
}
