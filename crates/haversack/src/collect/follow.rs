//! What the first finds lead to: items that they call by name, and items that stand beside them.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Signals};
use haversack_core::text::names::possible;
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use haversack_store::store::query::NAMES_MAX;

use super::make::{collected, from_passages};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::recipe::CollectorSpec;

/// How many items may go by one name before it says too little.
const NAMESAKES_MAX: usize = 5;

/// How many possible names are looked at in one text.
const NAMES_OF_TEXT_MAX: usize = 96;

/// What is left of a find's worth for each find before it: whom the best one names matters most.
const PER_PLACE: f64 = 0.9;

/// A single word is a name only if at most one text in so many has it, or no more than a few do:
/// what all write about names nobody.
const RARE: u64 = 250;
const FEW: u64 = 3;

/// What the first finds call by name: the second step of a question that takes two.
pub(super) struct Follow;

impl Collector for Follow {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let first = first(spec, found);
            let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (place, candidate) in first.iter().enumerate() {
                for key in possible(&candidate.text, NAMES_OF_TEXT_MAX) {
                    if named.len() < NAMES_MAX || named.contains_key(&key) {
                        named.entry(key).or_default().push(place);
                    }
                }
            }
            let sieve = Sieve::following(question, spec);
            let keys: Vec<String> = named.keys().cloned().collect();
            let known = question.snapshot.named(&keys, &sieve.filter(), NAMESAKES_MAX).await?;
            let called = |(key, ids): (String, Vec<CandidateId>)| {
                let places = named.remove(&key).unwrap_or_default();
                (!ids.is_empty()).then_some((key, ids, places))
            };
            let called: Vec<_> = keys.into_iter().zip(known).filter_map(called).collect();
            let common = common(question, called.iter().map(|(key, ..)| key)).await?;
            let mut worth: BTreeMap<CandidateId, Score> = BTreeMap::new();
            for (_, ids, places) in called.iter().filter(|(key, ..)| !common.contains(key)) {
                for id in ids {
                    // Everything names itself.
                    let others = places.iter().filter(|&&place| first[place].id.item != id.item);
                    let best = others.map(|&place| faded(first[place], place)).max();
                    raise(&mut worth, id, best);
                }
            }
            candidates(question, spec, &sieve, Component::Mention, worth).await
        }
        .boxed()
    }

    fn comes_after(&self) -> bool {
        true
    }
}

/// What stands before and after the first finds under the same parent: the answer to a question
/// that a turn of a conversation asks is in the next one.
pub(super) struct Beside;

impl Collector for Beside {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let mut best: BTreeMap<&ItemId, Score> = BTreeMap::new();
            let mut items: Vec<ItemId> = Vec::new();
            for candidate in first(spec, found) {
                let item = &candidate.id.item;
                let fusion = relevance(candidate);
                let known = best.entry(item).or_insert_with(|| {
                    items.push(item.clone());
                    fusion
                });
                *known = (*known).max(fusion);
            }
            let mut worth: BTreeMap<CandidateId, Score> = BTreeMap::new();
            for (item, beside) in items.iter().zip(question.snapshot.beside(&items).await?) {
                for id in beside {
                    let id = CandidateId::chunk(id, 0);
                    raise(&mut worth, &id, best.get(item).copied());
                }
            }
            let sieve = Sieve::following(question, spec);
            candidates(question, spec, &sieve, Component::Neighbour, worth).await
        }
        .boxed()
    }

    fn comes_after(&self) -> bool {
        true
    }
}

/// The finds that lead on, best first.
fn first<'c>(spec: &CollectorSpec, found: &'c [Candidate]) -> Vec<&'c Candidate> {
    let mut first: Vec<&Candidate> = found.iter().collect();
    first.sort_by(|a, b| relevance(b).cmp(&relevance(a)).then_with(|| a.id.cmp(&b.id)));
    first.truncate(spec.settings.count("first"));
    first
}

/// How well a find answers, by whichever search found it.
fn relevance(candidate: &Candidate) -> Score {
    let signals = &candidate.signals;
    let fused = signals.get(Component::Fusion).or_else(|| signals.get(Component::Collector));
    fused.unwrap_or(Score::ZERO)
}

fn faded(candidate: &Candidate, place: usize) -> Score {
    // Multiplied out, because the platform's powers differ in the last bit.
    Score::unit((0..place).fold(relevance(candidate).get(), |left, _| left * PER_PLACE))
}

fn raise(worth: &mut BTreeMap<CandidateId, Score>, id: &CandidateId, to: Option<Score>) {
    if let Some(to) = to {
        let known = worth.entry(id.clone()).or_insert(to);
        *known = (*known).max(to);
    }
}

/// Single words that too many texts have.
async fn common<'k>(
    question: &Question,
    keys: impl Iterator<Item = &'k String>,
) -> Result<BTreeSet<String>, ReadError> {
    let single: Vec<&str> = keys.map(String::as_str).filter(|key| !key.contains(' ')).collect();
    let mut common = BTreeSet::new();
    for word in single {
        let frequencies = question.snapshot.frequencies(word).await?;
        let most = frequencies.with.values().copied().max().unwrap_or(0);
        if most > FEW.max(frequencies.texts / RARE) {
            common.insert(word.to_owned());
        }
    }
    Ok(common)
}

/// Candidates for what was reached, the most worthy first, as many as are wanted.
async fn candidates(
    question: &Question,
    spec: &CollectorSpec,
    sieve: &Sieve<'_>,
    component: Component,
    worth: BTreeMap<CandidateId, Score>,
) -> Result<Collected, ReadError> {
    let mut order: Vec<(CandidateId, Score)> = worth.into_iter().collect();
    order.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
    order.truncate(spec.settings.count("limit"));
    let ids: Vec<CandidateId> = order.iter().map(|(id, _)| id.clone()).collect();
    let passages = question.snapshot.passages(&ids).await?;
    let reached: Vec<_> = passages
        .into_iter()
        .zip(order)
        .filter_map(|(passage, (_, worth))| {
            let passage = passage.filter(|passage| sieve.passes(&passage.stored))?;
            Some((passage, Signals::default().with(component, worth)))
        })
        .collect();
    Ok(collected(spec, from_passages(question, &reached).await?))
}
