//! Records of earlier runs: the path that a root's name stands for, and how each file was when it was read.

use std::path::{Path, PathBuf};

use haversack_core::units::Timestamp;
use haversack_reader::READERS_VERSION;
use haversack_store::store::change::Change;
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{DocumentKind, Record};
use haversack_store::store::{Snapshot, block_on};
use serde_json::{Value, json};

use super::stamp::{FileHash, FileStamp, SourceState};

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

/// How a file was when it was last read.
#[derive(Debug)]
pub(super) struct StoredSource {
    pub(super) state: SourceState,
    /// Whether every later change gives the file another stamp.
    pub(super) is_settled: bool,
}

/// How a file was when it was last read by the present readers.
pub(super) fn stored_source(
    snapshot: &dyn Snapshot,
    path: &str,
) -> Result<Option<StoredSource>, ReadError> {
    let source = read_record(snapshot, &format!("file:{path}"))?;
    Ok(source.and_then(|(source, read)| {
        if source.get("readers")?.as_u64()? != u64::from(READERS_VERSION) {
            return None;
        }
        let bytes = source.get("bytes")?.as_u64()?;
        let modified = Timestamp::from_millis(source.get("modified")?.as_i64()?);
        let items = source.get("items")?.as_u64()?;
        let hash = FileHash(source.get("hash")?.as_str()?.to_owned());
        let stamp = FileStamp { bytes, modified };
        let state = SourceState { stamp, hash, items };
        Some(StoredSource { state, is_settled: stamp.was_settled(read) })
    }))
}

/// Makes the change that records how a file was when it was read.
pub(super) fn record_source(path: &str, state: &SourceState, at: Timestamp) -> Change {
    let text = json!({
        "bytes": state.stamp.bytes,
        "modified": state.stamp.modified.as_millis(),
        "hash": state.hash.0,
        "items": state.items,
        "readers": READERS_VERSION,
    });
    record_change(format!("file:{path}"), at, &text)
}
