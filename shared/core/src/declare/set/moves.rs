//! The effect of a change on the fires of a schedule, in numbers and in sentences.

use chrono::Timelike;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::ScheduleId;
use crate::instant::{self, Instant};
use crate::schedule::definition::Definition;
use crate::schedule::diff::{Diff, Fires};

/// The most fires that are compared for each schedule of a plan. It is enough for a schedule that
/// fires every ten minutes for ninety days, before and after the change.
const MAX_FIRES: u64 = 26_000;

/// What a declaration does to the fires of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlannedFires {
    /// The next fire of the declared definition.
    pub next_run_at: Option<Instant>,
    /// The next fire of the present definition.
    pub next_run_was: Option<Instant>,
    /// End of the comparison, included.
    pub to: Instant,
    /// Number of fires that only the declared definition has.
    pub added_count: u64,
    /// Number of fires that only the present definition has.
    pub removed_count: u64,
    /// Number of fires that both have.
    pub kept_count: u64,
    /// Whether there were too many fires to compare the whole window.
    pub truncated: bool,
}

/// What becomes of the fires.
#[derive(Clone, Debug, PartialEq)]
pub struct Moves {
    /// The next fire before the change. `None` if there is no schedule or it is paused.
    pub old: Option<Instant>,
    /// The next fire after the change. `None` if there is none.
    pub new: Option<Instant>,
    /// The fires that the change adds, removes and keeps.
    pub diff: Diff,
    /// The effect in sentences, for people.
    pub says: Vec<String>,
}

impl Moves {
    /// The effect of replacing `old` by `new` on the fires after `now`. `None` if the timing does
    /// not change or cannot be parsed.
    pub fn between(
        id: &ScheduleId,
        old: Option<&Definition>,
        new: Option<&Definition>,
        created_at: Instant,
        now: Instant,
    ) -> Option<Moves> {
        if let (Some(old), Some(new)) = (old, new)
            && old.timing == new.timing
            && old.paused == new.paused
        {
            return None;
        }
        let fires = |d: &'_ Definition| Fires::of(&d.timing, d.paused, id, created_at).is_some();
        let readable = |d: Option<&Definition>| d.is_none_or(fires);
        if !readable(old) || !readable(new) {
            return None;
        }
        let before = old.and_then(|d| Fires::of(&d.timing, d.paused, id, created_at));
        let after = new.and_then(|d| Fires::of(&d.timing, d.paused, id, created_at));
        let diff = Diff::bounded(before.as_ref(), after.as_ref(), now, MAX_FIRES);
        let first = |fires: &Option<Fires<'_>>| fires.as_ref().and_then(|fires| fires.first(now));
        let says = [
            next_run(before.as_ref(), after.as_ref(), now),
            new.filter(|new| new.paused && old.is_none_or(|old| !old.paused))
                .map(|_| "paused: nothing fires until it is resumed".to_owned()),
            (old.is_some() && new.is_some()).then(|| counts(&diff)),
        ];
        let mut says: Vec<_> = says.into_iter().flatten().collect();
        let changes = after.iter().flat_map(|fires| fires.clock_changes(now));
        says.extend(changes.map(|warning| warning.message));
        let (old, new) = (first(&before), first(&after));
        Some(Moves { old, new, diff, says })
    }

    /// As the API shows it.
    pub fn view(&self) -> PlannedFires {
        PlannedFires {
            next_run_at: self.new.map(instant::whole_second),
            next_run_was: self.old.map(instant::whole_second),
            to: instant::whole_second(self.diff.to),
            added_count: self.diff.added_count,
            removed_count: self.diff.removed_count,
            kept_count: self.diff.kept_count,
            truncated: self.diff.truncated,
        }
    }
}

fn next_run(old: Option<&Fires<'_>>, new: Option<&Fires<'_>>, now: Instant) -> Option<String> {
    let first = |fires: &Fires<'_>| fires.first(now).map(|at| local(fires, at));
    let zone = |fires: &Fires<'_>| fires.zone().name();
    match (old, new) {
        (None, None) => None,
        (None, Some(new)) => match first(new) {
            Some(at) => Some(format!("first run {at} {}", zone(new))),
            None => Some("no scheduled run".to_owned()),
        },
        (Some(old), None) => {
            let at = first(old)?;
            Some(format!("next run {at} {} will not happen", zone(old)))
        }
        (Some(old), Some(new)) => {
            let none = || "none".to_owned();
            let (from, to) = (first(old).unwrap_or_else(none), first(new).unwrap_or_else(none));
            Some(match (zone(old), zone(new)) {
                (one, other) if one == other && from == to => {
                    format!("next run stays {to} {other}")
                }
                (one, other) if one == other => format!("next run {from} -> {to} {other}"),
                (one, other) => format!("next run {from} {one} -> {to} {other}"),
            })
        }
    }
}

fn counts(diff: &Diff) -> String {
    let day = diff.to.format("%Y-%m-%d");
    let Diff { added_count: more, removed_count: less, kept_count: same, .. } = diff;
    format!("until {day}: {more} runs added, {less} removed, {same} kept")
}

/// A fire in local time.
fn local(fires: &Fires<'_>, at: Instant) -> String {
    let local = fires.zone().to_local(at);
    let form = if local.second() == 0 { "%a %Y-%m-%d %H:%M" } else { "%a %Y-%m-%d %H:%M:%S" };
    local.format(form).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::house::House;
    use serde_json::{Value, json};

    fn definition(more: &Value) -> Definition {
        let mut body = json!({"workflow_id": "w", "timezone": "Europe/Zurich"});
        body.as_object_mut().unwrap().extend(crate::schedule::definition::object(more));
        Definition::parse(&body, &"a".parse().unwrap(), &House::default()).unwrap()
    }

    #[track_caller]
    fn check(old: Option<&Value>, new: Option<&Value>, expected: &[&str]) {
        let now: Instant = "2026-11-15T12:00:00Z".parse().unwrap();
        let (old, new) = (old.map(definition), new.map(definition));
        let moves = Moves::between(&"a".parse().unwrap(), old.as_ref(), new.as_ref(), now, now);
        assert_eq!(moves.map(|moves| moves.says).unwrap_or_default(), expected);
    }

    #[test]
    fn a_change_is_told_in_fire_times_with_the_clock_changes_it_meets() {
        check(
            Some(&json!({"cron_expr": "0 2 * * MON-FRI"})),
            Some(&json!({"cron_expr": "30 2 * * *"})),
            &[
                "next run Mon 2026-11-16 02:00 -> Mon 2026-11-16 02:30 Europe/Zurich",
                "until 2027-02-13: 90 runs added, 65 removed, 0 kept",
                "on 2027-03-28 the clock in Europe/Zurich skips 02:30: it fires at 03:00 instead",
                "on 2027-10-31 the clock in Europe/Zurich shows 02:30 twice: it fires the first \
                 time only",
            ],
        );
    }

    #[test]
    fn zones_pauses_and_ends_are_told_too() {
        let daily = json!({"cron_expr": "0 9 * * *"});
        let utc = json!({"cron_expr": "0 9 * * *", "timezone": "UTC"});
        let paused = json!({"cron_expr": "0 9 * * *", "paused": true});
        check(
            Some(&utc),
            Some(&daily),
            &[
                "next run Mon 2026-11-16 09:00 UTC -> Mon 2026-11-16 09:00 Europe/Zurich",
                "until 2027-02-13: 90 runs added, 90 removed, 0 kept",
            ],
        );
        check(
            Some(&daily),
            Some(&paused),
            &[
                "next run Mon 2026-11-16 09:00 -> none Europe/Zurich",
                "paused: nothing fires until it is resumed",
                "until 2027-02-13: 0 runs added, 90 removed, 0 kept",
            ],
        );
        check(None, Some(&daily), &["first run Mon 2026-11-16 09:00 Europe/Zurich"]);
        check(Some(&daily), None, &["next run Mon 2026-11-16 09:00 Europe/Zurich will not happen"]);
        check(Some(&daily), Some(&daily), &[]);
        check(
            None,
            Some(&json!({"cron_expr": "15 30 9 * * *"})),
            &["first run Mon 2026-11-16 09:30:15 Europe/Zurich"],
        );
    }
}
