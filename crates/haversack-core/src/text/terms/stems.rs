//! A cache of word stems, because most words of a text recur.

use rust_stemmers::Stemmer;

use super::language::Language;

/// More slots would make the cache slower than the stemmer.
const SLOTS_MAX: usize = 2_048;

/// The stemmers of one language with a direct-mapped cache.
pub(super) struct Stems {
    language: Language,
    /// For words with letters beyond ASCII, and for ASCII words.
    stemmers: [Option<Stemmer>; 2],
    slots: Vec<StemSlot>,
}

#[derive(Debug, Clone, Default)]
struct StemSlot {
    word: String,
    /// Empty for a stop word.
    stem: String,
}

impl Stems {
    /// Stems for a text of `text_bytes`; a short text gets a small memory.
    pub(super) fn new(language: Language, text_bytes: usize) -> Stems {
        let n_slots = (text_bytes / 16).clamp(8, SLOTS_MAX).next_power_of_two();
        let stemmers = [false, true].map(|ascii| language.for_word(ascii).stemmer());
        Stems { language, stemmers, slots: vec![StemSlot::default(); n_slots] }
    }

    /// The stem of a lower-case word, or `None` for a stop word and for no word at all.
    pub(super) fn of(&mut self, word: &str, ascii: bool) -> Option<&str> {
        let mask = self.slots.len() - 1;
        let slot = &mut self.slots[slot_of(word) & mask];
        if slot.word != word {
            slot.word.clear();
            slot.word.push_str(word);
            slot.stem.clear();
            if !self.language.for_word(ascii).stop_words().contains(word) {
                match &self.stemmers[usize::from(ascii)] {
                    // A stemmer would take `v2s` for a plural.
                    Some(stemmer) if !word.contains(|c: char| c.is_ascii_digit()) => {
                        slot.stem.push_str(&stemmer.stem(word));
                    }
                    _ => {}
                }
                if slot.stem.is_empty() {
                    slot.stem.push_str(word);
                }
            }
        }
        (!slot.stem.is_empty()).then_some(slot.stem.as_str())
    }
}

/// FNV-1a, folded: short words need no better hash.
fn slot_of(word: &str) -> usize {
    let hash = word
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 15)) as usize
}
