//! Reads the dates of a document, in the names and formats that datasets use.

use haversack_core::units::Timestamp;
use haversack_store::kinds;
use serde_json::{Map, Value};

/// Keys of the creation time; the first readable one counts.
const CREATED: &[&str] = &[
    "created_at",
    "createdAt",
    "created",
    "timestamp",
    "date",
    "time",
    "published_at",
    "publishedAt",
    "session_iso",
    "session_date",
    "date_released",
    "time_anchor",
];

/// Keys of the time of the last change.
const UPDATED: &[&str] = &["updated_at", "updatedAt", "updated", "modified_at", "modified"];

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Unix times below this are seconds: as milliseconds they would be before 1974.
const SECONDS_MAX: i64 = 100_000_000_000;

/// The dates of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Dates {
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    /// The key of an unreadable date, when no date is readable.
    pub(super) unread: Option<&'static str>,
}

impl Dates {
    pub(super) fn of(meta: &Map<String, Value>) -> Dates {
        let given = |names: &'static [&'static str]| {
            names.iter().filter_map(|&name| Some((name, meta.get(name).filter(|v| !v.is_null())?)))
        };
        let read = |names| given(names).find_map(|(_, value)| moment(value));
        let (created, updated) = (read(CREATED), read(UPDATED));
        let is_read = created.is_some() || updated.is_some();
        let unread = given(CREATED).chain(given(UPDATED)).map(|(name, _)| name).next();
        Dates { created, updated, unread: unread.filter(|_| !is_read) }
    }

    pub(super) fn latest(self) -> Option<Timestamp> {
        self.created.max(self.updated)
    }
}

fn moment(value: &Value) -> Option<Timestamp> {
    match value {
        Value::Number(number) => {
            let number = number.as_i64()?;
            let millis = if number.abs() < SECONDS_MAX { number * 1_000 } else { number };
            kinds::moment(&Value::from(millis))
        }
        Value::String(text) => {
            let text = text.trim();
            let read = |text: String| kinds::moment(&Value::String(text));
            read(text.to_owned())
                .or_else(|| read(format!("{text}Z")))
                .or_else(|| read(format!("{text}:00Z")))
                .or_else(|| read(compact(text)?))
                .or_else(|| read(in_words(text)?))
        }
        _ => None,
    }
}

/// Reads `20260121` and `20260121_1000`, with or without colons in the time.
fn compact(text: &str) -> Option<String> {
    let (day, time) = match text.find(['_', 'T', ' ', '-']) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let time: String = time.chars().filter(|&c| c != ':').collect();
    if day.len() != 8 || !is_number(day) || !is_number(&time) {
        return None;
    }
    let day = format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..]);
    match time.len() {
        0 => Some(day),
        4 => Some(format!("{day}T{}:{}:00Z", &time[..2], &time[2..])),
        6 => Some(format!("{day}T{}:{}:{}Z", &time[..2], &time[2..4], &time[4..])),
        _ => None,
    }
}

/// Reads `March-15-2024`, `15 March 2024`, `March 15, 2024`.
fn in_words(text: &str) -> Option<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (mut day, mut month, mut year) = (None, None, None);
    for word in words {
        let place = match word.parse::<u32>() {
            Ok(_) if word.len() == 4 => &mut year,
            Ok(_) if word.len() <= 2 => &mut day,
            _ => &mut month,
        };
        if place.replace(word).is_some() {
            return None;
        }
    }
    let day: u32 = day?.parse().ok()?;
    let month = month?.to_ascii_lowercase();
    let index = MONTHS.iter().position(|known| month.starts_with(known))?;
    Some(format!("{}-{:02}-{day:02}", year?, index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn dates_are_read_in_the_formats_of_datasets() {
        let check = |value: Value, expected: &str| {
            let meta = json!({ "date": value });
            let dates = Dates::of(meta.as_object().unwrap());
            let read = dates.created.map_or("-".to_owned(), |moment| moment.to_string());
            assert_eq!(read, expected, "{meta}");
            assert_eq!(dates.unread.is_some(), expected == "-" && !value_is_null(&meta), "{meta}");
        };
        check(json!("2023-05-08T13:56:00"), "2023-05-08T13:56:00Z");
        check(json!("2023-05-08T13:56"), "2023-05-08T13:56:00Z");
        check(json!("2023-11-27 08:45:59.000000000Z"), "2023-11-27T08:45:59Z");
        check(json!("2023-05-08T13:56:00+02:00"), "2023-05-08T11:56:00Z");
        check(json!("2009-12-10"), "2009-12-10T00:00:00Z");
        check(json!("20260408"), "2026-04-08T00:00:00Z");
        check(json!("20260121_1000"), "2026-01-21T10:00:00Z");
        check(json!("20260121_10:00"), "2026-01-21T10:00:00Z");
        check(json!("March-15-2024"), "2024-03-15T00:00:00Z");
        check(json!("15 March 2024"), "2024-03-15T00:00:00Z");
        check(json!("Mar 5, 2024"), "2024-03-05T00:00:00Z");
        check(json!(1_683_554_160), "2023-05-08T13:56:00Z");
        check(json!(1_683_554_160_000_i64), "2023-05-08T13:56:00Z");
        check(json!("yesterday"), "-");
        check(json!("é"), "-");
        check(json!("2024-13-40"), "-");
        check(json!(null), "-");
        check(json!([1]), "-");
    }

    fn value_is_null(meta: &Value) -> bool {
        meta["date"].is_null()
    }

    #[test]
    fn the_first_readable_key_counts() {
        let meta = json!({ "created_at": "soon", "time": "20260408", "updated": "2026-05-01" });
        let dates = Dates::of(meta.as_object().unwrap());
        let shown = |moment: Option<Timestamp>| moment.unwrap().to_string();
        assert_eq!(shown(dates.created), "2026-04-08T00:00:00Z");
        assert_eq!(shown(dates.updated), "2026-05-01T00:00:00Z");
        assert_eq!((dates.latest(), dates.unread), (dates.updated, None));
    }
}
