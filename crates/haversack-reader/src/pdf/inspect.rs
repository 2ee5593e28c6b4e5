//! Asks the foreign parser: what the document says of itself, and the lines and tables of its
//! pages.

use std::collections::{BTreeMap, HashSet};
use std::panic::catch_unwind;

use pdf_inspector::extractor::{
    extract_text_with_positions_mem_pages, group_into_lines_preserving_all_text,
};
use pdf_inspector::types::ItemType;
use pdf_inspector::{
    DetectionConfig, OCR_REASON_SCANNED, OCR_REASON_SUSPECTED_GARBLED_TEXT, OCR_REASON_VECTOR_TEXT,
    PagesExtractionResult, PdfError, PdfOptions, PdfProcessResult, ScanStrategy, TextItem,
    extract_pages_markdown_mem, process_pdf_mem_with_options,
};

use super::columns::split_columns;
use super::fonts::{NarrowSpaces, repair_fonts};
use super::line::Line;
use super::repair::Gluing;
use super::table::Table;
use crate::part::ReadFailure;

/// Pages whose lines are read at once.
const PAGES_AT_ONCE: usize = 250;

/// A page as the parser sees it.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Its lines in reading order.
    pub(super) lines: Vec<Line>,
    /// What the parser takes for tables; each is checked against the lines.
    pub(super) tables: Vec<Table>,
    /// In how many groups its text was read. If there are several, it has columns that the parser does not see,
    /// and the parser's tables are none.
    pub(super) groups: usize,
    /// Whether the parser takes its letters for others than they are.
    pub(super) is_suspect: bool,
    /// Whether it shows a picture of text.
    pub(super) is_picture: bool,
    /// Whether it shows any picture.
    pub(super) has_image: bool,
}

/// What the document says of itself.
pub(super) fn inspect_document(bytes: &[u8]) -> Result<PdfProcessResult, ReadFailure> {
    // The pages are looked at later, all of them; here one is enough.
    let sample =
        DetectionConfig { strategy: ScanStrategy::Sample(1), ..DetectionConfig::default() };
    let options = PdfOptions::detect_only().detection(sample);
    guard(|| process_pdf_mem_with_options(bytes, options.clone()))
}

/// Tells how many pages are done, of all.
pub(super) type ReportPages<'r> = dyn FnMut(usize) -> Result<(), ReadFailure> + 'r;

/// All pages.
pub(super) fn inspect_pages(
    bytes: &[u8],
    page_count: usize,
    report: &mut ReportPages<'_>,
) -> Result<Vec<Page>, ReadFailure> {
    let repaired = repair_fonts(bytes, NarrowSpaces::WhereHarmless);
    // The second look below is as long as the first.
    let mut half = |done: usize| report(done / 2);
    let pages = repaired.as_ref().map(|bytes| inspect_lines(bytes, page_count, &mut half));
    let mut pages = match pages {
        Some(Err(ReadFailure::Stopped)) => return Err(ReadFailure::Stopped),
        Some(Ok(pages)) => pages,
        // What was repaired may be worse than what was not.
        Some(Err(_)) | None => inspect_lines(bytes, page_count, &mut half)?,
    };
    if pages.iter().any(|page| Gluing::of(page).is_suspect()) {
        replace_glued(bytes, &mut pages);
    }
    let bytes = repaired.as_deref().unwrap_or(bytes);
    // Without tables and hints a document is still readable.
    if let Ok(found) = guard(|| extract_pages_markdown_mem(bytes, None)) {
        add_hints(&mut pages, &found);
    }
    report(page_count)?;
    Ok(pages)
}

/// Reads pages whose words are glued once more with narrow spaces, and takes those that become better.
fn replace_glued(bytes: &[u8], pages: &mut [Page]) {
    let Some(repaired) = repair_fonts(bytes, NarrowSpaces::Everywhere) else { return };
    let others = inspect_lines(&repaired, pages.len(), &mut |_| Ok(()));
    for (page, other) in pages.iter_mut().zip(others.into_iter().flatten()) {
        let (before, after) = (Gluing::of(page), Gluing::of(&other));
        if before.is_suspect() && after.is_less_than(before) && !other.lines.is_empty() {
            *page = other;
        }
    }
}

/// All pages with nothing but their lines. Some pages at once, so that memory stays small and progress is seen.
fn inspect_lines(
    bytes: &[u8],
    page_count: usize,
    report: &mut ReportPages<'_>,
) -> Result<Vec<Page>, ReadFailure> {
    let mut pages: Vec<Page> = Vec::new();
    pages.resize_with(page_count, Page::default);
    for first in (0..page_count).step_by(PAGES_AT_ONCE) {
        let end = (first + PAGES_AT_ONCE).min(page_count);
        let numbers = (first + 1..=end).filter_map(|number| u32::try_from(number).ok());
        let wanted: Option<HashSet<u32>> =
            (page_count > PAGES_AT_ONCE).then(|| numbers.clone().collect());
        let items = guard(|| extract_text_with_positions_mem_pages(bytes, wanted.as_ref()))?;
        add_lines(items, &mut pages)?;
        report(end)?;
    }
    Ok(pages)
}

fn add_lines(items: Vec<TextItem>, pages: &mut [Page]) -> Result<(), ReadFailure> {
    for image in items.iter().filter(|item| matches!(item.item_type, ItemType::Image)) {
        let index = usize::try_from(image.page).unwrap_or_default().checked_sub(1);
        if let Some(page) = index.and_then(|at| pages.get_mut(at)) {
            page.has_image = true;
        }
    }
    for (index, items) in split_by_page(items) {
        if let Some(page) = pages.get_mut(index) {
            // By page, because columns are found page by page anyway and memory stays small.
            let groups = split_columns(items);
            page.groups = groups.len();
            for group in groups {
                let lines = guard(|| Ok(group_into_lines_preserving_all_text(group.clone())))?;
                page.lines.extend(lines.iter().filter_map(Line::of));
            }
        }
    }
    Ok(())
}

fn add_hints(pages: &mut [Page], found: &PagesExtractionResult) {
    for page in &found.pages {
        if let Some(known) = usize::try_from(page.page).ok().and_then(|at| pages.get_mut(at))
            && known.groups <= 1
        {
            known.tables = Table::all_in(&page.markdown);
        }
    }
    for page in &found.ocr_reasons_by_page {
        let index = usize::try_from(page.page).unwrap_or_default().checked_sub(1);
        if let Some(known) = index.and_then(|at| pages.get_mut(at)) {
            let shows = |reason: &str| page.reasons.iter().any(|known| known == reason);
            known.is_suspect = shows(OCR_REASON_SUSPECTED_GARBLED_TEXT);
            known.is_picture = shows(OCR_REASON_SCANNED) || shows(OCR_REASON_VECTOR_TEXT);
        }
    }
}

/// The items that are text, by the page's index.
fn split_by_page(items: Vec<TextItem>) -> BTreeMap<usize, Vec<TextItem>> {
    let mut pages: BTreeMap<usize, Vec<TextItem>> = BTreeMap::new();
    for item in items {
        let is_text = matches!(item.item_type, ItemType::Text | ItemType::FormField);
        let index = usize::try_from(item.page).unwrap_or_default().checked_sub(1);
        if let (true, Some(index)) = (is_text, index) {
            pages.entry(index).or_default().push(item);
        }
    }
    pages
}

/// Calls the parser. Its panics are failures of the file, not of this program.
fn guard<T>(
    call: impl Fn() -> Result<T, PdfError> + std::panic::UnwindSafe,
) -> Result<T, ReadFailure> {
    match catch_unwind(call) {
        Ok(answer) => answer.map_err(failure),
        Err(_) => Err(ReadFailure::malformed("the parser gave up on it")),
    }
}

fn failure(error: PdfError) -> ReadFailure {
    match error {
        PdfError::Encrypted => ReadFailure::Encrypted,
        PdfError::Io(error) => error.into(),
        PdfError::NotAPdf(what) | PdfError::Parse(what) => ReadFailure::malformed(what),
        PdfError::InvalidStructure => ReadFailure::malformed("its table of objects is broken"),
    }
}
