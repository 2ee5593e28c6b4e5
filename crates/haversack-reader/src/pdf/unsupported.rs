//! Stands in for the reader of PDF in programs that are built without it.

use crate::part::{PartSink, ReadFailure};
use crate::source::SourceFile;

/// Says how to get a program that reads PDF.
pub(super) fn read(_: &mut SourceFile<'_>, _: &mut PartSink<'_>) -> Result<(), ReadFailure> {
    let what = "this program was built without PDF; build it with the cargo feature `pdf`";
    Err(ReadFailure::Unsupported { what: what.to_owned() })
}
