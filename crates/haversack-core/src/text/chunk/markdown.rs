//! Markdown: headings, top-level blocks and list items, by the CommonMark rules.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{OutlineEntry, SplitPoint, Strength, Structure, title};
use crate::text::boundary;

/// Deepest list whose items are marks of their own.
const DEPTH_MAX: usize = 6;

/// The marks and the outline of a Markdown text.
pub(super) fn structure(text: &str) -> Structure {
    let front = front_matter(text);
    let mut reader = MarkdownReader { text, ..MarkdownReader::default() };
    if front > 0 {
        reader.mark(front, Strength::Block);
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES;
    for (event, range) in Parser::new_ext(&text[front..], options).into_offset_iter() {
        reader.read(event, front + range.start..front + range.end);
    }
    reader.structure
}

/// Where the front matter ends: metadata between two `---` (or `+++`) lines at the very beginning.
///
/// Not left to the parser, which would also take the text between two rules for metadata.
fn front_matter(text: &str) -> usize {
    let mut lines = boundary::lines(text);
    let Some(fence) = lines.next().map(|(_, line)| line.trim_end()) else { return 0 };
    if fence != "---" && fence != "+++" {
        return 0;
    }
    let closing = lines.find(|(_, line)| line.trim_end() == fence);
    closing.map_or(0, |(at, line)| at + line.len())
}

#[derive(Default)]
struct MarkdownReader<'t> {
    text: &'t str,
    structure: Structure,
    /// Open block tags.
    depth: usize,
    /// Open lists.
    lists: usize,
    /// The heading being read: where it starts, its level, and its title so far.
    heading: Option<(usize, u8, String)>,
    /// Whether the last top-level block was a heading.
    after_heading: bool,
    /// The sections that the text is inside of: level and index in the outline.
    sections: Vec<(u8, usize)>,
}

impl MarkdownReader<'_> {
    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                if self.depth == 0 {
                    self.block(&tag, range.start);
                }
                match tag {
                    Tag::List(_) => self.lists += 1,
                    Tag::Item if self.lists <= DEPTH_MAX => {
                        let depth = u8::try_from(self.lists).unwrap_or(u8::MAX);
                        self.mark(range.start, Strength::Part(depth));
                    }
                    _ => {}
                }
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth = self.depth.saturating_sub(1);
                match tag {
                    TagEnd::List(_) => self.lists = self.lists.saturating_sub(1),
                    TagEnd::Heading(_) => self.end_heading(range.end),
                    _ => {}
                }
            }
            Event::Text(part) | Event::Code(part) => self.title(&part),
            Event::SoftBreak | Event::HardBreak => self.title(" "),
            Event::Rule if self.depth == 0 => {
                self.mark(range.start, Strength::Block);
                self.after_heading = false;
            }
            _ => {}
        }
    }

    /// A top-level block starts. The first under a heading stays with it, and so does a heading
    /// right under another.
    fn block(&mut self, tag: &Tag<'_>, at: usize) {
        let heading = match tag {
            Tag::Heading { level, .. } => Some(number(*level)),
            _ => None,
        };
        if !self.after_heading {
            self.mark(at, heading.map_or(Strength::Block, Strength::Heading));
        }
        self.after_heading = heading.is_some();
        self.heading = heading.map(|level| (line_start(self.text, at), level, String::new()));
    }

    fn title(&mut self, part: &str) {
        if let Some((_, _, title)) = &mut self.heading {
            title.push_str(part);
        }
    }

    fn end_heading(&mut self, end: usize) {
        let Some((start, level, words)) = self.heading.take() else { return };
        self.close(level, start);
        let title = title(&words);
        if title.is_empty() {
            return;
        }
        let rest = &self.text[end..];
        let body = end + (rest.len() - rest.trim_start().len());
        self.sections.push((level, self.structure.outline.len()));
        self.structure.outline.push(OutlineEntry { range: start..self.text.len(), body, title });
    }

    /// Ends the sections that a heading of that level ends.
    fn close(&mut self, level: u8, at: usize) {
        while let Some((_, index)) = self.sections.pop_if(|(open, _)| *open >= level) {
            self.structure.outline[index].range.end = at;
        }
    }

    fn mark(&mut self, at: usize, strength: Strength) {
        let at = line_start(self.text, at);
        // An outer block is read before what it begins with, so the stronger mark is there already.
        if self.structure.marks.last().is_none_or(|last| last.at < at) {
            self.structure.marks.push(SplitPoint { at, strength });
        }
    }
}

/// The beginning of the line if only white space precedes `at`, else `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = &text[..at];
    let visible = before.trim_end_matches([' ', '\t']);
    if visible.is_empty() || visible.ends_with('\n') { visible.len() } else { at }
}

const fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}
