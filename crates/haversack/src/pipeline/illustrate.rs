//! What a shape shows of items beside their texts: their fields, or excerpts with the hits marked.
//! Read for what is in the pack, and nothing else.

use std::sync::Arc;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_store::store::Snapshot;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::Passage;
use haversack_store::store::query::Excerpt;

use super::assembled::Assembled;
use crate::recipe::Shape;

/// Longest excerpt in characters.
const EXCERPT_CHARS_MAX: usize = 280;

/// Adds what the recipe's shape shows.
///
/// # Errors
/// When the store cannot be read.
pub(crate) async fn illustrate(
    assembled: &mut Assembled,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<(), ReadError> {
    let sections = &assembled.pack.sections;
    let shown: Vec<CandidateId> = sections
        .iter()
        .flat_map(|section| &section.items)
        .map(|item| item.id.clone())
        .filter(|id| !assembled.is_made_up(&id.item))
        .collect();
    match assembled.recipe.shape {
        Shape::Proposal | Shape::Memory => {
            let mut items: Vec<ItemId> = shown.into_iter().map(|id| id.item).collect();
            items.sort_unstable();
            items.dedup();
            let stored = snapshot.get(&items).await?;
            let fields = stored.into_iter().flatten();
            assembled.fields = fields.map(|stored| (stored.item.id, stored.item.fields)).collect();
        }
        Shape::Prime => {
            let passages = snapshot.passages(&shown).await?;
            let (ids, passages): (Vec<CandidateId>, Vec<Passage>) = shown
                .into_iter()
                .zip(passages)
                .filter_map(|(id, passage)| Some((id, passage?)))
                .unzip();
            let passages: Vec<&Passage> = passages.iter().collect();
            let query = &assembled.request.query;
            let excerpts = snapshot.excerpts(&passages, query, EXCERPT_CHARS_MAX);
            assembled.excerpts = ids.into_iter().zip(excerpts.iter().map(marked)).collect();
        }
        Shape::Sections | Shape::Workspace | Shape::Situation => {}
    }
    Ok(())
}

/// The excerpt with its hits between marks (K3).
fn marked(excerpt: &Excerpt) -> String {
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
