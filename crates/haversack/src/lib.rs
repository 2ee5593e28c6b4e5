//! Haversack as a library: files and folders become items of a store, and a question finds them.
#![forbid(unsafe_code)]

pub mod collect;
pub mod error;
pub mod ingest;
pub mod notice;
pub mod recipe;
pub mod request;
pub mod search;
pub mod situation;

use std::sync::Arc;

use haversack_core::embed::{BuiltIn, Embedder};

pub use error::{Error, ErrorCode};
pub use request::Request;

/// Who embeds when nobody says otherwise: the model that comes with Haversack and needs nothing.
#[must_use]
pub fn embedder() -> Arc<dyn Embedder> {
    Arc::new(BuiltIn::new())
}
