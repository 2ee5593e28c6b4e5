//! Tantivy's writers of all workspaces: a bounded number, opened by a commit and closed by least use.
//!
//! Each has three threads and, while many documents stream in, some megabytes. A workspace needs one
//! only to write, so idle workspaces have none. A writer with documents that are not committed, or
//! with merges under way, is never closed.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{FutureResult, Index, IndexWriter};

/// Memory for documents before they are written as a segment.
const WRITER_BYTES: usize = 64 << 20;

/// Open writers beyond which the least recently used idle one is closed for each new one.
const OPEN_MAX: usize = 16;

/// Open writers beyond which a commit waits for another to end.
const BUSY_MAX: usize = 64;

/// Writers into which documents stream at the same time; they hold up to [`WRITER_BYTES`] each.
const STREAMS_MAX: usize = 4;

/// How often a commit that waits looks for a writer whose merges have ended.
const MERGES_CHECK: Duration = Duration::from_millis(10);

/// Segments of similar size that are merged into one.
const MERGE_SEGMENTS: usize = 4;

/// Smaller segments count as being of this size.
const MERGE_DOCUMENTS_MIN: u32 = 256;

/// A segment with a larger share of removed documents is rewritten.
const REMOVED_SHARE_MAX: f32 = 0.25;

/// The open writers of all indexes that share it.
#[derive(Debug)]
pub(crate) struct TextWriters {
    open_max: usize,
    state: Mutex<OpenWriters>,
    /// A writer was closed or a stream has ended.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct OpenWriters {
    slots: Vec<Weak<WriterSlot>>,
    n_open: usize,
    n_streams: usize,
    /// Counts uses, for the order of last use.
    n_used: u64,
}

/// The place of one index's writer.
#[derive(Debug, Default)]
pub(super) struct WriterSlot(Mutex<Option<OpenWriter>>);

/// A writer of Tantivy, and what it is doing.
pub(super) struct OpenWriter {
    pub(super) writer: IndexWriter,
    index: Index,
    merges: Vec<RunningMerge>,
    /// It received documents or removals since the last commit.
    has_uncommitted: bool,
    /// Released at the end of the commit.
    stream: Option<StreamPermit>,
    /// The number of its last use.
    used: u64,
    /// Dropped after the writer, so that its threads are gone when it stops counting.
    permit: OpenPermit,
}

struct RunningMerge {
    segments: BTreeSet<SegmentId>,
    done: Pin<Box<FutureResult<Option<SegmentMeta>>>>,
}

/// Counts an open writer.
struct OpenPermit(Arc<TextWriters>);

/// Counts a stream of documents.
struct StreamPermit(Arc<TextWriters>);

impl std::fmt::Debug for OpenWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenWriter").field("merges", &self.merges.len()).finish_non_exhaustive()
    }
}

impl Drop for OpenPermit {
    fn drop(&mut self) {
        self.0.lock().n_open -= 1;
        self.0.freed.notify_all();
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        self.0.lock().n_streams -= 1;
        self.0.freed.notify_all();
    }
}

impl Default for TextWriters {
    fn default() -> TextWriters {
        TextWriters::with_limit(OPEN_MAX)
    }
}

impl TextWriters {
    /// Writers of which at most this many stay open without need.
    pub(crate) fn with_limit(open_max: usize) -> TextWriters {
        TextWriters { open_max, state: Mutex::default(), freed: Condvar::new() }
    }

    /// The number of open writers.
    #[cfg(test)]
    pub(crate) fn n_open(&self) -> usize {
        self.lock().n_open
    }

    /// A place for the writer of one more index.
    pub(super) fn add_slot(&self) -> Arc<WriterSlot> {
        let slot = Arc::new(WriterSlot::default());
        let mut state = self.lock();
        state.slots.retain(|slot| slot.strong_count() > 0);
        state.slots.push(Arc::downgrade(&slot));
        slot
    }

    fn next_use(&self) -> u64 {
        let mut state = self.lock();
        state.n_used += 1;
        state.n_used
    }

    fn lock(&self) -> MutexGuard<'_, OpenWriters> {
        // The counts are right after every statement, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a writer may be opened, and closes one that is idle if there are many.
    fn permit(self: &Arc<TextWriters>) -> OpenPermit {
        let mut state = self.lock();
        while state.n_open >= self.open_max {
            drop(state);
            let closed = self.close_least_used();
            state = self.lock();
            if closed {
                continue;
            }
            if state.n_open < BUSY_MAX.max(self.open_max) {
                break;
            }
            let waited = self.freed.wait_timeout(state, MERGES_CHECK);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.n_open += 1;
        OpenPermit(Arc::clone(self))
    }

    /// Waits until few others stream.
    fn stream_permit(self: &Arc<TextWriters>) -> StreamPermit {
        let state = self.lock();
        let full = |state: &mut OpenWriters| state.n_streams >= STREAMS_MAX;
        let mut state = self.freed.wait_while(state, full).unwrap_or_else(PoisonError::into_inner);
        state.n_streams += 1;
        StreamPermit(Arc::clone(self))
    }

    /// Closes the idle writer that was used least recently. Returns whether there was one.
    fn close_least_used(&self) -> bool {
        let slots: Vec<Arc<WriterSlot>> =
            self.lock().slots.iter().filter_map(Weak::upgrade).collect();
        let mut idle: Vec<_> =
            slots.iter().filter_map(|slot| Some((slot.last_use_if_idle()?, slot))).collect();
        idle.sort_unstable_by_key(|(used, _)| *used);
        // Another thread may have begun to use it meanwhile.
        idle.into_iter().any(|(_, slot)| slot.close_if_idle())
    }
}

impl WriterSlot {
    fn lock(&self) -> MutexGuard<'_, Option<OpenWriter>> {
        // A panic in Tantivy's writer leaves it in an unknown state: the index opens another.
        self.0.lock().unwrap_or_else(|poisoned| {
            self.0.clear_poison();
            let mut slot = poisoned.into_inner();
            *slot = None;
            slot
        })
    }

    /// The lock on a writer that nobody uses and that has nothing to do.
    fn lock_if_idle(&self) -> Option<MutexGuard<'_, Option<OpenWriter>>> {
        let mut slot = match self.0.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::WouldBlock | TryLockError::Poisoned(_)) => return None,
        };
        slot.as_mut()?.is_idle().then_some(slot)
    }

    fn last_use_if_idle(&self) -> Option<u64> {
        Some(self.lock_if_idle()?.as_ref()?.used)
    }

    fn close_if_idle(&self) -> bool {
        // Closed under the lock, so that the index cannot open another at the same time.
        self.lock_if_idle().is_some_and(|mut slot| slot.take().is_some())
    }

    /// Whether there is a writer with something to do.
    pub(super) fn is_busy(&self) -> bool {
        self.lock().as_mut().is_some_and(|open| !open.is_idle())
    }

    /// Takes the writer out, if there is one.
    pub(super) fn take(&self) -> Option<OpenWriter> {
        self.lock().take()
    }

    /// Runs work on the writer, which is opened if there is none, and closed if the work fails.
    pub(super) fn with<T>(
        &self,
        writers: &Arc<TextWriters>,
        index: &Index,
        work: impl FnOnce(&mut OpenWriter) -> tantivy::Result<T>,
    ) -> tantivy::Result<T> {
        let mut slot = self.lock();
        let open = match &mut *slot {
            Some(open) => open,
            None => slot.insert(OpenWriter::open(writers, index)?),
        };
        open.used = writers.next_use();
        let done = work(open);
        if done.is_err() {
            *slot = None;
        }
        done
    }
}

impl OpenWriter {
    fn open(writers: &Arc<TextWriters>, index: &Index) -> tantivy::Result<OpenWriter> {
        let permit = writers.permit();
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(WRITER_BYTES)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        // Merges are started here, because Tantivy does not tell which are under way.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(OpenWriter {
            writer,
            index: index.clone(),
            merges: Vec::new(),
            has_uncommitted: false,
            stream: None,
            used: 0,
            permit,
        })
    }

    /// Begins to pass documents to the writer's thread, which holds them in memory.
    pub(super) fn begin_stream(&mut self) {
        self.has_uncommitted = true;
        if self.stream.is_none() {
            let writers = Arc::clone(&self.permit.0);
            self.stream = Some(writers.stream_permit());
        }
    }

    /// Commits with this payload, then starts the merges that are due.
    pub(super) fn commit(&mut self, payload: &str) -> tantivy::Result<()> {
        self.has_uncommitted = true;
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(payload);
        commit.commit()?;
        (self.has_uncommitted, self.stream) = (false, None);
        // The commit is done. What cannot be merged now is tried again after the next one.
        let _ = self.start_merges();
        Ok(())
    }

    /// Whether closing it loses nothing and takes no time.
    pub(super) fn is_idle(&mut self) -> bool {
        !self.has_uncommitted && !self.is_merging()
    }

    fn is_merging(&mut self) -> bool {
        // A merge that failed leaves its segments as they were: the next commit tries again.
        self.merges.retain_mut(|merge| merge.done.as_mut().now_or_never().is_none());
        !self.merges.is_empty()
    }

    /// Starts the merges that are due.
    fn start_merges(&mut self) -> tantivy::Result<()> {
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(MERGE_SEGMENTS);
        policy.set_min_layer_size(MERGE_DOCUMENTS_MIN);
        policy.set_del_docs_ratio_before_merge(REMOVED_SHARE_MAX);
        self.is_merging();
        let mut segments = self.index.searchable_segment_metas()?;
        let merges = &self.merges;
        segments.retain(|one| !merges.iter().any(|merge| merge.segments.contains(&one.id())));
        if let [only] = &segments[..]
            && !only.has_deletes()
        {
            return Ok(());
        }
        for candidate in policy.compute_merge_candidates(&segments) {
            let done = Box::pin(self.writer.merge(&candidate.0));
            self.merges.push(RunningMerge { segments: candidate.0.into_iter().collect(), done });
        }
        Ok(())
    }

    /// Starts to rewrite the segments that hold removed documents.
    pub(super) fn rewrite_removed(&mut self) -> tantivy::Result<()> {
        self.is_merging();
        let mut segments = self.index.searchable_segment_metas()?;
        let merges = &self.merges;
        // What is removed during a merge is removed from its result, which then is rewritten, too.
        segments.retain(|one| {
            one.has_deletes() && !merges.iter().any(|merge| merge.segments.contains(&one.id()))
        });
        for segment in segments {
            let done = Box::pin(self.writer.merge(&[segment.id()]));
            self.merges.push(RunningMerge { segments: [segment.id()].into(), done });
        }
        Ok(())
    }

    /// Waits until no merge is under way or due.
    pub(super) fn finish_merges(&mut self) -> tantivy::Result<()> {
        loop {
            self.start_merges()?;
            if self.merges.is_empty() {
                return Ok(());
            }
            for merge in std::mem::take(&mut self.merges) {
                futures_executor::block_on(merge.done)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haversack_core::text::terms::Language;
    use tempfile::TempDir;

    use super::TextWriters;
    use crate::embedded::row::Row;
    use crate::embedded::text::{TextDocument, TextIndex};
    use crate::revision::Revision;

    fn open(writers: &Arc<TextWriters>) -> (TextIndex, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (TextIndex::open_with(folder.path(), writers).unwrap().index, folder)
    }

    fn add(index: &mut TextIndex, row: u32) {
        let language = Language::of_code("en");
        let (title, path, headings, body) = ("", "", "", "some words");
        let (row, tie) = (Row::new(row), u64::from(row));
        let chunk = 0;
        index
            .add(&TextDocument { row, chunk, tie, title, path, headings, body, language })
            .unwrap();
    }

    #[test]
    fn few_writers_serve_many_indexes() {
        let writers = Arc::new(TextWriters::with_limit(2));
        let mut indexes: Vec<_> = (0..6).map(|_| open(&writers)).collect();
        assert_eq!(writers.n_open(), 0, "an index that is not written has none");
        for revision in 1..=9 {
            for (index, _) in &mut indexes {
                add(index, revision);
                index.commit(Revision::new(u64::from(revision))).unwrap();
                // One more at most, while the merges of others go on.
                assert!(writers.n_open() <= 6, "{}", writers.n_open());
            }
        }
        for (index, _) in &indexes {
            assert_eq!(index.reader().documents().count(), 9);
        }
        while indexes.iter().any(|(index, _)| index.is_busy()) {
            std::thread::yield_now();
        }
        let (another, _folder) = &mut open(&writers);
        add(another, 1);
        another.commit(Revision::new(1)).unwrap();
        assert!(writers.n_open() <= 2, "{}", writers.n_open());
        drop(indexes);
        assert!(writers.n_open() <= 1, "closing an index closes its writer");
    }

    #[test]
    fn what_is_not_committed_keeps_its_writer() {
        let writers = Arc::new(TextWriters::with_limit(1));
        let ((mut streaming, _one), (mut other, _two)) = (open(&writers), open(&writers));
        // More than go into a segment without the writer.
        (0..200).for_each(|row| add(&mut streaming, row));
        assert!(streaming.is_busy());
        add(&mut other, 1);
        other.commit(Revision::new(1)).unwrap();
        assert_eq!(writers.n_open(), 2);
        streaming.commit(Revision::new(1)).unwrap();
        assert_eq!(streaming.reader().documents().count(), 200);
    }

    #[test]
    fn what_is_abandoned_holds_nothing() {
        let writers = Arc::new(TextWriters::with_limit(1));
        let (mut index, _folder) = open(&writers);
        (0..200).for_each(|row| add(&mut index, row));
        index.abandon();
        assert_eq!(writers.n_open(), 0);
        assert!(!index.is_busy());
        index.reopen().unwrap();
        add(&mut index, 1);
        index.commit(Revision::new(1)).unwrap();
        assert_eq!(index.reader().documents().count(), 1);
    }
}
