//! Writes the blocks of all pages as one Markdown text.

use super::layout::Block;

/// The text so far, and the lines on which its pages begin.
#[derive(Debug, Default)]
pub(super) struct Body {
    text: String,
    n_lines: u32,
    pages: Vec<u32>,
    ends_in_item: bool,
}

impl Body {
    /// Adds a page.
    pub(super) fn push_page(&mut self, blocks: &[Block]) {
        // A blank line divides it from the page before.
        self.pages.push(if self.n_lines == 0 { 1 } else { self.n_lines + 2 });
        for block in blocks {
            self.push_block(block);
        }
    }

    /// The text, and the lines on which its pages begin.
    pub(super) fn finish(self) -> (String, Vec<u32>) {
        (self.text, self.pages)
    }

    fn push_block(&mut self, block: &Block) {
        let is_item = matches!(block, Block::Item(_));
        let text = match block {
            Block::Heading(level, text) => format!("{} {text}", "#".repeat(*level)),
            Block::Paragraph(text) => escape(text),
            Block::Item(text) => format!("- {}", text.trim().replace('\n', "\n  ")),
            Block::Code(lines) => fence(lines),
            Block::Table(text) => text.clone(),
        };
        // A page begins after a blank line, wherever a list goes on.
        let starts_page = self.pages.last() == Some(&(self.n_lines + 2));
        if self.n_lines > 0 {
            let is_tight = is_item && self.ends_in_item && !starts_page;
            self.push(if is_tight { "\n" } else { "\n\n" });
        } else {
            self.n_lines = 1;
        }
        self.push(&text);
        self.ends_in_item = is_item;
    }

    fn push(&mut self, text: &str) {
        let n_lines = text.bytes().filter(|byte| *byte == b'\n').count();
        self.n_lines = self.n_lines.saturating_add(u32::try_from(n_lines).unwrap_or(u32::MAX));
        self.text.push_str(text);
    }
}

/// Lines of text that would be headings, quotes, tables or fences in Markdown.
fn escape(text: &str) -> String {
    let is_special = |line: &str| line.starts_with(['#', '>', '|']) || line.starts_with("```");
    if !text.lines().any(is_special) {
        return text.to_owned();
    }
    let escaped = text.lines().map(|line| match is_special(line) {
        true => format!("\\{line}"),
        false => line.to_owned(),
    });
    escaped.collect::<Vec<_>>().join("\n")
}

/// Code between fences that are longer than any in it.
fn fence(lines: &[String]) -> String {
    let longest = lines
        .iter()
        .map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count())
        .max();
    let fence = "`".repeat(longest.unwrap_or_default().max(2) + 1);
    format!("{fence}\n{}\n{fence}", lines.join("\n"))
}
