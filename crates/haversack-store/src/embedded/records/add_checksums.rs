//! Adds checksums to the pages of an older file, by copying it.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{open_error, schema, with_suffix};
use crate::embedded::pages;
use crate::store::error::OpenError;

/// The ending of the copy while it is made.
const UNFINISHED: &str = ".checked";

/// Replaces an open file, which only this connection uses, by a copy whose pages have checksums.
/// An interruption leaves the file as it was, or its finished copy.
pub(super) fn add(path: &Path, connection: Connection) -> Result<Connection, OpenError> {
    let failed = |error: rusqlite::Error| open_error(path, error);
    let io = |error: std::io::Error| OpenError::Io { path: path.to_owned(), cause: error.into() };
    let copy = with_suffix(path, UNFINISHED);
    remove_if_there(&copy).map_err(io)?;
    pages::reserve(&connection).map_err(failed)?;
    // The copy is made from the file and its log; the log must not be applied to the copy.
    let name = copy.to_str().ok_or_else(|| OpenError::Io {
        path: copy.clone(),
        cause: "the path is not valid Unicode".into(),
    })?;
    connection
        .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
        .and_then(|()| connection.execute("VACUUM INTO ?", [name]))
        .map_err(failed)?;
    connection.close().map_err(|(_, error)| failed(error))?;
    for suffix in ["-wal", "-shm"] {
        let rest = with_suffix(path, suffix);
        if fs::metadata(&rest).is_ok_and(|rest| suffix == "-wal" && rest.len() > 0) {
            let cause = "it is in use, so its pages cannot get checksums now".into();
            return Err(OpenError::Io { path: path.to_owned(), cause });
        }
        remove_if_there(&rest).map_err(io)?;
    }
    let checked = pages::open(&copy, OpenFlags::default()).map_err(failed)?;
    checked.pragma_update(None, "user_version", schema::FORMAT).map_err(failed)?;
    checked.close().map_err(|(_, error)| failed(error))?;
    File::open(&copy).and_then(|copy| copy.sync_all()).map_err(io)?;
    fs::rename(&copy, path).map_err(io)?;
    sync_parent(path).map_err(io)?;
    pages::open(path, OpenFlags::default()).map_err(failed)
}

fn remove_if_there(path: &Path) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a renamed file durable. Other systems do it with the file.
fn sync_parent(path: &Path) -> std::io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
