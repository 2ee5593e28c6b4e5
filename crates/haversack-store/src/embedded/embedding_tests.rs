//! Texts are embedded while nothing is held: no transaction is open, and the writer is free. An
//! embedder may take seconds, or hang (R12).

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use rusqlite::OpenFlags;

use super::tests::{PairEmbedder, item};
use super::{DataFolder, EmbeddedStore, pages};
use crate::store::change::{Batch, Change};

/// How long the writer may take to answer.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// An embedder that looks, at each call, whether anything waits for it.
#[derive(Debug)]
struct ProbingEmbedder {
    model: Model,
    file: PathBuf,
    store: Mutex<Weak<EmbeddedStore>>,
    /// What each call found in its way.
    calls: Mutex<Vec<Option<String>>>,
}

impl ProbingEmbedder {
    fn new(folder: &Path, version: &str) -> Arc<ProbingEmbedder> {
        let (name, version) = ("letters".to_owned(), version.to_owned());
        Arc::new(ProbingEmbedder {
            model: Model { name, version, dimensions: 64 },
            file: folder.join("workspaces/acme/store.db"),
            store: Mutex::default(),
            calls: Mutex::default(),
        })
    }

    fn watch(&self, store: &Arc<EmbeddedStore>) {
        *self.store.lock().unwrap() = Arc::downgrade(store);
    }

    /// What is held at this moment, if anything is.
    fn probe(&self) -> Option<String> {
        let connection = pages::open(&self.file, OpenFlags::default()).unwrap();
        connection.busy_timeout(Duration::ZERO).unwrap();
        if let Err(error) = connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK") {
            return Some(format!("a transaction writes: {error}"));
        }
        let truncate = "PRAGMA wal_checkpoint(TRUNCATE)";
        let busy: i64 = connection.query_row(truncate, [], |line| line.get(0)).unwrap();
        if busy != 0 {
            return Some("a transaction reads".to_owned());
        }
        let store = self.store.lock().unwrap_or_else(PoisonError::into_inner).upgrade()?;
        let (sender, answer) = mpsc::channel();
        std::thread::spawn(move || {
            let answered = store.call_writer(|_| ());
            // The store may be closed when the probe is over.
            drop(store);
            let _ = sender.send(answered.is_ok());
        });
        match answer.recv_timeout(WAIT_MAX) {
            Ok(true) => None,
            Ok(false) => Some("the writer is closed".to_owned()),
            Err(_) => Some("the writer is taken".to_owned()),
        }
    }

    /// The number of calls since the last time, in each of which nothing was held.
    #[track_caller]
    fn take_calls(&self) -> usize {
        let calls = std::mem::take(&mut *self.calls.lock().unwrap());
        assert!(calls.iter().all(Option::is_none), "{calls:?}");
        calls.len()
    }
}

impl Embedder for ProbingEmbedder {
    fn model(&self) -> &Model {
        &self.model
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let found = self.probe();
        self.calls.lock().unwrap().push(found);
        PairEmbedder::shared().embed(texts)
    }
}

fn open(folder: &Path, embedder: &Arc<ProbingEmbedder>) -> Arc<EmbeddedStore> {
    let opened = DataFolder::open(folder).unwrap();
    let store = opened.workspace("acme", Arc::clone(embedder) as Arc<dyn Embedder>).unwrap();
    let store = Arc::new(store);
    embedder.watch(&store);
    store
}

fn put(id: &str, body: &str) -> Change {
    Change::Put(Box::new(item(id, body)))
}

#[test]
fn nothing_is_held_while_texts_are_embedded_r12() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = ProbingEmbedder::new(folder.path(), "1");
    let store = open(folder.path(), &embedder);
    let write = |changes| {
        store.write(Batch::new(Timestamp::from_millis(1), changes)).unwrap();
    };
    write((0..300).map(|n| put(&format!("n{n}"), &format!("text {n}"))).collect());
    assert!(embedder.take_calls() > 0);
    write(vec![put("n1", "another text"), put("n2", "text 2")]);
    assert_eq!(embedder.take_calls(), 1);
    // The batch itself purges the vector that it was prepared with: its text is embedded again.
    let purge = Change::Purge(ItemId::new("n3").unwrap());
    write(vec![purge, put("m3", "text 3")]);
    assert_eq!(embedder.take_calls(), 1);

    // Another model: all texts again, and those that are written meanwhile by both.
    let next = ProbingEmbedder::new(folder.path(), "2");
    next.watch(&store);
    store.change_model(Arc::clone(&next) as Arc<dyn Embedder>, |_| {}).unwrap();
    assert!(next.take_calls() > 0);
    assert_eq!(embedder.take_calls(), 0);
    store.write(Batch::put(Timestamp::from_millis(2), vec![item("late", "later")])).unwrap();
    assert_eq!(next.take_calls(), 1);
    store.expunge(true).unwrap();
    drop(store);

    // Lost indexes are rebuilt from stored vectors, at start and in use; an upgrade needs none.
    std::fs::remove_dir_all(folder.path().join("workspaces/acme/vectors")).unwrap();
    std::fs::remove_dir_all(folder.path().join("workspaces/acme/text")).unwrap();
    let store = open(folder.path(), &next);
    assert!(store.check(true).unwrap().is_sound());
    store
        .call_writer(|writer| {
            let sql = "UPDATE settings SET value = 'older' WHERE name = 'features'";
            writer.connection.execute(sql, []).unwrap();
        })
        .unwrap();
    drop(store);
    let store = open(folder.path(), &next);
    assert!(store.check(false).unwrap().is_sound());
    assert_eq!(next.take_calls(), 0);
    store.reembed(|_| {}).unwrap();
    assert_eq!(next.take_calls(), 0, "every text has its vector");
}
