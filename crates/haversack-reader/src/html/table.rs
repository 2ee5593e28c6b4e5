//! Tables: those that hold data become pipe tables, those that only place things on a page are flattened.

use super::tag::Tag;
use super::tape::{Event, Tape};

/// Columns of a table.
const COLUMNS_MAX: usize = 100;

/// Bytes of a cell that is repeated in each row it spans.
const REPEATED_BYTES_MAX: usize = 100;

/// Bytes that are repeated in one table.
const REPEATED_ALL_MAX: usize = 1 << 20;

/// Bytes of a cell in a table without headings; with more it is a page in columns.
const CELL_BYTES_MAX: u32 = 1500;

/// Whether a table holds data. One that holds tables, headings or code, or has one row or column, does not.
pub(crate) fn is_data_table(tape: &Tape<'_>, table: u32) -> bool {
    let role = tape.attribute(table, "role").unwrap_or_default();
    if matches!(role.trim(), "presentation" | "none") {
        return false;
    }
    let (mut rows, mut cells, mut cells_max, mut has_header) = (0_usize, 0_usize, 0_usize, false);
    let (mut longest, mut code) = (0, 0_u32);
    for event in tape.inside(table) {
        let Event::Open(number) = event else { continue };
        let element = tape.element(*number);
        match element.tag {
            Tag::Table | Tag::H1 | Tag::H2 | Tag::H3 | Tag::Form => return false,
            Tag::Pre => code += element.text_bytes,
            Tag::Tr => {
                rows += 1;
                cells = 0;
            }
            Tag::Td | Tag::Th => {
                cells += usize::from(!element.is_skipped);
                cells_max = cells_max.max(cells);
                has_header |= element.tag == Tag::Th;
                longest = longest.max(element.text_bytes);
            }
            _ => {}
        }
    }
    let is_mostly_code = code > 200 && code * 2 > tape.element(table).text_bytes;
    let has_shape = cells_max >= 2 && (rows >= 2 || has_header);
    has_shape && !is_mostly_code && (has_header || longest <= CELL_BYTES_MAX)
}

/// A table that is being gathered.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
    /// For each column: in how many more rows its cell stands, and the text to repeat.
    spans: Vec<(usize, String)>,
    cell: Option<Cell>,
    repeated: usize,
}

#[derive(Debug)]
struct Cell {
    text: String,
    columns: usize,
    rows: usize,
}

impl Table {
    /// Begins a row.
    pub(crate) fn open_row(&mut self) {
        self.close_cell();
        self.finish_row();
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub(crate) fn open_cell(&mut self, columns: usize, rows: usize) {
        self.close_cell();
        let (columns, rows) = (columns.clamp(1, COLUMNS_MAX), rows.clamp(1, 1000));
        self.cell = Some(Cell { text: String::new(), columns, rows });
    }

    /// Whether a cell is open.
    pub(crate) const fn is_in_cell(&self) -> bool {
        self.cell.is_some()
    }

    /// Adds a block of text to the open cell.
    pub(crate) fn push_text(&mut self, text: &str) {
        let Some(cell) = &mut self.cell else { return };
        if !cell.text.is_empty() {
            cell.text.push_str("<br>");
        }
        for (number, line) in text.trim().split('\n').enumerate() {
            if number > 0 {
                cell.text.push_str("<br>");
            }
            cell.text.push_str(&line.trim_end().replace('|', "\\|"));
        }
    }

    /// Ends a cell.
    pub(crate) fn close_cell(&mut self) {
        let Some(Cell { text, columns, rows }) = self.cell.take() else { return };
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        self.fill_spans(false);
        let Some(row) = self.rows.last_mut() else { return };
        let column = row.len();
        if column >= COLUMNS_MAX {
            // Nothing is lost: what does not fit stands in the last column.
            if let Some(last) = row.last_mut() {
                last.push(' ');
                last.push_str(&text);
            }
            return;
        }
        let columns = columns.min(COLUMNS_MAX - column);
        if rows > 1 {
            self.spans.resize(self.spans.len().max(column + columns), (0, String::new()));
            for (at, span) in self.spans[column..column + columns].iter_mut().enumerate() {
                let is_repeated = at == 0 && text.len() <= REPEATED_BYTES_MAX;
                *span = (rows - 1, if is_repeated { text.clone() } else { String::new() });
            }
        }
        row.push(text);
        row.extend(std::iter::repeat_n(String::new(), columns - 1));
    }

    /// Fills the columns in which a cell of an earlier row still stands; all that are left if `to_end`.
    fn fill_spans(&mut self, to_end: bool) {
        let Some(row) = self.rows.last_mut() else { return };
        while let Some((left, text)) = self.spans.get_mut(row.len()) {
            // The cell of this row itself was counted when it was added.
            if *left == 0 {
                if !to_end {
                    break;
                }
                row.push(String::new());
                continue;
            }
            *left -= 1;
            self.repeated += text.len() + 1;
            let is_within = self.repeated <= REPEATED_ALL_MAX;
            row.push(if is_within { text.clone() } else { String::new() });
        }
    }

    /// Ends a row. One without cells is none.
    fn finish_row(&mut self) {
        match self.rows.last() {
            Some(row) if row.is_empty() => {
                self.rows.pop();
            }
            Some(row) if row.len() < self.spans.len() => {
                self.fill_spans(true);
                if let Some(row) = self.rows.last_mut() {
                    let filled = row.iter().rposition(|cell| !cell.is_empty());
                    row.truncate(filled.map_or(1, |at| at + 1));
                }
            }
            _ => {}
        }
    }

    /// The table as Markdown.
    pub(crate) fn finish(mut self) -> String {
        self.close_cell();
        self.finish_row();
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut out = String::new();
        for (number, row) in self.rows.iter().enumerate() {
            let empty = if number == 0 { columns - row.len() } else { 0 };
            push_row(
                &mut out,
                row.iter().map(String::as_str).chain(std::iter::repeat_n("", empty)),
            );
            if number == 0 {
                push_row(&mut out, std::iter::repeat_n("---", columns));
            }
        }
        out.truncate(out.trim_end().len());
        out
    }
}

fn push_row<'c>(out: &mut String, cells: impl Iterator<Item = &'c str>) {
    for cell in cells {
        out.push_str("| ");
        out.push_str(cell);
        out.push(' ');
    }
    out.push_str("|\n");
}
