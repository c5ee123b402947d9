//! The tick: looks at every shard of the due index and emits what is due.

use belfry_core::instant::Instant;
use futures::{StreamExt, stream};
use tracing::{error, info};

use crate::app::App;
use crate::emit::{self, Report};
use crate::metrics::Metric;

/// Shards worked on at once.
const SHARDS_AT_ONCE: usize = 8;

/// Emits every fire that is due within the look-ahead, and reports what was done.
pub async fn tick(app: &App, now: Instant) -> Report {
    let shards = (0..app.settings.due_shards).map(|shard| work_shard(app, shard, now));
    let reports: Vec<Report> =
        stream::iter(shards.collect::<Vec<_>>()).buffer_unordered(SHARDS_AT_ONCE).collect().await;
    let mut total = Report::default();
    reports.into_iter().for_each(|report| total.add(report));
    tell(app, &total);
    total
}

async fn work_shard(app: &App, shard: u32, now: Instant) -> Report {
    let horizon = &app.settings.horizon;
    let mut total = Report::default();
    let mut rest = None;
    loop {
        let page = match app.store.due(shard, now + horizon.lookahead, rest).await {
            Ok(page) => page,
            Err(fault) => {
                error!(shard, %fault, "shard not read");
                total.failed += 1;
                return total;
            }
        };
        rest = page.rest;
        if !page.ids.is_empty() {
            match app.store.clocks(&page.ids).await {
                Ok(answers) => {
                    let mut clocks = Vec::with_capacity(answers.len());
                    for answer in answers {
                        match answer {
                            Ok(clock) => clocks.push(clock),
                            Err(fault) => {
                                error!(%fault, "skipped: unreadable clock");
                                total.broken += 1;
                            }
                        }
                    }
                    total.add(emit::emit(app, clocks, horizon, now).await);
                }
                Err(fault) => {
                    error!(shard, %fault, "clocks not read");
                    total.failed += page.ids.len();
                }
            }
        }
        if rest.is_none() {
            return total;
        }
    }
}

fn tell(app: &App, report: &Report) {
    info!(
        due = report.due,
        emitted = report.emitted,
        resent = report.resent,
        known = report.known,
        skipped = report.skipped,
        failed = report.failed,
        lost = report.lost,
        broken = report.broken,
        "tick"
    );
    app.count(
        "tick",
        &[
            Metric::count("schedules_due", report.due),
            Metric::count("runs_emitted", report.emitted),
            Metric::count("runs_resent", report.resent),
            Metric::count("runs_skipped", report.skipped),
            Metric::count("clocks_failed", report.failed),
            Metric::count("races_lost", report.lost),
            Metric::count("schedules_broken", report.broken),
            Metric::count("zones_lost", report.zone_lost),
            Metric::millis("emit_drift", &report.drift_ms),
        ],
    );
}
