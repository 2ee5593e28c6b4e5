//! Opening the index: files are used only if their checksums match.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use tantivy::directory::{Directory, DirectoryLock, FileSlice};
use tantivy::index::SegmentComponent;
use tantivy::{Index, IndexSettings};

use super::directory::{ChecksummedDirectory, file_names, strip_checksum};
use super::schema::{IndexFields, tokenizers};
use super::{TextError, TextIndexState};
use crate::embedded::steps;
use crate::revision::Revision;

/// The format version of fields, terms and trigrams. Raise it with any change to them.
pub const FORMAT: u32 = 3;

pub(super) const META: &str = "meta.json";
const PAYLOAD_NAME: &str = "haversack-text";

/// The payload of a commit: format and revision.
pub(super) fn commit_payload(revision: Revision) -> String {
    format!("{PAYLOAD_NAME} {FORMAT} {revision}")
}

pub(super) fn read_payload(payload: &str) -> Option<(u32, Revision)> {
    let mut parts = payload.split(' ');
    let named = parts.next() == Some(PAYLOAD_NAME);
    let format = parts.next()?.parse().ok()?;
    // Further parts belong to a newer format.
    let revision = parts.next().and_then(|part| part.parse().ok()).map(Revision::new)?;
    named.then_some((format, revision))
}

/// An index with its content, the lock of its folder, and its files, which are held open until
/// readers have them.
pub(super) struct OpenedFiles {
    pub(super) index: Index,
    pub(super) state: TextIndexState,
    pub(super) lock: DirectoryLock,
    pub(super) _verified: Vec<FileSlice>,
}

/// Opens or creates the index of a folder, and locks it.
pub(super) fn open(root: &Path, fields: &IndexFields) -> Result<OpenedFiles, TextError> {
    let file_error = |source| TextError::File { path: root.to_owned(), source };
    fs::create_dir_all(root).map_err(file_error)?;
    let folder = ChecksummedDirectory::open(root).map_err(TextError::Read)?;
    // Held as long as the index is open. Its writers come and go without a lock of their own.
    let lock = folder.lock_for_writing().map_err(|error| TextError::Locked {
        path: root.to_owned(),
        source: tantivy::TantivyError::from(error),
    })?;
    let state = match examine(root, &folder, fields) {
        ExaminedIndex::Sound(mut index, revision, _verified) => {
            index.set_tokenizers(tokenizers());
            return Ok(OpenedFiles {
                index: *index,
                state: TextIndexState::At(revision),
                lock,
                _verified,
            });
        }
        ExaminedIndex::Empty => TextIndexState::Fresh,
        ExaminedIndex::Damaged(reason) => TextIndexState::Emptied { reason },
        ExaminedIndex::Newer(found) => return Err(TextError::Newer { found, known: FORMAT }),
    };
    empty_folder(root).map_err(file_error)?;
    // Almost nothing is compressed, so no thread is started for it.
    let settings =
        IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
    let mut index =
        Index::create(folder, fields.schema.clone(), settings).map_err(TextError::Read)?;
    index.set_tokenizers(tokenizers());
    Ok(OpenedFiles { index, state, lock, _verified: Vec::new() })
}

enum ExaminedIndex {
    Empty,
    Sound(Box<Index>, Revision, Vec<FileSlice>),
    Damaged(String),
    Newer(u32),
}

fn examine(root: &Path, folder: &ChecksummedDirectory, fields: &IndexFields) -> ExaminedIndex {
    let damaged = |what: &str| ExaminedIndex::Damaged(what.to_owned());
    let bytes = match steps::read(&root.join(META)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return if file_names(root).is_ok_and(|names| names.is_empty()) {
                ExaminedIndex::Empty
            } else {
                damaged("meta.json is missing")
            };
        }
        Err(error) => return ExaminedIndex::Damaged(format!("meta.json: {error}")),
    };
    let Some(bytes) = strip_checksum(bytes) else {
        return damaged("the checksum of meta.json is wrong");
    };
    let Ok(meta) = serde_json::from_slice::<serde_json::Value>(&bytes) else {
        return damaged("meta.json is not valid JSON");
    };
    // Created and closed without a commit.
    let Some(payload) = meta.get("payload").and_then(serde_json::Value::as_str) else {
        return ExaminedIndex::Empty;
    };
    let revision = match read_payload(payload) {
        Some((format, _)) if format > FORMAT => return ExaminedIndex::Newer(format),
        Some((format, _)) if format < FORMAT => {
            return ExaminedIndex::Damaged(format!("format {format} is older than {FORMAT}"));
        }
        Some((_, revision)) => revision,
        None => return damaged("meta.json was not written by Haversack"),
    };
    let index = match Index::open(folder.clone()) {
        Ok(index) => index,
        Err(error) => return ExaminedIndex::Damaged(error.to_string()),
    };
    if index.schema() != fields.schema {
        return damaged("its schema differs from that of this version");
    }
    match live_files(&index).map(|files| (open_all(&index, &files), files)) {
        Ok((Ok(verified), files)) => {
            remove_leftovers(root, &files);
            ExaminedIndex::Sound(Box::new(index), revision, verified)
        }
        Ok((Err(reason), _)) => ExaminedIndex::Damaged(reason),
        Err(error) => ExaminedIndex::Damaged(error.to_string()),
    }
}

/// The files that the last commit needs.
pub(super) fn live_files(index: &Index) -> tantivy::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for segment in index.searchable_segment_metas()? {
        let mut components = vec![
            SegmentComponent::Postings,
            SegmentComponent::Positions,
            SegmentComponent::Terms,
            SegmentComponent::Store,
            SegmentComponent::FastFields,
            SegmentComponent::FieldNorms,
        ];
        if segment.has_deletes() {
            components.push(SegmentComponent::Delete);
        }
        files.extend(components.into_iter().map(|component| segment.relative_path(component)));
    }
    Ok(files)
}

/// Opens all files in parallel, which verifies them; says what is wrong with a damaged one.
fn open_all(index: &Index, files: &[PathBuf]) -> Result<Vec<FileSlice>, String> {
    let next = AtomicUsize::new(0);
    let open = || -> Result<Vec<FileSlice>, String> {
        let mut opened = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            opened.push(index.directory().open_read(file).map_err(|error| error.to_string())?);
        }
        Ok(opened)
    };
    let n_threads = std::thread::available_parallelism().map_or(1, |n| n.get().min(4));
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..n_threads).map(|_| scope.spawn(open)).collect();
        let mut opened = open();
        for other in others {
            let other = other.join().unwrap_or_else(|_| Err("a check panicked".to_owned()));
            opened = match (opened, other) {
                (Ok(mut opened), Ok(other)) => {
                    opened.extend(other);
                    Ok(opened)
                }
                (Err(reason), _) | (_, Err(reason)) => Err(reason),
            };
        }
        opened
    })
}

/// Removes leftovers of unfinished commits and merges. A file that cannot be removed is harmless.
fn remove_leftovers(root: &Path, live: &[PathBuf]) {
    let live: BTreeSet<&Path> = live.iter().map(PathBuf::as_path).collect();
    for name in file_names(root).unwrap_or_default() {
        if !live.contains(name.as_path()) && name != Path::new(META) {
            let _ = fs::remove_file(root.join(name));
        }
    }
}

fn empty_folder(root: &Path) -> std::io::Result<()> {
    for name in file_names(root)? {
        steps::remove(&root.join(name))?;
    }
    Ok(())
}
