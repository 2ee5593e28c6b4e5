//! What the first finds lead to: items that they call by name, and items that stand beside them.

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

use super::make::{collected, from_passages};
use super::sieve::Sieve;
use super::{Collected, Collector, Question};
use crate::recipe::CollectorSpec;

/// How many items may go by one name before it says too little.
const NAMESAKES_MAX: usize = 5;

/// How many possible names are looked at in one text.
const NAMES_OF_TEXT_MAX: usize = 96;

/// How many runs of words are looked up of a question.
const NAMES_OF_QUESTION_MAX: usize = 256;

/// What it is worth to be named by the question itself.
const ASKED_FOR: Score = Score::ONE;

/// What is left of it when the name is a single word.
const ONE_WORD: f64 = 0.4;

/// What is left of a worth with each further step.
const PER_HOP: f64 = 0.6;

/// What is left of a find's worth for each find before it: whom the best one names matters most.
const PER_PLACE: f64 = 0.9;

/// A single word is a name only if at most one text in so many has it, or no more than a few do:
/// what all write about names nobody.
const RARE: u64 = 250;
const FEW: u64 = 3;

/// What the question and the first finds call by name, and what that calls by name: the second and
/// third steps of a question that takes several.
pub(super) struct Follow;

impl Collector for Follow {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let sieve = Sieve::searching(question, spec)?;
            let mut trail = Trail { question, sieve: &sieve, worth: BTreeMap::new() };
            let first = first(spec, found).into_iter().enumerate();
            let mut callers: Vec<Caller> = vec![Caller::question(question)];
            callers.extend(first.map(|(place, candidate)| Caller {
                item: Some(candidate.id.item.clone()),
                names: possible(&candidate.text, NAMES_OF_TEXT_MAX),
                worth: faded(candidate, place),
            }));
            for hop in 0..spec.settings.count("hops") {
                let reached = trail.step(&callers).await?;
                if hop + 1 == spec.settings.count("hops") || reached.is_empty() {
                    break;
                }
                callers = trail.callers(reached, spec.settings.count("first")).await?;
            }
            candidates(question, spec, &sieve, Component::Mention, trail.worth).await
        }
        .boxed()
    }

    fn comes_after(&self) -> bool {
        true
    }
}

/// A text that may call items by name.
struct Caller {
    /// Whose text; nobody's when it is the question.
    item: Option<ItemId>,
    names: Vec<String>,
    /// What it is worth to be called by it.
    worth: Score,
}

impl Caller {
    fn question(question: &Question) -> Caller {
        let names = runs(&question.request.query, NAMES_OF_QUESTION_MAX);
        Caller { item: None, names, worth: ASKED_FOR }
    }
}

impl Caller {
    /// What it is worth to be called so. A question has words that happen to be titles.
    fn worth_of(&self, name: &str) -> Score {
        let is_chance = self.item.is_none() && !name.contains(' ');
        if is_chance { Score::unit(self.worth.get() * ONE_WORD) } else { self.worth }
    }
}

/// The way from names to items.
struct Trail<'t> {
    question: &'t Question,
    sieve: &'t Sieve<'t>,
    /// What was reached so far.
    worth: BTreeMap<CandidateId, Score>,
}

impl Trail<'_> {
    /// Looks up what callers name; gives back what was reached for the first time.
    async fn step(
        &mut self,
        callers: &[Caller],
    ) -> Result<BTreeMap<CandidateId, Score>, ReadError> {
        let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, caller) in callers.iter().enumerate() {
            for key in &caller.names {
                if named.len() < NAMES_MAX || named.contains_key(key.as_str()) {
                    named.entry(key).or_default().push(place);
                }
            }
        }
        let keys: Vec<String> = named.keys().map(|&key| key.to_owned()).collect();
        let filter = self.sieve.filter();
        let known = self.question.snapshot.named(&keys, &filter, NAMESAKES_MAX).await?;
        let called = keys.into_iter().zip(known).filter(|(_, ids)| !ids.is_empty());
        let called: Vec<(String, Vec<CandidateId>)> = called.collect();
        let common = common(self.question, called.iter().map(|(key, _)| key)).await?;
        let mut reached = BTreeMap::new();
        for (key, ids) in called.iter().filter(|(key, _)| !common.contains(key)) {
            for id in ids {
                let callers = named[key.as_str()].iter().map(|&place| &callers[place]);
                // Everything names itself.
                let others = callers.filter(|caller| caller.item.as_ref() != Some(&id.item));
                let best = others.map(|caller| caller.worth_of(key)).max();
                if !self.worth.contains_key(id) {
                    raise(&mut reached, id, best);
                }
                raise(&mut self.worth, id, best);
            }
        }
        Ok(reached)
    }

    /// The texts of what was reached, the most worthy first, as the next to be read for names.
    async fn callers(
        &self,
        reached: BTreeMap<CandidateId, Score>,
        most: usize,
    ) -> Result<Vec<Caller>, ReadError> {
        let mut order: Vec<(CandidateId, Score)> = reached.into_iter().collect();
        order.sort_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        order.truncate(most);
        let (ids, worth): (Vec<CandidateId>, Vec<Score>) = order.into_iter().unzip();
        let passages = self.question.snapshot.passages(&ids).await?;
        let caller = |(passage, worth): (Option<Passage>, Score)| {
            let passage = passage?;
            Some(Caller {
                names: possible(&passage.text, NAMES_OF_TEXT_MAX),
                item: Some(passage.stored.item.id),
                worth: Score::unit(worth.get() * PER_HOP),
            })
        };
        Ok(passages.into_iter().zip(worth).filter_map(caller).collect())
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
            let sieve = Sieve::searching(question, spec)?;
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
    let mut first = best_first(found);
    first.truncate(spec.settings.count("first"));
    first
}

/// Finds by how well they answer, as far as the searches tell.
pub(super) fn best_first(found: &[Candidate]) -> Vec<&Candidate> {
    let mut first: Vec<&Candidate> = found.iter().collect();
    first.sort_by(|a, b| relevance(b).cmp(&relevance(a)).then_with(|| a.id.cmp(&b.id)));
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
