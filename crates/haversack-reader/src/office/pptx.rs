//! Reads PPTX: slides with their titles, lists, tables and notes.

use super::blocks::Block;
use super::docx::report_depth;
use super::package::{Properties, Relationships};
use super::pptx_text::{SlideText, read_diagram};
use super::slides::{Deck, Slide};
use crate::archive::BoundedArchive;
use crate::part::{PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;
use crate::xml::{XmlEvent, XmlReader};

/// Reads a file as a presentation.
pub(crate) fn read_pptx(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    super::ole::refuse_ole(source)?;
    let mut archive = BoundedArchive::open(source)?;
    let package = Relationships::read(&mut archive, "")?;
    let path = package.by_kind("officeDocument").unwrap_or("ppt/presentation.xml").to_owned();
    let Some(text) = archive.entry_text(&path)? else {
        return Err(ReadFailure::malformed(format!("it has no {path}")));
    };
    let links = Relationships::read(&mut archive, &path)?;
    let (mut deck, mut notices, mut too_deep) = (Deck::default(), Vec::new(), 0);
    let ids = slide_ids(&path, &text)?;
    for (id, number) in ids.iter().zip(1..) {
        let Some(target) = links.by_id(id) else {
            notices.push(missing(number, "its file is not named"));
            deck.push(Slide::default())?;
            continue;
        };
        match read_slide(&mut archive, &target.target) {
            Ok(Some(slide)) => {
                too_deep += slide.too_deep;
                deck.omissions.merge(slide.omissions);
                deck.push(slide.slide)?;
            }
            Ok(None) => deck.push_hidden()?,
            Err(ReadFailure::Malformed { what }) => {
                notices.push(missing(number, &what));
                deck.push(Slide::default())?;
            }
            Err(failure) => return Err(failure),
        }
        sink.progress(number, ids.len() as u64)?;
    }
    let properties = Properties::of_office(&mut archive, &package)?;
    deck.give(&properties, sink)?;
    for notice in notices {
        sink.notice(notice)?;
    }
    report_depth(too_deep, sink)
}

fn missing(number: u64, what: &str) -> ReadNotice {
    let what = format!("the slide cannot be read and is left out: {what}");
    ReadNotice::new(what).at(format!("slide {number}"))
}

fn slide_ids(path: &str, text: &str) -> Result<Vec<String>, ReadFailure> {
    let mut reader = XmlReader::new(path, text);
    let mut ids = Vec::new();
    while let Some(event) = reader.next()? {
        let XmlEvent::Start(element) = event else { continue };
        if element.name() == "sldId" {
            ids.extend(element.prefixed_attribute("id"));
        }
    }
    Ok(ids)
}

#[derive(Debug)]
struct ReadSlide {
    slide: Slide,
    omissions: super::package::Omissions,
    too_deep: u64,
}

/// Reads a slide; `None` when it is hidden.
fn read_slide(
    archive: &mut BoundedArchive<'_>,
    path: &str,
) -> Result<Option<ReadSlide>, ReadFailure> {
    let Some(text) = archive.entry_text(path)? else {
        return Err(ReadFailure::malformed(format!("there is no {path}")));
    };
    let links = Relationships::read(archive, path)?;
    let mut reader = XmlReader::new(path, &text);
    let mut content = SlideText::new(&links);
    if !content.read(&mut reader)? {
        return Ok(None);
    }
    let mut omissions = std::mem::take(&mut content.omissions);
    let diagrams = std::mem::take(&mut content.diagrams);
    let title = std::mem::take(&mut content.title);
    let mut blocks = content.finish();
    for diagram in diagrams {
        let data = links.by_id(&diagram).map(|found| found.target.clone()).unwrap_or_default();
        match archive.entry_text(&data)? {
            Some(text) => blocks.extend(read_diagram(&data, &text)?),
            None => omissions.add("diagram", "diagrams", 1),
        }
    }
    omissions.add("slide's comments", "slides' comments", links.count("comments"));
    let notes = match links.by_kind("notesSlide") {
        Some(path) => read_notes(archive, path)?,
        None => Vec::new(),
    };
    let slide = Slide { title, blocks, notes };
    Ok(Some(ReadSlide { slide, omissions, too_deep: reader.too_deep() }))
}

fn read_notes(archive: &mut BoundedArchive<'_>, path: &str) -> Result<Vec<Block>, ReadFailure> {
    let Some(text) = archive.entry_text(path)? else { return Ok(Vec::new()) };
    let links = Relationships::read(archive, path)?;
    let mut reader = XmlReader::new(path, &text);
    let mut content = SlideText::of_notes(&links);
    content.read(&mut reader)?;
    Ok(content.finish())
}
