//! A workspace as lines of JSON, out and in again: for moving, keeping and looking.
//!
//! The first line is a header; each other line is one item, link, event or record. What depends
//! on nothing but the state comes out, in an order that depends on nothing but ids: two exports
//! of one state are the same bytes, and an import gives the same export again. The history, the
//! vectors and who wrote an item are not part of it.

mod form;
mod lines;

use std::io::{BufRead, Error as IoError, Write};

use haversack_core::units::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

pub use self::form::{BODY_KEYS, FormError, read_change, read_item, read_row};
pub use self::lines::{Line, Lines};

use crate::store::change::{Batch, Change, Warning};
use crate::store::error::{CommitError, ReadError};
use crate::store::item::{DocumentKind, Fields};
use crate::store::query::LIMIT_MAX;
use crate::store::{Snapshot, Store, wait};

/// The form of exports that is written, and the newest that is read.
pub const FORMAT: u64 = 1;

/// Longest line of an import in bytes.
pub const LINE_BYTES_MAX: usize = 32 << 20;

/// Items that are read for an export at a time.
const ITEMS_AT_ONCE: usize = 64;

/// Changes and bytes that are imported at a time.
const BATCH: (usize, usize) = (1_000, 8 << 20);

/// Warnings that are kept of an import.
const WARNINGS_MAX: usize = 100;

/// What was exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Items.
    pub items: u64,
    /// Links.
    pub links: u64,
    /// Events.
    pub events: u64,
    /// Named documents.
    pub records: u64,
}

/// Why an export is not whole.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The workspace cannot be read.
    #[error("cannot read the workspace")]
    Read(#[from] ReadError),
    /// The export cannot be written.
    #[error("cannot write the export")]
    Write(#[from] IoError),
}

/// Writes all that a viewer can read. The snapshot is one for blocking threads.
///
/// # Errors
/// When the workspace cannot be read or the lines cannot be written.
pub fn export(snapshot: &dyn Snapshot, out: &mut dyn Write) -> Result<Exported, ExportError> {
    let mut exported = Exported::default();
    write_line(out, &json!({ "haversack": "export", "format": FORMAT }))?;
    let mut ids = wait(snapshot.ids_parents_first())?;
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for stored in wait(snapshot.get(ids))?.into_iter().flatten() {
            write_change(out, &Change::Put(Box::new(stored.item)))?;
            exported.items += 1;
        }
    }
    ids.sort_unstable();
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for link in wait(snapshot.links_from(ids))? {
            write_change(out, &Change::Link(link))?;
            exported.links += 1;
        }
    }
    for ids in ids.chunks(ITEMS_AT_ONCE) {
        for event in wait(snapshot.events_of(ids))? {
            write_change(out, &Change::Note(event))?;
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
        let names = wait(snapshot.records(document_kind, after.as_deref(), LIMIT_MAX))?;
        for name in &names {
            if let Some(record) = wait(snapshot.record(document_kind, name))? {
                write_change(out, &Change::Write(record))?;
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
    form::line(change).map_or(Ok(()), |line| write_line(out, &line))
}

fn write_line(out: &mut dyn Write, line: &Value) -> Result<(), IoError> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// What an import did, or has done so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Lines, the header included, that are in the store.
    pub lines: u64,
    /// Items added or replaced.
    pub stored: u64,
    /// Items that were there already, just so.
    pub unchanged: u64,
    /// Links, events and named documents.
    pub others: u64,
    /// What the writer should know; the first hundred.
    pub warnings: Vec<Warning>,
}

/// Why an import ended early. What was imported before stays.
#[derive(Debug, Error)]
pub enum ImportError {
    /// It does not begin like an export.
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
    /// A line is not of the form.
    #[error("line {line}: {what} ({imported} lines before it are imported)")]
    Line {
        /// Which line, from 1.
        line: u64,
        /// What is wrong; names the field.
        what: String,
        /// Lines that are in the store.
        imported: u64,
    },
    /// It cannot be read.
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
    /// The store refuses some lines.
    #[error("cannot store lines {first} to {last} ({imported} lines before them are imported)")]
    Commit {
        /// The first line of the refused batch.
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

/// Reads an export into a workspace, batch by batch, under a name by which it can be undone. The
/// store is one for blocking threads.
///
/// Events are added to those that are there; everything else replaces what has the same name.
///
/// # Errors
/// When it is not an export, a line is wrong, or the store cannot be written. The batch of a
/// wrong line is not written; those before it are.
pub fn import(
    store: &dyn Store,
    input: &mut dyn BufRead,
    (origin, at): (&str, Timestamp),
    progress: &mut dyn FnMut(&Imported),
) -> Result<Imported, ImportError> {
    let mut lines = Lines::new(input, LINE_BYTES_MAX);
    let mut import =
        Import { store, origin, at, waiting: Vec::new(), bytes: 0, done: Imported::default() };
    import.header(&mut lines)?;
    while let Some((line, bytes)) = import.next(&mut lines)? {
        let number = lines.number();
        let change = read_change(line, store.kinds())
            .map_err(|error| import.wrong(number, error.to_string()))?;
        import.waiting.push((number, change));
        import.bytes += bytes;
        if import.waiting.len() >= BATCH.0 || import.bytes >= BATCH.1 {
            import.write()?;
            progress(&import.done);
        }
    }
    import.write()?;
    import.done.lines = lines.number();
    progress(&import.done);
    Ok(import.done)
}

struct Import<'a> {
    store: &'a dyn Store,
    origin: &'a str,
    at: Timestamp,
    /// Changes with the numbers of their lines.
    waiting: Vec<(u64, Change)>,
    bytes: usize,
    done: Imported,
}

impl Import<'_> {
    fn wrong(&self, line: u64, what: String) -> ImportError {
        ImportError::Line { line, what, imported: self.done.lines }
    }

    /// The next line that is not blank, as an object, and its length.
    fn next(
        &self,
        lines: &mut Lines<&mut dyn BufRead>,
    ) -> Result<Option<(Fields, usize)>, ImportError> {
        loop {
            let before = lines.number();
            let line = lines.next_line().map_err(|cause| ImportError::Read {
                line: before,
                imported: self.done.lines,
                cause,
            })?;
            let bytes = match line {
                None => return Ok(None),
                Some(Line::TooLong { bytes }) => {
                    let what = format!("{bytes} bytes are over the limit of {LINE_BYTES_MAX}");
                    return Err(self.wrong(before + 1, what));
                }
                Some(Line::Whole(bytes)) => bytes,
            };
            // Editors on some systems put this mark in front of a file.
            let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(bytes) {
                Ok(line) => Ok(Some((line, bytes.len()))),
                Err(error) => Err(self.wrong(before + 1, json_error(&error))),
            };
        }
    }

    fn header(&mut self, lines: &mut Lines<&mut dyn BufRead>) -> Result<(), ImportError> {
        let header = match self.next(lines) {
            Ok(Some((header, _))) => header,
            Ok(None) | Err(ImportError::Line { .. }) => return Err(ImportError::Header),
            Err(other) => return Err(other),
        };
        let format = header_format(&header).ok_or(ImportError::Header)?;
        if format > FORMAT {
            return Err(ImportError::Newer { found: format });
        }
        self.done.lines = lines.number();
        Ok(())
    }

    fn write(&mut self) -> Result<(), ImportError> {
        let (Some((first, _)), Some((last, _))) = (self.waiting.first(), self.waiting.last())
        else {
            return Ok(());
        };
        let (first, last) = (*first, *last);
        let waiting = std::mem::take(&mut self.waiting);
        self.bytes = 0;
        let (numbers, changes): (Vec<u64>, Vec<Change>) = waiting.into_iter().unzip();
        let others = changes.iter().filter(|change| !matches!(change, Change::Put(_))).count();
        let mut batch = Batch::new(self.at, changes);
        batch.origin = Some(self.origin.to_owned());
        let imported = self.done.lines;
        let committed = wait(self.store.write(batch)).map_err(|cause| match cause {
            CommitError::Invalid(problems) if !problems.is_empty() => {
                let problem = &problems[0];
                let line = numbers.get(problem.change).copied().unwrap_or(first);
                self.wrong(line, problem.to_string())
            }
            cause => ImportError::Commit { first, last, imported, cause },
        })?;
        self.done.lines = last;
        self.done.stored += committed.stored as u64;
        self.done.unchanged += committed.unchanged as u64;
        self.done.others += others as u64;
        let room = WARNINGS_MAX.saturating_sub(self.done.warnings.len());
        self.done.warnings.extend(committed.warnings.into_iter().take(room));
        Ok(())
    }
}

/// The format that a header names; `None` when the line is none.
#[must_use]
pub fn header_format(line: &Fields) -> Option<u64> {
    let is_header = line.get("haversack").and_then(Value::as_str) == Some("export");
    line.get("format").and_then(Value::as_u64).filter(|_| is_header)
}

/// What is wrong with a line of JSON, without its place in lines, which is always the first.
#[must_use]
pub fn json_error(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line 1 column").next().unwrap_or(&text);
    format!("not a JSON object: {what} (at character {})", error.column())
}

#[cfg(test)]
mod tests;
