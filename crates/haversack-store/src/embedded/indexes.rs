//! The text and vector indexes: derived data, fed from batches or rebuilt from SQLite.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::{Model, Vector};
use haversack_core::item::Kind;
use haversack_core::text::terms::Language;
use rusqlite::{Connection, OptionalExtension, params};
use thiserror::Error;

use super::records::lookup::chunks_of;
use super::records::storage;
use super::records::write::CommitDelta;
use super::row::{Bitmap, Row};
use super::state::{EmbeddingModel, VectorSnapshot};
use super::text::{self, TextDocument, TextError, TextIndex, TextReader};
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
    kinds: Arc<Kinds>,
    text: Option<TextIndex>,
    text_at: Revision,
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
        kinds: &Arc<Kinds>,
        (stored, model): (&Model, &EmbeddingModel),
        revision: Revision,
    ) -> Result<Indexes, IndexError> {
        let (mut repaired, now) = (Vec::new(), model.embedder.model());
        let (text, text_at) = open_text(folder, revision, &mut repaired)?;
        let vectors = if stored == now {
            VectorIndex::Ready(open_vectors(folder, now, revision, &mut repaired)?)
        } else {
            VectorIndex::Stale(stored.clone())
        };
        let (folder, kinds) = (folder.to_owned(), Arc::clone(kinds));
        let model = model.number;
        Ok(Indexes { folder, kinds, text: Some(text), text_at, vectors, model, repaired })
    }

    /// What was repaired at opening, one line each.
    pub(crate) fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// The model of the stored vectors, if it is not the one in use.
    pub(crate) fn stale_model(&self) -> Option<&Model> {
        match &self.vectors {
            VectorIndex::Ready(_) => None,
            VectorIndex::Stale(model) => Some(model),
        }
    }

    fn text_index(&mut self) -> Result<&mut TextIndex, IndexError> {
        self.text.as_mut().ok_or(IndexError::Text(TextError::WriterDead))
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
                self.text_index()?.add(&TextDocument {
                    row: birth.row,
                    chunk: number,
                    tie,
                    title: &item.title,
                    path: item.path.as_deref().unwrap_or(""),
                    headings: &headings,
                    body: chunk.span.slice(body).unwrap_or(""),
                    language: prepared.language,
                })?;
                let slot = VectorSlot { row: birth.row, chunk: number, embedding: *embedding, tie };
                let vector = stored_vector(connection, chunk.vector.as_deref(), *embedding)?;
                slots.extend(vector.map(|vector| (slot, vector)));
            }
        }
        if !delta.purged.is_empty() {
            self.text_index()?.remove(&delta.purged)?;
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
    pub(crate) fn commit(&mut self, revision: Revision) -> Result<(), IndexError> {
        self.text_index()?.commit(revision)?;
        self.text_at = revision;
        Ok(())
    }

    /// Brings both up to a revision from SQLite.
    pub(crate) fn recover(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.text_index()?.reopen()?;
        if self.text_at < revision {
            let after = self.text_at;
            let kinds = Arc::clone(&self.kinds);
            let index = self.text_index()?;
            feed_text(connection, index, &kinds, after)?;
            let purged = purged_rows(connection, &index.reader())?;
            index.remove(&purged)?;
            self.commit(revision)?;
        }
        let VectorIndex::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        for range in vectors.missing() {
            let slots = read_slots(connection, self.model, range)?;
            vectors.append_range(range, &as_slices(&slots))?;
        }
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
        self.text = None;
        remove_folder(&self.folder.join("text"))?;
        remove_folder(&self.folder.join(VECTORS))?;
        let mut notes = Vec::new();
        let (text, text_at) = open_text(&self.folder, revision, &mut notes)?;
        (self.text, self.text_at) = (Some(text), text_at);
        self.vectors = VectorIndex::Ready(open_vectors(&self.folder, model, revision, &mut notes)?);
        self.recover(connection, revision)?;
        self.seal()
    }

    /// Writes vectors in memory to a segment on disk.
    pub(crate) fn seal(&mut self) -> Result<(), IndexError> {
        match &mut self.vectors {
            VectorIndex::Ready(vectors) => Ok(vectors.seal()?),
            VectorIndex::Stale(_) => Ok(()),
        }
    }

    /// Snapshots for readers.
    pub(crate) fn readers(&self) -> (TextReader, VectorSnapshot) {
        let vectors = match &self.vectors {
            VectorIndex::Ready(vectors) => VectorSnapshot::Ready(vectors.reader()),
            VectorIndex::Stale(model) => VectorSnapshot::Stale(model.clone()),
        };
        let text = self.text.as_ref().expect("the text index is only taken to be replaced");
        (text.reader(), vectors)
    }

    /// Closes both, written to disk as far as possible; the next start feeds the rest.
    pub(crate) fn close(mut self) {
        // A failure only costs time at the next start.
        let _ = self.seal();
        if let Some(text) = self.text.take() {
            let _ = text.close(CLOSE_WAIT_MAX);
        }
    }
}

fn open_text(
    folder: &Path,
    revision: Revision,
    repaired: &mut Vec<String>,
) -> Result<(TextIndex, Revision), IndexError> {
    let path = folder.join("text");
    let opened = TextIndex::open(&path)?;
    match opened.state {
        text::TextIndexState::Fresh => Ok((opened.index, Revision::ZERO)),
        // The store was restored from a backup, so row numbers may be reassigned.
        text::TextIndexState::At(at) if at > revision => {
            drop(opened.index);
            remove_folder(&path)?;
            repaired.push(format!("text index at revision {at}, ahead of the store: rebuilt"));
            Ok((TextIndex::open(&path)?.index, Revision::ZERO))
        }
        text::TextIndexState::At(at) => Ok((opened.index, at)),
        text::TextIndexState::Emptied { reason } => {
            repaired.push(format!("text index: {reason}: rebuilt"));
            Ok((opened.index, Revision::ZERO))
        }
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

/// The heading text of a chunk: its headings and its item's byline.
fn heading_text(headings: &[String], byline: &str) -> String {
    let mut text = headings.join(" ");
    if !byline.is_empty() {
        text.push(' ');
        text.push_str(byline);
    }
    text
}

/// Adds every row created after a revision to the text index.
fn feed_text(
    connection: &Connection,
    index: &mut TextIndex,
    kinds: &Kinds,
    after: Revision,
) -> Result<(), IndexError> {
    let mut statement = connection.prepare_cached(
        "SELECT i.row, n.id, i.title, i.path, i.language, coalesce(i.text, i.body), i.kind, \
         i.fields FROM items i JOIN nodes n ON n.node = i.node WHERE i.born > ? ORDER BY i.row",
    )?;
    let mut lines = statement.query([after.get()])?;
    while let Some(line) = lines.next()? {
        let row: u32 = line.get(0)?;
        let damaged = || IndexError::Truth(ReadError::Damaged { what: format!("row {row}") });
        let text = |column: usize| line.get_ref(column)?.as_str().map_err(|_| damaged());
        let (body, path): (&str, Option<String>) = (text(5)?, line.get(3)?);
        let byline = match line.get::<_, Option<String>>(7)? {
            Some(fields) => {
                let kind = Kind::new(text(6)?).map_err(|_| damaged())?;
                kinds.byline(&kind, &serde_json::from_str(&fields).map_err(|_| damaged())?)
            }
            None => String::new(),
        };
        let pieces = chunks_of(connection, Row::new(row))?;
        for piece in pieces {
            index.add(&TextDocument {
                row: Row::new(row),
                chunk: piece.chunk,
                tie: tie(text(1)?),
                title: text(2)?,
                path: path.as_deref().unwrap_or(""),
                headings: &heading_text(&piece.headings.ok_or_else(damaged)?, &byline),
                body: body.get(piece.bytes).ok_or_else(damaged)?,
                language: Language::of_code(text(4)?),
            })?;
        }
    }
    Ok(())
}

/// The rows of the text index that SQLite no longer has: a process may have ended between purging
/// them in one and in the other.
fn purged_rows(connection: &Connection, reader: &TextReader) -> Result<Vec<Row>, IndexError> {
    let mut statement = connection.prepare_cached("SELECT row FROM items")?;
    let kept: Bitmap = statement
        .query_map([], |line| line.get(0).map(Row::new))?
        .collect::<rusqlite::Result<_>>()?;
    let gone: BTreeSet<Row> =
        reader.documents().map(|(row, _)| row).filter(|row| !kept.contains(*row)).collect();
    Ok(gone.into_iter().collect())
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
