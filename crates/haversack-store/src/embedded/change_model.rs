//! Changing the embedding model while the workspace answers; re-embedding is a change to the model
//! in use.
//!
//! The vectors of the new model are stored beside the others, so a change that was interrupted goes
//! on where it stopped. Texts are embedded on the caller's thread, between two transactions: an
//! embedder that hangs holds up nobody else. When nothing is missing, the writer switches.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::engine::EmbeddedStore;
use super::new_vectors::NewVectors;
use super::records::lookup::{ChunkRow, chunks_of};
use super::records::{storage, usage};
use super::retired;
use super::row::Row;
use super::state::EmbeddingModel;
use super::writer::Writer;
use crate::prepare::{Hash, SharedEmbedder, embed_texts, embedded_text};
use crate::revision::Revision;
use crate::store::error::{Cause, CommitError};
use crate::store::maintenance::MaintenanceProgress;

/// The most texts that are embedded and stored at a time.
const TEXTS_AT_ONCE: usize = 1_000;

/// The most rows that are read in one transaction.
const ROWS_AT_ONCE: u64 = 10_000;

impl EmbeddedStore {
    /// Embeds all texts with the model in use, then searches by the new vectors. A run that was
    /// interrupted continues where it stopped.
    ///
    /// # Errors
    /// As [`EmbeddedStore::change_model`].
    pub fn reembed(
        &self,
        progress: impl FnMut(MaintenanceProgress),
    ) -> Result<MaintenanceProgress, CommitError> {
        self.change_model(self.embedder(), progress)
    }

    /// Embeds all texts with another model on this thread, then switches to it. Until then searches
    /// and writes go on with the model in use. A run that was interrupted continues where it
    /// stopped.
    ///
    /// # Errors
    /// When another change is running, a text cannot be embedded, or the store cannot be written.
    /// The model in use stays, and so do the vectors that are done.
    pub fn change_model(
        &self,
        embedder: SharedEmbedder,
        mut progress: impl FnMut(MaintenanceProgress),
    ) -> Result<MaintenanceProgress, CommitError> {
        let change = self.shared.begin_model_change(embedder.model())?;
        let model = Arc::new(self.number_model(embedder)?);
        let mut vectors = NewVectors::create(&self.shared.folder, &model).map_err(storage_error)?;
        let total = self.stats().map_err(storage_error)?.versions;
        let mut cursor = TextCursor::default();
        loop {
            let read = |connection: &Connection| {
                missing_texts(connection, model.number, cursor).map_err(storage)
            };
            let step = self.shared.pool.read(read).map_err(storage_error)?;
            self.embed_and_store(&model, step.texts)?;
            cursor = step.end;
            let now = MaintenanceProgress { done: cursor.done, total: total.max(cursor.done) };
            progress(now);
            let Some(complete) = step.complete_at else { continue };
            change.embed_writes(&model);
            vectors.extend(&self.shared.pool, complete).map_err(storage_error)?;
            let next = Arc::clone(&model);
            match self.call_writer(move |writer| switch_model(writer, next, vectors, cursor))?? {
                SwitchOutcome::Switched => break self.remove_retired_vectors(now),
                SwitchOutcome::TextsMissing(unfinished) => vectors = *unfinished,
            }
        }
    }

    /// Gives the model of an embedder its number in this workspace.
    fn number_model(&self, embedder: SharedEmbedder) -> Result<EmbeddingModel, CommitError> {
        let model = embedder.model().clone();
        let number = self.call_writer(move |writer| {
            writer.chore(|transaction| {
                let number = usage::model_number(transaction, &model)?;
                retired::keep(transaction, number)?;
                Ok(number)
            })
        })?;
        Ok(EmbeddingModel { number: number.map_err(storage_error)?, embedder })
    }

    /// Embeds texts on this thread, and has the writer store their vectors.
    fn embed_and_store(
        &self,
        model: &EmbeddingModel,
        missing: BTreeMap<Hash, MissingText>,
    ) -> Result<(), CommitError> {
        if missing.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = missing.values().map(|missing| missing.text.as_str()).collect();
        let vectors = embed_texts(&texts, &*model.embedder)?;
        let number = model.number;
        let stored = self.call_writer(move |writer| {
            writer.chore(|transaction| store_vectors(transaction, number, &missing, &vectors))
        })?;
        stored.map_err(storage_error)
    }

    /// Removes the vectors of the models before, unless snapshots still use them.
    fn remove_retired_vectors(
        &self,
        done: MaintenanceProgress,
    ) -> Result<MaintenanceProgress, CommitError> {
        // A failure costs only space, until the next write or start.
        while let Ok(Ok(true)) = self.call_writer(Writer::remove_retired_vectors) {}
        Ok(done)
    }
}

fn storage_error(error: impl Into<Cause>) -> CommitError {
    CommitError::Storage { cause: error.into() }
}

/// The position of a change: what is before it has vectors of the new model.
#[derive(Debug, Clone, Copy)]
struct TextCursor {
    /// The last row whose texts are done.
    row: Row,
    /// A row after it of which only this many chunks are done.
    partial: Option<(Row, usize)>,
    /// The number of rows that are done.
    done: u64,
}

impl Default for TextCursor {
    fn default() -> TextCursor {
        TextCursor { row: Row::new(0), partial: None, done: 0 }
    }
}

/// A text without a vector of the new model, and chunks that have it.
#[derive(Debug)]
struct MissingText {
    text: String,
    chunks: Vec<(Row, u32)>,
}

/// The next texts without a vector of the new model.
#[derive(Debug)]
struct TextStep {
    texts: BTreeMap<Hash, MissingText>,
    end: TextCursor,
    /// The present revision, if no row is left after these texts.
    complete_at: Option<Revision>,
}

/// Reads the next texts that have no vector of a model.
fn missing_texts(
    connection: &Connection,
    model: i64,
    cursor: TextCursor,
) -> rusqlite::Result<TextStep> {
    let mut statement = connection.prepare_cached(
        "SELECT row, title, coalesce(text, body) FROM items WHERE row > ? ORDER BY row",
    )?;
    let mut has_vector =
        connection.prepare_cached("SELECT 1 FROM embeddings WHERE hash = ? AND model = ?")?;
    let mut texts: BTreeMap<Hash, MissingText> = BTreeMap::new();
    let mut end = cursor;
    let mut lines = statement.query([cursor.row.get()])?;
    while let Some(line) = lines.next()? {
        let (row, title) = (Row::new(line.get(0)?), line.get::<_, String>(1)?);
        let text = line.get_ref(2)?.as_str()?;
        let done = end.partial.filter(|(partial, _)| *partial == row).map_or(0, |(_, done)| done);
        for (index, piece) in chunks_of(connection, row)?.into_iter().enumerate().skip(done) {
            if texts.len() >= TEXTS_AT_ONCE {
                end.partial = Some((row, index));
                return Ok(TextStep { texts, end, complete_at: None });
            }
            if !has_vector.exists(params![piece.hash, model])? {
                let (hash, place) = (piece.hash, (row, piece.chunk));
                let missing =
                    || MissingText { text: chunk_text(&title, text, piece), chunks: vec![] };
                texts.entry(hash).or_insert_with(missing).chunks.push(place);
            }
        }
        end = TextCursor { row, partial: None, done: end.done + 1 };
        if end.done >= cursor.done + ROWS_AT_ONCE {
            return Ok(TextStep { texts, end, complete_at: None });
        }
    }
    let complete_at = Some(Revision::new(usage::revision(connection)?));
    Ok(TextStep { texts, end, complete_at })
}

/// The text to embed for a stored chunk.
fn chunk_text(title: &str, text: &str, piece: ChunkRow) -> String {
    let body = text.get(piece.bytes).unwrap_or("");
    embedded_text(title, &piece.headings.unwrap_or_default(), body)
}

/// Stores vectors of texts that were not purged while they were embedded.
fn store_vectors(
    connection: &Connection,
    model: i64,
    missing: &BTreeMap<Hash, MissingText>,
    vectors: &[Vec<u8>],
) -> rusqlite::Result<()> {
    let mut is_present = connection
        .prepare_cached("SELECT 1 FROM chunks WHERE row = ? AND chunk = ? AND hash = ?")?;
    let mut insert = connection.prepare_cached(
        "INSERT INTO embeddings (model, hash, vector) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
    )?;
    for ((hash, missing), vector) in missing.iter().zip(vectors) {
        for (row, chunk) in &missing.chunks {
            if is_present.exists(params![row.get(), chunk, hash])? {
                insert.execute(params![model, hash, vector])?;
                break;
            }
        }
    }
    Ok(())
}

/// Whether the writer could switch to a new model.
enum SwitchOutcome {
    Switched,
    /// Texts were written that the new model has not embedded.
    TextsMissing(Box<NewVectors>),
}

/// Switches to a model, if it has embedded all texts: those up to the cursor, and those since.
fn switch_model(
    writer: &mut Writer,
    next: Arc<EmbeddingModel>,
    mut vectors: NewVectors,
    cursor: TextCursor,
) -> Result<SwitchOutcome, CommitError> {
    writer.check_in_order()?;
    let rest = missing_texts(&writer.connection, next.number, cursor);
    let rest = rest.map_err(storage).map_err(storage_error)?;
    if !rest.texts.is_empty() || rest.complete_at.is_none() {
        return Ok(SwitchOutcome::TextsMissing(Box::new(vectors)));
    }
    vectors.finish(&writer.connection, writer.revision).map_err(storage_error)?;
    let number = next.number;
    let recorded = writer.chore(|transaction| {
        usage::set_model(transaction, number)?;
        retired::retire_all_but(transaction, number)
    });
    recorded.map_err(storage_error)?;
    vectors.install(writer);
    writer.use_model(next);
    Ok(SwitchOutcome::Switched)
}
