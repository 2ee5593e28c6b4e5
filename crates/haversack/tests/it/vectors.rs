//! Vectors: refused when their dimensions do not match (M4), and made once for each text (M5, P14).

use std::sync::Arc;

use haversack::engine::{EmbedderCatalog, ModelStatus};
use haversack::{Engine, ErrorCode, NoticeCode, Request, Workspace};
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::{CommitError, error_chain};
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::{CountingEmbedder, id, item, now, open_with_embedder, pack};

/// An embedder whose vectors do not have the dimensions of its model.
#[derive(Debug)]
struct Odd {
    model: Model,
    makes: usize,
}

impl Odd {
    fn new(says: usize, makes: usize) -> Arc<Odd> {
        let model = Model { name: "odd".to_owned(), version: "1".to_owned(), dimensions: says };
        Arc::new(Odd { model, makes })
    }
}

impl Embedder for Odd {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        Ok(texts.iter().map(|_| Vector::new(vec![1.0; self.makes]).unwrap()).collect())
    }
}

#[test]
fn an_embedder_with_other_dimensions_is_refused_at_open_m4() {
    let folder = tempfile::tempdir().unwrap();
    let open = |embedder: Arc<Odd>, expected: usize| {
        Engine::builder().embedder(embedder).dimensions(expected).open(folder.path())
    };
    let error = open(Odd::new(8, 8), 1_536).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Validation);
    let message = "dimensions: odd@1/8 makes 8, not the 1536 that are expected";
    assert_eq!(error.to_string(), message);
    assert!(open(Odd::new(8, 8), 8).is_ok());
    // A model without dimensions is none.
    let engine = Engine::builder().embedder(Odd::new(0, 0)).open_recorded(folder.path()).unwrap();
    assert!(engine.workspace("test").is_err());
}

/// Wrong dimensions are detected with the first text, and nothing is stored.
#[tokio::test]
async fn vectors_of_another_length_than_promised_are_never_stored_m4() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open_with_embedder(folder.path(), Odd::new(8, 7));
    let refused = workspace.put(vec![item("tea", "note", "Green tea.", json!({}))]).await;
    let told = error_chain(&refused.unwrap_err());
    assert!(told.contains("odd@1/8") && told.contains("a vector of 7 dimensions"), "{told}");
    assert_eq!(workspace.blocking_store().stats().await.unwrap().items, 0);
}

/// Stored vectors are not compared with those of another model: opening reports the change, writes are
/// refused, and searches say that they use text only.
#[tokio::test]
async fn a_change_of_model_is_detected_at_open_m4() {
    let folder = tempfile::tempdir().unwrap();
    let tea = || vec![item("tea", "note", "Green tea.", json!({}))];
    open_with_embedder(folder.path(), haversack::default_embedder()).put(tea()).await.unwrap();
    let workspace = open_with_embedder(folder.path(), Odd::new(8, 8));
    assert!(workspace.blocking_store().stats().await.unwrap().stale);
    let new = vec![item("coffee", "note", "Black coffee.", json!({}))];
    let refused = workspace.write(Batch::put(now(), new)).await.unwrap_err();
    assert!(matches!(refused, haversack::Error::Commit(CommitError::Stale(_))), "{refused}");
    let answer = pack(&workspace, Request::new("everything", "green tea")).await;
    assert!(answer.text().contains("Green tea."));
    assert!(answer.notices.iter().any(|notice| notice.code == NoticeCode::Degraded));
    // Memories are never found by half without the caller's consent (M11).
    let memories = || Request::new("memory", "green tea");
    let strict = workspace.pack(memories()).await.unwrap_err();
    assert_eq!(strict.code(), ErrorCode::Search);
    let lax = Request { degrade: Some(true), ..memories() };
    assert!(pack(&workspace, lax).await.is_degraded());
}

/// Queries are embedded by the model whose vectors are searched, also after it was changed (B4).
#[tokio::test]
async fn queries_follow_a_change_of_the_model_b4() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = open_with_embedder(folder.path(), haversack::default_embedder());
    workspace.put(vec![item("tea", "note", "Green tea.", json!({}))]).await.unwrap();
    let memories = || Request::new("memory", "green tea");
    assert!(!pack(&workspace, memories()).await.is_degraded());
    let store = workspace.blocking_store();
    store.change_model(Odd::new(8, 8), &mut |_| {}).await.unwrap();
    assert_eq!(store.model().to_string(), "odd@1/8");
    workspace.put(vec![item("coffee", "note", "Black coffee.", json!({}))]).await.unwrap();
    assert!(!pack(&workspace, memories()).await.is_degraded());
    let given = Vector::new(vec![1.0; 8]).unwrap();
    let by_vector = Request { vector: Some(given), ..memories() };
    assert!(!pack(&workspace, by_vector).await.is_degraded());
}

/// Two models by name; the second can be made to fail.
#[derive(Debug, Default)]
struct TwoModels {
    fails: std::sync::atomic::AtomicBool,
    chosen: std::sync::Mutex<Option<String>>,
}

impl EmbedderCatalog for TwoModels {
    fn by_name(&self, name: &str, _workspace: &str) -> Result<Arc<dyn Embedder>, haversack::Error> {
        let fails = self.fails.load(std::sync::atomic::Ordering::Relaxed);
        match name {
            "built-in" => Ok(haversack::default_embedder()),
            "odd" => Ok(Odd::new(8, if fails { 7 } else { 8 })),
            _ => Err(haversack::Error::invalid("name", "there is none")),
        }
    }

    fn by_model(&self, model: &Model, workspace: &str) -> Option<Arc<dyn Embedder>> {
        let known = ["built-in", "odd"].map(|name| self.by_name(name, workspace).unwrap());
        known.into_iter().find(|embedder| embedder.model() == model)
    }

    fn choose(&self, name: &str) -> Result<(), haversack::Error> {
        *self.chosen.lock().unwrap() = Some(name.to_owned());
        Ok(())
    }
}

/// Waits until a change of the model has ended.
pub(crate) fn finished(workspace: &Workspace) -> ModelStatus {
    loop {
        let status = workspace.model_status();
        if status.change.as_ref().is_none_or(|change| change.failure.is_some()) {
            return status;
        }
        std::thread::yield_now();
    }
}

/// A workspace is changed to another model while it answers; one that fails keeps its old model and goes
/// on later; others are not touched, and each is opened with the model that made its vectors (B4, M4).
#[tokio::test]
async fn workspaces_change_their_model_one_by_one_b4() {
    let folder = tempfile::tempdir().unwrap();
    let catalog = Arc::new(TwoModels::default());
    let open = |embedder: Arc<dyn Embedder>| {
        let builder = Engine::builder().embedder(embedder).embedder_catalog(catalog.clone());
        builder.open_recorded(folder.path()).unwrap()
    };
    let engine = open(haversack::default_embedder());
    let (one, two) = (engine.workspace("one").unwrap(), engine.workspace("two").unwrap());
    for workspace in [&one, &two] {
        workspace.put(vec![item("tea", "note", "Green tea.", json!({}))]).await.unwrap();
    }
    catalog.fails.store(true, std::sync::atomic::Ordering::Relaxed);
    let started = one.start_model_change("odd").unwrap();
    assert_ne!(started.model.name, "odd");
    let failed = finished(&one);
    let failure = failed.change.unwrap().failure.unwrap();
    assert!(failure.contains("7 dimensions"), "{failure}");
    let memories = || Request::new("memory", "green tea");
    assert!(!pack(&one, memories()).await.is_degraded());
    catalog.fails.store(false, std::sync::atomic::Ordering::Relaxed);
    one.start_model_change("odd").unwrap();
    let done = finished(&one);
    assert_eq!((done.model.to_string().as_str(), done.change), ("odd@1/8", None));
    assert!(!pack(&one, memories()).await.is_degraded());
    let unchanged = one.start_model_change("odd").unwrap();
    assert_eq!(unchanged.change, None, "it has that model already");
    assert_eq!(two.model_status().model, *haversack::default_embedder().model());
    // New workspaces follow the engine's choice, which is kept.
    assert_eq!(engine.use_model("odd").unwrap().to_string(), "odd@1/8");
    assert_eq!(catalog.chosen.lock().unwrap().as_deref(), Some("odd"));
    assert_eq!(engine.workspace("three").unwrap().model_status().model.name, "odd");
    drop((engine, one, two));
    // Whatever the engine is opened with, each workspace has the model of its vectors.
    let engine = open(Odd::new(9, 9));
    let names = ["one", "two"].map(|name| {
        let workspace = engine.existing_workspace(name).unwrap();
        assert!(
            !haversack_store::store::block_on(workspace.blocking_store().stats()).unwrap().stale
        );
        workspace.model_status().model.to_string()
    });
    assert_eq!(names[0], "odd@1/8");
    assert_eq!(names[1], haversack::default_embedder().model().to_string());
    let unknown = engine.workspace("one").unwrap().start_model_change("none").unwrap_err();
    assert_eq!(unknown.code(), ErrorCode::Validation);
}

#[tokio::test]
async fn a_text_is_embedded_once_for_all_items_that_contain_it_m5_p14() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = CountingEmbedder::new();
    let note = |name: &str, text: &str| item(name, "note", text, json!({}));
    let workspace = open_with_embedder(folder.path(), embedder.clone());
    workspace.put(vec![note("a", "Green tea."), note("b", "Black tea.")]).await.unwrap();
    assert_eq!(embedder.take_count(), 2);
    workspace.put(vec![note("c", "Green tea."), note("d", "White tea.")]).await.unwrap();
    assert_eq!(embedder.take_count(), 1, "one of the two is known");
    // Another owner, another title of the workspace's own, another day: the same text.
    let mut moved = note("a", "Green tea.");
    moved.position = 7;
    workspace.put(vec![moved]).await.unwrap();
    assert_eq!(embedder.take_count(), 0);
    drop(workspace);
    let workspace = open_with_embedder(folder.path(), embedder.clone());
    workspace.put(vec![note("e", "Green tea."), note("f", "Black tea.")]).await.unwrap();
    assert_eq!(embedder.take_count(), 0, "it is known after the workspace was closed, too");
    let batch = Batch::new(now(), vec![Change::Delete(id("e"))]);
    workspace.write(batch).await.unwrap();
    workspace.put(vec![note("e", "Green tea.")]).await.unwrap();
    assert_eq!(embedder.take_count(), 0);
}
