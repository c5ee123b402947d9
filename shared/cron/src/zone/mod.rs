//! Time zones. This is the only code that knows where zone data comes from.
//!
//! chrono-tz contains the zone data of its release day, and laws change after that day. So a zone
//! here is the one of chrono-tz, brought up to date by the patches in `overlay` and extended past
//! the last year of chrono-tz.

mod overlay;
mod patch;
mod spans;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use chrono_tz::{TZ_VARIANTS, Tz};
use spans::UTC_SPANS;
pub(crate) use spans::{Span, Spans};
use std::fmt;
use std::sync::{LazyLock, OnceLock};

/// A time zone with its IANA name and the newest known rules. Offsets are exact from 1970 on.
///
/// ```
/// use belfry_cron::Zone;
/// use chrono::{TimeZone, Utc};
/// let zurich = Zone::parse("Europe/Zurich").unwrap();
/// let noon = Utc.with_ymd_and_hms(2026, 7, 1, 12, 0, 0).unwrap();
/// assert_eq!(zurich.offset_at(noon), 2 * 3600);
/// assert_eq!(Zone::parse("europe/zurich").unwrap().name(), "Europe/Zurich");
/// ```
#[derive(Clone, Copy)]
pub struct Zone {
    name: &'static str,
    spans: &'static Spans,
}

impl Zone {
    /// UTC, the zone without clock changes.
    pub const UTC: Zone = Zone { name: "UTC", spans: &UTC_SPANS };

    /// Finds a zone by its IANA name. Case does not matter, and `Z` is UTC.
    ///
    /// The first use of a zone in a process computes its clock changes, which takes a fraction of a
    /// millisecond. Later uses find them in a cache.
    pub fn parse(name: &str) -> Result<Zone, UnknownZone> {
        if name == "UTC" || name.eq_ignore_ascii_case("Z") {
            return Ok(Zone::UTC);
        }
        let exact = name.parse::<Tz>().ok();
        let found = exact.or_else(|| {
            TZ_VARIANTS.iter().copied().find(|tz| tz.name().eq_ignore_ascii_case(name))
        });
        match found {
            Some(tz) => Ok(Zone { name: tz.name(), spans: spans_of(tz) }),
            None => Err(UnknownZone::new(name)),
        }
    }

    /// The name of the zone, spelled as in the IANA database.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The names of all zones, in alphabetical order.
    pub fn all() -> impl Iterator<Item = &'static str> {
        TZ_VARIANTS.iter().map(|tz| tz.name())
    }

    /// The number of seconds to add to UTC to get the local time.
    pub fn offset_at(&self, instant: DateTime<Utc>) -> i32 {
        self.spans.at(instant.timestamp()).offset
    }

    /// The local time at an instant.
    pub fn to_local(&self, instant: DateTime<Utc>) -> NaiveDateTime {
        let offset = TimeDelta::seconds(i64::from(self.offset_at(instant)));
        // The addition overflows only at the first and last instants that chrono can represent.
        instant.naive_utc().checked_add_signed(offset).unwrap_or(instant.naive_utc())
    }

    /// The clock changes later than an instant, as (instant, offset before, offset after).
    ///
    /// ```
    /// use belfry_cron::Zone;
    /// use chrono::{TimeZone, Utc};
    /// let vancouver = Zone::parse("America/Vancouver").unwrap();
    /// let spring = Utc.with_ymd_and_hms(2026, 3, 9, 0, 0, 0).unwrap();
    /// assert_eq!(vancouver.changes_after(spring).count(), 0); // no more clock changes
    /// ```
    pub fn changes_after(
        &self,
        instant: DateTime<Utc>,
    ) -> impl Iterator<Item = (DateTime<Utc>, i32, i32)> + use<> {
        let spans = self.spans;
        let first = spans.index_at(instant.timestamp()) + 1;
        (first..spans.len()).filter_map(move |index| {
            let (before, after) = (spans.get(index - 1), spans.get(index));
            Some((DateTime::from_timestamp(after.start, 0)?, before.offset, after.offset))
        })
    }

    pub(crate) fn spans(&self) -> &'static Spans {
        self.spans
    }
}

impl fmt::Debug for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Zone").field(&self.name).finish()
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Zone {
    fn eq(&self, other: &Zone) -> bool {
        self.name == other.name
    }
}

impl Eq for Zone {}

/// The release of the IANA data that is in force, for example `2026f`.
///
/// It is the release of chrono-tz or the release of the overlay, whichever is newer.
pub fn tzdb_version() -> &'static str {
    // A release is a year and a letter, so the order of the texts is the order in time.
    overlay::VERSION.max(chrono_tz::IANA_TZDB_VERSION)
}

/// The error for a name that no zone has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct UnknownZone {
    name: String,
    similar: Option<&'static str>,
}

impl UnknownZone {
    fn new(name: &str) -> UnknownZone {
        UnknownZone { name: crate::error::excerpt(name), similar: similar(name) }
    }

    /// A zone with a similar name, which the caller may have meant.
    pub fn similar(&self) -> Option<&'static str> {
        self.similar
    }
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not a time zone", self.name)?;
        match self.similar {
            Some(similar) => match offset(&self.name) {
                // The names of these zones have the sign of POSIX, where west is positive.
                Some(hours) => write!(f, "; did you mean {similar}, which is UTC{hours:+03}:00?"),
                None => write!(f, "; did you mean {similar}?"),
            },
            None => Ok(()),
        }
    }
}

/// The hours of a text such as `GMT+2`, `UTC-03:00`, `+02:00` or `+0200`. `None` if it is none, or
/// not a whole number of hours.
fn offset(text: &str) -> Option<i32> {
    let text = text.trim_matches('`');
    let prefix = text.get(..3).filter(|p| ["UTC", "GMT"].iter().any(|q| p.eq_ignore_ascii_case(q)));
    let rest = text[prefix.map_or(0, str::len)..].trim_start();
    let (sign, digits) = match rest.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let hours = match digits.split_once(':') {
        Some((hours, "00")) => hours,
        Some(_) => return None,
        None if digits.len() == 4 => digits.strip_suffix("00")?,
        None => digits,
    };
    let is_number = (1..=2).contains(&hours.len()) && hours.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| hours.parse::<i32>().ok().map(|hours| sign * hours)).flatten()
}

/// The zone with a fixed offset of whole hours.
fn fixed(hours: i32) -> Option<&'static str> {
    match hours {
        0 => Some("UTC"),
        hours => {
            let name = format!("Etc/GMT{:+}", -hours);
            Zone::all().find(|zone| *zone == name)
        }
    }
}

/// Finds the zone with the offset that the name gives, or a zone whose city has the same name or
/// differs by one or two letters.
fn similar(name: &str) -> Option<&'static str> {
    /// Longer than the name of any zone. The limit keeps the comparison cheap.
    const LONGEST: usize = 40;
    let city = |name: &str| name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    let wanted = city(name).replace([' ', '-'], "_");
    if name.len() > LONGEST || !name.is_ascii() {
        return None;
    }
    if let Some(hours) = offset(name) {
        return fixed(hours);
    }
    if wanted.len() < 5 {
        return None;
    }
    let nearest = Zone::all().map(|zone| (distance(&city(zone), &wanted), zone)).min()?;
    let tolerated = if wanted.len() < 6 { 1 } else { 2 };
    (nearest.0 <= tolerated).then_some(nearest.1)
}

/// The Levenshtein distance of two texts.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn spans_of(tz: Tz) -> &'static Spans {
    static KNOWN: LazyLock<Vec<OnceLock<Spans>>> =
        LazyLock::new(|| TZ_VARIANTS.iter().map(|_| OnceLock::new()).collect());
    match KNOWN.get(tz as usize) {
        Some(known) => known.get_or_init(|| Spans::new(&patch::changes(tz))),
        None => &UTC_SPANS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::TimeZone;

    #[track_caller]
    fn check(zone: &str, at: &str, expected_hours: i32) {
        let at: DateTime<Utc> = at.parse().unwrap();
        assert_eq!(Zone::parse(zone).unwrap().offset_at(at), expected_hours * 3600, "{zone} {at}");
    }

    #[test]
    fn zones_follow_the_law_of_today() {
        for zone in ["America/Vancouver", "Canada/Pacific"] {
            check(zone, "2026-01-15T00:00:00Z", -8);
            check(zone, "2026-11-15T00:00:00Z", -7);
            check(zone, "2040-01-15T00:00:00Z", -7);
        }
        check("America/Edmonton", "2026-12-01T00:00:00Z", -6);
        check("America/Winnipeg", "2026-12-01T00:00:00Z", -5);
        check("Africa/Casablanca", "2026-09-20T00:59:59Z", 1);
        check("Africa/Casablanca", "2026-09-20T01:00:00Z", 0);
        check("America/Havana", "2027-01-01T00:00:00Z", -4);
        check("America/Havana", "2027-12-01T00:00:00Z", -5);
        check("Europe/Chisinau", "2026-03-29T00:30:00Z", 2);
        check("Europe/Chisinau", "2026-03-29T01:00:00Z", 3);
    }

    #[test]
    fn rules_go_on_after_the_last_year_of_the_data() {
        check("America/New_York", "2100-07-01T12:00:00Z", -4);
        check("America/New_York", "2150-07-01T12:00:00Z", -4);
        check("America/New_York", "2150-12-01T12:00:00Z", -5);
        check("Australia/Sydney", "2199-06-30T12:00:00Z", 10);
        check("Africa/Casablanca", "2150-06-30T12:00:00Z", 0);
        check("UTC", "2150-06-30T12:00:00Z", 0);
    }

    #[test]
    fn the_overlay_fits_the_data_it_patches() {
        assert!(
            chrono_tz::IANA_TZDB_VERSION == overlay::BASE_VERSION,
            "chrono-tz has new data: run tools/zones.py"
        );
        assert_eq!(tzdb_version(), overlay::VERSION);
    }

    #[test]
    fn names_are_found_in_any_case_and_answered_in_their_own() {
        for (given, name) in [
            ("Europe/Zurich", "Europe/Zurich"),
            ("america/new_york", "America/New_York"),
            ("utc", "UTC"),
            ("Z", "UTC"),
            ("ETC/GMT+5", "Etc/GMT+5"),
        ] {
            assert_eq!(Zone::parse(given).unwrap().name(), name);
        }
    }

    #[test]
    fn an_unknown_zone_is_refused_with_a_suggestion_where_there_is_one() {
        let refused = |name: &str| Zone::parse(name).unwrap_err().to_string();
        assert_eq!(refused("Europe/Zürich"), "`Europe/Z\\u{fc}rich` is not a time zone");
        assert_eq!(
            refused("Europe/Zurch"),
            "`Europe/Zurch` is not a time zone; did you mean Europe/Zurich?"
        );
        assert_eq!(
            refused("New York"),
            "`New York` is not a time zone; did you mean America/New_York?"
        );
        for name in [
            "",
            " ",
            "+05:30",
            "+15",
            "GMT+",
            "+2:0",
            "Mars/Olympus",
            "\u{0}",
            "CEST",
            &"A".repeat(1 << 20),
        ] {
            assert!(Zone::parse(name).unwrap_err().similar().is_none(), "{name:.20}");
        }
    }

    #[test]
    fn an_offset_is_refused_with_the_zone_that_has_it() {
        let refused = |name: &str| Zone::parse(name).unwrap_err().to_string();
        assert_eq!(
            refused("GMT+2"),
            "`GMT+2` is not a time zone; did you mean Etc/GMT-2, which is UTC+02:00?"
        );
        for (name, similar, hours) in [
            ("+02:00", "Etc/GMT-2", 2),
            ("utc+2", "Etc/GMT-2", 2),
            ("UTC +2", "Etc/GMT-2", 2),
            ("UTC-03:00", "Etc/GMT+3", -3),
            ("-0500", "Etc/GMT+5", -5),
            ("GMT+14", "Etc/GMT-14", 14),
            ("+00:00", "UTC", 0),
        ] {
            assert_eq!(Zone::parse(name).unwrap_err().similar(), Some(similar), "{name}");
            check(similar, "2026-07-01T00:00:00Z", hours);
        }
    }

    #[test]
    fn the_ends_of_time_have_a_local_time_too() {
        for zone in ["Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"] {
            let zone = Zone::parse(zone).unwrap();
            zone.to_local(DateTime::<Utc>::MIN_UTC);
            zone.to_local(DateTime::<Utc>::MAX_UTC);
        }
        let apia = Zone::parse("Pacific/Apia").unwrap();
        let noon = Utc.with_ymd_and_hms(2026, 7, 1, 12, 0, 0).unwrap();
        assert_eq!(apia.to_local(noon).to_string(), "2026-07-02 01:00:00");
    }
}
