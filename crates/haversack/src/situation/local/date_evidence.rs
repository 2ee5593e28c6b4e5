//! Judges a clause by the dates and times of day of a situation.

use super::dates::{Day, parse_month, parse_weekday};
use super::parsed_condition::ConditionClause;
use super::quantity::{Bound, Comparator};
use super::sentence_token::SentenceToken;
use super::situation_facts::{SituationFact, SituationFacts};

/// Words that say that a deadline has passed.
#[rustfmt::skip]
const PAST_WORDS: &[&str] = &["expired", "lapsed", "overdue", "passed", "late", "delayed", "abgelaufen", "überfällig", "verstrichen"];
/// Words that say that a deadline has not passed.
const FUTURE_WORDS: &[&str] = &["valid", "gültig", "upcoming", "ahead", "force"];
/// Words in the names of facts that are deadlines or ends of validity.
#[rustfmt::skip]
const DEADLINE_FACT_NAMES: &[&str] = &[
    "deadline", "due", "end", "ends", "expires", "expiry", "expiration", "limit", "promised", "until", "valid",
    "frist", "fällig", "by",
];

/// Seasons of the northern hemisphere, with their months.
const SEASONS: [(&[&str], [usize; 3]); 4] = [
    (&["spring", "frühling"], [3, 4, 5]),
    (&["summer", "sommer"], [6, 7, 8]),
    (&["autumn", "herbst"], [9, 10, 11]),
    (&["winter"], [12, 1, 2]),
];

/// Whether the clause holds by the situation's dates and times; `None` when it mentions none or the
/// situation does not settle it.
pub(super) fn judge_by_date(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    judge_by_day(clause, situation)
        .or_else(|| judge_by_time_of_day(clause, situation))
        .or_else(|| judge_by_deadline(clause, situation))
        .or_else(|| judge_by_days_from_today(clause, situation))
}

/// The days that the clause is about: those of facts that it names, else all of them.
fn relevant_days(
    clause: &ConditionClause,
    situation: &SituationFacts,
    wanted: impl Fn(&SituationFact) -> bool,
) -> Vec<Day> {
    let dated = || situation.facts.iter().filter(|fact| fact.day.is_some() && wanted(fact));
    let is_named = |fact: &&SituationFact| {
        fact.topic_words()
            .any(|name| clause.words.iter().any(|word| word.entry.means_same_as(name)))
    };
    let named: Vec<Day> = dated().filter(is_named).filter_map(|fact| fact.day).collect();
    if named.is_empty() { dated().filter_map(|fact| fact.day).collect() } else { named }
}

/// The day that the clause is about, if there is exactly one.
fn only_relevant_day(
    clause: &ConditionClause,
    situation: &SituationFacts,
    wanted: impl Fn(&SituationFact) -> bool,
) -> Option<Day> {
    match relevant_days(clause, situation, wanted).as_slice() {
        [day] => Some(*day),
        _ => None,
    }
}

/// Judges weekdays, weekends, months, seasons and years.
fn judge_by_day(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let weekday = clause.tokens.iter().find_map(|token| parse_weekday(&token.word));
    // The verb `may` is not a month.
    let can_be_month = |token: &SentenceToken| token.word != "may" || token.is_proper_noun;
    let month = clause
        .tokens
        .iter()
        .filter(|token| can_be_month(token))
        .find_map(|token| parse_month(&token.word));
    let year =
        clause.tokens.iter().filter(|token| token.word.len() == 4).find_map(|token| token.number);
    let year = year.filter(|year| (1_900.0..2_100.0).contains(year));
    let weekend = clause.has_any(&["weekend", "wochenende"]);
    let working = clause.has_phrase("during the week") || clause.has_any(&["weekday", "werktag"]);
    let season = SEASONS.iter().find(|(names, _)| clause.has_any(names)).map(|(_, months)| *months);
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
        let (own_year, own_month) = day.year_and_month();
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
    let days = relevant_days(clause, situation, |_| true);
    let first = is_on(*days.first()?);
    days.iter().all(|day| is_on(*day) == first).then_some(first)
}

/// Judges times of day: morning, office hours, night.
fn judge_by_time_of_day(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let at_night = clause.has_any(&["night", "nachts", "overnight"]);
    let parts: &[(bool, u32, u32)] = &[
        (clause.has_any(&["afternoon", "nachmittag"]), 12 * 60, 18 * 60),
        (clause.has_any(&["morning", "vormittag"]), 5 * 60, 12 * 60),
        (clause.has_any(&["evening", "abend"]), 17 * 60, 22 * 60),
        (
            clause.has_phrase("office hours")
                || clause.has_phrase("business hours")
                || clause.has_phrase("working hours"),
            8 * 60,
            18 * 60,
        ),
    ];
    let part = parts.iter().find(|(is_mentioned, ..)| *is_mentioned);
    if part.is_none() && !at_night {
        return None;
    }
    let times: Vec<u32> = situation.facts.iter().filter_map(|fact| fact.minute_of_day).collect();
    let [minute] = times.as_slice() else { return None };
    if at_night {
        // People disagree on whether the hours between evening and night are night.
        let is_night = *minute >= 22 * 60 || *minute < 5 * 60;
        let is_day = (7 * 60..20 * 60).contains(minute);
        return (is_night || is_day).then_some(is_night);
    }
    part.map(|(_, from, to)| (*from..*to).contains(minute))
}

/// Judges whether a deadline has passed.
fn judge_by_deadline(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let is_over = clause.has_any(PAST_WORDS);
    let is_ahead = clause.has_any(FUTURE_WORDS)
        || clause.has_phrase("in force")
        || clause.has_phrase("in time");
    if is_over == is_ahead || clause.bound.is_some() {
        return None;
    }
    let today = situation.today?;
    let is_deadline =
        |fact: &SituationFact| fact.name.iter().any(|word| word.is_any_of(DEADLINE_FACT_NAMES));
    let day = only_relevant_day(clause, situation, is_deadline)?;
    Some(if is_over { today > day } else { today <= day })
}

/// Judges how far a day is from today: `within a month`, `older than two days`.
fn judge_by_days_from_today(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let Some(Bound::Compared(comparator, quantity)) = clause.bound else { return None };
    quantity.unit.filter(|unit| unit.dimension == "time")?;
    let day = only_relevant_day(clause, situation, |_| true)?;
    #[expect(clippy::cast_precision_loss, reason = "days are few")]
    let seconds_ahead = (day.0 - situation.today?.0) as f64 * 86_400.0;
    let bound = quantity.in_base_unit();
    let past = clause.has_any(&["older", "old", "ago", "since", "younger"]);
    match (comparator, past) {
        (Comparator::AtMost, false) => Some((0.0..=bound).contains(&seconds_ahead)),
        (_, true) if seconds_ahead <= 0.0 => Some(comparator.holds(-seconds_ahead, bound)),
        (Comparator::Above | Comparator::AtLeast | Comparator::Below, false)
            if seconds_ahead >= 0.0 =>
        {
            Some(comparator.holds(seconds_ahead, bound))
        }
        _ => None,
    }
}
