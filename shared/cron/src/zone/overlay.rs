//! Zone rules that changed after chrono-tz was released. tools/zones.py writes this file: do not edit it.

use super::patch::{Patch, Then};

/// The release of the zone data that chrono-tz has with these patches.
pub(super) const VERSION: &str = "2026f";

/// The release that the patches were made against. chrono-tz must contain this release.
#[cfg(test)]
pub(super) const BASE_VERSION: &str = "2025b";

/// Every difference between the two releases from 1970 on, for aliases too.
pub(super) const PATCHES: &[Patch] = &[
    Patch {
        zones: &["Africa/Casablanca", "Africa/El_Aaiun"],
        from: 1_789_866_000, // 2026-09-20T01:00:00Z
        until: i64::MAX,
        then: Then::Changes(&[
            (1_789_866_000, 0), // 2026-09-20T01:00:00Z
        ]),
    },
    Patch {
        zones: &["America/Bogota"],
        from: 704_782_800,  // 1992-05-02T05:00:00Z
        until: 729_057_600, // 1993-02-07T04:00:00Z
        then: Then::Changes(&[
            (704_782_800, -14_400), // 1992-05-02T05:00:00Z
        ]),
    },
    Patch {
        zones: &["America/Edmonton", "America/Inuvik", "America/Yellowknife", "Canada/Mountain"],
        from: 1_793_520_000, // 2026-11-01T08:00:00Z
        until: i64::MAX,
        then: Then::Changes(&[]),
    },
    Patch {
        zones: &["America/Ensenada", "America/Santa_Isabel", "America/Tijuana", "Mexico/BajaNorte"],
        from: 9_972_000,    // 1970-04-26T10:00:00Z
        until: 199_274_400, // 1976-04-25T10:00:00Z
        then: Then::Changes(&[
            (9_972_000, -25_200),   // 1970-04-26T10:00:00Z
            (25_693_200, -28_800),  // 1970-10-25T09:00:00Z
            (41_421_600, -25_200),  // 1971-04-25T10:00:00Z
            (57_747_600, -28_800),  // 1971-10-31T09:00:00Z
            (73_476_000, -25_200),  // 1972-04-30T10:00:00Z
            (89_197_200, -28_800),  // 1972-10-29T09:00:00Z
            (104_925_600, -25_200), // 1973-04-29T10:00:00Z
            (120_646_800, -28_800), // 1973-10-28T09:00:00Z
            (126_698_400, -25_200), // 1974-01-06T10:00:00Z
            (152_096_400, -28_800), // 1974-10-27T09:00:00Z
            (162_381_600, -25_200), // 1975-02-23T10:00:00Z
            (183_546_000, -28_800), // 1975-10-26T09:00:00Z
        ]),
    },
    Patch {
        zones: &["America/Havana", "Cuba"],
        from: 1_793_509_200,  // 2026-11-01T05:00:00Z
        until: 1_825_563_600, // 2027-11-07T05:00:00Z
        then: Then::Changes(&[]),
    },
    Patch {
        zones: &["America/Rainy_River", "America/Winnipeg", "Canada/Central"],
        from: 1_793_516_400, // 2026-11-01T07:00:00Z
        until: i64::MAX,
        then: Then::Changes(&[]),
    },
    Patch {
        zones: &["America/Vancouver", "Canada/Pacific"],
        from: 1_793_523_600, // 2026-11-01T09:00:00Z
        until: i64::MAX,
        then: Then::Changes(&[]),
    },
    Patch {
        zones: &["Asia/Tehran", "Iran"],
        from: 296_512_200,  // 1979-05-25T20:30:00Z
        until: 306_531_000, // 1979-09-18T19:30:00Z
        then: Then::Changes(&[
            (296_512_200, 16_200), // 1979-05-25T20:30:00Z
        ]),
    },
    Patch {
        zones: &["Europe/Chisinau", "Europe/Tiraspol"],
        from: 1_648_339_200, // 2022-03-27T00:00:00Z
        until: i64::MAX,
        then: Then::Like("Europe/Athens"),
    },
];
