//! Haversack as a library: files and folders become items of a store, and a question finds them.
#![forbid(unsafe_code)]

pub mod ingest;
pub mod search;

use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder};

/// Who embeds when nobody says otherwise: the model that comes with Haversack and needs nothing.
#[must_use]
pub fn embedder() -> Arc<dyn Embedder> {
    Arc::new(BuiltIn::new())
}
