//! Computes the clock changes of a zone: those of chrono-tz, corrected by patches and continued
//! past the last year of chrono-tz.

use super::overlay::PATCHES;
use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone};
use chrono_tz::Tz;

/// A clock change: the instant, and the offset from UTC in seconds from that instant on.
pub(super) type Change = (i64, i32);

/// A correction for some zones: from `from` to `until` (exclusive), these changes replace those of
/// chrono-tz.
pub(super) struct Patch {
    pub(super) zones: &'static [&'static str],
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) then: Then,
}

/// The clock changes in a patched stretch of time.
pub(super) enum Then {
    /// These clock changes.
    Changes(&'static [Change]),
    /// The same clock changes as in another zone. This describes a rule without listing its dates.
    Like(&'static str),
}

/// In the far east the local year 1970 begins while it is still 1969 in UTC.
const START: i64 = -7 * DAY;

/// The last year for which chrono-tz has clock changes.
const LAST_KNOWN_YEAR: i32 = 2099;

/// The last year that an `at(...)` can name.
const LAST_YEAR: i32 = 2199;

/// How far apart the sampled offsets are. No zone ever changed its clock and changed it back within
/// six days, so two equal samples have no clock change between them. The test `zones` compares the
/// result with the zone data.
const LOOK_EVERY: i64 = 6 * DAY;

const DAY: i64 = 86_400;

/// All clock changes of a zone. The first entry is the offset in force at the start.
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

/// The clock changes according to chrono-tz. chrono-tz gives offsets and no changes, so this
/// samples the offset at intervals and bisects where two samples differ.
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
            // Two changes may lie between the samples, so continue from the first one.
            changes.push((after, offset(after)));
            current = offset(after);
        }
        seen = after;
    }
    changes
}

/// Continues the clock changes past the last known year. Rules depend on weekdays and dates only.
/// So a year repeats an earlier year that began on the same weekday and has the same length.
fn continue_rules(changes: &mut Vec<Change>) {
    let known = changes.clone();
    for year in LAST_KNOWN_YEAR + 1..=LAST_YEAR {
        let shape = |year: i32| {
            (new_year(year).div_euclid(DAY).rem_euclid(7), new_year(year + 1) - new_year(year))
        };
        // All fourteen combinations of first weekday and length occur within 28 years.
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
