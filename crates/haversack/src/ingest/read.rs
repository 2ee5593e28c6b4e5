//! Reads one file: by the reader of its format, as a table, or as a text.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;
use haversack_reader::{
    FileHead, PartSink, ReadFailure, ReadOutput, Reader, SinkClosed, SourceFile, find_reader,
    name_within, read_vault_note, with_source,
};
use haversack_store::store::change::BODY_BYTES_MAX;
use haversack_store::store::item::Item;

use super::IngestError;
use super::parts::{PartSource, item_of_part};
use super::run::IngestRun;
use super::skip::IngestSkipReason;
use super::stamp::{FileHash, FileStamp, SourceState};
use super::table::{RowSource, TableFormat};
use super::text::{self, TextFile};

/// Rows or parts of a file between two reports of progress.
const ROWS_PER_REPORT: u64 = 500;

impl IngestRun<'_> {
    /// Reads a file and sends its items. Problems of the file are skips.
    pub(super) fn read_file(
        &mut self,
        at: &Path,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        let head = match read_head(at, &path) {
            Ok(head) => head,
            Err(failure) => {
                let reason = IngestSkipReason::Unreadable { cause: failure.to_string() };
                self.skip(path, None, reason);
                return Ok(());
            }
        };
        if let Some(reader) = find_reader(&head) {
            return self.read_parts(reader, at, path, stamp);
        }
        let name = if head.is_compressed { name_within(&path) } else { path.as_str() };
        match TableFormat::from_path(name) {
            Some(table) => self.read_table((table, head.is_compressed), at, path, stamp),
            None => self.read_text((at, head.is_compressed), path, stamp),
        }
    }

    /// Hashes a file before it is read: if it changes in between, the next run sees another hash and reads it
    /// again. A file that cannot be read is a skip.
    fn hash_file(&self, at: &Path, path: &str) -> Option<FileHash> {
        match FileHash::of_file(at) {
            Ok(hash) => Some(hash),
            Err(error) => {
                let reason = IngestSkipReason::Unreadable { cause: error.to_string() };
                self.skip(path.to_owned(), None, reason);
                None
            }
        }
    }

    /// Reads a file by the reader of its format.
    fn read_parts(
        &mut self,
        reader: &Reader,
        at: &Path,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        let Some(hash) = self.hash_file(at, &path) else { return Ok(()) };
        let (mut items, mut parts) = (0, 0_u64);
        let kind = self.request.kind.clone();
        let source = PartSource { path: &path, stamp, kind: kind.as_ref() };
        let mut isolated = self.isolated.take();
        let mut take = |output: ReadOutput| {
            match output {
                ReadOutput::Part(part) => {
                    parts += 1;
                    if parts.is_multiple_of(ROWS_PER_REPORT) {
                        self.report();
                    }
                    self.walk.pages += part.pages.len() as u64;
                    let item = item_of_part(*part, source);
                    items += u64::from(self.add_item(&path, None, item)?);
                }
                ReadOutput::Notice(notice) => {
                    let place = notice.place.map_or_else(String::new, |place| format!(", {place}"));
                    let remark = format!("{path}{place}: {}", notice.what);
                    let mut tally = self.sender.tally();
                    match notice.omission {
                        Some(omission) => tally.omissions.add(&path, omission, remark),
                        None => tally.warn(remark),
                    }
                }
                ReadOutput::Progress { done, total } => {
                    self.walk.partial_bytes = part_of_bytes(stamp.bytes, done, total);
                    self.report();
                }
            }
            Ok(())
        };
        let read = match reader.is_isolated {
            true => isolated.read((at, &path, reader.name), &mut take),
            false => read_here(reader, at, &path, &mut take),
        };
        self.isolated = isolated;
        match read? {
            Ok(()) => {
                self.walk.note_read(path, SourceState { stamp, hash, items });
            }
            Err(failure) => self.skip(path, None, IngestSkipReason::NotReadable { failure }),
        }
        Ok(())
    }

    /// Reads the rows of a table.
    fn read_table(
        &mut self,
        (table, is_compressed): (TableFormat, bool),
        at: &Path,
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        let Some(hash) = self.hash_file(at, &path) else { return Ok(()) };
        let file = File::open(at).and_then(|file| -> std::io::Result<Box<dyn Read>> {
            Ok(if is_compressed { Box::new(text::decompressed(file)?) } else { Box::new(file) })
        });
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                self.skip(path, None, IngestSkipReason::Unreadable { cause: error.to_string() });
                return Ok(());
            }
        };
        let kind = self.kind_or(table.default_kind());
        let (mut items, mut rows) = (0, 0_u64);
        let kinds = Arc::clone(self.snapshot.kinds());
        let mut sink = |line: u64, row: Result<Item, IngestSkipReason>| {
            rows += 1;
            if rows.is_multiple_of(ROWS_PER_REPORT) {
                self.report();
            }
            items += u64::from(self.add_item(&path, Some(line), row)?);
            Ok(())
        };
        let file_problem =
            table.read(file, RowSource { path: &path, kind: &kind, kinds: &kinds }, &mut sink)?;
        match file_problem {
            Some(reason) => self.skip(path, None, reason),
            None => {
                self.walk.note_read(path, SourceState { stamp, hash, items });
            }
        }
        Ok(())
    }

    /// Reads a text, which is one item.
    fn read_text(
        &mut self,
        (at, is_compressed): (&Path, bool),
        path: String,
        stamp: FileStamp,
    ) -> Result<(), IngestError> {
        let id = match ItemId::new(&path) {
            Ok(id) => id,
            Err(error) => {
                self.skip(path, None, IngestSkipReason::UnusableName { what: error.to_string() });
                return Ok(());
            }
        };
        let limit = BODY_BYTES_MAX as u64;
        if stamp.bytes > limit {
            self.skip(path, None, IngestSkipReason::TooLarge { bytes: stamp.bytes, limit });
            return Ok(());
        }
        let TextFile { text, hash, remark } = match text::read(at, is_compressed) {
            Ok(read) => read,
            Err(reason) => {
                self.skip(path, None, reason);
                return Ok(());
            }
        };
        if let Some(remark) = remark {
            self.sender.tally().warn(format!("{path}: {remark}"));
        }
        let item = match self.vaults.has_note(at) {
            true => note_item(&path, &text, stamp, &self.kind_or("file")),
            false => {
                let mut item = Item::new(id, self.kind_or("file"), &text);
                item.title = text::title(&path, &text);
                item.updated = Some(stamp.modified);
                item.path = Some(path.clone());
                Ok(item)
            }
        };
        if let Some(field) = text::find_authority_claim(self.snapshot.kinds(), &text) {
            let remark = format!("{path}: {field}: not for a file to say; kept as text");
            self.sender.tally().warn(remark);
        }
        let items = u64::from(self.add_item(&path, None, item)?);
        self.walk.note_read(path, SourceState { stamp, hash, items });
        Ok(())
    }
}

/// The item of a note in a vault of Obsidian.
fn note_item(
    path: &str,
    text: &str,
    stamp: FileStamp,
    kind: &Kind,
) -> Result<Item, IngestSkipReason> {
    let part = read_vault_note(path.rsplit('/').next().unwrap_or(path), text);
    let updated = part.updated.map_or(stamp.modified, Timestamp::from_millis);
    let item = item_of_part(part, PartSource { path, stamp, kind: Some(kind) })?;
    Ok(Item { updated: Some(updated), ..item })
}

/// The bytes of a file that were read, as far as its reader's units tell.
fn part_of_bytes(bytes: u64, done: u64, total: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(done.min(total)) / u128::from(total.max(1));
    u64::try_from(part).unwrap_or(bytes)
}

fn read_head(at: &Path, path: &str) -> Result<FileHead, ReadFailure> {
    let mut file = File::open(at)?;
    SourceFile::new(path, &mut file)?.head()
}

/// Reads a file in this process.
fn read_here(
    reader: &Reader,
    at: &Path,
    path: &str,
    take: &mut dyn FnMut(ReadOutput) -> Result<(), IngestError>,
) -> Result<Result<(), ReadFailure>, IngestError> {
    let mut ended = None;
    let mut take = |output| {
        take(output).map_err(|error| {
            ended = Some(error);
            SinkClosed
        })
    };
    let mut read = || {
        let mut file = File::open(at)?;
        with_source(path, &mut file, |source| (reader.read)(source, &mut PartSink::new(&mut take)))
    };
    let read = read();
    match ended {
        Some(error) => Err(error),
        None => Ok(read),
    }
}
