//! A diff: which fires a new definition would add, remove and keep, computed before it is saved.

use std::cmp::Ordering;
use std::iter::Peekable;

use belfry_cron::{Timetable, Warning, WarningCode, Zone};
use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::ScheduleId;
use crate::instant::{self, Instant};
use crate::schedule::Timing;

/// How far ahead the diff compares fires.
pub const WINDOW: Duration = Duration::days(90);
/// The most added fires, and the most removed fires, that a diff lists one by one.
pub const NAMED: usize = 20;
/// The most fires of both definitions together that a diff looks at. It is enough for two
/// definitions that fire every minute of the window. With more fires the diff ends early and sets
/// `truncated`.
const MAX_FIRES: u64 = 260_000;
/// The time from which the rate of fires is computed. A year contains every season.
const YEAR: Duration = Duration::days(365);
/// The number of fires that is enough to compute a rate.
const ENOUGH: u64 = 50_000;
/// A month as AWS counts it: 730 hours.
const MONTH: Duration = Duration::hours(730);

/// The fires of one definition.
pub struct Fires<'a> {
    timing: &'a Timing,
    timetable: Timetable,
    paused: bool,
}

impl<'a> Fires<'a> {
    /// The fires of a timing. While `paused` there are no fires. `None` if the timing cannot be
    /// parsed.
    pub fn of(
        timing: &'a Timing,
        paused: bool,
        id: &ScheduleId,
        created_at: Instant,
    ) -> Option<Fires<'a>> {
        let timetable = timing.read(id, created_at).ok()?.timetable;
        Some(Fires { timing, timetable, paused })
    }

    /// The first fire after `now`.
    pub fn first(&self, now: Instant) -> Option<Instant> {
        self.after(now).next()
    }

    /// The time zone of the timing.
    pub fn zone(&self) -> Zone {
        self.timetable.zone()
    }

    fn after(&self, after: Instant) -> impl Iterator<Item = Instant> + '_ {
        let first = if self.paused { None } else { self.next(after) };
        std::iter::successors(first, |last| self.next(*last))
    }

    fn next(&self, after: Instant) -> Option<Instant> {
        self.timing.next_after(&self.timetable, after)
    }

    /// The average number of fires in a month, computed from the next year. If there are very
    /// many fires, the first 50,000 of them are enough.
    pub fn per_month(&self, now: Instant) -> f64 {
        let end = now + YEAR;
        let (mut count, mut last) = (0_u64, now);
        for at in self.after(now).take_while(|at| *at <= end) {
            (count, last) = (count + 1, at);
            if count == ENOUGH {
                break;
            }
        }
        let looked_at = if count == ENOUGH { last - now } else { YEAR };
        count as f64 * MONTH.num_seconds() as f64 / looked_at.num_seconds().max(1) as f64
    }

    /// Warnings about clock changes within a year that move or repeat a fire.
    pub fn clock_changes(&self, now: Instant) -> Vec<Warning> {
        let mut warnings = self.timetable.warnings(now);
        warnings.retain(|w| matches!(w.code, WarningCode::DstGap | WarningCode::DstFold));
        warnings
    }
}

/// What a change does to the fires of the next 90 days.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct FireDiff {
    /// Start of the comparison, excluded.
    pub from: Instant,
    /// End of the comparison, included.
    pub to: Instant,
    /// Number of fires that only the new definition has.
    pub added_count: u64,
    /// Number of fires that only the old definition has.
    pub removed_count: u64,
    /// Number of fires that both have.
    pub kept_count: u64,
    /// The first fires that only the new definition has.
    #[schemars(length(max = NAMED))]
    pub added: Vec<Instant>,
    /// The first fires that only the old definition has.
    #[schemars(length(max = NAMED))]
    pub removed: Vec<Instant>,
    /// Whether there were too many fires to compare the whole window.
    pub truncated: bool,
}

/// What a change does to the fires after an instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    /// The number of fires that only the new definition has.
    pub added_count: u64,
    /// The number of fires that only the old definition has.
    pub removed_count: u64,
    /// The number of fires that both definitions have.
    pub kept_count: u64,
    /// The first [`NAMED`] added fires.
    pub added: Vec<Instant>,
    /// The first [`NAMED`] removed fires.
    pub removed: Vec<Instant>,
    /// The end of the comparison, included.
    pub to: Instant,
    /// Whether the comparison ended before the whole window was compared.
    pub truncated: bool,
}

impl Diff {
    /// The comparison from `from` as the API shows it.
    pub fn view(&self, from: Instant) -> FireDiff {
        let seconds =
            |fires: &[Instant]| fires.iter().map(|at| instant::whole_second(*at)).collect();
        FireDiff {
            from: instant::whole_second(from),
            to: instant::whole_second(self.to),
            added_count: self.added_count,
            removed_count: self.removed_count,
            kept_count: self.kept_count,
            added: seconds(&self.added),
            removed: seconds(&self.removed),
            truncated: self.truncated,
        }
    }

    /// Compares the fires after `from`, for [`WINDOW`]. `None`: there is no such definition.
    pub fn between(old: Option<&Fires<'_>>, new: Option<&Fires<'_>>, from: Instant) -> Diff {
        Diff::bounded(old, new, from, MAX_FIRES)
    }

    /// Does the same, and looks at no more than `most` fires.
    pub fn bounded(
        old: Option<&Fires<'_>>,
        new: Option<&Fires<'_>>,
        from: Instant,
        most: u64,
    ) -> Diff {
        let end = from + WINDOW;
        let mut diff = Diff {
            added_count: 0,
            removed_count: 0,
            kept_count: 0,
            added: Vec::new(),
            removed: Vec::new(),
            to: end,
            truncated: false,
        };
        let mut old = until(old, from, end);
        let mut new = until(new, from, end);
        let mut last = from;
        for _ in 0..most {
            let Some((at, side)) = step(&mut old, &mut new) else { return diff };
            last = at;
            match side {
                Ordering::Equal => diff.kept_count += 1,
                Ordering::Less => note(&mut diff.removed_count, &mut diff.removed, at),
                Ordering::Greater => note(&mut diff.added_count, &mut diff.added, at),
            }
        }
        Diff { to: last, truncated: true, ..diff }
    }
}

fn until<'a>(
    fires: Option<&'a Fires<'_>>,
    from: Instant,
    end: Instant,
) -> Peekable<impl Iterator<Item = Instant> + 'a> {
    fires
        .into_iter()
        .flat_map(move |fires| fires.after(from))
        .take_while(move |at| *at <= end)
        .peekable()
}

/// The next fire of the two definitions, and which of them has it: `Less` for the old, `Greater`
/// for the new, `Equal` for both.
fn step(
    old: &mut Peekable<impl Iterator<Item = Instant>>,
    new: &mut Peekable<impl Iterator<Item = Instant>>,
) -> Option<(Instant, Ordering)> {
    let side = match (old.peek(), new.peek()) {
        (None, None) => return None,
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (Some(old), Some(new)) => old.cmp(new),
    };
    let gone = if side.is_le() { old.next() } else { None };
    let came = if side.is_ge() { new.next() } else { None };
    gone.or(came).map(|at| (at, side))
}

fn note(count: &mut u64, named: &mut Vec<Instant>, at: Instant) {
    *count += 1;
    if named.len() < NAMED {
        named.push(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::definition::tests::clock;

    fn now() -> Instant {
        "2026-01-01T00:00:00.500Z".parse().unwrap()
    }

    /// Compares the numbers of added, removed and kept fires, and returns the diff.
    #[track_caller]
    fn check(old: Option<&Timing>, new: &Timing, expected: (u64, u64, u64)) -> Diff {
        let id = "nightly".parse().unwrap();
        let fires = |timing| Fires::of(timing, false, &id, now()).unwrap();
        let (old, new) = (old.map(fires), fires(new));
        let diff = Diff::between(old.as_ref(), Some(&new), now());
        assert_eq!((diff.added_count, diff.removed_count, diff.kept_count), expected);
        diff
    }

    fn timing(cron_expr: &str) -> Timing {
        clock(cron_expr).timing
    }

    #[test]
    fn fires_both_have_are_kept_and_the_others_told() {
        let diff = check(Some(&timing("0 9 * * *")), &timing("0 9,18 * * MON-FRI"), (64, 26, 64));
        assert_eq!(instant::text(diff.added[0]), "2026-01-01T18:00:00Z");
        assert_eq!(instant::text(diff.removed[0]), "2026-01-03T09:00:00Z");
        assert_eq!((diff.added.len(), diff.removed.len(), diff.truncated), (20, 20, false));
        check(Some(&timing("0 9 * * *")), &timing("0 9 * * *"), (0, 0, 90));
        check(None, &timing("0 9 * * *"), (90, 0, 0));
    }

    #[test]
    fn a_zone_moves_fires_and_a_window_cuts_them() {
        let zurich = Timing { timezone: "Europe/Zurich".to_owned(), ..timing("0 9 * * *") };
        // 09:00 in London is 09:00 UTC until the clocks change on 29 March.
        let london = Timing { timezone: "Europe/London".to_owned(), ..timing("0 9 * * *") };
        check(Some(&timing("0 9 * * *")), &zurich, (90, 90, 0));
        check(Some(&timing("0 9 * * *")), &london, (3, 3, 87));
        let end_at = Some("2026-01-10T09:00:00Z".parse().unwrap());
        check(Some(&timing("0 9 * * *")), &Timing { end_at, ..timing("0 9 * * *") }, (0, 80, 10));
    }

    #[test]
    fn a_paused_definition_has_no_fires() {
        let (id, timing) = ("nightly".parse().unwrap(), timing("0 9 * * *"));
        let fires = |paused| Fires::of(&timing, paused, &id, now()).unwrap();
        let diff = Diff::between(Some(&fires(false)), Some(&fires(true)), now());
        assert_eq!((diff.added_count, diff.removed_count, diff.kept_count), (0, 90, 0));
        assert_eq!(fires(true).per_month(now()), 0.0);
    }

    #[test]
    fn a_diff_of_very_many_fires_ends_early_and_says_so() {
        let diff = check(None, &timing("* * * * * *"), (MAX_FIRES, 0, 0));
        assert!(diff.truncated);
        assert_eq!(diff.to, diff.added[0] + Duration::seconds(MAX_FIRES as i64 - 1));
        check(Some(&timing("* * * * *")), &timing("30 * * * * *"), (129_600, 129_600, 0));
    }

    #[test]
    fn a_month_is_730_hours_of_the_coming_year() {
        let id = "nightly".parse().unwrap();
        let rate = |text: &str| {
            let timing = timing(text);
            Fires::of(&timing, false, &id, now()).unwrap().per_month(now())
        };
        assert_eq!(rate("0 * * * *"), 730.0);
        assert_eq!(rate("0 0 1 * *"), 1.0);
        assert!((rate("* * * * * *") - 2_628_000.0).abs() < 100.0, "{}", rate("* * * * * *"));
    }
}
