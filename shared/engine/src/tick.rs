//! The tick: looks at every shard of the due index and emits what is due.

use std::pin::pin;

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use futures::{Stream, StreamExt, stream};
use tracing::{debug, error, info};

use crate::app::App;
use crate::duties;
use crate::emit::{self, Report};
use crate::fault::Fault;
use crate::metrics::{self, Metric};
use crate::store::DuePage;

/// Shards read at once.
const SHARDS_AT_ONCE: usize = 8;
/// Clocks worked on together, whatever their shards: as many as one BatchGetItem brings.
const TOGETHER: usize = 100;
/// Such batches under way at once.
const BATCHES_AT_ONCE: usize = 4;

/// Emits every fire that is due within the look-ahead, and reports what was done.
pub async fn tick(app: &App, now: Instant) -> Report {
    let until = now + app.settings.horizon.lookahead;
    let shards = (0..app.settings.due_shards).map(|shard| due(app, shard, until).boxed());
    let found = stream::select_all(shards.collect::<Vec<_>>()).ready_chunks(SHARDS_AT_ONCE);
    let mut total = Report::default();
    let mut ids = Vec::new();
    let mut duties = Vec::new();
    let mut batches = Vec::new();
    let mut found = pin!(found);
    while let Some(pages) = found.next().await {
        for page in pages {
            match page {
                Ok(page) => {
                    ids.extend(page.clocks);
                    duties.extend(page.duties);
                }
                Err(fault) => {
                    error!(%fault, "shard not read");
                    total.failed += 1;
                }
            }
        }
        while ids.len() >= TOGETHER {
            batches.push(ids.drain(..TOGETHER).collect::<Vec<_>>());
        }
        if batches.len() >= BATCHES_AT_ONCE {
            work(app, std::mem::take(&mut batches), now, &mut total).await;
        }
    }
    if !ids.is_empty() {
        batches.push(ids);
    }
    work(app, batches, now, &mut total).await;
    duties::perform(app, duties, now, &mut total).await;
    tell(app, &total);
    total
}

/// What is due of a shard, page by page, oldest first.
fn due(
    app: &App,
    shard: u32,
    until: Instant,
) -> impl Stream<Item = Result<DuePage, Fault>> + Send + '_ {
    stream::unfold(Some(None), move |from| async move {
        match app.store.due(shard, until, from?).await {
            Ok(mut page) => {
                let rest = page.rest.take().map(Some);
                Some((Ok(page), rest))
            }
            Err(fault) => Some((Err(fault), None)),
        }
    })
}

async fn work(app: &App, batches: Vec<Vec<ScheduleId>>, now: Instant, total: &mut Report) {
    let work = batches.into_iter().map(|ids| work_batch(app, ids, now));
    let reports: Vec<Report> =
        stream::iter(work.collect::<Vec<_>>()).buffer_unordered(BATCHES_AT_ONCE).collect().await;
    reports.into_iter().for_each(|report| total.add(report));
}

async fn work_batch(app: &App, ids: Vec<ScheduleId>, now: Instant) -> Report {
    let mut report = Report::default();
    let answers = match app.store.clocks(&ids).await {
        Ok(answers) => answers,
        Err(fault) => {
            error!(%fault, "clocks not read");
            report.failed = ids.len();
            return report;
        }
    };
    let mut clocks = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(clock) => clocks.push(clock),
            Err(fault) => {
                error!(%fault, "skipped: unreadable clock");
                report.broken += 1;
            }
        }
    }
    report.add(emit::emit(app, clocks, &app.settings.horizon, now).await);
    report
}

fn tell(app: &App, report: &Report) {
    match report.due {
        0 => debug!("tick: nothing due"),
        _ => info!(
            due = report.due,
            emitted = report.emitted,
            resent = report.resent,
            known = report.known,
            skipped = report.skipped,
            failed = report.failed,
            lost = report.lost,
            broken = report.broken,
            "tick"
        ),
    }
    app.count(&[
        Metric::count(metrics::SCHEDULES_DUE, report.due),
        Metric::count(metrics::RUNS_EMITTED, report.emitted),
        Metric::count(metrics::RUNS_RESENT, report.resent),
        Metric::count(metrics::RUNS_SKIPPED, report.skipped),
        Metric::count(metrics::CLOCKS_FAILED, report.failed),
        Metric::count(metrics::RACES_LOST, report.lost),
        Metric::count(metrics::SCHEDULES_BROKEN, report.broken),
        Metric::count(metrics::ZONES_LOST, report.zone_lost),
        Metric::millis(metrics::EMIT_DRIFT, &report.drift_ms),
    ]);
}
