//! Backup and statistics of a live workspace.

use std::path::{Path, PathBuf};

use super::engine::EmbeddedStore;
use super::records::{damage, file, storage};
use super::state::VectorSnapshot;
use crate::revision::Revision;
use crate::store::error::{Cause, OpenError, ReadError};
use crate::store::maintenance::StoreStats;

impl EmbeddedStore {
    /// Copies the records of the live workspace into an empty folder, as of one commit. The indexes
    /// are rebuilt when the copy is opened.
    ///
    /// # Errors
    /// When the folder is not empty, or something cannot be read or written.
    pub fn backup(&self, folder: &Path) -> Result<(), OpenError> {
        let io = |cause: Cause| OpenError::Io { path: folder.to_owned(), cause };
        std::fs::create_dir_all(folder).map_err(|error| io(error.into()))?;
        let mut entries = std::fs::read_dir(folder).map_err(|error| io(error.into()))?;
        if entries.next().is_some() {
            return Err(io("the folder is not empty".into()));
        }
        // The copy has another name until it is complete, so that a partial one is never opened.
        let unfinished = folder.join("store.db.unfinished");
        let name = unfinished.to_str().ok_or_else(|| io("the path is not valid Unicode".into()))?;
        let copy = || -> rusqlite::Result<()> {
            // A connection of its own: it reads all pages from the disk, which verifies them, and
            // as of one commit, while writers go on.
            let connection = self.shared.pool.connect()?;
            connection.pragma_update(None, "query_only", false)?;
            connection.execute("VACUUM INTO ?", [name])?;
            Ok(())
        };
        copy().map_err(|error| match damage(&error) {
            Some(what) => {
                OpenError::Damaged { path: file(&self.shared.folder), cause: what.into() }
            }
            None => io(error.into()),
        })?;
        let finish = || -> std::io::Result<()> {
            std::fs::File::open(&unfinished)?.sync_all()?;
            std::fs::rename(&unfinished, file(folder))?;
            std::fs::File::open(folder)?.sync_all()
        };
        finish().map_err(|error| io(error.into()))
    }

    /// The counts and sizes of the workspace.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stats(&self) -> Result<StoreStats, ReadError> {
        let folder = &self.shared.folder;
        let bytes = [folder.clone(), folder.join("text"), folder.join("vectors")]
            .map(|folder| bytes_in(&folder));
        let watched = self.shared.watch();
        let state = &watched.state;
        let (model, stale) = match &state.vectors {
            VectorSnapshot::Ready(_) => (state.model.embedder.model().clone(), false),
            VectorSnapshot::Stale(stored) => (stored.clone(), true),
        };
        self.shared.pool.read(|connection| {
            let count = |sql: &str| -> Result<u64, ReadError> {
                connection.query_row(sql, [], |line| line.get(0)).map_err(storage)
            };
            let kinds = || -> rusqlite::Result<Vec<(String, u64)>> {
                connection
                    .prepare(
                        "SELECT kind, count(*) FROM items WHERE died IS NULL GROUP BY kind \
                         ORDER BY 2 DESC, 1",
                    )?
                    .query_map([], |line| Ok((line.get(0)?, line.get(1)?)))?
                    .collect()
            };
            Ok(StoreStats {
                revision: Revision::new(count("SELECT coalesce(max(revision), 0) FROM commits")?),
                items: count("SELECT count(*) FROM items WHERE died IS NULL")?,
                versions: count("SELECT count(*) FROM items")?,
                chunks: count("SELECT count(*) FROM chunks")?,
                links: count("SELECT count(*) FROM links WHERE died IS NULL")?,
                kinds: kinds().map_err(storage)?,
                stale,
                model,
                bytes,
            })
        })
    }
}

/// The size of the files in a folder, without subfolders.
fn bytes_in(folder: &PathBuf) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    let size = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.metadata().ok();
    entries.filter_map(size).filter(|file| file.is_file()).map(|file| file.len()).sum()
}
