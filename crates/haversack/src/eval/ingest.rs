//! A corpus into a workspace of its own, as items that the recipe looks for.

use std::time::Instant;

use haversack_core::item::Kind;
use haversack_store::store::item::Item;

use super::error::EvalError;
use super::figures::Ingest;
use super::rows::Rows;
use super::scope::{CORPUS, Document, Scope};
use super::{Event, Watch};
use crate::engine::Workspace;
use crate::recipe::Recipe;

/// Most items of a batch.
const BATCH_ITEMS: usize = 1_000;

/// About as much text a batch has at most.
const BATCH_BYTES: usize = 8 << 20;

/// Collectors that search. What the first of them looks for is what documents become.
const SEARCHES: [&str; 4] = ["hybrid", "semantic", "text", "keyword"];

/// What documents have to be, so that the recipe finds them.
pub(super) fn kind(recipe: &Recipe) -> Kind {
    let mut collectors = recipe.layers.iter().flat_map(|layer| &layer.collect);
    let first = collectors.find(|collector| SEARCHES.contains(&collector.by.as_str()));
    let kind = first.and_then(|collector| collector.kinds.first());
    kind.cloned().unwrap_or_else(|| Kind::new("document").expect("a constant that is a kind"))
}

/// Stores all documents.
pub(super) async fn ingest(
    workspace: &Workspace,
    scope: &Scope,
    kind: &Kind,
    watch: &mut Watch<'_>,
) -> Result<Ingest, EvalError> {
    let mut rows = Rows::open(&scope.path.join(CORPUS))?;
    let started = Instant::now();
    let (mut stored, mut bytes) = (0, 0);
    let mut batch: Vec<Item> = Vec::new();
    loop {
        let document = rows.object()?.map(|mut object| Document::of(&mut object)).transpose()?;
        let is_last = document.is_none();
        if let Some(document) = document {
            bytes += document.text.len();
            batch.push(item(document, kind));
        }
        if !batch.is_empty() && (is_last || batch.len() == BATCH_ITEMS || bytes >= BATCH_BYTES) {
            stored += batch.len() as u64;
            let written = workspace.put(std::mem::take(&mut batch)).await;
            written.map_err(|source| EvalError::Store {
                set: scope.name.clone(),
                source: Box::new(source),
            })?;
            bytes = 0;
            watch(Event::Stored { set: &scope.name, done: stored, of: scope.n_documents })
                .map_err(EvalError::Watch)?;
        }
        if is_last {
            return Ok(Ingest { items: stored, elapsed: started.elapsed() });
        }
    }
}

fn item(document: Document, kind: &Kind) -> Item {
    let Document { id, title, text, dates } = document;
    Item {
        title: title.unwrap_or_default(),
        body: text,
        created: dates.created,
        updated: dates.updated.or(dates.created),
        ..Item::new(id, kind.clone(), "")
    }
}
