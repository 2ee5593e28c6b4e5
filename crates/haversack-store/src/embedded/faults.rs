//! Faults for tests: makes the steps to the disk below a folder fail, and keeps what a loss of power
//! would leave of it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A kind of step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Read,
    Write,
    Sync,
    Truncate,
    Remove,
}

/// What happens from the chosen step on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// That step fails, the next works again.
    Once,
    /// All steps fail from there on: what is on the disk is what a killed process leaves.
    FromThere,
    /// From that step on, all writes find the disk full.
    Full,
    /// The first sync from that step on fails.
    Sync,
}

/// A change of a file that was not synced yet.
#[derive(Debug, Clone)]
pub(crate) enum Unsynced {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

/// A file as a loss of power may leave it: what was synced, and any of the changes since.
#[derive(Debug, Clone, Default)]
pub(crate) struct CrashFile {
    pub(crate) durable: Vec<u8>,
    pub(crate) unsynced: Vec<Unsynced>,
}

#[derive(Debug)]
struct Plan {
    folder: PathBuf,
    steps: u64,
    fail_at: Option<(u64, Fault)>,
    failed: Option<(Step, PathBuf)>,
    /// The files of SQLite, if crash images are kept.
    files: Option<BTreeMap<PathBuf, CrashFile>>,
}

static PLANS: Mutex<Vec<Plan>> = Mutex::new(Vec::new());

fn plans() -> MutexGuard<'static, Vec<Plan>> {
    PLANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Faults below a folder, until this is dropped.
#[derive(Debug)]
pub(crate) struct Faults(PathBuf);

impl Faults {
    /// Counts the steps below a folder.
    pub(crate) fn count(folder: &Path) -> Faults {
        Faults::plan(folder, None, false)
    }

    /// Makes the step of a number, from 0, fail.
    pub(crate) fn at(folder: &Path, step: u64, fault: Fault) -> Faults {
        Faults::plan(folder, Some((step, fault)), false)
    }

    /// Keeps crash images of the files of SQLite.
    pub(crate) fn keep_crash_images(folder: &Path) -> Faults {
        Faults::plan(folder, None, true)
    }

    fn plan(folder: &Path, fail_at: Option<(u64, Fault)>, keep: bool) -> Faults {
        let folder = folder.to_owned();
        let files = keep.then(BTreeMap::new);
        plans().push(Plan { folder: folder.clone(), steps: 0, fail_at, failed: None, files });
        Faults(folder)
    }

    fn with<T>(&self, read: impl FnOnce(&Plan) -> T) -> T {
        read(plans().iter().find(|plan| plan.folder == self.0).unwrap())
    }

    /// The steps so far.
    pub(crate) fn steps(&self) -> u64 {
        self.with(|plan| plan.steps)
    }

    /// The step that failed first.
    pub(crate) fn failed(&self) -> Option<(Step, PathBuf)> {
        self.with(|plan| plan.failed.clone())
    }

    /// The files of SQLite as a loss of power could leave them now.
    pub(crate) fn crash_files(&self) -> BTreeMap<PathBuf, CrashFile> {
        self.with(|plan| plan.files.clone().unwrap())
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        plans().retain(|plan| plan.folder != self.0);
    }
}

/// Called before each step; an error stands in its place.
pub(crate) fn before(step: Step, path: &Path) -> io::Result<()> {
    let mut plans = plans();
    let Some(plan) = plans.iter_mut().find(|plan| path.starts_with(&plan.folder)) else {
        return Ok(());
    };
    let number = plan.steps;
    plan.steps += 1;
    let Some((at, fault)) = plan.fail_at else { return Ok(()) };
    let fails = match fault {
        Fault::Once => number == at,
        Fault::FromThere => number >= at,
        Fault::Full => number >= at && step == Step::Write,
        Fault::Sync => number >= at && step == Step::Sync && plan.failed.is_none(),
    };
    if !fails {
        return Ok(());
    }
    plan.failed.get_or_insert_with(|| (step, path.to_owned()));
    let kind = if fault == Fault::Full { io::ErrorKind::StorageFull } else { io::ErrorKind::Other };
    Err(io::Error::new(kind, format!("fault at step {number}")))
}

/// Notes a change that SQLite made to a file.
pub(crate) fn note_change(path: &Path, change: Unsynced) {
    with_file(path, |file| file.unsynced.push(change));
}

/// Notes that SQLite synced a file.
pub(crate) fn note_sync(path: &Path) {
    let content = fs::read(path).unwrap_or_default();
    with_file(path, |file| *file = CrashFile { durable: content, unsynced: Vec::new() });
}

/// Notes that SQLite removed a file.
pub(crate) fn note_remove(path: &Path) {
    for plan in plans().iter_mut().filter(|plan| path.starts_with(&plan.folder)) {
        if let Some(files) = &mut plan.files {
            files.remove(path);
        }
    }
}

fn with_file(path: &Path, work: impl FnOnce(&mut CrashFile)) {
    let mut plans = plans();
    let plan = plans.iter_mut().find(|plan| path.starts_with(&plan.folder));
    if let Some(files) = plan.and_then(|plan| plan.files.as_mut()) {
        work(files.entry(path.to_owned()).or_default());
    }
}
