//! A change of a definition, and what it does to fires that are already on their way.
//!
//! A change takes effect before it is acknowledged: every run that has not launched is confirmed
//! under the new definition or cancelled by it. After that, a launcher that decided by the old
//! definition loses its claim, and a launcher that reads the clock later sees the new definition.

use belfry_core::id::ScheduleId;
use belfry_core::instant::{self, Instant};
use belfry_core::schedule::change::{Verb, differences};
use belfry_core::schedule::definition::Definition;
use belfry_core::schedule::{Catchup, Clock, Schedule, Spec};
use chrono::Duration;
use serde_json::{Value, json};
use tracing::info;

use super::caller::Caller;
use super::follow::{links, newly_followed};
use super::input::check_destination;
use super::last::{newest, warn};
use super::lookup::resolve_version;
use super::membership::{Membership, membership, moved};
use super::refusal::Refusal;
use super::settle::{catch_up, emit_overdue, emit_soon, invalidate_prereads, settle_unlaunched};
use crate::app::App;
use crate::cloud::bus::Event;
use crate::cloud::store::{Change, Edit, Saved};

/// The purpose of a change, beside the definition itself.
#[derive(Clone)]
pub(crate) struct Intent {
    /// The verb of its entry in the change log.
    pub(crate) verb: Verb,
    /// Why the schedule is paused; dropped if the change leaves it active.
    pub(crate) note: Option<String>,
    /// When the pause ends by itself.
    pub(crate) until: Option<Instant>,
    /// When the change takes effect, if not now.
    pub(crate) since: Option<Instant>,
    /// The catch-up policy of a resume, if not the schedule's own.
    pub(crate) catchup: Option<Catchup>,
    /// What the change does to the schedule's membership in a set.
    pub(crate) membership: Membership,
}

impl Intent {
    pub(crate) fn new(verb: Verb) -> Intent {
        let (note, until, since, catchup) = (None, None, None, None);
        Intent { verb, note, until, since, catchup, membership: Membership::Keep }
    }

    /// The same intent, with the note and the end of the schedule's present pause.
    pub(crate) fn keeping_pause_of(self, spec: &Spec) -> Intent {
        Intent { note: spec.pause_note.clone(), until: spec.pause_until, ..self }
    }

    /// The note and the end of the pause that the change leaves, if it leaves one.
    fn pause(&self, definition: &Definition) -> (Option<&String>, Option<Instant>) {
        match definition.paused {
            true => (self.note.as_ref(), self.until),
            false => (None, None),
        }
    }
}

/// The result of saving a schedule.
pub struct Saving {
    /// Whether the schedule is new.
    pub created: bool,
    /// The schedule, as the API shows it.
    pub schedule: Value,
    /// The revision of the schedule.
    pub revision: u64,
}

/// Replaces the definition of a schedule as it was read. Saving the same definition again changes
/// nothing.
pub(crate) async fn change(
    app: &App,
    caller: &Caller,
    old: Schedule,
    definition: Definition,
    intent: Intent,
) -> Result<Saving, Refusal> {
    let now = app.now();
    check_destination(app, Some(&old.spec.options), &definition.options)?;
    let bound = Some((&old.clock.workflow_id, old.clock.version));
    let version = resolve_version(app, caller, &old.clock.owner, &definition, bound).await?;
    let definition = Definition { version: Some(version), ..definition };
    if is_same(&old, &definition, &intent) {
        return repeat(app, &old, now).await;
    }
    let Schedule { clock, spec } = &old;
    let followed = spec.options.after_schedule_id.as_ref();
    let mut links =
        links(app, &clock.owner, &clock.schedule_id, followed, Some(&definition)).await?;
    let set = intent.membership.after(spec.set.as_ref());
    links.extend(membership(&clock.owner, spec.set.as_ref(), set.as_ref()));
    let course = Course::of(clock, &definition, &intent, now);
    let position = course.position(app, clock, now).await?;
    let new = changed(&old, definition, &intent, position, now);
    let before = Definition::of(clock, spec);
    let mut changes = differences(Some(&before), &Definition::of(&new.clock, &new.spec));
    changes.extend(moved(spec.set.as_ref(), new.spec.set.as_ref()));
    let verb = intent.verb.clone().with_pause(clock.paused, new.clock.paused);
    let log = Change { changes, ..entry(&new.clock, caller, verb, course.since) };
    let edit = if course.moves { Edit::MovePosition } else { Edit::KeepPosition };
    let saved = app.store.edit_schedule(clock.revision, &new, &log, edit, &links).await?;
    if saved == Saved::Stale {
        return Err(Refusal::Stale { current: new.clock.revision });
    }
    settle_unlaunched(app, &new.clock, Some(&new.clock), new.clock.revision, now).await?;
    if let Some(followed) = newly_followed(&links) {
        invalidate_prereads(app, followed, now).await?;
    }
    let (schedule_id, revision) = (&new.clock.schedule_id, new.clock.revision);
    info!(%schedule_id, by = caller.sub, verb = ?log.verb, revision, "schedule changed");
    if new.clock.paused && !clock.paused {
        tell_paused(app, caller, &new).await;
    }
    course.run(app, &new.clock, now).await?;
    saving(app, false, &new, now).await
}

/// Whether a change would leave everything as it is.
fn is_same(old: &Schedule, definition: &Definition, intent: &Intent) -> bool {
    let Schedule { clock, spec } = old;
    let (note, until) = intent.pause(definition);
    *definition == Definition::of(clock, spec)
        && (note, until) == (spec.pause_note.as_ref(), spec.pause_until)
        && intent.membership.after(spec.set.as_ref()) == spec.set
}

/// Settles the fires of a schedule that already is as wanted. This may be the second try of a
/// change whose first try was recorded but ended before its fires were settled.
async fn repeat(app: &App, old: &Schedule, now: Instant) -> Result<Saving, Refusal> {
    let clock = &old.clock;
    settle_unlaunched(app, clock, Some(clock), clock.revision, now).await?;
    if let Some(followed) = &old.spec.options.after_schedule_id {
        invalidate_prereads(app, followed, now).await?;
    }
    saving(app, false, old, now).await
}

/// What a change does to the fires to come.
struct Course {
    /// When the change takes effect.
    since: Instant,
    /// Whether the change alters which fires exist or launch from then on.
    moves: bool,
    /// The policy by which the fires missed in a pause are caught up, if they are.
    catch_up: Option<Catchup>,
}

impl Course {
    fn of(old: &Clock, new: &Definition, intent: &Intent, now: Instant) -> Course {
        let resumes = old.paused && !new.paused && new.timing == old.timing;
        let policy = intent.catchup.unwrap_or(new.policies.catchup_policy);
        Course {
            since: intent.since.unwrap_or(now),
            moves: new.timing != old.timing || new.paused != old.paused,
            catch_up: (resumes && policy != Catchup::None).then_some(policy),
        }
    }

    /// The instant after which the new definition begins, once the fires that came due under the
    /// old one are recorded. `None`: the clock stays where it is.
    async fn position(
        &self,
        app: &App,
        old: &Clock,
        now: Instant,
    ) -> Result<Option<Instant>, Refusal> {
        Ok(match old.next_run_at {
            _ if !self.moves => None,
            // A paused clock stands at the first fire that it has missed.
            Some(first) if self.catch_up.is_some() => {
                Some(self.since.min(first - Duration::seconds(1)))
            }
            _ => Some(emit_overdue(app, old, now).await?.min(self.since)),
        })
    }

    /// Emits the due fires of the changed schedule, without waiting for the next tick.
    async fn run(&self, app: &App, clock: &Clock, now: Instant) -> Result<(), Refusal> {
        match self.catch_up {
            Some(policy) => catch_up(app, clock, policy, now - self.since, now).await?,
            None if self.moves => emit_soon(app, clock, now).await,
            None => {}
        }
        Ok(())
    }
}

/// The schedule as the change leaves it.
fn changed(
    old: &Schedule,
    definition: Definition,
    intent: &Intent,
    position: Option<Instant>,
    now: Instant,
) -> Schedule {
    let Schedule { clock: old, spec: old_spec } = old;
    let revision = old.revision + 1;
    let clock = Clock {
        revision,
        next_run_at: match position {
            Some(after) => first_fire(&definition, &old.schedule_id, old.created_at, after),
            None => old.next_run_at,
        },
        timing: definition.timing.clone(),
        policies: definition.policies.clone(),
        workflow_id: definition.workflow_id.clone(),
        version: definition.version.unwrap_or(old.version),
        paused: definition.paused,
        // If the new time zone is unknown too, the tick records that again.
        zone_lost: old.zone_lost && definition.timing.timezone == old.timing.timezone,
        ..old.clone()
    };
    let (note, pause_until) = intent.pause(&definition);
    let (note, set) = (note.cloned(), intent.membership.after(old_spec.set.as_ref()));
    let spec = Spec { set, pause_until, ..spec(definition, revision, note, now) };
    Schedule { clock, spec }
}

async fn tell_paused(app: &App, caller: &Caller, schedule: &Schedule) {
    let Schedule { clock, spec } = schedule;
    let detail = json!({
        "schedule_id": clock.schedule_id, "by": caller.sub, "note": spec.pause_note,
        "until": spec.pause_until.map(instant::text),
    });
    app.events.tell(&[Event { kind: "schedule.paused", detail }]).await;
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
        options: definition.options,
        payload: definition.payload,
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

pub(crate) async fn saving(
    app: &App,
    created: bool,
    schedule: &Schedule,
    now: Instant,
) -> Result<Saving, Refusal> {
    let Schedule { clock, spec } = schedule;
    let mut shown = newest(app, clock, now).await?.schedule(clock, spec, now);
    warn(app, schedule, &mut shown).await?;
    Ok(Saving { created, schedule: Value::Object(shown), revision: clock.revision })
}
