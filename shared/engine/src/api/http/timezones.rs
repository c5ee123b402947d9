//! The time zones schedules may use, with what their clocks show now.

use belfry_core::cron::{Zone, tzdb_version};
use belfry_core::instant::Instant;
use belfry_core::schedule::house::House;
use chrono::{FixedOffset, Offset, SecondsFormat, Utc};
use schemars::JsonSchema;
use serde::Serialize;

/// Time zones to choose from.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct TimeZones {
    /// The zones that schedules may use, in the order of their names.
    items: Vec<TimeZone>,
    /// Release of the time zone data.
    tzdb: &'static str,
}

/// A time zone and what its clock shows now.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct TimeZone {
    /// IANA name.
    name: &'static str,
    /// Offset from UTC now, such as `+01:00`.
    offset: String,
    /// What the clock of the zone shows now, with its offset.
    #[schemars(with = "Instant")]
    local_time: String,
}

pub(super) fn timezones(house: &House, now: Instant) -> TimeZones {
    let zones = Zone::all().filter_map(|name| Zone::parse(name).ok());
    let item = |zone: Zone| {
        let local = local_text(&zone, now);
        // The offset is what follows the 19 characters of date and time.
        TimeZone { name: zone.name(), offset: local[19..].to_owned(), local_time: local }
    };
    let items = zones.filter(|zone| house.allows(zone)).map(item).collect();
    TimeZones { items, tzdb: tzdb_version() }
}

/// An instant as the zone's clock shows it, with its offset: `2026-11-16T09:00:00+01:00`.
pub(super) fn local_text(zone: &Zone, at: Instant) -> String {
    // No offset is a day long.
    let offset = FixedOffset::east_opt(zone.offset_at(at)).unwrap_or_else(|| Utc.fix());
    at.with_timezone(&offset).to_rfc3339_opts(SecondsFormat::Secs, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Instant {
        "2026-07-01T12:00:00.9Z".parse().unwrap()
    }

    #[test]
    fn a_zone_shows_its_offset_and_its_clock() {
        let all = timezones(&House::default(), now());
        assert_eq!(all.items.len(), Zone::all().count());
        let find = |name: &str| all.items.iter().find(|item| item.name == name).unwrap();
        assert_eq!(find("Asia/Kolkata").offset, "+05:30");
        assert_eq!(find("America/New_York").local_time, "2026-07-01T08:00:00-04:00");
        assert_eq!(find("UTC").offset, "+00:00");
    }

    #[test]
    fn a_house_shows_the_zones_it_allows() {
        let house = House { allowed_zones: vec!["Europe/Zurich".to_owned()], ..House::default() };
        assert_eq!(timezones(&house, now()).items.len(), 1);
    }
}
