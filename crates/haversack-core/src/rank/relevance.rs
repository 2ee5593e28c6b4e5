//! Estimates whether retrieved texts are relevant to the query at all (X9). Some text is always the
//! nearest, so its similarity is compared with what an unrelated corpus would give.
//!
//! Four measures are combined, because each alone can mislead: a long question shares words with
//! any text, and the more texts there are, the nearer the nearest.

use crate::embed::{BuiltIn, PieceId, Vector, pieces};
use crate::units::Score;

/// What each measure counts: a logistic regression over 15 sets, each asked its own questions and
/// those of all others (`bench/ABLATIONS.md`).
const LIKENESS: f64 = 9.6;
const COVERAGE: f64 = 3.7;
const TEXTS: f64 = -0.75;
const ABSENT: f64 = -0.86;
const START: f64 = 0.78;

/// Smaller corpora count as this large: the smallest training sets had some hundreds of texts.
const TEXTS_LEAST: u64 = 100;

/// A query and its corpus, for estimating relevance.
#[derive(Debug)]
pub struct Topic {
    meaning: Vector,
    /// The total weight of query words that occur in no text.
    absent_weight: f64,
    n_texts: u64,
}

impl Topic {
    /// A query, what its words weigh that no text has, and how many texts there are.
    #[must_use]
    pub fn new(query: &str, absent_weight: f64, n_texts: u64) -> Topic {
        let meaning = BuiltIn::new().vector_of_pieces(pieces(query).into_iter());
        Topic { meaning, absent_weight, n_texts }
    }

    /// How alike the query and a text are as a whole, 0 to 1. By the table in the
    /// binary, because the workspace's own embedder may be on another scale.
    #[must_use]
    pub fn likeness<'p>(&self, pieces: impl Iterator<Item = &'p PieceId>) -> Score {
        let text = BuiltIn::new().vector_of_pieces(pieces.copied());
        Score::unit(f64::from(self.meaning.dot(&text)))
    }

    /// The estimated probability that texts are relevant, from the best similarity and the best
    /// coverage in the query's own words.
    #[must_use]
    pub fn relevance(&self, likeness: Score, coverage: Score) -> Score {
        #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^32 texts")]
        let n_texts = self.n_texts.max(TEXTS_LEAST) as f64;
        let sum = START
            + LIKENESS * likeness.get()
            + COVERAGE * coverage.get()
            + TEXTS * libm::log1p(n_texts)
            + ABSENT * libm::log1p(self.absent_weight);
        Score::unit(1.0 / (1.0 + libm::exp(-sum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_measure_counts_in_its_direction() {
        let relevance = |likeness: f64, coverage: f64, absent: f64, n_texts: u64| {
            let topic = Topic::new("the ferry", absent, n_texts);
            topic.relevance(Score::unit(likeness), Score::unit(coverage)).get()
        };
        let usual = relevance(0.3, 0.3, 5.0, 1_000);
        assert!(relevance(0.4, 0.3, 5.0, 1_000) > usual);
        assert!(relevance(0.3, 0.4, 5.0, 1_000) > usual);
        assert!(relevance(0.3, 0.3, 10.0, 1_000) < usual);
        assert!(relevance(0.3, 0.3, 5.0, 10_000) < usual);
        assert!(relevance(0.9, 1.0, 0.0, 10) > 0.99);
        assert!(relevance(0.1, 0.0, 30.0, 100_000) < 0.01);
    }

    #[test]
    fn a_text_about_the_same_is_more_alike() {
        let topic = Topic::new("When does the ferry leave?", 0.0, 10);
        let likeness = |text: &str| topic.likeness(pieces(text).iter());
        assert!(likeness("The boat departs at nine.") > likeness("Interest rates fell in May."));
        assert_eq!(likeness(""), Score::ZERO);
    }
}
