//! Chunking: splits a text into chunks within a token limit that know their lines and headings
//! (X7).
//!
//! All formats work alike. A format provides *marks*, the positions where its text splits well, and
//! an *outline*, the titles that apply to each range. The packer does the rest, and falls back to
//! paragraphs, lines, sentences and words.

mod code;
mod markdown;
mod pack;

use std::ops::Range;

use thiserror::Error;

pub use code::CodeLanguage;

use crate::text::boundary;
use crate::text::tokenizer::Tokenizer;
use crate::units::{Span, Tokens};

/// Longest title in characters; a longer one is cut. Titles are repeated in every chunk.
const TITLE_CHARS_MAX: usize = 120;

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Running text without structure.
    Plain,
    /// Markdown, with tables and front matter.
    Markdown,
    /// The source of a program.
    Code(CodeLanguage),
}

impl Format {
    /// The format of a file, by the extension of its path; plain when it is unknown.
    #[must_use]
    pub fn of_path(path: &str) -> Format {
        let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let name = name.strip_suffix(".gz").unwrap_or(name);
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        match extension.to_ascii_lowercase().as_str() {
            "md" | "mdx" | "markdown" => Format::Markdown,
            extension => CodeLanguage::of_extension(extension).map_or(Format::Plain, Format::Code),
        }
    }

    /// Guesses the format of a text without a path: Markdown if it has headings or fences and does
    /// not look like source code, whose comments look like headings.
    #[must_use]
    pub fn of_text(text: &str) -> Format {
        let (mut all, mut code, mut marks) = (0_usize, 0_usize, 0_usize);
        for (_, line) in boundary::lines(text).take(SNIFFED_LINES) {
            let bare = line.trim();
            if bare.is_empty() {
                continue;
            }
            if bare.starts_with("```") && !bare[3..].contains('`') {
                return Format::Markdown;
            }
            all += 1;
            let level = bare.bytes().take_while(|byte| *byte == b'#').count();
            marks += usize::from((1..=6).contains(&level) && bare[level..].starts_with(' '));
            let is_item =
                bare.starts_with(['-', '*', '+', '|', '>']) || bare.as_bytes()[0].is_ascii_digit();
            let is_indented = line.starts_with(['\t', ' ']) && !is_item;
            code += usize::from(is_indented || bare.ends_with([';', '{', '}', '(', ')', ':', ',']));
        }
        if marks > 0 && code * 3 < all { Format::Markdown } else { Format::Plain }
    }
}

/// Lines examined to guess the format.
const SNIFFED_LINES: usize = 400;

/// Target and maximum size of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLimits {
    target: Tokens,
    max: Tokens,
}

/// Why chunk limits are invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChunkLimitsError {
    /// The maximum is too small.
    #[error("a chunk limit of {max} tokens is below the least, {}", ChunkLimits::MAX_LEAST)]
    MaxTooSmall {
        /// The maximum.
        max: Tokens,
    },
    /// The target is zero.
    #[error("a chunk target must be at least 1 token")]
    TargetZero,
    /// The target exceeds the maximum.
    #[error("a chunk target of {target} tokens is above the limit of {max}")]
    TargetAboveMax {
        /// The target.
        target: Tokens,
        /// The limit.
        max: Tokens,
    },
}

impl ChunkLimits {
    /// The smallest `max`: any single character fits, in every vocabulary.
    pub const MAX_LEAST: Tokens = Tokens::new(16);

    /// Chunks are filled up to `target` and never exceed `max`.
    ///
    /// # Errors
    /// When `max` is below [`ChunkLimits::MAX_LEAST`], or `target` is zero or above `max`.
    pub fn new(target: Tokens, max: Tokens) -> Result<ChunkLimits, ChunkLimitsError> {
        if max < ChunkLimits::MAX_LEAST {
            return Err(ChunkLimitsError::MaxTooSmall { max });
        }
        if target == Tokens::ZERO {
            return Err(ChunkLimitsError::TargetZero);
        }
        if target > max {
            return Err(ChunkLimitsError::TargetAboveMax { target, max });
        }
        Ok(ChunkLimits { target, max })
    }

    /// The target size.
    #[must_use]
    pub const fn target(self) -> Tokens {
        self.target
    }

    /// The maximum size. A block between target and maximum stays whole.
    #[must_use]
    pub const fn max(self) -> Tokens {
        self.max
    }
}

/// A chunk of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes of the text.
    pub span: Span,
    /// How many tokens they are.
    pub tokens: Tokens,
    /// The lines it touches: the first, counted from 1, up to one past the last.
    pub lines: Range<u32>,
    /// The headings, or named items of a program, that the chunk begins under, outermost first.
    pub headings: Vec<String>,
}

/// Splits a text into chunks.
///
/// They are in order and do not overlap; none is blank or exceeds the limit; nothing but white
/// space lies between them. A chunk keeps the indentation of its first line. A cut falls on the
/// strongest boundary; a weaker one is used only for a piece that alone exceeds `max`.
#[must_use]
pub fn chunk(
    text: &str,
    format: Format,
    tokenizer: &dyn Tokenizer,
    limits: ChunkLimits,
) -> Vec<Chunk> {
    let structure = match format {
        Format::Plain => Structure::default(),
        Format::Markdown => markdown::structure(text),
        Format::Code(language) => code::structure(text, language),
    };
    let pieces = pack::pack(text, &structure.marks, tokenizer, limits);
    let mut place = OutlineCursor::new(text, &structure.outline);
    pieces
        .into_iter()
        .filter_map(|(range, tokens)| {
            let (lines, headings) = place.of(&range);
            Some(Chunk { span: Span::within(text, range)?, tokens, lines, headings })
        })
        .collect()
}

/// The structure of a text: split points and outline.
#[derive(Debug, Default)]
struct Structure {
    /// In ascending order.
    marks: Vec<SplitPoint>,
    /// In order of their beginning, outer before inner.
    outline: Vec<OutlineEntry>,
}

/// A position where a text may be split.
#[derive(Debug, Clone, Copy)]
struct SplitPoint {
    at: usize,
    strength: Strength,
}

/// How well a text splits at a mark.
#[derive(Debug, Clone, Copy)]
enum Strength {
    /// A heading of that level starts here.
    Heading(u8),
    /// A block starts here: a paragraph, a table, a function.
    Block,
    /// A part of a block starts here, nested that deep: a list item, a method.
    Part(u8),
}

impl Strength {
    /// Smaller is stronger. All headings are alike: each starts a chunk.
    fn order(self) -> u8 {
        match self {
            Strength::Heading(_) => 0,
            Strength::Block => 1,
            Strength::Part(depth) => depth.saturating_add(2),
        }
    }
}

/// A title and the range that it applies to.
#[derive(Debug)]
struct OutlineEntry {
    range: Range<usize>,
    /// From where on the title is known: past a heading, at the beginning of an item.
    body: usize,
    title: String,
}

/// Makes a title: one line, not too long.
fn title(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Walks the outline along with the chunks, so that all lookups take one pass.
struct OutlineCursor<'t> {
    text: &'t str,
    outline: &'t [OutlineEntry],
    /// Entries that began at or before the current chunk and have not ended.
    open: Vec<&'t OutlineEntry>,
    next: usize,
    at: usize,
    line: u32,
}

impl<'t> OutlineCursor<'t> {
    fn new(text: &'t str, outline: &'t [OutlineEntry]) -> OutlineCursor<'t> {
        OutlineCursor { text, outline, open: Vec::new(), next: 0, at: 0, line: 1 }
    }

    /// Lines and headings of the next chunk.
    fn of(&mut self, range: &Range<usize>) -> (Range<u32>, Vec<String>) {
        let first = self.line_at(range.start);
        let last = self.line_at(range.end);
        (first..last.saturating_add(1), self.headings(range))
    }

    fn line_at(&mut self, at: usize) -> u32 {
        let breaks = self.text[self.at..at].bytes().filter(|&byte| byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.at = at;
        self.line
    }

    fn headings(&mut self, range: &Range<usize>) -> Vec<String> {
        self.enter(range.start);
        // A chunk that begins with headings is under all of them.
        while let Some(body) = self.open.last().map(|entry| entry.body) {
            let leads = self.outline.get(self.next).is_some_and(|entry| entry.range.start <= body);
            if body <= range.start || body >= range.end || !leads {
                break;
            }
            self.enter(body);
        }
        let titles =
            |entries: &[&OutlineEntry]| entries.iter().map(|entry| entry.title.clone()).collect();
        match self.outline.get(self.next) {
            Some(first) if self.open.is_empty() && first.names(range) => titles(&[first]),
            _ => titles(&self.open),
        }
    }

    fn enter(&mut self, at: usize) {
        self.open.retain(|entry| entry.range.end > at);
        while let Some(entry) = self.outline.get(self.next).filter(|e| e.range.start <= at) {
            if entry.range.end > at {
                self.open.push(entry);
            }
            self.next += 1;
        }
    }
}

impl OutlineEntry {
    /// Whether this item, which starts inside a chunk, gives an otherwise nameless chunk its name.
    /// A heading does not: what stands before it is not under it.
    fn names(&self, chunk: &Range<usize>) -> bool {
        self.body == self.range.start && chunk.contains(&self.range.start)
    }
}

#[cfg(test)]
mod tests;
