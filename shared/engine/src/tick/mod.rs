//! The tick: reads every shard of the due index and emits the fires that are due.
//!
//! One invocation takes on one share of the due clocks. It hands over what is beyond its share at
//! once, through the tick queue, to other ticks that work at the same time. It hands over what is
//! left when its own time is up.

mod duties;

use belfry_core::id::ScheduleId;
use belfry_core::instant::Instant;
use belfry_core::tick::fair::{self, Due};
use belfry_core::tick::share::{Duty, HandOver, Share, Stretch, page, stop_at};
use futures::{FutureExt, StreamExt, stream};
use tracing::{debug, error, info, warn};

use crate::app::App;
use crate::cloud::store::DuePage;
use crate::cloud::tick_queue::named;
use crate::fault::Fault;
use crate::fires::emit::{self, Report};
use crate::metrics::{self, Metric};

/// Shards read concurrently.
const SHARDS_AT_ONCE: usize = 32;
/// Entries of the index per query page: a quarter of what DynamoDB fits into one.
const MAX_PAGE: usize = 1000;
/// Clocks processed in one batch, of whatever shards: as many as one BatchGetItem reads.
const CLOCKS_PER_BATCH: usize = 100;
/// Batches processed concurrently.
const BATCHES_AT_ONCE: usize = 4;

/// One invocation's part in a tick: how many hand-overs it is away from the rule's own tick, when
/// that tick began, and until when it takes on new work.
struct Turn {
    generation: u32,
    ticked_at: Instant,
    stop_at: Instant,
}

/// Emits every fire that is due within the look-ahead, and reports what was done. Work that does
/// not fit before `deadline` is handed over or left to the next tick.
pub async fn tick(app: &App, now: Instant, deadline: Instant) -> Report {
    let turn = Turn { generation: 0, ticked_at: now, stop_at: stop_at(now, deadline) };
    let all = (0..app.settings.due_shards).map(|shard| Stretch { shard, after: None });
    let mut report = Report::default();
    go_through(app, all.collect(), &turn, now, &mut report).await;
    tell(app, &report);
    report
}

/// Does the work that another tick handed over.
pub async fn take_over(app: &App, work: HandOver, now: Instant, deadline: Instant) -> Report {
    let mut report = Report::default();
    if work.is_stale(now) {
        info!(generation = work.generation, "hand-over dropped: a newer tick has started");
        return report;
    }
    let turn = Turn {
        generation: work.generation,
        ticked_at: work.ticked_at,
        stop_at: stop_at(now, deadline),
    };
    match work.share {
        Share::Shard(stretch) => go_through(app, vec![stretch], &turn, now, &mut report).await,
        Share::Named { clocks, duties } => {
            let left = perform(app, clocks, duties, &turn, &mut report).await;
            hand_over_left(app, left, &turn, &mut report).await;
        }
    }
    tell(app, &report);
    report
}

/// Emits the due fires of some stretches of the index, one share at a time.
async fn go_through(
    app: &App,
    mut open: Vec<Stretch>,
    turn: &Turn,
    now: Instant,
    report: &mut Report,
) {
    let until = now + app.settings.horizon.lookahead;
    loop {
        let hand = gather(app, &mut open, until, report).await;
        if !open.is_empty() {
            open = hand_over_stretches(app, open, turn, report).await;
        }
        let left = perform(app, fair::order(hand.clocks), hand.duties, turn, report).await;
        let is_over = !left.is_empty() || app.now() >= turn.stop_at;
        hand_over_left(app, left, turn, report).await;
        if open.is_empty() {
            return;
        }
        if is_over {
            warn!(shards = open.len(), "tick out of time: shards left to the next tick");
            report.left += open.len();
            return;
        }
    }
}

/// The entries of the index that this tick works on.
#[derive(Default)]
struct Hand {
    clocks: Vec<Due>,
    duties: Vec<Duty>,
}

/// Reads one share of the due entries, evenly from all `open` stretches. A stretch that has more
/// entries stays open behind the last one read. A stretch that was read to its end, or cannot be
/// read, is closed.
async fn gather(app: &App, open: &mut Vec<Stretch>, until: Instant, report: &mut Report) -> Hand {
    let share = app.settings.tick_share;
    let mut hand = Hand::default();
    loop {
        let had = hand.clocks.len() + hand.duties.len();
        if open.is_empty() || had >= share {
            return hand;
        }
        let limit = page(share - had, open.len(), MAX_PAGE);
        let reads: Vec<_> =
            open.drain(..).map(|stretch| read(app, stretch, until, limit)).collect();
        let mut pages = stream::iter(reads).buffered(SHARDS_AT_ONCE);
        while let Some((shard, page)) = pages.next().await {
            match page {
                Ok(page) => {
                    hand.clocks.extend(page.clocks);
                    hand.duties.extend(page.duties);
                    let rest = page.rest.map(|place| Stretch { shard, after: Some(place) });
                    open.extend(rest);
                }
                Err(fault) => {
                    error!(%fault, "due shard not read");
                    report.failed += 1;
                }
            }
        }
    }
}

async fn read(
    app: &App,
    stretch: Stretch,
    until: Instant,
    limit: usize,
) -> (u32, Result<DuePage, Fault>) {
    (stretch.shard, app.store.due(&stretch, until, limit).await)
}

/// Entries that were read but not processed before time was up.
#[derive(Default)]
struct Left {
    clocks: Vec<ScheduleId>,
    duties: Vec<Duty>,
}

impl Left {
    fn is_empty(&self) -> bool {
        self.clocks.is_empty() && self.duties.is_empty()
    }
}

/// Emits the due fires of some clocks, in this order, then does the duties, until time is up.
async fn perform(
    app: &App,
    clocks: Vec<ScheduleId>,
    duties: Vec<Duty>,
    turn: &Turn,
    report: &mut Report,
) -> Left {
    let batches: Vec<_> = clocks
        .chunks(CLOCKS_PER_BATCH)
        .map(|ids| work(app, ids.to_vec(), turn.stop_at).boxed())
        .collect();
    let mut answers = stream::iter(batches).buffer_unordered(BATCHES_AT_ONCE);
    let mut left = Left::default();
    while let Some(answer) = answers.next().await {
        match answer {
            Ok(done) => report.add(done),
            Err(untouched) => left.clocks.extend(untouched),
        }
    }
    let mut duties = duties.into_iter();
    while app.now() < turn.stop_at {
        let Some(duty) = duties.next() else { break };
        // Boxed: the future of a duty that changes a schedule nests deeper than the compiler's
        // limit.
        Box::pin(duties::perform(app, vec![duty], app.now(), report)).await;
    }
    left.duties = duties.collect();
    left
}

/// Emits the due fires of a batch of clocks. Answers with the batch itself if it is too late to
/// begin.
async fn work(
    app: &App,
    ids: Vec<ScheduleId>,
    stop_at: Instant,
) -> Result<Report, Vec<ScheduleId>> {
    // The time of each batch, not of the tick's beginning: message delays count from the moment of
    // sending.
    let now = app.now();
    if now >= stop_at {
        return Err(ids);
    }
    let mut report = Report::default();
    let answers = match app.store.clocks(&ids).await {
        Ok(answers) => answers,
        Err(fault) => {
            error!(%fault, "clocks not read");
            report.failed = ids.len();
            return Ok(report);
        }
    };
    let mut clocks = Vec::with_capacity(answers.len());
    for answer in answers {
        match answer {
            Ok(clock) => clocks.push(clock),
            Err(fault) => {
                error!(%fault, "clock skipped: unreadable record");
                report.broken += 1;
            }
        }
    }
    report.add(emit::emit(app, clocks, &app.settings.horizon, now).await);
    Ok(report)
}

/// Hands stretches over to other ticks, if the hand-over has not gone on for too long. Answers with
/// the stretches that this tick keeps.
async fn hand_over_stretches(
    app: &App,
    open: Vec<Stretch>,
    turn: &Turn,
    report: &mut Report,
) -> Vec<Stretch> {
    if !HandOver::may_continue(turn.generation) {
        return open;
    }
    let shares = open.into_iter().map(Share::Shard).collect::<Vec<_>>();
    let count = shares.len();
    let kept = app.tick_queue.hand_over(shares, turn.generation + 1, turn.ticked_at).await;
    report.handed_over += count - kept.len();
    let stretch = |share| match share {
        Share::Shard(stretch) => Some(stretch),
        Share::Named { .. } => None,
    };
    kept.into_iter().filter_map(stretch).collect()
}

/// Hands over the entries for which there was no time. The next tick finds those that cannot be
/// handed over.
async fn hand_over_left(app: &App, left: Left, turn: &Turn, report: &mut Report) {
    if left.is_empty() {
        return;
    }
    let count = left.clocks.len() + left.duties.len();
    let shares = named(&left.clocks, &left.duties);
    let all = shares.len();
    let kept = if HandOver::may_continue(turn.generation) {
        app.tick_queue.hand_over(shares, turn.generation + 1, turn.ticked_at).await
    } else {
        shares
    };
    report.handed_over += all - kept.len();
    report.left += kept
        .iter()
        .map(|share| match share {
            Share::Named { clocks, duties } => clocks.len() + duties.len(),
            Share::Shard(_) => 1,
        })
        .sum::<usize>();
    warn!(count, handed_over = all - kept.len(), "tick out of time");
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
            handed_over = report.handed_over,
            left = report.left,
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
        Metric::count(metrics::SHARES_HANDED_OVER, report.handed_over),
        Metric::count(metrics::DUE_LEFT, report.left),
        Metric::millis(metrics::EMIT_DRIFT, &report.drift_ms),
    ]);
}
