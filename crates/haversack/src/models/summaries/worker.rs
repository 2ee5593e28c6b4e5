//! The thread that makes missing summaries, one after another.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use haversack_provider::{Allowance, AllowanceScope, ChatModel, current_allowances};
use moka::sync::Cache;

use super::writing::SummarySource;
use super::{MissingSummary, hash_parts};
use crate::engine::{WeakWorkspace, Workspace};
use crate::error::Error;

/// Summaries that wait to be made; further ones are asked for again by the next pack.
const WAITING_MAX: usize = 256;

/// Summaries that failed are not tried again for this long.
const FAILED_KEPT: Duration = Duration::from_secs(10 * 60);
const FAILED_MAX: u64 = 10_000;

/// Makes summaries in the background.
#[derive(Debug)]
pub(crate) struct SummaryWorker {
    model: Arc<ChatModel>,
    jobs: OnceLock<SyncSender<SummaryJob>>,
    progress: Arc<SummaryProgress>,
}

#[derive(Debug)]
struct SummaryJob {
    name: String,
    workspace: WeakWorkspace,
    missing: MissingSummary,
    key: String,
    /// Those of the caller whose pack asked for it: a key pays for the summaries that it causes.
    allowances: Vec<Arc<Allowance>>,
}

/// What is waiting or being made, and what failed.
#[derive(Debug)]
struct SummaryProgress {
    /// The keys of jobs that wait or run.
    open: Mutex<BTreeSet<String>>,
    changed: Condvar,
    /// By [`failure_key`].
    failed: Cache<String, ()>,
}

impl SummaryProgress {
    fn open(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, key: &str) {
        self.open().remove(key);
        self.changed.notify_all();
    }
}

impl SummaryWorker {
    /// A worker that asks this model. Its thread starts with the first job.
    pub(crate) fn new(model: Arc<ChatModel>) -> SummaryWorker {
        let failed = Cache::builder().max_capacity(FAILED_MAX).time_to_live(FAILED_KEPT).build();
        let progress = SummaryProgress { open: Mutex::default(), changed: Condvar::new(), failed };
        SummaryWorker { model, jobs: OnceLock::new(), progress: Arc::new(progress) }
    }

    /// Has a summary made, unless it is under way or failed a short while ago. A full queue drops it.
    pub(crate) fn request(&self, workspace: &str, handle: WeakWorkspace, missing: MissingSummary) {
        let key = job_key(workspace, &missing);
        let allowances = current_allowances();
        let has_failed = self.progress.failed.contains_key(&failure_key(&key, &allowances));
        if has_failed || !self.progress.open().insert(key.clone()) {
            return;
        }
        let name = workspace.to_owned();
        let job = SummaryJob { name, workspace: handle, missing, key: key.clone(), allowances };
        let jobs = self.jobs.get_or_init(|| start(&self.model, &self.progress));
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = jobs.try_send(job) {
            self.progress.finish(&key);
        }
    }

    /// How many summaries wait or are being made.
    pub(crate) fn waiting(&self) -> usize {
        self.progress.open().len()
    }

    /// Waits until all requested summaries are made or have failed, at most for a while. Returns whether they
    /// are.
    pub(crate) fn wait(&self, at_most: Duration) -> bool {
        let until = Instant::now() + at_most;
        let mut open = self.progress.open();
        while !open.is_empty() {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return false };
            let waited = self.progress.changed.wait_timeout(open, left);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

impl Workspace {
    /// How many summaries the engine still has to make for this workspace and others.
    #[must_use]
    pub fn summaries_waiting(&self) -> usize {
        self.summary_worker().map_or(0, SummaryWorker::waiting)
    }

    /// Waits until the summaries that packs have asked for are made or have failed, at most for a while.
    /// Returns whether all are. A program that ends after a pack waits, or they are lost.
    #[must_use]
    pub fn wait_for_summaries(&self, at_most: Duration) -> bool {
        self.summary_worker().is_none_or(|worker| worker.wait(at_most))
    }
}

fn job_key(workspace: &str, missing: &MissingSummary) -> String {
    let messages = match missing {
        MissingSummary::Conversation { messages, .. } => messages.as_slice(),
        MissingSummary::Text(_) | MissingSummary::Page(_) => &[],
    };
    let parts = [(workspace, missing.of()), ("", missing.item().as_str())].into_iter();
    hash_parts(parts.chain(messages.iter().map(|id| ("", id.as_str()))))
}

/// A failure holds for the callers with these allowances: others may still be below their caps.
fn failure_key(job: &str, allowances: &[Arc<Allowance>]) -> String {
    let owners: Vec<&str> = allowances.iter().map(|allowance| allowance.owner()).collect();
    format!("{job} {}", owners.join(" "))
}

/// Starts the thread. Without one the queue is closed, and no summaries are made.
fn start(model: &Arc<ChatModel>, progress: &Arc<SummaryProgress>) -> SyncSender<SummaryJob> {
    let (jobs, inbox) = sync_channel(WAITING_MAX);
    let (model, progress) = (Arc::clone(model), Arc::clone(progress));
    let spawned = std::thread::Builder::new()
        .name("haversack-summaries".to_owned())
        .spawn(move || run(&inbox, &model, &progress));
    if let Err(error) = spawned {
        tracing::error!(target: "haversack", %error, "no thread can be started for summaries");
    }
    jobs
}

/// Makes summaries until the worker is dropped.
fn run(inbox: &Receiver<SummaryJob>, model: &Arc<ChatModel>, progress: &SummaryProgress) {
    while let Ok(job) = inbox.recv() {
        if let Err(error) = job.run(model) {
            tracing::warn!(target: "haversack", workspace = job.name, %error, "a summary cannot be made");
            progress.failed.insert(failure_key(&job.key, &job.allowances), ());
        }
        progress.finish(&job.key);
    }
}

impl SummaryJob {
    /// Makes a summary, unless the workspace was closed meanwhile. It is not kept open while the model is
    /// asked.
    fn run(&self, model: &Arc<ChatModel>) -> Result<(), Error> {
        let Some(workspace) = self.workspace.upgrade() else { return Ok(()) };
        let source = SummarySource::read(&**workspace.blocking_store(), &self.missing)?;
        let _of_caller = AllowanceScope::enter(&self.allowances);
        let _of_workspace = workspace.allowance_scope();
        drop(workspace);
        let Some(source) = source else { return Ok(()) };
        let summary = source.summarise(model)?;
        let Some(workspace) = self.workspace.upgrade() else { return Ok(()) };
        let (store, now) = (workspace.blocking_store(), workspace.now());
        source.store(&**store, (&self.missing, model.name()), &summary, now)
    }
}
