//! A corpus into a workspace of its own, as items that the recipe looks for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::kinds::Kinds;
use haversack_store::store::item::Item;

use super::corpus::{Corpus, Document};
use super::error::EvalError;
use super::figures::Ingest;
use super::scope::Scope;
use super::{Event, Watch};
use crate::engine::Workspace;
use crate::ingest::{self, Add};
use crate::recipe::Recipe;

/// Most items of a batch.
const BATCH_ITEMS: usize = 1_000;

/// About as much text a batch has at most.
const BATCH_BYTES: usize = 8 << 20;

/// What `add` makes of a file.
const FILE: &str = "file";

/// Collectors that search. What the first of them looks for is what documents become.
const SEARCHES: [&str; 4] = ["hybrid", "semantic", "text", "keyword"];

/// What documents have to be, so that the recipe finds them. Files stay what `add` makes of them
/// unless the recipe looks for something else.
pub(super) fn kind(recipe: &Recipe, corpus: &Corpus) -> Kind {
    let mut collectors = recipe.layers.iter().flat_map(|layer| &layer.collect);
    let first = collectors.find(|collector| SEARCHES.contains(&collector.by.as_str()));
    let kinds = first.map_or(&[][..], |collector| collector.kinds.as_slice());
    let usual = match corpus {
        Corpus::Lines(_) => "document",
        Corpus::Files(_) => FILE,
    };
    let usual = Kind::new(usual).expect("a constant that is a kind");
    match kinds.first() {
        Some(first) if matches!(corpus, Corpus::Lines(_)) || !kinds.contains(&usual) => {
            first.clone()
        }
        _ => usual,
    }
}

/// Stores all documents.
pub(super) async fn ingest(
    workspace: &Workspace,
    scope: &Scope,
    kind: &Kind,
    watch: &mut Watch<'_>,
) -> Result<Ingest, EvalError> {
    match &scope.corpus {
        Corpus::Lines(_) => ingest_lines(workspace, scope, kind, watch).await,
        Corpus::Files(path) => ingest_files(workspace, scope, (path, kind), watch).await,
    }
}

/// Adds a folder as `haversack add` does.
async fn ingest_files(
    workspace: &Workspace,
    scope: &Scope,
    (path, kind): (&Path, &Kind),
    watch: &mut Watch<'_>,
) -> Result<Ingest, EvalError> {
    let started = Instant::now();
    let kind = (kind.as_str() != FILE).then(|| kind.clone());
    let add = Add {
        paths: vec![path.to_owned()],
        kind,
        users: BTreeMap::new(),
        prune: false,
        at: workspace.now(),
        origin: "eval".to_owned(),
    };
    let store = Arc::clone(workspace.blocking_store());
    let added = tokio::task::spawn_blocking(move || ingest::add(&*store, &add, &mut |_| ())).await;
    let added = added.map_err(|error| EvalError::folder(path, format!("not added: {error}")))?;
    let added = added
        .map_err(|source| EvalError::Add { set: scope.name.clone(), source: Box::new(source) })?;
    let items = added.progress.stored;
    watch(Event::Stored { set: &scope.name, done: items, of: scope.n_documents })
        .map_err(EvalError::Watch)?;
    Ok(Ingest { items, elapsed: started.elapsed() })
}

async fn ingest_lines(
    workspace: &Workspace,
    scope: &Scope,
    kind: &Kind,
    watch: &mut Watch<'_>,
) -> Result<Ingest, EvalError> {
    let mut documents = scope.corpus.documents()?;
    let started = Instant::now();
    let (mut read, mut stored, mut bytes) = (0, 0, 0);
    let mut batch: Vec<Item> = Vec::new();
    let mut talks: BTreeSet<ItemId> = BTreeSet::new();
    loop {
        let document = documents.next()?.map(|(document, _)| document);
        let is_last = document.is_none();
        if let Some(document) = document {
            bytes += document.text.len();
            read += 1;
            let talk = document.talk.as_deref().and_then(talk_id);
            batch.extend(talk.clone().filter(|id| talks.insert(id.clone())).map(talk_item));
            batch.push(Item { parent: talk, position: read, ..item(document, kind) });
        }
        if !batch.is_empty() && (is_last || batch.len() >= BATCH_ITEMS || bytes >= BATCH_BYTES) {
            stored = read.unsigned_abs();
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

/// What turns of one conversation hang under, so that each has its neighbours. It has no text and
/// is never found itself.
fn talk_item(id: ItemId) -> Item {
    Item::new(id, Kind::new("conversation").expect("a constant that is a kind"), "")
}

/// An id that no document has: theirs come from a file of their own.
fn talk_id(name: &str) -> Option<ItemId> {
    ItemId::new(&format!("talk of {name}")).ok()
}

fn item(document: Document, kind: &Kind) -> Item {
    let Document { id, title, text, path, dates, talk: _, mut fields } = document;
    // What the kind has a meaning for is not what a set means by the same name.
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
