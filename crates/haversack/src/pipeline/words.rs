//! Text similarity and keyword match between query and candidates (K4). Each text is tokenised once
//! into term numbers.

use std::collections::HashMap;

use haversack_core::candidate::Candidate;
use haversack_core::query::Analysis;
use haversack_core::rank::{Component, Ranker, idf};
use haversack_core::text::terms::{Language, TermsOfMany, each_term, terms};
use haversack_core::units::Score;
use haversack_store::store::query::Frequencies;

/// The terms of the query and of all candidates, with their weights.
pub(super) struct TermStatistics {
    language: Language,
    /// Every term of a text or of the query, in order. A term's number is its place here, so that
    /// what is summed by number is summed in the order of terms.
    vocabulary: Vec<String>,
    /// The inverse document frequency of each term.
    idf: Vec<f64>,
    /// The terms of each candidate's text, sorted, with repeats.
    texts: Vec<Vec<u32>>,
    /// The query's terms with their weights, sorted.
    query: Vec<(u32, f64)>,
    query_length: f64,
    /// The terms of each keyword.
    keywords: Vec<Vec<u32>>,
}

impl TermStatistics {
    /// Uses the corpus's frequencies for the query's terms. Other words only affect a text's norm,
    /// so their frequencies are estimated from the candidates.
    pub(super) fn new(
        analysis: &Analysis,
        frequencies: &Frequencies,
        layers: &[Vec<Candidate>],
    ) -> TermStatistics {
        let language = analysis.language;
        let mut numbers = TermNumbers::default();
        let mut reader = TermsOfMany::new(language);
        let mut texts: Vec<Vec<u32>> = Vec::new();
        for candidate in layers.iter().flatten() {
            let mut own = Vec::with_capacity(candidate.text.len() / 8);
            reader.each(&candidate.text, |term| own.push(numbers.number_of(term)));
            texts.push(own);
        }
        let query: Vec<u32> = analysis.terms.iter().map(|term| numbers.number_of(term)).collect();
        let keywords: Vec<Vec<u32>> = analysis
            .keywords
            .iter()
            .map(|word| terms(word, language).iter().map(|term| numbers.number_of(term)).collect())
            .collect();
        let (vocabulary, place) = numbers.into_sorted();
        let placed = |numbers: Vec<u32>| -> Vec<u32> {
            let mut placed: Vec<u32> = numbers.iter().map(|n| place[*n as usize]).collect();
            placed.sort_unstable();
            placed
        };
        let texts: Vec<Vec<u32>> = texts.into_iter().map(placed).collect();
        let idf = idf_weights(&vocabulary, frequencies, &texts);
        let query: Vec<(u32, f64)> = counted_runs(&placed(query))
            .map(|(term, count)| (term, count * idf[term as usize]))
            .collect();
        let query_length = norm(query.iter().map(|(_, weight)| *weight));
        let keywords = keywords.into_iter().map(placed).collect();
        TermStatistics { language, vocabulary, idf, texts, query, query_length, keywords }
    }

    /// Sets a candidate's word signals. `number` counts candidates over all layers.
    pub(super) fn set_signals(&self, number: usize, candidate: &mut Candidate, ranker: &Ranker) {
        let Some(own) = self.texts.get(number) else { return };
        if ranker.uses(Component::TextSimilarity) {
            candidate.signals.set(Component::TextSimilarity, self.similarity(own));
        }
        if ranker.uses(Component::KeywordMatch) && !self.keywords.is_empty() {
            let score = self.keyword_share(own, candidate);
            candidate.signals.set(Component::KeywordMatch, score);
        }
    }

    /// Returns the cosine of query and text.
    fn similarity(&self, own: &[u32]) -> Score {
        let weight = |term: u32, count: f64| count * self.idf[term as usize];
        let norms =
            self.query_length * norm(counted_runs(own).map(|(term, count)| weight(term, count)));
        let dot: f64 = self
            .query
            .iter()
            .filter_map(|(term, in_query)| {
                let start = own.partition_point(|known| known < term);
                let (found, count) = counted_runs(&own[start..]).next()?;
                (found == *term).then(|| in_query * weight(found, count))
            })
            .sum();
        if norms > 0.0 { Score::unit(dot / norms) } else { Score::ZERO }
    }

    /// Returns the share of keywords that the text, its title, path or breadcrumb contains.
    fn keyword_share(&self, own: &[u32], candidate: &Candidate) -> Score {
        let place = &candidate.place;
        let mut names: Vec<u32> = Vec::new();
        for name in place.title.iter().chain(&place.path).chain(&place.breadcrumb) {
            each_term(name, self.language, |term| {
                let known = self.vocabulary.binary_search_by(|known| known.as_str().cmp(term));
                names.extend(known.ok().and_then(|at| u32::try_from(at).ok()));
            });
        }
        let holds = |word: &&Vec<u32>| {
            let has = |term: &u32| own.binary_search(term).is_ok() || names.contains(term);
            !word.is_empty() && word.iter().all(has)
        };
        let count = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        let found = count(self.keywords.iter().filter(holds).count());
        Score::unit(found / count(self.keywords.len()))
    }
}

/// Computes the inverse document frequency of each term.
fn idf_weights(vocabulary: &[String], frequencies: &Frequencies, texts: &[Vec<u32>]) -> Vec<f64> {
    let n_texts = frequencies.texts.max(1);
    let n_candidates = texts.len().max(1) as u64;
    let mut seen = vec![0_u64; vocabulary.len()];
    for text in texts {
        counted_runs(text).for_each(|(term, _)| seen[term as usize] += 1);
    }
    let weight = |(term, seen): (&String, u64)| {
        let with = match frequencies.by_term.get(term) {
            Some(with) => *with,
            None if seen == 0 => 0,
            None => (seen * n_texts / n_candidates).max(1),
        };
        idf(n_texts, with)
    };
    vocabulary.iter().zip(seen).map(weight).collect()
}

/// Counts equal numbers of a sorted list.
fn counted_runs(sorted: &[u32]) -> impl Iterator<Item = (u32, f64)> {
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| (run[0], f64::from(u32::try_from(run.len()).unwrap_or(u32::MAX))))
}

fn norm(weights: impl Iterator<Item = f64>) -> f64 {
    weights.map(|weight| weight * weight).sum::<f64>().sqrt()
}

/// Numbers terms in the order of their first occurrence.
#[derive(Default)]
struct TermNumbers {
    known: HashMap<String, u32>,
}

impl TermNumbers {
    fn number_of(&mut self, term: &str) -> u32 {
        if let Some(number) = self.known.get(term) {
            return *number;
        }
        let number = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        self.known.insert(term.to_owned(), number);
        number
    }

    /// Returns the terms sorted, and the sorted position of each number.
    fn into_sorted(self) -> (Vec<String>, Vec<u32>) {
        let mut known: Vec<(String, u32)> = self.known.into_iter().collect();
        known.sort_unstable();
        let mut place = vec![0; known.len()];
        for ((_, number), at) in known.iter().zip(0u32..) {
            place[*number as usize] = at;
        }
        (known.into_iter().map(|(term, _)| term).collect(), place)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use haversack_core::ids::{CandidateId, ItemId};
    use haversack_core::item::Kind;
    use haversack_core::query::analyse;
    use haversack_core::rank::Corpus;
    use haversack_core::units::Timestamp;

    use super::*;

    fn candidate(id: &str, text: &str) -> Candidate {
        let id = CandidateId::whole(ItemId::new(id).unwrap());
        Candidate::new(id, Kind::new("note").unwrap(), text)
    }

    #[test]
    fn similarity_uses_the_corpus_frequencies_k4() {
        let analysis = analyse("late refunds for refunded citizens", Timestamp::from_millis(0));
        let texts = ["Refunds are late, refunds again", "citizens of the city", "nothing", ""];
        let layers = [
            vec![candidate("a", texts[0]), candidate("b", texts[1])],
            vec![candidate("c", texts[2]), candidate("d", texts[3])],
        ];
        let with = BTreeMap::from([("refund".to_owned(), 7), ("late".to_owned(), 30)]);
        let words = TermStatistics::new(
            &analysis,
            &Frequencies { texts: 50, by_term: with.clone() },
            &layers,
        );
        let mut counts = with;
        for text in texts {
            let mut own = terms(text, analysis.language);
            own.sort_unstable();
            own.dedup();
            // One of four candidates is a quarter of fifty texts.
            own.into_iter().for_each(|term| _ = counts.entry(term).or_insert(50 / 4));
        }
        let corpus = Corpus::from_counts(50, counts);
        for (text, own) in texts.iter().zip(&words.texts) {
            let weighed = corpus.weigh(&terms(text, analysis.language));
            let expected = corpus.cosine(&corpus.weigh(&analysis.terms), &weighed);
            assert_eq!(words.similarity(own), expected, "{text:?}");
        }
    }

    #[test]
    fn a_keyword_may_match_the_title_k4() {
        let analysis = analyse("refunds in Lyon", Timestamp::from_millis(0));
        let mut named = candidate("a", "refunded");
        named.place.title = Some("The office in Lyon".to_owned());
        let layers = [vec![named, candidate("b", "refunded")]];
        let words = TermStatistics::new(&analysis, &Frequencies::default(), &layers);
        let share = |at: usize| words.keyword_share(&words.texts[at], &layers[0][at]);
        assert_eq!((share(0), share(1)), (Score::ONE, Score::unit(0.5)));
    }
}
