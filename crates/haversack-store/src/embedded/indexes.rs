//! The two derived indexes together: fed from batches or from the truth, never trusted further.

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
use super::records::write::Delta;
use super::row::{Bitmap, Row};
use super::state::Vectored;
use super::text::{self, Document, TextError, TextIndex, TextReader};
use super::vectors::{self, ModelTag, RevisionRange, Slot, Vectors, VectorsError};
use crate::kinds::Kinds;
use crate::prepare::{Prepared, tie};
use crate::revision::Revision;
use crate::store::change::Change;
use crate::store::error::ReadError;

/// How long closing waits for merges of the text index.
const CLOSE_WAIT_MAX: Duration = Duration::from_secs(10);

/// Vectors that are read from the truth at a time.
const FEED_VECTORS: usize = 8_192;

/// Why an index cannot be written. The truth is not affected.
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
    vectors: Held,
    /// What was found damaged or missing when they were opened, for the report.
    repaired: Vec<String>,
}

#[derive(Debug)]
enum Held {
    Ready(Vectors),
    Stale(Model),
}

impl Indexes {
    /// Opens both, and throws away what cannot be used; `recover` then feeds them.
    ///
    /// `stored` is the model whose vectors the workspace holds, `now` the one in use.
    pub(crate) fn open(
        folder: &Path,
        kinds: &Arc<Kinds>,
        (stored, now): (&Model, &Model),
        revision: Revision,
    ) -> Result<Indexes, IndexError> {
        let mut repaired = Vec::new();
        let (text, text_at) = open_text(folder, revision, &mut repaired)?;
        let vectors = if stored == now {
            Held::Ready(open_vectors(folder, now, revision, &mut repaired)?)
        } else {
            Held::Stale(stored.clone())
        };
        let (folder, kinds) = (folder.to_owned(), Arc::clone(kinds));
        Ok(Indexes { folder, kinds, text: Some(text), text_at, vectors, repaired })
    }

    /// What had to be repaired at opening.
    pub(crate) fn repaired(&self) -> &[String] {
        &self.repaired
    }

    /// The other model whose vectors are stored, if they cannot be used.
    pub(crate) fn stale(&self) -> Option<&Model> {
        match &self.vectors {
            Held::Ready(_) => None,
            Held::Stale(model) => Some(model),
        }
    }

    fn text(&mut self) -> Result<&mut TextIndex, IndexError> {
        self.text.as_mut().ok_or(IndexError::Text(TextError::WriterDead))
    }

    /// Adds what a batch brought. The connection is for vectors that were stored before.
    pub(crate) fn add(
        &mut self,
        connection: &Connection,
        revision: Revision,
        prepared: &Prepared,
        delta: &Delta,
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
                let headings = over(&chunk.headings, &prepared.byline);
                self.text()?.add(&Document {
                    row: birth.row,
                    chunk: number,
                    tie,
                    title: &item.title,
                    path: item.path.as_deref().unwrap_or(""),
                    headings: &headings,
                    body: chunk.span.slice(body).unwrap_or(""),
                    language: prepared.language,
                })?;
                let slot = Slot { row: birth.row, chunk: number, embedding: *embedding, tie };
                let vector = kept_vector(connection, chunk.vector.as_deref(), *embedding)?;
                slots.extend(vector.map(|vector| (slot, vector)));
            }
        }
        if !delta.purged.is_empty() {
            self.text()?.remove(&delta.purged)?;
        }
        self.append(revision, &slots)
    }

    fn append(&mut self, revision: Revision, slots: &[(Slot, Vector)]) -> Result<(), IndexError> {
        let Held::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        Ok(vectors.append(revision, &borrowed(slots))?)
    }

    /// Makes what was added searchable.
    pub(crate) fn commit(&mut self, revision: Revision) -> Result<(), IndexError> {
        self.text()?.commit(revision)?;
        self.text_at = revision;
        Ok(())
    }

    /// Feeds both what they miss up to a revision, from the truth.
    pub(crate) fn recover(
        &mut self,
        connection: &Connection,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.text()?.reopen()?;
        if self.text_at < revision {
            let after = self.text_at;
            let kinds = Arc::clone(&self.kinds);
            let index = self.text()?;
            feed_text(connection, index, &kinds, after)?;
            let purged = purged(connection, &index.reader())?;
            index.remove(&purged)?;
            self.commit(revision)?;
        }
        let Held::Ready(vectors) = &mut self.vectors else { return Ok(()) };
        for range in vectors.missing() {
            let slots = read_slots(connection, range)?;
            vectors.append_range(range, &borrowed(&slots))?;
        }
        feed_vectors(connection, vectors, revision)
    }

    /// Throws both away and makes them anew.
    pub(crate) fn rebuild(
        &mut self,
        connection: &Connection,
        model: &Model,
        revision: Revision,
    ) -> Result<(), IndexError> {
        self.text = None;
        remove(&self.folder.join("text"))?;
        remove(&self.folder.join("vectors"))?;
        let mut notes = Vec::new();
        let (text, text_at) = open_text(&self.folder, revision, &mut notes)?;
        (self.text, self.text_at) = (Some(text), text_at);
        self.vectors = Held::Ready(open_vectors(&self.folder, model, revision, &mut notes)?);
        self.recover(connection, revision)?;
        self.seal()
    }

    /// Writes the vectors that are in memory to the disk.
    pub(crate) fn seal(&mut self) -> Result<(), IndexError> {
        match &mut self.vectors {
            Held::Ready(vectors) => Ok(vectors.seal()?),
            Held::Stale(_) => Ok(()),
        }
    }

    /// Snapshots for readers.
    pub(crate) fn readers(&self) -> (TextReader, Vectored) {
        let vectors = match &self.vectors {
            Held::Ready(vectors) => Vectored::Ready(vectors.reader()),
            Held::Stale(model) => Vectored::Stale(model.clone()),
        };
        let text = self.text.as_ref().expect("the text index is only taken to be replaced");
        (text.reader(), vectors)
    }

    /// Leaves both as the next start wants them: what is not written then is fed again.
    pub(crate) fn close(mut self) {
        // A failure here costs time at the next start, nothing else.
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
        text::State::Fresh => Ok((opened.index, Revision::ZERO)),
        // The store was restored from a backup: rows may mean something else now.
        text::State::At(at) if at > revision => {
            drop(opened.index);
            remove(&path)?;
            repaired.push(format!("text index at revision {at}, ahead of the store: made anew"));
            Ok((TextIndex::open(&path)?.index, Revision::ZERO))
        }
        text::State::At(at) => Ok((opened.index, at)),
        text::State::Emptied { reason } => {
            repaired.push(format!("text index: {reason}: made anew"));
            Ok((opened.index, Revision::ZERO))
        }
    }
}

fn open_vectors(
    folder: &Path,
    model: &Model,
    revision: Revision,
    repaired: &mut Vec<String>,
) -> Result<Vectors, IndexError> {
    let path = folder.join("vectors");
    let tag = ModelTag {
        name: model.name.clone(),
        version: model.version.clone(),
        dimensions: u32::try_from(model.dimensions).unwrap_or(u32::MAX),
    };
    let opened = match Vectors::open(&path, &tag) {
        Err(VectorsError::OtherModel { .. }) => {
            Vectors::discard(&path)?;
            repaired.push("vector index of another model: made anew".to_owned());
            Vectors::open(&path, &tag)?
        }
        opened => opened?,
    };
    if opened.vectors.covered() > revision {
        drop(opened);
        Vectors::discard(&path)?;
        repaired.push("vector index ahead of the store: made anew".to_owned());
        return Ok(Vectors::open(&path, &tag)?.vectors);
    }
    for range in &opened.missing {
        repaired.push(format!("vector index: revisions {range} were lost: fed again"));
    }
    Ok(opened.vectors)
}

fn remove(path: &Path) -> Result<(), IndexError> {
    match std::fs::remove_dir_all(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(IndexError::Text(TextError::File { path: path.to_owned(), source }))
        }
        _ => Ok(()),
    }
}

/// What stands over a chunk: its headings, and what its item's fields call it by.
fn over(headings: &[String], byline: &str) -> String {
    let mut text = headings.join(" ");
    if !byline.is_empty() {
        text.push(' ');
        text.push_str(byline);
    }
    text
}

/// Adds every row born after a revision to the text index.
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
            index.add(&Document {
                row: Row::new(row),
                chunk: piece.chunk,
                tie: tie(text(1)?),
                title: text(2)?,
                path: path.as_deref().unwrap_or(""),
                headings: &over(&piece.headings.ok_or_else(damaged)?, &byline),
                body: body.get(piece.bytes).ok_or_else(damaged)?,
                language: Language::of_code(text(4)?),
            })?;
        }
    }
    Ok(())
}

/// The rows in the text index that the truth no longer has: what was purged has to go here too,
/// even when the process ended between the two.
fn purged(connection: &Connection, reader: &TextReader) -> Result<Vec<Row>, IndexError> {
    let mut statement = connection.prepare_cached("SELECT row FROM items")?;
    let kept: Bitmap = statement
        .query_map([], |line| line.get(0).map(Row::new))?
        .collect::<rusqlite::Result<_>>()?;
    let gone: BTreeSet<Row> =
        reader.documents().map(|(row, _)| row).filter(|row| !kept.contains(*row)).collect();
    Ok(gone.into_iter().collect())
}

/// Appends what was born after the last vector, revision by revision.
fn feed_vectors(
    connection: &Connection,
    vectors: &mut Vectors,
    revision: Revision,
) -> Result<(), IndexError> {
    while vectors.reached() < revision {
        let first = vectors.reached().next();
        let last: u64 = connection
            .prepare_cached(
                "SELECT coalesce(max(born), ?2) FROM \
                 (SELECT born FROM items WHERE born >= ?1 ORDER BY born LIMIT ?3)",
            )?
            .query_row(params![first.get(), revision.get(), FEED_VECTORS as u64], |line| {
                line.get(0)
            })?;
        let last = Revision::new(last).min(revision);
        let slots = read_slots(connection, RevisionRange { first, last })?;
        vectors.append(last, &borrowed(&slots))?;
    }
    Ok(())
}

/// The vectors of rows born in a range of revisions.
fn read_slots(
    connection: &Connection,
    range: RevisionRange,
) -> Result<Vec<(Slot, Vector)>, IndexError> {
    let mut statement = connection.prepare_cached(
        "SELECT i.row, c.chunk, e.embedding, n.id, e.vector FROM items i \
         JOIN nodes n ON n.node = i.node JOIN chunks c ON c.row = i.row \
         JOIN embeddings e ON e.hash = c.hash AND \
         e.model = (SELECT value FROM settings WHERE name = 'model') \
         WHERE i.born BETWEEN ? AND ? ORDER BY i.row, c.chunk",
    )?;
    let mut slots = Vec::new();
    let mut lines = statement.query([range.first.get(), range.last.get()])?;
    while let Some(line) = lines.next()? {
        let embedding = line.get(2)?;
        let damaged =
            || IndexError::Truth(ReadError::Damaged { what: format!("vector {embedding}") });
        let id = line.get_ref(3)?.as_str().map_err(|_| damaged())?;
        let half = line.get_ref(4)?.as_blob().map_err(|_| damaged())?;
        let slot =
            Slot { row: Row::new(line.get(0)?), chunk: line.get(1)?, embedding, tie: tie(id) };
        slots.push((slot, Vector::from_half(half).map_err(|_| damaged())?));
    }
    Ok(slots)
}

fn borrowed(slots: &[(Slot, Vector)]) -> Vec<(Slot, &[f32])> {
    slots.iter().map(|(slot, vector)| (*slot, vector.as_slice())).collect()
}

/// A vector as it is kept: just made, or stored before. What is indexed is what is stored, so that
/// an index made anew is the same. There is none when a later change purged it again.
fn kept_vector(
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

/// The efforts of a search, as the vector index has them.
pub(crate) fn effort(effort: crate::store::query::Effort) -> vectors::Effort {
    match effort {
        crate::store::query::Effort::Fast => vectors::Effort::default(),
        crate::store::query::Effort::Full => vectors::Effort::Full,
        crate::store::query::Effort::Exact => vectors::Effort::Exact,
    }
}
