//! The text of a slide: its shapes in their order, the title first.

use super::blocks::{Block, BlockBuilder, flatten};
use super::docx_text::alternative_text;
use super::markdown::link;
use super::numbering::format_number;
use super::package::{Omissions, Relationships};
use crate::part::ReadFailure;
use crate::xml::{XmlElement, XmlEvent, XmlReader};

/// Levels of the lists of a shape.
const LEVELS: usize = 9;

/// How a paragraph is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bullet {
    /// As its shape is by default.
    Inherited,
    None,
    Sign,
    /// The scheme of numbers, and where they start.
    Number(String, u32),
}

#[derive(Debug, Default)]
struct Shape {
    /// What it is a placeholder for; `None` for shapes of the slide's own.
    placeholder: Option<String>,
    alternative: String,
    counters: [u32; LEVELS],
}

#[derive(Debug)]
struct Paragraph {
    text: String,
    level: usize,
    bullet: Bullet,
    /// Where the current run begins, and the address that it links to.
    run: usize,
    address: String,
    in_number_field: bool,
}

/// Collects the text of a slide or its notes.
#[derive(Debug)]
pub(super) struct SlideText<'l> {
    links: &'l Relationships,
    is_notes: bool,
    blocks: BlockBuilder,
    shapes: Vec<Shape>,
    paragraph: Option<Paragraph>,
    in_text: bool,
    pub(super) title: String,
    /// The ids of the data of diagrams.
    pub(super) diagrams: Vec<String>,
    pub(super) omissions: Omissions,
}

impl<'l> SlideText<'l> {
    pub(super) fn new(links: &'l Relationships) -> SlideText<'l> {
        SlideText {
            links,
            is_notes: false,
            blocks: BlockBuilder::new(),
            shapes: Vec::new(),
            paragraph: None,
            in_text: false,
            title: String::new(),
            diagrams: Vec::new(),
            omissions: Omissions::default(),
        }
    }

    pub(super) fn of_notes(links: &'l Relationships) -> SlideText<'l> {
        SlideText { is_notes: true, ..SlideText::new(links) }
    }

    /// Reads a slide. Returns whether it is shown.
    pub(super) fn read(&mut self, reader: &mut XmlReader<'_>) -> Result<bool, ReadFailure> {
        while let Some(event) = reader.next()? {
            match event {
                XmlEvent::Start(element) => match element.name() {
                    "sld" if element.attribute("show").is_some_and(|show| is_off(&show)) => {
                        return Ok(false);
                    }
                    "Fallback" | "timing" | "transition" | "extLst" => reader.skip_element()?,
                    _ => self.start(&element),
                },
                XmlEvent::End(name) => self.end(&name),
                XmlEvent::Text(text) => self.push_text(&text),
            }
        }
        Ok(true)
    }

    pub(super) fn finish(self) -> Vec<Block> {
        self.blocks.finish()
    }

    fn push_text(&mut self, text: &str) {
        if let Some(paragraph) = self.paragraph.as_mut().filter(|_| self.in_text) {
            paragraph.text.push_str(text);
        }
    }

    fn start(&mut self, element: &XmlElement<'_>) {
        match element.name() {
            "sp" | "pic" | "graphicFrame" | "cxnSp" => {
                self.shapes.push(Shape::default());
                self.blocks.begin_detached();
            }
            "cNvPr" => {
                let described = element.attribute("descr").unwrap_or_default();
                if let Some(shape) = self.shapes.last_mut() {
                    shape.alternative = described;
                }
            }
            "ph" => {
                let kind = element.attribute("type").unwrap_or_else(|| "body".to_owned());
                if let Some(shape) = self.shapes.last_mut() {
                    shape.placeholder = Some(kind);
                }
            }
            "blip" if !self.shapes.is_empty() => self.omit("picture", "pictures"),
            "chart" => self.omit("chart", "charts"),
            "oleObj" => self.omit("embedded object", "embedded objects"),
            "videoFile" | "audioFile" => self.omit("film or sound", "films and sounds"),
            "relIds" => self.diagrams.extend(element.attribute("dm")),
            "tbl" => self.blocks.begin_table(),
            "tr" => self.blocks.begin_row(),
            "tc" => {
                self.blocks.begin_cell();
                let continues = element.attribute("vMerge").is_some_and(|on| !is_off(&on));
                self.blocks.set_cell(|shape| shape.continues = continues);
            }
            "t" => self.in_text = true,
            _ => self.start_paragraph(element),
        }
    }

    fn start_paragraph(&mut self, element: &XmlElement<'_>) {
        if element.name() == "p" {
            let bullet = Bullet::Inherited;
            let (text, address) = (String::new(), String::new());
            let paragraph =
                Paragraph { text, level: 0, bullet, run: 0, address, in_number_field: false };
            self.paragraph = Some(paragraph);
            return;
        }
        let Some(paragraph) = &mut self.paragraph else { return };
        match element.name() {
            "pPr" => {
                let level = element.number("lvl").unwrap_or_default().clamp(0, LEVELS as i64 - 1);
                paragraph.level = usize::try_from(level).unwrap_or_default();
            }
            "buNone" => paragraph.bullet = Bullet::None,
            "buChar" | "buBlip" => paragraph.bullet = Bullet::Sign,
            "buAutoNum" => {
                let scheme = element.attribute("type").unwrap_or_default();
                let start = element.number("startAt").unwrap_or(1);
                paragraph.bullet = Bullet::Number(scheme, u32::try_from(start).unwrap_or(1));
            }
            "br" => paragraph.text.push('\n'),
            "r" => paragraph.run = paragraph.text.len(),
            "fld" => {
                let kind = element.attribute("type").unwrap_or_default();
                paragraph.in_number_field = kind == "slidenum";
                paragraph.run = paragraph.text.len();
            }
            "hlinkClick" => {
                let id = element.attribute("id").unwrap_or_default();
                let target = self.links.by_id(&id).filter(|found| found.is_external);
                paragraph.address = target.map_or(String::new(), |found| found.target.clone());
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name {
            "sp" | "pic" | "graphicFrame" | "cxnSp" => self.end_shape(),
            "tc" => self.blocks.end_cell(),
            "tbl" => self.blocks.end_table(),
            "t" => self.in_text = false,
            "r" | "fld" => {
                let Some(paragraph) = &mut self.paragraph else { return };
                let run = paragraph.run.min(paragraph.text.len());
                if std::mem::take(&mut paragraph.in_number_field) {
                    paragraph.text.truncate(run);
                }
                let address = std::mem::take(&mut paragraph.address);
                if let Some(text) = paragraph.text.get(run..).filter(|_| !address.is_empty()) {
                    let text = link(text, &address);
                    paragraph.text.truncate(run);
                    paragraph.text.push_str(&text);
                }
            }
            "p" => self.end_paragraph(),
            _ => {}
        }
    }

    fn omit(&mut self, one: &'static str, many: &'static str) {
        self.omissions.add(one, many, 1);
        let Some(shape) = self.shapes.last_mut() else { return };
        if let Some(text) = alternative_text(&std::mem::take(&mut shape.alternative)) {
            self.blocks.push(Block::Paragraph(format!("[{one}: {text}]")));
        }
    }

    fn end_shape(&mut self) {
        let Some(shape) = self.shapes.pop() else { return };
        let blocks = self.blocks.end_detached();
        match shape.placeholder.as_deref() {
            Some("title" | "ctrTitle") if self.title.is_empty() && !self.is_notes => {
                self.title = flatten(&blocks);
            }
            // These stand on every slide, or show it.
            Some("dt" | "ftr" | "sldNum" | "hdr" | "sldImg") => {}
            _ => blocks.into_iter().for_each(|block| self.blocks.push(block)),
        }
    }

    fn end_paragraph(&mut self) {
        let Some(Paragraph { text, level, bullet, .. }) = self.paragraph.take() else { return };
        if text.trim().is_empty() {
            return;
        }
        let is_list = self.shapes.last().is_some_and(|shape| {
            matches!(shape.placeholder.as_deref(), Some("body" | "obj" | "half"))
        });
        let is_list = is_list && !self.is_notes;
        let label = match bullet {
            Bullet::Inherited if is_list => String::new(),
            Bullet::Inherited | Bullet::None => {
                return self.blocks.push(Block::Paragraph(text));
            }
            Bullet::Sign => String::new(),
            Bullet::Number(scheme, start) => {
                let shape = self.shapes.last_mut();
                shape.map_or(String::new(), |shape| shape.count(level, &scheme, start))
            }
        };
        if let Some(shape) = self.shapes.last_mut() {
            let from = level + usize::from(!label.is_empty());
            shape.counters.iter_mut().skip(from).for_each(|counter| *counter = 0);
        }
        self.blocks.push(Block::Item { level, label, text });
    }
}

impl Shape {
    fn count(&mut self, level: usize, scheme: &str, start: u32) -> String {
        let Some(counter) = self.counters.get_mut(level) else { return String::new() };
        *counter = counter.saturating_add(1).max(start);
        let format = match scheme.get(..7) {
            Some("alphaLc") => "lowerLetter",
            Some("alphaUc") => "upperLetter",
            Some("romanLc") => "lowerRoman",
            Some("romanUc") => "upperRoman",
            _ => "decimal",
        };
        let end = if scheme.contains("Paren") { ")" } else { "." };
        format!("{}{end}", format_number(format, *counter))
    }
}

fn is_off(value: &str) -> bool {
    matches!(value, "0" | "false")
}

/// The texts of a diagram, one item each.
pub(super) fn read_diagram(place: &str, text: &str) -> Result<Vec<Block>, ReadFailure> {
    let mut reader = XmlReader::new(place, text);
    let (mut blocks, mut text, mut in_text) = (Vec::new(), String::new(), false);
    while let Some(event) = reader.next()? {
        match event {
            XmlEvent::Start(element) => in_text = element.name() == "t",
            XmlEvent::Text(more) if in_text => text.push_str(&more),
            XmlEvent::Text(_) => {}
            XmlEvent::End(name) => {
                // A text of the diagram ends with its point, not with the element of the same name.
                if name == "pt" && !text.trim().is_empty() {
                    let text = std::mem::take(&mut text);
                    blocks.push(Block::Item { level: 0, label: String::new(), text });
                }
                if name == "p" && !text.is_empty() {
                    text.push(' ');
                }
                in_text = false;
            }
        }
    }
    Ok(blocks)
}
