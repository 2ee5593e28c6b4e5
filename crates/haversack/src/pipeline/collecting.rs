//! Collecting: every layer's collectors at once, on one snapshot, each with its deadline. One that
//! fails is a notice; the others answer.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;
use haversack_core::candidate::{Candidate, merge};
use haversack_store::store::error::{ReadError, chain};
use serde_json::Value;

use super::cleaning::clean_all;
use crate::collect::{Collected, Collector, Outline, Question};
use crate::engine::Shared;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CollectorSpec, LayerSpec, Recipe};

/// What was found for all layers.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    /// Each layer's candidates, in the recipe's order.
    pub(crate) layers: Vec<Vec<Candidate>>,
    pub(crate) notices: Vec<Notice>,
    /// What collectors have to say beside candidates, by layer and collector.
    pub(crate) facts: BTreeMap<String, Value>,
    /// The collectors that were asked and answered, each once.
    pub(crate) used: Vec<String>,
    /// Pages and databases whose blocks were read.
    pub(crate) outlines: Vec<Outline>,
}

/// Runs all collectors of a recipe.
///
/// # Errors
/// When a collector says that the request itself is wrong, or one fails and the answer may not do
/// without.
pub(crate) async fn collect(
    shared: &Shared,
    recipe: &Recipe,
    question: &Question,
    degrade: bool,
) -> Result<Finds, Error> {
    let layers = recipe.layers.iter().map(|layer| collect_layer(shared, layer, question));
    let mut finds = Finds::default();
    for (layer, outcomes) in recipe.layers.iter().zip(join_all(layers).await) {
        let mut candidates = Vec::new();
        for (by, outcome) in outcomes {
            match outcome {
                Ok(collected) => finds.take(layer, &by, collected, &mut candidates),
                Err(Failure::Read(ReadError::Invalid { field, what })) => {
                    return Err(Error::invalid(field, what));
                }
                Err(failure) if degrade => {
                    let message = format!("{}, {by}: {}", layer.name, failure.message());
                    finds.notices.push(Notice::new(NoticeCode::CollectorFailed, message));
                }
                Err(Failure::Read(source)) => return Err(Error::Search { collector: by, source }),
                Err(failure @ Failure::Late(_)) => {
                    let source = ReadError::Storage { cause: failure.message().into() };
                    return Err(Error::Search { collector: by, source });
                }
            }
        }
        finds.layers.push(merge(candidates));
    }
    finds.notices.extend(clean_all(&mut finds.layers));
    Ok(finds)
}

impl Finds {
    fn take(
        &mut self,
        layer: &LayerSpec,
        by: &str,
        collected: Collected,
        candidates: &mut Vec<Candidate>,
    ) {
        candidates.extend(collected.candidates);
        self.notices.extend(collected.notices);
        self.outlines.extend(collected.outlines);
        if !collected.facts.is_null() {
            self.facts.insert(format!("{}.{by}", layer.name), collected.facts);
        }
        if !self.used.iter().any(|used| used == by) {
            self.used.push(by.to_owned());
        }
    }
}

enum Failure {
    Read(ReadError),
    Late(std::time::Duration),
}

impl Failure {
    fn message(&self) -> String {
        match self {
            Failure::Read(error) => chain(error),
            Failure::Late(deadline) => {
                format!("took longer than its {} ms", deadline.as_millis())
            }
        }
    }
}

type Outcome = (String, Result<Collected, Failure>);

/// A layer's collectors: first those that stand alone, together; then those that build on them.
async fn collect_layer(shared: &Shared, layer: &LayerSpec, question: &Question) -> Vec<Outcome> {
    let collectors: Vec<(&CollectorSpec, Option<Arc<dyn Collector>>)> =
        layer.collect.iter().map(|spec| (spec, find(shared, &spec.by))).collect();
    let (after, first): (Vec<_>, Vec<_>) =
        collectors.into_iter().partition(|(_, by)| by.as_ref().is_some_and(|by| by.comes_after()));
    let first = first.into_iter().map(|(spec, by)| run(spec, by, question, &[]));
    let mut outcomes = join_all(first).await;
    if after.is_empty() {
        return outcomes;
    }
    let found: Vec<Candidate> = outcomes
        .iter()
        .filter_map(|(_, outcome)| outcome.as_ref().ok())
        .flat_map(|collected| collected.candidates.iter().cloned())
        .collect();
    let found = merge(found);
    let after = after.into_iter().map(|(spec, by)| run(spec, by, question, &found));
    outcomes.extend(join_all(after).await);
    outcomes
}

/// An application's own collector of that name, or the built-in one.
fn find(shared: &Shared, name: &str) -> Option<Arc<dyn Collector>> {
    shared.collectors.get(name).or_else(|| shared.built_in.get(name)).cloned()
}

async fn run(
    spec: &CollectorSpec,
    by: Option<Arc<dyn Collector>>,
    question: &Question,
    found: &[Candidate],
) -> Outcome {
    let Some(by) = by else {
        let error = ReadError::invalid("collect", format!("there is no collector {:?}", spec.by));
        return (spec.by.clone(), Err(Failure::Read(error)));
    };
    let outcome = tokio::time::timeout(spec.deadline, by.collect(question, spec, found)).await;
    let outcome = match outcome {
        Ok(collected) => collected.map_err(Failure::Read),
        Err(_) => Err(Failure::Late(spec.deadline)),
    };
    (spec.by.clone(), outcome)
}
