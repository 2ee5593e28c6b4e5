//! Moments in the values of databases, which say them in several ways.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Whole numbers from here on, up to [`SECONDS_END`], are seconds since 1970: from 1973 to 5138.
const SECONDS_BEGIN: i64 = 100_000_000;

/// Whole numbers from here on, up to [`MILLIS_END`], are milliseconds.
const SECONDS_END: i64 = 100_000_000_000;

/// Greater numbers are no moments.
const MILLIS_END: i64 = 100_000_000_000_000;

/// The moment that a value says, in Unix milliseconds: RFC 3339, a day, `2026-01-31 09:30:00` (taken as UTC),
/// or seconds or milliseconds since 1970. Small numbers are counters rather than moments.
#[must_use]
pub fn moment_millis(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => parse(text).map(Timestamp::as_millisecond),
        Value::Number(number) => match number.as_i64()? {
            seconds @ SECONDS_BEGIN..SECONDS_END => Some(seconds * 1_000),
            millis @ SECONDS_END..MILLIS_END => Some(millis),
            _ => None,
        },
        _ => None,
    }
}

fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    // Shorter texts are numbers or names rather than days.
    if text.len() < "YYYY-MM-DD".len() {
        return None;
    }
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Some(moment);
    }
    let moment: DateTime = text.parse().ok()?;
    Some(TimeZone::UTC.to_zoned(moment).ok()?.timestamp())
}

/// A moment in RFC 3339 that lies some time before another one; `None` if that is not such a text.
#[must_use]
pub fn earlier(moment: &str, seconds: u32) -> Option<String> {
    let moment: Timestamp = moment.parse().ok()?;
    let earlier = moment.checked_sub(SignedDuration::from_secs(seconds.into())).ok()?;
    Some(earlier.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_said_in_several_ways() {
        let morning = Some(1_769_851_800_000);
        for value in [
            json!("2026-01-31T09:30:00Z"),
            json!("2026-01-31 09:30:00"),
            json!("2026-01-31T10:30:00+01:00"),
            json!(1_769_851_800),
            json!(1_769_851_800_000_i64),
        ] {
            assert_eq!(moment_millis(&value), morning, "{value}");
        }
        assert_eq!(moment_millis(&json!("2026-01-31")), Some(1_769_817_600_000));
        for value in [json!(17), json!("17"), json!("infinity"), json!(null), json!(1.5)] {
            assert_eq!(moment_millis(&value), None, "{value}");
        }
    }

    #[test]
    fn an_earlier_moment_keeps_its_precision() {
        assert_eq!(
            earlier("2026-01-31T09:30:00.123456Z", 60).as_deref(),
            Some("2026-01-31T09:29:00.123456Z")
        );
        assert_eq!(earlier("2026-01-31", 60), None);
    }
}
