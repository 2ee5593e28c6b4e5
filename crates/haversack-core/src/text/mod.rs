//! Text processing: counting, splitting, truncating, cleaning, comparing. Independent of queries
//! and items.

pub mod blocks;
pub mod boundary;
pub mod chunk;
pub mod clean;
pub mod duplicate;
pub(crate) mod extract;
pub mod model;
pub mod names;
pub mod spelling;
pub mod terms;
pub mod tokenizer;
pub mod trigram;
pub mod truncate;
