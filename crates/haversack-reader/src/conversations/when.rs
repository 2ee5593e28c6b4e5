//! Moments as exports write them, in milliseconds since 1970. A time without a zone is taken as UTC.

use jiff::civil::DateTime;
use serde_json::Value;

/// The moment that a value holds: text, or a number since 1970 in seconds or smaller units.
pub(crate) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => moment_of_text(text),
        Value::Number(number) => moment_of_number(number.as_f64()?),
        _ => None,
    }
}

/// The moment that a text holds: RFC 3339, a day with a time, a day, or a number.
pub(crate) fn moment_of_text(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    if let Ok(number) = text.parse::<f64>() {
        return moment_of_number(number);
    }
    let text = text.strip_suffix("UTC").map_or(text, str::trim_end);
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_millisecond());
    }
    civil_millis(text.parse().ok()?)
}

/// The moment of a number: seconds, or a smaller unit if seconds would be beyond the year 5000.
pub(crate) fn moment_of_number(number: f64) -> Option<i64> {
    let seconds = match number.abs() {
        size if !size.is_finite() => return None,
        size if size < 1e11 => number,
        size if size < 1e14 => number / 1e3,
        size if size < 1e17 => number / 1e6,
        _ => number / 1e9,
    };
    let millis = (seconds * 1e3).round();
    if millis.abs() > 1e14 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole, and not above 1e14")]
    let millis = millis as i64;
    jiff::Timestamp::from_millisecond(millis).ok().map(|it| it.as_millisecond())
}

/// The moment of a day and a time in UTC.
pub(crate) fn civil_millis(at: DateTime) -> Option<i64> {
    let zoned = at.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_millisecond())
}

/// A moment as `2024-05-06T10:00:00Z`.
pub(crate) fn rfc3339(millis: i64) -> Option<String> {
    jiff::Timestamp::from_millisecond(millis).ok().map(|at| at.to_string())
}

/// The day of a moment: `2024-05-06`.
pub(crate) fn day(millis: i64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(millis).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn moments_are_read_in_many_forms() {
        let at = 1_714_989_600_000;
        for value in [
            json!(1_714_989_600),
            json!(1_714_989_600.0),
            json!(1_714_989_600_000_u64),
            json!(1_714_989_600_000_000_u64),
            json!(1_714_989_600_000_000_000_u64),
            json!("1714989600"),
            json!("1714989600.000200"),
            json!("2024-05-06T10:00:00Z"),
            json!("2024-05-06T12:00:00.000+02:00"),
            json!("2024-05-06 10:00:00"),
            json!("2024-05-06T10:00:00"),
            json!("2024-05-06 10:00:00 UTC"),
            json!("2024-05-06 10:00:00+00:00"),
        ] {
            assert_eq!(moment(&value), Some(at), "{value}");
        }
        assert_eq!(moment(&json!("2024-05-06")), Some(at - 10 * 3_600_000));
        assert_eq!(
            (rfc3339(at).unwrap().as_str(), day(at).unwrap().as_str()),
            ("2024-05-06T10:00:00Z", "2024-05-06")
        );
        for value in [json!("soon"), json!(null), json!(1e300), json!("NaN"), json!("")] {
            assert_eq!(moment(&value), None, "{value}");
        }
    }
}
