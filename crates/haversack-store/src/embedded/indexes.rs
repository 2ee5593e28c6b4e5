//! The text and vector indexes: derived data, fed from batches or rebuilt from SQLite.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::{Model, Vector};
use rusqlite::{Connection, OptionalExtension, params};
use thiserror::Error;

use super::records::storage;
use super::records::write::CommitDelta;
use super::row::Row;
use super::state::{EmbeddingModel, TextSnapshot, VectorSnapshot};
use super::text::{TextDocument, TextError, TextWriters};
use super::text_part::{TextPart, TextWork, heading_text};
use super::vectors::{self, ModelTag, RevisionRange, VectorSlot, Vectors, VectorsError};
use crate::kinds::Kinds;
use crate::prepare::{PreparedBatch, tie};
use crate::revision::Revision;
use crate::store::change::Change;
use crate::store::error::ReadError;

/// How long closing waits for text index merges.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// The folder of the vector index in that of a workspace.
pub(super) const VECTORS: &str = "vectors";

/// Rows read from SQLite at a time when vectors are fed.
const FEED_VECTORS: usize = 8_192;

/// Why an index cannot be written. The data in SQLite is not affected.
#[derive(Debug, Error)]
pub(crate) enum IndexError {
    #[error("the text index failed")]
    Text(#[from] TextError),
    #[error("the vector index failed")]
    Vectors(#[from] VectorsError),
    #[error("the store cannot be read")]
    Truth(#[source] ReadError),
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> IndexError {
        IndexError::Truth(storage(error))
    }
}

/// The text index and the vector index of a workspace.
#[derive(Debug)]
pub(crate) struct Indexes {
    folder: PathBuf,
    text: TextPart,
    vectors: VectorIndex,
    /// The number of the model in use, whose vectors are indexed.
    model: i64,
    /// What was found damaged or missing at opening.
    repaired: Vec<String>,
}

#[derive(Debug)]
enum VectorIndex {
    Ready(Vectors),
    Stale(Model),
}

impl Indexes {
    /// Opens both and discards unusable data; `recover` then brings them up to date.
    ///
    /// `stored` is the model whose vectors the workspace holds, `model` the one in use.
    pub(crate) fn open(
        folder: &Path,
        (kinds, writers): (&Arc<Kinds>, Arc<TextWriters>),
        (stored, model): (&Model, &EmbeddingModel),
        revision: Revision,
    ) -> Result<Indexes, IndexError> {
        let (mut repaired, now) = (Vec::new(), model.embedder.model());
        let text = TextPart::open(folder, (kinds, writers), revision, &mut repaired)?;
        let vectors = if stored == now {
            VectorIndex::Ready(open_vectors(folder, now, revision, &mut repaired)?)
        } else {
            VectorIndex::Stale(stored.clone())
        };
        let (folder, model) = (folder.to_owned(), model.number);
        Ok(Indexes { folder, text, vectors, model, repaired })
    }

    /// What was repaired at opening, one line each.
    pub(crate) fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// The revision up to which the text index was written, if it was ahead of the records.
    pub(crate) const fn lost_commits(&self) -> Option<Revision> {
        self.text.was_ahead()
    }

    /// The model of the stored vectors, if it is not the one in use.
    pub(crate) fn stale_model(&self) -> Option<&Model> {
        match &self.vectors {
            VectorIndex::Ready(_) => None,
            VectorIndex::Stale(model) => Some(model),
        }
    }

    /// What the text index needs from the writer.
    pub(crate) const fn text_work(&self) -> TextWork {
        self.text.work()
    }

    /// Why the text index is not in use.
    pub(crate) fn text_trouble(&self) -> Option<&str> {
        self.text.trouble()
    }

    /// Examines the text index after a failed read.
    pub(crate) fn examine_text(&mut self) {
        self.text.examine();
    }

    /// Repairs the text index, or rebuilds a part of it.
    pub(crate) fn repair_text(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.text.repair(connection, revision)
    }

    /// Reads every file of the text index from the disk and says what is wrong.
    pub(crate) fn verify_text(&self) -> Vec<String> {
        self.text.verify()
    }

    /// Adds the new rows of a batch. The connection reads vectors that were stored before.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        revision: Revision,
        prepared: &PreparedBatch,
        delta: &CommitDelta,
    ) -> Result<(), IndexError> {
        let puts: Vec<_> = prepared
            .batch
            .changes
            .iter()
            .filter_map(|change| if let Change::Put(item) = change { Some(item) } else { None })
            .collect();
        let mut slots = Vec::new();
        for birth in &delta.born {
            let (item, prepared) = (puts[birth.item], &prepared.items[birth.item]);
            let (body, tie) =
                (prepared.text.as_deref().unwrap_or(&item.body), tie(item.id.as_str()));
            for ((chunk, number), embedding) in
                prepared.chunks.iter().zip(0u32..).zip(&birth.embeddings)
            {
                let headings = heading_text(&chunk.headings, &prepared.byline);
                self.text.add(&TextDocument {
                    row: birth.row,
                    chunk: number,
                    tie,
                    title: &item.title,
                    path: item.path.as_deref().unwrap_or(""),
                    headings: &headings,
                    body: chunk.span.slice(body).unwrap_or(""),
                    language: prepared.language,
                });
                let slot = VectorSlot { row: birth.row, chunk: number, embedding: *embedding, tie };
                let vector = stored_vector(connection, chunk.vector.as_deref(), *embedding)?;
                slots.extend(vector.map(|vector| (slot, vector)));
            }
        }
        if !delta.purged.is_empty() {
            self.text.remove(&delta.purged);
        }
        self.append_vectors(revision, &slots)
    }

    fn append_vectors(
        &mut self,
        revision: Revision,
        slots: &[(VectorSlot, Vector)],
    ) -> Result<(), IndexError> {
        let VectorIndex::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        Ok(vectors.append(revision, &as_slices(slots))?)
    }

    /// Makes added rows searchable.
    pub(crate) fn commit(&mut self, revision: Revision) {
        self.text.commit(revision);
    }

    /// Whether rows wait for a commit, or segments are being merged.
    pub(crate) fn is_busy(&self) -> bool {
        self.text.is_busy()
    }

    /// Forgets added rows after an error, with the memory and threads that they held. Only
    /// [`Indexes::recover`] makes the indexes writable again.
    pub(crate) fn abandon(&mut self) {
        self.text.abandon();
    }

    /// Brings both up to a revision from SQLite.
    pub(crate) fn recover(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.text.recover(connection, revision)?;
        let VectorIndex::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        for range in vectors.missing() {
            let slots = read_slots(connection, self.model, range)?;
            vectors.append_range(range, &as_slices(&slots))?;
        }
        feed_vectors(connection, self.model, vectors, revision)
    }

    /// Brings both from the revision that they have to the present one, after other nodes wrote.
    pub(crate) fn follow(
        &mut self,
        connection: &Connection,
        (before, revision): (Revision, Revision),
        purged: &[Row],
    ) -> Result<(), IndexError> {
        self.text.follow(connection, (before, revision), purged)?;
        let VectorIndex::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        feed_vectors(connection, self.model, vectors, revision)
    }

    /// Searches by the vectors of another model from now on.
    pub(crate) fn replace_vectors(&mut self, model: i64, vectors: Vectors) {
        (self.model, self.vectors) = (model, VectorIndex::Ready(vectors));
    }

    /// Rebuilds both from scratch.
    pub(crate) fn rebuild(
        &mut self,
        connection: &Connection,
        model: &Model,
        revision: Revision,
    ) -> Result<(), IndexError> {
        remove_folder(&self.folder.join(VECTORS))?;
        let mut notes = Vec::new();
        self.text.rebuild(connection, revision)?;
        self.vectors = VectorIndex::Ready(open_vectors(&self.folder, model, revision, &mut notes)?);
        self.recover(connection, revision)?;
        self.seal()
    }

    /// Has removed documents rewritten away from the text index; see
    /// [`TextPart::rewrite_removed`].
    pub(crate) fn rewrite_removed_text(&mut self) -> bool {
        self.text.rewrite_removed()
    }

    /// Removes files of the text index that were rewritten. Returns whether none is left.
    pub(crate) fn remove_rewritten_text(&mut self) -> bool {
        self.text.remove_rewritten()
    }

    /// Removes the vectors of rows that are gone from memory and from one segment. Returns whether
    /// there may be more. Vectors of another model than the one in use stay as they are.
    pub(crate) fn expunge_vectors(
        &mut self,
        is_gone: &dyn Fn(Row) -> bool,
    ) -> Result<bool, IndexError> {
        match &mut self.vectors {
            VectorIndex::Ready(vectors) => Ok(vectors.expunge(is_gone)?),
            VectorIndex::Stale(_) => Ok(false),
        }
    }

    /// Writes vectors in memory to a segment on disk.
    pub(crate) fn seal(&mut self) -> Result<(), IndexError> {
        match &mut self.vectors {
            VectorIndex::Ready(vectors) => Ok(vectors.seal()?),
            VectorIndex::Stale(_) => Ok(()),
        }
    }

    /// Snapshots for readers.
    pub(crate) fn readers(&self) -> (TextSnapshot, VectorSnapshot) {
        let vectors = match &self.vectors {
            VectorIndex::Ready(vectors) => VectorSnapshot::Ready(vectors.reader()),
            VectorIndex::Stale(model) => VectorSnapshot::Stale(model.clone()),
        };
        (self.text.reader(), vectors)
    }

    /// Closes both, written to disk as far as possible; the next start feeds the rest.
    pub(crate) fn close(mut self) {
        // A failure only costs time at the next start.
        let _ = self.seal();
        self.text.close(CLOSE_WAIT_MAX);
    }
}

/// The tag of a model in the vector index.
pub(super) fn model_tag(model: &Model) -> ModelTag {
    ModelTag {
        name: model.name.clone(),
        version: model.version.clone(),
        dimensions: u32::try_from(model.dimensions).unwrap_or(u32::MAX),
    }
}

fn open_vectors(
    folder: &Path,
    model: &Model,
    revision: Revision,
    repaired: &mut Vec<String>,
) -> Result<Vectors, IndexError> {
    let (path, tag) = (folder.join(VECTORS), model_tag(model));
    let opened = match Vectors::open(&path, &tag) {
        Err(VectorsError::OtherModel { .. }) => {
            Vectors::discard(&path)?;
            repaired.push("vector index of another model: rebuilt".to_owned());
            Vectors::open(&path, &tag)?
        }
        opened => opened?,
    };
    if opened.vectors.covered() > revision {
        drop(opened);
        Vectors::discard(&path)?;
        repaired.push("vector index ahead of the store: rebuilt".to_owned());
        return Ok(Vectors::open(&path, &tag)?.vectors);
    }
    for range in &opened.missing {
        repaired.push(format!("vector index: revisions {range} were lost: restored"));
    }
    Ok(opened.vectors)
}

pub(super) fn remove_folder(path: &Path) -> Result<(), IndexError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(IndexError::Text(TextError::File { path: path.to_owned(), source }))
        }
        _ => Ok(()),
    }
}

/// Appends the vectors of a model of revisions after the last appended one.
pub(super) fn feed_vectors(
    connection: &Connection,
    model: i64,
    vectors: &mut Vectors,
    revision: Revision,
) -> Result<(), IndexError> {
    while vectors.reached() < revision {
        let (last, slots) = read_next_slots(connection, model, vectors.reached(), revision)?;
        vectors.append(last, &as_slices(&slots))?;
    }
    Ok(())
}

/// The vectors of the next rows created after a revision, and the last of their revisions.
pub(super) fn read_next_slots(
    connection: &Connection,
    model: i64,
    after: Revision,
    until: Revision,
) -> Result<(Revision, Vec<(VectorSlot, Vector)>), IndexError> {
    let first = after.next();
    let last: u64 = connection
        .prepare_cached(
            "SELECT coalesce(max(born), ?2) FROM \
             (SELECT born FROM items WHERE born >= ?1 ORDER BY born LIMIT ?3)",
        )?
        .query_row(params![first.get(), until.get(), FEED_VECTORS as u64], |line| line.get(0))?;
    let last = Revision::new(last).min(until);
    Ok((last, read_slots(connection, model, RevisionRange { first, last })?))
}

/// The vectors of a model of rows created in a range of revisions.
fn read_slots(
    connection: &Connection,
    model: i64,
    range: RevisionRange,
) -> Result<Vec<(VectorSlot, Vector)>, IndexError> {
    let mut statement = connection.prepare_cached(
        "SELECT i.row, c.chunk, e.embedding, n.id, e.vector FROM items i \
         JOIN nodes n ON n.node = i.node JOIN chunks c ON c.row = i.row \
         JOIN embeddings e ON e.hash = c.hash AND e.model = ? \
         WHERE i.born BETWEEN ? AND ? ORDER BY i.row, c.chunk",
    )?;
    let mut slots = Vec::new();
    let mut lines = statement.query(params![model, range.first.get(), range.last.get()])?;
    while let Some(line) = lines.next()? {
        let embedding = line.get(2)?;
        let damaged =
            || IndexError::Truth(ReadError::Damaged { what: format!("vector {embedding}") });
        let id = line.get_ref(3)?.as_str().map_err(|_| damaged())?;
        let half = line.get_ref(4)?.as_blob().map_err(|_| damaged())?;
        let slot = VectorSlot {
            row: Row::new(line.get(0)?),
            chunk: line.get(1)?,
            embedding,
            tie: tie(id),
        };
        slots.push((slot, Vector::from_half(half).map_err(|_| damaged())?));
    }
    Ok(slots)
}

pub(super) fn as_slices(slots: &[(VectorSlot, Vector)]) -> Vec<(VectorSlot, &[f32])> {
    slots.iter().map(|(slot, vector)| (*slot, vector.as_slice())).collect()
}

/// A vector as it is stored, from the batch or from SQLite. The stored precision is indexed, so
/// that a rebuilt index is identical. `None` if a later change of the batch purged it.
fn stored_vector(
    connection: &Connection,
    half: Option<&[u8]>,
    embedding: u32,
) -> Result<Option<Vector>, IndexError> {
    let damaged = || IndexError::Truth(ReadError::Damaged { what: format!("vector {embedding}") });
    if let Some(half) = half {
        return Vector::from_half(half).map(Some).map_err(|_| damaged());
    }
    let half: Option<Vec<u8>> = connection
        .prepare_cached("SELECT vector FROM embeddings WHERE embedding = ?")?
        .query_row([embedding], |line| line.get(0))
        .optional()?;
    half.map(|half| Vector::from_half(&half).map_err(|_| damaged())).transpose()
}

/// Maps a search's effort to that of the vector index.
pub(crate) fn scan_effort(effort: crate::store::query::Effort) -> vectors::ScanEffort {
    match effort {
        crate::store::query::Effort::Fast => vectors::ScanEffort::default(),
        crate::store::query::Effort::Full => vectors::ScanEffort::Full,
        crate::store::query::Effort::Exact => vectors::ScanEffort::Exact,
    }
}
