//! Ranges on the calendar in UTC. Weeks start on Monday; a month's arithmetic stops at its end.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp as Moment};

use crate::units::Timestamp;

/// From the first moment to before the second.
pub(super) type Range = (Timestamp, Timestamp);

/// A length on the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// The asker's now, on the calendar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    now: DateTime,
}

impl Calendar {
    /// `None` when `now` is outside the calendar's years -9999 to 9999.
    pub(super) fn new(now: Timestamp) -> Option<Calendar> {
        let now = Moment::from_millisecond(now.as_millis()).ok()?;
        Some(Calendar { now: TimeZone::UTC.to_datetime(now) })
    }

    pub(super) fn today(self) -> Date {
        self.now.date()
    }

    /// The period of a unit that lies `offset` units from the one of now.
    ///
    /// Hours and minutes are counted from the moment itself: the last hour is the last 60 minutes.
    pub(super) fn period(self, unit: Unit, offset: i64) -> Option<Range> {
        if matches!(unit, Unit::Minute | Unit::Hour) {
            let from = self.now.checked_add(span(unit, offset)?).ok()?;
            return range(from, from.checked_add(span(unit, 1)?).ok()?);
        }
        period_of(unit, self.today().checked_add(span(unit, offset)?).ok()?)
    }

    /// The last `count` units up to now.
    pub(super) fn last(self, unit: Unit, count: i64) -> Option<Range> {
        range(self.now.checked_sub(span(unit, count)?).ok()?, self.now)
    }

    /// A weekday (Monday is 0): the last one before today, this week's, or the next after today.
    pub(super) fn weekday(self, weekday: i64, shift: i64) -> Option<Range> {
        let today = i64::from(self.today().weekday().to_monday_zero_offset());
        let days = match shift {
            ..0 => -(1 + (today - weekday - 1).rem_euclid(7)),
            0 => weekday - today,
            1.. => 1 + (weekday - today - 1).rem_euclid(7),
        };
        self.period(Unit::Day, days)
    }

    /// The last such weekday, today included.
    pub(super) fn recent_weekday(self, weekday: i64) -> Option<Range> {
        let today = i64::from(self.today().weekday().to_monday_zero_offset());
        self.period(Unit::Day, -(today - weekday).rem_euclid(7))
    }
}

/// A moment so many units later.
pub(super) fn moved(moment: Timestamp, unit: Unit, count: i64) -> Option<Timestamp> {
    let moment = Moment::from_millisecond(moment.as_millis()).ok()?;
    timestamp(TimeZone::UTC.to_datetime(moment).checked_add(span(unit, count)?).ok()?)
}

/// The day, or `None` when there is no such day.
pub(super) fn day(year: i16, month: i8, day: i8) -> Option<Range> {
    period_of(Unit::Day, Date::new(year, month, day).ok()?)
}

/// The period of a unit that holds `date`.
pub(super) fn period_of(unit: Unit, date: Date) -> Option<Range> {
    let from = match unit {
        Unit::Minute | Unit::Hour | Unit::Day => date,
        Unit::Week => {
            let monday = i64::from(date.weekday().to_monday_zero_offset());
            date.checked_sub(span(Unit::Day, monday)?).ok()?
        }
        Unit::Month => date.first_of_month(),
        Unit::Quarter => Date::new(date.year(), (date.month() - 1) / 3 * 3 + 1, 1).ok()?,
        Unit::Year => date.first_of_year(),
    };
    range(DateTime::from(from), DateTime::from(from.checked_add(span(unit, 1)?).ok()?))
}

pub(super) fn range(from: DateTime, to: DateTime) -> Option<Range> {
    Some((timestamp(from)?, timestamp(to)?))
}

fn timestamp(moment: DateTime) -> Option<Timestamp> {
    let moment = TimeZone::UTC.to_timestamp(moment).ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

fn span(unit: Unit, count: i64) -> Option<Span> {
    let span = Span::new();
    match unit {
        Unit::Minute => span.try_minutes(count),
        Unit::Hour => span.try_hours(count),
        Unit::Day => span.try_days(count),
        Unit::Week => span.try_weeks(count),
        Unit::Month => span.try_months(count),
        Unit::Quarter => span.try_months(count.checked_mul(3)?),
        Unit::Year => span.try_years(count),
    }
    .ok()
}
