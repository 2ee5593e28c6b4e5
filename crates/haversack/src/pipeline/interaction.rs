//! Late interaction: matches each word of the query against a candidate's best window, and against
//! each of its blocks.

use std::cmp::Reverse;
use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::embed::{MaxSim, PieceId, PieceMatches, TextFeatures, pieces};
use haversack_core::rank::{Component, Topic, idf};
use haversack_core::text::terms::TermsOfMany;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Frequencies;

use super::features::FeatureReader;
use crate::collect::Question;
use crate::search::frequencies_if_known;

/// Weight of a word that every text contains.
const WEIGHT_LEAST: f64 = 1.0;

/// How many of the best candidates decide whether anything is relevant.
const RELEVANCE_SAMPLE: usize = 8;

/// A query to match against texts. Without a word that counts it measures nothing.
pub(super) struct Interaction<'r> {
    reader: FeatureReader<'r>,
    query: Option<(MaxSim, Topic)>,
}

impl<'r> Interaction<'r> {
    /// An interaction that computes features but measures nothing.
    pub(super) fn without_query(reader: FeatureReader<'r>) -> Interaction<'r> {
        Interaction { reader, query: None }
    }

    /// Weights the query's words by their rarity in what the viewer may read.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn new(
        question: &Question,
        reader: FeatureReader<'r>,
    ) -> Result<Interaction<'r>, ReadError> {
        let times = &question.analysis.times;
        // Words of a time expression are matched as dates, not as words.
        let is_of_time = |word: &String| {
            times.iter().any(|time| {
                time.text.to_lowercase().split(' ').any(|said| said.trim_matches(',') == word)
            })
        };
        let words = question.analysis.keywords.iter().filter(|word| !is_of_time(word));
        let words: Vec<&String> = words.collect();
        if words.is_empty() {
            return Ok(Interaction::without_query(reader));
        }
        let query = &question.request.query;
        let frequencies = frequencies_if_known(&*question.snapshot, query).await?;
        let mut terms = TermsOfMany::new(question.analysis.language);
        let weights: Vec<WordWeight> =
            words.iter().map(|word| WordWeight::new(word, &mut terms, &frequencies)).collect();
        let absent = weights.iter().filter(|weight| weight.is_absent);
        let absent = absent.map(|weight| weight.weight).sum();
        let words = words.iter().zip(&weights).map(|(word, weight)| (word.as_str(), weight.weight));
        let topic = Topic::new(query, absent, frequencies.texts);
        Ok(Interaction { reader, query: MaxSim::new(words).map(|query| (query, topic)) })
    }

    /// Sets the candidates' `MaxSim` signal. Returns how likely it is that they are relevant, if
    /// there is a query and a candidate.
    pub(super) fn measure(&mut self, candidates: &mut [Candidate]) -> Option<Score> {
        let (query, topic) = self.query.as_mut()?;
        let mut found = Vec::with_capacity(candidates.len());
        // Passages of one item often have the same describing text.
        let mut last: Option<(String, PieceMatches)> = None;
        for (at, candidate) in candidates.iter_mut().enumerate() {
            let features = self.reader.features_of(candidate);
            let name = describing_text(candidate);
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
        found.truncate(RELEVANCE_SAMPLE);
        let coverage = found.iter().map(|(_, _, coverage)| *coverage).max()?;
        let likeness = found.iter().map(|(_, at, _)| {
            let candidate = &candidates[*at];
            let features = self.reader.features_of(candidate);
            topic.likeness(pieces(&describing_text(candidate)).iter().chain(features.pieces()))
        });
        Some(topic.relevance(likeness.max()?, coverage))
    }

    /// Returns the features of a candidate's text.
    pub(super) fn features_of(&self, candidate: &Candidate) -> Arc<TextFeatures> {
        self.reader.features_of(candidate)
    }

    /// Returns the features of a text.
    pub(super) fn features_of_text(&self, text: &str) -> Arc<TextFeatures> {
        self.reader.features_of_text(text)
    }

    /// Matches a candidate's title against the query.
    pub(super) fn match_title(&mut self, candidate: &Candidate) -> Option<PieceMatches> {
        self.query.as_mut().map(|(query, _)| query.title(&pieces(&describing_text(candidate))))
    }

    /// Scores a block under its title; none without a query.
    pub(super) fn score_block(
        &mut self,
        title: Option<&PieceMatches>,
        pieces: &[PieceId],
    ) -> Option<Score> {
        Some(self.query.as_mut()?.0.score(title?, pieces))
    }
}

/// Joins title, byline and breadcrumb, which describe all of a candidate's text.
fn describing_text(candidate: &Candidate) -> String {
    let place = &candidate.place;
    let mut name = place.title.clone().unwrap_or_default();
    for part in std::iter::once(&place.byline).chain(&place.breadcrumb) {
        name.push(' ');
        name.push_str(part);
    }
    name
}

/// The weight of a word of the query.
struct WordWeight {
    weight: f64,
    /// Whether no text that the viewer may read contains the word.
    is_absent: bool,
}

impl WordWeight {
    fn new(word: &str, terms: &mut TermsOfMany, frequencies: &Frequencies) -> WordWeight {
        let mut found = WordWeight { weight: 0.0, is_absent: true };
        terms.each(word, |term| {
            let with = frequencies.by_term.get(term).copied().unwrap_or(0);
            // In a small workspace every text may contain a word that still matters to the query.
            found.weight = found.weight.max(WEIGHT_LEAST + idf(frequencies.texts.max(1), with));
            found.is_absent &= with == 0;
        });
        found
    }
}
