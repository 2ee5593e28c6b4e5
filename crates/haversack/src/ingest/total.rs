//! Counts files and bytes while they are read, so that progress can say how much is left.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::IngestTotal;
use super::walk::{Root, walk_builder};

/// The count of all files of a run, shared between the thread that counts and the run.
#[derive(Debug, Default)]
pub(super) struct TotalCount {
    files: AtomicU64,
    bytes: AtomicU64,
    is_done: AtomicBool,
    is_stopped: AtomicBool,
}

impl TotalCount {
    /// Counts the files under roots, until it is stopped.
    pub(super) fn count(&self, roots: &[Root]) {
        for root in roots {
            for entry in walk_builder(&root.folder, None).build().filter_map(Result::ok) {
                if self.is_stopped.load(Ordering::Relaxed) {
                    return;
                }
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                if !is_folder {
                    self.files.fetch_add(1, Ordering::Relaxed);
                    // A file that went away counts as empty.
                    let bytes = entry.metadata().map_or(0, |file| file.len());
                    self.bytes.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        }
        self.is_done.store(true, Ordering::Release);
    }

    /// Ends the count early.
    pub(super) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// The count, once it is complete.
    pub(super) fn get(&self) -> Option<IngestTotal> {
        self.is_done.load(Ordering::Acquire).then(|| IngestTotal {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        })
    }
}
