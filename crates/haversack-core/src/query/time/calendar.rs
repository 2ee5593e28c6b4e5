//! Ranges on the calendar of a time zone. Weeks start on Monday; a month's arithmetic stops at its
//! end.

use jiff::Span;
use jiff::civil::{Date, DateTime};

use crate::units::Timestamp;
use crate::zone::Zone;

/// A half-open interval of timestamps.
pub(super) type TimeInterval = (Timestamp, Timestamp);

/// A calendar unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CalendarUnit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// A season of the northern hemisphere, in whole months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Season {
    Spring,
    Summer,
    Autumn,
    Winter,
}

impl Season {
    const fn first_month(self) -> i8 {
        match self {
            Season::Spring => 3,
            Season::Summer => 6,
            Season::Autumn => 9,
            Season::Winter => 12,
        }
    }
}

/// The current time on the asker's calendar.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    now: DateTime,
    zone: Zone,
}

impl Calendar {
    /// `None` when `now` is outside the calendar's years -9999 to 9999.
    pub(super) fn new(now: Timestamp, zone: &Zone) -> Option<Calendar> {
        Some(Calendar { now: zone.civil(now)?, zone: zone.clone() })
    }

    pub(super) fn today(&self) -> Date {
        self.now.date()
    }

    /// The period of a unit that lies `offset` units from the one of now.
    ///
    /// Hours and minutes are counted from the moment itself: the last hour is the last 60 minutes.
    pub(super) fn period(&self, unit: CalendarUnit, offset: i64) -> Option<TimeInterval> {
        if matches!(unit, CalendarUnit::Minute | CalendarUnit::Hour) {
            let from = self.now.checked_add(span(unit, offset)?).ok()?;
            return self.range(from, from.checked_add(span(unit, 1)?).ok()?);
        }
        self.period_of(unit, self.today().checked_add(span(unit, offset)?).ok()?)
    }

    /// The last `count` units up to now.
    pub(super) fn last(&self, unit: CalendarUnit, count: i64) -> Option<TimeInterval> {
        self.range(self.now.checked_sub(span(unit, count)?).ok()?, self.now)
    }

    /// The next `count` units from now on; of days and longer ones all of today and of the last
    /// day.
    pub(super) fn next(&self, unit: CalendarUnit, count: i64) -> Option<TimeInterval> {
        let end = self.now.checked_add(span(unit, count)?).ok()?;
        if matches!(unit, CalendarUnit::Minute | CalendarUnit::Hour) {
            return self.range(self.now, end);
        }
        let to = DateTime::from(end.date().checked_add(span(CalendarUnit::Day, 1)?).ok()?);
        self.range(DateTime::from(self.today()), to)
    }

    /// A weekday (Monday is 0): the last one before today, this week's, or the next after today.
    pub(super) fn weekday(&self, weekday: i64, shift: i64) -> Option<TimeInterval> {
        let today = self.weekday_today();
        let days = match shift {
            ..0 => -(1 + (today - weekday - 1).rem_euclid(7)),
            0 => weekday - today,
            1.. => 1 + (weekday - today - 1).rem_euclid(7),
        };
        self.period(CalendarUnit::Day, days)
    }

    /// The last such weekday, today included.
    pub(super) fn recent_weekday(&self, weekday: i64) -> Option<TimeInterval> {
        self.period(CalendarUnit::Day, -(self.weekday_today() - weekday).rem_euclid(7))
    }

    fn weekday_today(&self) -> i64 {
        i64::from(self.today().weekday().to_monday_zero_offset())
    }

    /// Saturday and Sunday of the week that lies `offset` weeks from this one.
    pub(super) fn weekend(&self, offset: i64) -> Option<TimeInterval> {
        let saturday = 5 - self.weekday_today() + 7 * offset;
        let (from, _) = self.period(CalendarUnit::Day, saturday)?;
        let (_, to) = self.period(CalendarUnit::Day, saturday + 1)?;
        Some((from, to))
    }

    /// The last weekend that has begun.
    pub(super) fn recent_weekend(&self) -> Option<TimeInterval> {
        self.weekend(if self.weekday_today() >= 5 { 0 } else { -1 })
    }

    /// The season that begins in a year: a winter reaches into the next one.
    pub(super) fn season(&self, season: Season, year: i16) -> Option<TimeInterval> {
        let first = Date::new(year, season.first_month(), 1).ok()?;
        let end = first.checked_add(span(CalendarUnit::Month, 3)?).ok()?;
        self.range(DateTime::from(first), DateTime::from(end))
    }

    /// The last season of that name that has begun.
    pub(super) fn recent_season(&self, season: Season) -> Option<TimeInterval> {
        let today = self.today();
        let has_begun = today.month() >= season.first_month();
        self.season(season, today.year() - i16::from(!has_begun))
    }

    /// The last season of that name that is over, this one, or the next to begin.
    pub(super) fn shifted_season(&self, season: Season, shift: i64) -> Option<TimeInterval> {
        let now = self.zone.moment(self.now)?;
        let year = self.today().year();
        let mut years = (-2..=2).filter_map(|offset: i16| self.season(season, year + offset));
        match shift {
            ..0 => years.rfind(|(_, to)| *to <= now),
            0 => {
                let (running, of_year) = (self.recent_season(season)?, self.season(season, year)?);
                Some(if running.1 > now { running } else { of_year })
            }
            1.. => years.find(|(from, _)| *from > now),
        }
    }

    /// The most recent day of a month with this number.
    pub(super) fn recent_day(&self, day: i8) -> Option<TimeInterval> {
        let today = self.today();
        // The shortest way back to a day 31 are two months.
        let mut months = (0..=2).filter_map(|back| {
            let month =
                today.first_of_month().checked_sub(span(CalendarUnit::Month, back)?).ok()?;
            Date::new(month.year(), month.month(), day).ok()
        });
        self.period_of(CalendarUnit::Day, months.find(|date| *date <= today)?)
    }

    /// A time shifted by a number of units.
    pub(super) fn moved(
        &self,
        moment: Timestamp,
        unit: CalendarUnit,
        count: i64,
    ) -> Option<Timestamp> {
        self.zone.moment(self.zone.civil(moment)?.checked_add(span(unit, count)?).ok()?)
    }

    /// The day, or `None` when there is no such day.
    pub(super) fn day(&self, year: i16, month: i8, day: i8) -> Option<TimeInterval> {
        self.period_of(CalendarUnit::Day, Date::new(year, month, day).ok()?)
    }

    /// The period of a unit that holds `date`.
    pub(super) fn period_of(&self, unit: CalendarUnit, date: Date) -> Option<TimeInterval> {
        let from = match unit {
            CalendarUnit::Minute | CalendarUnit::Hour | CalendarUnit::Day => date,
            CalendarUnit::Week => {
                let monday = i64::from(date.weekday().to_monday_zero_offset());
                date.checked_sub(span(CalendarUnit::Day, monday)?).ok()?
            }
            CalendarUnit::Month => date.first_of_month(),
            CalendarUnit::Quarter => {
                Date::new(date.year(), (date.month() - 1) / 3 * 3 + 1, 1).ok()?
            }
            CalendarUnit::Year => date.first_of_year(),
        };
        self.range(DateTime::from(from), DateTime::from(from.checked_add(span(unit, 1)?).ok()?))
    }

    pub(super) fn range(&self, from: DateTime, to: DateTime) -> Option<TimeInterval> {
        Some((self.zone.moment(from)?, self.zone.moment(to)?))
    }
}

fn span(unit: CalendarUnit, count: i64) -> Option<Span> {
    let span = Span::new();
    match unit {
        CalendarUnit::Minute => span.try_minutes(count),
        CalendarUnit::Hour => span.try_hours(count),
        CalendarUnit::Day => span.try_days(count),
        CalendarUnit::Week => span.try_weeks(count),
        CalendarUnit::Month => span.try_months(count),
        CalendarUnit::Quarter => span.try_months(count.checked_mul(3)?),
        CalendarUnit::Year => span.try_years(count),
    }
    .ok()
}
