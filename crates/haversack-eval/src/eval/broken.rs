//! Counts broken blocks in the text of a pack: unclosed fences, tables without a header, headings
//! without text.

use std::collections::BTreeSet;

use super::blocks::{Fence, heading_level, is_delimiter_row};

/// The number of broken blocks by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BrokenBlocks {
    /// Unclosed code fences.
    pub(super) fences: usize,
    /// Runs of table rows without a header and a delimiter row above them.
    pub(super) tables: usize,
    /// Headings with no text below them.
    pub(super) headings: usize,
}

impl BrokenBlocks {
    /// Counts the broken blocks of a text. Lines in `verbatim` are source code, so they are neither
    /// headings nor table rows.
    pub(super) fn of(text: &str, verbatim: &BTreeSet<&str>) -> BrokenBlocks {
        let mut reader = BrokenBlockReader::new(verbatim);
        for line in text.lines() {
            reader.line(line);
        }
        reader.end()
    }

    pub(super) const fn total(self) -> usize {
        self.fences + self.tables + self.headings
    }
}

struct BrokenBlockReader<'t> {
    verbatim: &'t BTreeSet<&'t str>,
    broken: BrokenBlocks,
    fence: Option<Fence<'t>>,
    /// The levels of headings that have no text yet, outermost first.
    bare: Vec<usize>,
    /// How many rows the run has so far, and whether its second is a delimiter row.
    rows: usize,
    has_head: bool,
}

impl<'t> BrokenBlockReader<'t> {
    fn new(verbatim: &'t BTreeSet<&'t str>) -> BrokenBlockReader<'t> {
        let (broken, fence, bare) = (BrokenBlocks::default(), None, Vec::new());
        BrokenBlockReader { verbatim, broken, fence, bare, rows: 0, has_head: false }
    }

    fn line(&mut self, line: &'t str) {
        let fence = Fence::opened_by(line);
        if let Some(open) = self.fence {
            match fence {
                Some(fence) if fence.info.is_empty() && open.is_at_most(&fence) => {
                    self.fence = None;
                }
                // A fence with a language opens a new one, so the previous one is unclosed.
                Some(fence) if !fence.info.is_empty() && open.is_at_most(&fence) => {
                    self.broken.fences += 1;
                    self.fence = Some(fence);
                }
                _ => {}
            }
            return;
        }
        let is_verbatim = self.verbatim.contains(line.trim());
        if is_row(line) && !is_verbatim {
            self.row(line);
        } else {
            self.end_rows();
        }
        if fence.is_some() {
            self.bare.clear();
            self.fence = fence;
        } else if let Some(level) = heading_level(line).filter(|_| !is_verbatim) {
            self.heading(level);
        } else if is_text(line) {
            self.bare.clear();
        }
    }

    fn heading(&mut self, level: usize) {
        while self.bare.pop_if(|bare| *bare >= level).is_some() {
            self.broken.headings += 1;
        }
        self.bare.push(level);
    }

    fn row(&mut self, line: &str) {
        self.rows += 1;
        self.has_head |= self.rows == 2 && is_delimiter_row(line);
    }

    fn end_rows(&mut self) {
        if self.rows > 0 && !self.has_head {
            self.broken.tables += 1;
        }
        (self.rows, self.has_head) = (0, false);
    }

    fn end(mut self) -> BrokenBlocks {
        self.end_rows();
        self.broken.fences += usize::from(self.fence.is_some());
        self.broken.headings += self.bare.len();
        self.broken
    }
}

/// A row of a table between bars.
fn is_row(line: &str) -> bool {
    let line = line.trim();
    line.len() > 2 && line.starts_with('|') && line.ends_with('|')
}

/// Whether a line counts as text below a heading. Omission marks and closing tags do not.
fn is_text(line: &str) -> bool {
    let line = line.trim();
    let is_closing_tag = line.starts_with("</") && line.ends_with('>');
    !is_closing_tag && line.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_blocks_are_counted() {
        let check = |text: &str, fences: usize, tables: usize, headings: usize| {
            let broken = BrokenBlocks::of(text, &BTreeSet::new());
            assert_eq!(broken, BrokenBlocks { fences, tables, headings }, "{text:?}");
            assert_eq!(broken.total(), fences + tables + headings);
        };
        check("", 0, 0, 0);
        check("text\n\nmore", 0, 0, 0);
        check("```sh\nls\n```\n", 0, 0, 0);
        check("```sh\nls\n", 1, 0, 0);
        check("text\n```\n", 1, 0, 0);
        check("```sh\nls\n\n```py\nx\n```\n", 1, 0, 0);
        check("```\nls\n````\n", 0, 0, 0);
        check("````md\n```sh\nls\n```\n````\n", 0, 0, 0);
        check("~~~\n```\n~~~\n", 0, 0, 0);
        check("```sh\n# no heading\n| no | row |\n```", 0, 0, 0);
        check("| a | b |\n|---|---|\n| 1 | 2 |", 0, 0, 0);
        check("| 1 | 2 |\n| 3 | 4 |\n\ntext", 0, 1, 0);
        check("|---|---|\n| 1 | 2 |", 0, 1, 0);
        check("| 1 | 2 |\n\n| 3 | 4 |\ntext\n", 0, 2, 0);
        check("a | b\n--|--\n1 | 2", 0, 0, 0);
        check("# A\ntext", 0, 0, 0);
        check("# A\n", 0, 0, 1);
        check("# A\n## B\ntext", 0, 0, 0);
        check("# A\n## B\n## C\ntext", 0, 0, 1);
        check("# A\n## B\n# C\ntext", 0, 0, 2);
        check("## A\n[…]\n## B\n…\n", 0, 0, 2);
        check("## A\n</section>\n", 0, 0, 1);
        check("## A\n```\nx\n```\n## B\n| a |\n|---|\n", 0, 0, 0);
    }

    #[test]
    fn lines_of_source_code_are_not_headings() {
        let verbatim = BTreeSet::from(["# one", "# two"]);
        assert_eq!(BrokenBlocks::of("# one\n# two\n", &verbatim), BrokenBlocks::default());
        assert_eq!(BrokenBlocks::of("# three\n", &verbatim).headings, 1);
    }
}
