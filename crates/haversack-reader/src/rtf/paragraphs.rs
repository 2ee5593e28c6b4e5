//! Collects the paragraphs, items, tables and notes of a document as blocks.

use crate::office::blocks::Block;

/// Cells of a row. Further ones are joined with the last.
const COLUMNS_MAX: usize = 500;

/// Nested lists.
const LEVELS_MAX: usize = 20;

/// Signs before the items of a list. A `·` of the font Symbol comes as itself or from a private area.
const BULLETS: [&str; 12] =
    ["•", "·", "o", "-", "–", "*", "§", "▪", "■", "\u{f0b7}", "\u{f0a7}", "●"];

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Paragraphs {
    blocks: Vec<Block>,
    text: String,
    label: String,
    heading: Option<u8>,
    item_level: usize,
    is_in_table: bool,
    /// Blocks of the cell at hand, cells of the row at hand, rows of the table at hand.
    cell: Vec<Block>,
    row: Vec<Vec<Block>>,
    rows: Vec<Vec<Vec<Block>>>,
    notes: Vec<String>,
    is_in_note: bool,
}

impl Paragraphs {
    /// Adds text to the paragraph, or to the note at hand.
    pub(super) fn push(&mut self, text: &str) {
        match self.notes.last_mut().filter(|_| self.is_in_note) {
            Some(note) => note.push_str(text),
            None => self.text.push_str(text),
        }
    }

    /// Adds to the bullet or number of an item.
    pub(super) fn push_label(&mut self, text: &str) {
        self.label.push_str(text);
    }

    /// Forgets what was set for paragraphs.
    pub(super) fn reset(&mut self) {
        (self.heading, self.item_level, self.is_in_table) = (None, 0, false);
    }

    pub(super) const fn set_heading(&mut self, level: Option<u8>) {
        self.heading = level;
    }

    pub(super) fn set_item_level(&mut self, level: usize) {
        self.item_level = level.min(LEVELS_MAX);
    }

    pub(super) const fn set_in_table(&mut self, is_in_table: bool) {
        self.is_in_table = is_in_table;
    }

    /// Refers to a note, whose text follows.
    pub(super) fn begin_note(&mut self) {
        if !self.is_in_note {
            self.notes.push(String::new());
            self.text.push_str(&format!("[^{}]", self.notes.len()));
            self.is_in_note = true;
        }
    }

    pub(super) const fn end_note(&mut self) {
        self.is_in_note = false;
    }

    /// Ends a paragraph.
    pub(super) fn end(&mut self) {
        let block = self.take_block();
        if self.is_in_table {
            self.cell.extend(block);
            return;
        }
        self.end_table();
        self.blocks.extend(block);
    }

    fn take_block(&mut self) -> Option<Block> {
        let text = std::mem::take(&mut self.text);
        let label = std::mem::take(&mut self.label);
        let label = label.trim();
        if text.trim().is_empty() {
            return None;
        }
        let is_number = label.len() <= 20 && label.ends_with(['.', ')']);
        Some(match self.heading {
            Some(level) => Block::Heading(level, text),
            None if label.is_empty() => Block::Paragraph(text),
            None => {
                let label = if is_number && !BULLETS.contains(&label) { label } else { "" };
                Block::Item { level: self.item_level, label: label.to_owned(), text }
            }
        })
    }

    /// Ends a cell.
    pub(super) fn end_cell(&mut self) {
        let block = self.take_block();
        self.cell.extend(block);
        let cell = std::mem::take(&mut self.cell);
        let is_full = self.row.len() >= COLUMNS_MAX;
        match self.row.last_mut().filter(|_| is_full) {
            Some(last) => last.extend(cell),
            None => self.row.push(cell),
        }
    }

    /// Ends a row.
    pub(super) fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if row.iter().any(|cell| !cell.is_empty()) {
            self.rows.push(row);
        }
    }

    fn end_table(&mut self) {
        if !self.cell.is_empty() {
            self.end_cell();
        }
        self.end_row();
        let rows = std::mem::take(&mut self.rows);
        if !rows.is_empty() {
            self.blocks.push(Block::Table(rows));
        }
    }

    /// All blocks, with the notes at the end.
    pub(super) fn finish(mut self) -> Vec<Block> {
        self.is_in_table = false;
        self.end_table_before_text();
        let notes = std::mem::take(&mut self.notes);
        let notes = notes.into_iter().zip(1..).filter(|(text, _)| !text.trim().is_empty());
        self.blocks.extend(
            notes.map(|(text, number)| Block::Paragraph(format!("[^{number}]: {}", text.trim()))),
        );
        self.blocks
    }

    /// The last paragraph need not have an end.
    fn end_table_before_text(&mut self) {
        let block = self.take_block();
        self.end_table();
        self.blocks.extend(block);
    }
}
