//! What numbers say of a claim: against its own bound, against each other, against a range.

use super::claim::{Claim, Said};
use super::number::{Bound, Quantity, Unit, Way, way};
use super::told::{Fact, Held, Told};
use super::words::MONEY_NAMES;

/// What a number or a count decides when the claim compares one: the one whose name the claim says,
/// or which alone is measured in what it says.
pub(super) fn number(claim: &Claim, told: &Told) -> Option<bool> {
    let bound = claim.bound?;
    // `within a week` says when, not how much.
    if claim.has(&["within"]) && bound.unit().is_some_and(|unit| unit.dimension == "time") {
        return None;
    }
    let mut found: Vec<(usize, bool)> = Vec::new();
    for fact in told.facts.iter().filter(|fact| !fact.is_intent) {
        let score = fit(claim, fact, bound, told);
        let values: Vec<Quantity> = match &fact.held {
            Held::Number(quantity) => vec![*quantity],
            Held::List(count) => {
                #[expect(clippy::cast_precision_loss, reason = "entries are few")]
                let number = *count as f64;
                vec![Quantity { number, unit: None }]
            }
            _ => fact.quantities.clone(),
        };
        let [value] = values.as_slice() else { continue };
        let value = counted(*value, fact, bound);
        if let Some(holds) = bound.holds(value).filter(|_| score > 0) {
            found.push((score, holds));
        }
    }
    let most = found.iter().map(|(score, _)| *score).max()?;
    let mut best = found.iter().filter(|(score, _)| *score == most).map(|(_, holds)| *holds);
    let first = best.next()?;
    best.all(|holds| holds == first).then_some(first)
}

/// `previous_calls: 0` makes this the first.
fn counted(value: Quantity, fact: &Fact, bound: Bound) -> Quantity {
    let is_before = fact.name.iter().any(|word| word.is(&["previous", "prior", "past", "earlier"]));
    let adds = matches!(bound, Bound::Ordinal(_)) && is_before;
    Quantity { number: value.number + f64::from(u8::from(adds)), ..value }
}

/// How well a number fits what the claim compares; nothing when it does not.
fn fit(claim: &Claim, fact: &Fact, bound: Bound, told: &Told) -> usize {
    let is_money_name = |fact: &Fact| fact.name.iter().any(|word| word.is(MONEY_NAMES));
    let is_number = matches!(fact.held, Held::Number(_) | Held::List(_));
    let own_unit = match &fact.held {
        Held::Number(quantity) => quantity.unit,
        Held::List(_) => None,
        _ => fact.quantities.first().and_then(|quantity| quantity.unit),
    };
    let is_named = |said: &&Said| fact.core().any(|name| said.word.is_same(name));
    // What stands behind the number is what is counted.
    let weight = |said: &Said| match () {
        () if said.is_counted => 3,
        () if said.word.is_generic => 1,
        () => 2,
    };
    let named: usize =
        if is_number { claim.said.iter().filter(is_named).map(weight).sum() } else { 0 };
    let around =
        claim.said.iter().filter(|said| fact.around.iter().any(|name| said.word.is_same(name)));
    let around = around.count();
    match (bound.unit(), own_unit) {
        (Some(asked), Some(own)) => {
            let fits = asked.dimension == own.dimension;
            if fits { 3 + named + around } else { 0 }
        }
        (Some(asked), None) if asked.is_money() => {
            let currency = currency(told);
            let fits = is_number
                && is_money_name(fact)
                && currency.is_none_or(|currency| currency.dimension == asked.dimension);
            if fits { 2 + named } else { 0 }
        }
        (Some(asked), None) if asked.dimension == "share" => named,
        (Some(_), None) => 0,
        (None, Some(own)) if own.dimension == "time" && named == 0 => 0,
        (None, _) => named + usize::from(named > 0) * around,
    }
}

/// The currency that a situation names.
fn currency(told: &Told) -> Option<Unit> {
    let named = told
        .facts
        .iter()
        .find(|fact| fact.name.iter().any(|word| word.is(&["currency", "währung"])))?;
    let word = named.words.first()?;
    Unit::of(&word.word.spelling).filter(|unit| unit.is_money())
}

/// What somebody's age says of `minor`, `adult` and the like.
pub(super) fn age(claim: &Claim, told: &Told) -> Option<bool> {
    let is_age = |fact: &&Fact| fact.name.last().is_some_and(|word| word.is(&["age", "alter"]));
    let ages: Vec<f64> = told
        .facts
        .iter()
        .filter(is_age)
        .filter_map(|fact| match fact.held {
            Held::Number(quantity) => Some(quantity.number),
            _ => None,
        })
        .collect();
    let [age] = ages.as_slice() else { return None };
    let others =
        claim.content().filter(|said| !said.is_subject && !said.word.is(&["age", "legal"]));
    if others.count() > 1 {
        return None;
    }
    let says =
        |words: &[&str]| claim.said.iter().any(|said| !said.is_subject && said.word.is(words));
    let is_adult = says(&["adult", "grown", "volljährig"])
        || claim.says("of age")
        || claim.says("of legal age");
    // What is younger than the first is no, what is at least the second is yes.
    let (no_below, yes_from) = match () {
        () if says(&["underage", "minderjährig"]) || is_minor(claim) => {
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

/// `a minor`, not `a minor problem`.
fn is_minor(claim: &Claim) -> bool {
    claim.tokens.last().is_some_and(|token| token.is(&["minor", "minors"]))
}

/// What a limit or a range of the situation says: `exceeds the limit`, `within the range`.
pub(super) fn limit(claim: &Claim, told: &Told) -> Option<bool> {
    if claim.bound.is_some() {
        return None;
    }
    ranged(claim, told).or_else(|| compared(claim, told)).or_else(|| signed(claim, told))
}

/// Whether a number that the claim names is below or above zero.
fn signed(claim: &Claim, told: &Told) -> Option<bool> {
    let is_below = claim.has(&["negative", "negativ"]);
    if !is_below && !claim.has(&["positive", "positiv"]) {
        return None;
    }
    let words = claim.said.iter().map(|said| &*said.word);
    let fact = told.facts.iter().find(|fact| fact.is_named_by(words.clone()))?;
    let Held::Number(quantity) = fact.held else { return None };
    Some(if is_below { quantity.number < 0.0 } else { quantity.number > 0.0 })
}

/// A number or a time against a range.
fn ranged(claim: &Claim, told: &Told) -> Option<bool> {
    let too = |words: &[&str]| {
        claim.tokens.windows(2).any(|two| two[0].word == "too" && two[1].is(words))
    };
    let is_high = too(&["high", "hot", "warm", "large", "heavy", "fast", "long", "big"]);
    let is_low = too(&["low", "cold", "small", "slow", "short", "light", "cool"]);
    let speaks =
        claim.has(&["range", "window", "limits", "bounds", "allowed", "permitted", "permissible"]);
    let inside = speaks && claim.has(&["within", "inside", "in"]) && !claim.has(&["outside"]);
    let outside = speaks && claim.has(&["outside", "beyond"]);
    if !(is_high || is_low || inside || outside) {
        return None;
    }
    let mut ranges =
        told.facts.iter().filter(|fact| fact.held != Held::Free && fact.range.is_some());
    let range = ranges.next()?;
    let (low, high) = range.range.filter(|_| ranges.next().is_none())?;
    let said =
        |fact: &Fact| fact.core().any(|name| claim.said.iter().any(|said| said.word.is_same(name)));
    let of = |fact: &&Fact| !std::ptr::eq(*fact, range) && said(fact);
    let number = |fact: &Fact| match &fact.held {
        Held::Number(quantity) => Some(quantity.number),
        _ => fact.minute.map(f64::from),
    };
    let is_heat = |fact: &&Fact| match &fact.held {
        Held::Number(quantity) => quantity.unit.is_some_and(|unit| unit.dimension == "temperature"),
        _ => false,
    };
    let hot = too(&["hot", "warm", "cold", "cool"]);
    let value = told
        .facts
        .iter()
        .filter(of)
        .find_map(number)
        .or_else(|| told.facts.iter().filter(|_| hot).filter(is_heat).find_map(number))?;
    Some(match () {
        () if is_high => value > high,
        () if is_low => value < low,
        () if inside => (low..=high).contains(&value),
        () => !(low..=high).contains(&value),
    })
}

/// Two numbers of the situation against each other: `the invoice is higher than the order`.
fn compared(claim: &Claim, told: &Told) -> Option<bool> {
    let (at, (way, length)) =
        (0..claim.tokens.len()).find_map(|at| Some((at, way(&claim.tokens[at..])?)))?;
    if way == Way::Equal {
        return None;
    }
    let after = &claim.tokens[at + length..];
    let before = &claim.tokens[..at];
    let numbers: Vec<(&Fact, Quantity)> = told
        .facts
        .iter()
        .filter_map(|fact| match fact.held {
            Held::Number(quantity) => Some((fact, quantity)),
            _ => None,
        })
        .collect();
    let named = |tokens: &[super::token::Token], fact: &Fact| {
        fact.core()
            .filter(|name| {
                claim.said.iter().any(|said| {
                    said.word.is_same(name)
                        && tokens.iter().any(|token| token.word == said.word.spelling)
                })
            })
            .count()
    };
    let best = |tokens: &[super::token::Token], not: Option<&Fact>| {
        let mut scored: Vec<(usize, usize)> = numbers
            .iter()
            .enumerate()
            .filter(|(_, (fact, _))| not.is_none_or(|not| !std::ptr::eq(*fact, not)))
            .map(|(at, (fact, _))| (named(tokens, fact), at))
            .filter(|(score, _)| *score > 0)
            .collect();
        scored.sort_by_key(|(score, at)| (std::cmp::Reverse(*score), *at));
        match scored.as_slice() {
            [one] => Some(one.1),
            [one, two, ..] if one.0 > two.0 => Some(one.1),
            // `score` and `score_minimum`: the name that says more is the limit.
            [one, two] if numbers[one.1].0.name.len() != numbers[two.1].0.name.len() => {
                let is_longer = numbers[one.1].0.name.len() > numbers[two.1].0.name.len();
                Some(if is_longer { one.1 } else { two.1 })
            }
            _ => None,
        }
    };
    // `the limit is exceeded` names the limit first.
    let limit = best(after, None).or_else(|| best(before, None).filter(|_| after.is_empty()))?;
    let bound = numbers[limit];
    let shares =
        |fact: &Fact| fact.core().any(|name| bound.0.core().any(|other| name.is_same(other)));
    let unit = |quantity: &Quantity| quantity.unit.map(|unit| unit.dimension);
    let others: Vec<(&Fact, Quantity)> = numbers
        .iter()
        .filter(|(fact, quantity)| {
            !std::ptr::eq(*fact, bound.0) && unit(quantity) == unit(&bound.1)
        })
        .copied()
        .collect();
    let sharing: Vec<(&Fact, Quantity)> =
        others.iter().filter(|(fact, _)| shares(fact)).copied().collect();
    let own = match (sharing.as_slice(), others.as_slice()) {
        ([one], _) | ([], [one]) => *one,
        _ => numbers[best(before, Some(bound.0)).filter(|_| !after.is_empty())?],
    };
    let is_same = own.1.unit.map(|unit| unit.dimension) == bound.1.unit.map(|unit| unit.dimension);
    is_same.then(|| way.holds(own.1.base(), bound.1.base()))
}
