//! A change of a definition, and what it does to fires already on their way.
//!
//! An acknowledged change is obeyed: before it is acknowledged, every run that has not launched is
//! either confirmed under the new definition or cancelled by it. A launcher that judged by the old
//! definition then loses its claim, and one that reads the clock later sees the new one.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::change::{Verb, differences};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::view;
use belfry_core::schedule::{Catchup, Clock, Spec};
use chrono::Duration;
use serde_json::{Value, json};
use tracing::info;

use super::caller::Caller;
use super::follow::{links, newly_followed};
use super::lookup::resolve_version;
use super::membership::{Membership, membership, moved};
use super::refusal::Refusal;
use super::settle::{catch_up, emit_overdue, emit_soon, invalidate_prereads, settle_unlaunched};
use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::{Change, Edit, Saved};

/// What a change is for.
#[derive(Clone)]
pub(crate) struct Intent {
    /// Its word in the change log.
    pub(crate) verb: Verb,
    /// Why the schedule is paused, if it is afterwards.
    pub(crate) note: Option<String>,
    /// When that pause ends by itself.
    pub(crate) until: Option<Instant>,
    /// When it counts from, if not from now.
    pub(crate) since: Option<Instant>,
    /// How a resume catches up, if not by the schedule's own policy.
    pub(crate) catchup: Option<Catchup>,
    /// What becomes of its membership in a set.
    pub(crate) membership: Membership,
}

impl Intent {
    pub(crate) fn new(verb: Verb, note: Option<String>) -> Intent {
        Intent { verb, note, until: None, since: None, catchup: None, membership: Membership::Keep }
    }
}

/// The answer to a save.
pub struct Saving {
    /// Whether the schedule is new.
    pub created: bool,
    /// It, as the API shows it.
    pub schedule: Value,
    /// Its revision.
    pub revision: u64,
}

pub(crate) async fn change(
    app: &App,
    caller: &Caller,
    old: Clock,
    old_spec: Spec,
    definition: Definition,
    intent: Intent,
) -> Result<Saving, Refusal> {
    let now = app.now();
    let bound = Some(&old.workflow_id);
    let version = resolve_version(app, caller, &old.owner, &definition, bound).await?;
    let definition = Definition { version: Some(version), ..definition };
    let note = intent.note.filter(|_| definition.paused);
    let until = intent.until.filter(|_| definition.paused);
    let since = intent.since.unwrap_or(now);
    let before = Definition::of(&old, &old_spec);
    let same_pause = note == old_spec.pause_note && until == old_spec.pause_until;
    let set = match intent.membership {
        Membership::Keep => old_spec.set.clone(),
        Membership::Of(set) => Some(set),
        Membership::None => None,
    };
    if definition == before && same_pause && set == old_spec.set {
        // It may be a second try of a change that stood, and whose first try ended before this.
        settle_unlaunched(app, &old, Some(&old), old.revision, now).await?;
        if let Some(followed) = &old_spec.after_schedule_id {
            invalidate_prereads(app, followed, now).await?;
        }
        return Ok(saving(false, &old, &old_spec, now));
    }
    let followed = old_spec.after_schedule_id.as_ref();
    let mut links = links(app, &old.owner, &old.schedule_id, followed, Some(&definition)).await?;
    links.extend(membership(&old.owner, old_spec.set.as_ref(), set.as_ref()));
    let moves = definition.timing != old.timing || definition.paused != old.paused;
    let policy = intent.catchup.unwrap_or(definition.policies.catchup_policy);
    let resumes = old.paused && !definition.paused && definition.timing == old.timing;
    let position = match old.next_run_at {
        // A paused clock stands at the first fire it has missed.
        Some(first) if resumes && policy != Catchup::None => {
            since.min(first - Duration::seconds(1))
        }
        _ if moves => emit_overdue(app, &old, now).await?.min(since),
        _ => now,
    };
    let id = old.schedule_id.clone();
    let revision = old.revision + 1;
    let clock = Clock {
        revision,
        next_run_at: match moves {
            true => first_fire(&definition, &id, old.created_at, position),
            false => old.next_run_at,
        },
        timing: definition.timing.clone(),
        policies: definition.policies.clone(),
        workflow_id: definition.workflow_id.clone(),
        version,
        paused: definition.paused,
        // The tick says so again, if it is so.
        zone_lost: old.zone_lost && definition.timing.timezone == old.timing.timezone,
        ..old.clone()
    };
    let spec = Spec { set, pause_until: until, ..spec(definition, revision, note, now) };
    let mut changes = differences(Some(&before), &Definition::of(&clock, &spec));
    changes.extend(moved(old_spec.set.as_ref(), spec.set.as_ref()));
    let log = Change { changes, ..entry(&clock, caller, intent.verb.clone(), since) };
    let edit = if moves { Edit::MovePosition } else { Edit::KeepPosition };
    match app.store.edit_schedule(old.revision, &clock, &spec, &log, edit, &links).await? {
        Saved::Stale => Err(Refusal::Stale { current: revision }),
        Saved::Yes => {
            settle_unlaunched(app, &clock, Some(&clock), revision, now).await?;
            if let Some(followed) = newly_followed(&links) {
                invalidate_prereads(app, followed, now).await?;
            }
            info!(schedule_id = %id, by = caller.sub, verb = ?intent.verb, revision, "schedule changed");
            if clock.paused && !old.paused {
                let detail = json!({
                    "schedule_id": id, "by": caller.sub, "note": spec.pause_note,
                    "until": spec.pause_until.map(instant::text),
                });
                app.events.tell(&[Event { kind: "schedule.paused", detail }]).await;
            }
            if resumes && policy != Catchup::None {
                catch_up(app, &clock, policy, now - since, now).await?;
            } else if moves {
                emit_soon(app, &clock, now).await;
            }
            Ok(saving(false, &clock, &spec, now))
        }
    }
}

pub(crate) fn first_fire(
    definition: &Definition,
    id: &ScheduleId,
    created_at: Instant,
    now: Instant,
) -> Option<Instant> {
    let readable = definition.timing.read(id, created_at).ok()?;
    definition.timing.next_after(&readable.timetable, now)
}

pub(crate) fn spec(
    definition: Definition,
    revision: u64,
    pause_note: Option<String>,
    now: Instant,
) -> Spec {
    Spec {
        name: definition.name,
        description: definition.description,
        tags: definition.tags,
        payload: definition.payload,
        inject_metadata: definition.inject_metadata,
        max_runtime_s: definition.max_runtime_s,
        pause_after_failures: definition.pause_after_failures,
        after_schedule_id: definition.after_schedule_id,
        set: None,
        pause_note,
        pause_until: None,
        revision,
        updated_at: now,
    }
}

pub(crate) fn entry(clock: &Clock, caller: &Caller, verb: Verb, now: Instant) -> Change {
    Change {
        by: caller.sub.clone(),
        owner: Some(clock.owner.clone()),
        at: now,
        origin: caller.origin.clone(),
        verb,
        run_id: None,
        revision: clock.revision,
        timing: clock.timing.clone(),
        paused: clock.paused,
        changes: Vec::new(),
    }
}

pub(crate) fn saving(created: bool, clock: &Clock, spec: &Spec, now: Instant) -> Saving {
    Saving { created, schedule: view::schedule(clock, spec, now), revision: clock.revision }
}
