//! A workspace of the embedded engine: opened, written, looked at, closed.

use std::fmt;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use haversack_core::embed::Model;
use haversack_core::units::Timestamp;

use super::catalogue::Catalogue;
use super::home::Lock;
use super::indexes::{IndexError, Indexes};
use super::records::{self, lookup, storage, usage};
use super::refresh::refresh;
use super::seals::{self, StateNamer};
use super::state::{PublishedState, SharedState, Visibility, WatchedState};
use super::text::TextError;
use super::vectors::VectorsError;
use super::view::View;
use super::writer::{Job, Writer};
use crate::kinds::Kinds;
use crate::prepare::{SharedEmbedder, prepare};
use crate::revision::{Revision, StateToken};
use crate::store::change::{Batch, Committed};
use crate::store::error::{CommitError, OpenError, ReadError};
use crate::store::maintenance::Progress;
use crate::store::viewer::Viewer;

/// Batches that wait for the writer; who brings more waits too.
const WAITING_MAX: usize = 64;

/// One workspace in a folder of its own. Shared by reference; closing waits for the writer.
pub struct Embedded {
    pub(super) shared: Arc<SharedState>,
    jobs: SyncSender<Job>,
    writer: Mutex<Option<JoinHandle<()>>>,
    repaired: Vec<String>,
    _lock: Option<Arc<Lock>>,
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl Embedded {
    /// Opens the workspace in a folder that nobody else has open, and brings its indexes up to
    /// date.
    pub(super) fn open(
        folder: &Path,
        embedder: SharedEmbedder,
        kinds: Arc<Kinds>,
        lock: Option<Arc<Lock>>,
        on_upgrade: impl FnMut(Progress),
    ) -> Result<Embedded, OpenError> {
        let io = |path: &Path, cause: std::io::Error| OpenError::Io {
            path: path.to_owned(),
            cause: cause.into(),
        };
        std::fs::create_dir_all(folder).map_err(|error| io(folder, error))?;
        let mut connection = records::open(folder, kinds.references())?;
        let truth = |error: rusqlite::Error| OpenError::Damaged {
            path: records::file(folder),
            cause: error.into(),
        };
        refresh(&mut connection, &kinds, on_upgrade).map_err(truth)?;
        seals::seal_missing_rows(&mut connection).map_err(truth)?;
        let model = usage::model_number(&connection, embedder.model()).map_err(truth)?;
        let stored = match usage::model(&connection).map_err(truth)? {
            Some(stored) => stored,
            None => {
                usage::set_model(&connection, model).map_err(truth)?;
                embedder.model().clone()
            }
        };
        let revision = Revision::new(usage::revision(&connection).map_err(truth)?);
        let damaged = |error: ReadError| OpenError::Damaged {
            path: records::file(folder),
            cause: error.into(),
        };
        let catalogue = Catalogue::read(&connection).map_err(damaged)?;
        let refuse = |error| index_open_error(folder, error);
        let mut indexes =
            Indexes::open(folder, &kinds, (&stored, embedder.model()), revision).map_err(refuse)?;
        indexes.recover(&connection, revision).map_err(refuse)?;
        let repaired = indexes.repaired().to_vec();
        let (text, vectors) = indexes.readers();
        let state = PublishedState::new(revision, catalogue.clone(), text, vectors);
        let shared = Arc::new(SharedState::new(folder.to_owned(), (embedder, model), kinds, state));
        let writer = Writer::new(connection, Arc::clone(&shared), indexes, (revision, catalogue));
        let (jobs, inbox) = sync_channel(WAITING_MAX);
        let thread = std::thread::Builder::new()
            .name("haversack-writer".to_owned())
            .spawn(move || writer.run(&inbox))
            .map_err(|error| io(folder, error))?;
        Ok(Embedded { shared, jobs, writer: Mutex::new(Some(thread)), repaired, _lock: lock })
    }

    /// What was found damaged at opening and made anew.
    #[must_use]
    pub fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// The model that embeds new texts and queries.
    #[must_use]
    pub fn model(&self) -> &Model {
        self.shared.embedder.model()
    }

    /// The kinds that are known here.
    #[must_use]
    pub fn kinds(&self) -> &Arc<Kinds> {
        &self.shared.kinds
    }

    /// Who embeds here.
    #[must_use]
    pub fn embedder(&self) -> &SharedEmbedder {
        &self.shared.embedder
    }

    /// Writes a batch, all or nothing. When it returns, the batch is durable and searchable.
    ///
    /// # Errors
    /// When the batch is wrong or too large, or the store cannot be written; see [`CommitError`].
    pub fn write(&self, batch: Batch) -> Result<Committed, CommitError> {
        let shared = &self.shared;
        let known = |hashes: &[_]| {
            let known = shared
                .pool
                .read(|connection| lookup::have_vectors(connection, hashes, shared.model));
            // Not to know only means to embed again.
            known.unwrap_or_else(|_| vec![false; hashes.len()])
        };
        let prepared = prepare(batch, &*shared.embedder, &shared.kinds, &known)?;
        let (reply, answer) = sync_channel(1);
        self.jobs.send(Job::Write(prepared, reply)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }

    /// Has the writer do something between two groups of batches, and waits for it.
    pub(super) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Writer) -> T + Send + 'static,
    ) -> Result<T, CommitError> {
        let (reply, answer) = sync_channel(1);
        let job = Job::Call(Box::new(move |writer| {
            let _ = reply.send(work(writer));
        }));
        self.jobs.send(job).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())
    }

    /// The present state, for a viewer.
    #[must_use]
    pub fn view(&self, viewer: &Viewer) -> View {
        present(self.shared.watch(), viewer)
    }

    /// The state at a moment, for a viewer who may read these items today.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn as_of(&self, viewer: &Viewer, moment: Timestamp) -> Result<View, ReadError> {
        // Watched first, so that no version of the state is trimmed in between.
        let watched = self.shared.watch();
        let at_moment = |connection: &_| usage::revision_at(connection, moment).map_err(storage);
        let revision = Revision::new(self.shared.pool.read(at_moment)?);
        state_at(watched, viewer, revision)
    }

    /// The state of a number, for a viewer who may read these items today.
    ///
    /// # Errors
    /// When there is no such state yet or the store cannot be read.
    pub fn at(&self, viewer: &Viewer, revision: Revision) -> Result<View, ReadError> {
        let watched = self.shared.watch();
        let now = watched.state.revision;
        if revision > now {
            let what = format!("{revision} is above the present one, {now}");
            return Err(ReadError::invalid("revision", what));
        }
        state_at(watched, viewer, revision)
    }

    /// The last state that a viewer knows by this name, as long as all that was in it is kept and the
    /// viewer can read as much of it as then.
    ///
    /// # Errors
    /// When the viewer knows no state by this name, or the store cannot be read.
    pub fn named(&self, viewer: &Viewer, token: StateToken) -> Result<View, ReadError> {
        let watched = self.shared.watch();
        let seen = watched.state.visibility_of(viewer);
        if seen.token == token {
            return Ok(present(watched, viewer));
        }
        let find = |connection: &_| {
            seals::find_state(connection, &StateNamer::new(viewer), &seen.lists, token)
        };
        match self.shared.pool.read(find)? {
            Some(revision) => state_at(watched, viewer, revision),
            None => {
                let what = format!(
                    "{token} names no state that this viewer can read again: it is another \
                     viewer's, or its items were removed or are for other readers now; use a moment"
                );
                Err(ReadError::invalid("revision", what))
            }
        }
    }

    /// Ends the writer after what waits, and leaves the indexes ready for a quick start.
    pub fn close(&self) {
        let _ = self.jobs.send(Job::Stop);
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(writer) = writer {
            // A panic of the writer has been answered to everyone who waited for it.
            let _ = writer.join();
        }
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.close();
    }
}

/// The watched state.
fn present(watched: WatchedState, viewer: &Viewer) -> View {
    let seen = watched.state.visibility_of(viewer);
    view(watched, seen, None)
}

/// The watched state or one before it.
fn state_at(watched: WatchedState, viewer: &Viewer, revision: Revision) -> Result<View, ReadError> {
    if revision >= watched.state.revision {
        return Ok(present(watched, viewer));
    }
    let (trimmed, catalogue) = watched.shared.pool.read(|connection| {
        let trimmed = usage::trimmed_lists(connection, revision.get()).map_err(storage)?;
        Ok((trimmed, Catalogue::read_at(connection, revision)?))
    })?;
    let seen = Visibility::new(&catalogue, viewer);
    let history_is_whole = !trimmed.iter().any(|list| seen.lists.contains(list));
    Ok(View { history_is_whole, ..view(watched, seen, Some(revision)) })
}

/// What a viewer sees of the watched state, or of one before it.
fn view(watched: WatchedState, seen: Visibility, before: Option<Revision>) -> View {
    let revision = before.unwrap_or(watched.state.revision);
    let activity = watched.shared.activity(&seen.lists);
    let Visibility { visible, token, .. } = seen;
    View { watched, revision, visible, token, activity, history_is_whole: true }
}

fn gone() -> CommitError {
    CommitError::Stopped { cause: "the writer has ended".into() }
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
