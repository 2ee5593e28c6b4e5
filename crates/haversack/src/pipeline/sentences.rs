//! What each sentence of a candidate says to the query, for layers that buy by sentences.

use haversack_core::candidate::Sentence;
use haversack_core::layer::Order;
use haversack_core::rank::{Ranked, idf};
use haversack_core::text::boundary::sentences;
use haversack_core::text::terms::TermsOfMany;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::Frequencies;

use crate::collect::Question;
use crate::recipe::LayerSpec;

/// What a sentence with all of the query's words adds to its text's own score.
const WEIGHT: f64 = 1.0;

/// What a word of the title counts in each sentence: the title stands for what they are about.
const TITLE: f64 = 0.5;

/// How soon more of the same word in a sentence stops counting.
const SATURATION: f64 = 0.5;

/// Shorter sentences are no sense of their own and go with the next.
const BYTES_LEAST: usize = 60;

/// Measures the sentences of what is bought by sentences.
///
/// # Errors
/// When the store cannot be read.
pub(super) async fn measure_sentences(
    question: &Question,
    specs: &[LayerSpec],
    layers: &mut [Vec<Ranked>],
) -> Result<(), ReadError> {
    let by_sentences = |spec: &LayerSpec| spec.order == Order::Sentences;
    if !specs.iter().any(by_sentences) || question.analysis.terms.is_empty() {
        return Ok(());
    }
    let frequencies = question.snapshot.frequencies(&question.request.query).await?;
    let mut reader = Reader::new(question, &frequencies);
    for (_, layer) in specs.iter().zip(layers).filter(|(spec, _)| by_sentences(spec)) {
        for ranked in layer {
            let candidate = &mut ranked.candidate;
            let title = candidate.place.title.as_deref().unwrap_or_default();
            candidate.sentences = reader.read(title, &candidate.text);
        }
    }
    Ok(())
}

/// Reads texts for the query's words.
struct Reader {
    terms: TermsOfMany,
    /// The query's words, each once, in order, with how much each tells of all of them together.
    query: Vec<(String, f64)>,
    /// How often each of them stands in the title, and in a sentence.
    title: Vec<f64>,
    counts: Vec<f64>,
}

impl Reader {
    fn new(question: &Question, frequencies: &Frequencies) -> Reader {
        let mut terms = question.analysis.terms.clone();
        terms.sort_unstable();
        terms.dedup();
        let weight = |term: &String| {
            let with = frequencies.with.get(term).copied().unwrap_or(0);
            idf(frequencies.texts.max(1), with)
        };
        let all: f64 = terms.iter().map(weight).sum();
        let part = |weight: f64| if all > 0.0 { weight / all } else { 0.0 };
        let query: Vec<(String, f64)> =
            terms.into_iter().map(|term| (term.clone(), part(weight(&term)))).collect();
        let (title, counts) = (vec![0.0; query.len()], vec![0.0; query.len()]);
        Reader { terms: TermsOfMany::new(question.analysis.language), query, title, counts }
    }

    fn read(&mut self, title: &str, text: &str) -> Vec<Sentence> {
        self.count(title);
        let title = self.counts.iter().map(|count| if *count > 0.0 { TITLE } else { 0.0 });
        self.title = title.collect();
        let mut read: Vec<Sentence> = Vec::new();
        let mut start = 0;
        for range in sentences(text) {
            if range.end - start < BYTES_LEAST && range.end < text.len() {
                continue;
            }
            read.push(Sentence { range: start..range.end, score: Score::ZERO });
            start = range.end;
        }
        if read.len() > 1
            && let Some(last) = read.pop_if(|last| last.range.len() < BYTES_LEAST)
            && let Some(before) = read.last_mut()
        {
            before.range.end = last.range.end;
        }
        for sentence in &mut read {
            sentence.score = self.score(&text[sentence.range.clone()]);
        }
        read
    }

    fn score(&mut self, sentence: &str) -> Score {
        self.count(sentence);
        let counts = self.counts.iter().zip(&self.title).map(|(count, title)| count + title);
        let told = self.query.iter().zip(counts);
        let told: f64 = told.map(|((_, weight), n)| weight * (n / (n + SATURATION))).sum();
        Score::new(WEIGHT * told).unwrap_or(Score::ZERO)
    }

    fn count(&mut self, text: &str) {
        self.counts.fill(0.0);
        let (query, counts) = (&self.query, &mut self.counts);
        self.terms.each(text, |term| {
            if let Ok(at) = query.binary_search_by(|(known, _)| known.as_str().cmp(term)) {
                counts[at] += 1.0;
            }
        });
    }
}
