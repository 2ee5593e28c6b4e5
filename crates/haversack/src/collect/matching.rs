//! The collector of what a question about fields asks for.

use std::collections::BTreeSet;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_store::store::error::ReadError;

use super::limits::{Total, left_unread};
use super::make::{collected, relevant, share_left};
use super::table::{self, FindsBy};
use super::{Collected, Collector, Question};
use crate::recipe::CollectorSpec;

/// Whether another find leads to a candidate, which then need not share the question's words.
pub(crate) fn is_linked(candidate: &Candidate) -> bool {
    is_found_by(candidate, FindsBy::Link)
}

/// Whether the request or the workspace names a candidate outright, so that it need not be like the
/// question to be shown.
pub(crate) fn is_named(candidate: &Candidate) -> bool {
    is_found_by(candidate, FindsBy::Name)
}

fn is_found_by(candidate: &Candidate, way: FindsBy) -> bool {
    let mut found = candidate.found.iter();
    found.any(|found| table::find(&found.collector).is_some_and(|collector| collector.finds == way))
}

/// Everything of which holds what the question asks of fields (X10).
pub(super) struct Matching;

impl Collector for Matching {
    fn collect<'a>(
        &'a self,
        question: &'a Question,
        spec: &'a CollectorSpec,
        _found: &'a [Candidate],
    ) -> BoxFuture<'a, Result<Collected, ReadError>> {
        async move {
            let Some(matches) = &question.matches else { return Ok(Collected::default()) };
            let is_wanted = |kind| spec.kinds.is_empty() || spec.kinds.contains(kind);
            let wanted: Vec<_> =
                matches.items.iter().filter(|stored| is_wanted(&stored.item.kind)).collect();
            let limit = spec.settings.count("limit");
            let shown = wanted.len().min(limit);
            let candidates = wanted
                .iter()
                .take(limit)
                .enumerate()
                .map(|(place, stored)| relevant(stored, share_left(place, shown)))
                .collect();
            let mut collected = collected(spec, candidates);
            let total = match matches.is_cut {
                true => Total::AtLeast(wanted.len()),
                false => Total::Exactly(wanted.len()),
            };
            let what = "items that match what the question asks of fields";
            collected.notices.extend(left_unread(&spec.by, shown, total, what));
            Ok(collected)
        }
        .boxed()
    }
}

/// Leaves out what searches found that does not match what the question asks of fields.
pub(crate) fn keep_matching(question: &Question, layers: &mut [Vec<Candidate>]) {
    let Some(matches) = question.matches.as_ref().filter(|matches| !matches.is_cut) else { return };
    let matching: BTreeSet<&ItemId> = matches.ids();
    for layer in layers {
        layer.retain(|candidate| matching.contains(&candidate.id.item) || is_named(candidate));
    }
}
