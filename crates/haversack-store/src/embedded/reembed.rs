//! Re-embedding with the model in use. It can be resumed, and text search works meanwhile.

use rusqlite::params;

use super::engine::EmbeddedStore;
use super::records::lookup::chunks_of;
use super::records::{storage, usage};
use super::row::Row;
use super::writer::Writer;
use crate::prepare::{Hash, embedded_text};
use crate::store::error::{Cause, CommitError, ReadError, error_chain};
use crate::store::maintenance::MaintenanceProgress;

/// Texts that are embedded and stored at a time; the last item's texts may exceed it.
const TEXTS_AT_ONCE: usize = 1_000;

/// Rows that are read before other writes get a turn.
const ROWS_AT_ONCE: u64 = 10_000;

impl EmbeddedStore {
    /// Embeds all texts with the model in use, then switches searches to the new vectors. A run
    /// that was interrupted continues where it stopped.
    ///
    /// # Errors
    /// When a text cannot be embedded or the store cannot be written; finished vectors stay.
    pub fn reembed(
        &self,
        mut progress: impl FnMut(MaintenanceProgress),
    ) -> Result<MaintenanceProgress, CommitError> {
        let total = self.stats().map_err(storage_error)?.versions;
        let mut cursor = ReembedCursor { row: Row::new(0), done: 0 };
        loop {
            let (next, finished) =
                self.call_writer(move |writer| embed_next_rows(writer, cursor))??;
            cursor = next;
            let now = MaintenanceProgress { done: cursor.done, total: total.max(cursor.done) };
            progress(now);
            if finished {
                return Ok(now);
            }
        }
    }
}

/// The last row whose texts have vectors, and the number of rows up to it.
#[derive(Clone, Copy)]
struct ReembedCursor {
    row: Row,
    done: u64,
}

fn storage_error(error: impl Into<Cause>) -> CommitError {
    CommitError::Storage { cause: error.into() }
}

/// Embeds the texts of the next rows, or switches to the new vectors if there are none. Returns
/// whether it has finished.
fn embed_next_rows(
    writer: &mut Writer,
    cursor: ReembedCursor,
) -> Result<(ReembedCursor, bool), CommitError> {
    let (texts, next) =
        texts_without_vector(writer, cursor).map_err(storage).map_err(storage_error)?;
    if next.row == cursor.row {
        switch_model(writer).map_err(storage_error)?;
        return Ok((cursor, true));
    }
    let borrowed: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = writer.shared.embedder.embed(&borrowed)?;
    let model = writer.shared.model;
    writer
        .chore(|transaction| {
            let mut statement = transaction.prepare_cached(
                "INSERT INTO embeddings (model, hash, vector) VALUES (?, ?, ?) \
                 ON CONFLICT DO NOTHING",
            )?;
            for ((hash, _), vector) in texts.iter().zip(&vectors) {
                statement.execute(params![model, hash, vector.to_half()])?;
            }
            Ok(())
        })
        .map_err(storage_error)?;
    Ok((next, false))
}

/// The texts of the next rows that have no vector of the model in use.
fn texts_without_vector(
    writer: &Writer,
    cursor: ReembedCursor,
) -> rusqlite::Result<(Vec<(Hash, String)>, ReembedCursor)> {
    let connection = &writer.connection;
    let mut statement = connection.prepare_cached(
        "SELECT row, title, coalesce(text, body) FROM items WHERE row > ? ORDER BY row",
    )?;
    let mut has_vector =
        connection.prepare_cached("SELECT 1 FROM embeddings WHERE hash = ? AND model = ?")?;
    let mut texts = Vec::new();
    let mut next = cursor;
    let mut lines = statement.query([cursor.row.get()])?;
    while let Some(line) = lines.next()?
        && texts.len() < TEXTS_AT_ONCE
        && next.done < cursor.done + ROWS_AT_ONCE
    {
        next = ReembedCursor { row: Row::new(line.get(0)?), done: next.done + 1 };
        let (title, text): (String, &str) = (line.get(1)?, line.get_ref(2)?.as_str()?);
        for piece in chunks_of(connection, next.row)? {
            if !has_vector.exists(params![piece.hash, writer.shared.model])? {
                let body = text.get(piece.bytes).unwrap_or("");
                let headings = piece.headings.unwrap_or_default();
                texts.push((piece.hash, embedded_text(&title, &headings, body)));
            }
        }
    }
    Ok((texts, next))
}

/// Switches searches to the vectors of the model in use, and deletes all others.
fn switch_model(writer: &mut Writer) -> Result<(), ReadError> {
    let model = writer.shared.model;
    writer.chore(|transaction| {
        usage::set_model(transaction, model)?;
        transaction.execute("DELETE FROM embeddings WHERE model <> ?", [model])?;
        Ok(())
    })?;
    let tag = writer.shared.embedder.model().clone();
    let failed = |error: super::indexes::IndexError| ReadError::Storage {
        cause: error_chain(&error).into(),
    };
    writer.indexes.rebuild(&writer.connection, &tag, writer.revision).map_err(failed)?;
    writer.catch_up().map_err(failed)
}
