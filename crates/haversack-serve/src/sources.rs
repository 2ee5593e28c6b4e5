//! Folders that the server keeps workspaces like (`[[sources]]`), each on a thread of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use haversack::ingest::{WatchEvent, WatchRequest, watch};
use haversack::{Engine, Error};
use haversack_core::item::Kind;
use haversack_store::store::error::error_chain;
use serde::{Deserialize, Serialize};

/// A folder and the workspace that it is kept in.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// The folder or file.
    pub path: PathBuf,
    /// The workspace, which is created when it is missing.
    pub workspace: String,
    /// The kind of items that do not name their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Look at everything this often, in seconds, instead of waiting for events. For network folders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_seconds: Option<u64>,
}

impl Source {
    /// What is wrong with it, if anything.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        match () {
            () if self.path.as_os_str().is_empty() => Some("path: name the folder"),
            () if self.workspace.is_empty() => Some("workspace: name the workspace"),
            () if self.poll_seconds == Some(0) => Some("poll_seconds: use 1 or more"),
            () if self.kind.as_ref().is_some_and(|kind| Kind::new(kind).is_err()) => {
                Some("kind: not a kind's name")
            }
            () => None,
        }
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
            let request = WatchRequest {
                paths: vec![source.path.clone()],
                kind: source.kind.as_ref().and_then(|kind| Kind::new(kind).ok()),
                reader_program: engine.reader_program().map(ToOwned::to_owned),
                poll: source.poll_seconds.map(Duration::from_secs),
                ..WatchRequest::default()
            };
            let stop = Arc::clone(&watchers.stop);
            let thread = std::thread::Builder::new().name("haversack-source".to_owned());
            let name = workspace.name().to_owned();
            let started = thread.spawn(move || {
                let store = Arc::clone(workspace.blocking_store());
                watch(&*store, &request, &|| workspace.now(), &stop, &mut |event| {
                    log_event(workspace.name(), &event);
                });
            });
            let thread = started.map_err(|error| {
                Error::invalid("sources", format!("no thread can watch for {name}: {error}"))
            })?;
            watchers.threads.push(thread);
        }
        Ok(watchers)
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
