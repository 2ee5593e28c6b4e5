//! The text of an OpenDocument file: paragraphs, lists, tables, text boxes and notes as blocks.

use std::collections::BTreeMap;

use super::blocks::{Block, BlockBuilder, flatten};
use super::docx_text::alternative_text;
use super::markdown::{join_lines, link};
use super::odf_styles::{LEVELS, OdfStyles};
use super::package::Omissions;
use crate::part::ReadFailure;
use crate::xml::{XmlElement, XmlReader};

/// Spaces that one element may stand for.
const SPACES_MAX: i64 = 200;

#[derive(Debug, Default)]
struct Paragraph {
    text: String,
    /// Its level as a heading, from 0.
    outline: Option<usize>,
    style: String,
    links: Vec<(usize, String)>,
}

#[derive(Debug)]
struct OpenList {
    style: String,
    counter: u32,
    /// Whether the next paragraph is the first of its item, which carries the label.
    is_new_item: bool,
    /// The paragraphs and tables around it: a list in a cell is not nested in the one around.
    outside: usize,
}

#[derive(Debug, Default)]
struct Drawing {
    /// What kind of frame it is on a slide.
    class: String,
    alternative: String,
    omitted: Option<(&'static str, &'static str)>,
    /// How many paragraphs were open when it began.
    paragraphs: usize,
    is_detached: bool,
}

/// Collects the text of a document or a slide.
#[derive(Debug)]
pub(super) struct OdfText<'d> {
    styles: &'d OdfStyles,
    is_slide: bool,
    blocks: BlockBuilder,
    paragraphs: Vec<Paragraph>,
    lists: Vec<OpenList>,
    /// How far lists of a style were counted, for those that continue.
    counted: BTreeMap<String, u32>,
    outline: [u32; LEVELS],
    drawings: Vec<Drawing>,
    /// Cells of the open tables that reach into the rows below: column, and rows that are left.
    spans: Vec<BTreeMap<usize, i64>>,
    columns: Vec<usize>,
    /// The notes at the end of the text.
    notes: Vec<String>,
    /// The title of the document or the slide.
    pub(super) title: String,
    /// What the speaker notes of the slide say.
    pub(super) speaker_notes: Vec<Block>,
    pub(super) omissions: Omissions,
}

impl<'d> OdfText<'d> {
    pub(super) fn new(styles: &'d OdfStyles, is_slide: bool) -> OdfText<'d> {
        OdfText {
            styles,
            is_slide,
            blocks: BlockBuilder::new(),
            paragraphs: Vec::new(),
            lists: Vec::new(),
            counted: BTreeMap::new(),
            outline: [0; LEVELS],
            drawings: Vec::new(),
            spans: Vec::new(),
            columns: Vec::new(),
            notes: Vec::new(),
            title: String::new(),
            speaker_notes: Vec::new(),
            omissions: Omissions::default(),
        }
    }

    /// All blocks, with the notes at the end.
    pub(super) fn finish(self) -> (Vec<Block>, Omissions) {
        let mut blocks = self.blocks.finish();
        let notes = self.notes.iter().zip(1..);
        let notes = notes.map(|(note, number)| Block::Paragraph(format!("[^{number}]: {note}")));
        blocks.extend(notes);
        (blocks, self.omissions)
    }

    pub(super) fn push_text(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(text);
        }
    }

    pub(super) fn start(
        &mut self,
        element: &XmlElement<'_>,
        reader: &mut XmlReader<'_>,
    ) -> Result<(), ReadFailure> {
        match element.name() {
            "annotation" => {
                self.omissions.add("comment", "comments", 1);
                reader.skip_element()?;
            }
            "deletion" => {
                self.omissions.add("deleted revision", "deleted revisions", 1);
                reader.skip_element()?;
            }
            "table-of-content" | "alphabetical-index" | "illustration-index" | "table-index"
            | "object-index" | "user-index" => {
                self.omissions.add("table of contents", "tables of contents", 1);
                reader.skip_element()?;
            }
            "section" if element.attribute("display").as_deref() == Some("none") => {
                self.omissions.add("hidden section", "hidden sections", 1);
                reader.skip_element()?;
            }
            "insertion" | "format-change" | "note-citation" | "ruby-text" | "forms"
            | "sequence-decls" | "variable-decls" | "user-field-decls" | "event-listeners"
            | "scripts" | "meta" | "automatic-styles" | "font-face-decls" | "page-thumbnail" => {
                reader.skip_element()?;
            }
            "title" | "desc" if self.is_description() => {
                let text = reader.element_text()?;
                if let Some(drawing) = self.drawings.last_mut() {
                    drawing.alternative = text;
                }
            }
            "header" | "footer" | "date-time" if self.is_slide => reader.skip_element()?,
            "frame" if self.is_slide && is_repeated_frame(element) => reader.skip_element()?,
            _ if self.start_table(element) || self.start_drawing(element) => {}
            _ => self.start_text(element),
        }
        Ok(())
    }

    /// Whether a title describes a drawing rather than being a field with the document's title.
    fn is_description(&self) -> bool {
        self.drawings.last().is_some_and(|drawing| drawing.paragraphs == self.paragraphs.len())
    }

    fn start_table(&mut self, element: &XmlElement<'_>) -> bool {
        match element.name() {
            "table" => {
                self.blocks.begin_table();
                self.spans.push(BTreeMap::new());
                self.columns.push(0);
            }
            "table-row" => {
                self.blocks.begin_row();
                if let Some(columns) = self.columns.last_mut() {
                    *columns = 0;
                }
            }
            "table-cell" | "covered-table-cell" => {
                self.blocks.begin_cell();
                let (Some(columns), Some(spans)) = (self.columns.last_mut(), self.spans.last_mut())
                else {
                    return true;
                };
                let rows = element.number("number-rows-spanned").unwrap_or(1);
                if rows > 1 {
                    spans.insert(*columns, rows - 1);
                } else if element.name() == "covered-table-cell"
                    && let Some(left) = spans.get_mut(columns).filter(|left| **left > 0)
                {
                    *left -= 1;
                    self.blocks.set_cell(|shape| shape.continues = true);
                }
                *columns += 1;
            }
            _ => return false,
        }
        true
    }

    fn start_drawing(&mut self, element: &XmlElement<'_>) -> bool {
        match element.name() {
            "frame" | "custom-shape" | "rect" | "ellipse" | "line" | "connector" | "polygon"
            | "polyline" | "path" | "circle" | "g" | "caption" | "measure" => {
                let class = element.attribute("class").unwrap_or_default();
                let paragraphs = self.paragraphs.len();
                // On a page of text, shapes are anchored; on a slide they are the text.
                let is_title = self.is_slide && class == "title" && self.title.is_empty();
                let is_detached = is_title || paragraphs > 0;
                if is_detached {
                    self.blocks.begin_detached();
                }
                self.drawings.push(Drawing {
                    class,
                    paragraphs,
                    is_detached,
                    ..Drawing::default()
                });
            }
            "image" => self.omit(("picture", "pictures")),
            "object" | "object-ole" => self.omit(("embedded object", "embedded objects")),
            "plugin" => self.omit(("film or sound", "films and sounds")),
            "notes" => self.blocks.begin_detached(),
            "note-body" => self.blocks.begin_detached(),
            _ => return false,
        }
        true
    }

    fn omit(&mut self, kind: (&'static str, &'static str)) {
        if let Some(drawing) = self.drawings.last_mut() {
            // An object carries a picture of itself.
            drawing.omitted.get_or_insert(kind);
        }
    }

    fn start_text(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "p" | "h" => {
                let outline = (element.name() == "h").then(|| {
                    let level = element.number("outline-level").unwrap_or(1);
                    usize::try_from(level.clamp(1, LEVELS as i64) - 1).unwrap_or_default()
                });
                let style = element.attribute("style-name").unwrap_or_default();
                self.paragraphs.push(Paragraph { outline, style, ..Paragraph::default() });
            }
            "s" => {
                let count = element.number("c").unwrap_or(1).clamp(1, SPACES_MAX);
                self.push_text(&" ".repeat(usize::try_from(count).unwrap_or(1)));
            }
            "tab" => self.push_text("\t"),
            "line-break" => self.push_text("\n"),
            "a" => {
                let address = element.attribute("href").unwrap_or_default();
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.links.push((paragraph.text.len(), address));
                }
            }
            "list" => self.begin_list(element),
            "list-item" => {
                let start = element.number("start-value");
                if let Some(list) = self.lists.last_mut() {
                    list.counter = match start.and_then(|start| u32::try_from(start).ok()) {
                        Some(start) => start,
                        None => list.counter.saturating_add(1),
                    };
                    list.is_new_item = true;
                }
            }
            _ => {}
        }
    }

    fn begin_list(&mut self, element: &XmlElement<'_>) {
        let outside = self.paragraphs.len() + self.columns.len();
        let around = self.lists.last().filter(|list| list.outside == outside);
        let inherited = around.map(|list| list.style.clone()).unwrap_or_default();
        let style = element.attribute("style-name").unwrap_or(inherited);
        let level = self.list_level(outside);
        let continues = element.attribute("continue-numbering").as_deref() == Some("true")
            || element.attribute("continue-list").is_some();
        let start = self.styles.list_level(&style, level).start.saturating_sub(1);
        let counter = match self.counted.get(&style) {
            Some(counted) if continues && level == 0 => *counted,
            _ => start,
        };
        self.lists.push(OpenList { style, counter, is_new_item: false, outside });
    }

    /// How many lists are open in the same cell or text box.
    fn list_level(&self, outside: usize) -> usize {
        self.lists.iter().rev().take_while(|list| list.outside == outside).count()
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "p" | "h" => self.end_paragraph(),
            "a" => {
                let Some(paragraph) = self.paragraphs.last_mut() else { return };
                let Some((start, address)) = paragraph.links.pop() else { return };
                if let Some(text) = paragraph.text.get(start..) {
                    let text = link(text, &address);
                    paragraph.text.truncate(start);
                    paragraph.text.push_str(&text);
                }
            }
            "list" => {
                if let Some(list) = self.lists.pop() {
                    self.counted.insert(list.style, list.counter);
                }
            }
            "table-cell" | "covered-table-cell" => self.blocks.end_cell(),
            "table" => {
                self.blocks.end_table();
                self.spans.pop();
                self.columns.pop();
            }
            "note-body" => {
                let note = flatten(&self.blocks.end_detached());
                self.notes.push(note);
                let number = self.notes.len();
                self.push_text(&format!("[^{number}]"));
            }
            "notes" => {
                let notes = self.blocks.end_detached();
                self.speaker_notes.extend(notes);
            }
            "frame" | "custom-shape" | "rect" | "ellipse" | "line" | "connector" | "polygon"
            | "polyline" | "path" | "circle" | "g" | "caption" | "measure" => self.end_drawing(),
            _ => {}
        }
    }

    fn end_drawing(&mut self) {
        let Some(drawing) = self.drawings.pop() else { return };
        if drawing.is_detached {
            let blocks = self.blocks.end_detached();
            if self.is_slide && drawing.class == "title" && self.title.is_empty() {
                self.title = join_lines(&flatten(&blocks));
            } else {
                self.blocks.anchor(blocks);
            }
        }
        let Some((one, many)) = drawing.omitted else { return };
        self.omissions.add(one, many, 1);
        let Some(text) = alternative_text(&drawing.alternative) else { return };
        let text = format!("[{one}: {text}]");
        match self.paragraphs.is_empty() {
            true => self.blocks.push(Block::Paragraph(text)),
            false => self.push_text(&format!(" {text} ")),
        }
    }

    fn end_paragraph(&mut self) {
        let Some(paragraph) = self.paragraphs.pop() else { return };
        let text = paragraph.text;
        if paragraph.outline.is_none() && self.styles.is_code(&paragraph.style) {
            return self.blocks.push(Block::Code(text));
        }
        if text.trim().is_empty() {
            return self.blocks.flush_anchored();
        }
        let block = if let Some(level) = paragraph.outline {
            let label = self.count_heading(level);
            let shift = if self.title.is_empty() || self.is_slide { 1 } else { 2 };
            let text = if label.is_empty() { text } else { format!("{label} {}", text.trim()) };
            Block::Heading(u8::try_from(level + shift).unwrap_or(6), text)
        } else if !self.is_slide && self.styles.is_title(&paragraph.style) {
            if self.title.is_empty() {
                self.title = join_lines(&text);
            }
            Block::Heading(1, text)
        } else {
            self.list_block(text)
        };
        self.blocks.push(block);
    }

    /// A paragraph as an item of the list around it.
    fn list_block(&mut self, text: String) -> Block {
        let outside = self.paragraphs.len() + self.columns.len();
        let level = self.list_level(outside);
        let counters: Vec<u32> = self
            .lists
            .iter()
            .skip(self.lists.len().saturating_sub(level))
            .map(|list| list.counter)
            .collect();
        let Some(list) = self.lists.last_mut().filter(|list| level > 0 && list.is_new_item) else {
            return Block::Paragraph(text);
        };
        list.is_new_item = false;
        let level = level - 1;
        let label = self.styles.list_level(&list.style, level.min(LEVELS - 1)).label(&counters);
        Block::Item { level, label, text }
    }

    fn count_heading(&mut self, level: usize) -> String {
        let style = self.styles.outline_level(level);
        if let Some(counter) = self.outline.get_mut(level) {
            *counter = counter.saturating_add(1).max(style.start);
        }
        self.outline.iter_mut().skip(level + 1).for_each(|counter| *counter = 0);
        style.label(self.outline.get(..=level).unwrap_or_default())
    }
}

/// Whether a frame stands on each slide and says nothing about it.
fn is_repeated_frame(element: &XmlElement<'_>) -> bool {
    let class = element.attribute("class").unwrap_or_default();
    matches!(class.as_str(), "header" | "footer" | "date-time" | "page-number")
}
