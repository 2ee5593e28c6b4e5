//! Tells pages that the parser misread: words that are glued together, and letters that stand for others.

use std::panic::catch_unwind;

use lopdf::Document;

use super::inspect::Page;
use super::line::{Line, is_wide};
use crate::limits::ENTRY_BYTES_MAX;

/// A word with more letters is probably several.
const WORD_LETTERS_MAX: usize = 22;

/// The share of a page's letters that may stand in such words.
const GLUED_PERCENT_MAX: usize = 2;

/// How much of a page stands in words that seem to be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Gluing {
    letters: usize,
    glued: usize,
}

impl Gluing {
    /// The gluing of a page.
    pub(super) fn of(page: &Page) -> Gluing {
        let mut gluing = Gluing::default();
        for line in page.lines.iter().filter(|line| !line.is_fixed) {
            for word in line.text.split(|letter: char| !letter.is_alphabetic()) {
                let count = word.chars().filter(|letter| !is_wide(*letter)).count();
                gluing.letters += count;
                gluing.glued += if count > WORD_LETTERS_MAX { count } else { 0 };
            }
        }
        gluing
    }

    /// Whether many words of the page seem to lack the spaces between them.
    pub(super) const fn is_suspect(self) -> bool {
        self.glued * 100 > self.letters * GLUED_PERCENT_MAX
    }

    /// Whether less of this page is glued than of another reading of it.
    pub(super) const fn is_less_than(self, other: Gluing) -> bool {
        self.glued * other.letters < other.glued * self.letters
    }
}

/// Replaces the lines of pages whose letters cannot be read, if the plain text of the page can be.
/// Gives back the pages,
/// counted from 1.
pub(super) fn replace_garbled(bytes: &[u8], pages: &mut [Page]) -> Vec<usize> {
    let garbled: Vec<u32> =
        (1..).zip(&*pages).filter(|(_, page)| is_garbled(page)).map(|(page, _)| page).collect();
    if garbled.is_empty() {
        return Vec::new();
    }
    let read = || {
        let document = Document::load_mem(bytes).ok()?;
        let limit = usize::try_from(ENTRY_BYTES_MAX).unwrap_or(usize::MAX);
        let text = |page: &u32| document.extract_text_with_limit(&[*page], limit).ok();
        Some(garbled.iter().map(text).collect::<Vec<_>>())
    };
    let Some(texts) = catch_unwind(read).ok().flatten() else { return Vec::new() };
    let mut replaced = Vec::new();
    for (number, text) in garbled.into_iter().zip(texts) {
        let number = usize::try_from(number).unwrap_or_default();
        let Some(page) = number.checked_sub(1).and_then(|at| pages.get_mut(at)) else { continue };
        let lines = Line::all_of_plain_text(&text.unwrap_or_default());
        let plain = Page { lines, ..Page::default() };
        if count_readable(&plain) > count_readable(page) && !is_garbled(&plain) {
            *page = plain;
            replaced.push(number);
        }
    }
    replaced
}

/// Whether fonts do not say which letters most of a page shows.
pub(super) fn is_garbled(page: &Page) -> bool {
    let letters = || page.lines.iter().flat_map(|line| line.text.chars());
    letters().filter(|letter| is_lost(*letter)).count() * 10 > count_readable(page)
}

/// Whether so many letters of a page are lost that what is left says nothing.
pub(super) fn is_undecodable(page: &Page) -> bool {
    let letters = page.lines.iter().flat_map(|line| line.text.chars());
    letters.filter(|letter| is_lost(*letter)).count() * 3 > count_readable(page)
}

/// Whether letters are lost in words of a page. A lost sign that stands alone is a bullet or an arrow more often.
pub(super) fn has_damaged_words(page: &Page) -> bool {
    let is_damaged = |word: &str| word.contains(is_lost) && word.contains(char::is_alphanumeric);
    page.lines.iter().any(|line| line.text.split_whitespace().any(is_damaged))
}

/// How many letters and digits a page has.
pub(super) fn count_readable(page: &Page) -> usize {
    let letters = page.lines.iter().flat_map(|line| line.text.chars());
    letters.filter(|letter| letter.is_alphanumeric()).count()
}

/// Whether a letter stands for one that is not known. The parser takes glyphs with numbers for
/// ornaments.
pub(super) fn is_lost(letter: char) -> bool {
    let code = u32::from(letter);
    matches!(code, 0xFFFD | 0xE000..=0xF8FF | 0xF0000.. | 0x2701..=0x2712 | 0x2720..=0x27BF)
}
