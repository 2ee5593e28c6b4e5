//! Folders and queries that the server keeps workspaces like (`[[sources]]`), each on a thread of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use haversack::ingest::{WatchEvent, WatchRequest, watch};
use haversack::{Engine, Error, Workspace};
use haversack_core::item::Kind;
use haversack_store::store::error::error_chain;
use serde::{Deserialize, Serialize};

use crate::database_sources::{DatabaseSource, open_source};

/// A folder or the query of a database, and the workspace that it is kept in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// The folder or file.
    #[serde(skip_serializing_if = "is_unset")]
    pub path: PathBuf,
    /// The workspace, which is created when it is missing.
    pub workspace: String,
    /// The kind of items that do not name their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Look at everything this often, in seconds, instead of waiting for events. For network folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
    /// A database in place of a folder: its address, without a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The environment variable that holds the database's address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub database_env: Option<String>,
    /// The `SELECT` whose rows are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// The column that identifies a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The column that is the item's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The column that is the item's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The column that says when the row was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The column that says when the row last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated: Option<String>,
    /// The name of the source; by default the database and the kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the ids of the items begin with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_prefix: Option<String>,
    /// Who may read the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readers: Option<Vec<String>>,
    /// The time between two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_seconds: Option<u64>,
    /// How old the last full pass may be, in hours; 0 for any age.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_every_hours: Option<u64>,
    /// How long the database may take for the next rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
}

fn is_unset(path: &std::path::Path) -> bool {
    path.as_os_str().is_empty()
}

impl Source {
    /// Whether it is a query of a database rather than a folder.
    fn is_database(&self) -> bool {
        self.database.is_some() || self.database_env.is_some() || self.query.is_some()
    }

    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<String> {
        let problem = match () {
            () if self.is_database() && !is_unset(&self.path) => {
                "path and database: give one of them"
            }
            () if is_unset(&self.path) && !self.is_database() => "path: name the folder",
            () if self.workspace.is_empty() => "workspace: name the workspace",
            () if self.poll_seconds == Some(0) => "poll_seconds: use 1 or more",
            () if self.interval_seconds == Some(0) => "interval_seconds: use 1 or more",
            () if self.timeout_seconds == Some(0) => "timeout_seconds: use 1 or more",
            () if self.kind.as_ref().is_some_and(|kind| Kind::new(kind).is_err()) => {
                "kind: not a kind's name"
            }
            () if self.is_database() => return DatabaseSource::new(self).err(),
            () => return None,
        };
        Some(problem.to_owned())
    }
}

/// The running threads. Dropping ends them, once each has finished what it reads.
#[derive(Debug)]
pub struct SourceWatchers {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl SourceWatchers {
    /// Starts to watch. A workspace that cannot be opened is an error; a folder that cannot be read is
    /// reported in the log and tried again.
    ///
    /// # Errors
    /// When a workspace cannot be opened or a thread cannot be started.
    pub fn start(engine: &Engine, sources: &[Source]) -> Result<SourceWatchers, Error> {
        let mut watchers = SourceWatchers { stop: Arc::default(), threads: Vec::new() };
        for source in sources {
            let workspace = engine.workspace(&source.workspace)?;
            if source.is_database() {
                let query = open_source(source)?;
                watchers
                    .spawn(workspace.clone(), move |workspace, stop| query.run(workspace, stop))?;
                continue;
            }
            let request = WatchRequest {
                paths: vec![source.path.clone()],
                kind: source.kind.as_ref().and_then(|kind| Kind::new(kind).ok()),
                reader_program: engine.reader_program().map(ToOwned::to_owned),
                poll: source.poll_seconds.map(Duration::from_secs),
                ..WatchRequest::default()
            };
            watchers.spawn(workspace, move |workspace, stop| {
                let store = Arc::clone(workspace.blocking_store());
                watch(&*store, &request, &|| workspace.now(), stop, &mut |event| {
                    log_event(workspace.name(), &event);
                });
            })?;
        }
        Ok(watchers)
    }

    /// Starts the thread of a source.
    fn spawn(
        &mut self,
        workspace: Workspace,
        work: impl FnOnce(&Workspace, &AtomicBool) + Send + 'static,
    ) -> Result<(), Error> {
        let stop = Arc::clone(&self.stop);
        let thread = std::thread::Builder::new().name("haversack-source".to_owned());
        let name = workspace.name().to_owned();
        let started = thread.spawn(move || work(&workspace, &stop));
        let thread = started.map_err(|error| {
            Error::invalid("sources", format!("no thread can watch for {name}: {error}"))
        })?;
        self.threads.push(thread);
        Ok(())
    }
}

impl Drop for SourceWatchers {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that panicked has said so.
            let _ = thread.join();
        }
    }
}

fn log_event(workspace: &str, event: &WatchEvent<'_>) {
    match event {
        WatchEvent::Synced(path, summary) => {
            let progress = summary.progress;
            if progress.stored + summary.deleted + progress.skipped > 0 {
                tracing::info!(
                    target: "haversack", workspace, path = %path.display(), stored = progress.stored,
                    deleted = summary.deleted, skipped = progress.skipped, "a source was read"
                );
            }
            for skip in &summary.skips {
                tracing::warn!(target: "haversack", workspace, skipped = %skip, "not read");
            }
        }
        WatchEvent::Failed(path, error) => {
            let error = error_chain(error);
            tracing::error!(
                target: "haversack", workspace, path = %path.display(), error, "a source cannot be read"
            );
        }
        WatchEvent::Blind(cause) => {
            tracing::warn!(target: "haversack", workspace, cause, "changes are looked for instead");
        }
    }
}
