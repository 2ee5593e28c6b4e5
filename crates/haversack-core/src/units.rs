//! The units of the pipeline: tokens, scores, shares, moments and spans, each a type of its own.
//!
//! No bare `usize` or `f64` crosses a module boundary. Constructors reject invalid values, so
//! nothing downstream has to check again.

use std::cmp::Ordering;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Range};

/// A number of tokens, as counted by one named tokenizer.
///
/// Addition saturates instead of wrapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tokens(u32);

impl Tokens {
    /// No tokens.
    pub const ZERO: Tokens = Tokens(0);
    /// More tokens than any text has; used as "no limit".
    pub const MAX: Tokens = Tokens(u32::MAX);

    /// Exactly `count` tokens.
    #[must_use]
    pub const fn new(count: u32) -> Tokens {
        Tokens(count)
    }

    /// The nearest representable number: counts above `u32::MAX` saturate.
    #[must_use]
    pub fn saturating_from(count: u64) -> Tokens {
        Tokens(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Subtracts `other`, stopping at zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_sub(other.0))
    }

    /// Subtracts `other`; `None` when the result would be negative.
    #[must_use]
    pub const fn checked_sub(self, other: Tokens) -> Option<Tokens> {
        match self.0.checked_sub(other.0) {
            Some(left) => Some(Tokens(left)),
            None => None,
        }
    }
}

impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Add for Tokens {
    type Output = Tokens;
    fn add(self, other: Tokens) -> Tokens {
        Tokens(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Tokens) {
        *self = *self + other;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Tokens>>(parts: I) -> Tokens {
        parts.fold(Tokens::ZERO, Add::add)
    }
}

/// A finite, totally ordered number; never NaN or infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score(f64);

impl Score {
    /// The score of a candidate without any signal.
    pub const ZERO: Score = Score(0.0);
    /// The score of a perfect match.
    pub const ONE: Score = Score(1.0);
    /// The neutral score, used for an unknown signal.
    pub const HALF: Score = Score(0.5);

    /// A score, or `None` when `value` is not finite.
    #[must_use]
    pub const fn new(value: f64) -> Option<Score> {
        // Adding zero turns -0.0 into 0.0, which `total_cmp` would otherwise rank lower.
        if value.is_finite() { Some(Score(value + 0.0)) } else { None }
    }

    /// A score clamped to 0 to 1; NaN becomes zero.
    ///
    /// For measurements such as similarities, which rounding may push slightly out of range.
    #[must_use]
    pub fn unit(value: f64) -> Score {
        if value.is_nan() { Score::ZERO } else { Score(value.clamp(0.0, 1.0) + 0.0) }
    }

    /// The bare number.
    #[must_use]
    pub const fn get(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Score) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Score) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.4}", self.0)
    }
}

/// A part of a whole, in millionths: exact to add up and to compare, unlike a float.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Share(u32);

impl Share {
    /// Nothing of the whole.
    pub const ZERO: Share = Share(0);
    /// The whole.
    pub const ALL: Share = Share(1_000_000);

    /// A share in percent; more than 100 is the whole.
    #[must_use]
    pub const fn percent(percent: u32) -> Share {
        if percent >= 100 { Share::ALL } else { Share(percent * 10_000) }
    }

    /// A share from a fraction, or `None` outside 0 to 1.
    #[must_use]
    pub fn fraction(value: f64) -> Option<Share> {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1 times a million fits"
        )]
        (0.0..=1.0).contains(&value).then(|| Share((value * 1_000_000.0).round() as u32))
    }

    /// The share in millionths.
    #[must_use]
    pub const fn millionths(self) -> u32 {
        self.0
    }

    /// This share of `whole`, rounded down.
    #[must_use]
    pub fn of(self, whole: Tokens) -> Tokens {
        Tokens::saturating_from(u64::from(whole.get()) * u64::from(self.0) / 1_000_000)
    }
}

/// A point in time: milliseconds since 1970-01-01T00:00:00Z. Core never reads the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// A moment from Unix milliseconds.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Timestamp {
        Timestamp(millis)
    }

    /// Unix milliseconds.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Hours from `self` to `now`; a moment in the future has age zero.
    ///
    /// Clocks jump and senders lie, so an age is never negative and no score exceeds its bound.
    #[must_use]
    pub fn age_hours(self, now: Timestamp) -> f64 {
        let millis = now.0.saturating_sub(self.0).max(0);
        #[expect(clippy::cast_precision_loss, reason = "an age needs no more than 52 bits")]
        let millis = millis as f64;
        millis / 3_600_000.0
    }
}

impl fmt::Display for Timestamp {
    /// RFC 3339 in UTC, to the second; a time outside the calendar is shown as milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0.div_euclid(1000)) {
            Ok(moment) => moment.fmt(f),
            Err(_) => write!(f, "{} ms", self.0),
        }
    }
}

/// A byte range that was checked against a text: it lies inside and splits no character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// The range as a span of `text`, or `None` when it does not slice it.
    #[must_use]
    pub fn within(text: &str, range: Range<usize>) -> Option<Span> {
        text.get(range.clone()).map(|_| Span { start: range.start, end: range.end })
    }

    /// A span read back from storage, unchecked: the caller guarantees that it belongs to its text,
    /// and [`Span::slice`] still checks. `None` when it ends before it starts.
    #[must_use]
    pub const fn recorded(start: usize, end: usize) -> Option<Span> {
        if start <= end { Some(Span { start, end }) } else { None }
    }

    /// The span of the whole text.
    #[must_use]
    pub fn whole(text: &str) -> Span {
        Span { start: 0, end: text.len() }
    }

    /// A part of this span, given relative to its start. The caller guarantees that it is valid.
    pub(crate) fn part(self, range: &Range<usize>) -> Span {
        debug_assert!(range.end <= self.len(), "a part lies inside");
        Span { start: self.start + range.start, end: self.start + range.end }
    }

    /// First byte.
    #[must_use]
    pub const fn start(self) -> usize {
        self.start
    }

    /// One past the last byte.
    #[must_use]
    pub const fn end(self) -> usize {
        self.end
    }

    /// Length in bytes.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the span holds nothing.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The span's slice of `text`, or `None` when the range does not fit that text.
    #[must_use]
    pub fn slice(self, text: &str) -> Option<&str> {
        text.get(self.start..self.end)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_finite_and_has_one_zero() {
        assert_eq!(Score::new(f64::NAN), None);
        assert_eq!(Score::new(f64::INFINITY), None);
        assert_eq!(Score::new(-0.0).map(|s| s.cmp(&Score::ZERO)), Some(Ordering::Equal));
        assert_eq!(Score::unit(f64::NAN), Score::ZERO);
        assert_eq!(Score::unit(1.5), Score::ONE);
    }

    #[test]
    fn shares_of_the_proposal_recipe_add_up_exactly() {
        // P3: 40 / 30 / 20 / 10 % of 29,000.
        let of = |percent| Share::percent(percent).of(Tokens::new(29_000)).get();
        assert_eq!([of(40), of(30), of(20), of(10)], [11_600, 8_700, 5_800, 2_900]);
        assert_eq!(Share::fraction(f64::NAN), None);
        assert_eq!(Share::fraction(1.1), None);
        assert_eq!(Share::fraction(0.4), Some(Share::percent(40)));
    }

    #[test]
    fn a_span_must_fit_its_text() {
        assert_eq!(Span::within("aé", 0..2), None);
        assert_eq!(Span::within("aé", 1..9), None);
        assert_eq!(Span::within("aé", 1..3).and_then(|s| s.slice("aé")), Some("é"));
    }

    #[test]
    fn a_future_timestamp_has_age_zero() {
        let now = Timestamp::from_millis(0);
        assert!(Timestamp::from_millis(3_600_000).age_hours(now).abs() < 1e-9);
        assert!((Timestamp::from_millis(-7_200_000).age_hours(now) - 2.0).abs() < 1e-9);
        assert_eq!(Timestamp::from_millis(1_000).to_string(), "1970-01-01T00:00:01Z");
    }
}
