//! A cache of text features, for texts that have none stored or whose stored features were counted
//! by another tokenizer. The same texts are found again and again.

use std::sync::Arc;

use haversack_core::candidate::Candidate;
use haversack_core::embed::TextFeatures;
use haversack_core::text::tokenizer::{Encoding, Tokenizer};
use moka::sync::Cache;

/// Size of the cache in bytes: some fifty thousand texts of 200 tokens.
const BYTES_MAX: u64 = 64 << 20;

/// An engine's cache of text features.
#[derive(Debug, Clone)]
pub(crate) struct FeatureCache {
    known: Cache<[u8; 32], Arc<TextFeatures>>,
}

impl Default for FeatureCache {
    fn default() -> FeatureCache {
        let bytes = |_: &[u8; 32], features: &Arc<TextFeatures>| {
            u32::try_from(features.size()).unwrap_or(u32::MAX)
        };
        let known = Cache::builder().max_capacity(BYTES_MAX).weigher(bytes).build();
        FeatureCache { known }
    }
}

/// Computes features for one tokenizer, through the cache.
pub(super) struct FeatureReader<'r> {
    cache: &'r FeatureCache,
    tokenizer: &'r dyn Tokenizer,
    /// Whether the features of stored texts were counted by this tokenizer.
    can_use_stored: bool,
    /// The beginning of all its cache keys.
    key: blake3::Hasher,
}

impl<'r> FeatureReader<'r> {
    pub(super) fn new(cache: &'r FeatureCache, tokenizer: &'r dyn Tokenizer) -> FeatureReader<'r> {
        let mut key = blake3::Hasher::new();
        key.update(tokenizer.name().as_bytes());
        key.update(&[0]);
        let can_use_stored = tokenizer.name() == Encoding::O200k.name();
        FeatureReader { cache, tokenizer, can_use_stored, key }
    }

    /// Returns the features of a candidate's text.
    pub(super) fn features_of(&self, candidate: &Candidate) -> Arc<TextFeatures> {
        match &candidate.features {
            Some(features) if self.can_use_stored => Arc::clone(features),
            _ => self.features_of_text(&candidate.text),
        }
    }

    /// Returns the features of a text, from the cache if they are there.
    pub(super) fn features_of_text(&self, text: &str) -> Arc<TextFeatures> {
        let key = *self.key.clone().update(text.as_bytes()).finalize().as_bytes();
        if let Some(features) = self.cache.known.get(&key) {
            return features;
        }
        let features = Arc::new(TextFeatures::new(text, self.tokenizer));
        self.cache.known.insert(key, Arc::clone(&features));
        features
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::ids::{CandidateId, ItemId};
    use haversack_core::item::Kind;

    use super::*;

    const TEXT: &str = "# Ladders\n\nThe ladder is kept in the cellar.\n";

    #[test]
    fn a_text_is_read_once_for_each_tokenizer() {
        let cache = FeatureCache::default();
        let read = |tokenizer: &dyn Tokenizer, text: &str| {
            FeatureReader::new(&cache, tokenizer).features_of_text(text)
        };
        let first = read(&Encoding::O200k, TEXT);
        assert!(Arc::ptr_eq(&first, &read(&Encoding::O200k, TEXT)));
        assert!(!Arc::ptr_eq(&first, &read(&Encoding::Cl100k, TEXT)));
        assert!(!Arc::ptr_eq(&first, &read(&Encoding::O200k, &TEXT[1..])));
    }

    #[test]
    fn stored_features_are_used_with_the_tokenizer_that_counted_them() {
        let cache = FeatureCache::default();
        let id = CandidateId::whole(ItemId::new("a").unwrap());
        let mut candidate = Candidate::new(id, Kind::new("note").unwrap(), TEXT);
        let brought = Arc::new(TextFeatures::new(TEXT, &Encoding::O200k));
        candidate.features = Some(Arc::clone(&brought));
        let of = |tokenizer: &dyn Tokenizer, candidate: &Candidate| {
            FeatureReader::new(&cache, tokenizer).features_of(candidate)
        };
        assert!(Arc::ptr_eq(&of(&Encoding::O200k, &candidate), &brought));
        assert_eq!(*of(&Encoding::Cl100k, &candidate), TextFeatures::new(TEXT, &Encoding::Cl100k));
        candidate.set_text("Other words.");
        let own = TextFeatures::new("Other words.", &Encoding::O200k);
        assert_eq!(*of(&Encoding::O200k, &candidate), own);
    }
}
