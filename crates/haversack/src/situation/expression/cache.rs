//! Conditions that were read before: a source is read once, however many requests judge it.

use std::sync::Arc;

use moka::sync::Cache;

use super::{ConditionError, Expression};

/// Most sources that are remembered; those used least are forgotten.
pub const EXPRESSIONS_MAX: u64 = 20_000;

type Read = Result<Arc<Expression>, ConditionError>;

/// Expressions by their source. Shared by all requests; cheap to clone.
#[derive(Debug, Clone)]
pub struct Expressions {
    read: Cache<Box<str>, Read>,
}

impl Default for Expressions {
    fn default() -> Expressions {
        Expressions::new()
    }
}

impl Expressions {
    /// An empty memory.
    #[must_use]
    pub fn new() -> Expressions {
        Expressions { read: Cache::new(EXPRESSIONS_MAX) }
    }

    /// The expression of a source, read now or before.
    ///
    /// # Errors
    /// When it is none; see [`Expression::new`].
    pub fn read(&self, source: &str) -> Read {
        // A long text is not worth a place: it is refused by its length alone.
        if source.len() > super::EXPRESSION_BYTES_MAX {
            return Expression::new(source).map(Arc::new);
        }
        if let Some(read) = self.read.get(source) {
            return read;
        }
        let read = Expression::new(source).map(Arc::new);
        self.read.insert(source.into(), read.clone());
        read
    }
}
