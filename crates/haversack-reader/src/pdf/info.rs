//! What a document says of itself: title, author and dates.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

/// Endings of file names, which programs write for want of a title.
const FILE_ENDINGS: [&str; 16] = [
    ".doc", ".docx", ".dvi", ".fm", ".htm", ".html", ".indd", ".odt", ".pdf", ".ps", ".qxd",
    ".rtf", ".tex", ".tmp", ".txt", ".xls",
];

/// Beginnings of titles that are none.
const EMPTY_TITLES: [&str; 7] =
    ["untitled", "microsoft ", "title", "document", "slide 1", "no title", "unknown"];

/// The title, if it looks like one.
pub(super) fn sensible_title(title: Option<&str>) -> Option<String> {
    let title = title?.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = title.to_lowercase();
    let is_file = FILE_ENDINGS.iter().any(|ending| lower.ends_with(ending)) || lower.contains('\\');
    let is_path = !title.contains(' ') && title.contains('/');
    let is_empty = EMPTY_TITLES.iter().any(|empty| match empty.strip_suffix(' ') {
        Some(beginning) => lower.starts_with(beginning) && lower.contains(" - "),
        None => lower == *empty,
    });
    let letters = title.chars().filter(|letter| letter.is_alphabetic()).count();
    let is_readable = letters >= 2 && !title.contains('\u{fffd}') && title.chars().count() <= 300;
    (is_readable && !is_file && !is_path && !is_empty).then_some(title)
}

/// The author, if it is one.
pub(super) fn sensible_author(author: Option<&str>) -> String {
    let author = author.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    let is_name = author.chars().any(char::is_alphabetic) && !author.contains('\u{fffd}');
    let is_empty = matches!(author.to_lowercase().as_str(), "unknown" | "author" | "anonymous");
    if is_name && !is_empty { author } else { String::new() }
}

/// The moment of a date such as `D:20240115103000+01'00'`, of which all but the year may be
/// missing.
pub(super) fn parse_date(date: Option<&str>) -> Option<i64> {
    let date = date?.trim();
    let date = date.strip_prefix("D:").unwrap_or(date);
    let digits = date.bytes().take_while(u8::is_ascii_digit).count();
    let number = |from: usize, to: usize, missing: i16| match digits >= to {
        true => date[from..to].parse().ok(),
        false => Some(missing),
    };
    let year = (digits >= 4).then(|| number(0, 4, 0)).flatten()?;
    let (month, day) = (small(number(4, 6, 1)?)?, small(number(6, 8, 1)?)?);
    let (hour, minute) = (small(number(8, 10, 0)?)?, small(number(10, 12, 0)?)?);
    let second = small(number(12, 14, 0)?)?.min(59);
    let moment = DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    let offset = parse_offset(&date[digits..]).unwrap_or(Offset::UTC);
    let moment: Timestamp = offset.to_timestamp(moment).ok()?;
    Some(moment.as_millisecond())
}

/// The offset of `+01'00'`; none for `Z` and for what is no offset.
fn parse_offset(zone: &str) -> Option<Offset> {
    let sign = match zone.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let hours: i32 = digits.get(..2)?.parse().ok()?;
    let minutes: i32 = digits.get(2..4).unwrap_or("0").parse().ok()?;
    Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
}

fn small(number: i16) -> Option<i8> {
    i8::try_from(number).ok()
}
