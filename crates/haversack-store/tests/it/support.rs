//! Shared test support: an embedder, short constructors, seeded random numbers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_store::embedded::{DataFolder, EmbeddedStore};
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::item::Item;
use haversack_store::store::query::{Filter, TextSearch};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// Embeds letter pairs: enough to distinguish texts, without a model file.
#[derive(Debug)]
pub(crate) struct LetterPairs(Model);

impl LetterPairs {
    pub(crate) fn shared() -> Arc<dyn Embedder> {
        let (name, version) = ("letters".to_owned(), "1".to_owned());
        Arc::new(LetterPairs(Model { name, version, dimensions: 64 }))
    }

    pub(crate) fn vector(text: &str) -> Vector {
        LetterPairs::shared().embed(&[text]).unwrap().remove(0)
    }
}

impl Embedder for LetterPairs {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let embed = |text: &&str| {
            let mut numbers = vec![0.0; 64];
            for pair in text.as_bytes().windows(2) {
                numbers[usize::from(pair[0] ^ pair[1].wrapping_mul(7)) % 64] += 1.0;
            }
            Vector::new(numbers).expect("finite numbers")
        };
        Ok(texts.iter().map(embed).collect())
    }
}

/// A temporary folder, in memory where the system has one.
pub(crate) fn scratch() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() {
        tempfile::tempdir_in(memory).unwrap()
    } else {
        tempfile::tempdir().unwrap()
    }
}

/// The workspace `acme` in a folder.
pub(crate) fn open(folder: &Path) -> EmbeddedStore {
    DataFolder::open(folder).unwrap().workspace("acme", LetterPairs::shared()).unwrap()
}

pub(crate) fn id(name: impl AsRef<str>) -> ItemId {
    ItemId::new(name.as_ref()).unwrap()
}

pub(crate) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

pub(crate) fn item(name: &str, body: &str) -> Item {
    Item::new(id(name), Kind::new("note").unwrap(), body)
}

pub(crate) fn under(parent: &str, mut item: Item) -> Item {
    item.parent = Some(id(parent));
    item
}

/// An item for these readers and nobody else.
pub(crate) fn only(names: &[&str], mut item: Item) -> Item {
    item.readers = readers(names);
    item
}

pub(crate) fn readers(names: &[&str]) -> Readers {
    Readers::Only(names.iter().map(|name| Principal::parse(name).unwrap()).collect())
}

pub(crate) fn put(item: Item) -> Change {
    Change::Put(Box::new(item))
}

pub(crate) fn batch(millis: i64, changes: Vec<Change>) -> Batch {
    Batch::new(at(millis), changes)
}

pub(crate) fn user(name: &str) -> Viewer {
    Viewer::user(name).unwrap()
}

pub(crate) fn words(query: &str) -> TextSearch {
    TextSearch {
        query: query.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::everything(),
        limit: 1_000,
    }
}

/// A seeded random number generator (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below the bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 16).unwrap() % bound
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}

/// Copies a folder of files and folders.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The tables of a store that was opened by this process, to write to as the store does: with
/// checksums.
pub(crate) fn records(file: &Path) -> Connection {
    Connection::open_with_flags_and_vfs(file, OpenFlags::default(), "haversack").unwrap()
}

/// The number of test cases: the default, or as set in the environment.
pub(crate) fn amount(variable: &str, usual: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")),
        Err(_) => usual,
    }
}

/// A mounted file system, unmounted on drop.
#[derive(Debug)]
pub(crate) struct Mount(PathBuf);

impl Mount {
    /// A file system of this size; `None` without permission to mount.
    pub(crate) fn of_size(place: &Path, size: &str) -> Option<Mount> {
        Mount::with(place, &format!("size={size}"))
    }

    /// A read-only file system; `None` without permission to mount.
    pub(crate) fn read_only(place: &Path) -> Option<Mount> {
        Mount::with(place, "ro")
    }

    fn with(place: &Path, options: &str) -> Option<Mount> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(place);
        let done = mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success());
        done.then(|| Mount(place.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
