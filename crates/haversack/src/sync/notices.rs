//! What a person should know about rows and columns, the same things together.

use std::fmt;

/// Most notices of a run. Further ones are only counted.
const NOTICES_MAX: usize = 100;

/// Something about a row and a column, and how many further rows it is true of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncNotice {
    /// The first row: its id, or its number in the result.
    pub row: String,
    /// The column, if it is about one.
    pub column: Option<String>,
    /// What it is and what to do.
    pub what: String,
    /// Further rows.
    pub more: u64,
}

impl fmt::Display for SyncNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(column) = &self.column {
            write!(f, ", column {column}")?;
        }
        write!(f, ": {}", self.what)?;
        match self.more {
            0 => Ok(()),
            more => write!(f, " (and {more} more rows)"),
        }
    }
}

/// Adds a notice, or counts a row under the notice that says the same.
pub(super) fn add_notice(
    notices: &mut Vec<SyncNotice>,
    row: &str,
    column: Option<&str>,
    what: &str,
) {
    let same = |notice: &&mut SyncNotice| notice.column.as_deref() == column && notice.what == what;
    if let Some(notice) = notices.iter_mut().find(same) {
        notice.more += 1;
    } else if notices.len() < NOTICES_MAX {
        let (row, column) = (row.to_owned(), column.map(str::to_owned));
        notices.push(SyncNotice { row, column, what: what.to_owned(), more: 0 });
    } else if let Some(last) = notices.last_mut() {
        last.more += 1;
    }
}
