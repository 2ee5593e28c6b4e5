//! Text: count it, split it, cut it, clean it, compare it. Knows nothing of queries and items.

pub mod duplicate;
pub mod terms;
pub mod model;
pub mod boundary;
pub mod chunk;
pub mod clean;
pub mod tokenizer;
