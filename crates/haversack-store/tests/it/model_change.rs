//! Changes of the embedding model in the embedded engine: threads, restarts, faults, old vectors.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_store::embedded::{DataFolder, EmbeddedStore, View};
use haversack_store::store::change::Change;
use haversack_store::store::error::{CommitError, ReadError, error_chain};
use haversack_store::store::item::{DocumentKind, Record};
use haversack_store::store::query::{Effort, Filter, VectorSearch};
use haversack_store::store::viewer::Viewer;
use rusqlite::Connection;

use crate::support::{at, batch, id, item, put, scratch};

/// An embedder of letter pairs that records its calls.
#[derive(Debug)]
struct RecordingEmbedder {
    model: Model,
    /// The number of calls that succeed.
    calls_left: AtomicUsize,
    texts: Mutex<Vec<String>>,
    /// The store that each call writes a record to, if it is still open.
    store: Mutex<Weak<EmbeddedStore>>,
    /// The records that were written by calls.
    records: AtomicUsize,
}

impl RecordingEmbedder {
    fn new(dimensions: usize) -> Arc<RecordingEmbedder> {
        RecordingEmbedder::failing_after(dimensions, usize::MAX)
    }

    fn failing_after(dimensions: usize, calls: usize) -> Arc<RecordingEmbedder> {
        let (name, version) = ("recording".to_owned(), "1".to_owned());
        Arc::new(RecordingEmbedder {
            model: Model { name, version, dimensions },
            calls_left: AtomicUsize::new(calls),
            texts: Mutex::default(),
            store: Mutex::default(),
            records: AtomicUsize::new(0),
        })
    }

    fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }

    /// Writes a record to the store. A caller of the embedder that had the writer would wait for
    /// itself.
    fn write_record(&self) {
        let Some(store) = self.store.lock().unwrap().upgrade() else { return };
        let (document_kind, name) = (DocumentKind::Receipt, "called".to_owned());
        let record = Record { document_kind, name, text: "{}".to_owned(), at: at(1) };
        store.write(batch(1, vec![Change::PutRecord(record)])).unwrap();
        self.records.fetch_add(1, Ordering::SeqCst);
    }

    fn shared(self: &Arc<RecordingEmbedder>) -> Arc<dyn Embedder> {
        Arc::<RecordingEmbedder>::clone(self)
    }
}

impl Embedder for RecordingEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.write_record();
        let left = |left: usize| left.checked_sub(1);
        if self.calls_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, left).is_err() {
            let cause = "the provider is down".into();
            return Err(EmbedError::RetryLater { model: self.model.clone(), cause });
        }
        self.texts.lock().unwrap().extend(texts.iter().map(|text| (*text).to_owned()));
        let embed = |text: &&str| {
            let mut numbers = vec![0.0; self.model.dimensions];
            for pair in text.as_bytes().windows(2) {
                let place = usize::from(pair[0]) * 31 + usize::from(pair[1]);
                numbers[place % self.model.dimensions] += 1.0;
            }
            Vector::new(numbers).unwrap()
        };
        Ok(texts.iter().map(embed).collect())
    }
}

fn open_with(folder: &Path, embedder: &Arc<RecordingEmbedder>) -> EmbeddedStore {
    DataFolder::open(folder).unwrap().workspace("acme", embedder.shared()).unwrap()
}

fn body(n: usize) -> String {
    format!("note {n} of {}", n * 7_919)
}

fn fill(store: &EmbeddedStore, count: usize) {
    let changes = (0..count).map(|n| put(item(&format!("n{n}"), &body(n)))).collect();
    store.write(batch(1, changes)).unwrap();
}

/// The item nearest to a text, by a vector of the view's own model.
fn nearest(view: &View, text: &str) -> Result<String, ReadError> {
    let vector = view.embedder().embed_query(text).unwrap();
    let search =
        VectorSearch { vector, effort: Effort::Fast, filter: Filter::everything(), limit: 1 };
    let hits = view.search_vectors(&search)?;
    Ok(hits.first().map_or_else(String::new, |hit| hit.id.item.to_string()))
}

fn expect_nearest(store: &EmbeddedStore, numbers: impl IntoIterator<Item = usize>) {
    let view = store.view(&Viewer::owner());
    for n in numbers {
        assert_eq!(nearest(&view, &body(n)).unwrap(), format!("n{n}"));
    }
}

fn workspace(folder: &Path) -> PathBuf {
    folder.join("workspaces/acme")
}

/// The number of stored vectors by dimensions of their models.
fn vectors_by_dimensions(folder: &Path) -> Vec<(usize, usize)> {
    let connection = Connection::open(workspace(folder).join("store.db")).unwrap();
    let mut statement = connection
        .prepare(
            "SELECT m.dimensions, count(*) FROM embeddings e JOIN models m ON m.model = e.model \
             GROUP BY 1 ORDER BY 1",
        )
        .unwrap();
    let lines = statement.query_map([], |line| Ok((line.get(0)?, line.get(1)?))).unwrap();
    lines.map(Result::unwrap).collect()
}

#[test]
fn no_embedder_is_called_by_whoever_has_the_writer() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let open = || {
        let store = Arc::new(open_with(folder.path(), &old));
        for embedder in [&old, &new] {
            *embedder.store.lock().unwrap() = Arc::downgrade(&store);
        }
        store
    };
    let store = open();
    fill(&store, 50);
    // The text is known when the batch is prepared, and gone when it is written.
    let changes = vec![Change::Purge(id("n7")), put(item("again", &body(7)))];
    store.write(batch(2, changes)).unwrap();
    assert_eq!(old.texts()[50..], [body(7)]);
    assert_eq!(nearest(&store.view(&Viewer::owner()), &body(7)).unwrap(), "again");
    thread::scope(|scope| {
        let changing = scope.spawn(|| store.change_model(new.shared(), |_| {}));
        let mut n = 100;
        while !changing.is_finished() {
            store.write(batch(3, vec![put(item(&format!("n{n}"), &body(n)))])).unwrap();
            n += 1;
        }
        changing.join().unwrap().unwrap();
        expect_nearest(&store, (100..n).rev().take(50));
    });
    drop(store);
    let store = open();
    assert!(store.stats().unwrap().stale);
    // A stale workspace takes no writes, not even of records.
    *old.store.lock().unwrap() = Weak::new();
    store.reembed(|_| {}).unwrap();
    expect_nearest(&store, [0, 49]);
    for embedder in [&old, &new] {
        assert!(embedder.records.load(Ordering::SeqCst) > 0);
    }
    assert!(store.check(false).unwrap().is_sound());
}

/// Otherwise a workspace that is always written to would never switch.
#[test]
fn writes_before_the_switch_are_embedded_by_both_models() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let store = open_with(folder.path(), &old);
    fill(&store, 30);
    let mut n = 30;
    let mut new_texts = Vec::new();
    let changed = store.change_model(new.shared(), |_| {
        store.write(batch(2, vec![put(item(&format!("n{n}"), &body(n)))])).unwrap();
        new_texts.push(new.texts().len());
        n += 1;
    });
    changed.unwrap();
    // The first of them was embedded by the change itself, the second when it was written.
    assert_eq!((new_texts, n), (vec![30, 32], 32));
    assert_eq!((old.texts().len(), new.texts().len()), (32, 32));
    expect_nearest(&store, 0..32);
    assert!(store.check(false).unwrap().is_sound());
}

#[test]
fn a_change_resumes_after_a_restart_with_either_model() {
    for reopened_with_new in [false, true] {
        let folder = scratch();
        let old = RecordingEmbedder::new(64);
        let new = RecordingEmbedder::failing_after(48, 1);
        let store = open_with(folder.path(), &old);
        fill(&store, 1_500);
        let failed = store.change_model(new.shared(), |_| {}).unwrap_err();
        assert!(matches!(failed, CommitError::Embed(_)), "{failed}");
        expect_nearest(&store, [3, 1_499]);
        drop(store);
        new.calls_left.store(usize::MAX, Ordering::SeqCst);
        let store = open_with(folder.path(), if reopened_with_new { &new } else { &old });
        let stats = store.stats().unwrap();
        assert_eq!((&stats.model, stats.stale), (&old.model, reopened_with_new));
        assert_eq!(store.repaired(), [] as [String; 0]);
        let done = if reopened_with_new {
            store.reembed(|_| {})
        } else {
            expect_nearest(&store, [3, 1_499]);
            store.change_model(new.shared(), |_| {})
        };
        assert_eq!(done.unwrap().done, 1_500);
        assert_eq!(new.texts().len(), 1_500, "no text is embedded twice");
        expect_nearest(&store, [3, 1_499]);
        drop(store);
        let store = open_with(folder.path(), &new);
        assert!(!store.stats().unwrap().stale);
        assert_eq!(store.repaired(), [] as [String; 0]);
        expect_nearest(&store, [3, 1_499]);
        assert!(store.check(false).unwrap().is_sound());
    }
}

#[test]
fn old_vectors_stay_as_long_as_a_snapshot_searches_them() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let store = open_with(folder.path(), &old);
    fill(&store, 30);
    let before = store.view(&Viewer::owner());
    store.change_model(new.shared(), |_| {}).unwrap();
    assert_eq!(vectors_by_dimensions(folder.path()), [(48, 30), (64, 30)]);
    assert_eq!(before.embedder().model().dimensions, 64);
    for n in 0..30 {
        assert_eq!(nearest(&before, &body(n)).unwrap(), format!("n{n}"));
    }
    // A number that is free again may become that of another model's vector.
    store.write(batch(2, vec![Change::Purge(id("n29"))])).unwrap();
    store.write(batch(3, vec![put(item("late", "sailing boats"))])).unwrap();
    assert_eq!(nearest(&before, &body(3)).unwrap(), "n3");
    drop(before);
    store.write(batch(4, vec![put(item("later", "winter coats"))])).unwrap();
    // The writer answers before it removes them.
    store.check(false).unwrap();
    assert_eq!(vectors_by_dimensions(folder.path()), [(48, 31)]);
    store.change_model(old.shared(), |_| {}).unwrap();
    assert_eq!(vectors_by_dimensions(folder.path()), [(64, 31)], "without snapshots at once");
    expect_nearest(&store, 0..29);
    assert!(store.check(false).unwrap().is_sound());
}

#[test]
fn old_vectors_are_removed_after_a_restart() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let store = open_with(folder.path(), &old);
    fill(&store, 30);
    let before = store.view(&Viewer::owner());
    store.change_model(new.shared(), |_| {}).unwrap();
    store.close();
    drop((before, store));
    assert_eq!(vectors_by_dimensions(folder.path()), [(48, 30), (64, 30)]);
    let store = open_with(folder.path(), &new);
    store.write(batch(2, vec![put(item("late", "sailing boats"))])).unwrap();
    store.check(false).unwrap();
    assert_eq!(vectors_by_dimensions(folder.path()), [(48, 31)]);
}

#[test]
fn a_new_index_that_cannot_be_written_leaves_the_model_in_use() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let store = open_with(folder.path(), &old);
    fill(&store, 30);
    let obstacle = workspace(folder.path()).join("vectors.next");
    fs::write(&obstacle, "a file where the folder should be").unwrap();
    let refused = store.change_model(new.shared(), |_| {}).unwrap_err();
    assert!(error_chain(&refused).contains("vectors.next"), "{}", error_chain(&refused));
    assert_eq!(store.model(), old.model);
    expect_nearest(&store, 0..30);
    assert_eq!(new.texts(), [] as [String; 0], "refused before texts are sent to a provider");
    fs::remove_file(&obstacle).unwrap();
    store.change_model(new.shared(), |_| {}).unwrap();
    assert!(!obstacle.exists());
    expect_nearest(&store, 0..30);
}

/// A process that ends right after the switch leaves the files of the model before.
#[test]
fn an_index_of_the_model_before_is_rebuilt_at_start_r7() {
    let folder = scratch();
    let (old, new) = (RecordingEmbedder::new(64), RecordingEmbedder::new(48));
    let store = open_with(folder.path(), &old);
    fill(&store, 30);
    drop(store);
    let (vectors, copy) =
        (workspace(folder.path()).join("vectors"), folder.path().join("old-vectors"));
    fs::create_dir(&copy).unwrap();
    for entry in fs::read_dir(&vectors).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
    }
    let store = open_with(folder.path(), &old);
    store.change_model(new.shared(), |_| {}).unwrap();
    drop(store);
    fs::rename(&vectors, workspace(folder.path()).join("vectors.next")).unwrap();
    fs::rename(&copy, &vectors).unwrap();
    let store = open_with(folder.path(), &new);
    assert_eq!(store.repaired(), ["vector index of another model: rebuilt"]);
    assert!(!workspace(folder.path()).join("vectors.next").exists());
    expect_nearest(&store, 0..30);
    assert!(store.check(false).unwrap().is_sound());
}

#[test]
fn dimensions_out_of_bounds_are_refused_before_any_text_is_embedded() {
    let folder = scratch();
    let old = RecordingEmbedder::new(64);
    let store = open_with(folder.path(), &old);
    fill(&store, 3);
    for dimensions in [0, 8_193] {
        let new = RecordingEmbedder::new(dimensions);
        let refused = store.change_model(new.shared(), |_| {}).unwrap_err();
        assert!(matches!(refused, CommitError::Storage { .. }), "{refused}");
        assert_eq!(new.texts(), [] as [String; 0]);
    }
    expect_nearest(&store, 0..3);
}
