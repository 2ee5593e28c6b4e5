//! Signals that need no model: shared words, weighted by rarity.

use std::collections::{BTreeMap, BTreeSet};

use crate::text::terms::{Language, terms};
use crate::units::{Score, Timestamp};

/// The share of keywords that occur in the text, by stem. No keywords: zero, never NaN (K4).
#[must_use]
pub fn keyword_match(keywords: &[String], text: &str, language: Language) -> Score {
    if keywords.is_empty() {
        return Score::ZERO;
    }
    let present: BTreeSet<String> = terms(text, language).into_iter().collect();
    let matched = keywords.iter().filter(|keyword| {
        let stems = terms(keyword, language);
        !stems.is_empty() && stems.iter().all(|stem| present.contains(stem))
    });
    ratio(matched.count(), keywords.len())
}

/// 1 − 0.1 for each step between two places in a tree (W6).
#[must_use]
pub fn structural(distance: u32) -> Score {
    Score::unit(1.0 - 0.1 * f64::from(distance))
}

/// Uses up to ten, each a tenth (K4).
#[must_use]
pub fn usage(uses: u64) -> Score {
    Score::unit(f64::from(u32::try_from(uses.min(10)).unwrap_or(10)) / 10.0)
}

/// The smoothed inverse document frequency of a term in `with` of `n_texts` texts: positive, and
/// finite for an unseen term.
#[must_use]
pub fn idf(n_texts: u64, with: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of texts are far below 2^52")]
    let (n, with) = (n_texts as f64, with.min(n_texts) as f64);
    libm::log(1.0 + (1.0 + n) / (1.0 + with))
}

/// Document frequencies over the texts visible to a viewer, for TF-IDF.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    n_texts: u64,
    texts_with: BTreeMap<String, u64>,
}

impl Corpus {
    /// Counts the terms of `texts`.
    pub fn from_texts<'t>(texts: impl IntoIterator<Item = &'t str>, language: Language) -> Corpus {
        let mut corpus = Corpus::default();
        for text in texts {
            corpus.n_texts += 1;
            let distinct: BTreeSet<String> = terms(text, language).into_iter().collect();
            for term in distinct {
                *corpus.texts_with.entry(term).or_default() += 1;
            }
        }
        corpus
    }

    /// Uses the statistics of a store: the number of texts, and of texts with each term.
    #[must_use]
    pub fn from_counts(n_texts: u64, texts_with: BTreeMap<String, u64>) -> Corpus {
        Corpus { n_texts, texts_with }
    }

    /// The smoothed inverse document frequency: positive, and finite for a term never seen.
    #[must_use]
    pub fn idf(&self, term: &str) -> f64 {
        idf(self.n_texts, self.texts_with.get(term).copied().unwrap_or(0))
    }

    /// Cosine of the TF-IDF vectors of two texts (K4).
    #[must_use]
    pub fn similarity(&self, a: &str, b: &str, language: Language) -> Score {
        self.cosine(&self.weigh(&terms(a, language)), &self.weigh(&terms(b, language)))
    }

    /// A text's terms with their TF-IDF weights, for comparing one query with many texts.
    #[must_use]
    pub fn weigh(&self, terms: &[String]) -> BTreeMap<String, f64> {
        let mut weights: BTreeMap<String, f64> = BTreeMap::new();
        for term in terms {
            *weights.entry(term.clone()).or_default() += 1.0;
        }
        for (term, weight) in &mut weights {
            *weight *= self.idf(term);
        }
        weights
    }

    /// Cosine of two weighed texts; zero when either is empty.
    #[must_use]
    pub fn cosine(&self, a: &BTreeMap<String, f64>, b: &BTreeMap<String, f64>) -> Score {
        let dot: f64 = a.iter().filter_map(|(term, x)| b.get(term).map(|y| x * y)).sum();
        let norm = |weights: &BTreeMap<String, f64>| weights.values().map(|x| x * x).sum::<f64>();
        let norms = norm(a).sqrt() * norm(b).sqrt();
        if norms > 0.0 { Score::unit(dot / norms) } else { Score::ZERO }
    }
}

pub(super) fn ratio(part: usize, whole: usize) -> Score {
    #[expect(clippy::cast_precision_loss, reason = "counts of words are far below 2^52")]
    let (part, whole) = (part as f64, whole as f64);
    Score::unit(part / whole)
}
/// Half-life in days after a time: events are reported soon after.
const HALF_LIFE_AFTER_DAYS: f64 = 3.0;

/// Half-life in days before a time, for plans.
const HALF_LIFE_BEFORE_DAYS: f64 = 1.0;

/// How near a timestamp is to a time range: 1 inside, decaying with each day outside.
#[must_use]
pub fn timing(moment: Timestamp, from: Timestamp, to: Timestamp) -> Score {
    #[expect(clippy::cast_precision_loss, reason = "times of this age are far below 2^52")]
    let days = |millis: i64| millis.max(0) as f64 / 86_400_000.0;
    let (at, from, to) = (moment.as_millis(), from.as_millis(), to.as_millis());
    let before = days(from.saturating_sub(at)) / HALF_LIFE_BEFORE_DAYS;
    let after = days(at.saturating_sub(to)) / HALF_LIFE_AFTER_DAYS;
    Score::unit(1.0 / (1.0 + before + after))
}
