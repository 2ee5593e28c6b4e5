//! Splits a document into blocks: in Markdown headings, paragraphs, list items, fenced code and
//! table rows; in source code and plain text runs of lines between blank lines.
//!
//! Each line is classified once, without a full Markdown grammar: measuring must work on any text
//! and must not share a parser with the code that it measures. Underlined headings count as
//! paragraphs.

use std::ops::Range;

use haversack_core::text::chunk::Format;

use super::clutter;

/// One block of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentBlock {
    /// Its bytes, from the beginning of its first line.
    pub(super) range: Range<usize>,
    pub(super) kind: DocumentBlockKind,
    /// Whether it is imports, navigation or a licence header.
    pub(super) is_clutter: bool,
}

/// The kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentBlockKind {
    Heading {
        level: usize,
    },
    Paragraph,
    ListItem,
    Fence,
    /// The header of a table with the delimiter row below it.
    TableHead,
    TableRow {
        /// The index of its table's head.
        head: usize,
    },
}

/// The format of a document: by its path if it has one, else by its content.
pub(super) fn format(path: Option<&str>, text: &str) -> Format {
    match path {
        Some(path) => Format::of_path(path),
        None if looks_like_code(text) => Format::Plain,
        None => Format::Markdown,
    }
}

/// Whether at least half of the lines are indented or end like statements. Text with a fence is
/// Markdown.
fn looks_like_code(text: &str) -> bool {
    let (mut all, mut code) = (0_usize, 0_usize);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if Fence::opened_by(line).is_some() {
            return false;
        }
        all += 1;
        let is_indented = line.starts_with([' ', '\t']) && list_marker(line).is_none();
        code += usize::from(is_indented || line.trim_end().ends_with(['{', '}', ';']));
    }
    all > 1 && code * 2 >= all
}

/// The blocks of a text, in order and disjoint. Together they cover all visible text.
pub(super) fn blocks(text: &str, format: Format) -> Vec<DocumentBlock> {
    let mut blocks = match format {
        Format::Markdown => BlockReader::read(text),
        Format::Plain | Format::Code(_) => split_at_blank_lines(text),
    };
    if !matches!(format, Format::Code(_)) && !looks_like_code(text) {
        blocks = split_paragraph_lines(text, blocks);
    }
    clutter::mark(text, format, &mut blocks);
    blocks
}

/// Lines with their byte offsets.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

/// Runs of lines between blank lines.
fn split_at_blank_lines(text: &str) -> Vec<DocumentBlock> {
    let mut blocks = Blocks::default();
    for (at, line) in lines(text) {
        if line.trim().is_empty() {
            blocks.is_open = false;
        } else {
            blocks.extend_or_start(at..at + line.len(), DocumentBlockKind::Paragraph);
        }
    }
    blocks.all
}

/// A line of at least this size is a paragraph of its own.
const LONG_LINE_BYTES: usize = 160;

/// Splits paragraphs into lines where each line is a unit: turns of a conversation, and long lines
/// without blank lines between them.
fn split_paragraph_lines(text: &str, blocks: Vec<DocumentBlock>) -> Vec<DocumentBlock> {
    let mut parted = Vec::with_capacity(blocks.len());
    for block in blocks {
        let all: Vec<Range<usize>> = lines(&text[block.range.clone()])
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(at, line)| block.range.start + at..block.range.start + at + line.len())
            .collect();
        let turns = all.iter().filter(|line| is_turn(&text[(*line).clone()])).count();
        let long = all.iter().filter(|line| line.len() >= LONG_LINE_BYTES).count();
        let is_talk = turns >= 2 && turns * 10 >= all.len() * 6;
        if block.kind != DocumentBlockKind::Paragraph
            || all.len() < 2
            || !(is_talk || long * 2 >= all.len())
        {
            parted.push(block);
            continue;
        }
        let mut is_first = true;
        for range in all {
            // A line that is not a turn continues the previous one.
            let goes_on = is_talk && !is_turn(&text[range.clone()]) && !is_first;
            match parted.last_mut().filter(|_| goes_on) {
                Some(DocumentBlock { range: last, .. }) => last.end = range.end,
                None => parted.push(DocumentBlock { range, ..block.clone() }),
            }
            is_first = false;
        }
    }
    // Splitting has moved the indexes of table heads.
    let mut head = 0;
    for (at, block) in parted.iter_mut().enumerate() {
        match &mut block.kind {
            DocumentBlockKind::TableHead => head = at,
            DocumentBlockKind::TableRow { head: known } => *known = head,
            _ => {}
        }
    }
    parted
}

/// Whether a line is a turn of a conversation: `Anna: the ferry is late`.
fn is_turn(line: &str) -> bool {
    let Some((name, said)) = line.split_once(": ") else { return false };
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '\'');
    (1..=40).contains(&name.len())
        && !said.trim().is_empty()
        && name.chars().all(is_of_name)
        && name.split(' ').count() <= 4
}

#[derive(Default)]
struct Blocks {
    all: Vec<DocumentBlock>,
    /// Whether the next line may extend the last block.
    is_open: bool,
}

impl Blocks {
    fn push_open(&mut self, range: Range<usize>, kind: DocumentBlockKind) {
        self.all.push(DocumentBlock { range, kind, is_clutter: false });
        self.is_open = true;
    }

    fn push_closed(&mut self, range: Range<usize>, kind: DocumentBlockKind) {
        self.push_open(range, kind);
        self.is_open = false;
    }

    fn extend_or_start(&mut self, range: Range<usize>, kind: DocumentBlockKind) {
        match self.all.last_mut() {
            Some(last) if self.is_open => last.range.end = range.end,
            _ => self.push_open(range, kind),
        }
    }
}

/// Reads Markdown line by line.
#[derive(Default)]
struct BlockReader<'t> {
    blocks: Blocks,
    fence: Option<Fence<'t>>,
    /// The head of the table that the last line belongs to.
    table: Option<usize>,
}

impl<'t> BlockReader<'t> {
    fn read(text: &'t str) -> Vec<DocumentBlock> {
        let mut reader = BlockReader::default();
        let front = front_matter(text);
        if front > 0 {
            reader.blocks.push_closed(0..front, DocumentBlockKind::Paragraph);
        }
        let mut lines = lines(&text[front..]).peekable();
        while let Some((at, line)) = lines.next() {
            let next = lines.peek().map_or("", |(_, next)| next);
            reader.line(front + at, line, next);
        }
        reader.blocks.all
    }

    fn line(&mut self, at: usize, line: &'t str, next: &str) {
        let range = at..at + line.len();
        if let Some(fence) = &self.fence {
            let is_closed = fence.is_closed_by(line);
            self.blocks.extend_or_start(range, DocumentBlockKind::Fence);
            if is_closed {
                (self.fence, self.blocks.is_open) = (None, false);
            }
            return;
        }
        let table = self.table.take();
        if line.trim().is_empty() {
            self.blocks.is_open = false;
        } else if let Some(fence) = Fence::opened_by(line) {
            self.fence = Some(fence);
            self.blocks.push_open(range, DocumentBlockKind::Fence);
        } else if let Some(level) = heading_level(line) {
            self.blocks.push_closed(range, DocumentBlockKind::Heading { level });
        } else if let Some(head) = table.filter(|_| line.contains('|')) {
            self.table = Some(head);
            if is_delimiter_row(line) && self.blocks.all.len() == head + 1 {
                self.blocks.is_open = true;
                self.blocks.extend_or_start(range, DocumentBlockKind::TableHead);
                self.blocks.is_open = false;
            } else {
                self.blocks.push_closed(range, DocumentBlockKind::TableRow { head });
            }
        } else if line.contains('|') && is_delimiter_row(next) {
            self.table = Some(self.blocks.all.len());
            self.blocks.push_closed(range, DocumentBlockKind::TableHead);
        } else if is_rule(line) {
            self.blocks.push_closed(range, DocumentBlockKind::Paragraph);
        } else if list_marker(line).is_some() {
            self.blocks.push_open(range, DocumentBlockKind::ListItem);
        } else {
            self.blocks.extend_or_start(range, DocumentBlockKind::Paragraph);
        }
    }
}

/// The end of the front matter between two `---` lines; 0 without one.
pub(super) fn front_matter(text: &str) -> usize {
    let mut lines = lines(text);
    if lines.next().is_none_or(|(_, first)| first.trim_end() != "---") {
        return 0;
    }
    let closing = lines.find(|(_, line)| line.trim_end() == "---");
    closing.map_or(0, |(at, line)| at + line.len())
}

/// The opening line of a code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'t> {
    mark: char,
    length: usize,
    /// The info string, such as a language.
    pub(super) info: &'t str,
}

impl<'t> Fence<'t> {
    pub(super) fn opened_by(line: &'t str) -> Option<Fence<'t>> {
        // Fences may be inside list items and quotes.
        let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
        let mark = line.chars().next().filter(|mark| ['`', '~'].contains(mark))?;
        let info = line.trim_start_matches(mark);
        let length = line.len() - info.len();
        let is_inline = mark == '`' && info.contains('`');
        (length >= 3 && !is_inline).then_some(Fence { mark, length, info: info.trim() })
    }

    pub(super) fn is_closed_by(&self, line: &str) -> bool {
        let other = Fence::opened_by(line);
        other.is_some_and(|other| other.info.is_empty() && self.is_at_most(&other))
    }

    /// Whether another line has the same marks and enough of them to close it.
    pub(super) fn is_at_most(&self, other: &Fence<'_>) -> bool {
        other.mark == self.mark && other.length >= self.length
    }
}

/// The level of a `#` heading, 1 to 6.
pub(super) fn heading_level(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let indent = line.len() - line.trim_start_matches(' ').len();
    let line = &line[indent..];
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let is_heading = indent < 4 && (1..=6).contains(&level) && title.starts_with([' ', '\t']);
    (is_heading && title.chars().any(char::is_alphanumeric)).then_some(level)
}

/// The title in a heading's line.
pub(super) fn heading_title(line: &str) -> &str {
    line.trim().trim_matches('#').trim()
}

/// The row below a table's header: dashes, colons and bars alone.
pub(super) fn is_delimiter_row(line: &str) -> bool {
    let line = line.trim();
    line.contains('-')
        && line.contains('|')
        && line.bytes().all(|byte| matches!(byte, b'-' | b':' | b'|' | b' ' | b'\t'))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let marks = |mark: char| line.chars().all(|c| c == mark || c == ' ');
    line.len() >= 3 && ['-', '*', '_'].into_iter().any(marks)
}

/// The offset of a list item's text in its line.
pub(super) fn list_marker(line: &str) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let rest = &line[start..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let marker = match rest.as_bytes().get(digits)? {
        b'-' | b'*' | b'+' if digits == 0 => 1,
        b'.' | b')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    rest[marker..].starts_with([' ', '\t']).then_some(start + marker + 1)
}

#[cfg(test)]
mod tests {
    use haversack_core::text::chunk::CodeLanguage;

    use super::*;

    /// Each block as its kind and its first line.
    fn shown(text: &str, format: Format) -> Vec<String> {
        let blocks = blocks(text, format);
        let mut last = 0;
        for block in &blocks {
            assert!(text[last..block.range.start].trim().is_empty(), "a gap before {block:?}");
            last = block.range.end;
        }
        assert!(text[last..].trim().is_empty(), "text behind the last block");
        let kind = |block: &DocumentBlock| match block.kind {
            DocumentBlockKind::Heading { level } => format!("h{level}"),
            DocumentBlockKind::Paragraph => "p".to_owned(),
            DocumentBlockKind::ListItem => "item".to_owned(),
            DocumentBlockKind::Fence => "fence".to_owned(),
            DocumentBlockKind::TableHead => "head".to_owned(),
            DocumentBlockKind::TableRow { head } => format!("row of {head}"),
        };
        let lines = |block: &DocumentBlock| text[block.range.clone()].lines().count();
        blocks.iter().map(|block| format!("{} {}", kind(block), lines(block))).collect()
    }

    #[test]
    fn markdown_is_split_into_blocks() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(shown(text, Format::Markdown), expected, "{text:?}");
        };
        check("", &[]);
        check(" \n\n", &[]);
        check("one\ntwo\n\nthree", &["p 2", "p 1"]);
        check("# A\ntext\n## B ##\n", &["h1 1", "p 1", "h2 1"]);
        check("#tag\n#\n####### seven", &["p 3"]);
        check(
            "- a\n  more\n- b\n  - c\n\n1. d\n2) e",
            &["item 2", "item 1", "item 1", "item 1", "item 1"],
        );
        check("lead:\n* a\n-not", &["p 1", "item 2"]);
        check("text\n---\nmore", &["p 1", "p 1", "p 1"]);
        check("```sh\n# no heading\n\n- no item\n```\nend", &["fence 5", "p 1"]);
        check("````\n```\n````\nend", &["fence 3", "p 1"]);
        check("- a\n  ```\n  x\n  ```\n- b", &["item 1", "fence 3", "item 1"]);
        check("~~~\n```\nnever closed\n\n", &["fence 4"]);
        check("```inline``` is text", &["p 1"]);
        check(
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\nend",
            &["head 2", "row of 0 1", "row of 0 1", "p 1"],
        );
        check("x\n\na | b\n--|--\n1 | 2\n\n| no table |", &["p 1", "head 2", "row of 1 1", "p 1"]);
        check("---\ntitle: A\n---\n# B", &["p 3", "h1 1"]);
        check("---\nnever closed", &["p 1", "p 1"]);
        check("a\r\n\r\nb\r\n# C\r\n", &["p 1", "p 1", "h1 1"]);
    }

    #[test]
    fn turns_and_long_lines_are_blocks() {
        let check = |text: &str, expected: &[&str]| {
            assert_eq!(shown(text, Format::Markdown), expected, "{text:?}");
        };
        check("Time: 9\nAnna: Hello.\nBen: Hi,\nall.", &["p 1", "p 1", "p 2"]);
        check("Note: one\ntwo\nthree", &["p 3"]);
        let long = "word ".repeat(40);
        check(
            &format!("{long}\n{long}\n\n|a|b|\n|-|-|\n|1|2|"),
            &["p 1", "p 1", "head 2", "row of 2 1"],
        );
    }

    #[test]
    fn code_and_plain_text_are_separated_by_blank_lines() {
        for format in [Format::Plain, Format::Code(CodeLanguage::Python)] {
            assert_eq!(shown("# a\n# b\n\n\n  x\n- y\n", format), ["p 2", "p 2"]);
        }
    }

    #[test]
    fn formats_are_detected_by_path_or_content() {
        let check = |path: Option<&str>, text: &str, expected: Format| {
            assert_eq!(format(path, text), expected, "{path:?} {text:?}");
        };
        check(Some("a/b.md"), "def f():\n    pass\n    pass", Format::Markdown);
        check(Some("a/b.py"), "# Heading", Format::Code(CodeLanguage::Python));
        check(Some("notes"), "# Heading", Format::Plain);
        check(None, "One line.", Format::Markdown);
        check(None, "Some prose.\nMore of it.", Format::Markdown);
        check(None, "def f():\n    # Comment\n    return 1", Format::Plain);
        check(None, "int main() {\n  return 0;\n}", Format::Plain);
        check(None, "Do this:\n  - one\n  - two\n  - three", Format::Markdown);
        check(None, "So:\n```\n  x;\n  y;\n```", Format::Markdown);
    }

    #[test]
    fn large_and_odd_texts_are_read_in_one_pass() {
        for piece in ["|", "`", "- ", "#", "> ", "\n", "|-|\n", "```\n", "~~~x\n", "- [", "\u{a0}"]
        {
            let text = piece.repeat(200_000);
            shown(&text, Format::Markdown);
            shown(&text, Format::Plain);
        }
    }
}
