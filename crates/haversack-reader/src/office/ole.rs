//! Compound files: the containers of old Office formats and of documents with a password.

use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of old formats, which refuses them.
pub(crate) const OLD_READER: Reader = Reader {
    name: "old Office",
    extensions: &["doc", "dot", "ppt", "pps", "pot"],
    recognises: is_old_office,
    is_isolated: true,
    read: read_old_office,
};

/// The first bytes of a compound file.
pub(crate) const OLE_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// The old formats: a stream that each has, and what to do.
const OLD_FORMATS: [(&str, &str); 2] = [
    ("WordDocument", "an old Word document (.doc); save it as DOCX and add it again"),
    (
        "PowerPoint Document",
        "an old PowerPoint presentation (.ppt); save it as PPTX and add it again",
    ),
];

/// Recognises the old formats, which cannot be read, so that people learn what to do.
fn is_old_office(head: &FileHead) -> bool {
    let extensions = ["doc", "dot", "ppt", "pps", "pot"];
    head.bytes.starts_with(OLE_MAGIC)
        && (extensions.contains(&head.extension())
            || OLD_FORMATS.iter().any(|(name, _)| has_name(&head.bytes, name)))
}

/// Refuses a document of an old format.
fn read_old_office(source: &mut SourceFile<'_>, _: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    refuse_ole(source)?;
    Err(ReadFailure::malformed("it is no Office document"))
}

/// Fails when a file is a compound file where an archive is expected.
pub(crate) fn refuse_ole(source: &mut SourceFile<'_>) -> Result<(), ReadFailure> {
    let mut magic = [0; 8];
    let is_ole = source.rewound()?.read_exact(&mut magic).is_ok() && magic == OLE_MAGIC;
    if !is_ole {
        return Ok(());
    }
    let bytes = source.read_all()?;
    if is_encrypted(&bytes) {
        return Err(ReadFailure::Encrypted);
    }
    let known = OLD_FORMATS.iter().find(|(name, _)| has_name(&bytes, name));
    let what = known.map_or(
        "a compound file of an unknown program; save it as DOCX, PPTX or XLSX \
                             and add it again",
        |(_, what)| what,
    );
    Err(ReadFailure::Unsupported { what: what.to_owned() })
}

/// Whether a compound file holds a document with a password.
pub(crate) fn is_encrypted(bytes: &[u8]) -> bool {
    has_name(bytes, "EncryptedPackage")
}

/// Whether a compound file names a stream so. Its directory may stand anywhere in it.
pub(crate) fn has_name(bytes: &[u8], name: &str) -> bool {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let Some(first) = name.first() else { return false };
    let starts = bytes.iter().enumerate().filter(|(_, byte)| *byte == first);
    starts.map(|(start, _)| start).any(|start| bytes[start..].starts_with(&name))
}
