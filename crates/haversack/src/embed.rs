//! Embedding with a memory: the same text by the same model is embedded once (M5, P14).

use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use moka::sync::Cache;

/// How many vectors are remembered when nobody says otherwise: some ten megabytes.
const ENTRIES: u64 = 10_000;

/// How long, when nobody says otherwise.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// An embedder that remembers what it embedded. What is stored keeps its vectors for good, by
/// content, in the store; this is for questions.
#[derive(Debug)]
pub struct Remembering {
    inner: Arc<dyn Embedder>,
    known: Cache<[u8; 32], Vector>,
}

impl Remembering {
    /// Remembers some ten thousand texts for a day.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>) -> Remembering {
        Remembering::bounded(inner, ENTRIES, KEPT)
    }

    /// Remembers so many texts for so long.
    #[must_use]
    pub fn bounded(inner: Arc<dyn Embedder>, entries: u64, kept: Duration) -> Remembering {
        let known = Cache::builder().max_capacity(entries).time_to_live(kept).build();
        Remembering { inner, known }
    }

    /// Model and text decide; nothing else does.
    fn key(&self, text: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.inner.model().to_string().as_bytes());
        hasher.update(&[0]);
        hasher.update(text.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

impl Embedder for Remembering {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        // Many at once are an import, which the store remembers by itself.
        let [text] = texts else { return self.inner.embed(texts) };
        let key = self.key(text);
        if let Some(vector) = self.known.get(&key) {
            return Ok(vec![vector]);
        }
        let vectors = self.inner.embed(texts)?;
        if let [vector] = &vectors[..] {
            self.known.insert(key, vector.clone());
        }
        Ok(vectors)
    }
}
