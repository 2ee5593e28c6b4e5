//! What days and times of day say of a claim.

use super::claim::Claim;
use super::moment::{Day, month, weekday};
use super::number::{Bound, Way};
use super::told::{Fact, Told};

/// Words that say that a day is over.
#[rustfmt::skip]
const OVER: &[&str] = &["expired", "lapsed", "overdue", "passed", "late", "delayed", "abgelaufen", "überfällig", "verstrichen"];
/// Words that say that it is not.
const AHEAD: &[&str] = &["valid", "gültig", "upcoming", "ahead", "force"];
/// Names of days until which something holds or is to be done.
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "deadline", "due", "end", "ends", "expires", "expiry", "expiration", "limit", "promised", "until", "valid",
    "frist", "fällig", "by",
];

/// Seasons of the northern half of the world, by month.
const SEASONS: [(&[&str], [usize; 3]); 4] = [
    (&["spring", "frühling"], [3, 4, 5]),
    (&["summer", "sommer"], [6, 7, 8]),
    (&["autumn", "herbst"], [9, 10, 11]),
    (&["winter"], [12, 1, 2]),
];

/// What the days and times of a situation say, when the claim speaks of one.
pub(super) fn judge(claim: &Claim, told: &Told) -> Option<bool> {
    on_day(claim, told)
        .or_else(|| of_day(claim, told))
        .or_else(|| over(claim, told))
        .or_else(|| distance(claim, told))
}

/// The days that the claim speaks of: those whose name it says, or the only one.
fn days(claim: &Claim, told: &Told, wanted: impl Fn(&Fact) -> bool) -> Vec<Day> {
    let dated = || told.facts.iter().filter(|fact| fact.day.is_some() && wanted(fact));
    let says = |fact: &&Fact| {
        fact.core().any(|name| claim.said.iter().any(|said| said.word.is_same(name)))
    };
    let named: Vec<Day> = dated().filter(says).filter_map(|fact| fact.day).collect();
    if named.is_empty() { dated().filter_map(|fact| fact.day).collect() } else { named }
}

/// The one day that the claim speaks of.
fn day(claim: &Claim, told: &Told, wanted: impl Fn(&Fact) -> bool) -> Option<Day> {
    match days(claim, told, wanted).as_slice() {
        [day] => Some(*day),
        _ => None,
    }
}

/// Weekdays, months and years.
fn on_day(claim: &Claim, told: &Told) -> Option<bool> {
    let weekday = claim.tokens.iter().find_map(|token| weekday(&token.word));
    let is_may = |token: &super::token::Token| token.word != "may" || token.is_name;
    let month =
        claim.tokens.iter().filter(|token| is_may(token)).find_map(|token| month(&token.word));
    let year =
        claim.tokens.iter().filter(|token| token.word.len() == 4).find_map(|token| token.number);
    let year = year.filter(|year| (1_900.0..2_100.0).contains(year));
    let weekend = claim.has(&["weekend", "wochenende"]);
    let working = claim.says("during the week") || claim.has(&["weekday", "werktag"]);
    let season = SEASONS.iter().find(|(names, _)| claim.has(names)).map(|(_, months)| *months);
    if weekday.is_none()
        && month.is_none()
        && year.is_none()
        && season.is_none()
        && !weekend
        && !working
    {
        return None;
    }
    let is_on = |day: Day| {
        let (own_year, own_month) = day.month();
        #[expect(clippy::cast_precision_loss, reason = "years are small")]
        let own_year = own_year as f64;
        let is_weekend = day.weekday() >= 5;
        weekday.is_none_or(|weekday| day.weekday() == weekday)
            && month.is_none_or(|month| own_month == month)
            && season.is_none_or(|months| months.contains(&own_month))
            && year.is_none_or(|year| (own_year - year).abs() < 0.5)
            && (!weekend || is_weekend)
            && (!working || !is_weekend)
    };
    let days = days(claim, told, |_| true);
    let first = is_on(*days.first()?);
    days.iter().all(|day| is_on(*day) == first).then_some(first)
}

/// Times of day.
fn of_day(claim: &Claim, told: &Told) -> Option<bool> {
    let at_night = claim.has(&["night", "nachts", "overnight"]);
    let parts: &[(bool, u32, u32)] = &[
        (claim.has(&["afternoon", "nachmittag"]), 12 * 60, 18 * 60),
        (claim.has(&["morning", "vormittag"]), 5 * 60, 12 * 60),
        (claim.has(&["evening", "abend"]), 17 * 60, 22 * 60),
        (
            claim.says("office hours")
                || claim.says("business hours")
                || claim.says("working hours"),
            8 * 60,
            18 * 60,
        ),
    ];
    let part = parts.iter().find(|(is_said, ..)| *is_said);
    if part.is_none() && !at_night {
        return None;
    }
    let times: Vec<u32> = told.facts.iter().filter_map(|fact| fact.minute).collect();
    let [minute] = times.as_slice() else { return None };
    if at_night {
        // Between evening and night people differ.
        let is_night = *minute >= 22 * 60 || *minute < 5 * 60;
        let is_day = (7 * 60..20 * 60).contains(minute);
        return (is_night || is_day).then_some(is_night);
    }
    part.map(|(_, from, to)| (*from..*to).contains(minute))
}

/// Whether a deadline has passed.
fn over(claim: &Claim, told: &Told) -> Option<bool> {
    let is_over = claim.has(OVER);
    let is_ahead = claim.has(AHEAD) || claim.says("in force") || claim.says("in time");
    if is_over == is_ahead || claim.bound.is_some() {
        return None;
    }
    let today = told.today?;
    let ends = |fact: &Fact| fact.name.iter().any(|word| word.is(ENDS));
    let day = day(claim, told, ends)?;
    Some(if is_over { today > day } else { today <= day })
}

/// How far a day is from today: `within a month`, `older than two days`.
fn distance(claim: &Claim, told: &Told) -> Option<bool> {
    let Some(Bound::One(way, quantity)) = claim.bound else { return None };
    quantity.unit.filter(|unit| unit.dimension == "time")?;
    let day = day(claim, told, |_| true)?;
    #[expect(clippy::cast_precision_loss, reason = "days are few")]
    let apart = (day.0 - told.today?.0) as f64 * 86_400.0;
    let bound = quantity.base();
    let past = claim.has(&["older", "old", "ago", "since", "younger"]);
    match (way, past) {
        (Way::AtMost, false) => Some((0.0..=bound).contains(&apart)),
        (_, true) if apart <= 0.0 => Some(way.holds(-apart, bound)),
        (Way::Above | Way::AtLeast | Way::Below, false) if apart >= 0.0 => {
            Some(way.holds(apart, bound))
        }
        _ => None,
    }
}
