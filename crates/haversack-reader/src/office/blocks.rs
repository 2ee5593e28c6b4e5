//! The blocks that a document is made of, collected while it is read. Tables, text boxes and notes
//! may stand within each other.

use super::markdown::clean_lines;

/// Columns of a table. What stands further to the right is joined with the last.
const COLUMNS_MAX: usize = 500;

/// Characters up to which the text of a cell that spans rows is repeated in each of them.
const REPEATED_MAX: usize = 80;

/// A block of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// A heading with its level, from 1 to 6.
    Heading(u8, String),
    /// A paragraph; line feeds are breaks that its author set.
    Paragraph(String),
    /// An item of a list.
    Item {
        /// How deep the list is nested, from 0.
        level: usize,
        /// Its number, or nothing for a bullet.
        label: String,
        /// Its text.
        text: String,
    },
    /// Lines of code. Neighbours belong together.
    Code(String),
    /// A table: rows of cells, each with blocks of its own.
    Table(Vec<Vec<Vec<Block>>>),
}

/// How a cell of a table spreads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CellShape {
    /// How many columns it spans.
    pub(crate) columns: usize,
    /// Whether it continues the cell above it.
    pub(crate) continues: bool,
}

impl CellShape {
    /// A cell of one row and one column.
    pub(crate) const SINGLE: CellShape = CellShape { columns: 1, continues: false };
}

#[derive(Debug)]
struct OpenCell {
    shape: CellShape,
    blocks: Vec<Block>,
}

#[derive(Debug, Default)]
struct OpenTable {
    rows: Vec<Vec<OpenCell>>,
    /// Whether a cell is open. What stands between cells belongs to no one.
    in_cell: bool,
}

#[derive(Debug, Default)]
struct Layer {
    blocks: Vec<Block>,
    tables: Vec<OpenTable>,
    /// Blocks of text boxes, which follow the paragraph that they are anchored to.
    anchored: Vec<Block>,
}

/// Collects blocks.
#[derive(Debug)]
pub(crate) struct BlockBuilder {
    layer: Layer,
    /// What is read further when the text box or note that is being read ends.
    outer: Vec<Layer>,
}

impl BlockBuilder {
    pub(crate) fn new() -> BlockBuilder {
        BlockBuilder { layer: Layer::default(), outer: Vec::new() }
    }

    /// Adds a block where the document stands: in a cell, or on the page.
    pub(crate) fn push(&mut self, block: Block) {
        let anchored = std::mem::take(&mut self.layer.anchored);
        let target = self.target();
        target.push(block);
        target.extend(anchored);
    }

    /// Places the blocks of text boxes whose paragraph turned out to be empty.
    pub(crate) fn flush_anchored(&mut self) {
        let anchored = std::mem::take(&mut self.layer.anchored);
        self.target().extend(anchored);
    }

    /// Whether blocks go into a cell of a table.
    pub(crate) fn is_in_cell(&self) -> bool {
        self.layer.tables.iter().any(|table| table.in_cell)
    }

    fn target(&mut self) -> &mut Vec<Block> {
        let open = self.layer.tables.iter_mut().rev().find(|table| table.in_cell);
        let cell = open.and_then(|table| table.rows.last_mut()?.last_mut());
        match cell {
            Some(cell) => &mut cell.blocks,
            None => &mut self.layer.blocks,
        }
    }

    pub(crate) fn begin_table(&mut self) {
        self.layer.tables.push(OpenTable::default());
    }

    pub(crate) fn begin_row(&mut self) {
        if let Some(table) = self.layer.tables.last_mut() {
            table.rows.push(Vec::new());
        }
    }

    /// Drops the row that is being read.
    pub(crate) fn drop_row(&mut self) {
        if let Some(table) = self.layer.tables.last_mut() {
            table.in_cell = false;
            table.rows.pop();
        }
    }

    pub(crate) fn begin_cell(&mut self) {
        if let Some(table) = self.layer.tables.last_mut() {
            table.in_cell = true;
            if table.rows.is_empty() {
                table.rows.push(Vec::new());
            }
            if let Some(row) = table.rows.last_mut() {
                row.push(OpenCell { shape: CellShape::SINGLE, blocks: Vec::new() });
            }
        }
    }

    /// Says how the cell that is being read spreads.
    pub(crate) fn set_cell(&mut self, set: impl FnOnce(&mut CellShape)) {
        let row = self.layer.tables.last_mut().and_then(|table| table.rows.last_mut());
        if let Some(cell) = row.and_then(|row| row.last_mut()) {
            set(&mut cell.shape);
        }
    }

    pub(crate) fn end_cell(&mut self) {
        if let Some(table) = self.layer.tables.last_mut() {
            table.in_cell = false;
        }
    }

    pub(crate) fn end_table(&mut self) {
        let Some(table) = self.layer.tables.pop() else { return };
        let rows = expand(table.rows);
        if rows.iter().flatten().all(Vec::is_empty) {
            return;
        }
        // A table of one column is a frame around text, not a table.
        match rows.iter().all(|row| row.len() <= 1) {
            true => rows.into_iter().flatten().flatten().for_each(|block| self.push(block)),
            false => self.push(Block::Table(rows)),
        }
    }

    /// Begins a text that does not stand where it is written: a text box or a note.
    pub(crate) fn begin_detached(&mut self) {
        self.outer.push(std::mem::take(&mut self.layer));
    }

    /// Ends a detached text and returns its blocks.
    pub(crate) fn end_detached(&mut self) -> Vec<Block> {
        while !self.layer.tables.is_empty() {
            self.end_table();
        }
        let mut layer = match self.outer.pop() {
            Some(outer) => std::mem::replace(&mut self.layer, outer),
            None => std::mem::take(&mut self.layer),
        };
        layer.blocks.append(&mut layer.anchored);
        layer.blocks
    }

    /// Lets blocks follow the paragraph that is being read.
    pub(crate) fn anchor(&mut self, blocks: Vec<Block>) {
        self.layer.anchored.extend(blocks);
    }

    /// All blocks.
    pub(crate) fn finish(mut self) -> Vec<Block> {
        while !self.outer.is_empty() {
            let blocks = self.end_detached();
            self.anchor(blocks);
        }
        self.end_detached()
    }
}

/// Gives each row a cell for each column that its cells span.
fn expand(rows: Vec<Vec<OpenCell>>) -> Vec<Vec<Vec<Block>>> {
    let mut all: Vec<Vec<Vec<Block>>> = Vec::with_capacity(rows.len());
    for cells in rows {
        let mut row: Vec<Vec<Block>> = Vec::with_capacity(cells.len());
        for cell in cells {
            let mut blocks = cell.blocks;
            if row.len() >= COLUMNS_MAX {
                if let Some(last) = row.last_mut() {
                    last.append(&mut blocks);
                }
                continue;
            }
            if cell.shape.continues && blocks.is_empty() {
                let above = all.last().and_then(|above| above.get(row.len()));
                blocks = above.filter(|above| is_short(above)).cloned().unwrap_or_default();
            }
            row.push(blocks);
            let spanned = cell.shape.columns.clamp(1, COLUMNS_MAX - row.len() + 1);
            row.extend((1..spanned).map(|_| Vec::new()));
        }
        all.push(row);
    }
    all
}

fn is_short(blocks: &[Block]) -> bool {
    match blocks {
        [Block::Paragraph(text)] => text.len() <= REPEATED_MAX,
        _ => false,
    }
}

/// The text of blocks on one line, for cells and notes.
pub(crate) fn flatten(blocks: &[Block]) -> String {
    let mut line = String::new();
    for block in blocks {
        let text = match block {
            Block::Heading(_, text) | Block::Paragraph(text) => clean_lines(text),
            Block::Code(text) => text.trim().to_owned(),
            Block::Item { label, text, .. } if label.is_empty() => clean_lines(text),
            Block::Item { label, text, .. } => format!("{label} {}", clean_lines(text)),
            Block::Table(rows) => {
                let cells = |row: &Vec<Vec<Block>>| {
                    let cells =
                        row.iter().map(|cell| flatten(cell)).filter(|cell| !cell.is_empty());
                    cells.collect::<Vec<_>>().join(", ")
                };
                let rows = rows.iter().map(cells).filter(|row| !row.is_empty());
                rows.collect::<Vec<_>>().join("; ")
            }
        };
        for text in text.lines().map(str::trim).filter(|text| !text.is_empty()) {
            match line.chars().next_back() {
                None => {}
                Some('.' | ',' | ';' | ':' | '!' | '?' | '-' | '–') => line.push(' '),
                Some(_) => line.push_str("; "),
            }
            line.push_str(text);
        }
    }
    line
}
