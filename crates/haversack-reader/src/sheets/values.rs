//! The values of cells, and how they are shown.

use calamine::{Data, DataRef, ExcelDateTime};
use serde_json::Value;

/// The value of a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum CellValue {
    Text(String),
    Number(f64),
    Flag(bool),
    /// A date, a time, or both, by ISO 8601.
    Time(String),
}

/// What a foreign parser found in a cell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum FoundValue {
    Empty,
    Error,
    Value(CellValue),
}

impl FoundValue {
    fn of_text(text: &str) -> FoundValue {
        match text.trim() {
            "" => FoundValue::Empty,
            text => {
                FoundValue::Value(CellValue::Text(text.replace("\r\n", "\n").replace('\r', "\n")))
            }
        }
    }
}

impl From<DataRef<'_>> for FoundValue {
    fn from(data: DataRef<'_>) -> FoundValue {
        match data {
            DataRef::SharedString(text) => FoundValue::of_text(text),
            data => FoundValue::from(&Data::from(data)),
        }
    }
}

impl From<&Data> for FoundValue {
    fn from(data: &Data) -> FoundValue {
        FoundValue::Value(match data {
            Data::Empty => return FoundValue::Empty,
            Data::Error(_) => return FoundValue::Error,
            Data::String(text) => return FoundValue::of_text(text),
            #[expect(clippy::cast_precision_loss, reason = "cells hold floating point numbers")]
            Data::Int(number) => CellValue::Number(*number as f64),
            Data::Float(number) => CellValue::Number(*number),
            Data::Bool(flag) => CellValue::Flag(*flag),
            Data::DateTime(time) => CellValue::Time(show_time(time)),
            Data::DateTimeIso(time) => CellValue::Time(trim_time(time)),
            Data::DurationIso(time) => CellValue::Time(time.clone()),
        })
    }
}

/// A moment by ISO 8601, without a time when it is midnight and without a date when there is none.
fn show_time(time: &ExcelDateTime) -> String {
    let value = time.as_f64();
    if time.is_duration() {
        let seconds = (value * 86_400.0).round();
        let (hours, rest) = ((seconds / 3600.0).trunc(), (seconds % 3600.0).abs());
        return format!("{hours:02}:{:02}:{:02}", (rest / 60.0).trunc(), rest % 60.0);
    }
    let (year, month, day, hours, minutes, seconds, _) = time.to_ymd_hms_milli();
    let clock = format!("{hours:02}:{minutes:02}:{seconds:02}");
    match ((0.0..1.0).contains(&value), value.fract() == 0.0) {
        (true, _) => clock,
        (false, true) => format!("{year:04}-{month:02}-{day:02}"),
        (false, false) => format!("{year:04}-{month:02}-{day:02}T{clock}"),
    }
}

/// A date without a midnight that only says that there is no time.
pub(super) fn trim_time(time: &str) -> String {
    let time = time.trim();
    let date = time.strip_suffix("T00:00:00").or_else(|| time.strip_suffix("T00:00:00Z"));
    date.unwrap_or(time).to_owned()
}

impl CellValue {
    pub(super) const fn is_text(&self) -> bool {
        matches!(self, CellValue::Text(_))
    }

    /// Whether it could stand above a column although it is no text: a year or a date.
    pub(super) fn is_period(&self) -> bool {
        match self {
            CellValue::Number(year) => year.fract() == 0.0 && (1900.0..=2100.0).contains(year),
            CellValue::Time(_) => true,
            CellValue::Text(_) | CellValue::Flag(_) => false,
        }
    }

    /// The value as people read it.
    pub(super) fn show(&self) -> String {
        match self {
            CellValue::Text(text) | CellValue::Time(text) => text.clone(),
            CellValue::Number(number) => round(*number).to_string(),
            CellValue::Flag(flag) => flag.to_string(),
        }
    }

    /// The value of a field.
    pub(super) fn to_json(&self) -> Value {
        match self {
            CellValue::Text(text) | CellValue::Time(text) => Value::from(text.clone()),
            CellValue::Flag(flag) => Value::from(*flag),
            CellValue::Number(number) => {
                let number = round(*number);
                // Whole numbers up to here have one form only.
                let is_whole = number.fract() == 0.0 && number.abs() < 9e15;
                #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
                let whole = number as i64;
                if is_whole { Value::from(whole) } else { Value::from(number) }
            }
        }
    }
}

/// A number with the 15 digits that spreadsheets show: sums of binary fractions have more.
fn round(number: f64) -> f64 {
    format!("{number:.14e}").parse().unwrap_or(number)
}

/// The letters of a column, from 0: A, B, … Z, AA.
pub(super) fn column_letters(column: u32) -> String {
    let (mut rest, mut letters) = (u64::from(column) + 1, Vec::new());
    while rest > 0 {
        rest -= 1;
        letters.push(char::from(b'A' + u8::try_from(rest % 26).unwrap_or_default()));
        rest /= 26;
    }
    letters.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use calamine::ExcelDateTimeType;

    use super::*;

    #[test]
    fn numbers_are_shown_as_spreadsheets_do() {
        assert_eq!(CellValue::Number(0.1 + 0.2).show(), "0.3");
        assert_eq!(CellValue::Number(3.0).to_json(), Value::from(3));
        assert_eq!(CellValue::Number(-2.5).to_json(), Value::from(-2.5));
        assert_eq!(CellValue::Number(f64::NAN).to_json(), Value::Null);
        assert_eq!(CellValue::Number(1e300).to_json(), Value::from(1e300));
    }

    #[test]
    fn moments_are_iso() {
        let show = |value, kind| show_time(&ExcelDateTime::new(value, kind, false));
        assert_eq!(show(45_413.0, ExcelDateTimeType::DateTime), "2024-05-01");
        assert_eq!(show(45_413.75, ExcelDateTimeType::DateTime), "2024-05-01T18:00:00");
        assert_eq!(show(0.5, ExcelDateTimeType::DateTime), "12:00:00");
        assert_eq!(show(1.25, ExcelDateTimeType::TimeDelta), "30:00:00");
        assert_eq!(trim_time("2024-05-01T00:00:00"), "2024-05-01");
    }

    #[test]
    fn columns_have_letters() {
        let letters = [0, 25, 26, 701, 702, u32::MAX].map(column_letters);
        assert_eq!(letters, ["A", "Z", "AA", "ZZ", "AAA", "MWLQKWV"]);
    }
}
