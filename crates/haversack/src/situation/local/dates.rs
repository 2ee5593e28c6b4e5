//! Parses days, times of day, weekdays and months.

/// A day, counted from 1 January 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day(pub(super) i64);

/// Milliseconds of a day.
const DAY_MILLIS: i64 = 86_400_000;

impl Day {
    pub(super) fn of_millis(millis: i64) -> Day {
        Day(millis.div_euclid(DAY_MILLIS))
    }

    /// Parses the date that a text begins with: `2026-11-20`, `2026-11-20T15:00:00Z`.
    pub(super) fn parse(text: &str) -> Option<Day> {
        let date = text.get(..10)?;
        let rest = &text[10..];
        let ends = rest.is_empty() || rest.starts_with(['T', 't', ' ']);
        let mut parts = date.split('-');
        let mut part = |digits: usize| -> Option<i64> {
            let part = parts.next()?;
            (part.len() == digits && part.bytes().all(|c| c.is_ascii_digit()))
                .then(|| part.parse().ok())?
        };
        let (year, month, day) = (part(4)?, part(2)?, part(2)?);
        let valid = ends && (1..=12).contains(&month) && (1..=31).contains(&day);
        valid.then(|| Day(days_since_1970(year, month, day)))
    }

    /// The day of the week: 0 for Monday.
    pub(super) fn weekday(self) -> usize {
        usize::try_from((self.0 + 3).rem_euclid(7)).unwrap_or(0)
    }

    /// The year and the month, from 1.
    pub(super) fn year_and_month(self) -> (i64, usize) {
        // The inverse of `days_since_1970`, by the same count from 1 March of year 0.
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        (year, usize::try_from(month).unwrap_or(1))
    }
}

/// Days from 1970 to a date of the Gregorian calendar.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let from_march = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * from_march + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Parses a time of day, as minutes since midnight: `21:10`, or the time of a date with one.
pub(super) fn parse_minute_of_day(text: &str) -> Option<u32> {
    let time = match Day::parse(text) {
        Some(_) => text.get(11..)?,
        None => text,
    };
    let (hour, rest) = time.split_once(':')?;
    let minute = rest.get(..2)?;
    let after = rest.get(2..).unwrap_or("");
    let ends = after.is_empty() || after.starts_with([':', 'Z', '+', '-', '.']);
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    (ends && hour < 24 && minute < 60).then_some(hour * 60 + minute)
}

/// Weekdays, Monday first.
#[rustfmt::skip]
const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "mondays", "montag"], &["tuesday", "tuesdays", "dienstag"], &["wednesday", "wednesdays", "mittwoch"],
    &["thursday", "thursdays", "donnerstag"], &["friday", "fridays", "freitag"],
    &["saturday", "saturdays", "samstag"], &["sunday", "sundays", "sonntag"],
];

/// Months, January first.
#[rustfmt::skip]
const MONTHS: [&[&str]; 12] = [
    &["january", "januar"], &["february", "februar"], &["march", "märz"], &["april"], &["may", "mai"],
    &["june", "juni"], &["july", "juli"], &["august"], &["september"], &["october", "oktober"], &["november"],
    &["december", "dezember"],
];

pub(super) fn parse_weekday(word: &str) -> Option<usize> {
    WEEKDAYS.iter().position(|names| names.contains(&word))
}

pub(super) fn parse_month(word: &str) -> Option<usize> {
    MONTHS.iter().position(|names| names.contains(&word)).map(|at| at + 1)
}
