//! Reads DOCX: the text of a word processor, by its styles, lists, tables and notes.

use std::collections::BTreeMap;

use super::blocks::{Block, flatten};
use super::docx_text::Story;
use super::markdown::{join_lines, render};
use super::numbering::Numbering;
use super::package::{Omissions, Properties, Relationships};
use super::styles::Styles;
use crate::archive::BoundedArchive;
use crate::limits::DEPTH_MAX;
use crate::part::{Part, PartSink, ReadFailure, ReadNotice};
use crate::source::SourceFile;
use crate::xml::XmlReader;

/// Reads a file as a word processing document.
pub(crate) fn read_docx(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    super::ole::refuse_ole(source)?;
    let mut archive = BoundedArchive::open(source)?;
    let package = Relationships::read(&mut archive, "")?;
    let path = package.by_kind("officeDocument").unwrap_or("word/document.xml").to_owned();
    let Some(text) = archive.entry_text(&path)? else {
        return Err(ReadFailure::malformed(format!("it has no {path}")));
    };
    let links = Relationships::read(&mut archive, &path)?;
    let mut side = SideFiles { archive: &mut archive, links: &links, notices: Vec::new() };
    let styles = side.parse("styles", "word/styles.xml", Styles::parse)?;
    let numbering = side.parse("numbering", "word/numbering.xml", Numbering::parse)?;
    let mut omissions = Omissions::default();
    let mut notes = BTreeMap::new();
    for kind in ["footnotes", "endnotes"] {
        notes.extend(side.read_notes(kind, &styles, &mut omissions)?);
    }
    let notices = side.notices;

    let mut reader = XmlReader::new(&path, &text);
    let mut story = Story::new(&styles, numbering, &links);
    story.read(&mut reader)?;
    let too_deep = reader.too_deep();
    let properties = Properties::of_office(&mut archive, &package)?;
    let title = story.title.clone();
    omissions.add("header", "headers", links.count("header"));
    omissions.add("footer", "footers", links.count("footer"));
    let references = std::mem::take(&mut story.references);
    let mut blocks = story.finish(&mut omissions);
    blocks.extend(note_blocks(&references, &notes));

    let title = if properties.title.is_empty() { title } else { properties.title.clone() };
    let mut part = Part::of_file(&join_lines(&title), render(&blocks));
    properties.apply(&mut part);
    sink.part(part)?;
    for notice in notices {
        sink.notice(notice)?;
    }
    omissions.report(sink)?;
    report_depth(too_deep, sink)
}

/// Gives a notice when elements were skipped because they are nested too deeply.
pub(super) fn report_depth(skipped: u64, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    if skipped == 0 {
        return Ok(());
    }
    let what = format!("left out: {skipped} elements nested more than {DEPTH_MAX} levels deep");
    sink.notice(ReadNotice::new(what))
}

/// A note by its file and its id there.
pub(super) type NoteKey = (&'static str, String);

/// The notes that the text refers to, in the order of their references.
fn note_blocks(references: &[NoteKey], notes: &BTreeMap<NoteKey, Vec<Block>>) -> Vec<Block> {
    let with_number = references.iter().zip(1..);
    let lines = with_number.filter_map(|(key, number)| {
        let text = flatten(notes.get(key)?);
        (!text.is_empty()).then(|| Block::Paragraph(format!("[^{number}]: {text}")))
    });
    lines.collect()
}

/// The files beside the text. One that is damaged costs a notice, not the text.
struct SideFiles<'a, 'f> {
    archive: &'a mut BoundedArchive<'f>,
    links: &'a Relationships,
    notices: Vec<ReadNotice>,
}

impl SideFiles<'_, '_> {
    fn parse<T: Default>(
        &mut self,
        kind: &str,
        usual_path: &str,
        parse: fn(&str, &str) -> Result<T, ReadFailure>,
    ) -> Result<T, ReadFailure> {
        let path = self.links.by_kind(kind).unwrap_or(usual_path).to_owned();
        let text = self.archive.entry_text(&path);
        let parsed = match text {
            Ok(None) => return Ok(T::default()),
            Ok(Some(text)) => parse(&path, &text),
            Err(failure) => Err(failure),
        };
        self.tolerate(kind, parsed)
    }

    fn read_notes(
        &mut self,
        kind: &'static str,
        styles: &Styles,
        omissions: &mut Omissions,
    ) -> Result<BTreeMap<NoteKey, Vec<Block>>, ReadFailure> {
        let Some(path) = self.links.by_kind(kind).map(str::to_owned) else {
            return Ok(BTreeMap::new());
        };
        let mut read = |archive: &mut BoundedArchive<'_>| {
            let Some(text) = archive.entry_text(&path)? else { return Ok(BTreeMap::new()) };
            let links = Relationships::read(archive, &path)?;
            let mut reader = XmlReader::new(&path, &text);
            let mut story = Story::new(styles, Numbering::default(), &links);
            story.read(&mut reader)?;
            let notes = std::mem::take(&mut story.notes);
            story.finish(omissions);
            Ok(notes.into_iter().map(|(id, blocks)| ((kind, id), blocks)).collect())
        };
        let notes = read(self.archive);
        self.tolerate(kind, notes)
    }

    fn tolerate<T: Default>(
        &mut self,
        kind: &str,
        result: Result<T, ReadFailure>,
    ) -> Result<T, ReadFailure> {
        match result {
            Err(ReadFailure::Malformed { what }) => {
                let what = format!("the {kind} cannot be read and are left out: {what}");
                self.notices.push(ReadNotice::new(what));
                Ok(T::default())
            }
            result => result,
        }
    }
}
