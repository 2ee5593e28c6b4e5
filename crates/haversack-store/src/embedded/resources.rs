//! What all workspaces of a data folder share, so that it is bounded over all of them: threads and
//! memory of the text index, connections, caches.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::cleaner::Cleaner;
use super::reader_caches::ReaderCaches;
use super::text::TextWriters;

/// Idle connections for readers that all workspaces together keep beside the first of each.
const SPARE_CONNECTIONS_MAX: usize = 64;

/// The shared resources of a data folder. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resources {
    pub(crate) text_writers: Arc<TextWriters>,
    pub(crate) spare_connections: Arc<SpareConnections>,
    pub(crate) reader_caches: Arc<ReaderCaches>,
    pub(crate) cleaner: Arc<Cleaner>,
}

/// Counts idle connections beside the first of each workspace.
#[derive(Debug, Default)]
pub(crate) struct SpareConnections(AtomicUsize);

impl SpareConnections {
    /// Takes one of the places. Whoever got it gives it back by [`SpareConnections::release`].
    pub(crate) fn reserve(&self) -> bool {
        let more = |n: usize| (n < SPARE_CONNECTIONS_MAX).then_some(n + 1);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).is_ok()
    }

    pub(crate) fn release(&self, places: usize) {
        self.0.fetch_sub(places, Ordering::AcqRel);
    }
}
