//! Shingles: the overlapping pieces by which two texts are compared.

use crate::text::terms::{is_unspaced, is_word};

/// Words of a shingle.
const WORDS: usize = 3;

/// Characters of a shingle, where words are few or not marked.
const CHARACTERS: usize = 5;

/// With fewer words than this, words say too little.
const WORDS_MIN: usize = 5;

/// A text without spaces between words is long enough to be contained from here.
const CONTAINABLE_CHARACTERS_MIN: usize = 12;

/// The rank of a shingle that only one text has.
pub(super) const UNSHARED: u32 = u32::MAX;

/// The shingles of one text, as hashes.
#[derive(Debug)]
pub(super) struct Shingles {
    /// In order of the text, repeats included. Empty for an empty text only.
    pub(super) hashes: Vec<u64>,
    /// Long enough to be called contained in another text.
    pub(super) containable: bool,
}

impl Shingles {
    /// Three-word shingles, or five-character shingles for texts of less than five words and for
    /// texts mostly in a script without spaces. `normal` is normalised text.
    pub(super) fn from_text(normal: &str) -> Shingles {
        let words = WordHashes::from_text(normal);
        let by_words = words.hashes.len() >= WORDS_MIN && words.n_unspaced * 2 < words.hashes.len();
        let hashes: Vec<u64> = if by_words {
            words.hashes.windows(WORDS).map(|words| words.iter().fold(1, mix)).collect()
        } else {
            character_shingles(normal)
        };
        let containable = by_words || words.n_unspaced >= CONTAINABLE_CHARACTERS_MIN;
        Shingles { hashes, containable }
    }
}

fn character_shingles(normal: &str) -> Vec<u64> {
    let characters: Vec<u64> = normal.chars().map(|c| u64::from(u32::from(c))).collect();
    if characters.is_empty() {
        return Vec::new();
    }
    let size = CHARACTERS.min(characters.len());
    characters.windows(size).map(|characters| characters.iter().fold(2, mix)).collect()
}

/// Hashes of the words of a text in order; a character of a script without spaces is a word.
struct WordHashes {
    hashes: Vec<u64>,
    n_unspaced: usize,
}

impl WordHashes {
    fn from_text(normal: &str) -> WordHashes {
        let hashes = Vec::with_capacity(normal.len() / 5);
        let words = WordHashes { hashes, n_unspaced: 0 };
        if normal.is_ascii() {
            words.read(normal.bytes().map(char::from))
        } else {
            words.read(normal.chars())
        }
    }

    fn read(self, characters: impl Iterator<Item = char>) -> WordHashes {
        let mut words = self;
        let mut word = None;
        for c in characters {
            if is_word(c) {
                let code = u64::from(u32::from(c));
                if is_unspaced(c) {
                    words.hashes.extend(word.take());
                    words.hashes.push(mix(3, &code));
                    words.n_unspaced += 1;
                } else {
                    // FNV-1a over characters; `mix` spreads it when shingles are made.
                    let hash = word.unwrap_or(0xcbf2_9ce4_8422_2325_u64);
                    word = Some((hash ^ code).wrapping_mul(0x0100_0000_01b3));
                }
            } else {
                words.hashes.extend(word.take());
            }
        }
        words.hashes.extend(word);
        words
    }
}

/// Adds one value to a hash so that every bit depends on every bit (the finaliser of splitmix64).
pub(super) const fn mix(hash: u64, value: &u64) -> u64 {
    let mut z = hash.rotate_left(23).wrapping_add(*value).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Numbers shingles from 0 in order of appearance and counts the texts that hold each.
///
/// An open table of its own: the standard map's order must not reach core, and a tree is too slow.
/// Nothing ever walks the slots, so their order shows nowhere.
#[derive(Debug, Default)]
pub(super) struct ShingleIds {
    /// A number plus one, or zero for a free slot. The length is a power of two.
    slots: Vec<u32>,
    hashes: Vec<u64>,
    counts: Vec<u32>,
    /// The last text that held the shingle, counted from one.
    texts: Vec<u32>,
    n_texts: u32,
}

impl ShingleIds {
    /// Room for the shingles of so many bytes of text.
    pub(super) fn for_bytes(text_bytes: usize) -> ShingleIds {
        let n_slots = (text_bytes / 4).clamp(1_024, 1 << 24).next_power_of_two();
        ShingleIds { slots: vec![0; n_slots], ..ShingleIds::default() }
    }

    /// What is counted from here on belongs to another text.
    pub(super) fn begin_text(&mut self) {
        self.n_texts += 1;
    }

    /// The number of a shingle, or `None` when the text was counted for it already.
    pub(super) fn count_up(&mut self, hash: u64) -> Option<u32> {
        if self.hashes.len() * 3 >= self.slots.len() * 2 {
            self.grow();
        }
        let slot = self.slot(hash);
        if self.slots[slot] == 0 {
            self.hashes.push(hash);
            self.counts.push(0);
            self.texts.push(0);
            self.slots[slot] =
                u32::try_from(self.hashes.len()).expect("memory ends before 2^32 shingles");
        }
        let id = self.slots[slot] - 1;
        let last_text = &mut self.texts[id as usize];
        if *last_text == self.n_texts {
            return None;
        }
        *last_text = self.n_texts;
        self.counts[id as usize] += 1;
        Some(id)
    }

    /// How many shingles are in more than one text.
    pub(super) fn n_shared(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 1).count()
    }

    /// For each number the shingle's place among the shared ones, the rarest first, or
    /// [`UNSHARED`].
    pub(super) fn ranks(&self) -> Vec<u32> {
        let count_max = self.counts.iter().max().map_or(0, |&count| count as usize);
        let mut next = vec![0_u32; count_max + 2];
        for &count in self.counts.iter().filter(|&&count| count > 1) {
            next[count as usize + 1] += 1;
        }
        for count in 1..next.len() {
            next[count] += next[count - 1];
        }
        let rank = |&count: &u32| {
            if count < 2 {
                return UNSHARED;
            }
            let next = &mut next[count as usize];
            *next += 1;
            *next - 1
        };
        self.counts.iter().map(rank).collect()
    }

    /// The slot of a hash, or the free slot for it.
    fn slot(&self, hash: u64) -> usize {
        let mask = self.slots.len() - 1;
        #[expect(clippy::cast_possible_truncation, reason = "the mask takes the low bits anyway")]
        let mut slot = hash as usize & mask;
        while self.slots[slot] != 0 && self.hashes[self.slots[slot] as usize - 1] != hash {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![0; self.slots.len() * 4];
        for (number, &hash) in (1..).zip(&self.hashes) {
            let slot = self.slot(hash);
            self.slots[slot] = number;
        }
    }
}
