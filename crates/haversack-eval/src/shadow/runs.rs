//! Finds the words of one text in another: in runs, so that single common words count for nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// The fewest words in sequence that count as the same text; shorter texts must match as a whole.
pub(crate) const RUN_WORDS_MIN: usize = 6;

/// The words of a passage that is counted as repeated when it stood in the text before.
const REPEAT_WORDS: usize = 8;

/// Most places of one run that are followed.
const PLACES_MAX: usize = 16;

/// A word: the hash of its letters in lower case, and its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Word {
    hash: u64,
    start: usize,
    end: usize,
}

/// A text with its words.
#[derive(Debug, Clone, Default)]
pub(crate) struct WordText {
    text: String,
    words: Vec<Word>,
}

impl WordText {
    pub(crate) fn new(text: String) -> WordText {
        let mut words = Vec::new();
        let mut open: Option<Word> = None;
        for (at, letter) in text.char_indices() {
            let end = at + letter.len_utf8();
            if !letter.is_alphanumeric() || is_word_alone(letter) {
                words.extend(open.take());
            }
            if letter.is_alphanumeric() {
                let word = open.get_or_insert(Word { hash: FNV_START, start: at, end });
                word.end = end;
                word.hash = letter.to_lowercase().fold(word.hash, |hash, letter| {
                    u32::from(letter).to_le_bytes().into_iter().fold(hash, fnv)
                });
                if is_word_alone(letter) {
                    words.extend(open.take());
                }
            }
        }
        words.extend(open);
        WordText { text, words }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of words.
    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// The numbers of the words in a range of bytes.
    pub(crate) fn words_in(&self, bytes: &Range<usize>) -> Range<usize> {
        let first = self.words.partition_point(|word| word.start < bytes.start);
        let end = self.words.partition_point(|word| word.start < bytes.end);
        first..end.max(first)
    }

    /// The bytes from one word to another; empty for no words.
    pub(crate) fn bytes_of(&self, words: &Range<usize>) -> Range<usize> {
        match (self.words.get(words.start), words.end.checked_sub(1)) {
            (Some(first), Some(last)) if !words.is_empty() => {
                first.start..self.words.get(last).map_or(first.end, |word| word.end)
            }
            _ => 0..0,
        }
    }

    /// Words as a query without operators: separated by spaces, nothing else.
    pub(crate) fn query(&self, words: Range<usize>) -> String {
        let words = self.words.get(words).unwrap_or_default().iter();
        let texts: Vec<&str> = words.map(|word| &self.text[word.start..word.end]).collect();
        texts.join(" ")
    }

    /// The share of its words in passages that it had before; 0 without words.
    pub(crate) fn repeated_share(&self) -> f64 {
        let mut seen = HashSet::new();
        let mut repeated = vec![false; self.len()];
        for at in 0..(self.len() + 1).saturating_sub(REPEAT_WORDS) {
            if !seen.insert(self.run_hash(at, REPEAT_WORDS)) {
                repeated[at..at + REPEAT_WORDS].fill(true);
            }
        }
        share(repeated.iter().filter(|is| **is).count(), self.len())
    }

    /// The hash of a number of words from one on.
    fn run_hash(&self, at: usize, count: usize) -> u64 {
        let words = self.words[at..at + count].iter();
        words.fold(FNV_START, |hash, word| word.hash.to_le_bytes().into_iter().fold(hash, fnv))
    }

    /// How many words are the same from one on in both.
    fn same_words(&self, at: usize, other: &WordText, place: usize) -> usize {
        let both = self.words[at..].iter().zip(&other.words[place..]);
        both.take_while(|(own, other)| own.hash == other.hash).count()
    }
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

const fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ byte as u64).wrapping_mul(0x0100_0000_01b3)
}

/// Whether a letter is a word of its own: scripts without spaces between words.
const fn is_word_alone(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// The share of a part; 0 of nothing.
pub(crate) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// What a document and a text have in common.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Alignment {
    /// The bytes of the document, sorted and disjoint.
    pub(crate) document_bytes: Vec<Range<usize>>,
    /// The number of words of the document.
    pub(crate) document_words: usize,
    /// The words of the text, by number; ranges may overlap.
    pub(crate) text_words: Vec<Range<usize>>,
}

/// The runs of a text by their hash, ready to be compared with many documents.
#[derive(Debug)]
pub(crate) struct RunIndex<'t> {
    text: &'t WordText,
    /// By the number of words of a run.
    places: BTreeMap<usize, HashMap<u64, Vec<usize>>>,
}

impl<'t> RunIndex<'t> {
    pub(crate) const fn new(text: &'t WordText) -> RunIndex<'t> {
        RunIndex { text, places: BTreeMap::new() }
    }

    /// The runs of words that stand both in a document and in the text.
    ///
    /// A single word is never a run, so documents of one word match nothing.
    pub(crate) fn align(&mut self, document: &WordText) -> Alignment {
        let mut found = Alignment::default();
        let least = RUN_WORDS_MIN.min(document.len()).min(self.text.len());
        if least < 2 {
            return found;
        }
        let text = self.text;
        let places = self.places.entry(least).or_insert_with(|| places(text, least));
        let mut at = 0;
        while at + least <= document.len() {
            let (mut longest, mut longest_place) = (0, 0);
            for &place in places.get(&document.run_hash(at, least)).into_iter().flatten() {
                let run = document.same_words(at, text, place);
                if run >= least {
                    found.text_words.push(place..place + run);
                }
                if run > longest {
                    (longest, longest_place) = (run, place);
                }
            }
            if longest < least {
                at += 1;
                continue;
            }
            let run = (at..at + longest, longest_place..longest_place + longest);
            found.add(whole_run((document, &run.0), (text, &run.1)));
            found.document_words += longest;
            at += longest;
        }
        found
    }
}

fn places(text: &WordText, count: usize) -> HashMap<u64, Vec<usize>> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for at in 0..=text.len() - count {
        let own = places.entry(text.run_hash(at, count)).or_default();
        if own.len() < PLACES_MAX {
            own.push(at);
        }
    }
    places
}

impl Alignment {
    fn add(&mut self, bytes: Range<usize>) {
        match self.document_bytes.last_mut() {
            Some(last) if bytes.start <= last.end => last.end = last.end.max(bytes.end),
            _ => self.document_bytes.push(bytes),
        }
    }
}

/// The bytes of a run in a document, with the punctuation around it that the text has, too.
fn whole_run(
    (document, own): (&WordText, &Range<usize>),
    (text, other): (&WordText, &Range<usize>),
) -> Range<usize> {
    let (bytes, in_text) = (document.bytes_of(own), text.bytes_of(other));
    let before = document.text[..bytes.start].char_indices().rev();
    let same = same_marks(before, text.text[..in_text.start].chars().rev());
    let start = same.map_or(bytes.start, |(at, _)| at);
    let after = document.text[bytes.end..].char_indices();
    let same = same_marks(after, text.text[in_text.end..].chars());
    let end = same.map_or(bytes.end, |(at, mark)| bytes.end + at + mark.len_utf8());
    start..end
}

/// The last of the marks that two texts have in common before the next word, white space aside.
fn same_marks(
    document: impl Iterator<Item = (usize, char)>,
    text: impl Iterator<Item = char>,
) -> Option<(usize, char)> {
    let marks = document.filter(|(_, mark)| !mark.is_whitespace());
    let marks = marks.zip(text.filter(|mark| !mark.is_whitespace()));
    let same = marks.take_while(|((_, own), other)| own == other && !own.is_alphanumeric());
    same.map(|(own, _)| own).last()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str =
        "# Launch\n\nThe launch of the new map is on the third of May. Anna decides.\n";

    /// The parts of a document that stand in a text, and how many words of the text are covered.
    fn check(document: &str, text: &str, parts: &[&str], words: usize) {
        let (document, text) = (WordText::new(document.to_owned()), WordText::new(text.to_owned()));
        let found = RunIndex::new(&text).align(&document);
        let own = found.document_bytes.iter().map(|bytes| &document.text()[bytes.clone()]);
        assert_eq!(own.collect::<Vec<_>>(), parts, "{:?}", text.text());
        let mut covered = vec![false; text.len()];
        found.text_words.into_iter().for_each(|run| covered[run].fill(true));
        assert_eq!(covered.into_iter().filter(|is| *is).count(), words, "{:?}", text.text());
    }

    #[test]
    fn runs_are_found_whatever_the_white_space_and_marks_between_words() {
        let sentence = "The launch of the new map is on the third of May.";
        check(DOCUMENT, sentence, &[sentence], 12);
        check(
            DOCUMENT,
            "so: THE **launch** of\nthe new map -- is it?",
            &["The launch of the new map is"],
            7,
        );
        // Marks count where both have them.
        check(DOCUMENT, "is on the third of May", &["is on the third of May"], 6);
        check(
            DOCUMENT,
            "# Launch The launch of the new",
            &["# Launch\n\nThe launch of the new"],
            6,
        );
    }

    #[test]
    fn a_few_common_words_are_no_run() {
        check(DOCUMENT, "The launch of the new moon is on the first of May.", &[], 0);
        check(DOCUMENT, "", &[], 0);
        check("yes", "yes, this is the text that says yes", &[], 0);
    }

    #[test]
    fn short_texts_match_as_a_whole() {
        check("Soup on Mondays", "We have rice, soup on Mondays, and tea", &["Soup on Mondays"], 3);
        check("Soup on Mondays", "Soup on Fridays", &[], 0);
        check(DOCUMENT, "Anna decides.", &["Anna decides."], 2);
    }

    #[test]
    fn every_copy_in_the_text_is_covered() {
        let twice = "the new map is on the third, the new map is on the third";
        check(DOCUMENT, twice, &["the new map is on the third"], 14);
        assert!((WordText::new(twice.to_owned()).repeated_share() - 0.0).abs() < 1e-9);
        let twice = "a b c d e f g h. A b c d e f g h!".to_owned();
        assert!((WordText::new(twice).repeated_share() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn scripts_without_spaces_have_words_too() {
        check(
            "我们在五月三日发布新地图。",
            "发布会：在五月三日发布新地图。",
            &["在五月三日发布新地图。"],
            10,
        );
    }
}
