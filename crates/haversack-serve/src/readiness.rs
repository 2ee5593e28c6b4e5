//! Whether the server can do all of its work: asked of the stores, within a time, and said in words.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haversack::Engine;
use haversack_store::store::health::HealthProblem;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::codes::Code;
use crate::problem::ApiProblem;
use crate::state::on_blocking_thread;

/// How long the stores may take to say how they are.
const PATIENCE: Duration = Duration::from_secs(2);

/// Checks the stores, one check at a time.
#[derive(Debug)]
pub(crate) struct Readiness {
    turn: Arc<Semaphore>,
    /// The reasons of the last check, so that the log says what changed and nothing else.
    last: Mutex<BTreeSet<String>>,
}

impl Default for Readiness {
    fn default() -> Readiness {
        Readiness { turn: Arc::new(Semaphore::new(1)), last: Mutex::default() }
    }
}

impl Readiness {
    /// Asks all open workspaces what keeps them from their work.
    ///
    /// # Errors
    /// When something does, or when the disk does not answer in time.
    pub(crate) async fn check(&self, engine: &Engine) -> Result<(), ApiProblem> {
        let engine = engine.clone();
        // A check looks at the disk. If that hangs, so does this thread, but neither the caller nor more
        // threads than one.
        let turn = Arc::clone(&self.turn);
        let ask = async {
            // The semaphore is never closed.
            let turn = turn.acquire_owned().await.ok();
            let look = move || {
                let _turn = turn;
                engine.health()
            };
            on_blocking_thread(look).await
        };
        let Ok(found) = timeout(PATIENCE, ask).await else {
            let reason = "the disk does not answer: look at it, and at the system's log";
            self.log_changes(&[reason.to_owned()].into());
            return Err(ApiProblem::new(Code::NotReady, reason));
        };
        let found = found?;
        self.log_changes(
            &found.iter().map(|(name, problem)| format!("{name}: {problem}")).collect(),
        );
        match reasons(&found) {
            reasons if reasons.is_empty() => Ok(()),
            reasons => Err(ApiProblem::new(Code::NotReady, reasons.join("; "))),
        }
    }

    fn log_changes(&self, now: &BTreeSet<String>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        for problem in now.difference(&last) {
            tracing::error!(target: "haversack", problem, "not ready");
        }
        if now.is_empty() && !last.is_empty() {
            tracing::info!(target: "haversack", "ready again");
        }
        last.clone_from(now);
    }
}

/// The reasons for everybody to read: each kind once, without workspaces, paths and causes, which are in
/// the log.
fn reasons(found: &[(String, HealthProblem)]) -> Vec<String> {
    let mut reasons = Vec::new();
    for (_, problem) in found {
        let reason = match problem {
            HealthProblem::DiskFailed { .. } => {
                "the disk failed and writing has stopped: restart the server to recover".to_owned()
            }
            HealthProblem::WriterDead => {
                "a writer ended unexpectedly: restart the server to recover".to_owned()
            }
            HealthProblem::DiskFull { .. } => problem.to_string(),
            HealthProblem::IndexBehind { .. } => {
                "an index cannot be written: searches may miss items until it can".to_owned()
            }
            HealthProblem::Damaged { .. } => {
                "stored data is damaged: run `haversack check`, and restore a backup".to_owned()
            }
            // The kinds of problems grow with the store.
            other => format!("a store reports {}", other.as_str()),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What anybody may ask names no workspace and no path.
    #[test]
    fn each_kind_of_problem_is_a_reason_once_and_names_nobody() {
        let secret = || "/data/acme".to_owned();
        let found = [
            HealthProblem::DiskFailed { cause: secret() },
            HealthProblem::DiskFailed { cause: secret() },
            HealthProblem::WriterDead,
            HealthProblem::DiskFull { free_bytes: 7, needed_bytes: 900 },
            HealthProblem::IndexBehind { cause: secret() },
            HealthProblem::Damaged { what: secret() },
        ];
        let found: Vec<_> = found.map(|problem| ("acme".to_owned(), problem)).into();
        let reasons = reasons(&found);
        assert_eq!(reasons.len(), 5, "{reasons:?}");
        assert!(reasons.iter().all(|reason| !reason.contains("acme")), "{reasons:?}");
        assert!(reasons[2].contains("only 7 bytes are free"), "{reasons:?}");
        assert!(super::reasons(&[]).is_empty());
    }
}
