//! Adds what a recipe's shape shows beside texts: items' fields, or excerpts with the hits marked.
//! Only items that are in the pack are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use haversack_core::assemble::PackedItem;
use haversack_core::ids::{CandidateId, ItemId};
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Passage;
use haversack_store::store::query::Excerpt;

use super::assembled::Assembled;
use crate::recipe::Shape;

/// Longest excerpt in characters.
const EXCERPT_CHARS_MAX: usize = 280;

/// Adds the fields, related items and excerpts that the recipe's shape shows.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn add_fields_and_excerpts(
    assembled: &mut Assembled,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<(), ReadError> {
    let sections = &assembled.pack.sections;
    let shown: Vec<CandidateId> = sections
        .iter()
        .flat_map(|section| &section.items)
        .map(|item| item.id.clone())
        .filter(|id| !assembled.is_synthetic(&id.item))
        .collect();
    match assembled.recipe.shape {
        Shape::Proposal | Shape::Memory => {
            let mut items: Vec<ItemId> = shown.into_iter().map(|id| id.item).collect();
            items.sort_unstable();
            items.dedup();
            let stored = snapshot.get(&items).await?;
            let fields = stored.into_iter().flatten();
            assembled.fields = fields.map(|stored| (stored.item.id, stored.item.fields)).collect();
            let related = related_ids(assembled);
            let stored = snapshot.get(&related).await?.into_iter().flatten();
            assembled.related = stored.map(|stored| (stored.item.id.clone(), stored)).collect();
        }
        Shape::Prime => {
            let passages = snapshot.passages(&shown).await?;
            let items: BTreeMap<&CandidateId, &PackedItem> =
                sections.iter().flat_map(|section| &section.items).map(|it| (&it.id, it)).collect();
            let (ids, passages): (Vec<CandidateId>, Vec<Passage>) = shown
                .into_iter()
                .zip(passages)
                .filter_map(|(id, passage)| {
                    // The excerpt is of what is in the pack, which may be any part of the item.
                    let text = assembled.content(items.get(&id)?);
                    Some((id, Passage { text, ..passage? }))
                })
                .unzip();
            let passages: Vec<&Passage> = passages.iter().collect();
            let query = &assembled.request.query;
            let excerpts = snapshot.excerpts(&passages, query, EXCERPT_CHARS_MAX);
            assembled.excerpts = ids.into_iter().zip(excerpts.iter().map(mark_hits)).collect();
        }
        Shape::Sections | Shape::Workspace | Shape::Situation => {}
    }
    Ok(())
}

/// Returns the items that collectors found linked with candidates, each once, sorted.
fn related_ids(assembled: &Assembled) -> Vec<ItemId> {
    let facts = assembled.facts.values().filter_map(|facts| facts.get("related"));
    let entries = facts.filter_map(serde_json::Value::as_array).flatten();
    let mut ids: Vec<ItemId> =
        entries.filter_map(|entry| ItemId::new(entry.get("id")?.as_str()?).ok()).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Marks the hits of an excerpt (K3).
fn mark_hits(excerpt: &Excerpt) -> String {
    let mut text = String::with_capacity(excerpt.text.len() + 6 * excerpt.hits.len());
    let mut from = 0;
    for hit in &excerpt.hits {
        text.push_str(excerpt.text.get(from..hit.start).unwrap_or_default());
        text.push_str("<<<");
        text.push_str(excerpt.text.get(hit.clone()).unwrap_or_default());
        text.push_str(">>>");
        from = hit.end;
    }
    text.push_str(excerpt.text.get(from..).unwrap_or_default());
    text
}
