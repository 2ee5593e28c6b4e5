//! Stores a corpus in its own workspace, as items of the kind that the recipe searches.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::kinds::Kinds;
use haversack_store::store::item::Item;

use super::corpus::{CorpusDocument, CorpusSource};
use super::error::EvalError;
use super::metrics::IngestTiming;
use super::scope::EvalScope;
use super::{EvalEvent, EventHandler};
use haversack::engine::Workspace;
use haversack::ingest::{self, IngestRequest};
use haversack::recipe::Recipe;

/// The maximum number of items in a batch.
const BATCH_ITEMS: usize = 1_000;

/// The approximate maximum size of a batch.
const BATCH_BYTES: usize = 8 << 20;

/// The kind that `add` gives a file.
const FILE: &str = "file";

/// Collectors that search. Documents get the first kind that the first of them searches.
const SEARCHES: [&str; 4] = ["hybrid", "semantic", "text", "keyword"];

/// The kind that documents need for the recipe to find them. Files keep the kind that `add` gives
/// them unless the recipe searches other kinds only.
pub(super) fn document_kind(recipe: &Recipe, corpus: &CorpusSource) -> Kind {
    let mut collectors = recipe.layers.iter().flat_map(|layer| &layer.collect);
    let first = collectors.find(|collector| SEARCHES.contains(&collector.by.as_str()));
    let kinds = first.map_or(&[][..], |collector| collector.kinds.as_slice());
    let usual = match corpus {
        CorpusSource::Lines(_) => "document",
        CorpusSource::Files(_) => FILE,
    };
    let usual = Kind::new(usual).expect("a constant that is a kind");
    match kinds.first() {
        Some(first) if matches!(corpus, CorpusSource::Lines(_)) || !kinds.contains(&usual) => {
            first.clone()
        }
        _ => usual,
    }
}

/// Stores all documents.
pub(super) async fn ingest(
    workspace: &Workspace,
    scope: &EvalScope,
    kind: &Kind,
    watch: &mut EventHandler<'_>,
) -> Result<IngestTiming, EvalError> {
    match &scope.corpus {
        CorpusSource::Lines(_) => ingest_lines(workspace, scope, kind, watch).await,
        CorpusSource::Files(path) => ingest_files(workspace, scope, (path, kind), watch).await,
    }
}

/// Adds a folder as `haversack add` does.
async fn ingest_files(
    workspace: &Workspace,
    scope: &EvalScope,
    (path, kind): (&Path, &Kind),
    watch: &mut EventHandler<'_>,
) -> Result<IngestTiming, EvalError> {
    let started = Instant::now();
    let kind = (kind.as_str() != FILE).then(|| kind.clone());
    let add = IngestRequest::new(vec![path.to_owned()], workspace.now(), "eval");
    let add = IngestRequest { kind, ..add };
    let store = Arc::clone(workspace.blocking_store());
    let added = tokio::task::spawn_blocking(move || ingest::add(&*store, &add, &mut |_| ())).await;
    let added = added.map_err(|error| EvalError::folder(path, format!("not added: {error}")))?;
    let added = added
        .map_err(|source| EvalError::Add { set: scope.name.clone(), source: Box::new(source) })?;
    let items = added.progress.stored;
    watch(EvalEvent::Stored { set: &scope.name, done: items, of: scope.n_documents })
        .map_err(EvalError::EventHandler)?;
    Ok(IngestTiming { items, elapsed: started.elapsed() })
}

async fn ingest_lines(
    workspace: &Workspace,
    scope: &EvalScope,
    kind: &Kind,
    watch: &mut EventHandler<'_>,
) -> Result<IngestTiming, EvalError> {
    let mut documents = scope.corpus.documents()?;
    let started = Instant::now();
    let (mut read, mut stored, mut bytes) = (0, 0, 0);
    let mut batch: Vec<Item> = Vec::new();
    let mut conversations: BTreeSet<ItemId> = BTreeSet::new();
    loop {
        let document = documents.next()?.map(|(document, _)| document);
        let is_last = document.is_none();
        if let Some(document) = document {
            bytes += document.text.len();
            read += 1;
            let conversation = document.conversation.as_deref().and_then(conversation_id);
            batch.extend(
                conversation
                    .clone()
                    .filter(|id| conversations.insert(id.clone()))
                    .map(conversation_item),
            );
            batch.push(Item { parent: conversation, position: read, ..item(document, kind) });
        }
        if !batch.is_empty() && (is_last || batch.len() >= BATCH_ITEMS || bytes >= BATCH_BYTES) {
            stored = read.unsigned_abs();
            let written = workspace.put(std::mem::take(&mut batch)).await;
            written.map_err(|source| EvalError::Store {
                set: scope.name.clone(),
                source: Box::new(source),
            })?;
            bytes = 0;
            watch(EvalEvent::Stored { set: &scope.name, done: stored, of: scope.n_documents })
                .map_err(EvalError::EventHandler)?;
        }
        if is_last {
            return Ok(IngestTiming { items: stored, elapsed: started.elapsed() });
        }
    }
}

/// The parent of all turns of a conversation, which makes them neighbours. It has no text, so no
/// search finds it.
fn conversation_item(id: ItemId) -> Item {
    Item::new(id, Kind::new("conversation").expect("a constant that is a kind"), "")
}

/// The id of a conversation's parent item.
fn conversation_id(name: &str) -> Option<ItemId> {
    ItemId::new(&format!("talk of {name}")).ok()
}

fn item(document: CorpusDocument, kind: &Kind) -> Item {
    let CorpusDocument { id, title, text, path, dates, conversation: _, mut fields } = document;
    // A set may use the name of one of the kind's own fields for something else.
    let known = Kinds::built_in().find(kind).map_or(&[][..], |spec| &spec.fields);
    fields.retain(|name, _| known.iter().all(|field| field.name != *name));
    Item {
        fields,
        title: title.unwrap_or_default(),
        body: text,
        path,
        created: dates.created,
        updated: dates.updated.or(dates.created),
        ..Item::new(id, kind.clone(), "")
    }
}
