//! Documents of word processors and presentations: DOCX, PPTX, ODT and ODP.
//!
//! They are read as streams of XML events into blocks, which become Markdown.

pub(crate) mod blocks;
mod docx;
mod docx_text;
pub(crate) mod markdown;
mod numbering;
pub(crate) mod odf;
mod odf_styles;
mod odf_text;
pub(crate) mod ole;
pub(crate) mod package;
mod pptx;
mod pptx_text;
mod slides;
mod styles;
#[cfg(test)]
mod tests;

pub(crate) use docx::read_docx;
pub(crate) use odf::{read_odp, read_odt};
pub(crate) use pptx::read_pptx;

use self::ole::OLE_MAGIC;
use crate::source::FileHead;
use crate::table::Reader;

/// The reader of DOCX.
pub(crate) const DOCX_READER: Reader = Reader {
    name: "DOCX",
    extensions: DOCX,
    recognises: is_docx,
    is_isolated: true,
    read: read_docx,
};

/// The reader of PPTX.
pub(crate) const PPTX_READER: Reader = Reader {
    name: "PPTX",
    extensions: PPTX,
    recognises: is_pptx,
    is_isolated: true,
    read: read_pptx,
};

/// The reader of ODT.
pub(crate) const ODT_READER: Reader =
    Reader { name: "ODT", extensions: ODT, recognises: is_odt, is_isolated: true, read: read_odt };

/// The reader of ODP.
pub(crate) const ODP_READER: Reader =
    Reader { name: "ODP", extensions: ODP, recognises: is_odp, is_isolated: true, read: read_odp };

/// The extensions of DOCX.
pub(crate) const DOCX: &[&str] = &["docx", "docm", "dotx", "dotm"];
/// The extensions of PPTX.
pub(crate) const PPTX: &[&str] = &["pptx", "pptm", "potx", "potm", "ppsx", "ppsm"];
/// The extensions of ODT.
pub(crate) const ODT: &[&str] = &["odt", "ott"];
/// The extensions of ODP.
pub(crate) const ODP: &[&str] = &["odp", "otp"];

fn is_docx(head: &FileHead) -> bool {
    has_form(head, DOCX) || head.has_entry("word/document.xml")
}

fn is_pptx(head: &FileHead) -> bool {
    has_form(head, PPTX) || head.has_entry("ppt/presentation.xml")
}

fn is_odt(head: &FileHead) -> bool {
    has_form(head, ODT) || has_mimetype(head, "application/vnd.oasis.opendocument.text")
}

fn is_odp(head: &FileHead) -> bool {
    has_form(head, ODP) || has_mimetype(head, "application/vnd.oasis.opendocument.presentation")
}

/// Whether a file has an extension and could have its format: an archive, or a compound file that
/// stands for one with a password. Damaged archives are recognised too, so that people hear of it.
pub(crate) fn has_form(head: &FileHead, extensions: &[&str]) -> bool {
    let is_form = head.bytes.starts_with(b"PK") || head.bytes.starts_with(OLE_MAGIC);
    is_form && extensions.contains(&head.extension())
}

/// Whether a file is an OpenDocument archive of this type, which stands first and uncompressed.
pub(crate) fn has_mimetype(head: &FileHead, mimetype: &str) -> bool {
    let entry = head.bytes.get(30..).unwrap_or_default();
    let Some(content) = entry.strip_prefix(b"mimetype") else { return false };
    let Some(rest) = content.strip_prefix(mimetype.as_bytes()) else { return false };
    // Templates and master documents have longer names.
    rest.starts_with(b"PK") || rest.starts_with(b"-template")
}
