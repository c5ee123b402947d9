//! Emission: put the fires of some clocks, send them, and advance the clocks last.
//!
//! The order is what makes it safe. A crash after any step leaves a clock that still points at its
//! fires, and every step done again finds what was done before.

use std::collections::HashSet;

use belfry_core::fire::plan::{Horizon, plan};
use belfry_core::fire::verdict::can_be_read_ahead;
use belfry_core::id::{Cause, RunId};
use belfry_core::instant::Instant;
use belfry_core::run::{Run, Status};
use belfry_core::schedule::change::Verb;
use belfry_core::schedule::{Clock, Overlap};
use chrono::Duration;
use futures::{StreamExt, stream};
use tracing::{debug, error, info, warn};

use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::launch_queue::Parcel;
use crate::cloud::store::{Advance, Change, Put};

/// Summaries looked up at once.
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
        let log = Change {
            by: "belfry".to_owned(),
            owner: Some(clock.owner.clone()),
            at: now,
            verb: if *zone_lost { Verb::ZoneLost } else { Verb::ZoneFound },
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

/// A clock, its plan, and how far its fires got.
struct Work {
    clock: Clock,
    fires: Vec<Run>,
    next_run_at: Option<Instant>,
    zone_lost: bool,
    /// What is to be sent of the fires that are recorded.
    parcels: Vec<Parcel>,
    /// Whether every fire got through so far.
    through: bool,
}

impl Work {
    /// Whether there is nothing to do after all: the index lags, or another tick came first.
    fn is_idle(&self) -> bool {
        self.fires.is_empty() && self.next_run_at == self.clock.next_run_at
    }

    fn advance(&self) -> Advance<'_> {
        let newest = self.fires.last().map(|run| &run.id);
        Advance { clock: &self.clock, next: self.next_run_at, newest }
    }
}

/// Emits what is due of `clocks` within `horizon`. One that fails leaves the others alone.
pub async fn emit(app: &App, clocks: Vec<Clock>, horizon: &Horizon, now: Instant) -> Report {
    let mut report = Report { due: clocks.len(), ..Report::default() };
    let mut work = decide(clocks, horizon, now, &mut report);
    note_zones(app, &work, now).await;
    heed_summaries(app, &mut work, now).await;
    put(app, &mut work, now, &mut report).await;
    send(app, &mut work).await;
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
                    zone_lost: readable.zone_lost,
                    parcels: Vec::new(),
                    through: true,
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
        let is_late = |fire: &Run| fire.id.cause.is_none() && fire.id.run_at < now;
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
            error!(run_id = %summary, %fault, "summary lookup failed");
            work.fires.clear();
            work.through = false;
        }
    }
}

/// Records every fire, and notes what is to be sent of each clock.
async fn put(app: &App, work: &mut [Work], now: Instant, report: &mut Report) {
    let fires: Vec<&Run> = work.iter().flat_map(|work| &work.fires).collect();
    let mut answers = app.store.put_runs(&fires).await.into_iter();
    let mut missed = Vec::new();
    for work in work {
        let answers = answers.by_ref().take(work.fires.len());
        for (run, answer) in work.fires.iter().zip(answers) {
            match answer {
                Ok(Put::New) if run.status == Status::Enqueued => {
                    report.emitted += 1;
                    report.drift_ms.push((now - run.launch_at).num_milliseconds().max(0));
                    let (run_id, launch_at) = (&run.id, run.launch_at);
                    info!(%run_id, trigger = ?run.trigger, %launch_at, "fire emitted");
                    let mut parcel = Parcel::of(run);
                    parcel.message.ahead = can_be_read_ahead(&work.clock, &run.id);
                    work.parcels.push(parcel);
                }
                Ok(Put::New) => {
                    report.skipped += 1;
                    info!(run_id = %run.id, reason = ?run.reason, "fire recorded as skipped");
                    missed.push(Event::run(&run.id, run.status, run.reason));
                }
                // Even if it would be given up by now: the tick that recorded it meant to launch it.
                Ok(Put::Unlaunched(recorded)) => {
                    report.resent += 1;
                    info!(run_id = %run.id, "fire sent again: recorded before, not launched");
                    work.parcels.push(Parcel::of(&recorded));
                }
                Ok(Put::Beyond(recorded)) => {
                    report.known += 1;
                    // A tick that died had summed up less: the clock goes on where that sum ends.
                    if let (Some(theirs), Some(ours)) = (recorded.missed, run.missed)
                        && theirs.last < ours.last
                    {
                        work.next_run_at = Some(theirs.last + Duration::seconds(1));
                    }
                }
                Err(fault) => {
                    error!(run_id = %run.id, %fault, "fire not recorded");
                    work.through = false;
                }
            }
        }
    }
    app.events.tell(&missed).await;
}

async fn send(app: &App, work: &mut [Work]) {
    // A fire is not sent while an earlier one of its clock could not be recorded: they keep their
    // order, and the next tick takes up all of them.
    let through = work.iter_mut().filter(|work| work.through);
    let mut parcels: Vec<_> = through.flat_map(|work| std::mem::take(&mut work.parcels)).collect();
    // What is due first is sent first.
    parcels.sort_by_key(|parcel| parcel.message.launch_at);
    // From now: to record them took its time.
    let answers = app.queue.send(&parcels, app.now()).await;
    let mut unsent = HashSet::new();
    for (parcel, answer) in parcels.iter().zip(answers) {
        if let Err(fault) = answer {
            error!(run_id = %parcel.message.run_id, %fault, "fire not sent");
            unsent.insert(&parcel.message.run_id.schedule_id);
        }
    }
    for work in work {
        work.through &= !unsent.contains(&work.clock.schedule_id);
    }
}

async fn advance(app: &App, work: &[Work], report: &mut Report) {
    report.failed += work.iter().filter(|work| !work.through).count();
    let advances: Vec<_> =
        work.iter().filter(|work| work.through && !work.is_idle()).map(Work::advance).collect();
    for (to, answer) in advances.iter().zip(app.store.advance_all(&advances).await) {
        let schedule_id = &to.clock.schedule_id;
        match answer {
            Ok(true) => {}
            Ok(false) => {
                report.lost += 1;
                debug!(%schedule_id, "clock not advanced: another tick or an edit moved it");
            }
            Err(fault) => {
                report.failed += 1;
                error!(%schedule_id, %fault, "clock not advanced");
            }
        }
    }
}
