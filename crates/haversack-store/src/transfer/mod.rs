//! Export and import of a workspace as lines of JSON.
//!
//! The first line is a header; each other line is one item, link, event or record. An export
//! depends only on the state, and its order only on ids: two exports of one state are the same
//! bytes, and exporting an import gives the same bytes again. The history, the vectors and the
//! authors of items are not exported.

mod bounded_lines;
mod json;

use std::io::{BufRead, Error as IoError, Write};

use haversack_core::units::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

pub use self::bounded_lines::{BoundedLines, Line};
pub use self::json::{BODY_KEYS, JsonFieldError, read_change, read_item, read_row};

use crate::store::change::{Batch, Change, Warning};
use crate::store::error::{CommitError, ReadError};
use crate::store::item::{DocumentKind, Fields};
use crate::store::query::LIMIT_MAX;
use crate::store::{Snapshot, Store, block_on};

/// The format of exports that is written, and the newest that is read.
pub const FORMAT: u64 = 1;

/// The longest line of an import in bytes.
pub const LINE_BYTES_MAX: usize = 32 << 20;

/// Items that are read for an export at a time.
const ITEMS_AT_ONCE: usize = 64;

/// Changes after which an import commits a batch.
const BATCH_CHANGES: usize = 1_000;

/// Bytes of lines after which an import commits a batch.
const BATCH_BYTES: usize = 8 << 20;

/// The most warnings that an import reports.
const WARNINGS_MAX: usize = 100;

/// The numbers of exported things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Items.
    pub items: u64,
    /// Links.
    pub links: u64,
    /// Events.
    pub events: u64,
    /// Named documents.
    pub records: u64,
}

/// An error that makes an export incomplete.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The workspace cannot be read.
    #[error("cannot read the workspace")]
    Read(#[from] ReadError),
    /// The export cannot be written.
    #[error("cannot write the export")]
    Write(#[from] IoError),
}

/// Exports everything that a viewer can read. The snapshot must be of a store for blocking threads.
///
/// # Errors
/// When the workspace cannot be read or the lines cannot be written.
pub fn export(snapshot: &dyn Snapshot, out: &mut dyn Write) -> Result<ExportReport, ExportError> {
    let mut exported = ExportReport::default();
    write_line(out, &json!({ "haversack": "export", "format": FORMAT }))?;
    let mut ids = block_on(snapshot.ids_parents_first())?;
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for stored in block_on(snapshot.get(ids))?.into_iter().flatten() {
            write_change(out, &Change::Put(Box::new(stored.item)))?;
            exported.items += 1;
        }
    }
    ids.sort_unstable();
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for link in block_on(snapshot.links_from(ids))? {
            write_change(out, &Change::Link(link))?;
            exported.links += 1;
        }
    }
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for event in block_on(snapshot.events_of(ids))? {
            write_change(out, &Change::AddEvent(event))?;
            exported.events += 1;
        }
    }
    for document_kind in DocumentKind::ALL {
        exported.records += export_records(snapshot, out, document_kind)?;
    }
    out.flush()?;
    Ok(exported)
}

fn export_records(
    snapshot: &dyn Snapshot,
    out: &mut dyn Write,
    document_kind: DocumentKind,
) -> Result<u64, ExportError> {
    let mut count = 0;
    let mut after: Option<String> = None;
    loop {
        let names = block_on(snapshot.records(document_kind, after.as_deref(), LIMIT_MAX))?;
        for name in &names {
            if let Some(record) = block_on(snapshot.record(document_kind, name))? {
                write_change(out, &Change::PutRecord(record))?;
                count += 1;
            }
        }
        match names.into_iter().next_back() {
            Some(last) => after = Some(last),
            None => return Ok(count),
        }
    }
}

fn write_change(out: &mut dyn Write, change: &Change) -> Result<(), IoError> {
    json::change_to_json(change).map_or(Ok(()), |line| write_line(out, &line))
}

fn write_line(out: &mut dyn Write, line: &Value) -> Result<(), IoError> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// The result of an import, or its progress so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Lines that are in the store, including the header.
    pub lines: u64,
    /// Items added or replaced.
    pub stored: u64,
    /// Items that the store already had in the same form.
    pub unchanged: u64,
    /// Links, events and named documents.
    pub others: u64,
    /// The first hundred warnings.
    pub warnings: Vec<Warning>,
}

/// An error that ends an import early. Batches that were imported before it stay.
#[derive(Debug, Error)]
pub enum ImportError {
    /// The header is missing: it is not an export.
    #[error(
        "this is no export of haversack: its first line must be {{\"haversack\":\"export\",\
         \"format\":{FORMAT}}}"
    )]
    Header,
    /// A later version of Haversack wrote it.
    #[error(
        "the export has format {found}, and this version of haversack reads up to {FORMAT}: use a \
         newer one"
    )]
    Newer {
        /// Its format.
        found: u64,
    },
    /// A line is not valid.
    #[error("line {line}: {what} ({imported} lines before it are imported)")]
    Line {
        /// The line number, from 1.
        line: u64,
        /// The problem, with the name of the field.
        what: String,
        /// Lines that are in the store.
        imported: u64,
    },
    /// The input cannot be read.
    #[error("cannot read after line {line} ({imported} lines are imported)")]
    Read {
        /// The last line that could be read.
        line: u64,
        /// Lines that are in the store.
        imported: u64,
        /// Why not.
        #[source]
        cause: IoError,
    },
    /// The store rejects a batch of lines.
    #[error("cannot store lines {first} to {last} ({imported} lines before them are imported)")]
    Commit {
        /// The first line of the rejected batch.
        first: u64,
        /// Its last line.
        last: u64,
        /// Lines that are in the store.
        imported: u64,
        /// Why not.
        #[source]
        cause: CommitError,
    },
}

/// Imports an export into a workspace, batch by batch. The import can be undone by its `origin`.
/// The store must be one for blocking threads.
///
/// Events are added to the existing ones. Items, links and named documents replace those with the
/// same id or name.
///
/// # Errors
/// When it is not an export, a line is not valid, or the store cannot be written. The batch of an
/// invalid line is not written; the batches before it are.
pub fn import(
    store: &dyn Store,
    input: &mut dyn BufRead,
    (origin, at): (&str, Timestamp),
    progress: &mut dyn FnMut(&ImportReport),
) -> Result<ImportReport, ImportError> {
    let mut lines = BoundedLines::new(input, LINE_BYTES_MAX);
    let mut import = Import {
        store,
        origin,
        at,
        pending: Vec::new(),
        bytes: 0,
        report: ImportReport::default(),
    };
    import.read_header(&mut lines)?;
    while let Some((line, bytes)) = import.next_object(&mut lines)? {
        let number = lines.number();
        let change = read_change(line, store.kinds())
            .map_err(|error| import.line_error(number, error.to_string()))?;
        import.pending.push((number, change));
        import.bytes += bytes;
        if import.pending.len() >= BATCH_CHANGES || import.bytes >= BATCH_BYTES {
            import.commit_pending()?;
            progress(&import.report);
        }
    }
    import.commit_pending()?;
    import.report.lines = lines.number();
    progress(&import.report);
    Ok(import.report)
}

struct Import<'a> {
    store: &'a dyn Store,
    origin: &'a str,
    at: Timestamp,
    /// Changes that are not committed yet, with their line numbers.
    pending: Vec<(u64, Change)>,
    bytes: usize,
    report: ImportReport,
}

impl Import<'_> {
    fn line_error(&self, line: u64, what: String) -> ImportError {
        ImportError::Line { line, what, imported: self.report.lines }
    }

    /// The next line that is not blank, as an object, and its length.
    fn next_object(
        &self,
        lines: &mut BoundedLines<&mut dyn BufRead>,
    ) -> Result<Option<(Fields, usize)>, ImportError> {
        loop {
            let before = lines.number();
            let line = lines.next_line().map_err(|cause| ImportError::Read {
                line: before,
                imported: self.report.lines,
                cause,
            })?;
            let bytes = match line {
                None => return Ok(None),
                Some(Line::TooLong { bytes }) => {
                    let what = format!("{bytes} bytes are over the limit of {LINE_BYTES_MAX}");
                    return Err(self.line_error(before + 1, what));
                }
                Some(Line::Whole(bytes)) => bytes,
            };
            // Some editors start a file with a byte order mark.
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(bytes) {
                Ok(line) => Ok(Some((line, bytes.len()))),
                Err(error) => Err(self.line_error(before + 1, json_error(&error))),
            };
        }
    }

    fn read_header(
        &mut self,
        lines: &mut BoundedLines<&mut dyn BufRead>,
    ) -> Result<(), ImportError> {
        let header = match self.next_object(lines) {
            Ok(Some((header, _))) => header,
            Ok(None) | Err(ImportError::Line { .. }) => return Err(ImportError::Header),
            Err(other) => return Err(other),
        };
        let format = header_format(&header).ok_or(ImportError::Header)?;
        if format > FORMAT {
            return Err(ImportError::Newer { found: format });
        }
        self.report.lines = lines.number();
        Ok(())
    }

    fn commit_pending(&mut self) -> Result<(), ImportError> {
        let (Some((first, _)), Some((last, _))) = (self.pending.first(), self.pending.last())
        else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let pending = std::mem::take(&mut self.pending);
        self.bytes = 0;
        let (numbers, changes): (Vec<u64>, Vec<Change>) = pending.into_iter().unzip();
        let others = changes.iter().filter(|change| !matches!(change, Change::Put(_))).count();
        let mut batch = Batch::new(self.at, changes);
        batch.origin = Some(self.origin.to_owned());
        let imported = self.report.lines;
        let committed = block_on(self.store.write(batch)).map_err(|cause| match cause {
            CommitError::Invalid(problems) if !problems.is_empty() => {
                let problem = &problems[0];
                let line = numbers.get(problem.change).copied().unwrap_or(first);
                self.line_error(line, problem.to_string())
            }
            cause => ImportError::Commit { first, last, imported, cause },
        })?;
        self.report.lines = last;
        self.report.stored += committed.stored as u64;
        self.report.unchanged += committed.unchanged as u64;
        self.report.others += others as u64;
        let room = WARNINGS_MAX.saturating_sub(self.report.warnings.len());
        self.report.warnings.extend(committed.warnings.into_iter().take(room));
        Ok(())
    }
}

/// The format in a header line; `None` if the line is not a header.
#[must_use]
pub fn header_format(line: &Fields) -> Option<u64> {
    let is_header = line.get("haversack").and_then(Value::as_str) == Some("export");
    line.get("format").and_then(Value::as_u64).filter(|_| is_header)
}

/// The message of a JSON error in a single line, without the line number, which is always 1.
#[must_use]
pub fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line 1 column").next().unwrap_or(&text);
    format!("not a JSON object: {what} (at character {})", error.column())
}

#[cfg(test)]
mod tests;
