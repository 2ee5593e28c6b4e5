//! What each sentence of a candidate says to the query, for layers that buy by sentences.

use haversack_core::candidate::Sentence;
use haversack_core::layer::Order;
use haversack_core::rank::{Ranked, idf};
use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Frequencies;

use super::readings::{Reader, Reading, Readings, Word, word};
use crate::collect::Question;
use crate::recipe::LayerSpec;

/// What a sentence with all of the query's words adds to its text's own score.
const WEIGHT: f64 = 1.0;

/// What a word of the title or the byline counts in each sentence: they say what it is about.
const TITLE: f64 = 0.5;

/// How soon more of the same word in a sentence stops counting.
const SATURATION: f64 = 0.5;

/// Measures the sentences of what is bought by sentences, and counts them.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn measure_sentences(
    readings: &Readings,
    tokenizer: &dyn Tokenizer,
    question: &Question,
    specs: &[LayerSpec],
    layers: &mut [Vec<Ranked>],
) -> Result<(), ReadError> {
    let by_sentences = |spec: &LayerSpec| spec.order == Order::Sentences;
    if !specs.iter().any(by_sentences) || question.analysis.terms.is_empty() {
        return Ok(());
    }
    let frequencies = question.snapshot.frequencies(&question.request.query).await?;
    let mut query = Query::new(question, &frequencies);
    let mut reader = Reader::new(readings, question.analysis.language, tokenizer);
    for (_, layer) in specs.iter().zip(layers).filter(|(spec, _)| by_sentences(spec)) {
        for ranked in layer {
            let candidate = &mut ranked.candidate;
            let title = candidate.place.title.as_deref().unwrap_or_default();
            query.set_title(&mut reader, [title, &candidate.place.byline]);
            let reading = reader.read(&candidate.text);
            candidate.sentences = query.scored(&reading);
            candidate.counted = reading.counted.clone();
        }
    }
    Ok(())
}

/// What is looked for in sentences.
struct Query {
    /// The query's words, each once, in order, with how much each tells of all of them together.
    words: Vec<(Word, f64)>,
    /// What each of them counts because the title has it, and how often a sentence has it.
    title: Vec<f64>,
    counts: Vec<f64>,
}

impl Query {
    fn new(question: &Question, frequencies: &Frequencies) -> Query {
        let mut terms = question.analysis.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        let weight = |term: &String| {
            let with = frequencies.with.get(term).copied().unwrap_or(0);
            idf(frequencies.texts.max(1), with)
        };
        let all: f64 = terms.iter().map(weight).sum();
        let part = |weight: f64| if all > 0.0 { weight / all } else { 0.0 };
        let mut words: Vec<(Word, f64)> =
            terms.iter().map(|term| (word(term), part(weight(term)))).collect();
        words.sort_unstable_by_key(|&(word, _)| word);
        let (title, counts) = (vec![0.0; words.len()], vec![0.0; words.len()]);
        Query { words, title, counts }
    }

    fn set_title(&mut self, reader: &mut Reader<'_>, names: [&str; 2]) {
        self.title.fill(0.0);
        for name in names {
            reader.words(name, |word| {
                if let Some(at) = place(&self.words, word) {
                    self.title[at] = TITLE;
                }
            });
        }
    }

    fn scored(&mut self, reading: &Reading) -> Vec<Sentence> {
        let sentences = reading.sentences.iter();
        sentences
            .map(|sentence| {
                let score = self.score(reading.words(sentence));
                Sentence { range: sentence.range.clone(), score }
            })
            .collect()
    }

    fn score(&mut self, words: &[Word]) -> Score {
        self.counts.copy_from_slice(&self.title);
        for &word in words {
            if let Some(at) = place(&self.words, word) {
                self.counts[at] += 1.0;
            }
        }
        let told = self.words.iter().zip(&self.counts);
        let told: f64 = told.map(|((_, weight), n)| weight * (n / (n + SATURATION))).sum();
        Score::new(WEIGHT * told).unwrap_or(Score::ZERO)
    }
}

fn place(words: &[(Word, f64)], word: Word) -> Option<usize> {
    words.binary_search_by_key(&word, |&(known, _)| known).ok()
}
