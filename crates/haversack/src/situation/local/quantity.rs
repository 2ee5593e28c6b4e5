//! Numbers with units in conditions and situations, and the comparisons between them.

use super::sentence_token::SentenceToken;
use super::word_lists::{COMPARISONS, CURRENCIES, UNITS};

/// How a value is compared with a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparator {
    Above,
    AtLeast,
    Below,
    AtMost,
    Equal,
}

impl Comparator {
    pub(super) fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Comparator::Above => value > bound,
            Comparator::AtLeast => value >= bound,
            Comparator::Below => value < bound,
            Comparator::AtMost => value <= bound,
            Comparator::Equal => (value - bound).abs() < 1e-9,
        }
    }
}

/// A unit of measurement.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Unit {
    pub(super) dimension: &'static str,
    /// How many base units of the dimension it is.
    factor: f64,
}

impl Unit {
    /// The unit with this name or symbol.
    pub(super) fn from_name(word: &str) -> Option<Unit> {
        let has = |names: &str| names.split(' ').any(|name| name == word);
        let (dimension, _, factor) = UNITS.iter().find(|(_, names, _)| has(names))?;
        Some(Unit { dimension, factor: *factor })
    }

    pub(super) fn is_money(self) -> bool {
        CURRENCIES.contains(&self.dimension)
    }
}

/// A number with its unit, if one is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub(super) number: f64,
    pub(super) unit: Option<Unit>,
}

impl Quantity {
    /// The number in the base unit of its dimension.
    pub(super) fn in_base_unit(self) -> f64 {
        self.number * self.unit.map_or(1.0, |unit| unit.factor)
    }
}

/// A bound that a condition sets for a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Bound {
    Compared(Comparator, Quantity),
    /// Between two numbers, both included.
    Between(Quantity, Quantity),
    /// An ordinal: the first, the second, and so on.
    Ordinal(f64),
}

impl Bound {
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Bound::Compared(_, quantity) | Bound::Between(_, quantity) => quantity.unit,
            Bound::Ordinal(_) => None,
        }
    }

    /// Whether a number satisfies the bound; `None` when their units have different dimensions.
    pub(super) fn holds(self, value: Quantity) -> Option<bool> {
        let pair = |bound: Quantity| match (value.unit, bound.unit) {
            (Some(one), Some(other)) if one.dimension == other.dimension => {
                Some((value.in_base_unit(), bound.in_base_unit()))
            }
            (Some(unit), Some(_)) if unit.dimension != "share" => None,
            // A share without a unit is a fraction of one: 0.5 is 50 percent.
            (None, Some(unit)) if unit.dimension == "share" && value.number.abs() <= 1.0 => {
                Some((value.number * 100.0, bound.number))
            }
            _ => Some((value.number, bound.number)),
        };
        match self {
            Bound::Compared(comparator, bound) => {
                pair(bound).map(|(value, bound)| comparator.holds(value, bound))
            }
            Bound::Between(low, high) => {
                let (above, below) = (pair(low)?, pair(high)?);
                Some(above.0 >= above.1 && below.0 <= below.1)
            }
            Bound::Ordinal(number) => Some((value.number - number).abs() < 1e-9),
        }
    }
}

/// Finds the first bound in a sentence, and the positions of its tokens.
pub(super) fn find_bound(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    find_between(tokens)
        .or_else(|| find_comparison(tokens))
        .or_else(|| find_trailing_comparison(tokens))
        .or_else(|| find_ordinal(tokens))
        .or_else(|| find_bare_number(tokens))
}

/// Finds `between 2 and 8` or `from 2 to 8`.
fn find_between(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let opens = tokens[at].is_any_of(&["between", "from", "zwischen"]);
        let (low, used) = parse_quantity(&tokens[at + 1..]).filter(|_| opens)?;
        let middle = at + 1 + used;
        let joins =
            tokens.get(middle).is_some_and(|token| token.is_any_of(&["and", "to", "und", "bis"]));
        let (high, more) = parse_quantity(tokens.get(middle + 1..)?).filter(|_| joins)?;
        let low = Quantity { unit: low.unit.or(high.unit), ..low };
        Some((Bound::Between(low, high), (at..middle + 1 + more).collect()))
    })
}

/// Parses the words of a comparison at the start of some tokens, such as `more than`, and counts
/// them.
pub(super) fn parse_comparator(tokens: &[SentenceToken]) -> Option<(Comparator, usize)> {
    COMPARISONS.iter().find_map(|(words, comparator)| {
        let count = words.split(' ').count();
        let first = tokens.get(..count)?;
        words
            .split(' ')
            .zip(first)
            .all(|(word, token)| token.word == word)
            .then_some((*comparator, count))
    })
}

/// Finds `more than 10 files` or `at most 3 hours`.
fn find_comparison(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let (comparator, length) = parse_comparator(&tokens[at..])?;
        let (quantity, used) = parse_quantity(&tokens[at + length..])?;
        Some((Bound::Compared(comparator, quantity), (at..at + length + used).collect()))
    })
}

/// Finds `two or more` or `5 or fewer`.
fn find_trailing_comparison(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        let (quantity, used) = parse_quantity(&tokens[at..])?;
        let after = tokens.get(at + used..at + used + 2)?;
        let comparator = match after[1].word.as_str() {
            "more" | "mehr" | "greater" | "higher" | "above" | "older" => Comparator::AtLeast,
            "fewer" | "less" | "weniger" | "lower" | "below" | "younger" => Comparator::AtMost,
            _ => return None,
        };
        let joins = after[0].is_any_of(&["or", "oder"]);
        joins.then(|| (Bound::Compared(comparator, quantity), (at..at + used + 2).collect()))
    })
}

/// Finds the ordinal in `the first attempt`.
fn find_ordinal(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    const ORDINALS: &[&str] = &["first", "second", "third", "fourth", "fifth"];
    tokens.iter().enumerate().find_map(|(at, token)| {
        let number = ORDINALS.iter().zip([1.0, 2.0, 3.0, 4.0, 5.0]);
        let number = number.into_iter().find(|(word, _)| **word == token.word)?.1;
        let after_article = at > 0 && tokens[at - 1].is_any_of(&["the", "a", "this"]);
        after_article.then(|| (Bound::Ordinal(number), vec![at]))
    })
}

/// Finds a number without a comparison, which is compared for equality: `there is one seat`,
/// `a score of 7`.
fn find_bare_number(tokens: &[SentenceToken]) -> Option<(Bound, Vec<usize>)> {
    (0..tokens.len()).find_map(|at| {
        if tokens[at].is_any_of(&["a", "an", "the"]) {
            return None;
        }
        let (found, used) = match tokens[at].word.as_str() {
            "single" => (Quantity { number: 1.0, unit: None }, 1),
            _ => parse_quantity(&tokens[at..]).filter(|_| tokens[at].number.is_some())?,
        };
        // `one of them`, `one by one`, `Q4`, a year: not counts of things.
        let is_vague =
            tokens[at].word == "one" && at > 0 && tokens[at - 1].is_any_of(&["no", "any", "the"]);
        let is_year = tokens[at].is_digits() && (1_900.0..2_100.0).contains(&found.number);
        let is_count = !is_vague && !is_year;
        is_count.then(|| (Bound::Compared(Comparator::Equal, found), (at..at + used).collect()))
    })
}

/// Parses the number at the start of some tokens, and counts its tokens.
pub(super) fn parse_quantity(tokens: &[SentenceToken]) -> Option<(Quantity, usize)> {
    let skip = usize::from(tokens.first()?.is_any_of(&[
        "a", "an", "the", "about", "some", "around", "ein", "eine", "einen", "einem",
    ]));
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
        let is_share = tokens.get(skip + 1).is_some_and(|token| token.is_any_of(&["of", "the"]));
        if let Some(number) = part.filter(|_| is_share) {
            return Some((Quantity { number, unit: Unit::from_name("percent") }, skip + 1));
        }
        if token.number.is_none() || token.is_any_of(&["hundred", "thousand", "million", "dozen"]) {
            let number = token.number;
            if number.is_none() {
                // `older than a week`
                let unit = Unit::from_name(&token.word).filter(|_| token.word.len() > 2)?;
                return Some((Quantity { number: 1.0, unit: Some(unit) }, skip + 1));
            }
        }
    }
    let mut number = token.number?;
    let mut used = skip + 1;
    if let Some(scale) =
        tokens.get(used).filter(|token| token.is_any_of(&["hundred", "thousand", "million"]))
    {
        number *= scale.number.unwrap_or(1.0);
        used += 1;
    }
    let unit = tokens
        .get(used)
        .and_then(|token| Unit::from_name(&token.word).filter(|_| token.word != "second"));
    Some((Quantity { number, unit }, used + usize::from(unit.is_some())))
}
