//! Reading stored summaries while a pack is made, and noting those that are missing.

use std::collections::BTreeSet;

use haversack_core::candidate::{Candidate, Essential};
use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::{Kind, Trust};
use haversack_core::units::Score;
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Stored;
use haversack_store::store::viewer::Readers;
use serde_json::Value;

use super::{
    MissingSummaries, MissingSummary, OF_CONVERSATION, OF_PAGE, OF_TEXT, SUMMARY, hash_parts,
    summary_id,
};
use crate::recipe::LayerSpec;

/// Texts shorter than this are not worth a summary.
const TEXT_BYTES_MIN: usize = 1_000;

/// Pages shorter than this are not worth a summary.
const PAGE_BYTES_MIN: usize = 4_000;

/// Most items of one pack whose summaries are looked for.
const LOOKED_UP_MAX: usize = 100;

/// Earlier messages that may follow the summarised ones before a new summary is made.
const CONVERSATION_LEFT_MAX: usize = 10;

/// The value of a summary relative to the whole text.
const SUMMARY_WORTH: f64 = 0.6;

/// A stored summary.
#[derive(Debug)]
struct StoredSummary<'s> {
    stored: &'s Stored,
    text: &'s str,
    hash: &'s str,
    model: &'s str,
    subject: &'s str,
    /// How many texts it was made of.
    parts: usize,
}

impl<'s> StoredSummary<'s> {
    /// Reads an item as a summary of `item`. The engine is its only writer, but an item of that id could
    /// have come in with an import: it is used only if it says what the engine writes.
    fn read(stored: &'s Stored, item: &ItemId, of: &str) -> Option<StoredSummary<'s>> {
        let fields = &stored.item.fields;
        let text = |name: &str| fields.get(name).and_then(Value::as_str);
        let is_summary = stored.item.kind.as_str() == SUMMARY
            && stored.item.parent.as_ref() == Some(item)
            && text("of") == Some(of);
        if !is_summary {
            return None;
        }
        let parts = fields.get("parts").and_then(Value::as_u64).unwrap_or(1);
        Some(StoredSummary {
            stored,
            text: text("summary").filter(|text| !text.trim().is_empty())?,
            hash: text("hash")?,
            model: text("model").unwrap_or("a model"),
            subject: text("subject").unwrap_or_default(),
            parts: usize::try_from(parts).ok()?,
        })
    }

    /// The text as it stands in a pack: a summary says that it is one, of what and by whom.
    fn shown(&self, of_what: &str) -> String {
        format!("(Summary of {of_what} by {}) {}", self.model, self.text.trim())
    }

    /// A candidate of its own, for a page or a conversation.
    fn candidate(&self, of_what: &str) -> Candidate {
        let item = &self.stored.item;
        let kind = Kind::new(SUMMARY).expect("a word is a kind");
        let id = CandidateId::whole(item.id.clone());
        let mut candidate = Candidate::new(id, kind, &self.shown(of_what));
        candidate.place.title = Some(format!("Summary of {}", self.subject).trim().to_owned());
        candidate.trust = item.trust;
        candidate
    }
}

/// Gives long texts in layers that summarise their summary as the form for too little room, and notes those
/// that have none.
pub(crate) async fn add_summaries(
    snapshot: &dyn Snapshot,
    missing: &MissingSummaries,
    specs: &[LayerSpec],
    layers: &mut [Vec<Candidate>],
) -> Result<(), ReadError> {
    let summarises = |spec: &LayerSpec| spec.summarise && !spec.pinned;
    if !specs.iter().any(summarises) {
        return Ok(());
    }
    let is_long = |candidate: &&Candidate| {
        let is_part = candidate.id.chunk.is_some();
        candidate.essential.is_none() && (is_part || candidate.text.len() >= TEXT_BYTES_MIN)
    };
    let texts = specs.iter().zip(&*layers).filter(|(spec, _)| summarises(spec));
    let texts = texts.flat_map(|(_, layer)| layer.iter().filter(is_long));
    let ids: BTreeSet<ItemId> = texts.map(|candidate| candidate.id.item.clone()).collect();
    let ids: Vec<ItemId> = ids.into_iter().take(LOOKED_UP_MAX).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let summary_ids: Vec<ItemId> = ids.iter().map(|id| summary_id(id, OF_TEXT)).collect();
    let (items, summaries) = (snapshot.get(&ids).await?, snapshot.get(&summary_ids).await?);
    for ((id, item), summary) in ids.iter().zip(&items).zip(&summaries) {
        // A turn of the request's own conversation is not stored.
        let Some(item) = item else { continue };
        let Some(part) = SummaryPart::of(item) else { continue };
        let summary = summary.as_ref().and_then(|stored| StoredSummary::read(stored, id, OF_TEXT));
        let hash = hash_texts(std::slice::from_ref(&part));
        let Some(summary) = summary.filter(|summary| summary.hash == hash) else {
            missing.add(MissingSummary::Text(id.clone()));
            continue;
        };
        let worth = Score::unit(SUMMARY_WORTH);
        let form = Essential { text: summary.shown("this text").into(), worth };
        let of_item = layers.iter_mut().zip(specs).filter(|(_, spec)| summarises(spec));
        for (layer, _) in of_item {
            // Once for each item: several passages of it become one document.
            let first = layer.iter_mut().find(|candidate| candidate.id.item == *id);
            if let Some(candidate) = first.filter(|candidate| is_long(&&**candidate)) {
                candidate.essential = Some(form.clone());
            }
        }
    }
    Ok(())
}

/// The blocks of a page that all readers of the page may read, as the parts of a summary. Blocks under one
/// with readers of its own are left out with it.
pub(super) fn page_parts(blocks: &[(usize, Stored)]) -> Vec<SummaryPart> {
    let mut parts = Vec::new();
    let mut hidden_below: Option<usize> = None;
    for (depth, stored) in blocks {
        if hidden_below.is_some_and(|above| *depth > above) {
            continue;
        }
        hidden_below = None;
        if stored.item.readers != Readers::Inherit {
            hidden_below = Some(*depth);
            continue;
        }
        parts.extend(SummaryPart::of(stored));
    }
    parts
}

/// A text that a summary is made of.
pub(super) struct SummaryPart {
    pub(super) id: ItemId,
    pub(super) text: String,
    pub(super) trust: Trust,
}

impl SummaryPart {
    /// The part for an item, unless it has no text.
    pub(super) fn of(stored: &Stored) -> Option<SummaryPart> {
        let (id, text, trust) = (stored.item.id.clone(), stored.text(), stored.item.trust);
        (!text.trim().is_empty()).then_some(SummaryPart { id, text, trust })
    }
}

/// Hashes the texts that a summary is made of.
pub(super) fn hash_texts(parts: &[SummaryPart]) -> String {
    hash_parts(parts.iter().map(|part| (part.id.as_str(), part.text.as_str())))
}

/// The summary of a page with these blocks, if it is long and there is one.
pub(crate) async fn page_summary(
    snapshot: &dyn Snapshot,
    missing: &MissingSummaries,
    page: &Stored,
    blocks: &[(usize, Stored)],
) -> Result<Option<Candidate>, ReadError> {
    let id = &page.item.id;
    let has_own = page.item.fields.get("summary").and_then(Value::as_str);
    if has_own.is_some_and(|summary| !summary.trim().is_empty()) {
        return Ok(None);
    }
    let parts = page_parts(blocks);
    let bytes: usize = parts.iter().map(|part| part.text.len()).sum();
    if bytes < PAGE_BYTES_MIN {
        return Ok(None);
    }
    let found = snapshot.get(&[summary_id(id, OF_PAGE)]).await?.pop().flatten();
    let summary = found.as_ref().and_then(|stored| StoredSummary::read(stored, id, OF_PAGE));
    match summary.filter(|summary| summary.hash == hash_texts(&parts)) {
        Some(summary) => Ok(Some(summary.candidate("this page"))),
        None => {
            missing.add(MissingSummary::Page(id.clone()));
            Ok(None)
        }
    }
}

/// The messages of a thread that all its readers may read, with their speakers, as the parts of a summary.
pub(super) fn message_parts<'m>(
    thread: &ItemId,
    messages: impl Iterator<Item = &'m Stored>,
) -> Vec<SummaryPart> {
    let is_shared = |stored: &&Stored| {
        let parent = stored.item.parent.as_ref();
        stored.item.readers == Readers::Inherit && parent.is_none_or(|parent| parent == thread)
    };
    messages.filter(is_shared).filter_map(SummaryPart::of).collect()
}

/// The summary of the earlier messages of a thread, if there is one of them, dated as the last that it covers.
/// `earlier` has the messages that are too old to be shown themselves, oldest first.
pub(crate) async fn conversation_summary(
    snapshot: &dyn Snapshot,
    missing: &MissingSummaries,
    thread: &ItemId,
    earlier: &[Stored],
) -> Result<Option<Candidate>, ReadError> {
    let parts = message_parts(thread, earlier.iter());
    if parts.is_empty() {
        return Ok(None);
    }
    let found = snapshot.get(&[summary_id(thread, OF_CONVERSATION)]).await?.pop().flatten();
    let summary = found.as_ref();
    let summary = summary.and_then(|stored| StoredSummary::read(stored, thread, OF_CONVERSATION));
    let summary = summary.filter(|summary| {
        let covered = parts.get(..summary.parts);
        covered.is_some_and(|covered| hash_texts(covered) == summary.hash)
    });
    let covered = summary.as_ref().map_or(0, |summary| summary.parts);
    if parts.len() > covered + CONVERSATION_LEFT_MAX || covered == 0 {
        let messages = parts.iter().map(|part| part.id.clone()).collect();
        missing.add(MissingSummary::Conversation { thread: thread.clone(), messages });
    }
    let last = covered.checked_sub(1).and_then(|at| parts.get(at));
    Ok(summary.map(|summary| {
        let of_what = format!("the first {covered} messages");
        let mut candidate = summary.candidate(&of_what);
        let last = last.and_then(|part| earlier.iter().find(|stored| stored.item.id == part.id));
        candidate.moment = last.and_then(Stored::moment);
        candidate
    }))
}
