//! Blocks: the smallest self-contained parts of a text. A paragraph, a short list with its
//! introduction, a fenced code block, a table, a function.
//!
//! The scan is line-based and never fails; it reads Markdown, plain text and source code alike.
//! Blocks follow each other without a gap and cover the whole text.

mod clutter;
mod scan;
#[cfg(test)]
mod tests;

use std::ops::Range;

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockKind {
    /// A heading of that level, 1 to 6.
    Heading(u8),
    /// Running text, or a part of source code between blank lines.
    Prose,
    /// A list, or one item of a long list.
    List,
    /// A fenced listing, with the line that introduces it.
    Fence,
    /// A table, the header of a long table, or some of its rows.
    Table,
}

/// A block of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextBlock {
    /// Its bytes, trailing white space included.
    pub range: Range<usize>,
    /// What it is.
    pub kind: BlockKind,
    /// The block without which it cannot be understood: the heading above it, the header of its
    /// table, the line that introduces its list.
    pub under: Option<usize>,
    /// Whether it is boilerplate: imports, navigation, licence headers, metadata.
    pub is_clutter: bool,
}

/// A list or table up to this long is one block; a longer one is read by its items or rows.
const WHOLE_BYTES_MAX: usize = 900;

/// A longer paragraph is read by its sentences, two or three at a time.
const PARAGRAPH_BYTES_MAX: usize = 1_600;
const STRETCH_BYTES_LEAST: usize = 500;

/// A line of at least so many bytes is a paragraph: its author does not break lines.
const LONG_LINE_BYTES_LEAST: usize = 160;

/// The blocks of a text, in order.
///
/// ```
/// use haversack_core::text::blocks::{BlockKind, blocks};
///
/// let text = "# Ferries\n\nThe ferry leaves at nine.\n\n```sh\nferry --book\n```\n";
/// let found = blocks(text);
/// assert_eq!(found[0].kind, BlockKind::Heading(1));
/// assert_eq!(found[1].under, Some(0));
/// assert!(text[found[2].range.clone()].ends_with("```\n"));
/// ```
#[must_use]
pub fn blocks(text: &str) -> Vec<TextBlock> {
    scan::scan(text)
}
