//! Emission: put the fires of some clocks, send them, and advance the clocks last.
//!
//! The order is what makes it safe. A crash after any step leaves a clock that still points at its
//! fires, and every step done again finds what was done before.

use belfry_core::fire::plan::{Fire, Horizon, plan};
use belfry_core::fire::verdict::can_be_read_ahead;
use belfry_core::id::{Cause, RunId};
use belfry_core::instant::Instant;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::{Clock, Overlap};
use chrono::Duration;
use futures::future::join_all;
use futures::{StreamExt, stream};
use tracing::{debug, error, info, warn};

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::message::Message;
use crate::cloud::store::{Advance, Change, MAX_STATEMENTS, Put};
use crate::fault::Fault;

/// Calls under way at once, each with some writes: enough to hide the latency of DynamoDB.
const CONCURRENCY: usize = 8;

/// What an emission did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Clocks looked at.
    pub due: usize,
    /// Fires recorded and sent.
    pub emitted: usize,
    /// Fires recorded before, not launched yet, and sent again.
    pub resent: usize,
    /// Fires recorded before that went on.
    pub known: usize,
    /// Fires recorded as not to be launched.
    pub skipped: usize,
    /// Clocks that did not get through; the next tick takes them up again.
    pub failed: usize,
    /// Clocks that somebody else advanced or edited meanwhile.
    pub lost: usize,
    /// Clocks whose stored definition cannot be read.
    pub broken: usize,
    /// Clocks whose zone is unknown and that run on UTC.
    pub zone_lost: usize,
    /// Shares handed over to other ticks.
    pub handed_over: usize,
    /// Clocks, duties and shards left to the rule's next tick for want of time.
    pub left: usize,
    /// How late each emitted fire was when it was sent, in milliseconds; zero when ahead.
    pub drift_ms: Vec<i64>,
}

impl Report {
    /// Adds what another emission did.
    pub fn add(&mut self, other: Report) {
        self.due += other.due;
        self.emitted += other.emitted;
        self.resent += other.resent;
        self.known += other.known;
        self.skipped += other.skipped;
        self.failed += other.failed;
        self.lost += other.lost;
        self.broken += other.broken;
        self.zone_lost += other.zone_lost;
        self.handed_over += other.handed_over;
        self.left += other.left;
        self.drift_ms.extend(other.drift_ms);
    }
}

/// Writes it into the change log, once, when a zone is lost or found again.
async fn note_zones(app: &App, work: &[Work], now: Instant) {
    for Work { clock, zone_lost, .. } in work.iter().filter(|w| w.zone_lost != w.clock.zone_lost) {
        let verb = if *zone_lost { "zone_lost" } else { "zone_found" };
        let log = Change {
            by: "belfry".to_owned(),
            owner: Some(clock.owner.clone()),
            at: now,
            verb: verb.to_owned(),
            revision: clock.revision,
            timing: clock.timing.clone(),
            paused: clock.paused,
            changes: Vec::new(),
            origin: None,
            run_id: None,
        };
        if let Err(fault) = app.store.note_zone(clock, *zone_lost, &log).await {
            error!(schedule_id = %clock.schedule_id, %fault, "zone not noted");
        }
    }
}

/// A clock, its plan, and whether every fire of it got through so far.
struct Work {
    clock: Clock,
    fires: Vec<Fire>,
    next_run_at: Option<Instant>,
    through: bool,
    zone_lost: bool,
}

impl Work {
    /// Whether there is nothing to do after all: the index lags, or somebody else came first.
    fn is_idle(&self) -> bool {
        self.fires.is_empty() && self.next_run_at == self.clock.next_run_at
    }

    fn advance(&self) -> Advance<'_> {
        let newest = self.fires.last().map(|fire| &fire.id);
        Advance { clock: &self.clock, next: self.next_run_at, newest }
    }
}

/// Emits what is due of `clocks` within `horizon`. One that fails leaves the others alone.
pub async fn emit(app: &App, clocks: Vec<Clock>, horizon: &Horizon, now: Instant) -> Report {
    let mut report = Report { due: clocks.len(), ..Report::default() };
    let mut work = decide(clocks, horizon, now, &mut report);
    note_zones(app, &work, now).await;
    heed_summaries(app, &mut work, now).await;
    let parcels = put(app, &mut work, now, &mut report).await;
    send(app, &mut work, parcels).await;
    advance(app, &work, &mut report).await;
    report
}

fn decide(clocks: Vec<Clock>, horizon: &Horizon, now: Instant, report: &mut Report) -> Vec<Work> {
    let mut work = Vec::with_capacity(clocks.len());
    for clock in clocks {
        if clock.paused {
            // The index lags behind a pause; the clock does not.
            continue;
        }
        match clock.read() {
            Err(problem) => {
                report.broken += 1;
                warn!(schedule_id = %clock.schedule_id, %problem, "skipped: unreadable expression");
            }
            Ok(readable) => {
                if readable.zone_lost {
                    report.zone_lost += 1;
                    warn!(
                        schedule_id = %clock.schedule_id, timezone = clock.timing.timezone,
                        "unknown zone, UTC is used"
                    );
                }
                let plan = plan(&clock, &readable.timetable, now, horizon);
                work.push(Work {
                    clock,
                    fires: plan.fires,
                    next_run_at: plan.next_run_at,
                    through: true,
                    zone_lost: readable.zone_lost,
                });
            }
        }
    }
    work
}

/// Under `queue` nothing begins after what comes later. A resume that died before the clock advanced
/// may have summed up what it gave up and sent what comes after: to a tick, with its grace, some of
/// that is simply late.
async fn heed_summaries(app: &App, work: &mut [Work], now: Instant) {
    let late = work.iter_mut().filter(|work| {
        let is_late = |fire: &Fire| fire.id.cause.is_none() && fire.id.run_at < now;
        work.clock.policies.overlap_policy == Overlap::Queue
            && work.fires.first().is_some_and(is_late)
    });
    stream::iter(late).for_each_concurrent(CONCURRENCY, |work| heed_summary(app, work)).await;
}

async fn heed_summary(app: &App, work: &mut Work) {
    let Some(first) = work.fires.first().map(|fire| &fire.id) else { return };
    let summary = RunId { cause: Some(Cause::summary()), ..first.clone() };
    match app.store.run(&summary).await {
        Ok(Some(Run { missed: Some(missed), .. })) => {
            work.fires.retain(|fire| fire.id.run_at > missed.last);
        }
        Ok(_) => {}
        Err(fault) => {
            error!(run_id = %summary, %fault, "not looked for");
            work.fires.clear();
            work.through = false;
        }
    }
}

/// Records every fire. Answers with what is to be sent: the place of its work, and the parcel.
async fn put(
    app: &App,
    work: &mut [Work],
    now: Instant,
    report: &mut Report,
) -> Vec<(usize, Parcel)> {
    let fires: Vec<(usize, &Fire)> = work
        .iter()
        .enumerate()
        .flat_map(|(place, work)| work.fires.iter().map(move |fire| (place, fire)))
        .collect();
    let puts: Vec<_> = fires.chunks(MAX_STATEMENTS).map(|fires| put_some(app, fires)).collect();
    let answers: Vec<_> = stream::iter(puts).buffer_unordered(CONCURRENCY).collect().await;
    let mut parcels = Vec::new();
    let mut missed = Vec::new();
    for (place, id, run, put) in answers.into_iter().flatten() {
        let launches = run.status == Status::Enqueued;
        match put {
            Ok(Put::New) if launches => {
                report.emitted += 1;
                report.drift_ms.push((now - run.launch_at).num_milliseconds().max(0));
                info!(run_id = %id, trigger = ?run.trigger, launch_at = %run.launch_at, "emitted");
                let ahead = can_be_read_ahead(&work[place].clock, &id);
                let mut parcel = parcel(id, &run);
                parcel.message.ahead = ahead;
                parcels.push((place, parcel));
            }
            Ok(Put::New) => {
                report.skipped += 1;
                info!(run_id = %id, reason = ?run.reason, "recorded as skipped");
                missed.push(Event::run(&id, run.status, run.reason));
            }
            // Even if it would be given up by now: whoever recorded it meant to launch it.
            Ok(Put::Unlaunched(recorded)) => {
                report.resent += 1;
                info!(run_id = %id, "sent again: recorded, not launched");
                parcels.push((place, parcel(id, &recorded)));
            }
            Ok(Put::Beyond(recorded)) => {
                report.known += 1;
                // A tick that died had summed up less: the clock goes on where that sum ends.
                if let (Some(theirs), Some(ours)) = (recorded.missed, run.missed)
                    && theirs.last < ours.last
                {
                    work[place].next_run_at = Some(theirs.last + Duration::seconds(1));
                }
            }
            Err(fault) => {
                error!(run_id = %id, %fault, "not recorded");
                work[place].through = false;
            }
        }
    }
    app.events.tell(&missed).await;
    parcels
}

/// Records some fires with one call, and those it left open one by one.
async fn put_some(
    app: &App,
    fires: &[(usize, &Fire)],
) -> Vec<(usize, RunId, Run, Result<Put, Fault>)> {
    let only: Vec<&Fire> = fires.iter().map(|(_, fire)| *fire).collect();
    let together = {
        let _turn = app.writes.turn().await;
        app.store.put_runs(&only).await
    };
    let each = fires.iter().zip(together).map(async |((place, fire), put)| {
        let put = match put {
            Some(put) => Ok(put),
            None => {
                let _turn = app.writes.turn().await;
                app.store.put_run(fire).await
            }
        };
        (*place, fire.id.clone(), fire.run.clone(), put)
    });
    join_all(each).await
}

async fn send(app: &App, work: &mut [Work], mut parcels: Vec<(usize, Parcel)>) {
    // A fire is not sent while an earlier one of its clock could not be recorded: they keep their
    // order, and the next tick takes up all of them.
    parcels.retain(|(place, _)| work[*place].through);
    // What is due first is sent first.
    parcels.sort_by_key(|(_, parcel)| parcel.message.launch_at);
    let (places, parcels): (Vec<_>, Vec<_>) = parcels.into_iter().unzip();
    // From now: to record them took its time.
    let answers = app.queue.send(&parcels, app.now()).await;
    for (place, answer) in places.into_iter().zip(answers) {
        if let Err(fault) = answer {
            error!(schedule_id = %work[place].clock.schedule_id, %fault, "not sent");
            work[place].through = false;
        }
    }
}

async fn advance(app: &App, work: &[Work], report: &mut Report) {
    report.failed += work.iter().filter(|work| !work.through).count();
    let through = work.iter().filter(|work| work.through && !work.is_idle());
    let through: Vec<&Work> = through.collect();
    let advances: Vec<_> =
        through.chunks(MAX_STATEMENTS).map(|works| advance_some(app, works)).collect();
    let answers: Vec<_> = stream::iter(advances).buffered(CONCURRENCY).collect().await;
    for (work, answer) in through.iter().zip(answers.into_iter().flatten()) {
        match answer {
            Ok(true) => {}
            Ok(false) => {
                report.lost += 1;
                debug!(schedule_id = %work.clock.schedule_id, "clock moved by somebody else");
            }
            Err(fault) => {
                report.failed += 1;
                error!(schedule_id = %work.clock.schedule_id, %fault, "not advanced");
            }
        }
    }
}

/// Moves some clocks with one call, and those it left open one by one.
async fn advance_some(app: &App, works: &[&Work]) -> Vec<Result<bool, Fault>> {
    let advances: Vec<_> = works.iter().map(|work| work.advance()).collect();
    let together = {
        let _turn = app.writes.turn().await;
        app.store.advance_all(&advances).await
    };
    let each = advances.iter().zip(together).map(async |(to, moved)| match moved {
        Some(moved) => Ok(moved),
        None => {
            let _turn = app.writes.turn().await;
            app.store.advance(to.clock, to.next, to.newest).await
        }
    });
    join_all(each).await
}

/// What brings a recorded run to the launcher.
pub fn parcel(run_id: RunId, run: &Run) -> Parcel {
    let (revision, launch_at) = (run.revision, run.launch_at);
    let message = Message { run_id, revision, launch_at, ahead: false };
    Parcel { message, owner: run.owner.clone() }
}
