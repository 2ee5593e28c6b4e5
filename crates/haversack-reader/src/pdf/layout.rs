//! Turns the lines of a page into blocks: paragraphs, headings, list items, code and tables.

use std::collections::BTreeMap;

use super::inspect::Page;
use super::line::{Line, is_wide};
use super::table::Table;

/// A line begins a new block after a gap larger than the usual one by this factor.
const GAP_FACTOR: f32 = 1.17;

/// A heading is larger than the body by this factor.
const HEADING_FACTOR: f32 = 1.12;

/// Headings have no more letters.
const HEADING_LETTERS_MAX: usize = 200;

/// Levels that sizes make; a bold line of the body's size is one below them.
const LEVELS_MAX: usize = 5;

/// A piece of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading with its level, from 1.
    Heading(usize, String),
    /// A paragraph. Lines that the author broke stay lines.
    Paragraph(String),
    /// An item of a list.
    Item(String),
    /// Lines of code.
    Code(Vec<String>),
    /// A table, as Markdown.
    Table(String),
}

/// How the text of a document is set.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Style {
    /// The font size of most letters.
    pub(super) body_size: f32,
    /// The usual distance of two lines, in font sizes.
    leading: f32,
    /// The sizes of headings, largest first.
    heading_sizes: Vec<i32>,
    /// Whether most of the text has letters of one width, so that these are no sign of code.
    is_fixed: bool,
}

impl Style {
    /// The style of a document.
    pub(super) fn of(pages: &[Page]) -> Style {
        let lines = || pages.iter().flat_map(|page| &page.lines);
        let mut sizes: BTreeMap<i32, usize> = BTreeMap::new();
        let (mut letters, mut fixed) = (0, 0);
        for line in lines() {
            let count = line.text.chars().count();
            *sizes.entry(half_points(line.size)).or_default() += count;
            letters += count;
            fixed += if line.is_fixed { count } else { 0 };
        }
        let body = most_common(&sizes).unwrap_or(20);
        #[expect(clippy::cast_precision_loss, reason = "font sizes")]
        let body_size = body as f32 / 2.0;
        let mut heading_sizes: Vec<i32> = lines()
            .filter(|line| line.size > body_size * HEADING_FACTOR && is_title_like(&line.text))
            .map(|line| half_points(line.size))
            .collect();
        heading_sizes.sort_unstable_by(|a, b| b.cmp(a));
        heading_sizes.dedup();
        let leading = usual_leading(pages, body);
        Style { body_size, leading, heading_sizes, is_fixed: fixed * 2 > letters }
    }

    fn heading_level(&self, line: &Line) -> Option<usize> {
        if line.size <= self.body_size * HEADING_FACTOR {
            return None;
        }
        let larger = self.heading_sizes.iter().filter(|size| **size > half_points(line.size));
        Some((larger.count() + 1).min(LEVELS_MAX))
    }
}

fn half_points(size: f32) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "saturates")]
    let half_points = (size * 2.0).round() as i32;
    half_points
}

fn most_common(counts: &BTreeMap<i32, usize>) -> Option<i32> {
    counts.iter().max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(a.0))).map(|(key, _)| *key)
}

fn usual_leading(pages: &[Page], body: i32) -> f32 {
    let mut gaps: BTreeMap<i32, usize> = BTreeMap::new();
    for pair in pages.iter().flat_map(|page| page.lines.windows(2)) {
        let [above, below] = pair else { continue };
        let is_body = half_points(above.size) == body && half_points(below.size) == body;
        let gap = (above.y - below.y) / above.size.max(1.0);
        if is_body && (0.8..2.5).contains(&gap) {
            *gaps.entry(half_points(gap * 10.0)).or_default() += 1;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let leading = most_common(&gaps).map_or(1.2, |gap| gap as f32 / 20.0);
    leading
}

fn is_title_like(text: &str) -> bool {
    let letters = text.chars().filter(|letter| letter.is_alphabetic()).count();
    letters >= 2 && text.chars().count() <= HEADING_LETTERS_MAX
}

/// The blocks of a page.
pub(super) fn find_blocks(page: &Page, style: &Style) -> Vec<Block> {
    let lines = &page.lines;
    let mut tables: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for table in &page.tables {
        if let Some(range) = table.find_lines(lines) {
            tables.entry(range.start).or_insert((range.end, table.to_markdown()));
        }
    }
    for (range, table) in Table::all_by_place(lines) {
        let is_free = |(start, (end, _)): (&usize, &(usize, String))| {
            range.end <= *start || *end <= range.start
        };
        if tables.iter().all(is_free) {
            tables.insert(range.start, (range.end, table.to_markdown()));
        }
    }
    let mut blocks = Vec::new();
    let (mut index, mut first) = (0, 0);
    let margins = right_margins(lines);
    while index < lines.len() {
        if let Some((end, table)) = tables.get(&index) {
            let run = first..index;
            push_text(&mut blocks, &lines[run.clone()], &margins[run], style);
            blocks.push(Block::Table(table.clone()));
            index = (*end).max(index + 1);
            first = index;
        } else {
            index += 1;
        }
    }
    push_text(&mut blocks, &lines[first..], &margins[first..], style);
    blocks
}

/// For each line the place to which the lines of its column reach.
fn right_margins(lines: &[Line]) -> Vec<f32> {
    let margin = |line: &Line| {
        let near = |other: &&Line| {
            (other.left - line.left).abs() < line.size * 4.0
                && (other.size - line.size).abs() < 1.0
                && (other.y - line.y).abs() < line.size * 40.0
        };
        let mut rights: Vec<f32> = lines.iter().filter(near).map(|other| other.right).collect();
        rights.sort_by(f32::total_cmp);
        // Single lines stick out.
        rights.get(rights.len() * 17 / 20).copied().unwrap_or(line.right)
    };
    lines.iter().map(margin).collect()
}

fn push_text(blocks: &mut Vec<Block>, lines: &[Line], margins: &[f32], style: &Style) {
    let mut first = 0;
    for index in 1..=lines.len() {
        let ends = match lines.get(index) {
            Some(line) => begins_block(&lines[first..index], margins[index - 1], line, style),
            None => true,
        };
        if ends && first < index {
            push_block(blocks, &lines[first..index], &margins[first..index], style);
            first = index;
        }
    }
}

/// Whether a line begins a new block after the lines of the block before it.
fn begins_block(block: &[Line], margin: f32, line: &Line, style: &Style) -> bool {
    let Some(last) = block.last() else { return true };
    let em = last.size.max(1.0);
    let is_split_word = ends_in_hyphen(&last.text) && starts_lower(&line.text);
    let gap = (last.y - line.y) / em;
    let is_far = gap > style.leading.max(1.0) * GAP_FACTOR;
    let is_elsewhere = gap < -0.5 || gap > style.leading.max(1.0) * 2.2;
    if (last.size / line.size.max(1.0) - 1.0).abs() > 0.08 && !is_split_word {
        return true;
    }
    if is_elsewhere {
        // The next column: only a sentence that goes on joins them.
        return !(is_split_word || goes_on(&last.text) && starts_lower(&line.text));
    }
    if starts_item(&line.text) || is_split_word {
        return !is_split_word;
    }
    let ends_early = last.right + em * 0.4 + line.first_word_width() < margin - em * 0.5;
    if last.is_fixed != line.is_fixed && !style.is_fixed {
        return ends_early || is_far || (line.left - last.left).abs() > em * 0.5;
    }
    if last.is_bold != line.is_bold && (ends_early || is_far) {
        return true;
    }
    if is_far {
        // Formulas push lines apart, too.
        return ends_early || gap > style.leading * 1.6 || !starts_lower(&line.text);
    }
    if last.is_fixed && !style.is_fixed {
        return false;
    }
    let shift = (line.left - last.left) / em;
    let is_indented = shift > 0.7 && (ends_early || !goes_on(&last.text));
    let is_outdented = shift < -0.7 && block.len() > 1 && !goes_on(&last.text);
    let is_hanging = block.len() == 1 && starts_item(&block[0].text);
    (is_indented && !is_hanging) || is_outdented
}

fn push_block(blocks: &mut Vec<Block>, lines: &[Line], margins: &[f32], style: &Style) {
    let Some(first) = lines.first() else { return };
    if lines.iter().all(|line| line.is_fixed) && !style.is_fixed && lines.len() > 1 {
        blocks.push(Block::Code(code_lines(lines)));
        return;
    }
    let mut text = String::new();
    for (index, line) in lines.iter().enumerate() {
        if index == 0 {
            text.push_str(&line.text);
            continue;
        }
        let last = &lines[index - 1];
        let em = last.size.max(1.0);
        let ends_early =
            last.right + em * 0.4 + line.first_word_width() < margins[index - 1] - em * 0.8;
        let is_broken = ends_early && !starts_lower(&line.text) || are_rows(last, line);
        join_line(&mut text, &line.text, is_broken);
    }
    let is_short = text.chars().count() <= HEADING_LETTERS_MAX && lines.len() <= 3;
    let heading = style.heading_level(first).or_else(|| {
        let is_bold = lines.iter().all(|line| line.is_bold) && is_numbered(&text);
        is_bold.then_some((style.heading_sizes.len() + 1).min(LEVELS_MAX + 1))
    });
    match heading {
        Some(level) if is_short && is_title_like(&text) && !starts_item(&text) => {
            blocks.push(Block::Heading(level, text.replace('\n', " ").trim().to_owned()));
        }
        _ if text.starts_with(is_bullet) && starts_item(&text) => {
            blocks.push(Block::Item(text.trim_start_matches([' ']).chars().skip(1).collect()));
        }
        _ => blocks.push(Block::Paragraph(text)),
    }
}

/// Whether two lines are divided into as many cells, which begin below each other.
fn are_rows(above: &Line, below: &Line) -> bool {
    let begin_together =
        |(a, b): (&(f32, String), &(f32, String))| (a.0 - b.0).abs() < above.size * 0.5;
    !above.cells.is_empty()
        && above.cells.len() == below.cells.len()
        && above.cells.iter().zip(&below.cells).all(begin_together)
}

/// Adds a line to a paragraph.
fn join_line(text: &mut String, line: &str, is_broken: bool) {
    let last = text.chars().next_back();
    let is_unspaced = last.is_some_and(is_wide) && line.chars().next().is_some_and(is_wide);
    if is_broken && last != Some('-') {
        text.push('\n');
    } else if ends_in_hyphen(text) && starts_lower(line) {
        if joins_without_hyphen(text, line) {
            text.pop();
        }
    } else if !is_unspaced && !ends_in_hyphen(text) {
        text.push(' ');
    }
    text.push_str(line);
}

/// Whether a hyphen between two lines only divides a word: not in `well-known`, `x86-64` and
/// `a-b-c`.
fn joins_without_hyphen(text: &str, line: &str) -> bool {
    let before = text.trim_end_matches(['-', '\u{2010}']);
    let before = before.rsplit(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
    let after = line.split(|letter: char| letter.is_whitespace()).next().unwrap_or_default();
    let prefixes =
        ["non", "self", "well", "high", "low", "so", "user", "real", "two", "one", "multi"];
    let is_plain =
        |part: &str| part.chars().all(|letter| letter.is_alphabetic() || !letter.is_ascii());
    let word = before.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    is_plain(word)
        && !after.contains(['-', '_', '/'])
        && !prefixes.contains(&word.to_lowercase().as_str())
}

/// The lines of code with their indentation.
fn code_lines(lines: &[Line]) -> Vec<String> {
    let left = lines.iter().map(|line| line.left).fold(f32::INFINITY, f32::min);
    let mut widths: Vec<f32> = lines.iter().map(Line::letter_width).collect();
    widths.sort_by(f32::total_cmp);
    let width = widths.get(widths.len() / 2).copied().unwrap_or(5.0);
    let indented = |line: &Line| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
        let spaces = ((line.left - left) / width).round() as usize;
        format!("{}{}", " ".repeat(spaces.min(80)), line.text)
    };
    lines.iter().map(indented).collect()
}

fn ends_in_hyphen(text: &str) -> bool {
    let mut letters = text.chars().rev();
    matches!(letters.next(), Some('-' | '\u{2010}'))
        && letters.next().is_some_and(char::is_alphanumeric)
}

fn starts_lower(text: &str) -> bool {
    text.chars().next().is_some_and(char::is_lowercase)
}

/// Whether a sentence does not end here.
fn goes_on(text: &str) -> bool {
    let text = text.trim_end_matches(['"', '\'', ')', ']', '”', '’', '»']);
    !text.ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '：'])
}

pub(super) fn is_bullet(letter: char) -> bool {
    matches!(
        letter,
        '•' | '◦'
            | '▪'
            | '▸'
            | '‣'
            | '●'
            | '○'
            | '■'
            | '□'
            | '∙'
            | '·'
            | '⋄'
            | '–'
            | '\u{f0b7}'
    )
}

/// Whether a line begins an item: a bullet or a number before the text.
fn starts_item(text: &str) -> bool {
    let mut letters = text.chars();
    let Some(first) = letters.next() else { return false };
    if is_bullet(first) || matches!(first, '-' | '*') {
        return matches!(letters.next(), Some(' ') | None);
    }
    let (number, rest) = text.split_once(' ').unwrap_or((text, ""));
    let digits = number.trim_start_matches('(').trim_end_matches(['.', ')']);
    let is_marked = number.ends_with(['.', ')']) && digits.len() <= 2 && !rest.is_empty();
    is_marked && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a heading begins with a number such as `3.1`, or with a letter of an appendix.
fn is_numbered(text: &str) -> bool {
    let number = text.split(' ').next().unwrap_or_default();
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    !number.is_empty() && is_number && text.len() > number.len() + 1 && text.chars().count() < 100
}
