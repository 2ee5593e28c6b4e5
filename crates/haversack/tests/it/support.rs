//! Workspaces for tests: the samples, and items built in the test.

use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use haversack::{Assembled, Engine, Error, Request, Workspace};
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::store::item::Item;
use haversack_store::store::viewer::Viewer;
use serde_json::Value;
use tempfile::TempDir;

use crate::recording::OpenRecorded as _;

/// The current time of the samples: 2026-11-16T09:00:00Z.
pub(crate) const NOW: i64 = 1_794_819_600_000;

/// A workspace in a folder of its own.
pub(crate) struct Fixture {
    pub(crate) workspace: Workspace,
    _engine: Engine,
    _folder: TempDir,
}

impl std::ops::Deref for Fixture {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_millis(NOW)
}

/// An empty workspace whose clock stands still.
pub(crate) fn empty_workspace() -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::builder().clock(now).open_recorded(folder.path()).unwrap();
    let workspace = engine.workspace("test").unwrap();
    Fixture { workspace, _engine: engine, _folder: folder }
}

/// A workspace with one of the samples.
pub(crate) fn sample_workspace(name: &str) -> Fixture {
    let fixture = empty_workspace();
    import_sample(&fixture, name);
    fixture
}

/// Imports a sample into a workspace.
pub(crate) fn import_sample(workspace: &Workspace, name: &str) {
    let path = format!("{}/../haversack-eval/samples/{name}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let mut file = BufReader::new(std::fs::File::open(path).unwrap());
    let store = &**workspace.blocking_store();
    haversack_store::transfer::import(store, &mut file, ("sample", now()), &mut |_| {}).unwrap();
}

/// The built-in model, counting the texts that it embeds.
#[derive(Debug)]
pub(crate) struct CountingEmbedder {
    inner: Arc<dyn Embedder>,
    texts: AtomicUsize,
}

impl CountingEmbedder {
    pub(crate) fn new() -> Arc<CountingEmbedder> {
        Arc::new(CountingEmbedder {
            inner: haversack::default_embedder(),
            texts: AtomicUsize::new(0),
        })
    }

    /// Returns how many texts were embedded since the last call.
    pub(crate) fn take_count(&self) -> usize {
        self.texts.swap(0, Ordering::SeqCst)
    }
}

impl Embedder for CountingEmbedder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        self.inner.embed(texts)
    }
}

/// Opens the workspace of a folder with an embedder.
pub(crate) fn open_with_embedder(folder: &Path, embedder: Arc<dyn Embedder>) -> Workspace {
    let engine = Engine::builder().clock(now).embedder(embedder).open_recorded(folder).unwrap();
    engine.workspace("test").unwrap()
}

/// An item with fields.
#[expect(clippy::needless_pass_by_value, reason = "fields are written at the call")]
pub(crate) fn item(id: &str, kind: &str, body: &str, fields: Value) -> Item {
    let mut item = Item::new(ItemId::new(id).unwrap(), Kind::new(kind).unwrap(), body);
    item.fields = fields.as_object().cloned().unwrap_or_default();
    item
}

pub(crate) fn id(text: &str) -> ItemId {
    ItemId::new(text).unwrap()
}

/// Makes a request by a user.
pub(crate) fn user_request(recipe: &str, query: &str, user: &str) -> Request {
    let mut request = Request::new(recipe, query);
    request.viewer = Viewer::user(user).unwrap();
    request.user = Some(user.to_owned());
    request
}

/// Returns the ids of a layer's packed items, in the order of the text.
pub(crate) fn packed_ids(assembled: &Assembled, layer: &str) -> Vec<String> {
    let section = assembled.section(layer);
    let items = section.map(|section| section.items.as_slice()).unwrap_or_default();
    items.iter().map(|item| item.id.to_string()).collect()
}

/// Returns all ids in the ledger of a layer.
pub(crate) fn ledger_ids(assembled: &Assembled, layer: &str) -> Vec<String> {
    let entries = assembled.pack.ledger.iter().filter(|entry| *entry.layer == *layer);
    entries.map(|entry| entry.id.to_string()).collect()
}

pub(crate) async fn pack(workspace: &Workspace, request: Request) -> Arc<Assembled> {
    workspace.pack(request).await.unwrap()
}

/// Returns the error message of a refused request.
pub(crate) fn refusal<T: std::fmt::Debug>(outcome: Result<T, Error>) -> String {
    outcome.unwrap_err().to_string()
}
