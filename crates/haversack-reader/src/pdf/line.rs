//! A line of a page: its text, its place, and how it is set.

use pdf_inspector::TextItem;
use pdf_inspector::types::TextLine;

/// A space stands between two pieces that are further apart than this, in font sizes.
const SPACE_EMS: f32 = 0.13;

/// Pieces that are further apart than this, in font sizes, are cells rather than words.
const CELL_EMS: f32 = 1.3;

/// A line of a page. Lengths are in points; `y` grows upwards.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) left: f32,
    pub(super) right: f32,
    pub(super) y: f32,
    /// The font size of most of its letters.
    pub(super) size: f32,
    /// Whether all of it is bold.
    pub(super) is_bold: bool,
    /// Whether all of it has letters of one width.
    pub(super) is_fixed: bool,
    /// The pieces into which wide gaps divide it, with their left ends; empty without such gaps.
    pub(super) cells: Vec<(f32, String)>,
}

impl Line {
    /// The line of the parser's line; none if it is blank.
    pub(super) fn of(line: &TextLine) -> Option<Line> {
        let items: Vec<&TextItem> =
            line.items.iter().filter(|item| !item.text.trim().is_empty()).collect();
        let text = clean(&match items.iter().any(|item| is_out_of_row(item)) {
            true => line.text(),
            false => join(&items, line.adaptive_threshold.max(SPACE_EMS)),
        });
        if text.is_empty() {
            return None;
        }
        let left = items.iter().map(|item| item.x).fold(f32::INFINITY, f32::min);
        let right = items.iter().map(|item| item.x + item.width).fold(f32::NEG_INFINITY, f32::max);
        Some(Line {
            text,
            left: finite(left),
            right: finite(right),
            y: finite(line.y),
            size: most_common_size(&items),
            is_bold: items.iter().all(|item| item.is_bold),
            is_fixed: items.iter().all(|item| is_fixed(item)),
            cells: find_cells(&items),
        })
    }

    /// Lines without a place, of a text without layout.
    pub(super) fn all_of_plain_text(text: &str) -> Vec<Line> {
        let texts = text.lines().map(clean).filter(|text| !text.is_empty());
        let place = |(index, text): (usize, String)| {
            let y = f32::from(i16::try_from(index).unwrap_or(i16::MAX)) * -40.0;
            Line {
                text,
                left: 0.0,
                right: 400.0,
                y,
                size: 10.0,
                is_bold: false,
                is_fixed: false,
                cells: Vec::new(),
            }
        };
        texts.enumerate().map(place).collect()
    }

    /// The mean width of its letters.
    pub(super) fn letter_width(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "lines are short")]
        let letters = self.text.chars().count().max(1) as f32;
        ((self.right - self.left) / letters).max(0.1)
    }

    /// The width that its first word needs.
    pub(super) fn first_word_width(&self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "words are short")]
        let letters = self.text.split(' ').next().unwrap_or_default().chars().count() as f32;
        letters * self.letter_width()
    }
}

/// The pieces between wide gaps; none if there is only one.
fn find_cells(items: &[&TextItem]) -> Vec<(f32, String)> {
    let runs = items.chunk_by(|before, after| gap_ems(before, after) <= CELL_EMS);
    let cell = |run: &[&TextItem]| {
        let left = run.first().map_or(0.0, |item| item.x);
        (finite(left), clean(&join(run, SPACE_EMS)))
    };
    let cells: Vec<_> = runs.map(cell).collect();
    if cells.len() > 1 { cells } else { Vec::new() }
}

fn finite(number: f32) -> f32 {
    if number.is_finite() { number } else { 0.0 }
}

/// Whether the pieces of its line cannot simply be joined from left to right.
fn is_out_of_row(item: &TextItem) -> bool {
    let is_rtl = |letter: char| {
        let code = u32::from(letter);
        matches!(code, 0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF)
    };
    !item.advance_known || item.rotation.abs() > 1.0 || item.text.chars().any(is_rtl)
}

fn is_fixed(item: &TextItem) -> bool {
    let names = ["courier", "mono", "cmtt", "typewriter", "consolas", "menlo", "cmsltt", "cmitt"];
    let font = item.font.to_lowercase();
    item.fixed_pitch == Some(true) || names.iter().any(|name| font.contains(name))
}

fn gap_ems(before: &TextItem, after: &TextItem) -> f32 {
    let size = before.font_size.max(after.font_size).max(1.0);
    (after.x - (before.x + before.width)) / size
}

fn join(items: &[&TextItem], space_ems: f32) -> String {
    let mut text = String::new();
    let mut before: Option<&TextItem> = None;
    for item in items {
        let piece = item.text.as_str();
        if let Some(before) = before {
            let is_raised = before.baseline_shift.abs() > 0.0 || item.baseline_shift.abs() > 0.0;
            let least = if is_raised { space_ems.max(0.2) } else { space_ems };
            let gap = gap_ems(before, item);
            let is_wide = text.chars().next_back().is_some_and(is_wide)
                && piece.chars().next().is_some_and(is_wide);
            if gap > least && !(is_wide && gap < 0.6) && !text.ends_with(' ') {
                text.push(' ');
            } else if let Some(mark) = script_mark(&text, item) {
                text.push(mark);
            }
        }
        text.push_str(piece);
        before = Some(item);
    }
    text
}

/// `^` or `_` before a raised or lowered piece, so that `x²` does not become `x2`.
fn script_mark(text: &str, item: &TextItem) -> Option<char> {
    let is_ordinal = matches!(item.text.trim(), "st" | "nd" | "rd" | "th");
    let is_glued = text.chars().next_back().is_some_and(char::is_alphanumeric)
        && item.text.chars().next().is_some_and(char::is_alphanumeric);
    match is_glued && !is_ordinal {
        true if item.baseline_shift > 0.0 => Some('^'),
        true if item.baseline_shift < 0.0 => Some('_'),
        _ => None,
    }
}

/// Whether a letter is as wide as it is high, as in Chinese and Japanese, which know no spaces.
pub(super) fn is_wide(letter: char) -> bool {
    let code = u32::from(letter);
    matches!(code, 0x2E80..=0x9FFF | 0xF900..=0xFAFF | 0xFF00..=0xFFEF | 0x20000..=0x3FFFF)
}

fn most_common_size(items: &[&TextItem]) -> f32 {
    let mut sizes: Vec<(f32, usize)> = Vec::new();
    for item in items {
        let (size, letters) = (finite(item.font_size), item.text.chars().count());
        match sizes.iter_mut().find(|(known, _)| (known - size).abs() < 0.2) {
            Some((_, count)) => *count += letters,
            None => sizes.push((size, letters)),
        }
    }
    let most = sizes.iter().max_by(|a, b| a.1.cmp(&b.1).then(a.0.total_cmp(&b.0)));
    most.map_or(0.0, |(size, _)| *size)
}

/// One line without control characters, with single spaces, ligatures as letters and short leaders.
fn clean(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\u{fb00}' => kept.push_str("ff"),
            '\u{fb01}' => kept.push_str("fi"),
            '\u{fb02}' => kept.push_str("fl"),
            '\u{fb03}' => kept.push_str("ffi"),
            '\u{fb04}' => kept.push_str("ffl"),
            '\u{ad}' | '\u{200b}' | '\u{feff}' => {}
            _ if letter.is_whitespace() || letter.is_control() => push_space(&mut kept),
            _ => kept.push(letter),
        }
    }
    shorten_leaders(kept.trim())
}

fn push_space(text: &mut String) {
    if !text.ends_with(' ') {
        text.push(' ');
    }
}

/// Dots with or without spaces between them, as between a title and its page, become three.
fn shorten_leaders(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('.') {
        let (before, dots) = rest.split_at(at);
        let after = dots.trim_start_matches(['.', ' ']);
        let run = &dots[..dots.len() - after.len()];
        kept.push_str(before);
        if run.bytes().filter(|byte| *byte == b'.').count() > 3 {
            push_space(&mut kept);
            kept.push_str("... ");
        } else {
            kept.push_str(run);
        }
        rest = after;
    }
    kept.push_str(rest);
    kept.trim().to_owned()
}
