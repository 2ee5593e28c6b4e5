//! What a source was when it was last read, as a record of the workspace.

use haversack_core::units::Timestamp;
use serde_json::{Value, json};

use super::SyncRequest;

/// The form of the record. One of another form counts as missing, and all rows are read again.
const FORMAT: u64 = 1;

/// What a source was when it was last read.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncState {
    /// The greatest value of the column that says when rows change, as a text or a number.
    pub watermark: Option<Value>,
    /// When all rows were last read to the end.
    pub full_at: Timestamp,
    /// A hash of what tells the source from others: database, query and ids.
    pub source: String,
    /// A hash of how rows become items.
    pub mapping: String,
}

impl SyncState {
    /// The state of a source of which nothing was read yet.
    pub(super) fn of(request: &SyncRequest) -> SyncState {
        let columns = &request.columns;
        let source = json!([request.database, request.query.trim(), columns.id, request.id_prefix]);
        let readers = request.readers.iter().flatten().map(ToString::to_string);
        let users = request.users.iter().map(|(old, new)| (old, new.as_str()));
        let mapping = json!([
            request.kind.as_ref().map(|kind| kind.as_str()),
            columns.text,
            columns.title,
            columns.created,
            columns.updated,
            readers.collect::<Vec<_>>(),
            users.collect::<Vec<_>>(),
            request.kinds.fingerprint(),
        ]);
        SyncState {
            watermark: None,
            full_at: request.at,
            source: hash(&source),
            mapping: hash(&mapping),
        }
    }

    /// The text of the record.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "format": FORMAT,
            "watermark": self.watermark,
            "fullAt": self.full_at.as_millis(),
            "source": self.source,
            "mapping": self.mapping,
        })
    }

    /// Parses the text of a record; `None` if it is of another form.
    #[must_use]
    pub fn from_json(text: &str) -> Option<SyncState> {
        let state: Value = serde_json::from_str(text).ok()?;
        if state.get("format")?.as_u64()? != FORMAT {
            return None;
        }
        let watermark = match state.get("watermark")? {
            Value::Null => None,
            value @ (Value::String(_) | Value::Number(_)) => Some(value.clone()),
            _ => return None,
        };
        Some(SyncState {
            watermark,
            full_at: Timestamp::from_millis(state.get("fullAt")?.as_i64()?),
            source: state.get("source")?.as_str()?.to_owned(),
            mapping: state.get("mapping")?.as_str()?.to_owned(),
        })
    }
}

fn hash(value: &Value) -> String {
    blake3::hash(value.to_string().as_bytes()).to_hex()[..32].to_owned()
}
