//! What was read of a text: its blocks, the pieces of the built-in table that they are made of, and
//! their tokens. The same texts are found again and again, so what was read is kept.

use std::ops::Range;
use std::sync::Arc;

use haversack_core::embed::{PieceId, pieces};
use haversack_core::text::blocks::{TextBlock, blocks};
use haversack_core::text::tokenizer::{Counted, Tokenizer};
use moka::sync::Cache;

/// How many bytes of readings are kept: some fifty thousand texts of 200 tokens.
const BYTES_MAX: u64 = 64 << 20;

/// What was read of a text. It depends on nothing but the text and the tokenizer.
#[derive(Debug)]
pub(crate) struct TextReading {
    /// In order, without gaps.
    pub(super) blocks: Vec<TextBlock>,
    /// The pieces of all blocks, one after another.
    pub(super) pieces: Vec<PieceId>,
    /// What was read of each block.
    of_block: Vec<BlockReading>,
}

#[derive(Debug)]
struct BlockReading {
    /// Which of the pieces are the block's.
    pieces: Range<usize>,
    /// Its tokens.
    counted: Option<Counted>,
}

impl TextReading {
    /// The pieces of a block.
    pub(super) fn pieces_of(&self, block: usize) -> &[PieceId] {
        &self.pieces[self.of_block[block].pieces.clone()]
    }

    /// The tokens of a block, by the place of what was counted in the text.
    pub(super) fn counted_of(&self, block: usize) -> Option<&Counted> {
        self.of_block[block].counted.as_ref()
    }

    /// The block that begins and ends there, trailing white space aside.
    pub(super) fn block_at(&self, text: &str, range: &Range<usize>) -> Option<usize> {
        let at = self.blocks.binary_search_by_key(&range.start, |block| block.range.start).ok()?;
        let block = self.blocks[at].range.clone();
        (block.start + text[block].trim_end().len() == range.end).then_some(at)
    }

    fn bytes(&self) -> usize {
        size_of::<TextReading>()
            + size_of_val(&*self.blocks)
            + size_of_val(&*self.pieces)
            + size_of_val(&*self.of_block)
    }
}

/// The readings of an engine.
#[derive(Debug, Clone)]
pub(crate) struct TextCache {
    known: Cache<[u8; 32], Arc<TextReading>>,
}

impl Default for TextCache {
    fn default() -> TextCache {
        let bytes = |_: &[u8; 32], reading: &Arc<TextReading>| {
            u32::try_from(reading.bytes()).unwrap_or(u32::MAX)
        };
        let known = Cache::builder().max_capacity(BYTES_MAX).weigher(bytes).build();
        TextCache { known }
    }
}

/// Reads texts for one tokenizer.
pub(super) struct TextReader<'r> {
    cache: &'r TextCache,
    tokenizer: &'r dyn Tokenizer,
    /// What all its keys begin with.
    key: blake3::Hasher,
}

impl<'r> TextReader<'r> {
    pub(super) fn new(cache: &'r TextCache, tokenizer: &'r dyn Tokenizer) -> TextReader<'r> {
        let mut key = blake3::Hasher::new();
        key.update(tokenizer.name().as_bytes());
        key.update(&[0]);
        TextReader { cache, tokenizer, key }
    }

    /// What is known of a text, read now if it is new.
    pub(super) fn read(&self, text: &str) -> Arc<TextReading> {
        let key = *self.key.clone().update(text.as_bytes()).finalize().as_bytes();
        if let Some(reading) = self.cache.known.get(&key) {
            return reading;
        }
        let reading = Arc::new(self.reading(text));
        self.cache.known.insert(key, Arc::clone(&reading));
        reading
    }

    fn reading(&self, text: &str) -> TextReading {
        let blocks = blocks(text);
        let (mut all, mut of_block) = (Vec::new(), Vec::new());
        for block in &blocks {
            let first = all.len();
            let shown = text[block.range.clone()].trim_end();
            all.extend(pieces(shown));
            let part = block.range.start..block.range.start + shown.len();
            let counted = Counted::of(self.tokenizer, text, part);
            of_block.push(BlockReading { pieces: first..all.len(), counted });
        }
        TextReading { blocks, pieces: all, of_block }
    }
}

#[cfg(test)]
mod tests {
    use haversack_core::text::tokenizer::Encoding;

    use super::*;

    const TEXT: &str = "# Ladders\n\nThe ladder is kept in the cellar.\n\nAsk Anna for the key.\n";

    #[test]
    fn a_text_is_read_once_for_each_tokenizer() {
        let cache = TextCache::default();
        let read =
            |tokenizer: &dyn Tokenizer, text: &str| TextReader::new(&cache, tokenizer).read(text);
        let first = read(&Encoding::O200k, TEXT);
        assert!(Arc::ptr_eq(&first, &read(&Encoding::O200k, TEXT)));
        assert!(!Arc::ptr_eq(&first, &read(&Encoding::Cl100k, TEXT)));
        assert!(!Arc::ptr_eq(&first, &read(&Encoding::O200k, &TEXT[1..])));
    }

    #[test]
    fn blocks_have_their_own_pieces_and_sizes() {
        let cache = TextCache::default();
        let reading = TextReader::new(&cache, &Encoding::O200k).read(TEXT);
        assert_eq!(reading.blocks.len(), 3);
        assert_eq!(reading.pieces_of(0), pieces("# Ladders"));
        assert_eq!(reading.pieces_of(2), pieces("Ask Anna for the key."));
        let counted: Vec<&Counted> = (0..3).filter_map(|block| reading.counted_of(block)).collect();
        for part in &counted {
            assert_eq!(part.units, Encoding::O200k.units(&TEXT[part.range.clone()]));
        }
        assert!(!counted.is_empty());
        let second = &reading.blocks[1].range;
        let shown = second.start..second.start + "The ladder is kept in the cellar.".len();
        assert_eq!(reading.block_at(TEXT, &shown), Some(1));
        assert_eq!(reading.block_at(TEXT, &(shown.start..shown.end - 1)), None);
    }
}
