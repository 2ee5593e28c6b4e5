//! Candidates out of what the store gives: one way for every collector.

use haversack_core::candidate::{Candidate, Essential, FoundBy, Place, merge};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::Intent;
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::kinds::moment;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Passage, Stored};
use serde_json::Value;

use super::{Collected, Question};
use crate::recipe::CollectorSpec;

/// What a reduced form is worth beside the whole: more than half, because it is made of what the
/// kind calls essential, and not all, because the rest is worth having.
const ESSENTIAL_WORTH: f64 = 0.6;

/// How direct the way is to a kind without a definition (K4).
const PRIORITY: f64 = 0.3;

/// A day in milliseconds.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// A whole item as a candidate.
pub(crate) fn from_stored(stored: &Stored) -> Candidate {
    let item = &stored.item;
    let id = CandidateId::whole(item.id.clone());
    let mut candidate = Candidate::new(id, item.kind.clone(), &stored.text());
    candidate.essential = stored.essential().map(|text| essential(&text));
    describe(&mut candidate, stored);
    candidate
}

/// A reduced form, worth what reduced forms are worth.
pub(super) fn essential(text: &str) -> Essential {
    Essential { text: text.into(), worth: Score::unit(ESSENTIAL_WORTH) }
}

/// A chunk as a candidate; the whole item when it has no other.
///
/// It has no reduced form: see [`from_passages`] for kinds that have one.
pub(crate) fn from_passage(passage: &Passage) -> Candidate {
    let item = &passage.stored.item;
    let (whole, id) = (passage.is_whole, item.id.clone());
    let id = if whole { CandidateId::whole(id) } else { CandidateId::chunk(id, passage.chunk) };
    let mut candidate = Candidate::new(id, item.kind.clone(), &passage.text);
    candidate.span = passage.span;
    candidate.features.clone_from(&passage.features);
    describe(&mut candidate, &passage.stored);
    candidate.place.breadcrumb.clone_from(&passage.headings);
    if !whole {
        let (first, last) = passage.lines;
        candidate.place.lines = Some(first..last.saturating_add(1));
    }
    candidate
}

fn describe(candidate: &mut Candidate, stored: &Stored) {
    let item = &stored.item;
    candidate.place = Place {
        title: Some(item.title.clone()).filter(|title| !title.trim().is_empty()),
        byline: stored.byline(),
        path: path_of(item).map(str::to_owned),
        sort: stored.sort().map(str::to_owned),
        ..Place::default()
    };
    candidate.trust = item.trust;
    candidate.moment = stored.moment();
    candidate.confidence = item.confidence;
    let priority = source_priority(stored, candidate.id.chunk.is_some());
    candidate.signals.set(Component::SourcePriority, priority);
}

/// An item's path, as the item or its fields have it.
pub(super) fn path_of(item: &Item) -> Option<&str> {
    let field = || item.fields.get("path").and_then(serde_json::Value::as_str);
    item.path.as_deref().or_else(field).filter(|path| !path.trim().is_empty())
}

/// How direct the way is on which items of a kind are found (K4).
fn source_priority(stored: &Stored, is_part: bool) -> Score {
    let priority = stored
        .kinds
        .find(&stored.item.kind)
        .map_or(PRIORITY, |spec| if is_part { spec.part_priority } else { spec.priority });
    Score::unit(priority)
}

/// The items of these names, in their order. No names are not worth a question.
pub(super) async fn get(
    question: &Question,
    ids: &[ItemId],
) -> Result<Vec<Option<Stored>>, ReadError> {
    if ids.is_empty() { Ok(Vec::new()) } else { question.snapshot.get(ids).await }
}

/// Passages as candidates with what was measured of them, in their order. Of kinds that have a
/// reduced form the whole item is taken, so that it can be reduced (P8, P9, S5).
pub(super) async fn from_passages(
    question: &Question,
    passages: &[(Passage, Signals)],
) -> Result<Vec<Candidate>, ReadError> {
    let has_essential = |passage: &Passage| {
        let spec = passage.stored.kinds.find(&passage.stored.item.kind);
        spec.is_some_and(|spec| spec.fields.iter().any(|field| field.essential))
    };
    let wanted: Vec<ItemId> = passages
        .iter()
        .filter(|(passage, _)| has_essential(passage))
        .map(|(passage, _)| passage.stored.item.id.clone())
        .collect();
    let mut whole = get(question, &wanted).await?.into_iter();
    let candidate = |(passage, signals): &(Passage, Signals)| {
        let stored = if has_essential(passage) { whole.next().flatten() } else { None };
        let mut candidate = stored.map_or_else(|| from_passage(passage), |s| from_stored(&s));
        candidate.signals.strengthen(signals);
        if let Some(fits) = task_match(question, &passage.stored.item) {
            candidate.signals.set(Component::TypeMatch, fits);
        }
        candidate
    };
    Ok(passages.iter().map(candidate).collect())
}

/// How well a task answers a question about tasks (W15): what is open before what is done, and what
/// is late before all. `None` when the question is about something else, or the item is no task.
fn task_match(question: &Question, item: &Item) -> Option<Score> {
    let is_task = matches!(item.kind.as_str(), "todo" | "kanban_card");
    if question.analysis.intent != Intent::Task || !is_task {
        return None;
    }
    let is_done = item.fields.get("completed").and_then(Value::as_bool) == Some(true);
    let due = item.fields.get("dueDate").and_then(moment);
    // A day is over when the next one begins.
    let is_late = due.is_some_and(|due| due.as_millis() + DAY_MILLIS <= question.now.as_millis());
    Some(Score::unit(match (is_done, is_late) {
        (true, _) => 0.2,
        (false, false) => 0.7,
        (false, true) => 1.0,
    }))
}

/// A whole item with a collector's own relevance, which is also its nearness in meaning: nobody
/// else measures that of what was not searched for (W6).
pub(super) fn relevant(stored: &Stored, relevance: Score) -> Candidate {
    let mut candidate = from_stored(stored);
    candidate.signals.set(Component::Collector, relevance);
    candidate.signals.set(Component::Semantic, relevance);
    candidate
}

/// A relevance that falls from place to place, in thousandths, so that equal steps are exact.
pub(super) fn falling(from: usize, step: usize, place: usize) -> Score {
    let left = from.saturating_sub(step.saturating_mul(place));
    Score::unit(f64::from(u32::try_from(left).unwrap_or(u32::MAX)) / 1_000.0)
}

/// One at the first place, falling evenly to nothing after the last of `count`.
pub(super) fn share_left(place: usize, count: usize) -> Score {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Score::unit(1.0 - number(place) / number(count.max(1)))
}

/// What a collector found, best first: each once, without what has nothing to show, and with its
/// finder and place noted.
pub(super) fn collected(spec: &CollectorSpec, candidates: Vec<Candidate>) -> Collected {
    let mut candidates =
        merge(candidates.into_iter().filter(|c| !c.text.trim().is_empty()).collect());
    let collector: std::sync::Arc<str> = spec.by.as_str().into();
    for (candidate, rank) in candidates.iter_mut().zip(1..) {
        candidate.found = vec![FoundBy { collector: collector.clone(), rank }];
    }
    Collected { candidates, ..Collected::default() }
}
