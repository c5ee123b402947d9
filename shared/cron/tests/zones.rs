//! Checks every clock change of every zone, from 1970 to 2100, against the newest zone data.

use belfry_cron::Zone;
use chrono::{DateTime, Utc};

#[test]
fn every_clock_change_of_every_zone_is_that_of_the_newest_data() {
    let mut wrong = Vec::new();
    let mut named = Vec::new();
    for line in include_str!("zones.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(name), Some(count), Some(hash)) = (words.next(), words.next(), words.next())
        else {
            panic!("{line}");
        };
        named.push(name);
        let Ok(zone) = Zone::parse(name) else {
            wrong.push(format!("{name} is missing"));
            continue;
        };
        if zone.name() != name {
            wrong.push(format!("{name} is called {}", zone.name()));
        }
        let start: DateTime<Utc> = "1969-12-25T00:00:00Z".parse().unwrap();
        let end: DateTime<Utc> = "2101-01-01T00:00:00Z".parse().unwrap();
        let mut changes = vec![(start.timestamp(), zone.offset_at(start))];
        changes.extend(
            zone.changes_after(start)
                .take_while(|(at, ..)| *at < end)
                .map(|(at, _, offset)| (at.timestamp(), offset)),
        );
        let found = format!("{} {:016x}", changes.len() - 1, fnv(&changes));
        if found != format!("{count} {hash}") {
            wrong.push(format!("{name}: {found}, not {count} {hash}"));
        }
    }
    let unlisted: Vec<_> = Zone::all().filter(|zone| !named.contains(zone)).collect();
    assert!(wrong.is_empty() && unlisted.is_empty(), "{wrong:#?} {unlisted:?}");
}

/// The hash that tools/zones.py writes.
fn fnv(changes: &[(i64, i32)]) -> u64 {
    let bytes = changes
        .iter()
        .flat_map(|(at, offset)| at.to_be_bytes().into_iter().chain(offset.to_be_bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
