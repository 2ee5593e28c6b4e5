//! Reranking: a model scores the best candidates of a layer together with the query.

use std::borrow::Cow;

use haversack_core::candidate::Candidate;
use haversack_core::rank::{Component, Ranker, RerankError, Reranker, rank};
use haversack_core::units::Score;
use haversack_store::store::error::error_chain;

use crate::error::Error;
use crate::notice::{Notice, NoticeCode};
use crate::recipe::LayerSpec;

/// Sets the reranker's scores on each layer's best candidates, where the layer's score uses them. A
/// failure leaves the order unchanged and returns a notice, if degrading is allowed.
///
/// # Errors
/// When a ranker fails, or the reranker does and degrading is not allowed.
pub(super) fn rerank(
    reranker: &dyn Reranker,
    query: &str,
    specs: &[LayerSpec],
    rankers: &[Ranker],
    layers: &mut [Vec<Candidate>],
    degrade: bool,
) -> Result<Option<Notice>, Error> {
    for ((spec, ranker), layer) in specs.iter().zip(rankers).zip(layers) {
        if query.trim().is_empty() || !ranker.uses(Component::Rerank) {
            continue;
        }
        let ranked = rank(std::mem::take(layer), ranker)?;
        layer.extend(ranked.into_iter().map(|ranked| ranked.candidate));
        let best = layer.len().min(spec.rerank);
        match rerank_scores(reranker, query, &layer[..best]) {
            Ok(scores) => {
                for (candidate, score) in layer.iter_mut().zip(scores) {
                    candidate.signals.set(Component::Rerank, score);
                }
            }
            Err(error) if degrade => {
                let message = format!("nothing was reranked: {}", error_chain(&error));
                return Ok(Some(Notice::new(NoticeCode::Degraded, message)));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

fn rerank_scores(
    reranker: &dyn Reranker,
    query: &str,
    candidates: &[Candidate],
) -> Result<Vec<Score>, RerankError> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let texts: Vec<Cow<'_, str>> = candidates.iter().map(text_with_title).collect();
    let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let scores = reranker.scores(query, &texts)?;
    if scores.len() != texts.len() {
        let cause = format!("returned {} scores for {} texts", scores.len(), texts.len());
        return Err(RerankError { reranker: reranker.name().to_owned(), cause: cause.into() });
    }
    Ok(scores)
}

/// Puts a candidate's title before its text.
fn text_with_title(candidate: &Candidate) -> Cow<'_, str> {
    match &candidate.place.title {
        Some(title) if !candidate.text.starts_with(title.as_str()) => {
            Cow::Owned(format!("{title}\n{}", candidate.text))
        }
        _ => Cow::Borrowed(&candidate.text),
    }
}
