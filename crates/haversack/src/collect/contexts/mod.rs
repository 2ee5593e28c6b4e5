//! The current context, its ancestors, and what their rules inject (S1 to S5).

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::{Candidate, Essential, FoundBy, Place};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Recency, Scoring, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use serde_json::{Value, json};

use super::{Collected, Collector, Question};
use crate::condition::{ConditionCache, Facts};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::CollectorSpec;
use crate::request::Request;
use crate::situation::block::Block;
use crate::situation::context::Context;
use crate::situation::dedupe::{Repeat, dedupe};
use crate::situation::inherit::{
    Chain, ChainError, DEPTH_DEFAULT, Library, Replaced, SituationError,
};
use crate::situation::rules::{Ruling, Rulings, judge_rules};

/// Its name in recipes.
const NAME: &str = "contexts";

/// The context that is current when a request names none, if there is one of this id.
const DEFAULT_CONTEXT: &str = "default";

/// What an essential form is worth of the whole.
const ESSENTIAL_WORTH: f64 = 0.5;

/// What each step away from the current context takes off its collector's opinion.
const STEP: f64 = 0.1;

/// Most ids of one notice.
const LISTED_MAX: usize = 100;

/// Finds the current context, its ancestors, and what their rules inject.
#[derive(Debug, Clone, Default)]
pub struct Contexts {
    conditions: ConditionCache,
}

impl Contexts {
    /// A collector with an empty cache of compiled conditions.
    #[must_use]
    pub fn new() -> Contexts {
        Contexts::default()
    }

    /// What the collector does, with all that can go wrong.
    ///
    /// # Errors
    /// When the current context or one of its ancestors cannot be used, or the store cannot be
    /// read. Turn it into the request's own error with `Error::from`.
    pub async fn gather(
        &self,
        question: &Question,
        spec: &CollectorSpec,
    ) -> Result<Collected, SituationError> {
        let request = &question.request;
        let depth = match spec.settings.count("depth") {
            0 => DEPTH_DEFAULT,
            depth => depth,
        };
        let mut library = Library::new(&*question.snapshot, &spec.kinds, depth);
        let Some(current) = current(request, &mut library).await? else {
            return Ok(Collected::default());
        };
        let chain = library.chain(&current).await?;
        let facts =
            Facts::of_situation(&request.situation, request.intent.as_deref(), question.now);
        let rulings = judge_rules(&chain, &facts, &self.conditions, &*question.judge).await;
        let (active, notices) = activate(&chain, &rulings, &mut library).await?;
        Ok(present(&chain, active, rulings, notices, question))
    }
}

impl Collector for Contexts {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            self.gather(question, spec).await.map_err(|error| match error {
                SituationError::Chain(error) => {
                    ReadError::invalid("currentContext", error.to_string())
                }
                SituationError::Read(error) => error,
            })
        }
        .boxed()
    }
}

/// The context that the request names; else the default one, if there is one.
async fn current(
    request: &Request,
    library: &mut Library<'_>,
) -> Result<Option<ItemId>, ReadError> {
    if request.context.is_some() {
        return Ok(request.context.clone());
    }
    let Ok(default) = ItemId::new(DEFAULT_CONTEXT) else { return Ok(None) };
    Ok(library.has(&default).await?.then_some(default))
}

/// A context that takes part, and what is shown of it.
struct Active {
    context: Arc<Context>,
    /// Steps from the current context, by inheritance or injection.
    steps: usize,
    is_parent: bool,
    block: Block,
}

/// The contexts that take part, each once: the chain, then what the rules inject in their order,
/// each with what it inherits.
async fn activate(
    chain: &Chain,
    rulings: &Rulings,
    library: &mut Library<'_>,
) -> Result<(Vec<Active>, Vec<Notice>), ReadError> {
    let mut active: BTreeMap<ItemId, usize> = BTreeMap::new();
    let mut all = Vec::new();
    let mut add = |chain: &Chain, steps: usize, is_own: bool| {
        let behaviour = chain.behaviour().0;
        for (member, rules) in chain.members().iter().zip(behaviour) {
            let context = &member.context;
            if active.insert(context.id.clone(), all.len()).is_some() {
                continue;
            }
            let mut block = Block::of(context);
            block.behaviour = rules.into_iter().cloned().collect();
            if member.distance == 0 {
                chain.goal().clone_into(&mut block.goal);
                chain.intent().clone_into(&mut block.intent);
            }
            let is_parent = is_own && member.distance == 1;
            let steps = steps + member.distance;
            all.push(Active { context: Arc::clone(context), steps, is_parent, block });
        }
    };
    add(chain, 0, true);
    let applying: Vec<&Ruling> = rulings.rulings.iter().filter(|ruling| ruling.applies).collect();
    let mut wanted: Vec<ItemId> = Vec::new();
    for id in applying.iter().flat_map(|ruling| &ruling.inject) {
        if !wanted.contains(id) {
            wanted.push(id.clone());
        }
    }
    let chains = library.chains(&wanted).await?;
    let mut notices = Vec::new();
    for (id, injected) in wanted.iter().zip(chains) {
        let by: Vec<&Ruling> =
            applying.iter().copied().filter(|ruling| ruling.inject.contains(id)).collect();
        match injected {
            Ok(injected) => {
                let steps = by.iter().map(|ruling| ruling.distance).min().unwrap_or(0);
                add(&injected, steps + 1, false);
            }
            Err(error) => notices.push(not_loaded(id, &by, &error)),
        }
    }
    Ok((all, notices))
}

/// S4: a warning, not a failure.
fn not_loaded(id: &ItemId, by: &[&Ruling], error: &ChainError) -> Notice {
    let rules: Vec<Value> = by
        .iter()
        .take(LISTED_MAX)
        .map(|ruling| json!({ "context": ruling.context.as_str(), "rule": ruling.rule }))
        .collect();
    Notice {
        details: json!({ "context": id.as_str(), "injectedBy": rules }),
        ..Notice::new(
            NoticeCode::ContextNotLoaded,
            format!("a rule injects {id}, which could not be loaded: {error}"),
        )
    }
}

/// Turns contexts into candidates, by priority, without repeats.
fn present(
    chain: &Chain,
    mut active: Vec<Active>,
    rulings: Rulings,
    mut notices: Vec<Notice>,
    question: &Question,
) -> Collected {
    let loaded: Vec<ItemId> = active.iter().map(|one| one.context.id.clone()).collect();
    active.retain(|one| !question.request.exclude.contains(&one.context.id));
    let scoring = Scoring::situation();
    let mut ranked: Vec<(Score, Active, Signals)> = active
        .into_iter()
        .map(|one| {
            let signals = signals(&one);
            let with_age = signals.clone().with(
                Component::Recency,
                one.context
                    .updated
                    .map_or(Score::ZERO, |moment| Recency::SITUATION.score(moment, question.now)),
            );
            (scoring.score(&with_age).0, one, signals)
        })
        .collect();
    ranked.sort_by(|(left, one, _), (right, other, _)| {
        let by_id = || one.context.id.cmp(&other.context.id);
        right.cmp(left).then(one.steps.cmp(&other.steps)).then_with(by_id)
    });
    let mut blocks: Vec<Block> = ranked.iter().map(|(_, one, _)| one.block.clone()).collect();
    let repeats = dedupe(&mut blocks);
    let ids: Vec<ItemId> = ranked.iter().map(|(_, one, _)| one.context.id.clone()).collect();
    let facts = facts(chain, &rulings, &loaded, &repeats, &ids);
    notices.splice(0..0, rulings.notices);
    let candidates = ranked
        .into_iter()
        .zip(blocks)
        .zip(1..)
        .map(|(((_, one, signals), block), rank)| candidate(&one.context, &block, signals, rank))
        .collect();
    Collected { candidates, notices, facts, ..Collected::default() }
}

fn signals(one: &Active) -> Signals {
    #[expect(clippy::cast_precision_loss, reason = "steps are few")]
    let opinion = (1.0 - STEP * one.steps as f64).max(STEP);
    let mut signals = Signals::default().with(Component::Collector, Score::unit(opinion));
    let has = [
        (Component::Current, one.steps == 0),
        (Component::Parent, one.is_parent),
        (Component::Rules, !one.context.behaviour.is_empty()),
    ];
    for (component, _) in has.into_iter().filter(|(_, has)| *has) {
        signals.set(component, Score::ONE);
    }
    signals
}

fn candidate(context: &Context, block: &Block, signals: Signals, rank: u32) -> Candidate {
    let text = block.text();
    let essential = block
        .essential()
        .map(|text| Essential { text: text.into(), worth: Score::unit(ESSENTIAL_WORTH) });
    Candidate {
        place: Place {
            title: Some(context.name.clone()),
            path: context.path.clone(),
            ..Place::default()
        },
        essential,
        trust: context.trust,
        moment: context.updated,
        found: vec![FoundBy { collector: NAME.into(), rank }],
        signals,
        ..Candidate::new(CandidateId::whole(context.id.clone()), context.kind.clone(), &text)
    }
}

/// What was found out, for the result.
fn facts(
    chain: &Chain,
    Rulings { rulings, replaced, .. }: &Rulings,
    loaded: &[ItemId],
    repeats: &[Repeat],
    ids: &[ItemId],
) -> Value {
    let rules: Vec<Value> = rulings
        .iter()
        .map(|ruling| {
            let injected = ruling.inject.iter().filter(|id| ruling.applies && loaded.contains(id));
            let injected: Vec<&str> = injected.map(ItemId::as_str).collect();
            let mut rule = ruling.details();
            rule["injected"] = json!(injected);
            if let Some(reason) = &ruling.reason {
                rule["reason"] = json!(reason);
            }
            rule
        })
        .collect();
    let members: Vec<Value> = chain
        .members()
        .iter()
        .map(|member| json!({ "id": member.context.id.as_str(), "distance": member.distance }))
        .collect();
    let overridden = chain.behaviour().1;
    let replaced: Vec<Value> = replaced
        .iter()
        .chain(&overridden)
        .map(|Replaced { context, rule, by }| {
            json!({ "context": context.as_str(), "rule": rule, "by": by.as_str() })
        })
        .collect();
    let repeats: Vec<Value> = repeats
        .iter()
        .map(|Repeat { block, kept_in, text }| {
            json!({
                "context": ids[*block].as_str(), "text": text, "keptIn": ids[*kept_in].as_str()
            })
        })
        .collect();
    json!({ "rules": rules, "chain": members, "replaced": replaced, "repeats": repeats })
}

#[cfg(test)]
mod tests;
