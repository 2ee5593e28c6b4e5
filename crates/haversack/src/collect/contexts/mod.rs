//! The collector of the current context, its ancestors, and the contexts that their rules inject
//! (S1 to S5).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::{Candidate, Essential, FoundBy, Place};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::rank::{Component, Recency, Scoring, Signals};
use haversack_core::units::Score;
use haversack_store::store::error::ReadError;
use serde_json::{Value, json};

use super::{Collector, CollectorOutput, Question};
use crate::condition::{ConditionCache, Facts};
use crate::notice::{Notice, NoticeCode};
use crate::recipe::CollectorSpec;
use crate::request::Request;
use crate::situation::block::ContextBlock;
use crate::situation::context::ContextDocument;
use crate::situation::dedupe::{Repeat, dedupe};
use crate::situation::inherit::{
    Chain, ChainError, ContextLoader, DEPTH_DEFAULT, ReplacedRule, SituationError,
};
use crate::situation::rules::{Ruling, Rulings, judge_rules};

/// Its name in recipes.
const NAME: &str = "contexts";

/// The context that is current when a request names none, if there is one of this id.
const DEFAULT_CONTEXT: &str = "default";

/// The value of an essential form relative to the whole.
const ESSENTIAL_WORTH: f64 = 0.5;

/// How much the collector's score falls with each step away from the current context.
const STEP_PENALTY: f64 = 0.1;

/// Most rules that a notice lists.
const LISTED_MAX: usize = 100;

/// Collects the current context, its ancestors, and the contexts that their rules inject.
#[derive(Debug, Clone, Default)]
pub struct ContextsCollector {
    conditions: ConditionCache,
}

impl ContextsCollector {
    /// A collector with an empty cache of compiled conditions.
    #[must_use]
    pub fn new() -> ContextsCollector {
        ContextsCollector::default()
    }

    /// Collects like [`Collector::collect`], with errors that name the context at fault.
    ///
    /// # Errors
    /// When the current context or one of its ancestors cannot be used, or the store cannot be
    /// read. Turn it into the request's own error with `Error::from`.
    pub async fn collect_contexts(
        &self,
        question: &Question,
        spec: &CollectorSpec,
    ) -> Result<CollectorOutput, SituationError> {
        let request = &question.request;
        let depth = match spec.settings.count("depth") {
            0 => DEPTH_DEFAULT,
            depth => depth,
        };
        let mut loader = ContextLoader::new(&*question.snapshot, &spec.kinds, depth);
        let Some(current) = current_context(request, &mut loader).await? else {
            return Ok(CollectorOutput::default());
        };
        let chain = loader.load_chain(&current).await?;
        let facts =
            Facts::from_situation(&request.situation, request.intent.as_deref(), question.now);
        let rulings = judge_rules(&chain, &facts, &self.conditions, &*question.judge).await;
        let (active, notices) = active_contexts(&chain, &rulings, &mut loader).await?;
        Ok(ranked_output(&chain, active, rulings, notices, question))
    }
}

impl Collector for ContextsCollector {
    fn model_time(&self, question: &Question) -> Duration {
        question.judge.deadline()
    }

    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            self.collect_contexts(question, spec).await.map_err(|error| match error {
                SituationError::Chain(error) => {
                    ReadError::invalid("currentContext", error.to_string())
                }
                SituationError::Read(error) => error,
            })
        }
        .boxed()
    }
}

/// Returns the context that the request names; else the default one, if there is one.
async fn current_context(
    request: &Request,
    loader: &mut ContextLoader<'_>,
) -> Result<Option<ItemId>, ReadError> {
    if request.context.is_some() {
        return Ok(request.context.clone());
    }
    let Ok(default) = ItemId::new(DEFAULT_CONTEXT) else { return Ok(None) };
    Ok(loader.has_context(&default).await?.then_some(default))
}

/// A context that takes part, and its block to show.
struct ActiveContext {
    context: Arc<ContextDocument>,
    /// Steps from the current context, by inheritance or injection.
    steps: usize,
    /// Whether it is a parent of the current context.
    is_parent: bool,
    block: ContextBlock,
}

/// Returns the contexts that take part, each once: the chain, then the contexts that rules inject,
/// in the order of the rules, each with its ancestors.
async fn active_contexts(
    chain: &Chain,
    rulings: &Rulings,
    loader: &mut ContextLoader<'_>,
) -> Result<(Vec<ActiveContext>, Vec<Notice>), ReadError> {
    let mut active: BTreeMap<ItemId, usize> = BTreeMap::new();
    let mut all = Vec::new();
    let mut add = |chain: &Chain, steps: usize, is_own: bool| {
        let behaviour = chain.behaviour_rules().0;
        for (member, rules) in chain.members().iter().zip(behaviour) {
            let context = &member.context;
            if active.insert(context.id.clone(), all.len()).is_some() {
                continue;
            }
            let mut block = ContextBlock::from_document(context);
            block.behaviour_rules = rules.into_iter().cloned().collect();
            if member.distance == 0 {
                chain.goal().clone_into(&mut block.goal);
                chain.intent().clone_into(&mut block.intent);
            }
            let is_parent = is_own && member.distance == 1;
            let steps = steps + member.distance;
            all.push(ActiveContext { context: Arc::clone(context), steps, is_parent, block });
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
    let chains = loader.load_chains(&wanted).await?;
    let mut notices = Vec::new();
    for (id, injected) in wanted.iter().zip(chains) {
        let by: Vec<&Ruling> =
            applying.iter().copied().filter(|ruling| ruling.inject.contains(id)).collect();
        match injected {
            Ok(injected) => {
                let steps = by.iter().map(|ruling| ruling.distance).min().unwrap_or(0);
                add(&injected, steps + 1, false);
            }
            Err(error) => notices.push(not_loaded_notice(id, &by, &error)),
        }
    }
    Ok((all, notices))
}

/// Returns the warning about an injected context that could not be loaded (S4).
fn not_loaded_notice(id: &ItemId, by: &[&Ruling], error: &ChainError) -> Notice {
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

/// Makes candidates of contexts, by priority, without repeated text.
fn ranked_output(
    chain: &Chain,
    mut active: Vec<ActiveContext>,
    rulings: Rulings,
    mut notices: Vec<Notice>,
    question: &Question,
) -> CollectorOutput {
    let loaded: Vec<ItemId> = active.iter().map(|one| one.context.id.clone()).collect();
    active.retain(|one| !question.request.exclude.contains(&one.context.id));
    let scoring = Scoring::situation();
    let mut ranked: Vec<(Score, ActiveContext, Signals)> = active
        .into_iter()
        .map(|one| {
            let signals = context_signals(&one);
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
    let mut blocks: Vec<ContextBlock> =
        ranked.iter().map(|(_, one, _)| one.block.clone()).collect();
    let repeats = dedupe(&mut blocks);
    let ids: Vec<ItemId> = ranked.iter().map(|(_, one, _)| one.context.id.clone()).collect();
    let facts = context_facts(chain, &rulings, &loaded, &repeats, &ids);
    notices.splice(0..0, rulings.notices);
    let candidates = ranked
        .into_iter()
        .zip(blocks)
        .zip(1..)
        .map(|(((_, one, signals), block), rank)| {
            context_candidate(&one.context, &block, signals, rank)
        })
        .collect();
    CollectorOutput { candidates, notices, facts, ..CollectorOutput::default() }
}

fn context_signals(one: &ActiveContext) -> Signals {
    #[expect(clippy::cast_precision_loss, reason = "steps are few")]
    let score = (1.0 - STEP_PENALTY * one.steps as f64).max(STEP_PENALTY);
    let mut signals = Signals::default().with(Component::Collector, Score::unit(score));
    let has = [
        (Component::Current, one.steps == 0),
        (Component::Parent, one.is_parent),
        (Component::Rules, !one.context.behaviour_rules.is_empty()),
    ];
    for (component, _) in has.into_iter().filter(|(_, has)| *has) {
        signals.set(component, Score::ONE);
    }
    signals
}

fn context_candidate(
    context: &ContextDocument,
    block: &ContextBlock,
    signals: Signals,
    rank: u32,
) -> Candidate {
    let text = block.text();
    let essential = block
        .essential_text()
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

/// Returns facts for the result: evaluated rules, the chain, replaced rules and repeated text.
fn context_facts(
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
    let overridden = chain.behaviour_rules().1;
    let replaced: Vec<Value> = replaced
        .iter()
        .chain(&overridden)
        .map(|ReplacedRule { context, rule, replaced_by: by }| {
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
