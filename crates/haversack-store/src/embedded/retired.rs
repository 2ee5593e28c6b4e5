//! Removing the vectors of models that are no longer in use.
//!
//! Snapshots that were taken before a switch still read the vectors of the model before, so these
//! are removed when the last such snapshot is gone. The records say which models are retired; a
//! model whose vectors are being made is neither in use nor retired.

use std::sync::{Arc, Weak};

use rusqlite::{Connection, params};

use super::state::EmbeddingModel;
use super::writer::Writer;
use crate::store::error::ReadError;

/// Vectors that are looked at in one transaction.
const VECTORS_AT_ONCE: i64 = 20_000;

/// The retired models of a workspace.
#[derive(Debug, Default)]
pub(crate) struct RetiredModels {
    /// Retired models that snapshots may still search by.
    readers: Vec<Weak<EmbeddingModel>>,
    /// The last vector that was looked at; `None` when no model is retired.
    swept: Option<i64>,
}

impl RetiredModels {
    /// The models that were retired before the workspace was opened.
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<RetiredModels> {
        let any =
            connection.prepare("SELECT 1 FROM settings WHERE name GLOB 'retired *'")?.exists([])?;
        Ok(RetiredModels { readers: Vec::new(), swept: any.then_some(0) })
    }

    /// Notes that models were retired, the last one in use among them.
    pub(crate) fn add(&mut self, model: &Arc<EmbeddingModel>) {
        self.readers.push(Arc::downgrade(model));
        self.swept = Some(0);
    }
}

/// Retires all models but one.
pub(crate) fn retire_all_but(connection: &Connection, model: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM settings WHERE name = 'retired ' || ?", [model])?;
    connection.execute(
        "INSERT OR IGNORE INTO settings (name, value) \
         SELECT 'retired ' || model, model FROM models WHERE model <> ?",
        [model],
    )?;
    Ok(())
}

/// Keeps the vectors of a model, because more of them are to be made.
pub(crate) fn keep(connection: &Connection, model: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM settings WHERE name = 'retired ' || ?", [model])?;
    Ok(())
}

impl Writer {
    /// Removes some vectors of retired models. Returns whether there are more to remove now.
    pub(crate) fn remove_retired_vectors(&mut self) -> Result<bool, ReadError> {
        let Some(swept) = self.retired.swept else { return Ok(false) };
        self.retired.readers.retain(|model| model.strong_count() > 0);
        if !self.retired.readers.is_empty() {
            return Ok(false);
        }
        let last = swept + VECTORS_AT_ONCE;
        let more = self.chore(|transaction| {
            transaction.execute(
                "DELETE FROM embeddings WHERE embedding > ? AND embedding <= ? AND \
                 model IN (SELECT value FROM settings WHERE name GLOB 'retired *')",
                params![swept, last],
            )?;
            let more = transaction
                .prepare_cached("SELECT 1 FROM embeddings WHERE embedding > ?")?
                .exists([last])?;
            if !more {
                transaction.execute("DELETE FROM settings WHERE name GLOB 'retired *'", [])?;
            }
            Ok(more)
        })?;
        self.retired.swept = more.then_some(last);
        Ok(more)
    }
}
