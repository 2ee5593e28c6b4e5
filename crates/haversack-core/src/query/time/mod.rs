//! Times in a query, resolved to ranges in UTC against the asker's now.
//!
//! Dates with slashes and the year last are left alone: 3/4/2025 is March to some and April to
//! others.

mod calendar;
mod date;
mod words;

use calendar::{Calendar, Range, Unit};
use words::Relation;

use crate::text::terms::Language;
use crate::units::Timestamp;

/// A stretch of time a query speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeRange {
    /// The words that say so.
    pub text: String,
    /// The first moment; [`TimeRange::EARLIEST`] when open.
    pub from: Timestamp,
    /// The moment after the last; [`TimeRange::LATEST`] when open.
    pub to: Timestamp,
}

impl TimeRange {
    /// The beginning of a range such as "before 2020": 0001-01-01T00:00:00Z.
    pub const EARLIEST: Timestamp = Timestamp::from_millis(-62_135_596_800_000);
    /// The end of a range such as "after tomorrow": 9999-01-01T00:00:00Z.
    pub const LATEST: Timestamp = Timestamp::from_millis(253_370_764_800_000);
}

/// The times of a text in order of appearance, none overlapping.
///
/// "Last week" is the calendar week before this one, "2 months ago" the calendar month two months
/// back, "3 days ago" that day; "the last 7 days" are the 168 hours up to now. "Since" reaches to
/// now, "before" and "after" are open at one end.
pub(super) fn find(text: &str, now: Timestamp, language: Language) -> Vec<TimeRange> {
    let Some(calendar) = Calendar::new(now) else { return Vec::new() };
    let reader = Reader { tokens: tokens(text), calendar, now, language };
    let mut found = Vec::new();
    let mut at = 0;
    while at < reader.tokens.len() {
        match reader.related(at).filter(|(_, (from, to))| from < to) {
            Some((next, (from, to))) => {
                let start = reader.tokens[at].start;
                let end = reader.tokens[next - 1].end;
                found.push(TimeRange { text: text[start..end].to_owned(), from, to });
                at = next;
            }
            None => at += 1,
        }
    }
    found
}

/// A word, a number, a sign, or an expression of a script without spaces.
#[derive(Debug)]
struct Token {
    lower: String,
    start: usize,
    end: usize,
    /// Whether it begins with a capital.
    capital: bool,
    period: Option<(Unit, i64)>,
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let start = at;
        at += c.len_utf8();
        let mut period = None;
        let unspaced = words::UNSPACED_PERIODS.iter().find(|row| text[start..].starts_with(row.0));
        if let Some(&(word, unit, offset)) = unspaced {
            at = start + word.len();
            period = Some((unit, offset));
        } else if c.is_ascii_digit() {
            at += run(&text[at..], |c| c.is_ascii_digit());
        } else if matches!(c, 'd' | 'l' | 'D' | 'L') && text[at..].starts_with(['\'', '’']) {
            // An article or preposition of its own: d'avant-hier, l'année.
            at += run(&text[at..], |c| matches!(c, '\'' | '’'));
        } else if c.is_alphabetic() && !crate::text::terms::is_unspaced(c) {
            at += run(&text[at..], |c| c.is_alphabetic() || matches!(c, '\'' | '’'));
        } else if c.is_whitespace() {
            continue;
        }
        let lower = text[start..at].to_lowercase().replace('’', "'");
        let lower = lower.strip_suffix("'s").map(str::to_owned).unwrap_or(lower);
        tokens.push(Token { lower, start, end: at, capital: c.is_uppercase(), period });
    }
    tokens
}

fn run(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// A range and the token after it.
type Found = Option<(usize, Range)>;

struct Reader {
    tokens: Vec<Token>,
    calendar: Calendar,
    now: Timestamp,
    language: Language,
}

impl Reader {
    /// The word at a place, or nothing past the end.
    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.lower.as_str())
    }

    fn is_glued(&self, at: usize) -> bool {
        at > 0 && self.tokens.get(at).is_some_and(|token| token.start == self.tokens[at - 1].end)
    }

    /// A number that is written in digits.
    fn digits<T: std::str::FromStr>(&self, at: usize) -> Option<T> {
        let word = self.word(at);
        word.bytes().all(|byte| byte.is_ascii_digit()).then(|| word.parse().ok())?
    }

    /// A time with what stands before it: since, before, between …
    fn related(&self, at: usize) -> Found {
        let Some(relation) = words::relation(self.word(at)) else { return self.plain(at) };
        // "avant-hier" and "il y a" begin with words that are also relations.
        if let Some(found) = self.plain(at) {
            return Some(found);
        }
        let mut inner = at + 1;
        while words::is_filler(self.word(inner)) && inner < at + 3 {
            inner += 1;
        }
        let (next, (from, to)) = self.loose(inner)?;
        let range = match relation {
            Relation::In => (from, to),
            Relation::Since if from < self.now => (from, self.now),
            Relation::Since => (from, TimeRange::LATEST),
            Relation::Before => (TimeRange::EARLIEST, from),
            Relation::After => (to, TimeRange::LATEST),
            Relation::Until => (TimeRange::EARLIEST, to),
            Relation::Between => {
                if !words::is_joint(self.word(next)) {
                    return Some((next, (from, to)));
                }
                let filler = usize::from(words::is_filler(self.word(next + 1)));
                let Some((end, (_, to))) = self.loose(next + 1 + filler) else {
                    return Some((next, (from, to)));
                };
                return Some((end, (from, to)));
            }
        };
        Some((next, range))
    }

    /// A time that needs a word before it to be one: a year, a month, a weekday.
    fn loose(&self, at: usize) -> Found {
        self.plain(at)
            .or_else(|| Some((at + 1, self.year(at)?)))
            .or_else(|| {
                let month = words::month(self.word(at))?;
                Some((at + 1, self.recent_month(month)?))
            })
            .or_else(|| {
                let weekday = words::weekday(self.word(at))?;
                Some((at + 1, self.calendar.recent_weekday(weekday)?))
            })
    }

    /// A time that stands by itself.
    fn plain(&self, at: usize) -> Found {
        self.date(at)
            .or_else(|| self.named_period(at))
            .or_else(|| self.counted(at))
            .or_else(|| self.shifted(at))
    }

    fn named_period(&self, at: usize) -> Found {
        if let Some((unit, offset)) = self.tokens.get(at)?.period {
            return Some((at + 1, self.calendar.period(unit, offset)?));
        }
        let &(words, unit, offset) = words::PERIODS
            .iter()
            .find(|(words, ..)| (at..).zip(*words).all(|(at, word)| self.word(at) == *word))?;
        let before = if at == 0 { "" } else { self.word(at - 1) };
        let other = match words[0] {
            // Here, not yesterday.
            "hier" => matches!(self.language, Language::German | Language::Dutch),
            // The morning, not tomorrow.
            "morgen" => matches!(before, "guten" | "am" | "jeden" | "heute"),
            "mañana" => matches!(before, "la" | "esta"),
            _ => false,
        };
        if other {
            return None;
        }
        Some((at + words.len(), self.calendar.period(unit, offset)?))
    }

    /// Some number of units: "3 days ago", "vor 3 Tagen", "in 2 weeks", "the last 7 days".
    fn counted(&self, at: usize) -> Found {
        let (count_at, prefix) = match (self.word(at), self.word(at + 1), self.word(at + 2)) {
            ("il", "y", "a") => (at + 3, "ago"),
            ("vor" | "hace", ..) => (at + 1, "ago"),
            ("in" | "dans", ..) => (at + 1, "in"),
            (word, ..) if words::is_last_many(word) => (at + 1, "last"),
            _ => (at, ""),
        };
        let count = words::number(self.word(count_at))?;
        let mut unit_at = count_at + 1;
        let french = prefix.is_empty() && words::is_last_many(self.word(unit_at));
        unit_at += usize::from(french);
        let unit = words::unit(self.word(unit_at))?;
        let next = unit_at + 1;
        match prefix {
            "ago" => Some((next, self.calendar.period(unit, -count)?)),
            "in" => Some((next, self.calendar.period(unit, count)?)),
            "last" => Some((next, self.calendar.last(unit, count)?)),
            _ if french => Some((next, self.calendar.last(unit, count)?)),
            _ if self.word(next) == "ago" => Some((next + 1, self.calendar.period(unit, -count)?)),
            _ => None,
        }
    }

    /// Last, this or next week, Monday, March …
    fn shifted(&self, at: usize) -> Found {
        let (name_at, shift, next) = if let Some(shift) = words::shift_before(self.word(at)) {
            (at + 1, shift, at + 2)
        } else if self.word(at + 1) == "que" && self.word(at + 2) == "viene" {
            (at, 1, at + 3)
        } else {
            (at, words::shift_after(self.word(at + 1))?, at + 2)
        };
        let name = self.word(name_at);
        let range = if let Some(unit) = words::unit(name) {
            self.calendar.period(unit, shift)
        } else if let Some(weekday) = words::weekday(name) {
            self.calendar.weekday(weekday, shift)
        } else {
            self.recent_month(words::month(name).filter(|_| shift == -1)?)
        };
        Some((next, range?))
    }
}

#[cfg(test)]
mod tests;
