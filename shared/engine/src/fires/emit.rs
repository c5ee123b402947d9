//! Emission: record the fires of some clocks, send them, and advance the clocks last.
//!
//! This order makes emission safe. A crash after any step leaves a clock that still points at its
//! fires, and every step that is done again finds what was done before.

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

/// Summaries looked up concurrently.
const CONCURRENCY: usize = 8;

/// The counts of one emission, or of several added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Clocks that were due.
    pub due: usize,
    /// Fires recorded and sent.
    pub emitted: usize,
    /// Fires that were recorded earlier and have not launched, sent again.
    pub resent: usize,
    /// Fires that were recorded earlier and have launched or ended.
    pub known: usize,
    /// Fires recorded as skipped, which are not launched.
    pub skipped: usize,
    /// Clocks that failed; the next tick tries them again.
    pub failed: usize,
    /// Clocks that another tick or an edit changed meanwhile.
    pub lost: usize,
    /// Clocks whose stored definition cannot be read.
    pub broken: usize,
    /// Clocks that run on UTC because their time zone is unknown.
    pub zone_lost: usize,
    /// Shares handed over to other ticks.
    pub handed_over: usize,
    /// Clocks, duties and shards left to the rule's next tick for lack of time.
    pub left: usize,
    /// How late each emitted fire was when it was sent, in milliseconds; 0 if it was sent ahead.
    pub drift_ms: Vec<i64>,
}

impl Report {
    /// Adds the counts of another emission.
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

/// Writes an entry into the change log when a clock's time zone is lost or found again, once for
/// each change.
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
            error!(schedule_id = %clock.schedule_id, %fault, "zone change not logged");
        }
    }
}

/// A clock, the fires planned for it, and the progress of its emission.
struct Work {
    clock: Clock,
    fires: Vec<Run>,
    next_run_at: Option<Instant>,
    zone_lost: bool,
    /// The messages to send for the recorded fires.
    parcels: Vec<Parcel>,
    /// Whether no step has failed for this clock so far.
    through: bool,
}

impl Work {
    /// Whether there is nothing to do: the index was behind, or another tick came first.
    fn is_idle(&self) -> bool {
        self.fires.is_empty() && self.next_run_at == self.clock.next_run_at
    }

    fn advance(&self) -> Advance<'_> {
        let newest = self.fires.last().map(|run| &run.id);
        Advance { clock: &self.clock, next: self.next_run_at, newest }
    }
}

/// Emits the fires of `clocks` that are due within `horizon`. A clock that fails does not affect
/// the others.
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
            // The index may not show the pause yet, but the clock does.
            continue;
        }
        match clock.read() {
            Err(problem) => {
                report.broken += 1;
                warn!(schedule_id = %clock.schedule_id, %problem, "schedule skipped: unreadable expression");
            }
            Ok(readable) => {
                if readable.zone_lost {
                    report.zone_lost += 1;
                    warn!(
                        schedule_id = %clock.schedule_id, timezone = clock.timing.timezone,
                        "unknown time zone: the schedule runs on UTC"
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

/// Keeps the order of fires under `queue`: a fire must not start after a later one. A resume that
/// died before it advanced the clock may have recorded a summary of the missed fires and sent the
/// fires after them. A tick has a grace, so it would launch some of those missed fires as merely
/// late. This step drops the fires that the summary covers.
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

/// Records every fire, and collects the messages to send for each clock.
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
                // Even if the plan would skip it by now: the tick that recorded it decided to
                // launch it.
                Ok(Put::Unlaunched(recorded)) => {
                    report.resent += 1;
                    info!(run_id = %run.id, "fire sent again: recorded before, not launched");
                    work.parcels.push(Parcel::of(&recorded));
                }
                Ok(Put::Beyond(recorded)) => {
                    report.known += 1;
                    // A tick that died had recorded a shorter summary. The clock continues behind
                    // the end of that summary.
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
    // If a fire could not be recorded, no later fire of its clock is sent. So the fires keep their
    // order, and the next tick takes up all of them.
    let through = work.iter_mut().filter(|work| work.through);
    let mut parcels: Vec<_> = through.flat_map(|work| std::mem::take(&mut work.parcels)).collect();
    // The fires that are due first are sent first.
    parcels.sort_by_key(|parcel| parcel.message.launch_at);
    // The time is read again: recording the fires took some.
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
