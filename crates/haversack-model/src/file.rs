//! Files of bounded size.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use serde::de::DeserializeOwned;

use crate::ModelError;

/// Largest small file, such as `config.json`.
const SMALL_BYTES_MAX: u64 = 1 << 20;

/// Largest `tokenizer.json`: the largest in use are below 40 MB.
pub(crate) const TOKENIZER_BYTES_MAX: u64 = 128 << 20;

/// Opens a file that must be there and may not be too large.
pub(crate) fn open(path: &Path, bytes_max: u64) -> Result<(File, u64), ModelError> {
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            ModelError::Missing { path: path.to_owned() }
        }
        _ => ModelError::io("open", path, error),
    })?;
    let bytes = file.metadata().map_err(|error| ModelError::io("look at", path, error))?.len();
    if bytes > bytes_max {
        return Err(ModelError::TooLarge { path: path.to_owned(), bytes, bytes_max });
    }
    Ok((file, bytes))
}

/// A whole file.
pub(crate) fn read(path: &Path, bytes_max: u64) -> Result<Vec<u8>, ModelError> {
    let (file, bytes) = open(path, bytes_max)?;
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
    // The file may grow meanwhile; bytes beyond the limit are not read.
    file.take(bytes_max)
        .read_to_end(&mut content)
        .map_err(|error| ModelError::io("read", path, error))?;
    Ok(content)
}

/// A small text file, or `None` when it is not there.
pub(crate) fn small(path: &Path) -> Result<Option<String>, ModelError> {
    let bytes = match read(path, SMALL_BYTES_MAX) {
        Ok(bytes) => bytes,
        Err(ModelError::Missing { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| ModelError::unreadable(path, &error))
}

/// A small JSON file, or `None` when it is not there.
pub(crate) fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ModelError> {
    let Some(text) = small(path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| ModelError::unreadable(path, &error))
}
