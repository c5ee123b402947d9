//! A zone's clock changes: those of chrono-tz, patched, and continued past its last year.

use super::overlay::PATCHES;
use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;

/// From an instant on, the local clock differs from universal time by so many seconds.
pub(super) type Change = (i64, i32);

/// The newest law for some zones: in [from, until) these changes replace those of chrono-tz.
pub(super) struct Patch {
    pub(super) zones: &'static [&'static str],
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) then: Then,
}

/// What happens in a patched stretch of time.
pub(super) enum Then {
    /// Exactly this.
    Changes(&'static [Change]),
    /// What happens in another zone: a rule, without its dates.
    Like(&'static str),
}

/// Local clocks in the far east begin 1970 while it is still 1969 in universal time.
const START: i64 = -7 * DAY;

/// chrono-tz lists changes up to the end of 2099.
const LAST_KNOWN_YEAR: i32 = 2099;

/// The last year an `at(...)` can name.
const LAST_YEAR: i32 = 2199;

/// No zone ever changed its clock and changed it back within six days, so that a change cannot hide
/// between two looks. The test `zones` compares the outcome with the data itself.
const LOOK_EVERY: i64 = 6 * DAY;

const DAY: i64 = 86_400;

/// All clock changes; the first entry is the offset in force at the start.
pub(super) fn changes(tz: Tz) -> Vec<Change> {
    let mut changes = listed(tz);
    for patch in PATCHES.iter().filter(|patch| patch.zones.contains(&tz.name())) {
        let within = |change: &Change| (patch.from..patch.until).contains(&change.0);
        changes.retain(|change| !within(change));
        match patch.then {
            Then::Changes(new) => changes.extend(new),
            Then::Like(other) => {
                changes.extend(
                    other.parse().map(listed).unwrap_or_default().iter().filter(|c| within(c)),
                );
            }
        }
        changes.sort_unstable();
    }
    continue_rules(&mut changes);
    changes
}

/// chrono-tz tells offsets, not changes: look at intervals, and bisect where they differ.
fn listed(tz: Tz) -> Vec<Change> {
    let offset = |instant: i64| {
        let time = DateTime::from_timestamp(instant, 0).unwrap_or_default();
        tz.offset_from_utc_datetime(&time.naive_utc()).fix().local_minus_utc()
    };
    let end = new_year(LAST_KNOWN_YEAR + 1);
    let mut changes = vec![(START, offset(START))];
    let (mut seen, mut current) = changes[0];
    while seen < end {
        let look = (seen + LOOK_EVERY).min(end);
        let (mut before, mut after) = (seen, look);
        let next = offset(look);
        if next != current {
            while after - before > 1 {
                let middle = before + (after - before) / 2;
                match offset(middle) == current {
                    true => before = middle,
                    false => after = middle,
                }
            }
            // Two changes may lie between the looks: go on from the first.
            changes.push((after, offset(after)));
            current = offset(after);
        }
        seen = after;
    }
    changes
}

/// Rules depend on weekdays and dates only, so a year repeats an earlier one that began on the same
/// weekday and is as long.
fn continue_rules(changes: &mut Vec<Change>) {
    let known = changes.clone();
    for year in LAST_KNOWN_YEAR + 1..=LAST_YEAR {
        let shape = |year: i32| {
            (new_year(year).div_euclid(DAY).rem_euclid(7), new_year(year + 1) - new_year(year))
        };
        // All fourteen shapes of a year occur within 28 years.
        let model =
            (LAST_KNOWN_YEAR - 27..=LAST_KNOWN_YEAR).rev().find(|&y| shape(y) == shape(year));
        let Some(model) = model else { continue };
        let (from, until) = (new_year(model), new_year(model + 1));
        let first = known.partition_point(|change| change.0 < from);
        let repeated = known[first..].iter().take_while(|change| change.0 < until);
        changes.extend(repeated.map(|(at, offset)| (at - from + new_year(year), *offset)));
    }
}

fn new_year(year: i32) -> i64 {
    let date = NaiveDate::from_ymd_opt(year, 1, 1).unwrap_or_default();
    i64::from(date.num_days_from_ce() - 719_163) * DAY
}
