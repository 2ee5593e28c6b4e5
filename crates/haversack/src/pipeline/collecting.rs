//! Runs every layer's collectors at once on one snapshot, each with its deadline. A collector that
//! fails becomes a notice, and the others still answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use haversack_core::candidate::{Candidate, merge};
use haversack_store::store::error::{ReadError, error_chain};
use serde_json::{Value, json};

use super::cleaning::clean_all;
use crate::collect::{Collector, CollectorOutput, Outline, Question};
use crate::engine::Shared;
use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::{CollectorSpec, LayerSpec, Recipe};

/// The candidates of all layers, and what collectors report beside them.
#[derive(Debug, Default)]
pub(crate) struct Collection {
    /// Each layer's candidates, in the recipe's order.
    pub(crate) layers: Vec<Vec<Candidate>>,
    pub(crate) notices: Vec<Notice>,
    /// What collectors report beside candidates, by layer and collector.
    pub(crate) facts: BTreeMap<String, Value>,
    /// The collectors that answered, each once.
    pub(crate) used: Vec<String>,
    /// Pages and databases whose blocks were read.
    pub(crate) outlines: Vec<Outline>,
}

/// Runs all collectors of a recipe.
///
/// # Errors
/// When a collector finds the request not valid, or one fails and degrading is not allowed.
pub(crate) async fn collect(
    shared: &Shared,
    recipe: &Recipe,
    question: &Question,
    degrade: bool,
) -> Result<Collection, Error> {
    let layers = recipe.layers.iter().map(|layer| collect_layer(shared, layer, question));
    let mut collection = Collection::default();
    for (layer, outcomes) in recipe.layers.iter().zip(join_all(layers).await) {
        let mut candidates = Vec::new();
        for (by, outcome) in outcomes {
            match outcome {
                Ok(output) => collection.add_output(layer, &by, output, &mut candidates),
                Err(CollectorFailure::Read(ReadError::Invalid { field, what })) => {
                    return Err(Error::invalid(field, what));
                }
                Err(failure) if degrade => {
                    collection.notices.push(failure.notice(&layer.name, &by));
                }
                Err(CollectorFailure::Read(source)) => {
                    return Err(Error::Search { collector: by, source });
                }
                Err(CollectorFailure::Timeout(deadline)) => {
                    return Err(Error::CollectorTimeout { collector: by, deadline });
                }
            }
        }
        collection.layers.push(merge(candidates));
    }
    collection.notices.extend(clean_all(&mut collection.layers));
    Ok(collection)
}

impl Collection {
    fn add_output(
        &mut self,
        layer: &LayerSpec,
        by: &str,
        output: CollectorOutput,
        candidates: &mut Vec<Candidate>,
    ) {
        candidates.extend(output.candidates);
        self.notices.extend(output.notices);
        self.outlines.extend(output.outlines);
        if !output.facts.is_null() {
            self.facts.insert(format!("{}.{by}", layer.name), output.facts);
        }
        if !self.used.iter().any(|used| used == by) {
            self.used.push(by.to_owned());
        }
    }
}

/// Why a collector gave no candidates.
enum CollectorFailure {
    Read(ReadError),
    /// It took longer than this deadline.
    Timeout(Duration),
}

impl CollectorFailure {
    /// The notice of a pack that was made without the collector.
    fn notice(&self, layer: &str, collector: &str) -> Notice {
        let (message, reason, deadline) = match self {
            CollectorFailure::Read(error) => (error_chain(error), "failed", None),
            CollectorFailure::Timeout(deadline) => {
                let millis = deadline.as_millis();
                (format!("took longer than its {millis} ms"), "timeout", Some(millis))
            }
        };
        let mut details = json!({ "layer": layer, "collector": collector, "reason": reason });
        if let Some(millis) = deadline.and_then(|millis| u64::try_from(millis).ok()) {
            details["deadlineMs"] = json!(millis);
        }
        let message = format!("{layer}, {collector}: {message}");
        Notice { details, ..Notice::new(NoticeCode::CollectorFailed, message) }
    }
}

/// A collector's name, and its output or failure.
type CollectorOutcome = (String, Result<CollectorOutput, CollectorFailure>);

/// Runs a layer's collectors: first the independent ones together, then those that build on them.
async fn collect_layer(
    shared: &Shared,
    layer: &LayerSpec,
    question: &Question,
) -> Vec<CollectorOutcome> {
    let collectors: Vec<(&CollectorSpec, Option<Arc<dyn Collector>>)> =
        layer.collect.iter().map(|spec| (spec, find_collector(shared, &spec.by))).collect();
    let (after, first): (Vec<_>, Vec<_>) = collectors
        .into_iter()
        .partition(|(_, by)| by.as_ref().is_some_and(|by| by.runs_after_others()));
    let first = first.into_iter().map(|(spec, by)| run_collector(spec, by, question, &[]));
    let mut outcomes = join_all(first).await;
    if after.is_empty() {
        return outcomes;
    }
    let found: Vec<Candidate> = outcomes
        .iter()
        .filter_map(|(_, outcome)| outcome.as_ref().ok())
        .flat_map(|output| output.candidates.iter().cloned())
        .collect();
    let found = merge(found);
    let after = after.into_iter().map(|(spec, by)| run_collector(spec, by, question, &found));
    outcomes.extend(join_all(after).await);
    outcomes
}

/// Finds a collector by name: the application's own, or the built-in one.
fn find_collector(shared: &Shared, name: &str) -> Option<Arc<dyn Collector>> {
    shared.collectors.get(name).or_else(|| shared.built_in.get(name)).cloned()
}

async fn run_collector(
    spec: &CollectorSpec,
    by: Option<Arc<dyn Collector>>,
    question: &Question,
    found: &[Candidate],
) -> CollectorOutcome {
    let Some(by) = by else {
        let error = ReadError::invalid("collect", format!("there is no collector {:?}", spec.by));
        return (spec.by.clone(), Err(CollectorFailure::Read(error)));
    };
    let deadline = spec.deadline + by.model_time(question);
    let outcome = tokio::time::timeout(deadline, by.collect(question, spec, found)).await;
    let outcome = match outcome {
        Ok(result) => result.map_err(CollectorFailure::Read),
        Err(_) => Err(CollectorFailure::Timeout(deadline)),
    };
    (spec.by.clone(), outcome)
}
