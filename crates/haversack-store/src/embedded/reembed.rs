//! Making the vectors anew with the model in use: resumable, and searchable by words meanwhile.

use rusqlite::params;

use super::engine::Embedded;
use super::records::lookup::chunks_of;
use super::records::{storage, usage};
use super::row::Row;
use super::writer::Writer;
use crate::prepare::{Hash, embedded_text};
use crate::store::error::{Cause, CommitError, ReadError, chain};
use crate::store::maintenance::Progress;

/// Texts that are embedded and stored at a time, but for the last item's.
const TEXTS_AT_ONCE: usize = 1_000;

/// Rows that are looked at before others may write.
const ROWS_AT_ONCE: u64 = 10_000;

impl Embedded {
    /// Makes the vectors of all texts with the model in use, then switches to them. What an
    /// interrupted run has done is not done again.
    ///
    /// # Errors
    /// When a text cannot be embedded or the store cannot be written; what is done stays.
    pub fn reembed(&self, mut progress: impl FnMut(Progress)) -> Result<Progress, CommitError> {
        let total = self.stats().map_err(cause)?.versions;
        let mut reached = Reached { row: Row::new(0), done: 0 };
        loop {
            let (next, finished) = self.call(move |writer| step(writer, reached))??;
            reached = next;
            let now = Progress { done: reached.done, total: total.max(reached.done) };
            progress(now);
            if finished {
                return Ok(now);
            }
        }
    }
}

/// Up to which row the texts have their vectors.
#[derive(Clone, Copy)]
struct Reached {
    row: Row,
    done: u64,
}

fn cause(error: impl Into<Cause>) -> CommitError {
    CommitError::Storage { cause: error.into() }
}

/// Embeds the texts of the next rows, or switches over when there are none.
fn step(writer: &mut Writer, reached: Reached) -> Result<(Reached, bool), CommitError> {
    let (texts, next) = missing(writer, reached).map_err(storage).map_err(cause)?;
    if next.row == reached.row {
        switch(writer).map_err(cause)?;
        return Ok((reached, true));
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
        .map_err(cause)?;
    Ok((next, false))
}

/// Texts of the next rows that have no vector by the model in use.
fn missing(writer: &Writer, reached: Reached) -> rusqlite::Result<(Vec<(Hash, String)>, Reached)> {
    let connection = &writer.connection;
    let mut statement = connection.prepare_cached(
        "SELECT row, title, coalesce(text, body) FROM items WHERE row > ? ORDER BY row",
    )?;
    let mut known =
        connection.prepare_cached("SELECT 1 FROM embeddings WHERE hash = ? AND model = ?")?;
    let mut texts = Vec::new();
    let mut next = reached;
    let mut lines = statement.query([reached.row.get()])?;
    while let Some(line) = lines.next()?
        && texts.len() < TEXTS_AT_ONCE
        && next.done < reached.done + ROWS_AT_ONCE
    {
        next = Reached { row: Row::new(line.get(0)?), done: next.done + 1 };
        let (title, text): (String, &str) = (line.get(1)?, line.get_ref(2)?.as_str()?);
        for piece in chunks_of(connection, next.row)? {
            if !known.exists(params![piece.hash, writer.shared.model])? {
                let body = text.get(piece.bytes).unwrap_or("");
                let headings = piece.headings.unwrap_or_default();
                texts.push((piece.hash, embedded_text(&title, &headings, body)));
            }
        }
    }
    Ok((texts, next))
}

/// Makes the model's vectors the ones that are searched, and forgets all others.
fn switch(writer: &mut Writer) -> Result<(), ReadError> {
    let model = writer.shared.model;
    writer.chore(|transaction| {
        usage::set_model(transaction, model)?;
        transaction.execute("DELETE FROM embeddings WHERE model <> ?", [model])?;
        Ok(())
    })?;
    let tag = writer.shared.embedder.model().clone();
    let failed =
        |error: super::indexes::IndexError| ReadError::Storage { cause: chain(&error).into() };
    writer.indexes.rebuild(&writer.connection, &tag, writer.revision).map_err(failed)?;
    writer.catch_up().map_err(failed)
}
