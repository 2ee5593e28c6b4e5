//! Groups lines into blocks.

use std::ops::Range;

use super::clutter::{is_clutter, is_front_matter};
use super::{
    BlockKind, LONG_LINE_BYTES_LEAST, PARAGRAPH_BYTES_MAX, STRETCH_BYTES_LEAST, TextBlock,
    WHOLE_BYTES_MAX,
};
use crate::text::boundary::{is_blank, lines, sentences};

/// How long a line may be that introduces a list or a listing.
const LEAD_BYTES_MAX: usize = 400;

/// The kind of a line, without its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Blank,
    Heading(u8),
    /// Opens or closes a fence: the mark, its count, and whether the line ends after it.
    Fence(u8, usize, bool),
    Item,
    Row,
    /// Continues the block before it, even after a blank line.
    Indented,
    Text,
}

pub(super) fn scan(text: &str) -> Vec<TextBlock> {
    let mut scan =
        BlockScanner { text, blocks: Vec::new(), headings: Vec::new(), open: None, tags: None };
    let all: Vec<(usize, &str)> = lines(text).collect();
    let mut at = front_matter(&all);
    if at > 0 {
        let end = all.get(at).map_or(text.len(), |(start, _)| *start);
        scan.push(0..end, BlockKind::Prose);
    }
    while at < all.len() {
        at = scan.line(&all, at);
    }
    scan.close(text.len());
    scan.finish()
}

/// How many lines at the beginning are metadata.
fn front_matter(all: &[(usize, &str)]) -> usize {
    let Some(fence) = all.first().map(|(_, line)| line.trim_end()) else { return 0 };
    if !is_front_matter(fence) {
        return 0;
    }
    let closing = all.iter().skip(1).position(|(_, line)| line.trim_end() == fence);
    closing.map_or(0, |at| at + 2)
}

struct BlockScanner<'t> {
    text: &'t str,
    blocks: Vec<TextBlock>,
    /// The current headings: level and block.
    headings: Vec<(u8, usize)>,
    /// The block that is being read: where it starts, what it is, and whether the last line was
    /// blank.
    open: Option<(usize, BlockKind, bool)>,
    /// Where tags start that go with the block after them.
    tags: Option<usize>,
}

impl BlockScanner<'_> {
    /// Reads the line at `at`, or all lines of a fence; says where to go on.
    fn line(&mut self, all: &[(usize, &str)], at: usize) -> usize {
        let (start, line) = all[at];
        let kind = classify(line);
        match kind {
            LineKind::Blank => {
                if let Some((_, _, after_blank)) = &mut self.open {
                    *after_blank = true;
                }
            }
            LineKind::Heading(level) => {
                self.close(start);
                self.open = Some((start, BlockKind::Heading(level), false));
                let end = all.get(at + 1).map_or(self.text.len(), |(next, _)| *next);
                self.close(end);
            }
            LineKind::Fence(mark, length, _) => return self.fence(all, at, mark, length),
            LineKind::Item => match self.open {
                // An item that is deeper than the list belongs to the item before it; a list is
                // parted into its items at the end, if it is long.
                Some((_, BlockKind::List, _)) => self.go_on(),
                _ => self.start(start, BlockKind::List),
            },
            LineKind::Row => match self.open {
                Some((_, BlockKind::Table, false)) => {}
                _ => self.start(start, BlockKind::Table),
            },
            LineKind::Indented => match self.open {
                Some((_, BlockKind::Prose | BlockKind::List | BlockKind::Fence, _)) => self.go_on(),
                _ => self.start(start, BlockKind::Prose),
            },
            LineKind::Text => match self.open {
                Some((_, BlockKind::Prose | BlockKind::List, false)) => {}
                _ => self.start(start, BlockKind::Prose),
            },
        }
        at + 1
    }

    /// A fence up to the line that closes it, or the end of the text. One inside a list item
    /// belongs to the list.
    fn fence(&mut self, all: &[(usize, &str)], at: usize, mark: u8, length: usize) -> usize {
        let (start, line) = all[at];
        let is_inside =
            matches!(self.open, Some((_, BlockKind::List, _))) && line.starts_with([' ', '\t']);
        let closes = |(_, line): &(usize, &str)| matches!(classify(line), LineKind::Fence(other, n, true) if other == mark && n >= length);
        let closing = all[at + 1..].iter().position(closes).map(|offset| at + 1 + offset);
        let next = closing.map_or(all.len(), |at| at + 1);
        if is_inside {
            self.go_on();
            return next;
        }
        let end = all.get(next).map_or(self.text.len(), |(start, _)| *start);
        let leads = matches!(self.open, Some((from, BlockKind::Prose, _))
            if start - from <= LEAD_BYTES_MAX && self.text[from..start].trim_end().ends_with(':'));
        if leads {
            if let Some((_, kind, _)) = &mut self.open {
                *kind = BlockKind::Fence;
            }
        } else {
            self.start(start, BlockKind::Fence);
        }
        self.close(end);
        next
    }

    fn go_on(&mut self) {
        if let Some((_, _, after_blank)) = &mut self.open {
            *after_blank = false;
        }
    }

    fn start(&mut self, at: usize, kind: BlockKind) {
        self.close(at);
        self.open = Some((at, kind, false));
    }

    fn close(&mut self, end: usize) {
        if let Some((start, kind, _)) = self.open.take() {
            self.push(start..end, kind);
        }
    }

    fn push(&mut self, range: Range<usize>, kind: BlockKind) {
        if range.is_empty() {
            return;
        }
        // Blank lines at the beginning go with the first block, others with the one before them.
        let range = if self.blocks.is_empty() { 0..range.end } else { range };
        let range =
            self.tags.take().filter(|_| !is_heading(kind)).unwrap_or(range.start)..range.end;
        if let Some(last) = self.blocks.last_mut() {
            last.range.end = range.start;
        }
        if kind == BlockKind::Prose && is_tags(&self.text[range.clone()]) {
            // They go with the block before them, unless a heading or nothing stands there.
            let is_alone = self.blocks.last().is_none_or(|last| is_heading(last.kind));
            self.tags = is_alone.then_some(range.start);
            return;
        }
        let place = self.blocks.len();
        let heading = |headings: &[(u8, usize)]| headings.last().map(|(_, block)| *block);
        if let BlockKind::Heading(level) = kind {
            while self.headings.pop_if(|(open, _)| *open >= level).is_some() {}
            let under = heading(&self.headings);
            self.headings.push((level, place));
            self.blocks.push(TextBlock { range, kind, under, is_clutter: false });
            return;
        }
        let is_separated = kind == BlockKind::Prose && is_separated(&self.text[range.clone()]);
        let kind = if is_separated { BlockKind::Table } else { kind };
        let is_clutter = is_clutter(&self.text[range.clone()], place == 0);
        let under = self.lead(&range, kind).or_else(|| heading(&self.headings));
        let parts = split_long_block(self.text, &range, kind);
        let is_parted = parts.len() > 1;
        for (number, range) in parts.into_iter().enumerate() {
            // Rows depend on the header of their table.
            let is_row = kind == BlockKind::Table && is_parted && number > 0;
            let under = if is_row { Some(place) } else { under };
            self.blocks.push(TextBlock { range, kind, under, is_clutter });
        }
    }

    /// The paragraph that introduces a list: right before it, and ending with a colon.
    fn lead(&self, range: &Range<usize>, kind: BlockKind) -> Option<usize> {
        let at = self.blocks.len().checked_sub(1)?;
        let before = &self.blocks[at];
        let leads = kind == BlockKind::List
            && before.kind == BlockKind::Prose
            && before.range.end == range.start
            && before.range.len() <= LEAD_BYTES_MAX
            && self.text[before.range.clone()].trim_end().ends_with(':');
        leads.then_some(at)
    }

    fn finish(mut self) -> Vec<TextBlock> {
        if let Some(last) = self.blocks.last_mut() {
            last.range.end = self.text.len();
        } else if !self.text.is_empty() {
            let range = 0..self.text.len();
            let kind = BlockKind::Prose;
            self.blocks.push(TextBlock { range, kind, under: None, is_clutter: false });
        }
        self.blocks
    }
}

/// A block, or the parts of one that is too long to be taken in as one.
fn split_long_block(text: &str, range: &Range<usize>, kind: BlockKind) -> Vec<Range<usize>> {
    let part = &text[range.clone()];
    let cuts: Vec<usize> = match kind {
        BlockKind::List if part.len() > WHOLE_BYTES_MAX => {
            let base = lines(part).find(|(_, line)| classify(line) == LineKind::Item);
            let base = base.map_or(0, |(_, line)| indent(line));
            let is_item = |line: &str| classify(line) == LineKind::Item && indent(line) <= base;
            // Text before the first item belongs to it.
            lines(part).filter(|(_, line)| is_item(line)).map(|(at, _)| at).skip(1).collect()
        }
        // The header, the line below it, and then rows a few at a time.
        BlockKind::Table if part.len() > WHOLE_BYTES_MAX => {
            let rows = lines(part).skip_while(|(_, line)| classify(line) != LineKind::Row);
            let starts: Vec<usize> = rows.map(|(at, _)| at).collect();
            if starts.is_empty() {
                let rows: Vec<usize> = lines(part).map(|(at, _)| at).skip(1).collect();
                in_stretches(&rows, WHOLE_BYTES_MAX / 3)
            } else {
                in_stretches(starts.get(2..).unwrap_or_default(), WHOLE_BYTES_MAX / 3)
            }
        }
        BlockKind::Prose => {
            let mut cuts = lines_apart(part);
            if cuts.is_empty() && part.len() > PARAGRAPH_BYTES_MAX && !is_code(part) {
                let starts: Vec<usize> =
                    sentences(part).into_iter().map(|range| range.start).collect();
                cuts = in_stretches(&starts, STRETCH_BYTES_LEAST);
            }
            cuts
        }
        _ => Vec::new(),
    };
    let mut parts = Vec::with_capacity(cuts.len() + 1);
    let mut from = 0;
    for at in cuts.into_iter().filter(|&at| at > 0).chain([part.len()]) {
        parts.push(range.start + from..range.start + at);
        from = at;
    }
    parts
}

/// Where the lines of a paragraph part, when each of them stands for itself: turns of a
/// conversation, or paragraphs that no blank line parts.
fn lines_apart(part: &str) -> Vec<usize> {
    let all: Vec<(usize, &str)> = lines(part).filter(|(_, line)| !is_blank(line)).collect();
    if all.len() < 2 || is_code(part) {
        return Vec::new();
    }
    let turns = all.iter().filter(|(_, line)| is_turn(line)).count();
    if turns >= 2 && turns * 10 >= all.len() * 6 {
        return all.iter().filter(|(_, line)| is_turn(line)).map(|(at, _)| *at).collect();
    }
    let long = all.iter().filter(|(_, line)| line.len() >= LONG_LINE_BYTES_LEAST).count();
    if long * 2 >= all.len() { all.iter().map(|(at, _)| *at).collect() } else { Vec::new() }
}

/// How many lines of values make a table, how many cells its lines have, and how long cells are in
/// the mean: running text has commas, too.
const SEPARATED_LINES_LEAST: usize = 3;
const SEPARATED_CELLS_LEAST: usize = 3;
const CELL_BYTES_MAX: usize = 40;

/// Whether lines are separated values: all have the same number of cells, and cells are short.
fn is_separated(part: &str) -> bool {
    let all: Vec<&str> = lines(part).map(|(_, line)| line).filter(|line| !is_blank(line)).collect();
    if all.len() < SEPARATED_LINES_LEAST {
        return false;
    }
    [',', ';', '\t'].into_iter().any(|separator| {
        let n_cells = cells(all[0], separator);
        n_cells >= SEPARATED_CELLS_LEAST
            && part.len() <= CELL_BYTES_MAX * n_cells * all.len()
            && all.iter().all(|line| cells(line, separator) == n_cells)
    })
}

/// How many cells a line has; a separator between quotes is part of a cell.
fn cells(line: &str, separator: char) -> usize {
    let mut is_quoted = false;
    let separators = line.chars().filter(|&c| {
        is_quoted ^= c == '"';
        c == separator && !is_quoted
    });
    separators.count() + 1
}

/// Whether a line is what somebody says: `Anna: the ferry is late`.
fn is_turn(line: &str) -> bool {
    let Some((name, said)) = line.split_once(": ") else { return false };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '_' | '\'' | '’');
    !said.trim().is_empty()
        && name.len() <= 40
        && name.chars().next().is_some_and(char::is_alphanumeric)
        && name.chars().all(is_name)
        && name.split(' ').count() <= 4
}

/// Whether lines are those of a program: indented, or ending in brackets and semicolons.
fn is_code(part: &str) -> bool {
    let (mut all, mut code) = (0, 0);
    for (_, line) in lines(part).filter(|(_, line)| !is_blank(line)) {
        all += 1;
        let end = line.trim_end();
        code +=
            usize::from(indent(line) >= 2 || end.ends_with(['{', '}', ';', '(', ')', ',', '[']));
    }
    code * 2 > all
}

/// Of possible cuts those that leave stretches of at least so many bytes.
fn in_stretches(cuts: &[usize], bytes_min: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = Vec::new();
    for &at in cuts {
        if kept.last().is_none_or(|last| at - last >= bytes_min) {
            kept.push(at);
        }
    }
    kept
}

fn is_heading(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::Heading(_))
}

/// Whether a block is nothing but tags without attributes, which open or close an element around
/// other blocks.
fn is_tags(block: &str) -> bool {
    let is_tag = |line: &str| {
        let name = line.strip_prefix('<').and_then(|line| line.strip_suffix('>'));
        name.is_some_and(|name| {
            let name = name.strip_prefix('/').unwrap_or(name);
            name.starts_with(char::is_alphabetic)
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
        })
    };
    lines(block).map(|(_, line)| line.trim()).filter(|line| !line.is_empty()).all(is_tag)
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn classify(line: &str) -> LineKind {
    if is_blank(line) {
        return LineKind::Blank;
    }
    let bare = line.trim_start_matches([' ', '\t']);
    let indent = line.len() - bare.len();
    let bytes = bare.as_bytes();
    if let Some(&mark) = bytes.first().filter(|mark| matches!(mark, b'`' | b'~')) {
        let length = bytes.iter().take_while(|byte| **byte == mark).count();
        let rest = bare[length..].trim();
        // A line of code between backticks is not a fence.
        if length >= 3 && !(mark == b'`' && rest.contains('`')) {
            return LineKind::Fence(mark, length, rest.is_empty());
        }
    }
    if indent < 4 && bytes[0] == b'#' {
        let level = bytes.iter().take_while(|byte| **byte == b'#').count();
        let is_title = bytes.get(level).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if level <= 6 && is_title && !bare[level..].trim().is_empty() {
            return LineKind::Heading(u8::try_from(level).unwrap_or(6));
        }
    }
    if bytes[0] == b'|' && bare.trim_end().len() > 1 {
        return LineKind::Row;
    }
    if is_item(bytes) {
        return LineKind::Item;
    }
    // The bracket that ends a function stands at the beginning of a line, often after a blank one.
    let goes_on = indent >= 2 || line.starts_with('\t') || matches!(bytes[0], b'}' | b')' | b']');
    if goes_on { LineKind::Indented } else { LineKind::Text }
}

fn is_item(bytes: &[u8]) -> bool {
    let is_space = |at: usize| bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
    match bytes[0] {
        b'-' | b'*' | b'+' => is_space(1),
        b'0'..=b'9' => {
            let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let is_mark = bytes.get(digits).is_some_and(|byte| matches!(byte, b'.' | b')'));
            digits <= 3 && is_mark && is_space(digits + 1)
        }
        _ => bytes.starts_with("•".as_bytes()),
    }
}
