//! The text of a DOCX: its paragraphs, tables and text boxes as blocks.

use super::blocks::{Block, BlockBuilder};
use super::docx::NoteKey;
use super::markdown::{join_lines, link};
use super::numbering::Numbering;
use super::package::{Omissions, Relationships};
use super::styles::Styles;
use crate::part::ReadFailure;
use crate::xml::{XmlElement, XmlEvent, XmlReader};

/// Characters of a bold paragraph that may stand for a heading.
const BOLD_HEADING_MAX: usize = 120;

#[derive(Debug, Default)]
struct Paragraph {
    text: String,
    style: Option<String>,
    list: Option<i64>,
    list_level: Option<i64>,
    outline: Option<i64>,
    /// Letters, and how many of them are bold.
    letters: usize,
    bold_letters: usize,
    /// The links that are open: where their text begins, and their address.
    links: Vec<(usize, String)>,
}

#[derive(Debug, Default)]
struct Field {
    instruction: String,
    /// Whether its code has ended and its result is shown.
    has_result: bool,
    /// The paragraph that it begins in, and where.
    paragraph: u64,
    start: usize,
}

impl Field {
    /// Whether its result only repeats headings and words of the document.
    fn is_contents(&self) -> bool {
        let name = self.instruction.split_whitespace().next().unwrap_or_default();
        matches!(name, "TOC" | "INDEX" | "TOA" | "RD")
    }
}

#[derive(Debug, Default)]
struct Drawing {
    alternative: String,
    is_picture: bool,
    is_chart: bool,
    is_diagram: bool,
}

/// Where the reader stands, for elements that mean different things in different places.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "elements within elements, each open or not")]
struct Place {
    paragraph_properties: bool,
    row_properties: bool,
    hidden_run: bool,
    bold_run: bool,
    instruction: bool,
    text: bool,
    /// Whether the content that follows is a generated table of contents.
    contents_control: bool,
    row_is_deleted: bool,
    /// Whether the rest of the run is a sign for a note, in place of its number.
    custom_mark: bool,
}

/// Reads the main text, or the file of footnotes.
#[derive(Debug)]
pub(super) struct Story<'d> {
    styles: &'d Styles,
    links: &'d Relationships,
    numbering: Numbering,
    blocks: BlockBuilder,
    /// The paragraph that is being read; those around a text box before it.
    paragraphs: Vec<Paragraph>,
    paragraph_number: u64,
    fields: Vec<Field>,
    drawings: Vec<Drawing>,
    place: Place,
    has_contents: bool,
    note: Option<String>,
    omissions: Omissions,
    /// The text of the first paragraph in the style of titles.
    pub(super) title: String,
    /// The notes that the text refers to.
    pub(super) references: Vec<NoteKey>,
    /// The notes that the file holds, by id.
    pub(super) notes: Vec<(String, Vec<Block>)>,
}

impl<'d> Story<'d> {
    pub(super) fn new(
        styles: &'d Styles,
        numbering: Numbering,
        links: &'d Relationships,
    ) -> Story<'d> {
        Story {
            styles,
            links,
            numbering,
            blocks: BlockBuilder::new(),
            paragraphs: Vec::new(),
            paragraph_number: 0,
            fields: Vec::new(),
            drawings: Vec::new(),
            place: Place::default(),
            has_contents: false,
            note: None,
            omissions: Omissions::default(),
            title: String::new(),
            references: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Reads all events.
    pub(super) fn read(&mut self, reader: &mut XmlReader<'_>) -> Result<(), ReadFailure> {
        while let Some(event) = reader.next()? {
            match event {
                XmlEvent::Start(element) => self.start(&element, reader)?,
                XmlEvent::End(name) => self.end(&name),
                XmlEvent::Text(text) if self.place.text => self.push_text(&text),
                XmlEvent::Text(text) if self.place.instruction => {
                    if let Some(field) = self.fields.last_mut().filter(|field| !field.has_result) {
                        field.instruction.push_str(&text);
                    }
                }
                XmlEvent::Text(_) => {}
            }
        }
        Ok(())
    }

    /// The blocks, and what was left out.
    pub(super) fn finish(mut self, omissions: &mut Omissions) -> Vec<Block> {
        if self.has_contents {
            self.omissions.add("table of contents", "tables of contents", 1);
        }
        omissions.merge(self.omissions);
        self.blocks.finish()
    }

    fn start(
        &mut self,
        element: &XmlElement<'_>,
        reader: &mut XmlReader<'_>,
    ) -> Result<(), ReadFailure> {
        match element.name() {
            "p" => self.begin_paragraph(),
            "pPr" => self.place.paragraph_properties = true,
            "r" => (self.place.hidden_run, self.place.bold_run) = (false, false),
            "t" => self.place.text = !self.place.custom_mark,
            "instrText" => self.place.instruction = true,
            "fldChar" => self.turn_field(&element.attribute("fldCharType").unwrap_or_default()),
            "trPr" => self.place.row_properties = true,
            "del" if self.place.row_properties => self.place.row_is_deleted = true,
            "del" if self.place.paragraph_properties => {}
            "del" | "moveFrom" => {
                self.omissions.add("deleted revision", "deleted revisions", 1);
                reader.skip_element()?;
            }
            "pPrChange" | "rPrChange" | "sectPr" | "tblPrChange" | "tcPrChange" | "trPrChange"
            | "numberingChange" | "tblGrid" | "Fallback" | "rt" | "sdtEndPr" => {
                reader.skip_element()?;
            }
            "fldSimple" if is_contents(element) => {
                self.has_contents = true;
                reader.skip_element()?;
            }
            "sdtContent" if std::mem::take(&mut self.place.contents_control) => {
                self.has_contents = true;
                reader.skip_element()?;
            }
            "object" => {
                self.omissions.add("embedded object", "embedded objects", 1);
                reader.skip_element()?;
            }
            "altChunk" => self.omissions.add("embedded document", "embedded documents", 1),
            "commentReference" => self.omissions.add("comment", "comments", 1),
            _ if self.start_table(element) || self.start_drawing(element) => {}
            _ if self.place.paragraph_properties => self.set_paragraph(element),
            _ => self.start_inline(element),
        }
        Ok(())
    }

    fn start_table(&mut self, element: &XmlElement<'_>) -> bool {
        match element.name() {
            "tbl" => self.blocks.begin_table(),
            "tr" => {
                self.place.row_is_deleted = false;
                self.blocks.begin_row();
            }
            "tc" => self.blocks.begin_cell(),
            "gridSpan" => {
                let columns = element.number("val").unwrap_or(1).clamp(1, 1000);
                let columns = usize::try_from(columns).unwrap_or(1);
                self.blocks.set_cell(|shape| shape.columns = columns);
            }
            "vMerge" => {
                let continues = element.attribute("val").as_deref() != Some("restart");
                self.blocks.set_cell(|shape| shape.continues = continues);
            }
            _ => return false,
        }
        true
    }

    fn start_drawing(&mut self, element: &XmlElement<'_>) -> bool {
        if matches!(element.name(), "drawing" | "pict") {
            self.drawings.push(Drawing::default());
            return true;
        }
        let Some(drawing) = self.drawings.last_mut() else { return false };
        match element.name() {
            "docPr" | "shape" => {
                let described = ["descr", "alt", "title"].iter();
                let mut described = described.filter_map(|name| element.attribute(name));
                if let Some(text) = described.find(|text| !text.trim().is_empty()) {
                    drawing.alternative = text;
                }
            }
            "blip" | "imagedata" => drawing.is_picture = true,
            "chart" => drawing.is_chart = true,
            "relIds" => drawing.is_diagram = true,
            "txbxContent" => self.blocks.begin_detached(),
            _ => return false,
        }
        true
    }

    fn set_paragraph(&mut self, element: &XmlElement<'_>) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        match element.name() {
            "pStyle" => {
                paragraph.style = element.attribute("val");
                let style = self.styles.resolve(paragraph.style.as_deref());
                // A table of contents without an end must not swallow the document.
                if style.outline.is_some() && !style.is_contents {
                    self.fields.retain(|field| !field.is_contents());
                }
            }
            "numId" => paragraph.list = element.number("val"),
            "ilvl" => paragraph.list_level = element.number("val"),
            "outlineLvl" => paragraph.outline = element.number("val"),
            _ => {}
        }
    }

    fn start_inline(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "vanish" | "webHidden" => self.place.hidden_run = element.is_on(),
            "b" => self.place.bold_run = element.is_on(),
            "tab" | "ptab" => self.push_text("\t"),
            "br" => match element.attribute("type").as_deref() {
                Some("page" | "column") => self.push_text(" "),
                _ => self.push_text("\n"),
            },
            "cr" => self.push_text("\n"),
            "noBreakHyphen" => self.push_text("-"),
            "sym" => self.push_text(symbol(&element.attribute("char").unwrap_or_default())),
            "den" => self.push_text("/"),
            "sup" => self.push_text("^"),
            "sub" => self.push_text("_"),
            "hyperlink" => {
                let id = element.attribute("id").unwrap_or_default();
                let found = self.links.by_id(&id).filter(|found| found.is_external);
                let address = found.map_or(String::new(), |found| found.target.clone());
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.links.push((paragraph.text.len(), address));
                }
            }
            "footnoteReference" => self.refer("footnotes", element),
            "endnoteReference" => self.refer("endnotes", element),
            "footnote" | "endnote" => {
                self.note = element.attribute("id");
                self.blocks.begin_detached();
            }
            "docPartGallery" => {
                let gallery = element.attribute("val").unwrap_or_default();
                self.place.contents_control = gallery == "Table of Contents";
            }
            "sdtPr" => self.place.contents_control = false,
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "p" => self.end_paragraph(),
            "pPr" => self.place.paragraph_properties = false,
            "trPr" => self.place.row_properties = false,
            "t" => self.place.text = false,
            "r" => self.place.custom_mark = false,
            "instrText" => self.place.instruction = false,
            "tc" => self.blocks.end_cell(),
            "tr" if std::mem::take(&mut self.place.row_is_deleted) => {
                self.omissions.add("deleted revision", "deleted revisions", 1);
                self.blocks.drop_row();
            }
            "tbl" => self.blocks.end_table(),
            "hyperlink" => {
                let Some(paragraph) = self.paragraphs.last_mut() else { return };
                if let Some((start, address)) = paragraph.links.pop() {
                    paragraph.link(start, &address);
                }
            }
            "txbxContent" if !self.drawings.is_empty() => {
                let blocks = self.blocks.end_detached();
                self.blocks.anchor(blocks);
            }
            "drawing" | "pict" => self.end_drawing(),
            "footnote" | "endnote" => {
                let blocks = self.blocks.end_detached();
                if let Some(id) = self.note.take() {
                    self.notes.push((id, blocks));
                }
            }
            _ => {}
        }
    }

    fn end_drawing(&mut self) {
        let Some(drawing) = self.drawings.pop() else { return };
        let kind = match drawing {
            Drawing { is_picture: true, .. } => ("picture", "pictures"),
            Drawing { is_chart: true, .. } => ("chart", "charts"),
            Drawing { is_diagram: true, .. } => ("diagram", "diagrams"),
            _ => return,
        };
        self.omissions.add(kind.0, kind.1, 1);
        if let Some(text) = alternative_text(&drawing.alternative) {
            self.push_text(&format!(" [{}: {text}] ", kind.0));
        }
    }

    fn turn_field(&mut self, turn: &str) {
        match turn {
            "begin" => {
                let start = self.paragraphs.last().map_or(0, |paragraph| paragraph.text.len());
                let paragraph = self.paragraph_number;
                self.fields.push(Field { paragraph, start, ..Field::default() });
            }
            "separate" => {
                if let Some(field) = self.fields.last_mut() {
                    field.has_result = true;
                    self.has_contents |= field.is_contents();
                }
            }
            "end" => {
                let Some(field) = self.fields.pop() else { return };
                let mut words = field.instruction.split_whitespace();
                let is_link = words.next() == Some("HYPERLINK");
                let address = words.next().unwrap_or_default().trim_matches('"');
                let paragraph = self.paragraphs.last_mut();
                if let Some(paragraph) = paragraph.filter(|_| {
                    is_link && field.has_result && field.paragraph == self.paragraph_number
                }) {
                    paragraph.link(field.start, address);
                }
            }
            _ => {}
        }
    }

    fn refer(&mut self, kind: &'static str, element: &XmlElement<'_>) {
        let Some(id) = element.attribute("id") else { return };
        self.place.custom_mark =
            element.attribute("customMarkFollows").is_some_and(|on| on != "0" && on != "false");
        if self.is_shown() {
            self.references.push((kind, id));
            let number = self.references.len();
            self.push_text(&format!("[^{number}]"));
        }
    }

    /// Whether text belongs to the document rather than to the code of a field or a generated list.
    fn is_shown(&self) -> bool {
        self.fields.iter().all(|field| field.has_result && !field.is_contents())
    }

    fn push_text(&mut self, text: &str) {
        if !self.is_shown() {
            return;
        }
        if self.place.hidden_run {
            if !text.trim().is_empty() {
                self.omissions.add("hidden text", "hidden texts", 1);
            }
            return;
        }
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        let letters = text.chars().filter(|letter| letter.is_alphanumeric()).count();
        paragraph.letters += letters;
        if self.place.bold_run {
            paragraph.bold_letters += letters;
        }
        paragraph.text.push_str(text);
    }

    fn begin_paragraph(&mut self) {
        self.paragraphs.push(Paragraph::default());
        self.paragraph_number += 1;
    }

    fn end_paragraph(&mut self) {
        self.place.paragraph_properties = false;
        let Some(paragraph) = self.paragraphs.pop() else { return };
        let style = self.styles.resolve(paragraph.style.as_deref());
        let is_empty = paragraph.text.trim().is_empty();
        if style.is_contents {
            self.has_contents |= !is_empty;
            return self.blocks.flush_anchored();
        }
        if style.is_code {
            return self.blocks.push(Block::Code(paragraph.text));
        }
        if is_empty {
            return self.blocks.flush_anchored();
        }
        let list = paragraph.list.or(style.list).filter(|list| *list != 0);
        let level = paragraph.list_level.or(style.list_level).unwrap_or_default().clamp(0, 8);
        let label = list.and_then(|list| self.numbering.next_label(list, level, self.styles));
        let outline = paragraph.outline.or(style.outline).filter(|level| (0..9).contains(level));
        let block = if style.is_title {
            if self.title.is_empty() {
                self.title = join_lines(&paragraph.text);
            }
            Block::Heading(1, paragraph.text)
        } else if let Some(outline) = outline {
            // Under a title, the first headings are the second level.
            let level = outline + if self.title.is_empty() { 1 } else { 2 };
            let text = match label.filter(|label| !label.is_empty()) {
                Some(label) => format!("{label} {}", paragraph.text.trim()),
                None => paragraph.text,
            };
            Block::Heading(u8::try_from(level).unwrap_or(6), text)
        } else if let Some(label) = label {
            let level = usize::try_from(level.max(style.list_depth)).unwrap_or_default();
            Block::Item { level, label, text: paragraph.text }
        } else if paragraph.looks_like_heading() && !self.blocks.is_in_cell() {
            Block::Paragraph(format!("**{}**", join_lines(&paragraph.text)))
        } else {
            Block::Paragraph(paragraph.text)
        };
        self.blocks.push(block);
    }
}

impl Paragraph {
    /// Turns the text from a place on into a link.
    fn link(&mut self, start: usize, address: &str) {
        if let Some(text) = self.text.get(start..) {
            let text = link(text, address);
            self.text.truncate(start);
            self.text.push_str(&text);
        }
    }

    fn looks_like_heading(&self) -> bool {
        let is_bold = self.letters > 0 && self.bold_letters == self.letters;
        is_bold && self.text.len() <= BOLD_HEADING_MAX && !self.text.contains(['*', '['])
    }
}

fn is_contents(element: &XmlElement<'_>) -> bool {
    let instruction = element.attribute("instr").unwrap_or_default();
    Field { instruction, ..Field::default() }.is_contents()
}

/// The description of a picture, unless it is only the name of a file.
pub(super) fn alternative_text(text: &str) -> Option<String> {
    let text = join_lines(text).replace(['[', ']'], "");
    let ending = text.rsplit('.').next().unwrap_or_default().to_lowercase();
    let is_file = ["png", "jpg", "jpeg", "gif", "svg", "emf", "wmf", "bmp", "tif", "webp"];
    let is_file = is_file.contains(&ending.as_str()) && !text.contains(' ');
    (!text.is_empty() && !is_file).then_some(text)
}

/// Signs of the fonts Symbol and Wingdings that people use for lists and forms.
fn symbol(code: &str) -> &'static str {
    match code.to_ascii_uppercase().as_str() {
        "F0B7" | "F0A7" => "•",
        "F0A8" | "F06F" | "F071" => "☐",
        "F0FE" | "F0FD" | "F053" => "☒",
        "F0FC" => "✓",
        "F0FB" => "✗",
        "F0E0" | "F0AE" => "→",
        "F0B0" => "°",
        "F0B1" => "±",
        "F0A3" => "≤",
        "F0B3" => "≥",
        "F06D" => "µ",
        _ => "",
    }
}
