//! Records of earlier runs: the path that a root's name stands for, and the length and time of
//! tables.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haversack_core::units::Timestamp;
use haversack_store::store::change::Change;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{DocumentKind, Record};
use haversack_store::store::{Snapshot, block_on};
use serde_json::{Value, json};

/// The length and modification time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
}

impl FileStamp {
    pub(super) fn from_metadata(file: &Metadata) -> FileStamp {
        let modified = file.modified().ok();
        let millis = modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        });
        FileStamp { bytes: file.len(), modified: Timestamp::from_millis(millis) }
    }
}

/// A file must have been unchanged for this long when it was read, or a later change might not show
/// in its time. This is the resolution of the coarsest file system clock.
const SETTLED_MILLIS: i64 = 2_000;

impl FileStamp {
    /// Whether every change after the file was read gives it another stamp.
    pub(super) const fn was_settled(self, read: Timestamp) -> bool {
        read.as_millis().saturating_sub(self.modified.as_millis()) >= SETTLED_MILLIS
    }
}

/// The state of a table when it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableStamp {
    pub(super) stamp: FileStamp,
    pub(super) items: u64,
}

fn read_record(
    snapshot: &dyn Snapshot,
    name: &str,
) -> Result<Option<(Value, Timestamp)>, ReadError> {
    let record = block_on(snapshot.record(DocumentKind::Source, name))?;
    // A record that cannot be parsed counts as missing: the file is then read again.
    Ok(record.and_then(|record| Some((serde_json::from_str(&record.text).ok()?, record.at))))
}

fn record_change(name: String, at: Timestamp, text: &Value) -> Change {
    Change::PutRecord(Record {
        document_kind: DocumentKind::Source,
        name,
        text: text.to_string(),
        at,
    })
}

/// The path that a root's name stood for in the last run.
pub(super) fn stored_root(
    snapshot: &dyn Snapshot,
    name: &str,
) -> Result<Option<PathBuf>, ReadError> {
    let root = read_record(snapshot, &format!("root:{name}"))?;
    Ok(root.and_then(|(root, _)| root.get("path")?.as_str().map(PathBuf::from)))
}

/// Makes the change that records the path that a root's name stands for.
pub(super) fn record_root(name: &str, path: &Path, at: Timestamp) -> Change {
    record_change(format!("root:{name}"), at, &json!({ "path": path.to_string_lossy() }))
}

/// The state of a table when it was last read, if its stamp shows every later change.
pub(super) fn stored_table(
    snapshot: &dyn Snapshot,
    path: &str,
) -> Result<Option<TableStamp>, ReadError> {
    let table = read_record(snapshot, &format!("table:{path}"))?;
    Ok(table.and_then(|(table, read)| {
        let bytes = table.get("bytes")?.as_u64()?;
        let modified = Timestamp::from_millis(table.get("modified")?.as_i64()?);
        let items = table.get("items")?.as_u64()?;
        let stamp = FileStamp { bytes, modified };
        stamp.was_settled(read).then_some(TableStamp { stamp, items })
    }))
}

/// Makes the change that records the state of a table.
pub(super) fn record_table(path: &str, table: TableStamp, at: Timestamp) -> Change {
    let (stamp, items) = (table.stamp, table.items);
    let modified = stamp.modified.as_millis();
    let text = json!({ "bytes": stamp.bytes, "modified": modified, "items": items });
    record_change(format!("table:{path}"), at, &text)
}
