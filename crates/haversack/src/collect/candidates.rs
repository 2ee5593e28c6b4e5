//! Makes candidates from stored items and passages, the same way for every collector.

use haversack_core::candidate::{Candidate, Essential, FoundBy, Place, merge};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::query::Intent;
use haversack_core::rank::{Component, Signals};
use haversack_core::units::Score;
use haversack_store::kinds::moment;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Item, Passage, Stored};
use serde_json::Value;

use super::{CollectorOutput, Question};
use crate::recipe::CollectorSpec;

/// The value of an essential form relative to the whole: more than half, because it has the fields
/// that the kind calls essential, and not all, because the rest has value, too.
const ESSENTIAL_WORTH: f64 = 0.6;

/// The source priority of kinds without a definition (K4).
const DEFAULT_PRIORITY: f64 = 0.3;

/// A day in milliseconds.
const DAY_MILLIS: i64 = 24 * 60 * 60 * 1_000;

/// Makes a candidate of a whole item.
pub(crate) fn candidate_from_item(stored: &Stored) -> Candidate {
    let item = &stored.item;
    let id = CandidateId::whole(item.id.clone());
    let mut candidate = Candidate::new(id, item.kind.clone(), &stored.text());
    candidate.essential = stored.essential().map(|text| essential_form(&text));
    set_metadata(&mut candidate, stored);
    candidate
}

/// Makes an essential form of a text.
pub(super) fn essential_form(text: &str) -> Essential {
    Essential { text: text.into(), worth: Score::unit(ESSENTIAL_WORTH) }
}

/// Makes a candidate of a chunk, or of the whole item if it has only one chunk.
///
/// The candidate has no essential form: see [`candidates_from_passages`] for kinds that have one.
pub(crate) fn candidate_from_passage(passage: &Passage) -> Candidate {
    let item = &passage.stored.item;
    let (whole, id) = (passage.is_whole, item.id.clone());
    let id = if whole { CandidateId::whole(id) } else { CandidateId::chunk(id, passage.chunk) };
    let mut candidate = Candidate::new(id, item.kind.clone(), &passage.text);
    candidate.span = passage.span;
    candidate.features.clone_from(&passage.features);
    set_metadata(&mut candidate, &passage.stored);
    candidate.place.breadcrumb.clone_from(&passage.headings);
    if !whole {
        let (first, last) = passage.lines;
        candidate.place.lines = Some(first..last.saturating_add(1));
    }
    candidate
}

/// Sets a candidate's place, trust, moment, confidence and source priority.
fn set_metadata(candidate: &mut Candidate, stored: &Stored) {
    let item = &stored.item;
    candidate.place = Place {
        title: Some(item.title.clone()).filter(|title| !title.trim().is_empty()),
        byline: stored.byline(),
        path: path_of(item).map(str::to_owned),
        subtype: stored.subtype().map(str::to_owned),
        // Most items have no pages, and an empty list costs no allocation.
        page_lines: match page_lines(item) {
            lines if lines.is_empty() => std::sync::Arc::default(),
            lines => lines.into(),
        },
        ..Place::default()
    };
    candidate.trust = item.trust;
    candidate.moment = stored.moment();
    candidate.confidence = item.confidence;
    let priority = source_priority(stored, candidate.id.chunk.is_some());
    candidate.signals.set(Component::SourcePriority, priority);
}

/// The field of an item that has the lines on which its pages begin.
pub(crate) const PAGE_LINES: &str = "pageLines";

/// Returns the lines of an item on which its pages begin; none for an item without pages.
pub(crate) fn page_lines(item: &Item) -> Vec<u32> {
    let lines = item.fields.get(PAGE_LINES).and_then(Value::as_array);
    let lines = lines.into_iter().flatten().map_while(Value::as_u64);
    lines.map(|line| u32::try_from(line).unwrap_or(u32::MAX)).collect()
}

/// Returns an item's path: its own, or else that in its fields.
pub(super) fn path_of(item: &Item) -> Option<&str> {
    let field = || item.fields.get("path").and_then(serde_json::Value::as_str);
    item.path.as_deref().or_else(field).filter(|path| !path.trim().is_empty())
}

/// Returns the source priority of an item's kind (K4).
fn source_priority(stored: &Stored, is_part: bool) -> Score {
    let priority = stored
        .kinds
        .find(&stored.item.kind)
        .map_or(DEFAULT_PRIORITY, |spec| if is_part { spec.part_priority } else { spec.priority });
    Score::unit(priority)
}

/// Reads items by id, in the order of the ids. Without ids the store is not called.
pub(super) async fn get_items(
    question: &Question,
    ids: &[ItemId],
) -> Result<Vec<Option<Stored>>, ReadError> {
    if ids.is_empty() { Ok(Vec::new()) } else { question.snapshot.get(ids).await }
}

/// Makes candidates of passages, in order, with the signals given for them. For kinds that have an
/// essential form the whole item becomes the candidate, so that it can be reduced to it (P8, P9,
/// S5).
pub(super) async fn candidates_from_passages(
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
    let mut whole = get_items(question, &wanted).await?.into_iter();
    let candidate = |(passage, signals): &(Passage, Signals)| {
        let stored = if has_essential(passage) { whole.next().flatten() } else { None };
        let mut candidate =
            stored.map_or_else(|| candidate_from_passage(passage), |s| candidate_from_item(&s));
        candidate.signals.strengthen(signals);
        if let Some(score) = task_match(question, &passage.stored.item) {
            candidate.signals.set(Component::TypeMatch, score);
        }
        candidate
    };
    Ok(passages.iter().map(candidate).collect())
}

/// Scores a task for a question about tasks (W15): overdue tasks first, then open ones, then those
/// that are done. Returns `None` if the question is not about tasks or the item is no task.
fn task_match(question: &Question, item: &Item) -> Option<Score> {
    let is_task = matches!(item.kind.as_str(), "todo" | "kanban_card");
    if question.analysis.intent != Intent::Task || !is_task {
        return None;
    }
    let is_done = item.fields.get("completed").and_then(Value::as_bool) == Some(true);
    let due = item.fields.get("dueDate").and_then(moment);
    // A task is overdue when the day it is due has ended.
    let is_late = due.is_some_and(|due| due.as_millis() + DAY_MILLIS <= question.now.as_millis());
    Some(Score::unit(match (is_done, is_late) {
        (true, _) => 0.2,
        (false, false) => 0.7,
        (false, true) => 1.0,
    }))
}

/// Makes a candidate of a whole item with the collector's own relevance. The relevance is also its
/// semantic score, because an item that no search found has no other (W6).
pub(super) fn relevant_candidate(stored: &Stored, relevance: Score) -> Candidate {
    let mut candidate = candidate_from_item(stored);
    candidate.signals.set(Component::Collector, relevance);
    candidate.signals.set(Component::Semantic, relevance);
    candidate
}

/// Returns a relevance that falls by `step` from rank to rank. Arguments are in thousandths, so
/// that equal steps are exact.
pub(super) fn falling_relevance(from: usize, step: usize, rank: usize) -> Score {
    let left = from.saturating_sub(step.saturating_mul(rank));
    Score::unit(f64::from(u32::try_from(left).unwrap_or(u32::MAX)) / 1_000.0)
}

/// Returns a relevance that falls evenly from 1 at the first rank to 0 after the last of `count`.
pub(super) fn linear_relevance(rank: usize, count: usize) -> Score {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    Score::unit(1.0 - number(rank) / number(count.max(1)))
}

/// Makes a collector's output of candidates, best first: merges duplicates, removes empty texts,
/// and notes the collector and the rank on each.
pub(super) fn collector_output(
    spec: &CollectorSpec,
    candidates: Vec<Candidate>,
) -> CollectorOutput {
    let mut candidates =
        merge(candidates.into_iter().filter(|c| !c.text.trim().is_empty()).collect());
    let collector: std::sync::Arc<str> = spec.by.as_str().into();
    for (candidate, rank) in candidates.iter_mut().zip(1..) {
        candidate.found = vec![FoundBy { collector: collector.clone(), rank }];
    }
    CollectorOutput { candidates, ..CollectorOutput::default() }
}
