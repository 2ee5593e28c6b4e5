//! Sentence importance: terms shared with the query and with the rest of the text, plus a small
//! bonus for the beginning.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::terms::{Language, terms};

/// Sentences with at least this Jaccard similarity are duplicates; the more important one is kept.
const REPEAT_JACCARD: f64 = 0.8;

const WEIGHT_QUERY: f64 = 1.0;
const WEIGHT_CENTRAL: f64 = 0.3;
const WEIGHT_FIRST: f64 = 0.1;

/// Indices of the sentences worth keeping, most important first, ties in the order of the text.
/// Sentences without a word and near-repeats are left out.
pub(crate) fn importance_order(
    text: &str,
    sentences: &[Range<usize>],
    query_terms: &[String],
) -> Vec<usize> {
    let language = Language::detect(text);
    let bags: Vec<BTreeSet<String>> = sentences
        .iter()
        .map(|range| terms(&text[range.clone()], language).into_iter().collect())
        .collect();
    let mut sentences_with: BTreeMap<&str, f64> = BTreeMap::new();
    for term in bags.iter().flatten() {
        *sentences_with.entry(term).or_default() += 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "a text has far fewer than 2^52 sentences")]
    let n_sentences = sentences.len() as f64;
    let rarity = |term: &str| {
        libm::log(1.0 + n_sentences / sentences_with.get(term).copied().unwrap_or(n_sentences))
    };
    let query: BTreeSet<&str> = query_terms.iter().map(String::as_str).collect();
    let query_weight: f64 = query.iter().map(|term| rarity(term)).sum();
    let importance = |index: usize| {
        let bag = &bags[index];
        let shared: f64 =
            bag.iter().filter(|term| query.contains(term.as_str())).map(|term| rarity(term)).sum();
        let by_query = if query_weight > 0.0 { shared / query_weight } else { 0.0 };
        // The share of a sentence's terms that the text comes back to.
        let central = bag.iter().filter(|term| sentences_with[term.as_str()] > 1.0).count();
        #[expect(clippy::cast_precision_loss, reason = "a sentence has few terms")]
        let central = central as f64 / bag.len().max(1) as f64;
        let first = f64::from(u8::from(index == 0));
        WEIGHT_QUERY * by_query + WEIGHT_CENTRAL * central + WEIGHT_FIRST * first
    };
    let mut order: Vec<(usize, f64)> = (0..sentences.len())
        .filter(|&index| !bags[index].is_empty())
        .map(|index| (index, importance(index)))
        .collect();
    order.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    let mut kept: Vec<usize> = Vec::with_capacity(order.len());
    let mut kept_with: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, _) in order {
        // Two bags this alike share one of each other's few rarest terms: only those are compared.
        let mut rarest: Vec<&str> = bags[index].iter().map(String::as_str).collect();
        rarest.sort_by(|a, b| sentences_with[a].total_cmp(&sentences_with[b]).then(a.cmp(b)));
        rarest.truncate(rarest.len() / 5 + 1);
        let mut alike = rarest.iter().filter_map(|term| kept_with.get(term)).flatten();
        if !alike.any(|&other| repeats(&bags[index], &bags[other])) {
            for term in rarest {
                kept_with.entry(term).or_default().push(index);
            }
            kept.push(index);
        }
    }
    // A text without a single word (symbols, numbers in a script we cannot read) keeps its order.
    if kept.is_empty() { (0..sentences.len()).collect() } else { kept }
}

fn repeats(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let shared = a.intersection(b).count();
    let all = a.len() + b.len() - shared;
    #[expect(clippy::cast_precision_loss, reason = "a sentence has few terms")]
    let jaccard = shared as f64 / all.max(1) as f64;
    jaccard >= REPEAT_JACCARD
}
