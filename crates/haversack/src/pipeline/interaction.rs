//! Late interaction: how well each word of the query is met in a candidate's best window, and in
//! each of its blocks.

use haversack_core::candidate::Candidate;
use haversack_core::embed::{MaxSim, Met, pieces};
use haversack_core::rank::{Component, idf};
use haversack_core::text::terms::TermsOfMany;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Frequencies;

use super::texts::{TextReader, TextReading};
use crate::collect::Question;

/// How much less other words for the same say of a text than the query's own.
const OTHER_WORDS: f64 = 0.2;

/// What a word counts for that every text has.
const LEAST_WEIGHT: f64 = 1.0;

/// A query that is held against texts; it knows nothing when it has no word that counts.
pub(super) struct Interaction<'r> {
    reader: TextReader<'r>,
    query: Option<MaxSim>,
}

impl<'r> Interaction<'r> {
    /// Without a query: texts are read, and nothing is measured.
    pub(super) fn idle(reader: TextReader<'r>) -> Interaction<'r> {
        Interaction { reader, query: None }
    }

    /// Weighs the query's words by how rare they are among what the viewer may read.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) async fn new(
        question: &Question,
        reader: TextReader<'r>,
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
        let frequencies = question.snapshot.frequencies(&question.request.query).await?;
        let mut terms = TermsOfMany::new(question.analysis.language);
        let weights: Vec<f64> =
            words.iter().map(|word| weight(word, &mut terms, &frequencies)).collect();
        let words = words.iter().map(|word| word.as_str()).zip(weights);
        Ok(Interaction { reader, query: MaxSim::new(words) })
    }

    /// Measures candidates; says how much the best of them has to do with the query, if there is a
    /// query and a candidate.
    pub(super) fn measure(&mut self, candidates: &mut [Candidate]) -> Option<Score> {
        let query = self.query.as_mut()?;
        let mut best = None;
        for candidate in candidates {
            let reading = self.reader.read(&candidate.text);
            let title = query.title(&pieces(&name(candidate)));
            let (score, coverage) = query.score_and_coverage(&title, &reading.pieces);
            candidate.signals.set(Component::MaxSim, score);
            // Other words for the same count, too, where there are enough of them.
            let other_words = Score::unit(score.get() - OTHER_WORDS);
            best = best.max(Some(coverage.max(other_words)));
        }
        best
    }

    /// What was read of a text.
    pub(super) fn read(&self, text: &str) -> std::sync::Arc<TextReading> {
        self.reader.read(text)
    }

    /// What a candidate's title meets of the query.
    pub(super) fn title(&mut self, candidate: &Candidate) -> Option<Met> {
        self.query.as_mut().map(|query| query.title(&pieces(&name(candidate))))
    }

    /// How well a block of a text meets the query; nothing is known without a query.
    pub(super) fn block(
        &mut self,
        title: Option<&Met>,
        reading: &TextReading,
        block: usize,
    ) -> Option<Score> {
        Some(self.query.as_mut()?.score(title?, reading.pieces_of(block)))
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

fn weight(word: &str, terms: &mut TermsOfMany, frequencies: &Frequencies) -> f64 {
    let mut weight: f64 = 0.0;
    terms.each(word, |term| {
        let with = frequencies.with.get(term).copied().unwrap_or(0);
        // In a small workspace every text may have a word, and yet it says what is asked about.
        weight = weight.max(LEAST_WEIGHT + idf(frequencies.texts.max(1), with));
    });
    weight
}
