//! Late interaction: how well each word of the query is met in a candidate's best window, and in
//! each of its blocks.

use std::cmp::Reverse;
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::embed::{MaxSim, Met, PieceId, TextFeatures, pieces};
use haversack_core::rank::{Component, Topic, idf};
use haversack_core::text::terms::TermsOfMany;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Frequencies;

use super::features::FeatureReader;
use crate::collect::Question;

/// What a word counts for that every text has.
const LEAST_WEIGHT: f64 = 1.0;

/// How many of the best finds say whether anything is relevant.
const NEAREST: usize = 8;

/// A query that is held against texts; it knows nothing when it has no word that counts.
pub(super) struct Interaction<'r> {
    reader: FeatureReader<'r>,
    query: Option<(MaxSim, Topic)>,
}

impl<'r> Interaction<'r> {
    /// Without a query: texts are read, and nothing is measured.
    pub(super) fn idle(reader: FeatureReader<'r>) -> Interaction<'r> {
        Interaction { reader, query: None }
    }

    /// Weighs the query's words by how rare they are among what the viewer may read.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn new(
        question: &Question,
        reader: FeatureReader<'r>,
    ) -> Result<Interaction<'r>, ReadError> {
        let times = &question.analysis.times;
        // When it was is a matter of dates, not of words.
        let is_of_time = |word: &String| {
            times.iter().any(|time| {
                time.text.to_lowercase().split(' ').any(|said| said.trim_matches(',') == word)
            })
        };
        let words = question.analysis.keywords.iter().filter(|word| !is_of_time(word));
        let words: Vec<&String> = words.collect();
        if words.is_empty() {
            return Ok(Interaction::idle(reader));
        }
        let query = &question.request.query;
        let frequencies = question.snapshot.frequencies(query).await?;
        let mut terms = TermsOfMany::new(question.analysis.language);
        let weights: Vec<WordWeight> =
            words.iter().map(|word| WordWeight::of(word, &mut terms, &frequencies)).collect();
        let absent = weights.iter().filter(|weight| weight.is_absent);
        let absent = absent.map(|weight| weight.weight).sum();
        let words = words.iter().zip(&weights).map(|(word, weight)| (word.as_str(), weight.weight));
        let topic = Topic::new(query, absent, frequencies.texts);
        Ok(Interaction { reader, query: MaxSim::new(words).map(|query| (query, topic)) })
    }

    /// Measures candidates; says how likely it is that they have to do with the query, if there is
    /// a query and a candidate.
    pub(super) fn measure(&mut self, candidates: &mut [Candidate]) -> Option<Score> {
        let (query, topic) = self.query.as_mut()?;
        let mut found = Vec::with_capacity(candidates.len());
        // Passages of one item often have the same name.
        let mut last: Option<(String, Met)> = None;
        for (at, candidate) in candidates.iter_mut().enumerate() {
            let features = self.reader.of(candidate);
            let name = name(candidate);
            let title = match last.take() {
                Some((known, title)) if known == name => title,
                _ => query.title(&pieces(&name)),
            };
            let (score, coverage) = query.score_and_coverage(&title, features.pieces());
            last = Some((name, title));
            candidate.signals.set(Component::MaxSim, score);
            found.push((Reverse(score), at, coverage));
        }
        found.sort_by_key(|(score, at, _)| (*score, &candidates[*at].id));
        found.truncate(NEAREST);
        let coverage = found.iter().map(|(_, _, coverage)| *coverage).max()?;
        let likeness = found.iter().map(|(_, at, _)| {
            let candidate = &candidates[*at];
            let features = self.reader.of(candidate);
            topic.likeness(pieces(&name(candidate)).iter().chain(features.pieces()))
        });
        Some(topic.relevance(likeness.max()?, coverage))
    }

    /// The features of a candidate's text.
    pub(super) fn features_of(&self, candidate: &Candidate) -> Arc<TextFeatures> {
        self.reader.of(candidate)
    }

    /// The features of a text.
    pub(super) fn features(&self, text: &str) -> Arc<TextFeatures> {
        self.reader.read(text)
    }

    /// What a candidate's title meets of the query.
    pub(super) fn title(&mut self, candidate: &Candidate) -> Option<Met> {
        self.query.as_mut().map(|(query, _)| query.title(&pieces(&name(candidate))))
    }

    /// How well a block meets the query under its title; nothing is known without a query.
    pub(super) fn score(&mut self, title: Option<&Met>, pieces: &[PieceId]) -> Option<Score> {
        Some(self.query.as_mut()?.0.score(title?, pieces))
    }
}

/// Whatever says what all of a candidate's text is about.
fn name(candidate: &Candidate) -> String {
    let place = &candidate.place;
    let mut name = place.title.clone().unwrap_or_default();
    for part in std::iter::once(&place.byline).chain(&place.breadcrumb) {
        name.push(' ');
        name.push_str(part);
    }
    name
}

/// What a word of the query counts for.
struct WordWeight {
    weight: f64,
    /// Whether no text that the viewer may read has the word.
    is_absent: bool,
}

impl WordWeight {
    fn of(word: &str, terms: &mut TermsOfMany, frequencies: &Frequencies) -> WordWeight {
        let mut found = WordWeight { weight: 0.0, is_absent: true };
        terms.each(word, |term| {
            let with = frequencies.with.get(term).copied().unwrap_or(0);
            // In a small workspace every text may have a word, and yet it says what is asked about.
            found.weight = found.weight.max(LEAST_WEIGHT + idf(frequencies.texts.max(1), with));
            found.is_absent &= with == 0;
        });
        found
    }
}
