//! Reads the files of a set line by line, as JSON objects or as tab-separated fields.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use haversack_core::units::Tokens;
use haversack_store::transfer::{self, BoundedLines, Line, json_error};
use serde_json::{Map, Value};

use super::error::EvalError;

/// A file of lines.
pub(crate) struct RowFile {
    path: Arc<Path>,
    lines: BoundedLines<BufReader<File>>,
}

impl RowFile {
    pub(crate) fn open(path: &Path) -> Result<RowFile, EvalError> {
        let file = File::open(path).map_err(EvalError::read(path))?;
        let input = BufReader::with_capacity(64 << 10, file);
        let lines = BoundedLines::new(input, transfer::LINE_BYTES_MAX);
        Ok(RowFile { path: path.into(), lines })
    }

    /// The next line that is not blank, with its number.
    fn text(&mut self) -> Result<Option<(u64, String)>, EvalError> {
        loop {
            let number = self.lines.number() + 1;
            let wrong = |what| Err(EvalError::line(&self.path, number, what));
            let line = match self.lines.next_line().map_err(EvalError::read(&self.path))? {
                None => return Ok(None),
                Some(Line::TooLong { bytes }) => {
                    let limit = transfer::LINE_BYTES_MAX;
                    return wrong(format!("{bytes} bytes are over the limit of {limit}"));
                }
                Some(Line::Whole(line)) => line,
            };
            if line.trim_ascii().is_empty() {
                continue;
            }
            return match std::str::from_utf8(line) {
                Ok(line) => {
                    Ok(Some((number, line.strip_prefix('\u{feff}').unwrap_or(line).to_owned())))
                }
                Err(error) => {
                    wrong(format!("not UTF-8 (first wrong byte at {})", error.valid_up_to()))
                }
            };
        }
    }

    /// The next object.
    pub(crate) fn object(&mut self) -> Result<Option<JsonRow>, EvalError> {
        let path = Arc::clone(&self.path);
        let Some((line, text)) = self.text()? else { return Ok(None) };
        let fields: Map<String, Value> = serde_json::from_str(&text)
            .map_err(|error| EvalError::line(&path, line, json_error(&error)))?;
        Ok(Some(JsonRow { path, line, fields }))
    }

    /// The next row of fields between tabs.
    pub(super) fn row(&mut self) -> Result<Option<TsvRow>, EvalError> {
        let path = Arc::clone(&self.path);
        let Some((line, text)) = self.text()? else { return Ok(None) };
        let fields = text.split('\t').map(|field| field.trim().to_owned()).collect();
        Ok(Some(TsvRow { path, line, fields }))
    }
}

/// One JSON object of a file.
pub(crate) struct JsonRow {
    path: Arc<Path>,
    pub(crate) line: u64,
    fields: Map<String, Value>,
}

impl JsonRow {
    /// All fields.
    pub(crate) fn into_fields(self) -> Map<String, Value> {
        self.fields
    }

    pub(super) fn error(&self, what: impl Into<String>) -> EvalError {
        EvalError::line(&self.path, self.line, what)
    }

    /// A required text that is not blank.
    pub(super) fn text(&mut self, name: &str) -> Result<String, EvalError> {
        match self.optional(name)? {
            None => Err(self.error(format!("{name}: there is no such field"))),
            Some(text) if text.trim().is_empty() => Err(self.error(format!("{name}: is empty"))),
            Some(text) => Ok(text),
        }
    }

    /// An optional text.
    pub(super) fn optional(&mut self, name: &str) -> Result<Option<String>, EvalError> {
        match self.fields.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => {
                Err(self.error(format!("{name}: has to be text, not {}", json_type(&other))))
            }
        }
    }

    /// A field of any type; `Null` when it is missing.
    pub(super) fn value(&mut self, name: &str) -> Value {
        self.fields.remove(name).unwrap_or_default()
    }

    /// A required number of tokens.
    pub(super) fn tokens(&mut self, name: &str) -> Result<Tokens, EvalError> {
        let value = self.value(name);
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let wrong = || self.error(format!("{name}: {value} is not a number of tokens"));
        number.map(Tokens::new).ok_or_else(wrong)
    }

    /// A list; empty when it is missing.
    pub(super) fn list(&mut self, name: &str) -> Result<Vec<Value>, EvalError> {
        match self.value(name) {
            Value::Null => Ok(Vec::new()),
            Value::Array(list) => Ok(list),
            other => {
                Err(self.error(format!("{name}: has to be a list, not {}", json_type(&other))))
            }
        }
    }

    /// The object `meta`; empty when it is missing.
    pub(super) fn meta(&mut self) -> Result<Map<String, Value>, EvalError> {
        match self.fields.remove("meta") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(meta)) => Ok(meta),
            Some(other) => {
                Err(self.error(format!("meta: has to be an object, not {}", json_type(&other))))
            }
        }
    }
}

/// One row of tab-separated fields.
pub(super) struct TsvRow {
    path: Arc<Path>,
    pub(super) line: u64,
    pub(super) fields: Vec<String>,
}

impl TsvRow {
    pub(super) fn error(&self, what: impl Into<String>) -> EvalError {
        EvalError::line(&self.path, self.line, what)
    }
}

const fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
