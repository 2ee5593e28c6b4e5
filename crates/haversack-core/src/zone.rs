//! The time zone in which dates of a request are interpreted: "today", a due date without a time.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::units::Timestamp;

/// A time zone. Its rules are compiled in, so a name means the same on every machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone(TimeZone);

impl Default for Zone {
    fn default() -> Zone {
        Zone::UTC
    }
}

impl Zone {
    /// The default zone.
    pub const UTC: Zone = Zone(TimeZone::UTC);

    /// Looks up an IANA name such as `Europe/Berlin`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Zone> {
        TimeZone::get(name).ok().map(Zone)
    }

    /// Its IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.iana_name().unwrap_or("UTC")
    }

    /// The local day as `2026-01-31`; a time outside the calendar is shown as is.
    #[must_use]
    pub fn day(&self, at: Timestamp) -> String {
        self.civil(at).map_or_else(|| at.to_string(), |civil| civil.date().to_string())
    }

    /// The start of the local day.
    #[must_use]
    pub fn midnight(&self, at: Timestamp) -> Timestamp {
        let midnight = |civil: DateTime| self.moment(DateTime::from(civil.date()));
        self.civil(at).and_then(midnight).unwrap_or(at)
    }

    /// The start of a day written as `2026-01-31`; `None` when it is not a valid day.
    #[must_use]
    pub fn start_of(&self, day: &str) -> Option<Timestamp> {
        let is_plain = day.len() == 10 && day.bytes().filter(|byte| *byte == b'-').count() == 2;
        let date: jiff::civil::Date = is_plain.then(|| day.parse().ok())??;
        self.moment(DateTime::from(date))
    }

    /// The local date and time, as if it were UTC.
    #[must_use]
    pub fn wall(&self, at: Timestamp) -> Timestamp {
        self.civil(at).and_then(|civil| Zone::UTC.moment(civil)).unwrap_or(at)
    }

    pub(crate) fn civil(&self, at: Timestamp) -> Option<DateTime> {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
        Some(self.0.to_datetime(at))
    }

    pub(crate) fn moment(&self, civil: DateTime) -> Option<Timestamp> {
        let at = self.0.to_timestamp(civil).ok()?;
        Some(Timestamp::from_millis(at.as_millisecond()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::from_millis(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn a_day_is_that_of_the_zone_x10() {
        let late = at("2026-11-16T23:30:00Z");
        assert_eq!(Zone::UTC.day(late), "2026-11-16");
        let berlin = Zone::from_name("Europe/Berlin").unwrap();
        assert_eq!(berlin.day(late), "2026-11-17");
        assert_eq!(berlin.midnight(late), at("2026-11-16T23:00:00Z"));
        assert_eq!(berlin.start_of("2026-07-01"), Some(at("2026-06-30T22:00:00Z")));
        assert_eq!(berlin.start_of("2026-07-01T00:00:00Z"), None);
        assert_eq!(berlin.wall(late), at("2026-11-17T00:30:00Z"));
        assert_eq!(berlin.name(), "Europe/Berlin");
        assert_eq!(Zone::from_name("Mars/Base"), None);
    }
}
