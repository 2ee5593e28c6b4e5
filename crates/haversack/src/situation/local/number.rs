//! Numbers that conditions name and situations hold, with what they are measured in.

use super::token::Token;
use super::words::{COMPARISONS, MONEY, UNITS};

/// Which way a comparison goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Way {
    pub(super) fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Way::Above => value > bound,
            Way::AtLeast => value >= bound,
            Way::Below => value < bound,
            Way::AtMost => value <= bound,
            Way::Equal => (value - bound).abs() < 1e-9,
        }
    }
}

/// What a number is measured in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) dimension: &'static str,
    factor: f64,
}

impl Unit {
    pub(super) fn of(word: &str) -> Option<Unit> {
        let has = |names: &str| names.split(' ').any(|name| name == word);
        let (dimension, _, factor) = UNITS.iter().find(|(_, names, _)| has(names))?;
        Some(Unit { dimension, factor: *factor })
    }

    pub(super) fn is_money(self) -> bool {
        MONEY.contains(&self.dimension)
    }
}

/// A number with what it is measured in, if that is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) number: f64,
    pub(super) unit: Option<Unit>,
}

impl Quantity {
    /// The number in the first unit of its dimension.
    pub(super) fn base(self) -> f64 {
        self.number * self.unit.map_or(1.0, |unit| unit.factor)
    }
}

/// What a condition compares a number with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    One(Way, Quantity),
    /// Both ends belong to it.
    Between(Quantity, Quantity),
    /// The first, the second, and so on.
    Ordinal(f64),
}

impl Bound {
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Bound::One(_, quantity) | Bound::Between(_, quantity) => quantity.unit,
            Bound::Ordinal(_) => None,
        }
    }

    /// Whether a number is within. `None` when the two are measured in different things.
    pub(super) fn holds(self, value: Quantity) -> Option<bool> {
        let pair = |bound: Quantity| match (value.unit, bound.unit) {
            (Some(one), Some(other)) if one.dimension == other.dimension => {
                Some((value.base(), bound.base()))
            }
            (Some(unit), Some(_)) if unit.dimension != "share" => None,
            // A share of one is a share of a hundred percent.
            (None, Some(unit)) if unit.dimension == "share" && value.number.abs() <= 1.0 => {
                Some((value.number * 100.0, bound.number))
            }
            _ => Some((value.number, bound.number)),
        };
        match self {
            Bound::One(way, bound) => pair(bound).map(|(value, bound)| way.holds(value, bound)),
            Bound::Between(low, high) => {
                let (above, below) = (pair(low)?, pair(high)?);
                Some(above.0 >= above.1 && below.0 <= below.1)
            }
            Bound::Ordinal(number) => Some((value.number - number).abs() < 1e-9),
        }
    }
}

/// The comparison with a number that some words hold, and which of the words it is made of.
pub(super) fn bound(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    between(tokens)
        .or_else(|| compared(tokens))
        .or_else(|| trailing(tokens))
        .or_else(|| ordinal(tokens))
        .or_else(|| bare(tokens))
}

/// `between 2 and 8`, `from 2 to 8`.
fn between(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let opens = tokens[at].is(&["between", "from", "zwischen"]);
        let (low, used) = quantity(&tokens[at + 1..]).filter(|_| opens)?;
        let middle = at + 1 + used;
        let joins = tokens.get(middle).is_some_and(|token| token.is(&["and", "to", "und", "bis"]));
        let (high, more) = quantity(tokens.get(middle + 1..)?).filter(|_| joins)?;
        let low = Quantity { unit: low.unit.or(high.unit), ..low };
        Some((Bound::Between(low, high), (at..middle + 1 + more).collect()))
    })
}

/// The words of a comparison at a place, and how many they are.
pub(super) fn way(tokens: &[Token]) -> Option<(Way, usize)> {
    COMPARISONS.iter().find_map(|(words, way)| {
        let count = words.split(' ').count();
        let said = tokens.get(..count)?;
        words.split(' ').zip(said).all(|(word, token)| token.word == word).then_some((*way, count))
    })
}

/// `more than 10 files`, `at most 3 hours`.
fn compared(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let (way, signs) = way(&tokens[at..])?;
        let (quantity, used) = quantity(&tokens[at + signs..])?;
        Some((Bound::One(way, quantity), (at..at + signs + used).collect()))
    })
}

/// `two or more`, `5 or fewer`.
fn trailing(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let (quantity, used) = quantity(&tokens[at..])?;
        let after = tokens.get(at + used..at + used + 2)?;
        let way = match after[1].word.as_str() {
            "more" | "mehr" | "greater" | "higher" | "above" | "older" => Way::AtLeast,
            "fewer" | "less" | "weniger" | "lower" | "below" | "younger" => Way::AtMost,
            _ => return None,
        };
        let joins = after[0].is(&["or", "oder"]);
        joins.then(|| (Bound::One(way, quantity), (at..at + used + 2).collect()))
    })
}

/// `the first attempt`.
fn ordinal(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    const ORDINALS: &[&str] = &["first", "second", "third", "fourth", "fifth"];
    tokens.iter().enumerate().find_map(|(at, token)| {
        let number = ORDINALS.iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]);
        let number = number.into_iter().find(|(word, _)| **word == token.word)?.1;
        let after_article = at > 0 && tokens[at - 1].is(&["the", "a", "this"]);
        after_article.then(|| (Bound::Ordinal(number), vec![at]))
    })
}

/// A number alone is compared for equality: `there is one seat`, `a score of 7`.
fn bare(tokens: &[Token]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        if tokens[at].is(&["a", "an", "the"]) {
            return None;
        }
        let (found, used) = match tokens[at].word.as_str() {
            "single" => (Quantity { number: 1.0, unit: None }, 1),
            _ => quantity(&tokens[at..]).filter(|_| tokens[at].number.is_some())?,
        };
        // `one of them`, `one by one`, `Q4`, a year: no count of things.
        let is_vague =
            tokens[at].word == "one" && at > 0 && tokens[at - 1].is(&["no", "any", "the"]);
        let is_year = tokens[at].is_digits() && (1_900.0..2_100.0).contains(&found.number);
        let is_count = !is_vague && !is_year;
        is_count.then(|| (Bound::One(Way::Equal, found), (at..at + used).collect()))
    })
}

/// The number at the beginning of some words, and how many words it takes.
pub(super) fn quantity(tokens: &[Token]) -> Option<(Quantity, usize)> {
    let skip = usize::from(
        tokens
            .first()?
            .is(&["a", "an", "the", "about", "some", "around", "ein", "eine", "einen", "einem"]),
    );
    let token = tokens.get(skip)?;
    if skip == 1 {
        let parts = [
            ("half", 50.0),
            ("third", 33.333),
            ("quarter", 25.0),
            ("fifth", 20.0),
            ("tenth", 10.0),
        ];
        let part = parts.iter().find(|(word, _)| token.word == *word).map(|(_, part)| *part);
        let is_share = tokens.get(skip + 1).is_some_and(|token| token.is(&["of", "the"]));
        if let Some(number) = part.filter(|_| is_share) {
            return Some((Quantity { number, unit: Unit::of("percent") }, skip + 1));
        }
        if token.number.is_none() || token.is(&["hundred", "thousand", "million", "dozen"]) {
            let number = token.number;
            if number.is_none() {
                // `older than a week`
                let unit = Unit::of(&token.word).filter(|_| token.word.len() > 2)?;
                return Some((Quantity { number: 1.0, unit: Some(unit) }, skip + 1));
            }
        }
    }
    let mut number = token.number?;
    let mut used = skip + 1;
    if let Some(scale) =
        tokens.get(used).filter(|token| token.is(&["hundred", "thousand", "million"]))
    {
        number *= scale.number.unwrap_or(1.0);
        used += 1;
    }
    let unit =
        tokens.get(used).and_then(|token| Unit::of(&token.word).filter(|_| token.word != "second"));
    Some((Quantity { number, unit }, used + usize::from(unit.is_some())))
}
