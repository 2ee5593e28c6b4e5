//! A foolish context: random passages of the same data and size. It shows what a figure is worth.

use std::rc::Rc;

use haversack_core::text::tokenizer::Tokenizer;
use haversack_core::units::Tokens;

use super::locate::{ItemFinder, KnownItem};
use super::{DataError, ReadAs};

/// The least and most words of a passage.
const PASSAGE_WORDS: (usize, usize) = (30, 300);

/// Most items that are tried for one context.
const TRIES_MAX: usize = 400;

/// Items that are read together.
const READ_AT_ONCE: usize = 16;

/// A context of random passages.
#[derive(Debug, Default)]
pub(super) struct RandomContext {
    pub(super) text: String,
    pub(super) items: Vec<String>,
}

/// Makes a random context of what `asker` may read, the same one each time for a question.
pub(super) fn random_context(
    finder: &mut ItemFinder<'_>,
    asker: &ReadAs,
    (seed, passage_words): (&str, usize),
    (budget, tokenizer): (Tokens, &dyn Tokenizer),
) -> Result<RandomContext, DataError> {
    let ids = finder.readable_ids(asker)?;
    let mut random = SplitMix::of(seed);
    let mut context = RandomContext::default();
    if ids.is_empty() {
        return Ok(context);
    }
    let words = passage_words.clamp(PASSAGE_WORDS.0, PASSAGE_WORDS.1);
    for _ in 0..TRIES_MAX.div_ceil(READ_AT_ONCE) {
        let chosen = (0..READ_AT_ONCE).map(|_| ids[random.below(ids.len())].clone());
        let chosen: Vec<String> = chosen.filter(|id| !context.items.contains(id)).collect();
        for item in finder.items(&chosen)? {
            let passage = random_passage(&item, words, &mut random);
            if passage.is_empty() || context.items.contains(&item.id) {
                continue;
            }
            if !context.add(&item, passage, (budget, tokenizer)) {
                return Ok(context);
            }
        }
    }
    Ok(context)
}

/// A passage of an item, of about a number of words, beginning at a line where there is one.
fn random_passage<'i>(item: &'i Rc<KnownItem>, words: usize, random: &mut SplitMix) -> &'i str {
    let all = item.words.len();
    let start = if all > words { random.below(all - words + 1) } else { 0 };
    let bytes = item.words.bytes_of(&(start..all.min(start + words)));
    let text = item.words.text();
    let line = text[..bytes.start].rfind('\n').map_or(0, |at| at + 1);
    text[line..bytes.end].trim()
}

impl RandomContext {
    /// Adds as much of a passage as fits; false when the context is full.
    fn add(
        &mut self,
        item: &KnownItem,
        passage: &str,
        (budget, tokenizer): (Tokens, &dyn Tokenizer),
    ) -> bool {
        let separator = if self.text.is_empty() { "" } else { "\n\n" };
        let with = |part: &str| format!("{}{separator}{part}", self.text);
        let fits = |part: &str| tokenizer.count(&with(part)) <= budget;
        let is_whole = fits(passage);
        let part = if is_whole { passage } else { longest_part(passage, &fits) };
        if !part.is_empty() {
            self.text = with(part);
            self.items.push(item.id.clone());
        }
        is_whole
    }
}

/// The longest beginning of a text, in words, that passes.
fn longest_part<'p>(text: &'p str, fits: &dyn Fn(&str) -> bool) -> &'p str {
    let is_end = |(at, letter): &(usize, char)| {
        let after = text[at + letter.len_utf8()..].chars().next();
        !letter.is_whitespace() && after.is_none_or(char::is_whitespace)
    };
    let ends = text.char_indices().filter(is_end).map(|(at, letter)| at + letter.len_utf8());
    let ends: Vec<usize> = ends.collect();
    let count = ends.partition_point(|end| fits(&text[..*end]));
    count.checked_sub(1).map_or("", |last| &text[..ends[last]])
}

/// Pseudo-random numbers that are the same for the same seed, on every machine.
struct SplitMix(u64);

impl SplitMix {
    fn of(seed: &str) -> SplitMix {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        SplitMix(seed.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound, which is above 0.
    fn below(&mut self, bound: usize) -> usize {
        let number = self.next() % (bound as u64);
        usize::try_from(number).unwrap_or(0)
    }
}
