//! Reads PDF: the text of its pages as Markdown, with the line on which each page begins.
//!
//! A foreign parser gives the lines of each page in reading order, with places and fonts. Paragraphs, headings,
//! lists and code are made of them here, so that no word of a page is lost on the way.

#[cfg(feature = "pdf")]
mod columns;
#[cfg(feature = "pdf")]
mod fonts;
#[cfg(feature = "pdf")]
mod furniture;
#[cfg(feature = "pdf")]
mod info;
#[cfg(feature = "pdf")]
mod inspect;
#[cfg(feature = "pdf")]
mod japan;
#[cfg(feature = "pdf")]
mod layout;
#[cfg(feature = "pdf")]
mod line;
#[cfg(feature = "pdf")]
mod read;
#[cfg(feature = "pdf")]
mod repair;
#[cfg(feature = "pdf")]
mod table;
#[cfg(feature = "pdf")]
#[cfg(test)]
mod tests;
#[cfg(feature = "pdf")]
mod tex;
#[cfg(not(feature = "pdf"))]
mod unsupported;
#[cfg(feature = "pdf")]
mod write;

#[cfg(feature = "pdf")]
use read::read;
#[cfg(not(feature = "pdf"))]
use unsupported::read;

use crate::source::FileHead;
use crate::table::Reader;

/// The reader of PDF.
pub(crate) const READER: Reader =
    Reader { name: "PDF", extensions: &["pdf"], recognises, is_isolated: true, read };

/// Bytes within which the header stands. Programs write a few bytes before it.
const HEADER_BYTES: usize = 1024;

/// Recognises the header at the beginning, or the extension: a damaged PDF is not to be taken for
/// text.
fn recognises(head: &FileHead) -> bool {
    let beginning = &head.bytes[..head.bytes.len().min(HEADER_BYTES)];
    beginning.trim_ascii_start().starts_with(b"%PDF-") || head.extension() == "pdf"
}
