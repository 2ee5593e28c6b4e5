//! An embedder with a cache: the same text is embedded once by each model (M5, P14). Vectors that do
//! not match their model are refused before they are stored or searched for (M4).

use std::sync::Arc;
use std::time::Duration;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_provider::{ModelRole, Usage, record_in_scope};
use moka::sync::Cache;

/// Vectors that are cached by default: some ten megabytes.
const ENTRIES: u64 = 10_000;

/// How long a vector is cached by default.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// An embedder that caches its vectors. This is for queries; the store keeps the vectors of stored
/// texts for good, by content.
#[derive(Debug)]
pub struct CachingEmbedder {
    inner: Arc<dyn Embedder>,
    cache: Cache<[u8; 32], Vector>,
}

impl CachingEmbedder {
    /// Caches ten thousand vectors for a day.
    #[must_use]
    pub fn new(inner: Arc<dyn Embedder>) -> CachingEmbedder {
        CachingEmbedder::with_limits(inner, ENTRIES, KEPT)
    }

    /// Caches at most `entries` vectors, each for `kept`.
    #[must_use]
    pub fn with_limits(inner: Arc<dyn Embedder>, entries: u64, kept: Duration) -> CachingEmbedder {
        let cache = Cache::builder().max_capacity(entries).time_to_live(kept).build();
        CachingEmbedder { inner, cache }
    }

    /// The embedder behind the cache.
    pub(crate) fn uncached(&self) -> Arc<dyn Embedder> {
        Arc::clone(&self.inner)
    }

    /// Embeds texts, and checks the number and length of the vectors.
    fn embed_checked(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        self.check_vectors(self.inner.embed(texts)?, texts.len())
    }

    fn check_vectors(
        &self,
        vectors: Vec<Vector>,
        expected: usize,
    ) -> Result<Vec<Vector>, EmbedError> {
        let model = self.inner.model();
        let wrong =
            |cause: String| EmbedError::NeverRetry { model: model.clone(), cause: cause.into() };
        let given = vectors.len();
        if given != expected {
            return Err(wrong(format!("the model returned {given} vectors for {expected} texts")));
        }
        let odd = vectors.iter().map(|vector| vector.as_slice().len());
        match odd.into_iter().find(|found| *found != model.dimensions) {
            Some(found) => Err(wrong(format!(
                "the model returned a vector of {found} dimensions, not of {}",
                model.dimensions
            ))),
            None => Ok(vectors),
        }
    }

    /// Returns the cached vector for a key, or makes vectors and caches a single one.
    fn cached_or_make(
        &self,
        key: [u8; 32],
        make: impl FnOnce() -> Result<Vec<Vector>, EmbedError>,
    ) -> Result<Vec<Vector>, EmbedError> {
        if let Some(vector) = self.cache.get(&key) {
            if self.is_remote() {
                let usage = Usage { cache_hits: 1, ..Usage::default() };
                record_in_scope(ModelRole::Embed, &usage);
            }
            return Ok(vec![vector]);
        }
        let vectors = make()?;
        if let [vector] = &vectors[..] {
            self.cache.insert(key, vector.clone());
        }
        Ok(vectors)
    }

    /// Hashes the model, the role and the text.
    fn cache_key(&self, role: TextRole, text: &str) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.inner.model().to_string().as_bytes());
        hasher.update(&[role as u8]);
        hasher.update(text.as_bytes());
        *hasher.finalize().as_bytes()
    }
}

/// Whether a text is embedded as a query or as stored text: a model may tell them apart.
#[derive(Debug, Clone, Copy)]
enum TextRole {
    Text,
    Query,
}

impl Embedder for CachingEmbedder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    fn is_remote(&self) -> bool {
        self.inner.is_remote()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        // Several texts at once are an import, and the store caches those itself.
        let text = match texts {
            [] => return Ok(Vec::new()),
            [text] => text,
            _ => return self.embed_checked(texts),
        };
        self.cached_or_make(self.cache_key(TextRole::Text, text), || self.embed_checked(texts))
    }

    fn embed_query(&self, query: &str) -> Result<Vector, EmbedError> {
        let make = || self.check_vectors(vec![self.inner.embed_query(query)?], 1);
        let vectors = self.cached_or_make(self.cache_key(TextRole::Query, query), make)?;
        Ok(vectors.into_iter().next().expect("exactly one vector was made and checked"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Records the texts it embeds, and returns vectors of a given length.
    #[derive(Debug)]
    struct RecordingEmbedder {
        model: Model,
        length: usize,
        embedded: Mutex<Vec<String>>,
    }

    impl RecordingEmbedder {
        fn new(version: &str, length: usize) -> Arc<RecordingEmbedder> {
            let model =
                Model { name: "noting".to_owned(), version: version.to_owned(), dimensions: 4 };
            Arc::new(RecordingEmbedder { model, length, embedded: Mutex::default() })
        }

        fn embedded(&self) -> Vec<String> {
            self.embedded.lock().unwrap().clone()
        }
    }

    impl Embedder for RecordingEmbedder {
        fn model(&self) -> &Model {
            &self.model
        }

        fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
            let mut embedded = self.embedded.lock().unwrap();
            embedded.extend(texts.iter().map(|text| (*text).to_owned()));
            let vector = || Vector::new(vec![1.0; self.length]).unwrap();
            Ok(texts.iter().map(|_| vector()).collect())
        }
    }

    #[test]
    fn a_text_is_embedded_once_by_each_model_m5() {
        let (one, two) = (RecordingEmbedder::new("1", 4), RecordingEmbedder::new("2", 4));
        let first = CachingEmbedder::new(Arc::clone(&one) as Arc<dyn Embedder>);
        for text in ["tea", "tea", "coffee", "tea"] {
            first.embed(&[text]).unwrap();
        }
        assert_eq!(one.embedded(), ["tea", "coffee"]);
        assert!(first.embed(&[]).unwrap().is_empty());
        let second = CachingEmbedder::new(Arc::clone(&two) as Arc<dyn Embedder>);
        let keys = [&first, &second].map(|of| of.cache_key(TextRole::Text, "tea"));
        assert_ne!(keys[0], keys[1], "another model, another vector");
    }

    #[test]
    fn a_query_and_a_text_of_the_same_words_are_cached_separately_m4_m5() {
        let inner = RecordingEmbedder::new("1", 4);
        let remembering = CachingEmbedder::new(Arc::clone(&inner) as Arc<dyn Embedder>);
        for _ in 0..2 {
            remembering.embed(&["tea"]).unwrap();
            remembering.embed_query("tea").unwrap();
        }
        assert_eq!(inner.embedded(), ["tea", "tea"], "a model may tell them apart");
        let odd = CachingEmbedder::new(RecordingEmbedder::new("1", 3));
        odd.embed_query("tea").unwrap_err();
    }

    #[test]
    fn the_cache_keeps_to_its_size_and_time_limits_m5() {
        let inner = RecordingEmbedder::new("1", 4);
        let few = CachingEmbedder::with_limits(
            Arc::clone(&inner) as Arc<dyn Embedder>,
            3,
            Duration::from_secs(60),
        );
        for n in 0..50 {
            few.embed(&[&format!("text {n}")]).unwrap();
        }
        few.cache.run_pending_tasks();
        assert!(few.cache.entry_count() <= 3, "{}", few.cache.entry_count());
        let brief = CachingEmbedder::with_limits(
            Arc::clone(&inner) as Arc<dyn Embedder>,
            3,
            Duration::ZERO,
        );
        brief.embed(&["tea"]).unwrap();
        brief.embed(&["tea"]).unwrap();
        assert_eq!(
            inner.embedded().iter().filter(|text| *text == "tea").count(),
            2,
            "its time is up"
        );
    }

    #[test]
    fn vectors_of_another_length_are_refused_when_they_are_made_m4() {
        let odd = CachingEmbedder::new(RecordingEmbedder::new("1", 3));
        for texts in [&["tea"][..], &["tea", "coffee"]] {
            let error = odd.embed(texts).unwrap_err();
            let cause = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(cause, "the model returned a vector of 3 dimensions, not of 4");
        }
    }
}
