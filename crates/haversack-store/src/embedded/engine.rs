//! A workspace of the embedded engine: opening, writing, taking views, closing.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use haversack_core::embed::Model;
use haversack_core::units::Timestamp;

use super::catalogue::Catalogue;
use super::data_folder::FolderLock;
use super::expunge::Expunging;
use super::indexes::{IndexError, Indexes};
use super::new_vectors::remove_unfinished;
use super::records::{self, OpenedRecords, keys, lookup, storage, usage};
use super::replica::{Attached, JournalLink, Replica};
use super::resources::Resources;
use super::retired::RetiredModels;
use super::seals::{self, StateNamer};
use super::state::{EmbeddingModel, PublishedState, StoreHandles, Visibility, WatchedState};
use super::text::TextError;
use super::upgrade::recompute_derived;
use super::vectors::VectorsError;
use super::view::View;
use super::writer::{BatchReply, Writer};
use super::writer_queue::WriterQueue;
use crate::descriptors;
use crate::kinds::Kinds;
use crate::prepare::{BatchEmbedder, Hash, PreparedBatch, SharedEmbedder, prepare};
use crate::revision::{Revision, StateToken};
use crate::store::change::{Batch, CommitReport, RecordedWrite, WriteKey};
use crate::store::error::{CommitError, OpenError, ReadError};
use crate::store::health::HealthProblem;
use crate::store::journal::Position;
use crate::store::maintenance::MaintenanceProgress;
use crate::store::viewer::Viewer;

/// How often a batch is prepared: each time the model changes or vectors are purged meanwhile.
const PREPARATIONS_MAX: usize = 5;

/// The number of a model that a replica has no number for.
const UNKNOWN_MODEL: i64 = 0;

/// One workspace in a folder of its own. Shared by reference; closing waits for the writer.
pub struct EmbeddedStore {
    pub(super) shared: Arc<StoreHandles>,
    writer: Arc<WriterQueue>,
    repaired: Vec<String>,
    /// The connection to the journal, if this is a replica.
    link: Option<Arc<JournalLink>>,
    _lock: Option<Arc<FolderLock>>,
}

impl fmt::Debug for EmbeddedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EmbeddedStore").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl EmbeddedStore {
    /// Opens the workspace in a folder that is not open elsewhere, and brings its indexes up to
    /// date.
    pub(super) fn open(
        folder: &Path,
        embedder: SharedEmbedder,
        kinds: Arc<Kinds>,
        (lock, resources): (Option<Arc<FolderLock>>, &Resources),
        attached: Option<Attached>,
        on_upgrade: impl FnMut(MaintenanceProgress),
    ) -> Result<EmbeddedStore, OpenError> {
        let _reserved = descriptors::reserve_to_open()?;
        let io =
            |cause: std::io::Error| OpenError::Io { path: folder.to_owned(), cause: cause.into() };
        std::fs::create_dir_all(folder).map_err(io)?;
        // A file that a crash left while it was made is empty, and so is one that somebody emptied.
        let was_empty = std::fs::metadata(records::file(folder)).is_ok_and(|file| file.len() == 0);
        let OpenedRecords { mut connection, was_interrupted } =
            records::open(folder, kinds.references())?;
        let truth = |error: rusqlite::Error| records::open_error(&records::file(folder), error);
        recompute_derived(&mut connection, &kinds, on_upgrade).map_err(truth)?;
        seals::seal_missing_rows(&mut connection).map_err(truth)?;
        let (link, replaced) = match attached {
            Some(Attached { link, replaced }) => (Some(link), replaced),
            None => (None, None),
        };
        let number = match &link {
            None => usage::model_number(&connection, embedder.model()).map_err(truth)?,
            // Numbers are given in the journal. Without one nothing is written by this model.
            Some(_) => usage::find_model(&connection, embedder.model())
                .map_err(truth)?
                .unwrap_or(UNKNOWN_MODEL),
        };
        let model = Arc::new(EmbeddingModel { number, embedder });
        let stored = match usage::model(&connection).map_err(truth)? {
            Some(stored) => stored,
            None => {
                usage::set_model(&connection, number).map_err(truth)?;
                model.embedder.model().clone()
            }
        };
        let retired = RetiredModels::read(&connection).map_err(truth)?;
        let expunging = Expunging::read(&connection).map_err(truth)?;
        // If it cannot be removed, the next change of the model reports it.
        let _ = remove_unfinished(folder);
        let revision = Revision::new(usage::revision(&connection).map_err(truth)?);
        let damaged = |error: ReadError| OpenError::Damaged {
            path: records::file(folder),
            cause: error.into(),
        };
        let catalogue = Catalogue::read(&connection).map_err(damaged)?;
        let refuse = |error| index_open_error(folder, error);
        let writers = Arc::clone(&resources.text_writers);
        let mut indexes = Indexes::open(folder, (&kinds, writers), (&stored, &*model), revision)
            .map_err(refuse)?;
        if let Some(lost) = indexes.lost_commits().filter(|_| was_interrupted || was_empty) {
            return Err(lost_commits_error(folder, revision, lost));
        }
        indexes.recover(&connection, revision).map_err(refuse)?;
        let mut repaired = indexes.repaired().to_vec();
        repaired.extend(replaced.map(|why| format!("replica: {why}: made anew from the journal")));
        let state = PublishedState::new(revision, catalogue.clone(), model, indexes.readers());
        let shared = StoreHandles::new(folder.to_owned(), kinds, state, resources);
        let latest = (revision, catalogue);
        let left = (retired, expunging);
        let mut writer = Writer::new(connection, Arc::clone(&shared), indexes, latest, left);
        if let Some(link) = &link {
            let replica = Replica::new(&writer.connection, Arc::clone(link)).map_err(truth)?;
            writer.replica = Some(replica);
        }
        let writer = WriterQueue::start(writer);
        Ok(EmbeddedStore { shared, writer, repaired, link, _lock: lock })
    }

    /// The connection to the journal, if this is a replica.
    pub(super) const fn link(&self) -> Option<&Arc<JournalLink>> {
        self.link.as_ref()
    }

    /// Damage that was found and repaired at opening.
    #[must_use]
    pub fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// What keeps the workspace from writing or from searching everything now; see
    /// [`Maintenance::health`](crate::store::maintenance::Maintenance::health).
    #[must_use]
    pub fn health(&self) -> Vec<HealthProblem> {
        self.shared.problems()
    }

    /// The model that embeds new texts and queries.
    #[must_use]
    pub fn model(&self) -> Model {
        self.embedder().model().clone()
    }

    /// The definitions of kinds in use.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.shared.kinds
    }

    /// The embedder of new texts; that of queries is [`View::embedder`].
    #[must_use]
    pub fn embedder(&self) -> SharedEmbedder {
        Arc::clone(&self.shared.model().embedder)
    }

    /// Writes a batch, all or nothing. When it returns, the batch is durable and searchable.
    ///
    /// # Errors
    /// When the batch is not valid or too large, or the store cannot be written; see
    /// [`CommitError`].
    pub fn write(&self, batch: Batch) -> Result<CommitReport, CommitError> {
        let (kinds, mut purged) = (&self.shared.kinds, BTreeSet::new());
        let mut prepared = self.embed_with(&purged, |by| prepare(batch, kinds, by))?;
        for _ in 0..PREPARATIONS_MAX {
            self.embed_by_next_model(&mut prepared);
            let hashes;
            (prepared, hashes) = match self.writer.write(prepared)? {
                BatchReply::Finished(result) => {
                    return result
                        .map(|report| CommitReport { position: self.position(), ..report });
                }
                BatchReply::PrepareAgain(prepared, hashes) => (*prepared, hashes),
            };
            purged.extend(hashes);
            self.embed_with(&purged, |by| prepared.embed(by))?;
        }
        let cause = format!("the vectors of the batch were outdated {PREPARATIONS_MAX} times");
        Err(CommitError::Storage { cause: cause.into() })
    }

    /// The position in the journal up to which readers see everything.
    fn position(&self) -> Option<Position> {
        self.link.as_ref().map(|link| link.position())
    }

    /// The batch that was written with a key.
    pub(super) fn find_write(&self, key: &WriteKey) -> Result<Option<RecordedWrite>, ReadError> {
        self.shared.pool.read(|connection| keys::find(connection, key).map_err(storage))
    }

    /// Runs work on this thread that embeds a batch by the model in use. Texts with a purged vector
    /// are embedded again.
    fn embed_with<T>(
        &self,
        purged: &BTreeSet<Hash>,
        work: impl FnOnce(&BatchEmbedder<'_>) -> T,
    ) -> T {
        let model = self.shared.model();
        let known = |hashes: &[Hash]| self.known_texts(hashes, purged, model.number);
        work(&BatchEmbedder { model: model.number, embedder: &*model.embedder, known: &known })
    }

    /// Embeds a batch by the model that the workspace is about to switch to, if it is.
    fn embed_by_next_model(&self, prepared: &mut PreparedBatch) {
        let Some(next) = self.shared.next_model().filter(|next| next.number != prepared.model)
        else {
            return;
        };
        let none = BTreeSet::new();
        let known = |hashes: &[Hash]| self.known_texts(hashes, &none, next.number);
        let by = BatchEmbedder { model: next.number, embedder: &*next.embedder, known: &known };
        // A failure is not this batch's: the change of the model embeds its texts, too.
        let _ = prepared.embed_next(&by);
    }

    /// Whether the store has the vectors of these texts by a model.
    fn known_texts(&self, hashes: &[Hash], purged: &BTreeSet<Hash>, model: i64) -> Vec<bool> {
        let read = |connection: &_| lookup::have_vectors(connection, hashes, model);
        match self.shared.pool.read(read) {
            Ok(known) => known
                .iter()
                .zip(hashes)
                .map(|(known, hash)| *known && !purged.contains(hash))
                .collect(),
            // The texts are embedded again.
            Err(_) => vec![false; hashes.len()],
        }
    }

    /// Runs work on the writer between two groups of batches.
    pub(super) fn call_writer<T>(
        &self,
        work: impl FnOnce(&mut Writer) -> T,
    ) -> Result<T, CommitError> {
        self.writer.call(work)
    }

    /// A view of the present state for a viewer.
    #[must_use]
    pub fn view(&self, viewer: &Viewer) -> View {
        view_present(self.shared.watch(), viewer)
    }

    /// A view of the state at a moment, by the viewer's present permissions.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn as_of(&self, viewer: &Viewer, moment: Timestamp) -> Result<View, ReadError> {
        // Watched first, so that no version of the state is trimmed in between.
        let watched = self.shared.watch();
        let at_moment = |connection: &_| usage::revision_at(connection, moment).map_err(storage);
        let revision = Revision::new(self.shared.pool.read(at_moment)?);
        view_at(watched, viewer, revision)
    }

    /// A view of a revision, by the viewer's present permissions.
    ///
    /// # Errors
    /// When the revision is above the present one or the store cannot be read.
    pub fn at_revision(&self, viewer: &Viewer, revision: Revision) -> Result<View, ReadError> {
        let watched = self.shared.watch();
        let now = watched.state.revision;
        if revision > now {
            let what = format!("{revision} is above the present one, {now}");
            return Err(ReadError::invalid("revision", what));
        }
        view_at(watched, viewer, revision)
    }

    /// A view of the last state with this token, if everything in it is still kept and the viewer
    /// can still read as much of it.
    ///
    /// # Errors
    /// When no state has this token for the viewer, or the store cannot be read.
    pub fn at_token(&self, viewer: &Viewer, token: StateToken) -> Result<View, ReadError> {
        let watched = self.shared.watch();
        let seen = watched.visibility_of(viewer);
        if seen.token == token {
            return Ok(view_present(watched, viewer));
        }
        let find = |connection: &_| {
            seals::find_state(connection, &StateNamer::new(viewer), &seen.lists, token)
        };
        match self.shared.pool.read(find)? {
            Some(revision) => view_at(watched, viewer, revision),
            None => {
                let what = format!(
                    "{token} names no state that this viewer can read again: it is another \
                     viewer's, or its items were removed or are for other readers now; use a moment"
                );
                Err(ReadError::invalid("revision", what))
            }
        }
    }

    /// Whether a snapshot, a write, a change of the model or a merge of the index is under way.
    #[must_use]
    pub fn is_in_use(&self) -> bool {
        self.shared.is_in_use() || self.writer.is_busy()
    }

    /// Writes what waits, refuses further batches, and leaves the indexes ready for a quick start.
    pub fn close(&self) {
        self.writer.close();
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        self.close();
    }
}

/// A view of the watched state.
fn view_present(watched: WatchedState, viewer: &Viewer) -> View {
    let seen = watched.visibility_of(viewer);
    view(watched, seen, None)
}

/// A view of the watched state or of an earlier revision.
fn view_at(watched: WatchedState, viewer: &Viewer, revision: Revision) -> Result<View, ReadError> {
    if revision >= watched.state.revision {
        return Ok(view_present(watched, viewer));
    }
    let (trimmed, catalogue) = watched.shared.pool.read(|connection| {
        let trimmed = usage::trimmed_lists(connection, revision.get()).map_err(storage)?;
        Ok((trimmed, Catalogue::read_at(connection, revision)?))
    })?;
    let seen = Visibility::new(&catalogue, viewer);
    let history_is_whole = !trimmed.iter().any(|list| seen.lists.contains(list));
    Ok(View { history_is_whole, ..view(watched, seen, Some(revision)) })
}

/// Makes a view of the watched state, or of an earlier revision.
fn view(watched: WatchedState, seen: Visibility, before: Option<Revision>) -> View {
    let revision = before.unwrap_or(watched.state.revision);
    let activity = watched.shared.activity(&seen.lists);
    let Visibility { visible, token, .. } = seen;
    View { watched, revision, visible, token, activity, history_is_whole: true }
}

/// The error for a log whose last commits cannot be read any more, although they were indexed.
fn lost_commits_error(folder: &Path, stored: Revision, indexed: Revision) -> OpenError {
    let text = folder.join("text");
    let cause = format!(
        "the log ends at revision {stored}, but {indexed} was committed; to go on without what \
         came after {stored}, delete the folder {}",
        text.display()
    );
    OpenError::Damaged { path: records::file(folder), cause: cause.into() }
}

fn index_open_error(folder: &Path, error: IndexError) -> OpenError {
    match error {
        IndexError::Text(TextError::Newer { found, known }) => {
            OpenError::Newer { path: folder.join("text"), found, known }
        }
        IndexError::Vectors(VectorsError::NewerFormat { path, found, known }) => {
            OpenError::Newer { path, found, known }
        }
        IndexError::Truth(error) => {
            OpenError::Damaged { path: records::file(folder), cause: error.into() }
        }
        other => OpenError::Io { path: folder.to_owned(), cause: other.into() },
    }
}
