//! A vector index for another model, built beside the one in use and put in its place.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::expunge::kept_rows;
use super::indexes::{
    IndexError, VECTORS, as_slices, feed_vectors, model_tag, read_next_slots, remove_folder,
};
use super::records::ConnectionPool;
use super::state::EmbeddingModel;
use super::vectors::{ModelTag, Vectors};
use super::writer::Writer;
use crate::revision::Revision;

/// The folder of an index that is being built, in that of a workspace.
const NEXT: &str = "vectors.next";

/// An index of another model's vectors.
#[derive(Debug)]
pub(crate) struct NewVectors {
    folder: PathBuf,
    tag: ModelTag,
    model: i64,
    vectors: Vectors,
}

impl NewVectors {
    /// An empty index for a model.
    pub(crate) fn create(folder: &Path, model: &EmbeddingModel) -> Result<NewVectors, IndexError> {
        remove_unfinished(folder)?;
        let tag = model_tag(model.embedder.model());
        let vectors = Vectors::open(&folder.join(NEXT), &tag)?.vectors;
        Ok(NewVectors { folder: folder.to_owned(), tag, model: model.number, vectors })
    }

    /// Adds the vectors up to a revision, a few thousand rows at a time, so that no read
    /// transaction lasts long.
    pub(crate) fn extend(
        &mut self,
        pool: &ConnectionPool,
        revision: Revision,
    ) -> Result<(), IndexError> {
        while self.vectors.reached() < revision {
            let (model, reached) = (self.model, self.vectors.reached());
            let read =
                pool.read(|connection| Ok(read_next_slots(connection, model, reached, revision)));
            let (last, slots) = read.map_err(IndexError::Truth)??;
            self.vectors.append(last, &as_slices(&slots))?;
        }
        Ok(())
    }

    /// Adds the last vectors, and writes all to disk.
    pub(crate) fn finish(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        feed_vectors(connection, self.model, &mut self.vectors, revision)?;
        self.vectors.seal()?;
        // Items may have been purged since their vectors were added.
        let kept = kept_rows(connection)?;
        while self.vectors.expunge(&|row| !kept.contains(row))? {}
        Ok(())
    }

    /// Puts the index in the place of the writer's.
    pub(crate) fn install(self, writer: &mut Writer) {
        let NewVectors { folder, tag, model, vectors } = self;
        let (from, to) = (folder.join(NEXT), folder.join(VECTORS));
        // Its files are written, and what is mapped stays readable wherever the files are. If they
        // cannot be moved, the next start finds the files of another model and builds the index.
        let moved = remove_folder(&to).is_ok() && std::fs::rename(&from, &to).is_ok();
        let reopened = moved.then(|| Vectors::open(&to, &tag).ok()).flatten();
        let vectors = reopened.map_or(vectors, |opened| opened.vectors);
        writer.indexes.replace_vectors(model, vectors);
    }
}

/// Removes an index that was not finished.
pub(crate) fn remove_unfinished(folder: &Path) -> Result<(), IndexError> {
    remove_folder(&folder.join(NEXT))
}
