//! Dates as people and machines write them.

use jiff::civil::{Date, DateTime};

use super::calendar::{CalendarUnit, TimeInterval};
use super::words::{self, LanguageSet};
use super::{FoundTime, TimeReader};
use crate::zone::Zone;

/// Years a bare number may mean.
const YEARS: std::ops::RangeInclusive<i16> = 1900..=2199;

impl TimeReader {
    /// A date, month or quarter that needs no word before it.
    pub(super) fn date(&self, at: usize) -> Option<FoundTime> {
        self.iso(at)
            .or_else(|| self.date_with_dots(at))
            .or_else(|| self.day_month(at))
            .or_else(|| self.month_first(at))
            .or_else(|| self.quarter(at))
            .or_else(|| self.season_of_year(at))
    }

    /// `summer 2025`, `spring of 2025`, `Winter 2025/26`. A winter is called by the year in which
    /// it begins.
    fn season_of_year(&self, at: usize) -> Option<FoundTime> {
        let (season, languages) = words::season(self.word(at))?;
        let year_at = at + 1 + usize::from(matches!(self.word(at + 1), "of" | "de" | ","));
        let range = self.calendar.season(season, self.year_number(year_at)?)?;
        let second = self.word(year_at + 1) == "/" && self.is_glued(year_at + 1);
        let has_second = second && self.digits::<i16>(year_at + 2).is_some();
        let next = year_at + 1 + if has_second { 2 } else { 0 };
        Some(FoundTime::new(next, range, languages))
    }

    /// The number of a day without its month: `the 20th`, `am 20.`
    pub(super) fn day_of_month(&self, at: usize) -> Option<FoundTime> {
        let day: i8 = self.digits(at)?;
        let (next, languages) = self.ordinal(at + 1);
        if next == at + 1 || words::is_counted(self.word(next)) {
            return None;
        }
        let languages = if self.word(at + 1) == "." { LanguageSet::DE } else { languages };
        let range = self.calendar.recent_day(day)?;
        Some(FoundTime::new(next, range, languages).repeating(CalendarUnit::Month))
    }

    /// A number of four digits in the range of years.
    pub(super) fn year(&self, at: usize) -> Option<TimeInterval> {
        let year = self.year_number(at)?;
        self.calendar.period_of(CalendarUnit::Year, Date::new(year, 1, 1).ok()?)
    }

    fn year_number(&self, at: usize) -> Option<i16> {
        (self.word(at).len() == 4).then(|| self.digits(at))?.filter(|year| YEARS.contains(year))
    }

    /// The last month of that name that has begun.
    pub(super) fn recent_month(&self, month: i8) -> Option<TimeInterval> {
        let today = self.calendar.today();
        let year = today.year() - i16::from(month > today.month());
        self.calendar.period_of(CalendarUnit::Month, Date::new(year, month, 1).ok()?)
    }

    /// The last month of that name that has ended, this year's, or the next to begin.
    pub(super) fn shifted_month(&self, month: i8, shift: i64) -> Option<TimeInterval> {
        let today = self.calendar.today();
        let year = match shift {
            ..0 => today.year() - i16::from(month >= today.month()),
            0 => today.year(),
            1.. => today.year() + i16::from(month <= today.month()),
        };
        self.calendar.period_of(CalendarUnit::Month, Date::new(year, month, 1).ok()?)
    }

    /// `2025-03-01`, `2025/03/01`, `2025-03`, and a time of day after a day.
    fn iso(&self, at: usize) -> Option<FoundTime> {
        let year = self.year_number(at)?;
        let sign = self.word(at + 1);
        if !matches!(sign, "-" | "/") || !(at + 1..=at + 2).all(|at| self.is_glued(at)) {
            return None;
        }
        // Part of a longer number, such as a telephone's.
        if self.is_glued(at) && matches!(self.word(at - 1), "-" | "/" | ".") {
            return None;
        }
        let month: i8 = self.digits(at + 2)?;
        if self.word(at + 3) != sign || !self.is_glued(at + 3) || !self.is_glued(at + 4) {
            let month = Date::new(year, month, 1).ok().filter(|_| sign == "-")?;
            let range = self.calendar.period_of(CalendarUnit::Month, month)?;
            return Some(FoundTime::new(at + 3, range, LanguageSet::ALL));
        }
        let date = Date::new(year, month, self.digits(at + 4)?).ok()?;
        let moment = self.time_of_day(at + 5, date);
        moment.or_else(|| {
            let range = self.calendar.period_of(CalendarUnit::Day, date)?;
            Some(FoundTime::new(at + 5, range, LanguageSet::ALL))
        })
    }

    /// `T12:30`, `12:30:59.5Z` or `12:30+02:00` after a date: that minute, or that second.
    fn time_of_day(&self, at: usize, date: Date) -> Option<FoundTime> {
        let mut at = at + usize::from(self.word(at) == "t" && self.is_glued(at));
        let time_glued = |at: usize| self.is_glued(at) && self.is_glued(at + 1);
        let hour: i8 = self.digits(at)?;
        if self.word(at + 1) != ":" || !time_glued(at + 1) {
            return None;
        }
        let minute: i8 = self.digits(at + 2)?;
        at += 3;
        let mut second = None;
        if self.word(at) == ":" && time_glued(at) {
            second = Some(self.digits::<i8>(at + 1)?);
            at += 2;
            if self.word(at) == "." && time_glued(at) && self.digits::<u64>(at + 1).is_some() {
                at += 2;
            }
        }
        let from = DateTime::new(
            date.year(),
            date.month(),
            date.day(),
            hour,
            minute,
            second.unwrap_or(0),
            0,
        );
        let length = jiff::Span::new().seconds(if second.is_some() { 1 } else { 60 });
        let (at, offset_minutes) = self.offset(at);
        let range = match offset_minutes {
            Some(minutes) => {
                let from = from.ok()?.checked_sub(jiff::Span::new().minutes(minutes)).ok()?;
                let to = from.checked_add(length).ok()?;
                (Zone::UTC.moment(from)?, Zone::UTC.moment(to)?)
            }
            None => {
                let from = from.ok()?;
                self.calendar.range(from, from.checked_add(length).ok()?)?
            }
        };
        Some(FoundTime::new(at, range, LanguageSet::ALL))
    }

    /// An offset after a time of day, in minutes east of UTC. Without one the time is the asker's.
    fn offset(&self, at: usize) -> (usize, Option<i64>) {
        let sign = match self.word(at) {
            "z" if self.is_glued(at) => return (at + 1, Some(0)),
            "+" => 1,
            "-" => -1,
            _ => return (at, None),
        };
        let glued = (at..=at + 3).all(|at| self.is_glued(at));
        match (self.digits::<i64>(at + 1), self.digits::<i64>(at + 3)) {
            (Some(hours @ 0..=23), Some(minutes @ 0..=59)) if glued && self.word(at + 2) == ":" => {
                (at + 4, Some(sign * (hours * 60 + minutes)))
            }
            _ => (at, None),
        }
    }

    /// `1.3.2025`, day first.
    fn date_with_dots(&self, at: usize) -> Option<FoundTime> {
        let signs = self.word(at + 1) == "." && self.word(at + 3) == ".";
        if !signs || !(at + 1..=at + 4).all(|at| self.is_glued(at)) {
            return None;
        }
        let range =
            self.calendar.day(self.year_number(at + 4)?, self.digits(at + 2)?, self.digits(at)?)?;
        Some(FoundTime::new(at + 5, range, LanguageSet::ALL))
    }

    /// `3 March 2025`, `3rd of March`, `3. März 2025`, `3 de marzo de 2025`.
    fn day_month(&self, at: usize) -> Option<FoundTime> {
        let day: i8 = self.digits(at)?;
        let (mut next, mut languages) = self.ordinal(at + 1);
        match self.word(next) {
            "of" => (next, languages) = (next + 1, languages & LanguageSet::EN),
            "de" => (next, languages) = (next + 1, languages & LanguageSet::FR.or(LanguageSet::ES)),
            _ => {}
        }
        let (month, month_languages) = words::month(self.word(next))?;
        self.with_year(next + 1, month, day)?.restrict_languages(month_languages & languages)
    }

    /// The sign of an ordinal, if one is glued to the number before: the token after it, and the
    /// languages that write it.
    fn ordinal(&self, at: usize) -> (usize, LanguageSet) {
        match words::ordinal(self.word(at)).filter(|_| self.is_glued(at)) {
            Some(languages) => (at + 1, languages),
            None => (at, LanguageSet::ALL),
        }
    }

    /// `March 3, 2025`, `March 3rd`, `March 2025`.
    fn month_first(&self, at: usize) -> Option<FoundTime> {
        let (month, languages) = words::month(self.word(at))?;
        let year_at = at + 1 + usize::from(matches!(self.word(at + 1), "de" | "," | "of" | "."));
        if let Some(year) = self.year_number(year_at) {
            let first = Date::new(year, month, 1).ok()?;
            let range = self.calendar.period_of(CalendarUnit::Month, first)?;
            return Some(FoundTime::new(year_at + 1, range, languages));
        }
        // Without a year, "may 5" is more often a verb than a date.
        let day: i8 = self.digits(at + 1)?;
        let (mut next, mut day_languages) = self.ordinal(at + 2);
        if self.word(at + 2) == "." {
            // The end of a sentence.
            (next, day_languages) = (at + 2, LanguageSet::ALL);
        }
        let found =
            self.with_year(next, month, day)?.restrict_languages(languages & day_languages)?;
        (self.tokens[at].capital || found.next > next).then_some(found)
    }

    /// A day and month with the year that follows, or the last time that day has come.
    fn with_year(&self, next: usize, month: i8, day: i8) -> Option<FoundTime> {
        let year_at = next + usize::from(matches!(self.word(next), "," | "de"));
        if let Some(year) = self.year_number(year_at) {
            let range = self.calendar.day(year, month, day)?;
            return Some(FoundTime::new(year_at + 1, range, LanguageSet::ALL));
        }
        let today = self.calendar.today();
        // A leap day may be up to eight years back.
        let years = (0..=8).filter_map(|back| today.year().checked_sub(back));
        let date = years
            .filter_map(|year| Date::new(year, month, day).ok())
            .find(|date| *date <= today)?;
        let range = self.calendar.period_of(CalendarUnit::Day, date)?;
        Some(FoundTime::new(next, range, LanguageSet::ALL).repeating(CalendarUnit::Year))
    }

    /// `Q3 2025`, `2025 Q3`, or `Q3` of the last year in which it has begun.
    fn quarter(&self, at: usize) -> Option<FoundTime> {
        let number = |at: usize| -> Option<i8> {
            let quarter = self.word(at) == "q" && self.is_glued(at + 1);
            quarter.then(|| self.digits(at + 1))?.filter(|quarter| (1..=4).contains(quarter))
        };
        let range = |year: i16, quarter: i8| {
            self.calendar
                .period_of(CalendarUnit::Quarter, Date::new(year, quarter * 3 - 2, 1).ok()?)
        };
        let Some(quarter) = number(at) else {
            let year = self.year_number(at)?;
            let quarter_at = at + 1 + usize::from(matches!(self.word(at + 1), "/" | "-"));
            let range = range(year, number(quarter_at)?)?;
            return Some(FoundTime::new(quarter_at + 2, range, LanguageSet::ALL));
        };
        let year_at = at + 2 + usize::from(matches!(self.word(at + 2), "/" | "-" | "of"));
        if let Some(year) = self.year_number(year_at) {
            return Some(FoundTime::new(year_at + 1, range(year, quarter)?, LanguageSet::ALL));
        }
        let today = self.calendar.today();
        let begun = (today.month() - 1) / 3 + 1 >= quarter;
        let range = range(today.year() - i16::from(!begun), quarter)?;
        Some(FoundTime::new(at + 2, range, LanguageSet::ALL).repeating(CalendarUnit::Year))
    }
}
