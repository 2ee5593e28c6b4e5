//! Snapshots of Qdrant, which are refused with what to do instead.

use crate::part::{PartSink, ReadFailure};
use crate::source::{FileHead, SourceFile};
use crate::table::Reader;

/// The reader of snapshots.
pub(crate) const READER: Reader = Reader {
    name: "Qdrant snapshot",
    extensions: &["snapshot"],
    recognises: is_snapshot,
    is_isolated: false,
    read,
};

/// Whether it is a snapshot by its name and, as a tar archive, by its content.
fn is_snapshot(head: &FileHead) -> bool {
    let is_tar = head.bytes.get(257..262) == Some(b"ustar".as_slice());
    is_tar && head.extension() == "snapshot"
}

/// Refuses a snapshot.
fn read(_: &mut SourceFile<'_>, _: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let what = "a snapshot of Qdrant, which only Qdrant can read; export its points with their \
                payloads as JSON lines (scroll) and add those";
    Err(ReadFailure::Unsupported { what: what.to_owned() })
}
