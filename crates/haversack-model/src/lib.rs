//! Sentence transformers from a folder on disk, as [embedders](haversack_core::embed::Embedder) and
//! [rerankers](haversack_core::rank::Reranker) (M4). Nothing is downloaded, and no other runtime is needed.
//!
//! A folder holds what model hubs give out: `config.json`, `tokenizer.json` and
//! `model.safetensors` of a BERT model (MiniLM, BGE small, GTE small, Arctic Embed and the like), in
//! single, half or brain precision. Pooling, prefixes and the most tokens come from the files of
//! sentence-transformers where they are there; a `haversack-model.toml` overrules them:
//!
//! ```toml
//! name = "arctic-s"                # default: the folder's name
//! pooling = "cls"                  # or "mean"
//! query-prefix = "Represent this sentence for searching relevant passages: "
//! document-prefix = ""
//! tokens-max = 512                 # the rest of a text is not read
//! license = "Apache-2.0"           # only shown
//! ```
//!
//! [`Transformer`] embeds; [`CrossEncoder`] scores pairs of query and text. [`Shelf`] keeps the
//! models of a data folder and the choice among them. An application hands either to its engine:
//!
//! ```no_run
//! # fn main() -> Result<(), haversack_model::ModelError> {
//! use std::sync::Arc;
//!
//! let embedder = Arc::new(haversack_model::Transformer::open("models/gte-small".as_ref())?);
//! let reranker = Arc::new(haversack_model::CrossEncoder::open("models/ms-marco".as_ref())?);
//! // haversack::Engine::builder().embedder(embedder).reranker(reranker)
//! # Ok(())
//! # }
//! ```
//!
//! **The same text has the same vector**, bit for bit, whatever it is embedded together with: texts
//! are laid end to end without padding, each attends to itself alone, and each row of a matrix
//! product is summed in the same order wherever it stands. Another sort of processor may sum in another
//! order and differ in the last bits.
//!
//! Deliberately missing: models in the ONNX form, eight-bit weights, other architectures than BERT,
//! graphics processors. Each would bring a runtime of its own.
#![forbid(unsafe_code)]

mod bert;
mod error;
mod file;
mod math;
mod rerank;
mod settings;
mod shelf;
mod tokens;
mod transformer;
mod weights;

pub use error::ModelError;
pub use rerank::CrossEncoder;
pub use settings::Pooling;
pub use shelf::{BUILT_IN, Card, NONE, Shelf};
pub use transformer::Transformer;
