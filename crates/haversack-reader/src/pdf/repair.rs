//! Ways around two weaknesses of the parser: glued words, and fonts whose glyphs have numbers for
//! names.

use std::panic::catch_unwind;

use lopdf::{Document, Object};

use super::inspect::Page;
use super::line::{Line, is_wide};
use crate::limits::ENTRY_BYTES_MAX;

/// A word with more letters is probably several.
const WORD_LETTERS_MAX: usize = 22;

/// The width of a space, in thousandths of the font size.
const SPACE_WIDTH: i64 = 250;

/// The number of the glyph that the parser takes for a space, whatever it is.
const SPACE_GLYPH: i64 = 32;

/// Whether many words of a document seem to lack the spaces between them.
pub(super) fn is_glued(pages: &[Page]) -> bool {
    let (mut letters, mut glued) = (0_usize, 0_usize);
    for line in pages.iter().flat_map(|page| &page.lines).filter(|line| !line.is_fixed) {
        for word in line.text.split(|letter: char| !letter.is_alphabetic()) {
            let count = word.chars().filter(|letter| !is_wide(*letter)).count();
            letters += count;
            glued += if count > WORD_LETTERS_MAX { count } else { 0 };
        }
    }
    glued * 100 > letters * 2
}

/// The document with a narrower space in each font. The parser looks for gaps between words that
/// are as wide as some
/// glyph, which in fonts with glyphs by number need not be the space.
pub(super) fn narrow_spaces(bytes: &[u8]) -> Option<Vec<u8>> {
    let repair = || {
        let mut document = Document::load_mem(bytes).ok()?;
        if document.is_encrypted() || document.encryption_state.is_some() {
            return None;
        }
        let fonts: Vec<_> = document
            .objects
            .iter()
            .filter_map(|(id, object)| {
                let font = object.as_dict().ok()?;
                let subtype = font.get(b"Subtype").ok()?.as_name().ok()?;
                let widths = font.get(b"W").ok()?;
                let (_, widths) = document.dereference(widths).ok()?;
                subtype.starts_with(b"CIDFont").then_some((*id, widths.as_array().ok()?.clone()))
            })
            .collect();
        for (id, mut widths) in fonts {
            // The last entry for a glyph holds.
            widths.push(Object::Integer(SPACE_GLYPH));
            widths.push(Object::Array(vec![Object::Integer(SPACE_WIDTH)]));
            document.get_dictionary_mut(id).ok()?.set("W", Object::Array(widths));
        }
        let mut repaired = Vec::new();
        document.save_to(&mut repaired).ok()?;
        Some(repaired)
    };
    catch_unwind(repair).ok().flatten()
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

/// How many letters and digits a page has.
pub(super) fn count_readable(page: &Page) -> usize {
    let letters = page.lines.iter().flat_map(|line| line.text.chars());
    letters.filter(|letter| letter.is_alphanumeric()).count()
}

/// Whether a letter stands for one that is not known. The parser takes glyphs with numbers for
/// ornaments.
fn is_lost(letter: char) -> bool {
    let code = u32::from(letter);
    matches!(code, 0xFFFD | 0xE000..=0xF8FF | 0xF0000.. | 0x2701..=0x2712 | 0x2720..=0x27BF)
}
