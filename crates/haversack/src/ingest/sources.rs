//! What was added before: which folder a name stands for, and how long and old its tables were.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haversack_core::units::Timestamp;
use haversack_store::store::change::Change;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{DocumentKind, Record};
use haversack_store::store::{Snapshot, wait};
use serde_json::{Value, json};

/// The length and time of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) bytes: u64,
    pub(super) modified: Timestamp,
}

impl Stamp {
    pub(super) fn of(file: &Metadata) -> Stamp {
        let modified = file.modified().ok();
        let millis = modified.map_or(0, |modified| match modified.duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
        });
        Stamp { bytes: file.len(), modified: Timestamp::from_millis(millis) }
    }
}

/// How much older than its reading a file must be for its time to tell whether it changed since:
/// the coarsest clock of a file system.
const SETTLED_MILLIS: i64 = 2_000;

impl Stamp {
    /// Whether the file, read at a moment, cannot have changed since without another stamp.
    pub(super) const fn was_settled(self, read: Timestamp) -> bool {
        read.as_millis().saturating_sub(self.modified.as_millis()) >= SETTLED_MILLIS
    }
}

/// A file of many items as it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TableStamp {
    pub(super) stamp: Stamp,
    pub(super) items: u64,
}

fn read(snapshot: &dyn Snapshot, name: &str) -> Result<Option<(Value, Timestamp)>, ReadError> {
    let record = wait(snapshot.record(DocumentKind::Source, name))?;
    // What does not read back is as good as not there: the file is read again.
    Ok(record.and_then(|record| Some((serde_json::from_str(&record.text).ok()?, record.at))))
}

fn write(name: String, at: Timestamp, text: &Value) -> Change {
    Change::Write(Record { document_kind: DocumentKind::Source, name, text: text.to_string(), at })
}

/// Which path a root's name stood for.
pub(super) fn root(snapshot: &dyn Snapshot, name: &str) -> Result<Option<PathBuf>, ReadError> {
    let root = read(snapshot, &format!("root:{name}"))?;
    Ok(root.and_then(|(root, _)| root.get("path")?.as_str().map(PathBuf::from)))
}

/// Notes which path a root's name stands for.
pub(super) fn note_root(name: &str, path: &Path, at: Timestamp) -> Change {
    write(format!("root:{name}"), at, &json!({ "path": path.to_string_lossy() }))
}

/// How a table was when it was last read, if its stamp tells whether it changed since.
pub(super) fn table(snapshot: &dyn Snapshot, path: &str) -> Result<Option<TableStamp>, ReadError> {
    let table = read(snapshot, &format!("table:{path}"))?;
    Ok(table.and_then(|(table, read)| {
        let bytes = table.get("bytes")?.as_u64()?;
        let modified = Timestamp::from_millis(table.get("modified")?.as_i64()?);
        let items = table.get("items")?.as_u64()?;
        let stamp = Stamp { bytes, modified };
        stamp.was_settled(read).then_some(TableStamp { stamp, items })
    }))
}

/// Notes how a table is.
pub(super) fn note_table(path: &str, table: TableStamp, at: Timestamp) -> Change {
    let (stamp, items) = (table.stamp, table.items);
    let modified = stamp.modified.as_millis();
    let text = json!({ "bytes": stamp.bytes, "modified": modified, "items": items });
    write(format!("table:{path}"), at, &text)
}
