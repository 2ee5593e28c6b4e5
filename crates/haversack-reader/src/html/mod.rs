//! Web pages: HTML as Markdown, without the furniture around the text.
//!
//! A page is cut into tokens ([`token`]), these become a flat list of events ([`tape`]), parts of it are marked
//! as left out ([`select`]), and the rest is written ([`writer`]). Each step takes linear time and nothing
//! recurses. The tokenizer is our own, because it borrows the text and bounds what it looks at; those at hand
//! compare each attribute of a tag with all others.

mod block;
mod entity;
mod fields;
mod inline;
mod select;
mod table;
mod tag;
mod tape;
#[cfg(test)]
mod tests;
mod token;
mod writer;

use crate::encoding::decode_declared;
use crate::part::{OmissionKind, Part, PartSink, ReadFailure, ReadNotice};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;
pub(crate) use entity::{decode_attribute, decode_text};
use fields::PageFields;
pub(crate) use fields::parse_time;
pub(crate) use inline::longest_run;
use tape::Tape;
pub(crate) use token::{Token, Tokens, attribute};
use writer::Writer;

/// The reader of web pages.
pub(crate) const READER: Reader = Reader {
    name: "HTML",
    extensions: &["html", "htm", "xhtml", "shtml"],
    recognises,
    is_isolated: true,
    read,
};

/// Bytes in which a page says how it is encoded.
const DECLARATION_BYTES: usize = 4096;

/// A page of which so many times more text is left out than kept is one that a person should look at.
const LEFT_OUT_FACTOR: u64 = 10;

/// How HTML is read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HtmlOptions {
    /// Whether menus, banners and everything else around the main content is left out.
    pub(crate) only_main: bool,
    /// Whether it is XHTML, where every element may be empty.
    pub(crate) is_xml: bool,
}

/// The text of HTML, and what it says about itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct HtmlText {
    /// The text as Markdown.
    pub(crate) body: String,
    /// The title, the author, the dates.
    pub(crate) about: PageFields,
    /// What a person should know.
    pub(crate) notices: Vec<ReadNotice>,
}

fn recognises(head: &FileHead) -> bool {
    if READER.extensions.contains(&head.extension()) {
        return true;
    }
    let start = head.text().trim_start();
    let starts_with = |wanted: &str| {
        let start = start.as_bytes().get(..wanted.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    !head.name.contains('.') && (starts_with("<!doctype html") || starts_with("<html"))
}

fn read(source: &mut SourceFile<'_>, sink: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    let is_xml = source.name().to_ascii_lowercase().ends_with(".xhtml");
    let part = read_page(&bytes, HtmlOptions { only_main: true, is_xml }, sink)?;
    sink.part(part)
}

/// Reads the bytes of a page as a part.
pub(crate) fn read_page(
    bytes: &[u8],
    options: HtmlOptions,
    sink: &mut PartSink<'_>,
) -> Result<Part, ReadFailure> {
    let declared = declared_encoding(bytes);
    let Some(decoded) = decode_declared(bytes, declared.as_deref()) else {
        return Err(ReadFailure::malformed("a web page that is not text"));
    };
    let is_xml = options.is_xml || decoded.text.trim_start().starts_with("<?xml");
    let page = markdown_of_html(&decoded.text, HtmlOptions { is_xml, ..options })?;
    if decoded.replaced > 0 {
        let what = format!(
            "{} characters are not valid {} and were replaced",
            decoded.replaced, decoded.encoding
        );
        sink.notice(ReadNotice::new(what))?;
    }
    for notice in page.notices {
        sink.notice(notice)?;
    }
    let mut part = Part::of_file(&page.about.title, page.body);
    page.about.write_to(&mut part);
    Ok(part)
}

/// Turns HTML into Markdown.
///
/// # Errors
/// When it is too large.
pub(crate) fn markdown_of_html(html: &str, options: HtmlOptions) -> Result<HtmlText, ReadFailure> {
    let mut tape = Tape::read(html, options.is_xml)?;
    let root = select::select_content(&mut tape, options.only_main);
    let (body, left_out) = Writer::write(&tape, root);
    let about = PageFields::of_page(&tape, root);
    let mut notices = Vec::new();
    if left_out > 0 {
        notices.push(notice_left_out(left_out, body.len() as u64, options.only_main));
    }
    if tape.flattened > 0 {
        let count = tape.flattened;
        notices.push(ReadNotice::new(format!(
            "{count} elements are nested too deep; their text stands without structure"
        )));
    }
    if tape.is_cut {
        notices.push(ReadNotice::new(
            "the page ends inside a tag or a comment; text after it may be missing",
        ));
    }
    Ok(HtmlText { body, about, notices })
}

/// Says how many bytes of text are left out. That is routine unless hardly anything is left.
fn notice_left_out(left_out: u64, kept: u64, only_main: bool) -> ReadNotice {
    let notice = ReadNotice::new(match only_main {
        true => format!(
            "{left_out} bytes of text around the main content are left out (menus, banners, forms)"
        ),
        false => format!("{left_out} bytes of hidden text are left out"),
    });
    match left_out / LEFT_OUT_FACTOR > kept {
        true => notice,
        false => notice.omitting(OmissionKind::PageFurniture, left_out),
    }
}

/// The encoding that a page declares, in a `meta` element or the first line of its XML.
pub(crate) fn declared_encoding(bytes: &[u8]) -> Option<String> {
    let start = &bytes[..bytes.len().min(DECLARATION_BYTES)];
    let start: String = start.iter().map(|byte| char::from(*byte).to_ascii_lowercase()).collect();
    let xml = start.strip_prefix("<?xml").and_then(|rest| rest.split("?>").next());
    let declared = xml.and_then(|line| label_after(line, "encoding"));
    declared.or_else(|| {
        let mut metas =
            start.split("<meta").skip(1).map(|rest| rest.split('>').next().unwrap_or(rest));
        metas.find_map(|meta| label_after(meta, "charset"))
    })
}

/// The name after `name=`.
fn label_after(text: &str, name: &str) -> Option<String> {
    let (_, after) = text.split_once(name)?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let is_label =
        |character: &char| character.is_ascii_alphanumeric() || "-_:.".contains(*character);
    let label: String = value.chars().take_while(is_label).collect();
    (!label.is_empty()).then_some(label)
}
