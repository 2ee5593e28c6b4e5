//! For tests: reads bytes in memory and collects what the reader gives.

use std::io::Cursor;

use crate::part::{Part, PartSink, ReadFailure, ReadOutput};
use crate::source::with_source;
use crate::table::{Reader, find_reader};

/// What a reader gave: its name, the parts and the notices.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) reader: &'static str,
    pub(crate) parts: Vec<Part>,
    /// The texts of the notices.
    pub(crate) notices: Vec<String>,
    /// The places of the notices.
    pub(crate) places: Vec<Option<String>>,
}

impl Outcome {
    /// The last part.
    pub(crate) fn last_part(&self) -> &Part {
        self.parts.last().expect("a part")
    }

    /// The one part, and the texts of the notices.
    pub(crate) fn into_part(mut self) -> (Part, Vec<String>) {
        assert_eq!(self.parts.len(), 1, "{:?}", self.parts);
        (self.parts.remove(0), self.notices)
    }
}

/// Reads bytes by the reader that recognises them; nothing without one.
pub(crate) fn read(name: &str, bytes: &[u8]) -> Result<Outcome, ReadFailure> {
    read_source(None, name, bytes)
}

/// Reads bytes by this reader, recognised or not.
pub(crate) fn read_by(
    reader: &'static Reader,
    name: &str,
    bytes: &[u8],
) -> Result<Outcome, ReadFailure> {
    read_source(Some(reader), name, bytes)
}

fn read_source(
    reader: Option<&'static Reader>,
    name: &str,
    bytes: &[u8],
) -> Result<Outcome, ReadFailure> {
    let mut outcome = Outcome::default();
    with_source(name, &mut Cursor::new(bytes), |source| {
        let Some(reader) = reader.or(find_reader(&source.head()?)) else { return Ok(()) };
        outcome.reader = reader.name;
        let mut take = |output| {
            match output {
                ReadOutput::Part(part) => outcome.parts.push(*part),
                ReadOutput::Notice(notice) => {
                    outcome.notices.push(notice.what);
                    outcome.places.push(notice.place);
                }
                ReadOutput::Progress { .. } => {}
            }
            Ok(())
        };
        (reader.read)(source, &mut PartSink::new(&mut take))
    })?;
    Ok(outcome)
}
