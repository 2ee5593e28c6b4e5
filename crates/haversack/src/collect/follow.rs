//! Collectors of items that the best candidates lead to: those that they name, and their
//! neighbours.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Signals};
use haversack_core::text::names::{possible, runs};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Passage;
use haversack_store::store::query::NAMES_MAX;

use super::candidates::{candidates_from_passages, collector_output};
use super::item_filter::ItemFilter;
use super::{Collector, CollectorOutput, Question};
use crate::recipe::CollectorSpec;
use crate::search::frequencies_if_known;

/// Most items that share a name; a name of more items says too little.
const NAMESAKES_MAX: usize = 5;

/// Most possible names that are taken from one text.
const NAMES_OF_TEXT_MAX: usize = 96;

/// Most runs of words of a question that are looked up as names.
const NAMES_OF_QUESTION_MAX: usize = 256;

/// The score of an item that the question itself names.
const QUESTION_SCORE: Score = Score::ONE;

/// The factor for a name in the question that is a single word.
const SINGLE_WORD_FACTOR: f64 = 0.4;

/// The factor for each further hop.
const HOP_DECAY: f64 = 0.6;

/// The factor for each better candidate: the names in the best one matter most.
const RANK_DECAY: f64 = 0.9;

/// A single word counts as a name only if it is rare: in at most one text of this many, or in no
/// more than this many texts. A common word names nothing.
const RARE_ONE_IN: u64 = 250;
const RARE_TEXTS_MAX: u64 = 3;

/// Collects items that the question and the best candidates name, and items that those name: the
/// second and third hop of a question that takes several.
pub(super) struct FollowCollector;

impl Collector for FollowCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let filter = ItemFilter::for_search(question, spec)?;
            let mut walk = NameWalk { question, filter: &filter, scores: BTreeMap::new() };
            let best = best_candidates(spec, found).into_iter().enumerate();
            let mut texts: Vec<NamingText> = vec![NamingText::of_question(question)];
            texts.extend(best.map(|(rank, candidate)| NamingText {
                item: Some(candidate.id.item.clone()),
                names: possible(&candidate.text, NAMES_OF_TEXT_MAX),
                score: decayed_relevance(candidate, rank),
            }));
            for hop in 0..spec.settings.count("hops") {
                let reached = walk.look_up_names(&texts).await?;
                if hop + 1 == spec.settings.count("hops") || reached.is_empty() {
                    break;
                }
                texts = walk.next_texts(reached, spec.settings.count("first")).await?;
            }
            scored_output(question, spec, &filter, Component::Mention, walk.scores).await
        }
        .boxed()
    }

    fn runs_after_others(&self) -> bool {
        true
    }
}

/// A text that may name items.
struct NamingText {
    /// The item it belongs to; none if it is the question.
    item: Option<ItemId>,
    names: Vec<String>,
    /// The score of an item that it names.
    score: Score,
}

impl NamingText {
    fn of_question(question: &Question) -> NamingText {
        let names = runs(&question.request.query, NAMES_OF_QUESTION_MAX);
        NamingText { item: None, names, score: QUESTION_SCORE }
    }

    /// Returns the score of an item with this name. Single words of a question may be titles by
    /// chance.
    fn score_of(&self, name: &str) -> Score {
        let is_chance = self.item.is_none() && !name.contains(' ');
        if is_chance { Score::unit(self.score.get() * SINGLE_WORD_FACTOR) } else { self.score }
    }
}

/// A walk from names to items, hop by hop.
struct NameWalk<'t> {
    question: &'t Question,
    filter: &'t ItemFilter<'t>,
    /// The best score of each item that was reached so far.
    scores: BTreeMap<CandidateId, Score>,
}

impl NameWalk<'_> {
    /// Looks up the names in texts, and returns the items that were reached for the first time.
    async fn look_up_names(
        &mut self,
        texts: &[NamingText],
    ) -> Result<BTreeMap<CandidateId, Score>, ReadError> {
        let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, text) in texts.iter().enumerate() {
            for key in &text.names {
                if named.len() < NAMES_MAX || named.contains_key(key.as_str()) {
                    named.entry(key).or_default().push(index);
                }
            }
        }
        let keys: Vec<String> = named.keys().map(|&key| key.to_owned()).collect();
        let filter = self.filter.store_filter();
        let known = self.question.snapshot.chunks_by_name(&keys, &filter, NAMESAKES_MAX).await?;
        let found = keys.into_iter().zip(known).filter(|(_, ids)| !ids.is_empty());
        let found: Vec<(String, Vec<CandidateId>)> = found.collect();
        let common = common_words(self.question, found.iter().map(|(key, _)| key)).await?;
        let mut reached = BTreeMap::new();
        for (key, ids) in found.iter().filter(|(key, _)| !common.contains(key)) {
            for id in ids {
                let naming = named[key.as_str()].iter().map(|&index| &texts[index]);
                // A text often contains its own item's name.
                let others = naming.filter(|text| text.item.as_ref() != Some(&id.item));
                let best = others.map(|text| text.score_of(key)).max();
                if !self.scores.contains_key(id) {
                    raise_score(&mut reached, id, best);
                }
                raise_score(&mut self.scores, id, best);
            }
        }
        Ok(reached)
    }

    /// Reads the texts of the best items that were reached, to look for names in them.
    async fn next_texts(
        &self,
        reached: BTreeMap<CandidateId, Score>,
        texts_max: usize,
    ) -> Result<Vec<NamingText>, ReadError> {
        let mut order: Vec<(CandidateId, Score)> = reached.into_iter().collect();
        order.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        order.truncate(texts_max);
        let (ids, scores): (Vec<CandidateId>, Vec<Score>) = order.into_iter().unzip();
        let passages = self.question.snapshot.passages(&ids).await?;
        let text = |(passage, score): (Option<Passage>, Score)| {
            let passage = passage?;
            Some(NamingText {
                names: possible(&passage.text, NAMES_OF_TEXT_MAX),
                item: Some(passage.stored.item.id),
                score: Score::unit(score.get() * HOP_DECAY),
            })
        };
        Ok(passages.into_iter().zip(scores).filter_map(text).collect())
    }
}

/// Collects the items before and after the best candidates, under the same parent: if one turn of a
/// conversation asks something, the next one answers it.
pub(super) struct BesideCollector;

impl Collector for BesideCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let mut best: BTreeMap<&ItemId, Score> = BTreeMap::new();
            let mut items: Vec<ItemId> = Vec::new();
            for candidate in best_candidates(spec, found) {
                let item = &candidate.id.item;
                let score = relevance(candidate);
                let known = best.entry(item).or_insert_with(|| {
                    items.push(item.clone());
                    score
                });
                *known = (*known).max(score);
            }
            let mut scores: BTreeMap<CandidateId, Score> = BTreeMap::new();
            for (item, beside) in items.iter().zip(question.snapshot.adjacent(&items).await?) {
                for id in beside {
                    let id = CandidateId::chunk(id, 0);
                    raise_score(&mut scores, &id, best.get(item).copied());
                }
            }
            let filter = ItemFilter::for_search(question, spec)?;
            scored_output(question, spec, &filter, Component::Neighbour, scores).await
        }
        .boxed()
    }

    fn runs_after_others(&self) -> bool {
        true
    }
}

/// Returns the best candidates, as many as the setting `first` says.
fn best_candidates<'c>(spec: &CollectorSpec, found: &'c [Candidate]) -> Vec<&'c Candidate> {
    let mut best = best_first(found);
    best.truncate(spec.settings.count("first"));
    best
}

/// Sorts candidates by the relevance that the searches gave them.
pub(super) fn best_first(found: &[Candidate]) -> Vec<&Candidate> {
    let mut sorted: Vec<&Candidate> = found.iter().collect();
    sorted.sort_by(|a, b| relevance(b).cmp(&relevance(a)).then_with(|| a.id.cmp(&b.id)));
    sorted
}

/// Returns the relevance of a candidate, by the search that found it.
fn relevance(candidate: &Candidate) -> Score {
    let signals = &candidate.signals;
    let fused = signals.get(Component::Fusion).or_else(|| signals.get(Component::Collector));
    fused.unwrap_or(Score::ZERO)
}

/// Returns a candidate's relevance, lowered for each better candidate.
fn decayed_relevance(candidate: &Candidate, rank: usize) -> Score {
    // Multiplied out, because the platform's powers differ in the last bit.
    Score::unit((0..rank).fold(relevance(candidate).get(), |left, _| left * RANK_DECAY))
}

/// Raises an item's score to at least this one.
fn raise_score(scores: &mut BTreeMap<CandidateId, Score>, id: &CandidateId, to: Option<Score>) {
    if let Some(to) = to {
        let known = scores.entry(id.clone()).or_insert(to);
        *known = (*known).max(to);
    }
}

/// Returns the single-word names that occur in too many texts.
async fn common_words<'k>(
    question: &Question,
    keys: impl Iterator<Item = &'k String>,
) -> Result<BTreeSet<String>, ReadError> {
    let single: Vec<&str> = keys.map(String::as_str).filter(|key| !key.contains(' ')).collect();
    let mut common = BTreeSet::new();
    for word in single {
        let frequencies = frequencies_if_known(&*question.snapshot, word).await?;
        let most = frequencies.by_term.values().copied().max().unwrap_or(0);
        if most > RARE_TEXTS_MAX.max(frequencies.texts / RARE_ONE_IN) {
            common.insert(word.to_owned());
        }
    }
    Ok(common)
}

/// Makes the output of the best-scored items, with the score as a component's signal.
async fn scored_output(
    question: &Question,
    spec: &CollectorSpec,
    filter: &ItemFilter<'_>,
    component: Component,
    scores: BTreeMap<CandidateId, Score>,
) -> Result<CollectorOutput, ReadError> {
    let mut order: Vec<(CandidateId, Score)> = scores.into_iter().collect();
    order.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    order.truncate(spec.settings.count("limit"));
    let ids: Vec<CandidateId> = order.iter().map(|(id, _)| id.clone()).collect();
    let passages = question.snapshot.passages(&ids).await?;
    let reached: Vec<_> = passages
        .into_iter()
        .zip(order)
        .filter_map(|(passage, (_, score))| {
            let passage = passage.filter(|passage| filter.accepts(&passage.stored))?;
            Some((passage, Signals::default().with(component, score)))
        })
        .collect();
    Ok(collector_output(spec, candidates_from_passages(question, &reached).await?))
}
