//! What the writer and the readers of a workspace found wrong with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::free_space;
use super::indexes::IndexError;
use super::state::StoreHandles;
use crate::store::error::ReadError;
use crate::store::health::HealthProblem;

/// The state of a workspace, for whoever asks whether it is ready.
#[derive(Debug, Default)]
pub(crate) struct StoreHealth(Mutex<Findings>);

#[derive(Debug, Default)]
struct Findings {
    stopped: Option<String>,
    writer_dead: bool,
    lag: Option<String>,
    damage: Option<String>,
}

impl StoreHealth {
    fn lock(&self) -> MutexGuard<'_, Findings> {
        // Findings are consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writing stopped after a failure of the disk.
    pub(crate) fn set_stopped(&self, cause: &str) {
        self.lock().stopped.get_or_insert_with(|| cause.to_owned());
    }

    /// The writer panicked, and is not used again.
    pub(crate) fn set_writer_dead(&self) {
        self.lock().writer_dead = true;
    }

    /// The indexes lag, or lag no more.
    pub(crate) fn set_lag(&self, cause: Option<&str>) {
        self.lock().lag = cause.map(str::to_owned);
    }

    /// Stored data does not read back. Only opening the store again can show that it does.
    pub(crate) fn note_damage(&self, what: &str) {
        self.lock().damage.get_or_insert_with(|| what.to_owned());
    }

    /// Notes an error, if it is about damage.
    pub(crate) fn note_error(&self, error: &IndexError) {
        if let IndexError::Truth(ReadError::Damaged { what }) = error {
            self.note_damage(what);
        }
    }
}

impl StoreHandles {
    /// What keeps the workspace from writing or from searching everything.
    pub(crate) fn problems(&self) -> Vec<HealthProblem> {
        let mut problems = Vec::new();
        let findings = self.health.lock();
        if let Some(cause) = findings.stopped.clone() {
            problems.push(HealthProblem::DiskFailed { cause });
        }
        if findings.writer_dead {
            problems.push(HealthProblem::WriterDead);
        }
        if let Some(what) = findings.damage.as_deref().or_else(|| self.pool.damage()) {
            let what = what.to_owned();
            problems.push(HealthProblem::Damaged { what });
        }
        if let Some(cause) = findings.lag.clone() {
            problems.push(HealthProblem::IndexBehind { cause });
        }
        drop(findings);
        if let Some(shortage) = free_space::shortage(&self.folder) {
            let free_space::Shortage { free_bytes, needed_bytes } = shortage;
            problems.push(HealthProblem::DiskFull { free_bytes, needed_bytes });
        }
        problems
    }
}
