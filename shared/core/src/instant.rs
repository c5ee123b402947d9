//! Instants in UTC. Planned times are whole seconds, and observed times have milliseconds.

use chrono::{DateTime, Datelike, SecondsFormat, SubsecRound, Timelike, Utc};

/// An instant in UTC.
pub type Instant = DateTime<Utc>;

/// Cuts an instant to its whole second, because planned times have no fraction.
///
/// ```
/// let observed = "2026-11-16T09:00:00.750Z".parse().unwrap();
/// assert_eq!(belfry_core::instant::text(observed), "2026-11-16T09:00:00Z");
/// ```
pub fn whole_second(instant: Instant) -> Instant {
    instant.trunc_subsecs(0)
}

/// A planned time as text for keys and indexes. The width is fixed, so that texts sort as times do.
pub fn text(instant: Instant) -> String {
    let Some(year) = u32::try_from(instant.year()).ok().filter(|year| *year <= 9999) else {
        return instant.format("%Y-%m-%dT%H:%M:%SZ").to_string();
    };
    // Written by hand for speed: every fire writes about a dozen texts, and chrono would parse its
    // format string for each of them.
    let mut text = String::with_capacity("0000-00-00T00:00:00Z".len());
    let mut push = |number: u32, end: &str| {
        text.extend([number / 10 % 10, number % 10].map(|digit| char::from(b'0' + digit as u8)));
        text.push_str(end);
    };
    push(year / 100, "");
    push(year % 100, "-");
    push(instant.month(), "-");
    push(instant.day(), "T");
    push(instant.hour(), ":");
    push(instant.minute(), ":");
    push(instant.second(), "Z");
    text
}

/// An observed time as text for API responses, always with milliseconds.
///
/// ```
/// let observed = "2026-11-16T09:00:00Z".parse().unwrap();
/// assert_eq!(belfry_core::instant::observed_text(observed), "2026-11-16T09:00:00.000Z");
/// ```
pub fn observed_text(instant: Instant) -> String {
    instant.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Reads what [`text`] wrote, and any other RFC 3339 time whose year in UTC has four digits. Texts
/// with longer years would not sort as times do.
///
/// ```
/// use belfry_core::instant::parse;
/// assert!(parse("2026-11-16T10:00:00+01:00").is_some());
/// assert!(parse("9999-12-31T23:59:59-01:00").is_none());
/// ```
pub fn parse(text: &str) -> Option<Instant> {
    let at = DateTime::parse_from_rfc3339(text).ok()?.to_utc();
    (0..=9999).contains(&at.year()).then(|| whole_second(at))
}

/// Serde for optional whole-second instants in stored items and API responses.
pub mod optional {
    use super::Instant;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the fixed-width text.
    pub fn serialize<S: Serializer>(at: &Option<Instant>, out: S) -> Result<S::Ok, S::Error> {
        at.map(super::text).serialize(out)
    }

    /// Reads any RFC 3339 text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Instant>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| {
            super::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
        })
        .transpose()
    }
}

/// Serde for whole-second instants in stored items and API responses.
pub mod required {
    use super::Instant;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the fixed-width text.
    pub fn serialize<S: Serializer>(at: &Instant, out: S) -> Result<S::Ok, S::Error> {
        super::text(*at).serialize(out)
    }

    /// Reads any RFC 3339 text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        let text = String::deserialize(from)?;
        super::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

/// Serde for observed instants in API responses: always with milliseconds, so that a reader finds
/// one width.
pub mod observed {
    use super::Instant;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the instant with milliseconds.
    pub fn serialize<S: Serializer>(at: &Instant, out: S) -> Result<S::Ok, S::Error> {
        super::observed_text(*at).serialize(out)
    }

    /// Reads any RFC 3339 text.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
        Instant::deserialize(from)
    }

    /// Does the same for an instant that may be missing.
    pub mod optional {
        use super::{Deserialize, Deserializer, Instant, Serialize, Serializer};

        /// Writes the instant with milliseconds, or null.
        pub fn serialize<S: Serializer>(at: &Option<Instant>, out: S) -> Result<S::Ok, S::Error> {
            at.map(crate::instant::observed_text).serialize(out)
        }

        /// Reads any RFC 3339 text, or null.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Instant>, D::Error> {
            Option::<Instant>::deserialize(from)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_chrono_writes() {
        for seconds in [i64::from(i32::MIN), -1, 0, 951_782_399, 1_794_819_000, 253_402_300_799] {
            for at in [seconds, seconds + 86_399, seconds - 31_536_001] {
                let at = DateTime::from_timestamp(at, 999_999_999).unwrap();
                assert_eq!(text(at), at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
            }
        }
        let ancient = "-0044-03-15T12:00:00Z".parse::<Instant>().unwrap();
        assert_eq!(text(ancient), "-0044-03-15T12:00:00Z");
    }
}
