//! What was read of a text: where its sentences end, which words they have, how many tokens they
//! are. The same texts are found again and again, so what was read is remembered.

use std::ops::Range;
use std::sync::Arc;

use haversack_core::text::boundary::sentences;
use haversack_core::text::terms::{Language, TermsOfMany};
use haversack_core::text::tokenizer::{Counted, Tokenizer};
use moka::sync::Cache;

/// How many bytes of readings are remembered: some thirty thousand texts of 200 tokens.
const BYTES_MAX: u64 = 48 << 20;

/// Shorter sentences are no sense of their own and go with the next.
const BYTES_LEAST: usize = 60;

/// A longer sentence of many short parts is a list, such as of a product's properties, and some of
/// its entries will do. Prose has longer parts between its semicolons.
const LIST_BYTES_LEAST: usize = 240;
const ENTRY_BYTES_MAX: usize = 60;
const ENTRY_END: &str = "; ";

/// What was read of a text. It depends on nothing but the text, the language and the tokenizer.
#[derive(Debug)]
pub(crate) struct Reading {
    /// In order, without gaps.
    pub(super) sentences: Vec<SentenceRead>,
    /// The words of all sentences, one after another.
    words: Vec<Word>,
    /// What was counted, in order.
    pub(super) counted: Arc<[Counted]>,
}

/// A sentence and which of the words are its own.
#[derive(Debug)]
pub(super) struct SentenceRead {
    pub(super) range: Range<usize>,
    words: Range<usize>,
}

/// A term as a number: equal terms are equal numbers, and unequal ones as good as never.
pub(super) type Word = u64;

impl Reading {
    pub(super) fn words(&self, sentence: &SentenceRead) -> &[Word] {
        &self.words[sentence.words.clone()]
    }

    fn bytes(&self) -> usize {
        size_of::<Reading>()
            + size_of_val(&*self.sentences)
            + size_of_val(&*self.words)
            + size_of_val(&*self.counted)
    }
}

/// The readings of an engine.
#[derive(Debug, Clone)]
pub(crate) struct Readings {
    known: Cache<[u8; 32], Arc<Reading>>,
}

impl Default for Readings {
    fn default() -> Readings {
        let bytes = |_: &[u8; 32], reading: &Arc<Reading>| {
            u32::try_from(reading.bytes()).unwrap_or(u32::MAX)
        };
        let known = Cache::builder().max_capacity(BYTES_MAX).weigher(bytes).build();
        Readings { known }
    }
}

/// Reads texts in one language for one tokenizer.
pub(super) struct Reader<'r> {
    readings: &'r Readings,
    terms: TermsOfMany,
    tokenizer: &'r dyn Tokenizer,
    /// What all its keys begin with.
    key: blake3::Hasher,
}

impl<'r> Reader<'r> {
    pub(super) fn new(
        readings: &'r Readings,
        language: Language,
        tokenizer: &'r dyn Tokenizer,
    ) -> Reader<'r> {
        let mut key = blake3::Hasher::new();
        key.update(language.code().as_bytes());
        key.update(&[0]);
        key.update(tokenizer.name().as_bytes());
        key.update(&[0]);
        Reader { readings, terms: TermsOfMany::new(language), tokenizer, key }
    }

    /// What is known of a text, read now if it is new.
    pub(super) fn read(&mut self, text: &str) -> Arc<Reading> {
        let key = *self.key.clone().update(text.as_bytes()).finalize().as_bytes();
        if let Some(reading) = self.readings.known.get(&key) {
            return reading;
        }
        let reading = Arc::new(self.reading(text));
        self.readings.known.insert(key, Arc::clone(&reading));
        reading
    }

    fn reading(&mut self, text: &str) -> Reading {
        let mut words = Vec::with_capacity(text.len() / 8);
        let (mut sentences, mut counted) = (Vec::new(), Vec::new());
        for range in ranges(text) {
            let first = words.len();
            let sentence = text[range.clone()].trim_end();
            self.terms.each(sentence, |term| words.push(word(term)));
            let part = range.start..range.start + sentence.len();
            counted.extend(Counted::of(self.tokenizer, text, part));
            sentences.push(SentenceRead { range, words: first..words.len() });
        }
        Reading { sentences, words, counted: counted.into() }
    }

    /// The words of a text that is not worth remembering.
    pub(super) fn words(&mut self, text: &str, mut visit: impl FnMut(Word)) {
        self.terms.each(text, |term| visit(word(term)));
    }
}

/// The sentences of a text, short ones with the next, long lists by their entries.
fn ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    let mut add = |end: usize| {
        if end - start >= BYTES_LEAST || (end == text.len() && end > start) {
            ranges.push(start..end);
            start = end;
        }
    };
    for range in sentences(text) {
        let entries = text[range.clone()].match_indices(ENTRY_END);
        if range.len() > LIST_BYTES_LEAST && entries.clone().count() * ENTRY_BYTES_MAX > range.len()
        {
            entries.for_each(|(at, end)| add(range.start + at + end.len()));
        }
        add(range.end);
    }
    if ranges.len() > 1
        && let Some(last) = ranges.pop_if(|last| last.len() < BYTES_LEAST)
        && let Some(before) = ranges.last_mut()
    {
        before.end = last.end;
    }
    ranges
}

/// FNV-1a over 64 bits. Whoever makes two words agree has only made a sentence look better than it
/// is, which they could have had by writing the word.
pub(super) fn word(term: &str) -> Word {
    term.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use haversack_core::text::tokenizer::Encoding;

    use super::*;

    const TEXT: &str = "The ladder is kept in the cellar, right behind the green wooden door. \
                        Ask Anna for the key. Nobody else has one, as far as anybody knows here.";

    #[test]
    fn a_text_is_read_once_for_each_language_and_tokenizer() {
        let readings = Readings::default();
        let read = |language, tokenizer: &dyn Tokenizer, text: &str| {
            Reader::new(&readings, language, tokenizer).read(text)
        };
        let first = read(Language::English, &Encoding::O200k, TEXT);
        assert!(Arc::ptr_eq(&first, &read(Language::English, &Encoding::O200k, TEXT)));
        for other in [
            read(Language::German, &Encoding::O200k, TEXT),
            read(Language::English, &Encoding::Cl100k, TEXT),
            read(Language::English, &Encoding::O200k, &TEXT[1..]),
        ] {
            assert!(!Arc::ptr_eq(&first, &other));
        }
    }

    #[test]
    fn sentences_cover_the_text_and_have_their_own_words_and_sizes() {
        let readings = Readings::default();
        let reading = Reader::new(&readings, Language::English, &Encoding::O200k).read(TEXT);
        let texts: Vec<&str> =
            reading.sentences.iter().map(|sentence| &TEXT[sentence.range.clone()]).collect();
        assert_eq!(texts.concat(), TEXT);
        // What is too short for a sentence goes with the next.
        assert!(texts.len() == 2 && texts[1].starts_with("Ask Anna"), "{texts:?}");
        let has = |sentence: usize, term: &str| {
            reading.words(&reading.sentences[sentence]).contains(&word(term))
        };
        assert!(has(0, "ladder") && !has(1, "ladder") && has(1, "anna"));
        for part in &*reading.counted {
            assert_eq!(part.units, Encoding::O200k.units(&TEXT[part.range.clone()]));
        }
        assert!(!reading.counted.is_empty());
    }

    #[test]
    fn long_lists_are_read_by_their_entries_and_prose_is_not() {
        let check = |text: &str, expected: usize| {
            let found = ranges(text);
            let whole: String = found.iter().map(|range| &text[range.clone()]).collect();
            assert_eq!((found.len(), whole.as_str()), (expected, text));
        };
        let list = "A set of speakers for a desk\ncolour: black; power: 40 watts; ";
        check(&list.repeat(8), 8);
        check(list, 1);
        let clause = "what he said there was of no use to anybody who had come to hear it; ";
        check(&clause.repeat(8), 1);
        check("", 0);
    }
}
