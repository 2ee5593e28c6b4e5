//! Reads a PDF file: from the parser's pages to one part with its notices.

use super::furniture::remove_furniture;
use super::info::{parse_date, sensible_author, sensible_title};
use super::inspect::{Page, inspect_document, inspect_pages};
use super::layout::{Block, Style, find_blocks};
use super::repair::{
    count_readable, has_damaged_words, is_garbled, is_lost, is_undecodable, replace_garbled,
};
use super::write::Body;
use crate::limits::PAGES_MAX;
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;

/// A page with fewer letters and a picture is a scan with a stamp or a number on it.
const SCAN_LETTERS_MAX: usize = 40;

/// Reads a PDF file.
pub(super) fn read(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    let document = inspect_document(&bytes)?;
    let n_pages = usize::try_from(document.page_count).unwrap_or(usize::MAX);
    if n_pages == 0 {
        return Err(ReadFailure::malformed("it has no pages"));
    }
    if n_pages > PAGES_MAX {
        return Err(ReadFailure::too_large(format!("{n_pages} pages"), PAGES_MAX as u64));
    }
    sink.progress(0, n_pages as u64)?;
    let mut report = |done: usize| sink.progress(done as u64, n_pages as u64);
    let mut pages = inspect_pages(&bytes, n_pages, &mut report)?;
    let replaced = replace_garbled(&bytes, &mut pages);
    drop(bytes);
    let states: Vec<PageState> = pages.iter().map(PageState::of).collect();
    if states.iter().all(|state| state.has_no_text()) {
        let pages = n_pages as u64;
        return Err(match states.contains(&PageState::Undecodable) {
            true => ReadFailure::Undecodable { pages },
            false => ReadFailure::NeedsOcr { pages },
        });
    }
    notice_states(&states, sink)?;
    for (page, state) in pages.iter_mut().zip(&states) {
        if *state == PageState::Undecodable {
            page.lines.clear();
            page.tables.clear();
        }
    }
    if !replaced.is_empty() {
        let what = "fonts name their letters by number; the text is there, but without layout";
        sink.notice(ReadNotice::new(what).at(name_pages(&replaced)))?;
    }

    let body_size = Style::of(&pages).body_size;
    let removed = remove_furniture(&mut pages, body_size);
    if removed > 0 {
        let what = format!("{removed} lines of running headers, footers and page numbers left out");
        let notice = ReadNotice::new(what);
        sink.notice(notice.omitting(OmissionKind::RunningLines, removed as u64))?;
    }
    let style = Style::of(&pages);
    let mut body = Body::default();
    let mut heading: Option<(usize, String)> = None;
    for page in &pages {
        let blocks = find_blocks(page, &style);
        keep_largest_heading(&mut heading, &blocks);
        body.push_page(&blocks);
    }
    let title = sensible_title(document.title.as_deref())
        .or(heading.map(|(_, text)| text))
        .unwrap_or_default();
    let (text, page_lines) = body.finish();
    let mut part = Part::of_file(&title, text);
    part.set_field("author", &sensible_author(document.author.as_deref()));
    part.created = parse_date(document.creation_date.as_deref());
    part.updated = parse_date(document.mod_date.as_deref());
    part.pages = page_lines;
    sink.part(part)
}

/// The first of the largest headings whose letters are known is a title, if there is no better one.
fn keep_largest_heading(largest: &mut Option<(usize, String)>, blocks: &[Block]) {
    for block in blocks {
        let Block::Heading(level, text) = block else { continue };
        if text.contains(is_lost) {
            continue;
        }
        if largest.as_ref().is_none_or(|(known, _)| level < known) {
            *largest = Some((*level, text.clone()));
        }
    }
}

/// What there is to know about a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PageState {
    Fine,
    /// Nothing on it, or nothing but lines; books have such pages on purpose.
    Blank,
    /// A picture of text.
    Scan,
    /// So many letters without a meaning that the others say nothing.
    Undecodable,
    /// Some letters without a meaning.
    Damaged,
}

impl PageState {
    fn of(page: &Page) -> PageState {
        let is_picture = page.is_picture || page.has_image && page.lines.is_empty();
        if is_picture && count_readable(page) < SCAN_LETTERS_MAX {
            PageState::Scan
        } else if page.lines.is_empty() {
            PageState::Blank
        } else if is_undecodable(page) {
            PageState::Undecodable
        } else if page.is_suspect || is_garbled(page) || has_damaged_words(page) {
            PageState::Damaged
        } else {
            PageState::Fine
        }
    }

    const fn has_no_text(self) -> bool {
        matches!(self, PageState::Blank | PageState::Scan | PageState::Undecodable)
    }
}

fn notice_states(states: &[PageState], sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let reasons = [
        (
            PageState::Scan,
            "pictures with hardly any text; recognise what they say with OCR (such as ocrmypdf)",
        ),
        (
            PageState::Undecodable,
            "left out: fonts do not say which letters they show; OCR (such as ocrmypdf --force-ocr) can",
        ),
        (
            PageState::Damaged,
            "some letters are lost or wrong, because fonts do not say which they show; OCR (such as ocrmypdf \
             --force-ocr) can",
        ),
    ];
    for (state, what) in reasons {
        let pages: Vec<usize> =
            (1..).zip(states).filter(|(_, known)| **known == state).map(|(page, _)| page).collect();
        if !pages.is_empty() {
            sink.notice(ReadNotice::new(what).at(name_pages(&pages)))?;
        }
    }
    Ok(())
}

/// Pages in words: `page 3`, `pages 3-7, 12`.
pub(super) fn name_pages(pages: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &page in pages {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == page => *last = page,
            _ => runs.push((page, page)),
        }
    }
    let names: Vec<String> = runs
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    format!("page{} {}", if pages.len() == 1 { "" } else { "s" }, names.join(", "))
}
