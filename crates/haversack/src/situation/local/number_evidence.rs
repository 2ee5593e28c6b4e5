//! Judges a clause by the numbers of a situation: against a bound of the clause, against each other,
//! against a range.

use super::parsed_condition::{ClauseWord, ConditionClause};
use super::quantity::{Bound, Comparator, Quantity, Unit, parse_comparator};
use super::sentence_token::SentenceToken;
use super::situation_facts::{FactContent, SituationFact, SituationFacts};
use super::word_lists::MONEY_FACT_NAMES;

/// Judges a clause that sets a bound by the number or count that fits it best: one that the clause
/// names, or the only one in its unit.
pub(super) fn judge_by_number(
    clause: &ConditionClause,
    situation: &SituationFacts,
) -> Option<bool> {
    let bound = clause.bound?;
    // `within a week` is about time, not about an amount.
    if clause.has_any(&["within"]) && bound.unit().is_some_and(|unit| unit.dimension == "time") {
        return None;
    }
    let mut found: Vec<(usize, bool)> = Vec::new();
    for fact in situation.facts.iter().filter(|fact| !fact.is_intent) {
        let score = bound_match_score(clause, fact, bound, situation);
        let values: Vec<Quantity> = match &fact.content {
            FactContent::Number(quantity) => vec![*quantity],
            FactContent::List(count) => {
                #[expect(clippy::cast_precision_loss, reason = "entries are few")]
                let number = *count as f64;
                vec![Quantity { number, unit: None }]
            }
            _ => fact.quantities.clone(),
        };
        let [value] = values.as_slice() else { continue };
        let value = count_including_current(*value, fact, bound);
        if let Some(holds) = bound.holds(value).filter(|_| score > 0) {
            found.push((score, holds));
        }
    }
    let most = found.iter().map(|(score, _)| *score).max()?;
    let mut best = found.iter().filter(|(score, _)| *score == most).map(|(_, holds)| *holds);
    let first = best.next()?;
    best.all(|holds| holds == first).then_some(first)
}

/// Adds the current occurrence to a count of earlier ones: `previous_calls: 0` makes this the first.
fn count_including_current(value: Quantity, fact: &SituationFact, bound: Bound) -> Quantity {
    let is_before =
        fact.name.iter().any(|word| word.is_any_of(&["previous", "prior", "past", "earlier"]));
    let adds = matches!(bound, Bound::Ordinal(_)) && is_before;
    Quantity { number: value.number + f64::from(u8::from(adds)), ..value }
}

/// Scores how well a number fits the bound of the clause; 0 when it does not fit.
fn bound_match_score(
    clause: &ConditionClause,
    fact: &SituationFact,
    bound: Bound,
    situation: &SituationFacts,
) -> usize {
    let is_money_name =
        |fact: &SituationFact| fact.name.iter().any(|word| word.is_any_of(MONEY_FACT_NAMES));
    let is_number = matches!(fact.content, FactContent::Number(_) | FactContent::List(_));
    let own_unit = match &fact.content {
        FactContent::Number(quantity) => quantity.unit,
        FactContent::List(_) => None,
        _ => fact.quantities.first().and_then(|quantity| quantity.unit),
    };
    let is_named =
        |word: &&ClauseWord| fact.topic_words().any(|name| word.entry.means_same_as(name));
    // The word after the number names what is counted.
    let weight = |word: &ClauseWord| match () {
        () if word.is_counted => 3,
        () if word.entry.is_generic => 1,
        () => 2,
    };
    let named: usize =
        if is_number { clause.words.iter().filter(is_named).map(weight).sum() } else { 0 };
    let enclosing = clause
        .words
        .iter()
        .filter(|word| fact.enclosing.iter().any(|name| word.entry.means_same_as(name)));
    let enclosing = enclosing.count();
    match (bound.unit(), own_unit) {
        (Some(wanted), Some(own)) => {
            let fits = wanted.dimension == own.dimension;
            if fits { 3 + named + enclosing } else { 0 }
        }
        (Some(wanted), None) if wanted.is_money() => {
            let currency = situation_currency(situation);
            let fits = is_number
                && is_money_name(fact)
                && currency.is_none_or(|currency| currency.dimension == wanted.dimension);
            if fits { 2 + named } else { 0 }
        }
        (Some(wanted), None) if wanted.dimension == "share" => named,
        (Some(_), None) => 0,
        (None, Some(own)) if own.dimension == "time" && named == 0 => 0,
        (None, _) => named + usize::from(named > 0) * enclosing,
    }
}

/// The currency that a situation names.
fn situation_currency(situation: &SituationFacts) -> Option<Unit> {
    let named = situation
        .facts
        .iter()
        .find(|fact| fact.name.iter().any(|word| word.is_any_of(&["currency", "währung"])))?;
    let word = named.words.first()?;
    Unit::from_name(&word.entry.spelling).filter(|unit| unit.is_money())
}

/// Judges words such as `minor` and `adult` by the age that a situation states.
pub(super) fn judge_by_age(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let is_age = |fact: &&SituationFact| {
        fact.name.last().is_some_and(|word| word.is_any_of(&["age", "alter"]))
    };
    let ages: Vec<f64> = situation
        .facts
        .iter()
        .filter(is_age)
        .filter_map(|fact| match fact.content {
            FactContent::Number(quantity) => Some(quantity.number),
            _ => None,
        })
        .collect();
    let [age] = ages.as_slice() else { return None };
    let others = clause
        .content_words()
        .filter(|word| !word.is_subject && !word.entry.is_any_of(&["age", "legal"]));
    if others.count() > 1 {
        return None;
    }
    let says = |words: &[&str]| {
        clause.words.iter().any(|word| !word.is_subject && word.entry.is_any_of(words))
    };
    let is_adult = says(&["adult", "grown", "volljährig"])
        || clause.has_phrase("of age")
        || clause.has_phrase("of legal age");
    // Below the first age the answer is no, from the second on it is yes; between them it is open.
    let (no_below, yes_from) = match () {
        () if says(&["underage", "minderjährig"]) || ends_with_minor(clause) => {
            return Some(*age < 18.0);
        }
        () if says(&["child", "toddler", "kid", "kind"]) => {
            return (*age < 14.0 || *age >= 18.0).then_some(*age < 14.0);
        }
        () if says(&["teenager", "adolescent"]) => return Some((13.0..20.0).contains(age)),
        () if says(&["baby", "infant", "newborn"]) => return Some(*age < 2.0),
        () if is_adult => (18.0, 18.0),
        () if says(&["elderly", "pensioner"]) => (60.0, 70.0),
        () => return None,
    };
    (*age < no_below || *age >= yes_from).then_some(*age >= yes_from)
}

/// Whether the clause ends in `minor`: `a minor`, not `a minor problem`.
fn ends_with_minor(clause: &ConditionClause) -> bool {
    clause.tokens.last().is_some_and(|token| token.is_any_of(&["minor", "minors"]))
}

/// Judges a clause by a limit or range of the situation: `exceeds the limit`, `within the range`.
pub(super) fn judge_by_limit(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    if clause.bound.is_some() {
        return None;
    }
    judge_by_range(clause, situation)
        .or_else(|| judge_by_comparison(clause, situation))
        .or_else(|| judge_by_sign(clause, situation))
}

/// Judges whether a number that the clause names is negative or positive.
fn judge_by_sign(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let is_below = clause.has_any(&["negative", "negativ"]);
    if !is_below && !clause.has_any(&["positive", "positiv"]) {
        return None;
    }
    let words = clause.words.iter().map(|word| &*word.entry);
    let fact = situation.facts.iter().find(|fact| fact.is_named_by(words.clone()))?;
    let FactContent::Number(quantity) = fact.content else { return None };
    Some(if is_below { quantity.number < 0.0 } else { quantity.number > 0.0 })
}

/// Judges a number or a time of day against the only range of the situation.
fn judge_by_range(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let too = |words: &[&str]| {
        clause.tokens.windows(2).any(|two| two[0].word == "too" && two[1].is_any_of(words))
    };
    let is_high = too(&["high", "hot", "warm", "large", "heavy", "fast", "long", "big"]);
    let is_low = too(&["low", "cold", "small", "slow", "short", "light", "cool"]);
    let names_range = clause.has_any(&[
        "range",
        "window",
        "limits",
        "bounds",
        "allowed",
        "permitted",
        "permissible",
    ]);
    let inside =
        names_range && clause.has_any(&["within", "inside", "in"]) && !clause.has_any(&["outside"]);
    let outside = names_range && clause.has_any(&["outside", "beyond"]);
    if !(is_high || is_low || inside || outside) {
        return None;
    }
    let mut ranges = situation
        .facts
        .iter()
        .filter(|fact| fact.content != FactContent::FreeText && fact.range.is_some());
    let range = ranges.next()?;
    let (low, high) = range.range.filter(|_| ranges.next().is_none())?;
    let is_named = |fact: &SituationFact| {
        fact.topic_words()
            .any(|name| clause.words.iter().any(|word| word.entry.means_same_as(name)))
    };
    let is_compared = |fact: &&SituationFact| !std::ptr::eq(*fact, range) && is_named(fact);
    let number = |fact: &SituationFact| match &fact.content {
        FactContent::Number(quantity) => Some(quantity.number),
        _ => fact.minute_of_day.map(f64::from),
    };
    let is_temperature = |fact: &&SituationFact| match &fact.content {
        FactContent::Number(quantity) => {
            quantity.unit.is_some_and(|unit| unit.dimension == "temperature")
        }
        _ => false,
    };
    let speaks_of_heat = too(&["hot", "warm", "cold", "cool"]);
    let value = situation.facts.iter().filter(is_compared).find_map(number).or_else(|| {
        situation.facts.iter().filter(|_| speaks_of_heat).filter(is_temperature).find_map(number)
    })?;
    Some(match () {
        () if is_high => value > high,
        () if is_low => value < low,
        () if inside => (low..=high).contains(&value),
        () => !(low..=high).contains(&value),
    })
}

/// Judges two numbers of the situation against each other: `the invoice is higher than the order`.
fn judge_by_comparison(clause: &ConditionClause, situation: &SituationFacts) -> Option<bool> {
    let (at, (comparator, length)) = (0..clause.tokens.len())
        .find_map(|at| Some((at, parse_comparator(&clause.tokens[at..])?)))?;
    if comparator == Comparator::Equal {
        return None;
    }
    let after = &clause.tokens[at + length..];
    let before = &clause.tokens[..at];
    let numbers: Vec<(&SituationFact, Quantity)> = situation
        .facts
        .iter()
        .filter_map(|fact| match fact.content {
            FactContent::Number(quantity) => Some((fact, quantity)),
            _ => None,
        })
        .collect();
    let count_named = |tokens: &[SentenceToken], fact: &SituationFact| {
        fact.topic_words()
            .filter(|name| {
                clause.words.iter().any(|word| {
                    word.entry.means_same_as(name)
                        && tokens.iter().any(|token| token.word == word.entry.spelling)
                })
            })
            .count()
    };
    let best_named = |tokens: &[SentenceToken], not: Option<&SituationFact>| {
        let mut scored: Vec<(usize, usize)> = numbers
            .iter()
            .enumerate()
            .filter(|(_, (fact, _))| not.is_none_or(|not| !std::ptr::eq(*fact, not)))
            .map(|(at, (fact, _))| (count_named(tokens, fact), at))
            .filter(|(score, _)| *score > 0)
            .collect();
        scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        match scored.as_slice() {
            [one] => Some(one.1),
            [one, two, ..] if one.0 > two.0 => Some(one.1),
            // Of `score` and `score_minimum`, the longer name is the limit.
            [one, two] if numbers[one.1].0.name.len() != numbers[two.1].0.name.len() => {
                let is_longer = numbers[one.1].0.name.len() > numbers[two.1].0.name.len();
                Some(if is_longer { one.1 } else { two.1 })
            }
            _ => None,
        }
    };
    // `the limit is exceeded` names the limit first.
    let limit = best_named(after, None)
        .or_else(|| best_named(before, None).filter(|_| after.is_empty()))?;
    let bound = numbers[limit];
    let shares_topic = |fact: &SituationFact| {
        fact.topic_words().any(|name| bound.0.topic_words().any(|other| name.means_same_as(other)))
    };
    let unit = |quantity: &Quantity| quantity.unit.map(|unit| unit.dimension);
    let others: Vec<(&SituationFact, Quantity)> = numbers
        .iter()
        .filter(|(fact, quantity)| {
            !std::ptr::eq(*fact, bound.0) && unit(quantity) == unit(&bound.1)
        })
        .copied()
        .collect();
    let sharing: Vec<(&SituationFact, Quantity)> =
        others.iter().filter(|(fact, _)| shares_topic(fact)).copied().collect();
    let own = match (sharing.as_slice(), others.as_slice()) {
        ([one], _) | ([], [one]) => *one,
        _ => numbers[best_named(before, Some(bound.0)).filter(|_| !after.is_empty())?],
    };
    let is_same = own.1.unit.map(|unit| unit.dimension) == bound.1.unit.map(|unit| unit.dimension);
    is_same.then(|| comparator.holds(own.1.in_base_unit(), bound.1.in_base_unit()))
}
