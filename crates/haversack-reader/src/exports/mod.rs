//! Exports of other memory and retrieval systems, and of note-taking programs.

pub(crate) mod chroma;
mod fields;
pub(crate) mod graphiti;
pub(crate) mod langchain;
pub(crate) mod llama_index;
pub(crate) mod mem0;
pub(crate) mod notes;
pub(crate) mod notion;
pub(crate) mod qdrant;
mod sqlite;
pub(crate) mod vault;

#[cfg(test)]
mod tests;
