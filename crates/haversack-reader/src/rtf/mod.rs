//! Rich text (RTF): paragraphs, headings, lists, tables and notes as Markdown.
//!
//! The parser is our own: tokens that borrow the file ([`token`]), groups that end what they set
//! ([`document`]), and blocks ([`paragraphs`]). Nothing recurses, and each byte is looked at once.

mod document;
mod encoding;
mod paragraphs;
#[cfg(test)]
mod tests;
mod token;

use jiff::civil::DateTime;

use crate::conversations::when::civil_millis;
use crate::limits::DEPTH_MAX;
use crate::office::markdown::{join_lines, render};
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;
use document::{DateParts, read_document};

/// The reader of RTF.
pub(crate) const READER: Reader =
    Reader { name: "RTF", extensions: &["rtf"], recognises, is_isolated: true, read };

/// Recognises the first group, whatever the name: old programs save RTF as `.doc`, too.
fn recognises(head: &FileHead) -> bool {
    head.bytes.trim_ascii_start().starts_with(b"{\\rtf") || head.extension() == "rtf"
}

fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        return Err(ReadFailure::malformed("it does not begin as RTF does"));
    }
    let document = read_document(&bytes);
    drop(bytes);
    let mut part = Part::of_file(&join_lines(&document.title), render(&document.blocks));
    part.set_field("author", &join_lines(&document.author));
    part.created = millis(document.created);
    part.updated = millis(document.changed);
    sink.part(part)?;
    if document.pictures > 0 {
        let count = document.pictures;
        let what = format!("left out: {count} picture{}", if count == 1 { "" } else { "s" });
        sink.notice(ReadNotice::new(what).omitting(OmissionKind::Pictures, count))?;
    }
    if document.replaced > 0 {
        let what = format!("{} characters could not be decoded", document.replaced);
        sink.notice(ReadNotice::new(what))?;
    }
    if document.too_deep > 0 {
        let count = document.too_deep;
        let what = format!(
            "{count} groups are nested more than {DEPTH_MAX} levels deep; what they set holds for what follows"
        );
        sink.notice(ReadNotice::new(what))?;
    }
    Ok(())
}

/// A date of the document, which has no time zone.
fn millis(date: DateParts) -> Option<i64> {
    let [year, month, day, hour, minute] = date;
    let small = |number: i32| i8::try_from(number).ok();
    let year = i16::try_from(year).ok().filter(|year| *year > 1900)?;
    let at = DateTime::new(
        year,
        small(month.max(1))?,
        small(day.max(1))?,
        small(hour)?,
        small(minute)?,
        0,
        0,
    );
    civil_millis(at.ok()?)
}
