//! Text features: the blocks of a text with their word pieces and token counts, computed once and
//! stored with the text.

use std::ops::Range;

use super::built_in::{TABLE, piece_ids};
use super::{BuiltIn, Embedder, PieceId};
use crate::text::blocks::{BlockKind, TextBlock, blocks};
use crate::text::tokenizer::{Counted, Tokenizer};

/// Format version; changes whenever the same text gives different features or bytes.
const FORMAT: u8 = 1;

/// The bit of a block's first byte that marks clutter.
const CLUTTER: u8 = 0x80;

/// The features of a text. They depend only on the text and the tokenizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextFeatures {
    blocks: Vec<TextBlock>,
    pieces: Vec<PieceId>,
    of_block: Vec<BlockFeatures>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct BlockFeatures {
    /// The block's range in the list of pieces.
    pieces: Range<usize>,
    /// Its tokens.
    counted: Option<Counted>,
}

impl TextFeatures {
    /// Computes the features of a text.
    #[must_use]
    pub fn new(text: &str, tokenizer: &dyn Tokenizer) -> TextFeatures {
        let blocks = blocks(text);
        let mut pieces = Vec::new();
        let mut of_block = Vec::with_capacity(blocks.len());
        for block in &blocks {
            let first = pieces.len();
            let shown = trimmed_range(text, block);
            pieces.extend(piece_ids(&text[shown.clone()]));
            let counted = Counted::count_part(tokenizer, text, shown);
            of_block.push(BlockFeatures { pieces: first..pieces.len(), counted });
        }
        TextFeatures { blocks, pieces, of_block }
    }

    /// The version of the features. Features stored under another version must be recomputed.
    #[must_use]
    pub fn version() -> String {
        format!("{FORMAT} {}", BuiltIn::new().model())
    }

    /// The blocks, in order and without gaps.
    #[must_use]
    pub fn blocks(&self) -> &[TextBlock] {
        &self.blocks
    }

    /// The word pieces of all blocks, one after another.
    #[must_use]
    pub fn pieces(&self) -> &[PieceId] {
        &self.pieces
    }

    /// The word pieces of a block.
    #[must_use]
    pub fn pieces_of(&self, block: usize) -> &[PieceId] {
        self.of_block.get(block).map_or(&[], |of| &self.pieces[of.pieces.clone()])
    }

    /// The token count of a block, with the counted range of the text.
    #[must_use]
    pub fn counted_of(&self, block: usize) -> Option<&Counted> {
        self.of_block.get(block)?.counted.as_ref()
    }

    /// The block that covers `range`, ignoring trailing white space.
    #[must_use]
    pub fn block_at(&self, text: &str, range: &Range<usize>) -> Option<usize> {
        let at = self.blocks.binary_search_by_key(&range.start, |block| block.range.start).ok()?;
        (trimmed_range(text, &self.blocks[at]).end == range.end).then_some(at)
    }

    /// Their memory size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of::<TextFeatures>()
            + size_of_val(&*self.blocks)
            + size_of_val(&*self.pieces)
            + size_of_val(&*self.of_block)
    }

    /// Serialises the features.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.blocks.len() * 10 + self.pieces.len() * 2);
        bytes.push(FORMAT);
        write_varint(&mut bytes, self.blocks.len());
        for (number, (block, of)) in self.blocks.iter().zip(&self.of_block).enumerate() {
            bytes.push(kind_code(block.kind) | if block.is_clutter { CLUTTER } else { 0 });
            write_varint(&mut bytes, block.range.len());
            write_varint(&mut bytes, block.under.map_or(0, |under| number - under));
            write_varint(&mut bytes, of.pieces.len());
            let counted = of.counted.as_ref();
            write_varint(&mut bytes, counted.map_or(0, |counted| counted.range.len()));
            if let Some(counted) = counted {
                write_varint(&mut bytes, counted.range.start - block.range.start);
                write_varint(&mut bytes, usize::try_from(counted.units).unwrap_or(usize::MAX));
            }
        }
        bytes.extend(self.pieces.iter().flat_map(|piece| piece.to_le_bytes()));
        bytes
    }

    /// Reads serialised features; `None` when they do not belong to this text or have another
    /// version.
    #[must_use]
    pub fn from_bytes(text: &str, bytes: &[u8]) -> Option<TextFeatures> {
        let (&format, mut rest) = bytes.split_first()?;
        let n_blocks = read_varint(&mut rest)?;
        // Each block takes at least five bytes, which bounds the allocation.
        if format != FORMAT || n_blocks > rest.len() / 5 {
            return None;
        }
        let mut blocks = Vec::with_capacity(n_blocks);
        let mut of_block = Vec::with_capacity(n_blocks);
        let (mut start, mut first_piece) = (0_usize, 0_usize);
        for number in 0..n_blocks {
            let (&head, after) = rest.split_first()?;
            rest = after;
            let end = start.checked_add(read_varint(&mut rest)?)?;
            let under = match read_varint(&mut rest)? {
                0 => None,
                back => Some(number.checked_sub(back)?),
            };
            let last_piece = first_piece.checked_add(read_varint(&mut rest)?)?;
            let counted = match read_varint(&mut rest)? {
                0 => None,
                length => {
                    let from = start.checked_add(read_varint(&mut rest)?)?;
                    let range = from..from.checked_add(length)?;
                    let fits = range.end <= end && text.get(range.clone()).is_some();
                    let units = read_varint(&mut rest)? as u64;
                    Some(fits.then_some(Counted { range, units })?)
                }
            };
            text.get(start..end)?;
            let kind = kind_of_code(head & !CLUTTER)?;
            blocks.push(TextBlock {
                range: start..end,
                kind,
                under,
                is_clutter: head & CLUTTER != 0,
            });
            of_block.push(BlockFeatures { pieces: first_piece..last_piece, counted });
            (start, first_piece) = (end, last_piece);
        }
        let (pairs, odd) = rest.as_chunks::<2>();
        let pieces: Vec<PieceId> = pairs.iter().map(|pair| PieceId::from_le_bytes(*pair)).collect();
        let is_known = pieces.iter().all(|piece| usize::from(*piece) < TABLE.n_rows());
        let is_whole = odd.is_empty() && start == text.len() && first_piece == pieces.len();
        (is_known && is_whole).then_some(TextFeatures { blocks, pieces, of_block })
    }
}

/// The bytes of a block without trailing white space.
fn trimmed_range(text: &str, block: &TextBlock) -> Range<usize> {
    let start = block.range.start;
    start..start + text[block.range.clone()].trim_end().len()
}

fn kind_code(kind: BlockKind) -> u8 {
    match kind {
        BlockKind::Prose => 0,
        BlockKind::List => 1,
        BlockKind::Fence => 2,
        BlockKind::Table => 3,
        BlockKind::Heading(level) => 3 + level,
    }
}

fn kind_of_code(code: u8) -> Option<BlockKind> {
    Some(match code {
        0 => BlockKind::Prose,
        1 => BlockKind::List,
        2 => BlockKind::Fence,
        3 => BlockKind::Table,
        4..=9 => BlockKind::Heading(code - 3),
        _ => return None,
    })
}

/// Writes a variable-length number, seven bits per byte, lowest first.
fn write_varint(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    bytes.push(number.to_le_bytes()[0]);
}

/// Reads a variable-length number of at most four bytes.
fn read_varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in [0, 7, 14, 21] {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::tokenizer::Encoding;

    const TEXT: &str = "# Ladders\n\nThe ladder is kept in the cellar.\n\n\
                        Steps:\n\n- ask Anna\n- go down\n\n```sh\nopen cellar\n```\n\n\
                        | key | place |\n| --- | --- |\n| red | hall |\n\nAsk Anna for the key.\n";

    #[test]
    fn blocks_have_their_own_pieces_and_tokens() {
        let features = TextFeatures::new(TEXT, &Encoding::O200k);
        assert_eq!(features.pieces_of(0), piece_ids("# Ladders"));
        let last = features.blocks().len() - 1;
        assert_eq!(features.pieces_of(last), piece_ids("Ask Anna for the key."));
        let counted: Vec<&Counted> =
            (0..=last).filter_map(|block| features.counted_of(block)).collect();
        for part in &counted {
            assert_eq!(part.units, Encoding::O200k.units(&TEXT[part.range.clone()]));
        }
        assert!(counted.len() > 2);
        let second = features.blocks()[1].range.start;
        let shown = second..second + "The ladder is kept in the cellar.".len();
        assert_eq!(features.block_at(TEXT, &shown), Some(1));
        assert_eq!(features.block_at(TEXT, &(shown.start..shown.end - 1)), None);
    }

    /// Features are stored for years, so a change of their bytes needs a new version.
    #[test]
    fn changed_bytes_need_a_new_format_version() {
        let bytes = TextFeatures::new(TEXT, &Encoding::O200k).to_bytes();
        let hash = blake3::hash(&bytes).to_hex();
        assert_eq!(
            (FORMAT, &hash[..16]),
            (1, "27ad6020f0ce911b"),
            "raise FORMAT, then set the hash here"
        );
    }

    #[test]
    fn bytes_of_another_text_or_format_are_refused() {
        let bytes = TextFeatures::new(TEXT, &Encoding::O200k).to_bytes();
        assert!(TextFeatures::from_bytes(TEXT, &bytes).is_some());
        assert!(TextFeatures::from_bytes(&TEXT[1..], &bytes).is_none());
        assert!(TextFeatures::from_bytes("", &bytes).is_none());
        let mut other = bytes.clone();
        other[0] += 1;
        assert!(TextFeatures::from_bytes(TEXT, &other).is_none());
        for end in 0..bytes.len() {
            assert!(TextFeatures::from_bytes(TEXT, &bytes[..end]).is_none(), "{end}");
        }
    }

    proptest! {
        #[test]
        fn serialised_features_round_trip(text in "(?s)([a-zß漢#|`\\-:. \n]{0,12}){0,20}") {
            let features = TextFeatures::new(&text, &Encoding::O200k);
            let again = TextFeatures::from_bytes(&text, &features.to_bytes());
            prop_assert_eq!(again, Some(features));
        }

        /// Corrupt bytes give either usable features or none.
        #[test]
        fn corrupt_bytes_never_panic(at in 0_usize..400, byte: u8, more in prop::collection::vec(any::<u8>(), 0..4)) {
            let mut bytes = TextFeatures::new(TEXT, &Encoding::O200k).to_bytes();
            let at = at % bytes.len();
            bytes.splice(at..=at, std::iter::once(byte).chain(more));
            if let Some(features) = TextFeatures::from_bytes(TEXT, &bytes) {
                for (number, block) in features.blocks().iter().enumerate() {
                    prop_assert!(block.under.is_none_or(|under| under < number));
                    let _ = (features.pieces_of(number), &TEXT[block.range.clone()]);
                    let counted = features.counted_of(number);
                    prop_assert!(counted.is_none_or(|part| TEXT.is_char_boundary(part.range.end)));
                }
            }
        }
    }
}
