//! The collector of items that match a question about fields.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_store::store::error::ReadError;

use super::candidates::{collector_output, linear_relevance, relevant_candidate};
use super::partial_read::{Total, partial_read_notice};
use super::table::{self, FindsBy};
use super::{Collector, CollectorOutput, Question};
use crate::recipe::CollectorSpec;

/// Whether a candidate was found by a link from another one. It need not share the question's
/// words.
pub(crate) fn is_found_by_link(candidate: &Candidate) -> bool {
    is_found_by(candidate, FindsBy::Link)
}

/// Whether a candidate was found by a name in the request or the workspace. It need not be similar
/// to the question to be shown.
pub(crate) fn is_found_by_name(candidate: &Candidate) -> bool {
    is_found_by(candidate, FindsBy::Name)
}

fn is_found_by(candidate: &Candidate, finds: FindsBy) -> bool {
    let mut found = candidate.found.iter();
    found.any(|found| {
        table::find(&found.collector).is_some_and(|collector| collector.finds == finds)
    })
}

/// Collects the items that match a question about fields (X10).
pub(super) struct MatchingCollector;

impl Collector for MatchingCollector {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<CollectorOutput, ReadError>> {
        async move {
            let Some(matches) = &question.matches else { return Ok(CollectorOutput::default()) };
            let is_wanted = |kind| spec.kinds.is_empty() || spec.kinds.contains(kind);
            let wanted: Vec<_> =
                matches.items.iter().filter(|stored| is_wanted(&stored.item.kind)).collect();
            let limit = spec.settings.count("limit");
            let shown = wanted.len().min(limit);
            let candidates = wanted
                .iter()
                .take(limit)
                .enumerate()
                .map(|(rank, stored)| relevant_candidate(stored, linear_relevance(rank, shown)))
                .collect();
            let mut output = collector_output(spec, candidates);
            let total = match matches.is_truncated {
                true => Total::AtLeast(wanted.len()),
                false => Total::Exactly(wanted.len()),
            };
            let what = "items that match what the question asks of fields";
            output.notices.extend(partial_read_notice(&spec.by, shown, total, what));
            Ok(output)
        }
        .boxed()
    }
}

/// Drops candidates that do not match a question about fields, except those found by name.
pub(crate) fn retain_field_matches(question: &Question, layers: &mut [Vec<Candidate>]) {
    let Some(matches) = question.matches.as_ref().filter(|matches| !matches.is_truncated) else {
        return;
    };
    let matching: BTreeSet<&ItemId> = matches.ids();
    for layer in layers {
        layer.retain(|candidate| {
            matching.contains(&candidate.id.item) || is_found_by_name(candidate)
        });
    }
}
