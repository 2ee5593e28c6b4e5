//! Making the vectors anew with the model in use: resumable, and searchable by words meanwhile.

use rusqlite::params;

use super::engine::Embedded;
use super::records::{storage, usage};
use super::writer::{Writer, chain};
use crate::prepare::{Hash, embedded_text};
use crate::store::error::{Cause, CommitError, ReadError};

/// Texts that are embedded and stored at a time.
const TEXTS_AT_ONCE: usize = 1_000;

/// How far re-embedding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Texts that have their vector, those from an earlier run included.
    pub done: u64,
    /// All texts.
    pub total: u64,
}

impl Embedded {
    /// Makes the vectors of all texts with the model in use, then switches to them. What an
    /// interrupted run has done is not done again.
    ///
    /// # Errors
    /// When a text cannot be embedded or the store cannot be written; what is done stays.
    pub fn reembed(&self, mut progress: impl FnMut(Progress)) -> Result<Progress, CommitError> {
        loop {
            let (step, finished) = self.call(step)??;
            progress(step);
            if finished {
                return Ok(step);
            }
        }
    }
}

fn cause(error: impl Into<Cause>) -> CommitError {
    CommitError::Storage { cause: error.into() }
}

/// Embeds the next texts, or switches over when there are none.
fn step(writer: &mut Writer) -> Result<(Progress, bool), CommitError> {
    let model = writer.shared.model;
    let texts = missing(writer, model).map_err(cause)?;
    if texts.is_empty() {
        switch(writer).map_err(cause)?;
        return Ok((count(writer, model).map_err(cause)?, true));
    }
    let borrowed: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
    let vectors = writer.shared.embedder.embed(&borrowed)?;
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
    Ok((count(writer, model).map_err(cause)?, false))
}

/// Texts without a vector of the model, each once.
fn missing(writer: &Writer, model: i64) -> Result<Vec<(Hash, String)>, ReadError> {
    let run = || -> rusqlite::Result<Vec<(Hash, String)>> {
        let mut statement = writer.connection.prepare_cached(
            "SELECT c.hash, i.title, c.headings, coalesce(i.text, i.body), c.start, c.stop \
             FROM chunks c JOIN items i ON i.row = c.row \
             WHERE NOT EXISTS (SELECT 1 FROM embeddings e WHERE e.hash = c.hash AND e.model = ?) \
             GROUP BY c.hash LIMIT ?",
        )?;
        statement
            .query_map(params![model, TEXTS_AT_ONCE], |line| {
                let (title, headings): (String, Option<String>) = (line.get(1)?, line.get(2)?);
                let headings: Vec<String> =
                    headings.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
                let (start, stop): (usize, usize) = (line.get(4)?, line.get(5)?);
                let body = line.get_ref(3)?.as_str()?.get(start..stop).unwrap_or("");
                Ok((line.get(0)?, embedded_text(&title, &headings, body)))
            })?
            .collect()
    };
    run().map_err(storage)
}

fn count(writer: &Writer, model: i64) -> Result<Progress, ReadError> {
    let run = || -> rusqlite::Result<Progress> {
        let connection = &writer.connection;
        let sql = "SELECT count(*) FROM embeddings WHERE model = ?";
        let done = connection.query_row(sql, [model], |line| line.get(0))?;
        let sql = "SELECT count(DISTINCT hash) FROM chunks";
        let total = connection.query_row(sql, [], |line| line.get(0))?;
        Ok(Progress { done, total })
    };
    run().map_err(storage)
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
