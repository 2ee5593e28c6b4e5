//! Sentence transformers from a folder on disk, as [embedders](haversack_core::embed::Embedder) and
//! [rerankers](haversack_core::rank::Reranker) (M4). Nothing is downloaded, and no other runtime is
//! needed.
//!
//! A folder holds the files that model hubs distribute: `config.json`, `tokenizer.json` and
//! `model.safetensors` of a BERT model (MiniLM, BGE small, GTE small, Arctic Embed and the like),
//! in `f32`, `f16` or `bf16`. Pooling, prefixes and the token limit come from the files of
//! sentence-transformers, if present; a `haversack-model.toml` overrides them:
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
//! [`Transformer`] embeds; [`CrossEncoder`] scores pairs of query and text. [`ModelRegistry`] keeps
//! the models of a data folder and records which are in use. An application passes either to its
//! engine:
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
//! are concatenated without padding, each attends only to itself, and each row of a matrix product
//! is summed in a fixed order. Another type of processor may sum in another order and differ in the
//! last bits.
//!
//! Deliberately missing: ONNX models, eight-bit weights, architectures other than BERT, GPUs. Each
//! would need a runtime of its own.
#![forbid(unsafe_code)]

mod bert;
mod error;
mod file;
mod math;
mod registry;
mod rerank;
mod settings;
mod tokens;
mod transformer;
mod weights;

pub use error::ModelError;
pub use registry::{BUILT_IN, ModelCard, ModelRegistry, NONE};
pub use rerank::CrossEncoder;
pub use settings::Pooling;
pub use transformer::Transformer;
