//! Writing the text index: additions, removals, and commits tagged with their revision.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tantivy::directory::DirectoryLock;
use tantivy::index::SegmentMeta;
use tantivy::indexer::{AddOperation, SegmentWriter};
use tantivy::{Index, IndexWriter, TantivyDocument, Term};

use super::directory::file_names;
use super::files::IndexFile;
use super::open::{META, OpenedFiles, commit_payload, live_files, open, read_payload};
use super::reader::TextReader;
use super::schema::IndexFields;
use super::writers::{OpenWriter, TextWriters, WriterSlot};
use super::{TextDocument, TextError, TextIndexState};
use crate::embedded::row::Row;
use crate::embedded::steps;
use crate::revision::Revision;

/// A commit of at most this many documents becomes a segment without the indexing thread.
const SMALL_DOCUMENTS_MAX: usize = 64;

/// The memory budget of such a segment. Tantivy sizes its tables by it, and clearing tables for
/// millions of terms takes longer than indexing a few documents.
const SMALL_BYTES: usize = 256 << 10;

static N_OPENED: AtomicU64 = AtomicU64::new(1);

/// The text index of a workspace, with its only writer.
pub struct TextIndex {
    path: PathBuf,
    index: Index,
    fields: IndexFields,
    /// Tantivy's writer, while there is one.
    slot: Arc<WriterSlot>,
    writers: Arc<TextWriters>,
    /// An error lost what was not committed; `reopen` starts again.
    is_dead: bool,
    /// Documents that may become a small commit; empty once the writer received any.
    few: Vec<TantivyDocument>,
    streaming: bool,
    reader: TextReader,
    number: u64,
    /// Held while the index is open, whether or not there is a writer.
    _lock: DirectoryLock,
}

impl fmt::Debug for TextIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextIndex").field("path", &self.path).finish_non_exhaustive()
    }
}

/// An opened index and its state.
#[derive(Debug)]
pub struct OpenedTextIndex {
    /// The index.
    pub index: TextIndex,
    /// The content it was opened with.
    pub state: TextIndexState,
}

impl TextIndex {
    /// Opens or creates the index of a folder, with writers of its own. All files are read and
    /// their checksums verified; an index that is damaged or of an older format is emptied.
    ///
    /// # Errors
    /// If the format is newer, another process writes to the index, or the folder cannot be used.
    pub fn open(path: &Path) -> Result<OpenedTextIndex, TextError> {
        TextIndex::open_with(path, &Arc::default())
    }

    /// Opens or creates the index of a folder, with a writer among those of other indexes.
    ///
    /// # Errors
    /// As [`TextIndex::open`].
    pub(crate) fn open_with(
        path: &Path,
        writers: &Arc<TextWriters>,
    ) -> Result<OpenedTextIndex, TextError> {
        let fields = IndexFields::new();
        let OpenedFiles { index, state, lock, _verified } = open(path, &fields)?;
        let number = N_OPENED.fetch_add(1, Ordering::Relaxed);
        let reader = TextReader::open(&index, &fields, None, number)?;
        let index = TextIndex {
            path: path.to_owned(),
            index,
            fields,
            slot: writers.add_slot(),
            writers: Arc::clone(writers),
            is_dead: false,
            few: Vec::new(),
            streaming: false,
            reader,
            number,
            _lock: lock,
        };
        Ok(OpenedTextIndex { index, state })
    }

    /// Adds a document. It is searchable after the next commit.
    ///
    /// # Errors
    /// If the writer is dead or dies of this.
    pub fn add(&mut self, document: &TextDocument<'_>) -> Result<(), TextError> {
        if self.is_dead {
            return Err(TextError::WriterDead);
        }
        let document = self.fields.tantivy_document(document);
        if !self.streaming && self.few.len() < SMALL_DOCUMENTS_MAX {
            self.few.push(document);
            return Ok(());
        }
        self.start_streaming()?;
        self.with_writer(|open| open.writer.add_document(document).map(drop))
    }

    /// Passes withheld documents to the writer.
    fn start_streaming(&mut self) -> Result<(), TextError> {
        self.streaming = true;
        let few = std::mem::take(&mut self.few);
        self.with_writer(|open| {
            open.begin_stream();
            few.into_iter().try_for_each(|document| open.writer.add_document(document).map(drop))
        })
    }

    /// Removes all documents of these rows that were added before.
    ///
    /// # Errors
    /// If the writer is dead.
    pub fn remove(&mut self, rows: &[Row]) -> Result<(), TextError> {
        let field = self.fields.row;
        // A small segment would also lose documents that are added after the removal.
        self.start_streaming()?;
        self.with_writer(|open| {
            for row in rows {
                open.writer.delete_term(Term::from_field_u64(field, u64::from(row.get())));
            }
            Ok(())
        })
    }

    /// Makes what was added and removed visible to the next [`TextIndex::reader`], as of
    /// `revision`.
    ///
    /// The commit is not synced to disk: after a power failure the index may be damaged, and is
    /// then rebuilt.
    ///
    /// # Errors
    /// If the writer is dead or dies of this.
    pub fn commit(&mut self, revision: Revision) -> Result<(), TextError> {
        let few = std::mem::take(&mut self.few);
        self.with_writer(|open| {
            if !few.is_empty() {
                add_segment(&open.writer, few)?;
            }
            open.commit(&commit_payload(revision))
        })?;
        self.streaming = false;
        self.refresh()
    }

    /// Makes merges since the last commit available to readers. The content is the same.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn refresh(&mut self) -> Result<(), TextError> {
        self.reader = TextReader::open(&self.index, &self.fields, Some(&self.reader), self.number)?;
        Ok(())
    }

    /// A snapshot of the last commit.
    #[must_use]
    pub fn reader(&self) -> TextReader {
        self.reader.clone()
    }

    /// Reads every file of the last commit from the disk, and says what is wrong with each.
    ///
    /// # Errors
    /// If the list of files cannot be read.
    pub fn verify(&self) -> Result<Vec<String>, TextError> {
        let files = || live_files(&self.index).map_err(TextError::Read);
        let mut live = files()?;
        loop {
            let damage = |file: &PathBuf| {
                let error = IndexFile::open(&self.path.join(file)).err()?;
                Some(format!("{}: {error}", file.display()))
            };
            let damaged: Vec<String> = live.iter().filter_map(damage).collect();
            let now = files()?;
            // A merge that ended meanwhile has removed the files of the segments that it merged.
            if damaged.is_empty() || now == live {
                return Ok(damaged);
            }
            live = now;
        }
    }

    /// The revision of the last commit on the disk. A commit may be there although it ended with an
    /// error.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn committed(&self) -> Result<Revision, TextError> {
        let meta = self.index.load_metas().map_err(TextError::Read)?;
        let payload = meta.payload.as_deref().and_then(read_payload);
        // Created and not committed yet.
        Ok(payload.map_or(Revision::ZERO, |(_, revision)| revision))
    }

    /// Starts again after an error. Uncommitted documents are lost and must be added again.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn reopen(&mut self) -> Result<(), TextError> {
        self.abandon();
        self.is_dead = false;
        self.refresh()
    }

    /// Closes the writer and forgets what was not committed. Only [`TextIndex::reopen`] makes the
    /// index writable again.
    pub fn abandon(&mut self) {
        drop(self.slot.take());
        self.discard_uncommitted();
        self.is_dead = true;
    }

    /// Whether documents wait for a commit or merges are under way. Otherwise closing takes no time.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        !self.few.is_empty() || self.slot.is_busy()
    }

    /// Merges all segments into one and waits for it: removed documents are then gone from the
    /// disk. What was not committed is lost.
    ///
    /// # Errors
    /// If the writer is dead or the merge fails.
    pub fn compact(&mut self) -> Result<(), TextError> {
        if self.is_dead {
            return Err(TextError::WriterDead);
        }
        self.discard_uncommitted();
        // Segments of a merge in progress cannot be merged again.
        if let Some(mut former) = self.slot.take() {
            former.finish_merges().map_err(TextError::Write)?;
        }
        let index = self.index.clone();
        self.with_writer(|open| {
            let segments = index.searchable_segment_ids()?;
            if !segments.is_empty() {
                open.writer.merge(&segments).wait()?;
            }
            open.writer.garbage_collect_files().wait().map(drop)
        })?;
        self.refresh()
    }

    /// Has the segments that hold removed documents rewritten, in the background. Returns whether
    /// there is none; call it again until then.
    ///
    /// # Errors
    /// If the writer is dead, or a list of segments cannot be read.
    pub fn rewrite_removed(&mut self) -> Result<bool, TextError> {
        if self.is_dead {
            return Err(TextError::WriterDead);
        }
        let metas = self.index.searchable_segment_metas().map_err(TextError::Read)?;
        if !metas.iter().any(SegmentMeta::has_deletes) {
            return Ok(true);
        }
        self.with_writer(OpenWriter::rewrite_removed)?;
        Ok(false)
    }

    /// Removes the files of segments that were rewritten, and makes the others durable. Returns
    /// whether that is done: files that a reader or a merge still uses stay.
    ///
    /// # Errors
    /// If the writer is dead, or the folder cannot be used.
    pub fn remove_rewritten(&mut self) -> Result<bool, TextError> {
        if !self.unused_files()?.is_empty() {
            self.with_writer(|open| open.writer.garbage_collect_files().wait().map(drop))?;
        }
        if !self.unused_files()?.is_empty() {
            return Ok(false);
        }
        // A loss of power must not bring back what was removed.
        sync_files(&self.path).map_err(|source| self.file_error(source))?;
        Ok(true)
    }

    /// The files that the last commit does not need.
    fn unused_files(&self) -> Result<Vec<PathBuf>, TextError> {
        let live = live_files(&self.index).map_err(TextError::Read)?;
        let mut names = file_names(&self.path).map_err(|source| self.file_error(source))?;
        names.retain(|name| !live.contains(name) && name != Path::new(META));
        Ok(names)
    }

    fn file_error(&self, source: std::io::Error) -> TextError {
        TextError::File { path: self.path.clone(), source }
    }

    /// Closes the index and waits for merges up to a timeout; returns whether they finished.
    /// Uncommitted documents are lost. Dropping an index does not wait: it cancels merges.
    #[must_use]
    pub fn close(self, wait_max: Duration) -> bool {
        let Some(mut open) = self.slot.take() else { return true };
        if open.is_idle() {
            return true;
        }
        let (done, ended) = mpsc::channel();
        let waiting = std::thread::Builder::new().name("text-close".to_owned()).spawn(move || {
            // The lock goes with the index, after its last merge.
            let index = self;
            let merged = open.finish_merges().is_ok();
            drop((open, index));
            // The caller may have stopped waiting.
            let _ = done.send(merged);
        });
        waiting.is_ok() && ended.recv_timeout(wait_max).unwrap_or(false)
    }

    /// Discards what was added since the last commit.
    fn discard_uncommitted(&mut self) {
        self.few.clear();
        self.streaming = false;
    }

    fn with_writer<T>(
        &mut self,
        work: impl FnOnce(&mut OpenWriter) -> tantivy::Result<T>,
    ) -> Result<T, TextError> {
        if self.is_dead {
            return Err(TextError::WriterDead);
        }
        self.slot.with(&self.writers, &self.index, work).map_err(|error| {
            self.is_dead = true;
            TextError::Write(error)
        })
    }
}

/// Makes the files of a folder durable, and their names.
fn sync_files(folder: &Path) -> std::io::Result<()> {
    for name in file_names(folder)? {
        let path = folder.join(name);
        steps::sync(&steps::open(&path)?, &path)?;
    }
    if cfg!(unix) { steps::sync(&steps::open(folder)?, folder) } else { Ok(()) }
}

/// Writes documents as a segment on this thread.
fn add_segment(writer: &IndexWriter, documents: Vec<TantivyDocument>) -> tantivy::Result<()> {
    let segment = writer.new_segment();
    let mut written = SegmentWriter::for_segment(SMALL_BYTES, segment.clone())?;
    for document in documents {
        // Stamps order additions and removals; here are no removals.
        written.add_document(AddOperation { opstamp: 0, document })?;
    }
    let n_documents = written.max_doc();
    written.finalize()?;
    let segment = segment.with_max_doc(n_documents);
    segment.meta().untrack_temp_docstore();
    writer.add_segment(segment.meta().clone())
}
