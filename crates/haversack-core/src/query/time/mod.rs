//! Time expressions in a query, resolved to ranges relative to now in the asker's time zone.
//!
//! Seasons are those of the northern hemisphere, by whole months: spring begins on 1 March.
//!
//! Dates with slashes and the year last are left alone: 3/4/2025 is March to some and April to
//! others.

mod calendar;
mod date;
mod words;

use calendar::{Calendar, CalendarUnit, TimeInterval};
use words::{LanguageSet, PeriodPart, TimeRelation};

use crate::text::terms::Language;
use crate::units::Timestamp;
use crate::zone::Zone;

/// How many weeks or years a Monday or a March may be moved to stand before or after another time.
const CYCLES_MAX: usize = 200;

/// A time range named in a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeRange {
    /// The words of the expression.
    pub text: String,
    /// The start; [`TimeRange::EARLIEST`] when open.
    pub from: Timestamp,
    /// The exclusive end; [`TimeRange::LATEST`] when open.
    pub to: Timestamp,
    /// The future reading of an ambiguous expression: "Friday" is the last one when looking back,
    /// and the next one for a due date.
    pub coming: Option<(Timestamp, Timestamp)>,
    /// The past reading, if the range is in the future: "from January" is the next one for a future
    /// rent, and the last one for notes.
    pub past: Option<(Timestamp, Timestamp)>,
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
/// now, "before" and "after" are open at one end. The words of one expression are of one language;
/// what also is English counts as another language's only in a text of that language.
pub(super) fn find(text: &str, now: Timestamp, zone: &Zone, language: Language) -> Vec<TimeRange> {
    let Some(calendar) = Calendar::new(now, zone) else { return Vec::new() };
    let tokens = tokens(text);
    let is_future = tokens.iter().any(|token| words::is_future(&token.lower));
    let reader = TimeReader { tokens, calendar, now, language, is_future };
    let mut found = Vec::new();
    let mut at = 0;
    while at < reader.tokens.len() {
        let time = reader.time_with_relation(at).filter(|found| reader.is_meant(at, found));
        match time.filter(|found| found.range.0 < found.range.1) {
            Some(found_here) => {
                let (from, to) = found_here.range;
                let start = reader.tokens[at].start;
                let end = reader.tokens[found_here.next - 1].end;
                let (coming, past) = (reader.next_occurrence(&found_here), found_here.past);
                found.push(TimeRange { text: text[start..end].to_owned(), from, to, coming, past });
                at = found_here.next;
            }
            None => at += 1,
        }
    }
    found
}

/// A word, a number, a sign, or an expression of a script without spaces.
#[derive(Debug)]
struct TimeToken {
    lower: String,
    start: usize,
    end: usize,
    /// Whether it begins with a capital.
    capital: bool,
    period: Option<(CalendarUnit, i64)>,
}

fn tokens(text: &str) -> Vec<TimeToken> {
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
        tokens.push(TimeToken { lower, start, end: at, capital: c.is_uppercase(), period });
    }
    tokens
}

fn run(text: &str, inside: impl Fn(char) -> bool) -> usize {
    text.find(|c| !inside(c)).unwrap_or(text.len())
}

/// A parsed time expression.
#[derive(Debug, Clone, Copy)]
struct FoundTime {
    /// The token after it.
    next: usize,
    range: TimeInterval,
    /// The languages of its words.
    languages: LanguageSet,
    /// The period of a recurring time, such as a weekday.
    cycle: Option<CalendarUnit>,
    /// See [`TimeRange::past`].
    past: Option<TimeInterval>,
    /// Whether it is the end of a longer time, and so means the last moment of it.
    is_end: bool,
}

impl FoundTime {
    const fn new(next: usize, range: TimeInterval, languages: LanguageSet) -> FoundTime {
        FoundTime { next, range, languages, cycle: None, past: None, is_end: false }
    }

    const fn repeating(self, cycle: CalendarUnit) -> FoundTime {
        FoundTime { cycle: Some(cycle), ..self }
    }

    /// Restricts the languages; `None` when no common language is left.
    fn restrict_languages(self, languages: LanguageSet) -> Option<FoundTime> {
        let languages = self.languages & languages;
        (!languages.is_empty()).then_some(FoundTime { languages, ..self })
    }
}

struct TimeReader {
    tokens: Vec<TimeToken>,
    calendar: Calendar,
    now: Timestamp,
    language: Language,
    /// Whether the text asks about the future.
    is_future: bool,
}

impl TimeReader {
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

    /// Whether the words at `at` really are that time. Words of another language than the text's
    /// count unless all of them are also English.
    fn is_meant(&self, at: usize, found: &FoundTime) -> bool {
        let own = LanguageSet::from_language(self.language).or(LanguageSet::EN);
        if !(found.languages & own).is_empty() {
            return true;
        }
        let words = || self.tokens[at..found.next].iter().map(|token| token.lower.as_str());
        let foreign = |word: &str| {
            word.starts_with(char::is_alphabetic) && !words::ENGLISH_TOO.contains(&word)
        };
        // "3 mars 2025" is a date, "Mars 2020" and "2 Mars rovers" are not.
        let n_numbers =
            words().filter(|word| word.starts_with(|c: char| c.is_ascii_digit())).count();
        n_numbers >= 2 || words().any(foreign)
    }

    /// A time with its preposition: since, before, between …
    fn time_with_relation(&self, at: usize) -> Option<FoundTime> {
        // "avant-hier" and "il y a" begin with words that are also relations.
        let plain = self.standalone_time(at);
        let Some((relation, languages, length)) = self.relation(at) else { return plain };
        if plain.is_some() {
            return plain;
        }
        let mut inner = at + length;
        while words::is_filler(self.word(inner)) && inner < at + length + 2 {
            inner += 1;
        }
        let is_day =
            !matches!(relation, TimeRelation::For) && !matches!(self.word(at), "in" | "im");
        let found = self.time_after_relation(inner);
        let found = found.or_else(|| self.day_of_month(inner).filter(|_| is_day));
        self.apply(relation, found?.restrict_languages(languages)?)
    }

    /// The preposition before a time, its languages and its number of words.
    fn relation(&self, at: usize) -> Option<(TimeRelation, LanguageSet, usize)> {
        let is_here = |words: &[&str]| (at..).zip(words).all(|(at, word)| self.word(at) == *word);
        let phrase = words::RELATION_PHRASES.iter().find(|(words, ..)| is_here(words));
        if let Some((words, relation, languages)) = phrase {
            return Some((*relation, *languages, words.len()));
        }
        words::relation(self.word(at)).map(|(relation, languages)| (relation, languages, 1))
    }

    /// Applies a preposition to a time.
    fn apply(&self, relation: TimeRelation, found: FoundTime) -> Option<FoundTime> {
        let (from, to) = found.range;
        let next = self.next_occurrence(&found);
        let range = match relation {
            TimeRelation::In if self.is_future => next.unwrap_or((from, to)),
            TimeRelation::In => (from, to),
            TimeRelation::Since if from < self.now => (from, self.now),
            TimeRelation::Since => (from, TimeRange::LATEST),
            TimeRelation::Before if found.is_end => (TimeRange::EARLIEST, to),
            TimeRelation::Before => (TimeRange::EARLIEST, from),
            TimeRelation::After => (to, TimeRange::LATEST),
            TimeRelation::Until => (TimeRange::EARLIEST, to),
            TimeRelation::By => (TimeRange::EARLIEST, next.unwrap_or((from, to)).1),
            TimeRelation::For => next.unwrap_or((from, to)),
            TimeRelation::Between => return self.extend_to_range(found),
            TimeRelation::From => {
                if self.second_end(&found).is_some() {
                    return self.extend_to_range(found);
                }
                match next {
                    Some((from, _)) => (from, TimeRange::LATEST),
                    None if from > self.now => (from, TimeRange::LATEST),
                    None => (from, to),
                }
            }
        };
        let is_ahead =
            matches!(relation, TimeRelation::For | TimeRelation::From | TimeRelation::In);
        let past = (is_ahead && range != (from, to)).then_some((from, to));
        Some(FoundTime { range, past, ..found })
    }

    /// The next occurrence of a recurring time that is over, including the end of an open range.
    fn next_occurrence(&self, found: &FoundTime) -> Option<TimeInterval> {
        let cycle = found.cycle?;
        let (from, to) = found.range;
        let is_open =
            |moment: Timestamp| moment == TimeRange::EARLIEST || moment == TimeRange::LATEST;
        let end = if is_open(to) { from } else { to };
        if end > self.now {
            return Some((from, to));
        }
        let moved = |moment: Timestamp| match is_open(moment) {
            true => Some(moment),
            false => self.calendar.moved(moment, cycle, 1),
        };
        Some((moved(from)?, moved(to)?))
    }

    /// A range from one time to another, or the first time if there is no second.
    fn extend_to_range(&self, first: FoundTime) -> Option<FoundTime> {
        let Some(second) = self.second_end(&first) else { return Some(first) };
        Some(FoundTime { range: self.ordered_range(&first, &second)?, ..second })
    }

    fn second_end(&self, first: &FoundTime) -> Option<FoundTime> {
        let languages = words::joint(self.word(first.next))? & first.languages;
        let at = first.next + 1;
        let filler = usize::from(words::is_filler(self.word(at)));
        self.time_after_relation(at + filler)?.restrict_languages(languages)
    }

    /// A time that needs a preposition: a year, a month, a weekday.
    fn time_after_relation(&self, at: usize) -> Option<FoundTime> {
        self.standalone_time(at)
            .or_else(|| Some(FoundTime::new(at + 1, self.year(at)?, LanguageSet::ALL)))
            .or_else(|| {
                let (month, languages) = words::month(self.word(at))?;
                let range = self.recent_month(month)?;
                Some(FoundTime::new(at + 1, range, languages).repeating(CalendarUnit::Year))
            })
            .or_else(|| {
                let (weekday, languages) = words::weekday(self.word(at))?;
                let range = self.calendar.recent_weekday(weekday)?;
                Some(FoundTime::new(at + 1, range, languages).repeating(CalendarUnit::Week))
            })
            .or_else(|| {
                let languages = words::weekend(self.word(at))?;
                let range = self.calendar.recent_weekend()?;
                Some(FoundTime::new(at + 1, range, languages).repeating(CalendarUnit::Week))
            })
            .or_else(|| {
                let (season, languages) = words::season(self.word(at))?;
                // "Beans in Spring": with a capital it is a name, but for languages that write so.
                let is_english = !(languages & LanguageSet::EN).is_empty();
                let is_name =
                    self.tokens[at].capital && is_english && self.language != Language::German;
                let range = self.calendar.recent_season(season).filter(|_| !is_name)?;
                Some(FoundTime::new(at + 1, range, languages).repeating(CalendarUnit::Year))
            })
    }

    /// The beginning, the middle or the end of a longer time: "end of March", "Ende der Woche".
    fn part_of_period(&self, at: usize) -> Option<FoundTime> {
        if let Some(unit) = words::end_of_period(self.word(at)) {
            let whole = FoundTime::new(at + 1, self.calendar.period(unit, 0)?, LanguageSet::DE);
            return Some(third_of(&whole, PeriodPart::Last));
        }
        let (third, languages) = words::third(self.word(at))?;
        let may_be_verb = matches!(self.word(at), "start" | "end" | "beginning" | "middle");
        if may_be_verb && !matches!(self.word(at + 1), "of" | "-") {
            // "What did she start last year?"
            return None;
        }
        let mut inner = at + 1;
        while (words::is_filler(self.word(inner)) || self.word(inner) == "-") && inner < at + 3 {
            inner += 1;
        }
        // "Late this week" may be said of what is late; "late March" is not.
        let is_loose = matches!(self.word(at), "early" | "late" | "mid");
        let whole = if is_loose {
            self.date(inner).or_else(|| self.time_after_relation(inner)).filter(|whole| {
                words::leading_shift(self.word(inner)).is_none() && whole.next > inner
            })
        } else {
            self.time_after_relation(inner).or_else(|| {
                let (unit, languages) = words::unit(self.word(inner))?;
                let is_long = !matches!(unit, CalendarUnit::Minute | CalendarUnit::Hour);
                let period = is_long.then(|| self.calendar.period(unit, 0))??;
                Some(FoundTime::new(inner + 1, period, languages)).filter(|_| inner > at + 1)
            })
        };
        Some(third_of(&whole?.restrict_languages(languages)?, third))
    }

    /// A time that needs no preposition.
    fn standalone_time(&self, at: usize) -> Option<FoundTime> {
        self.date(at)
            .or_else(|| self.named_period(at))
            .or_else(|| self.counted_units(at))
            .or_else(|| self.shifted(at))
            .or_else(|| self.part_of_period(at))
    }

    fn named_period(&self, at: usize) -> Option<FoundTime> {
        if let Some((unit, offset)) = self.tokens.get(at)?.period {
            return Some(FoundTime::new(
                at + 1,
                self.calendar.period(unit, offset)?,
                LanguageSet::ALL,
            ));
        }
        let &(words, languages, unit, offset) = words::PERIODS
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
        Some(FoundTime::new(at + words.len(), self.calendar.period(unit, offset)?, languages))
    }

    /// Some number of units: "3 days ago", "vor 3 Tagen", "in 2 weeks", "the last 7 days".
    fn counted_units(&self, at: usize) -> Option<FoundTime> {
        let (count_at, prefix, before) = self.count_prefix(at);
        let (count, count_languages) = words::number(self.word(count_at))?;
        let mut languages = before & count_languages;
        let mut unit_at = count_at + 1;
        let last = words::last_many(self.word(unit_at)).filter(|_| prefix == Prefix::None);
        if let Some(last) = last {
            languages = languages & last;
            unit_at += 1;
        }
        let (unit, unit_languages) = words::unit(self.word(unit_at))?;
        let mut next = unit_at + 1;
        let range = match prefix {
            Prefix::Ago => self.calendar.period(unit, -count)?,
            Prefix::In => self.calendar.period(unit, count)?,
            Prefix::Last => self.calendar.last(unit, count)?,
            Prefix::Next => self.calendar.next(unit, count)?,
            // French: "les 7 derniers jours".
            Prefix::None if last.is_some() => self.calendar.last(unit, count)?,
            Prefix::None if self.word(next) == "ago" => {
                next += 1;
                languages = languages & LanguageSet::EN;
                self.calendar.period(unit, -count)?
            }
            Prefix::None => return None,
        };
        FoundTime::new(next, range, unit_languages).restrict_languages(languages)
    }

    /// The prefix of a number of units, and the position of the number.
    fn count_prefix(&self, at: usize) -> (usize, Prefix, LanguageSet) {
        match (self.word(at), self.word(at + 1), self.word(at + 2)) {
            ("il", "y", "a") => (at + 3, Prefix::Ago, LanguageSet::FR),
            ("vor", ..) => (at + 1, Prefix::Ago, LanguageSet::DE),
            ("hace", ..) => (at + 1, Prefix::Ago, LanguageSet::ES),
            ("in", ..) => (at + 1, Prefix::In, LanguageSet::EN.or(LanguageSet::DE)),
            ("dans", ..) => (at + 1, Prefix::In, LanguageSet::FR),
            (word, ..) => match words::last_many(word) {
                Some(languages) => (at + 1, Prefix::Last, languages),
                None => match words::next_many(word) {
                    Some(languages) => (at + 1, Prefix::Next, languages),
                    None => (at, Prefix::None, LanguageSet::ALL),
                },
            },
        }
    }

    /// Last, this or next week, Monday, March …
    fn shifted(&self, at: usize) -> Option<FoundTime> {
        let (name_at, (shift, languages), next) =
            if let Some(shift) = words::leading_shift(self.word(at)) {
                (at + 1, shift, at + 2)
            } else if self.word(at + 1) == "que" && self.word(at + 2) == "viene" {
                (at, (1, LanguageSet::ES), at + 3)
            } else {
                (at, words::trailing_shift(self.word(at + 1))?, at + 2)
            };
        let name = self.word(name_at);
        let (range, name_languages) = if let Some((unit, languages)) = words::unit(name) {
            (self.calendar.period(unit, shift), languages)
        } else if let Some((weekday, languages)) = words::weekday(name) {
            (self.calendar.weekday(weekday, shift), languages)
        } else if let Some((season, languages)) = words::season(name) {
            (self.calendar.shifted_season(season, shift), languages)
        } else if let Some(languages) = words::weekend(name) {
            (self.calendar.weekend(shift), languages)
        } else {
            let (month, languages) = words::month(name)?;
            // "This may be", "this march through the files".
            if shift == 0 && matches!(name, "may" | "march") && !self.tokens[name_at].capital {
                return None;
            }
            (self.shifted_month(month, shift), languages)
        };
        FoundTime::new(next, range?, name_languages).restrict_languages(languages)
    }
}

/// The prefix of a number of units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prefix {
    None,
    /// That long before now.
    Ago,
    /// That long after now.
    In,
    /// All of the time up to now.
    Last,
    /// All of the time from now on.
    Next,
}

impl TimeReader {
    /// From the beginning of the first time to the end of the second.
    ///
    /// Both are read as their last occurrence. Where that puts the second before the first
    /// ("between Monday and Friday" on a Wednesday), the second is its next one; where the second
    /// says which it is ("from October to March 2024"), the first is the one before it.
    fn ordered_range(&self, first: &FoundTime, second: &FoundTime) -> Option<TimeInterval> {
        let (mut from, mut to) = (first.range.0, second.range.1);
        for _ in 0..CYCLES_MAX {
            if from < to {
                return Some((from, to));
            }
            match (first.cycle, second.cycle) {
                (_, Some(cycle)) => to = self.calendar.moved(to, cycle, 1)?,
                (Some(cycle), None) => from = self.calendar.moved(from, cycle, -1)?,
                (None, None) => return None,
            }
        }
        None
    }
}

/// A third of a time.
fn third_of(whole: &FoundTime, third: PeriodPart) -> FoundTime {
    let (from, to) = (whole.range.0.as_millis(), whole.range.1.as_millis());
    let length = (to - from) / 3;
    let range = match third {
        PeriodPart::First => (from, from + length),
        PeriodPart::Middle => (from + length, to - length),
        PeriodPart::Last => (to - length, to),
    };
    let range = (Timestamp::from_millis(range.0), Timestamp::from_millis(range.1));
    FoundTime { range, is_end: third == PeriodPart::Last, ..*whole }
}

#[cfg(test)]
mod tests;
