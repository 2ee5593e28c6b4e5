//! Reads ODT and ODP: text documents and presentations of OpenDocument.

use super::docx::report_depth;
use super::markdown::{join_lines, render};
use super::odf_styles::OdfStyles;
use super::odf_text::OdfText;
use super::package::Properties;
use super::slides::{Deck, Slide};
use crate::archive::BoundedArchive;
use crate::part::{Part, PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;
use crate::xml::{XmlEvent, XmlReader};

/// The files of an OpenDocument archive that readers need.
#[derive(Debug)]
pub(crate) struct OdfFiles {
    pub(crate) content: String,
    pub(crate) styles: OdfStyles,
    pub(crate) properties: Properties,
    notices: Vec<ReadNotice>,
}

impl OdfFiles {
    pub(crate) fn open(source: &mut SourceFile<'_>) -> Result<OdfFiles, ReadFailure> {
        super::ole::refuse_ole(source)?;
        let mut archive = BoundedArchive::open(source)?;
        let manifest = archive.entry_text("META-INF/manifest.xml")?.unwrap_or_default();
        if manifest.contains("encryption-data") {
            return Err(ReadFailure::Encrypted);
        }
        let Some(content) = archive.entry_text("content.xml")? else {
            return Err(ReadFailure::malformed("it has no content.xml"));
        };
        let (mut styles, mut notices) = (OdfStyles::default(), Vec::new());
        let common = archive.entry_text("styles.xml").and_then(|text| match text {
            Some(text) => styles.add("styles.xml", &text),
            None => Ok(()),
        });
        match common {
            Err(ReadFailure::Malformed { what }) => {
                let what = format!("the styles cannot be read and are left out: {what}");
                notices.push(ReadNotice::new(what));
            }
            result => result?,
        }
        styles.add("content.xml", &content)?;
        let properties = Properties::read(&mut archive, "meta.xml")?;
        Ok(OdfFiles { content, styles, properties, notices })
    }
}

/// Reads a file as a text document.
pub(crate) fn read_odt(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let files = OdfFiles::open(source)?;
    let mut reader = XmlReader::new("content.xml", &files.content);
    let mut text = OdfText::new(&files.styles, false);
    while let Some(event) = reader.next()? {
        match event {
            XmlEvent::Start(element) => text.start(&element, &mut reader)?,
            XmlEvent::End(name) => text.end(&name),
            XmlEvent::Text(more) => text.push_text(&more),
        }
    }
    let title = match files.properties.title.as_str() {
        "" => join_lines(&text.title),
        title => title.to_owned(),
    };
    let (blocks, omissions) = text.finish();
    let mut part = Part::of_file(&title, render(&blocks));
    files.properties.apply(&mut part);
    sink.part(part)?;
    for notice in files.notices {
        sink.notice(notice)?;
    }
    omissions.report(sink)?;
    report_depth(reader.too_deep(), sink)
}

/// Reads a file as a presentation.
pub(crate) fn read_odp(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let files = OdfFiles::open(source)?;
    let mut reader = XmlReader::new("content.xml", &files.content);
    let mut deck = Deck::default();
    let mut slide: Option<OdfText<'_>> = None;
    while let Some(event) = reader.next()? {
        match event {
            XmlEvent::Start(element) if element.name() == "page" => {
                let style = element.attribute("style-name").unwrap_or_default();
                match files.styles.is_hidden_page(&style) {
                    true => {
                        deck.push_hidden()?;
                        reader.skip_element()?;
                    }
                    false => slide = Some(OdfText::new(&files.styles, true)),
                }
            }
            XmlEvent::End(name) if name == "page" => {
                if let Some(mut text) = slide.take() {
                    let title = std::mem::take(&mut text.title);
                    let notes = std::mem::take(&mut text.speaker_notes);
                    let (blocks, omissions) = text.finish();
                    deck.omissions.merge(omissions);
                    deck.push(Slide { title, blocks, notes })?;
                }
            }
            XmlEvent::Start(element) => {
                if let Some(slide) = &mut slide {
                    slide.start(&element, &mut reader)?;
                }
            }
            XmlEvent::End(name) => {
                if let Some(slide) = &mut slide {
                    slide.end(&name);
                }
            }
            XmlEvent::Text(text) => {
                if let Some(slide) = &mut slide {
                    slide.push_text(&text);
                }
            }
        }
    }
    deck.give(&files.properties, sink)?;
    for notice in files.notices {
        sink.notice(notice)?;
    }
    report_depth(reader.too_deep(), sink)
}
