//! Workspaces that nobody uses are closed when many are open: nothing is lost, and nothing that is
//! used goes away (X3, P16).

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

use haversack::engine::EmbedderCatalog;
use haversack::{Engine, Request, Workspace};
use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_store::store::block_on;
use haversack_store::store::error::OpenError;
use haversack_store::store::item::{EventKind, Item};
use haversack_store::store::query::Filter;
use haversack_store::store::viewer::Viewer;
use serde_json::json;

use crate::recording::OpenRecorded as _;
use crate::support::{id, item, now};

/// An engine that keeps so many unused workspaces open.
fn engine(folder: &Path, open_max: usize) -> Engine {
    Engine::builder().clock(now).open_workspaces(open_max).open_recorded(folder).unwrap()
}

fn tea() -> Vec<Item> {
    vec![item("tea", "memory", "Mara drinks green tea.", json!({}))]
}

/// Opens others, more than stay open.
fn open_others(engine: &Engine) {
    for n in 0..4 {
        engine.workspace(&format!("other-{n}")).unwrap();
    }
}

/// Whether a workspace stays open although others are opened.
fn stays(engine: &Engine, name: &str) -> bool {
    open_others(engine);
    engine.get_if_open(name).is_some()
}

/// Whether a workspace is closed when others are opened, once nothing is done in the background.
fn goes(engine: &Engine, name: &str) -> bool {
    (0..1_000).any(|_| !stays(engine, name))
}

fn count(workspace: &Workspace) -> u64 {
    let snapshot = block_on(workspace.blocking_store().snapshot(&Viewer::owner())).unwrap();
    block_on(snapshot.count(&Filter::everything())).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_used_for_a_while_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 100);
    engine.workspace("unused").unwrap().put(tea()).await.unwrap();
    let held = engine.workspace("held").unwrap();
    assert_eq!(engine.close_unused_for(Duration::from_secs(3_600)), 0, "both were just used");
    // Work in the background may still use it.
    let closed = |engine: &Engine| engine.close_unused_for(Duration::ZERO);
    assert!((0..1_000).any(|_| {
        std::thread::yield_now();
        closed(&engine) == 1
    }));
    assert!(engine.get_if_open("unused").is_none() && engine.get_if_open("held").is_some());
    assert_eq!(count(&engine.existing_workspace("unused").unwrap()), 1);
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_least_used_are_closed_and_opened_again_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 3);
    for n in 0..12 {
        let workspace = engine.workspace(&format!("w{n}")).unwrap();
        workspace.put(tea()).await.unwrap();
        assert!(engine.n_open() <= 4, "{}", engine.n_open());
        if n >= 2 {
            // What is asked for all the time stays, although it was opened first.
            assert!(engine.get_if_open("w0").is_some(), "{n}");
        }
    }
    assert!(engine.get_if_open("w1").is_none());
    for n in 0..12 {
        assert_eq!(count(&engine.existing_workspace(&format!("w{n}")).unwrap()), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_in_use_is_never_closed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 1);
    let open = || engine.workspace("used").unwrap();
    open().put(tea()).await.unwrap();

    let handle = open();
    assert!(stays(&engine, "used"), "a handle");
    handle.put(vec![item("mate", "memory", "Mara drinks mate.", json!({}))]).await.unwrap();
    drop(handle);
    assert!(goes(&engine, "used"));

    let store = Arc::clone(open().store());
    assert!(stays(&engine, "used"), "its store");
    drop(store);
    assert!(goes(&engine, "used"));

    let viewer = Viewer::owner();
    let snapshot = open().store().snapshot(&viewer).await.unwrap();
    assert!(stays(&engine, "used"), "a snapshot");
    let mut newer = tea();
    newer[0].body = "Mara drinks black tea.".to_owned();
    open().put(newer).await.unwrap();
    assert!(stays(&engine, "used"), "a snapshot");
    let read = snapshot.get(&[id("tea")]).await.unwrap().remove(0).unwrap();
    assert_eq!(read.item.body, "Mara drinks green tea.");
    drop(snapshot);
    assert!(goes(&engine, "used"));
}

/// What a pack and feedback leave behind is there after the workspace was closed at once (K8, K10).
#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_nothing_k8_k10() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 1);
    let viewer = Viewer::user("mara").unwrap();
    for round in 1..=3_u64 {
        let workspace = engine.workspace("home").unwrap();
        workspace.put(tea()).await.unwrap();
        let mut request = Request::new("memory", &format!("green tea {round}"));
        (request.viewer, request.user) = (viewer.clone(), Some("mara".to_owned()));
        let pack = workspace.pack(request).await.unwrap();
        assert!(pack.text().contains("green tea"), "{}", pack.text());
        workspace.feedback(&viewer, "mara", &id("tea"), true).await.unwrap();
        drop(workspace);
        // The pack's receipt and its uses still wait to be written.
        assert!(goes(&engine, "home"));
        let workspace = engine.existing_workspace("home").unwrap();
        let receipt = workspace.receipt(&pack.receipt(), &viewer).await.unwrap();
        assert_eq!(receipt.id, pack.receipt());
        let snapshot = workspace.store().snapshot(&viewer).await.unwrap();
        let usage = snapshot.usage(&[id("tea")], Some("mara"), None).await.unwrap();
        for event_kind in [EventKind::Used, EventKind::Useful] {
            let counted = usage.iter().find(|usage| usage.event_kind == event_kind).unwrap();
            assert_eq!(counted.count, round, "{event_kind:?}");
        }
    }
}

#[test]
fn two_opens_at_once_give_one() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 2);
    let (start, n_threads) = (Barrier::new(8), 8);
    let open = || {
        start.wait();
        engine.workspace("one").unwrap()
    };
    let opened: Vec<Workspace> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(open)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(opened.iter().all(|one| Arc::ptr_eq(one.store(), opened[0].store())));
    assert_eq!(engine.n_open(), 1);
}

/// Writers that open, write and let go of more workspaces than stay open never find one closed, and
/// nothing that they wrote is missing.
#[test]
fn writes_go_on_while_workspaces_are_closed() {
    const WORKSPACES: usize = 6;
    const WRITES: usize = 60;
    const THREADS: usize = 4;
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 2);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let engine = &engine;
            scope.spawn(move || {
                for n in 0..WRITES {
                    let name = format!("w{}", (n * (thread + 1) + thread) % WORKSPACES);
                    let workspace = engine.workspace(&name).unwrap();
                    let one = item(&format!("i{thread}-{n}"), "note", "some words", json!({}));
                    let batch = haversack_store::store::change::Batch::put(now(), vec![one]);
                    block_on(workspace.blocking_store().write(batch)).unwrap();
                }
            });
        }
    });
    let names = (0..WORKSPACES).map(|n| format!("w{n}"));
    let stored: u64 = names.map(|name| count(&engine.workspace(&name).unwrap())).sum();
    assert_eq!(stored, (THREADS * WRITES) as u64);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_workspace_can_be_removed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(folder.path(), 1);
    engine.workspace("gone").unwrap().put(tea()).await.unwrap();
    assert!(goes(&engine, "gone"));
    engine.remove("gone").unwrap();
    let missing = engine.existing_workspace("gone").unwrap_err();
    assert!(matches!(missing, haversack::Error::Open(OpenError::Missing { .. })), "{missing}");
    assert!(engine.remove("gone").is_err());
    assert_eq!(count(&engine.workspace("gone").unwrap()), 0, "a new one of the same name");
}

/// An embedder that waits until it may go on.
#[derive(Debug, Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    was_asked: AtomicBool,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

#[derive(Debug)]
struct GatedEmbedder {
    model: Model,
    gate: Arc<Gate>,
}

impl Embedder for GatedEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.gate.was_asked.store(true, Ordering::SeqCst);
        let is_open = self.gate.is_open.lock().unwrap();
        drop(self.gate.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
        Ok(texts.iter().map(|_| Vector::new(vec![1.0; 8]).unwrap()).collect())
    }
}

/// A catalog with one model, which is gated.
#[derive(Debug)]
struct GatedCatalog(Arc<Gate>);

impl GatedCatalog {
    fn embedder(&self) -> Arc<dyn Embedder> {
        let model = Model { name: "gated".to_owned(), version: "1".to_owned(), dimensions: 8 };
        Arc::new(GatedEmbedder { model, gate: Arc::clone(&self.0) })
    }
}

impl EmbedderCatalog for GatedCatalog {
    fn by_name(&self, name: &str, _workspace: &str) -> Result<Arc<dyn Embedder>, haversack::Error> {
        match name {
            "gated" => Ok(self.embedder()),
            _ => Err(haversack::Error::invalid("name", "there is none")),
        }
    }

    fn by_model(&self, model: &Model, _workspace: &str) -> Option<Arc<dyn Embedder>> {
        Some(self.embedder()).filter(|embedder| embedder.model() == model)
    }

    fn choose(&self, _name: &str) -> Result<(), haversack::Error> {
        Ok(())
    }
}

#[test]
fn a_workspace_whose_model_is_being_changed_is_not_closed_b4() {
    let (folder, gate) = (tempfile::tempdir().unwrap(), Arc::new(Gate::default()));
    let catalog = Arc::new(GatedCatalog(Arc::clone(&gate)));
    let builder = Engine::builder().clock(now).open_workspaces(1).embedder_catalog(catalog);
    let engine = builder.open_recorded(folder.path()).unwrap();
    let workspace = engine.workspace("used").unwrap();
    let batch = haversack_store::store::change::Batch::put(now(), tea());
    block_on(workspace.blocking_store().write(batch)).unwrap();
    workspace.start_model_change("gated").unwrap();
    drop(workspace);
    while !gate.was_asked.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    assert!(stays(&engine, "used"));
    gate.open();
    let status = crate::vectors::finished(&engine.workspace("used").unwrap());
    assert_eq!((status.model.name.as_str(), status.change), ("gated", None));
}

/// The child's folder, when the test below starts this program again.
#[cfg(target_os = "linux")]
const FOLDER: &str = "HAVERSACK_LIMITED_FOLDER";

/// An open workspace once cost four threads and six descriptors: with 256 of these the 40th could not
/// be written any more.
#[cfg(target_os = "linux")]
#[test]
fn many_workspaces_fit_a_process_of_few_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let script = "ulimit -n 256; exec \"$0\" --exact open::child_with_many_workspaces";
    let child = std::process::Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stdout));
}

#[cfg(target_os = "linux")]
#[test]
fn child_with_many_workspaces() {
    const WORKSPACES: usize = 300;
    const OPEN_MAX: usize = 20;
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let engine = engine(Path::new(&folder), OPEN_MAX);
    let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
    let before = threads();
    for n in 0..WORKSPACES {
        let workspace = engine.workspace(&format!("w{n}")).unwrap();
        let mut items = tea();
        items[0].body = format!("Mara drinks tea number {n}.");
        let batch = haversack_store::store::change::Batch::put(now(), items);
        block_on(workspace.blocking_store().write(batch)).unwrap();
        assert!(engine.n_open() <= OPEN_MAX + 1, "{}", engine.n_open());
    }
    for n in (0..WORKSPACES).step_by(3) {
        let workspace = engine.existing_workspace(&format!("w{n}")).unwrap();
        let store = workspace.blocking_store();
        assert!(store.repaired().is_empty(), "{:?}", store.repaired());
        let snapshot = block_on(store.snapshot(&Viewer::owner())).unwrap();
        let found = block_on(snapshot.get(&[id("tea")])).unwrap().remove(0).unwrap();
        assert_eq!(found.item.body, format!("Mara drinks tea number {n}."));
    }
    // Those of sixteen writers of the text index, and one for each processor that searches.
    assert!(threads() < before + 100, "{} threads, {before} at the start", threads());
}
