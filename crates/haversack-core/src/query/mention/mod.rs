//! Finds mentions of known names in a text: whole words, any case, small misspellings (P9).
//!
//! Only letters and digits are compared, so "Sales Force", "sales-force" and "Salesforce" are the
//! same. Names are sorted once; a text is then read word by word.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::ids::ItemId;
use crate::text::terms::{Language, is_unspaced, is_word};
use crate::units::Span;

/// Shorter names must be split into words as given.
const VARIANT_CHARACTERS_MIN: usize = 5;

/// Maximum length of a name. The search tries as many consecutive words as the longest name has, so
/// a page-long name would make it quadratic.
const NAME_BYTES_MAX: usize = 200;
const NAME_WORDS_MAX: usize = 16;

/// Maximum edit distance between a mention and the name.
const EDITS_MAX: usize = 2;

/// Inflectional endings of names.
const ENDINGS: [&str; 5] = ["s", "es", "n", "en", "er"];

/// An item and its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The item.
    pub id: ItemId,
    /// Its name and aliases. Those without a letter or digit, of more than 200 bytes or of more
    /// than 16 words are never found.
    pub names: Vec<String>,
}

/// A mention of an item in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// The item.
    pub id: ItemId,
    /// The matching name, as given.
    pub name: String,
    /// The matched text.
    pub matched: String,
    /// Its span.
    pub span: Span,
    /// The edit distance: 0 for an exact match.
    pub distance: usize,
}

/// The distinct ids of mentions, exact matches before misspelt ones, then in text order.
#[must_use]
pub fn ids(mentions: &[Mention]) -> Vec<ItemId> {
    let mut best: Vec<&Mention> = mentions.iter().collect();
    best.sort_by_key(|mention| (mention.distance, mention.span, &mention.id));
    let mut seen = BTreeSet::new();
    best.into_iter().filter(|mention| seen.insert(&mention.id)).map(|m| m.id.clone()).collect()
}

/// An index of names, for finding mentions in texts.
#[derive(Debug, Clone)]
pub struct Mentions {
    /// Sorted by key, then id, then name.
    entries: Vec<NameEntry>,
    /// Places in `entries` by first character and number of characters of the key.
    by_shape: BTreeMap<(char, usize), Vec<usize>>,
    /// The most characters of a key, by its first one: most words of a text begin no name at all.
    longest: BTreeMap<char, usize>,
    words_max: usize,
}

/// One name of one item.
#[derive(Debug, Clone)]
struct NameEntry {
    /// Its words, lower-cased and joined.
    key: String,
    n_characters: usize,
    /// One bit per kind of character.
    letters: u64,
    words: Vec<String>,
    id: ItemId,
    name: String,
}

/// A text and its words.
struct MentionText<'t> {
    text: &'t str,
    /// The words, lower-cased, without anything between them.
    lowered: String,
    words: Vec<TextWord>,
    /// Detected on first use: most texts contain nothing like a name.
    language: OnceCell<Language>,
}

/// A word of a text.
struct TextWord {
    /// Its range in the text.
    start: usize,
    end: usize,
    /// Its range in the lower-cased words.
    lowered: Range<usize>,
    /// Only spaces, a hyphen, an apostrophe or the like before it, since the word before.
    joins: bool,
}

/// Words of a text that follow each other.
struct WordWindow<'w> {
    of: &'w MentionText<'w>,
    words: &'w [TextWord],
}

impl<'w> WordWindow<'w> {
    /// The words, lower-cased and joined.
    fn key(&self) -> &'w str {
        let start = self.words.first().map_or(0, |word| word.lowered.start);
        let end = self.words.last().map_or(start, |word| word.lowered.end);
        &self.of.lowered[start..end]
    }

    /// Each word, lower-cased.
    fn lowered(&self) -> impl Iterator<Item = &'w str> {
        self.words.iter().map(|word| &self.of.lowered[word.lowered.clone()])
    }

    fn is_stop(&self, lowered: &str) -> bool {
        let language = self.of.language.get_or_init(|| Language::detect(self.of.text));
        language.is_stop_word(lowered)
    }

    fn hit(&self, distance: usize, entry: usize) -> MentionHit {
        let start = self.words.first().map_or(0, |word| word.start);
        let end = self.words.last().map_or(start, |word| word.end);
        MentionHit { start, end, distance, is_inflected: false, entry }
    }
}

/// A possible mention: an entry and the bytes it covers.
struct MentionHit {
    start: usize,
    end: usize,
    distance: usize,
    /// Whether it differs by an ending alone, which is not a misspelling.
    is_inflected: bool,
    entry: usize,
}

impl Mentions {
    /// Prepares names. Their order makes no difference.
    #[must_use]
    pub fn new(names: &[Name]) -> Mentions {
        let mut entries: Vec<NameEntry> = names
            .iter()
            .flat_map(|name| name.names.iter().filter_map(|alias| NameEntry::new(&name.id, alias)))
            .collect();
        entries.sort_by(|a, b| (&a.key, &a.id, &a.name).cmp(&(&b.key, &b.id, &b.name)));
        entries.dedup_by(|b, a| a.key == b.key && a.id == b.id);
        let mut by_shape: BTreeMap<(char, usize), Vec<usize>> = BTreeMap::new();
        for (index, entry) in entries.iter().enumerate() {
            if let Some(first) = entry.key.chars().next() {
                by_shape.entry((first, entry.n_characters)).or_default().push(index);
            }
        }
        // The longest of a character comes last.
        let longest = by_shape.keys().copied().collect();
        let words_max = entries.iter().map(|entry| entry.words.len()).max().unwrap_or(0);
        Mentions { entries, by_shape, longest, words_max }
    }

    /// The mentions of a text in order of their place.
    ///
    /// Names of 5 to 8 characters may differ by one letter, longer ones by two; a swap of two
    /// neighbours counts once, and the first letter must agree or be swapped with the second. An
    /// ending (`-s`, `-es`, `-n`, `-en`, `-er`) counts as one letter. A stop word is never taken
    /// for a misspelling. A misspelling is left out where the text mentions the item exactly
    /// elsewhere, or where it overlaps a better match; so is a name that lies inside a longer one.
    #[must_use]
    pub fn find(&self, text: &str) -> Vec<Mention> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        let read = MentionText::new(text);
        let mut hits = self.unspaced_hits(text);
        for first in 0..read.words.len() {
            self.hits_from(&read, first, &mut hits);
        }
        self.without_overlaps(hits)
            .into_iter()
            .filter_map(|hit| {
                let entry = &self.entries[hit.entry];
                let span = Span::within(text, hit.start..hit.end)?;
                Some(Mention {
                    id: entry.id.clone(),
                    name: entry.name.clone(),
                    matched: text[hit.start..hit.end].to_owned(),
                    span,
                    distance: hit.distance,
                })
            })
            .collect()
    }

    /// All entries with exactly this key.
    fn exact(&self, key: &str) -> std::ops::Range<usize> {
        let start = self.entries.partition_point(|entry| entry.key.as_str() < key);
        let length = self.entries[start..].partition_point(|entry| entry.key == key);
        start..start + length
    }

    /// The names that begin at one of the words.
    fn hits_from(&self, text: &MentionText<'_>, first: usize, hits: &mut Vec<MentionHit>) {
        let words = &text.words[first..];
        let longest = self.longest_from(&text.lowered[words[0].lowered.start..]);
        // One word more than any name has, for names that are written in two.
        for (index, word) in words.iter().take(self.words_max + 1).enumerate() {
            let window = WordWindow { of: text, words: &words[..=index] };
            let key = window.key();
            // A character has at most four bytes.
            if index > 0 && !word.joins || key.len() > (longest + EDITS_MAX) * 4 {
                break;
            }
            let n_characters = key.chars().count();
            if n_characters > longest + EDITS_MAX {
                break;
            }
            let mut found = false;
            for entry in self.exact(key) {
                if self.entries[entry].is_spelt(&window) {
                    hits.push(window.hit(0, entry));
                    found = true;
                }
            }
            if !found {
                self.inflected(key, &window, hits);
                self.misspelt(key, n_characters, &window, hits);
            }
        }
    }

    /// The most characters of a name that can begin as `lowered` does, spelt right or wrong.
    fn longest_from(&self, lowered: &str) -> usize {
        let mut characters = lowered.chars();
        let (first, second) = (characters.next(), characters.next());
        let of = |initial: Option<char>| self.longest.get(&initial?).copied();
        of(first).max(of(second)).unwrap_or(0)
    }

    fn misspelt(
        &self,
        key: &str,
        n_characters: usize,
        window: &WordWindow<'_>,
        hits: &mut Vec<MentionHit>,
    ) {
        let mut first_two = key.chars();
        let (Some(first), Some(second)) = (first_two.next(), first_two.next()) else { return };
        let letters = letters_of(key);
        let shortest = n_characters.saturating_sub(EDITS_MAX).max(VARIANT_CHARACTERS_MIN);
        let longest = (n_characters + EDITS_MAX).max(shortest);
        let swapped = (second != first).then_some(second);
        for initial in [Some(first), swapped].into_iter().flatten() {
            let alike = self.by_shape.range((initial, shortest)..=(initial, longest));
            for (&(_, length), entries) in alike {
                let allowed = edits_allowed(length);
                if length.abs_diff(n_characters) > allowed {
                    continue;
                }
                for &index in entries {
                    let entry = &self.entries[index];
                    let swap_agrees = initial == first || entry.key.chars().nth(1) == Some(first);
                    // Each edit changes the kinds of letters by at most two.
                    let letters_agree =
                        (entry.letters ^ letters).count_ones() as usize <= allowed * 2;
                    if !swap_agrees || !letters_agree || !entry.may_be_misspelt_as(window) {
                        continue;
                    }
                    let distance = strsim::osa_distance(key, &entry.key);
                    if (1..=allowed).contains(&distance) {
                        hits.push(window.hit(distance, index));
                    }
                }
            }
        }
    }

    /// Names whose last word has an ending of the language around it: "Osterfelds Angebot", "an den
    /// Saltlocken".
    fn inflected(&self, key: &str, window: &WordWindow<'_>, hits: &mut Vec<MentionHit>) {
        for stem in ENDINGS.iter().filter_map(|ending| key.strip_suffix(ending)) {
            if stem.chars().count() < VARIANT_CHARACTERS_MIN {
                continue;
            }
            for entry in self.exact(stem) {
                if self.entries[entry].may_be_misspelt_as(window) {
                    hits.push(MentionHit { is_inflected: true, ..window.hit(1, entry) });
                }
            }
        }
    }

    /// Names in scripts without spaces have no word borders: they are found anywhere.
    fn unspaced_hits(&self, text: &str) -> Vec<MentionHit> {
        let mut hits = Vec::new();
        for (start, first) in text.char_indices().filter(|&(_, c)| is_unspaced(c)) {
            for entries in self.by_shape.range((first, 2)..=(first, usize::MAX)).map(|row| row.1) {
                for &entry in entries {
                    let key = &self.entries[entry].key;
                    if text[start..].starts_with(key.as_str()) {
                        let end = start + key.len();
                        hits.push(MentionHit {
                            start,
                            end,
                            distance: 0,
                            is_inflected: false,
                            entry,
                        });
                    }
                }
            }
        }
        hits
    }

    /// The hits that overlap no better one, in text order.
    fn without_overlaps(&self, mut hits: Vec<MentionHit>) -> Vec<MentionHit> {
        // Better first: fewer edits, then longer, then earlier.
        hits.sort_by_key(|hit| {
            let length = hit.end - hit.start;
            let misspelt = if hit.is_inflected { 0 } else { hit.distance };
            (misspelt, usize::MAX - length, hit.start, hit.entry)
        });
        let mut exact: BTreeSet<&ItemId> = BTreeSet::new();
        // Spans kept so far never overlap, so the one that starts last before an end decides.
        let mut spans: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
        let mut kept: Vec<MentionHit> = Vec::new();
        let mut placed: BTreeSet<(usize, usize, &ItemId)> = BTreeSet::new();
        for hit in hits {
            let id = &self.entries[hit.entry].id;
            let overlapped =
                spans.range(..hit.end).next_back().filter(|(_, (end, _))| *end > hit.start);
            let excluded = overlapped.is_some_and(|(&start, &(end, distance))| {
                // Several items may share one name; they share the place, too.
                (start, end, distance) != (hit.start, hit.end, hit.distance)
            });
            if excluded
                || (hit.distance > 0 && exact.contains(id))
                || !placed.insert((hit.start, hit.end, id))
            {
                continue;
            }
            if hit.distance == 0 {
                exact.insert(id);
            }
            spans.insert(hit.start, (hit.end, hit.distance));
            kept.push(hit);
        }
        kept.sort_by(|a, b| {
            let id = |hit: &MentionHit| &self.entries[hit.entry].id;
            (a.start, a.end, id(a)).cmp(&(b.start, b.end, id(b)))
        });
        kept
    }
}

impl NameEntry {
    fn new(id: &ItemId, name: &str) -> Option<NameEntry> {
        if name.len() > NAME_BYTES_MAX {
            return None;
        }
        let text = MentionText::new(name);
        let window = WordWindow { of: &text, words: &text.words };
        let words: Vec<String> = window.lowered().map(str::to_owned).collect();
        let key = window.key().to_owned();
        let (n_characters, letters) = (key.chars().count(), letters_of(&key));
        (n_characters > 0 && words.len() <= NAME_WORDS_MAX).then(|| NameEntry {
            key,
            n_characters,
            letters,
            words,
            id: id.clone(),
            name: name.to_owned(),
        })
    }

    /// Whether words with the name's letters are the name: split in the same way, or a plausible
    /// variant.
    fn is_spelt(&self, window: &WordWindow<'_>) -> bool {
        if window.lowered().eq(self.words.iter().map(String::as_str)) {
            return true;
        }
        // "In vision" is not InVision: a stop word is not part of a one-word name.
        let sound = |word: &str| word.chars().nth(1).is_some() && !window.is_stop(word);
        self.n_characters >= VARIANT_CHARACTERS_MIN
            && (window.words.len() == 1 || window.lowered().all(sound))
    }

    /// Whether words may be the name with an error: as many words, and no little word in the place
    /// of another.
    fn may_be_misspelt_as(&self, window: &WordWindow<'_>) -> bool {
        let may_stand = |(word, own): (&str, &String)| word == own || !window.is_stop(word);
        window.words.len() == self.words.len() && window.lowered().zip(&self.words).all(may_stand)
    }
}

const fn edits_allowed(n_characters: usize) -> usize {
    match n_characters {
        0..=4 => 0,
        5..=8 => 1,
        _ => EDITS_MAX,
    }
}

fn letters_of(key: &str) -> u64 {
    key.chars().fold(0, |letters, c| letters | 1 << (u32::from(c) % 64))
}

impl<'t> MentionText<'t> {
    /// Reads a text's words: letters and digits. Scripts without spaces give one word per run, and
    /// end the word of another script, so that "和Acme竞争" holds "acme".
    fn new(text: &'t str) -> MentionText<'t> {
        let mut lowered = String::with_capacity(text.len());
        let mut words: Vec<TextWord> = Vec::with_capacity(text.len() / 6);
        let mut at = 0;
        while let Some(length) = text[at..].find(is_word) {
            let start = at + length;
            let end = start + word_length(&text[start..]);
            let from = lowered.len();
            lower(&text[start..end], &mut lowered);
            let joins = !words.is_empty() && is_joint(&text[at..start]);
            words.push(TextWord { start, end, lowered: from..lowered.len(), joins });
            at = end;
        }
        MentionText { text, lowered, words, language: OnceCell::new() }
    }
}

/// Adds a word, lower-cased.
fn lower(word: &str, lowered: &mut String) {
    let from = lowered.len();
    if word.is_ascii() {
        lowered.push_str(word);
        lowered[from..].make_ascii_lowercase();
    } else {
        lowered.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// How many bytes of `rest`, which begins with a word, the word has.
fn word_length(rest: &str) -> usize {
    let unspaced = rest.starts_with(is_unspaced);
    rest.find(|c| !is_word(c) || is_unspaced(c) != unspaced).unwrap_or(rest.len())
}

/// Whether a gap may separate two words of one name: one sign, or white space within a paragraph.
fn is_joint(gap: &str) -> bool {
    match gap.trim() {
        "" => gap.matches('\n').count() < 2,
        "-" | "‐" | "‑" | "_" | "." | "'" | "’" | "&" | "/" | "+" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
