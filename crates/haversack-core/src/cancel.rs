//! A flag that ends work whose result nobody waits for any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use thiserror::Error;

/// The work was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the work was cancelled, because nobody waits for it any more")]
pub struct Cancelled;

/// Says whether work is cancelled. Clones share one flag. It changes no result: work either ends with
/// [`Cancelled`] or gives what it would have given without a flag.
#[derive(Debug, Clone, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Cancels the work of all clones.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Ends cancelled work.
    ///
    /// # Errors
    /// When it is cancelled.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.0.load(Ordering::Relaxed) { Err(Cancelled) } else { Ok(()) }
    }
}
