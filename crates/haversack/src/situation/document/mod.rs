//! Parses context documents (YAML, JSON, or Markdown with front matter) into items (S1).

mod folder;
mod yaml;

use std::error::Error;
use std::fmt;
use std::path::Path;

use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::text::spelling::printable_name;
use haversack_store::kinds::Kinds;
use haversack_store::store::item::{Fields, Item};
use serde_json::Value;

pub use folder::{DEPTH_MAX, FILES_MAX, items_from_folder};

use super::context::CONTEXT;
use yaml::{FieldLines, YamlError};

/// Largest document in bytes.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;

/// Most problems that an error lists; there may be more.
pub const PROBLEMS_MAX: usize = 100;

/// The line before and after front matter.
const FENCE: &str = "---";

/// The file format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentFormat {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
    /// Markdown; the front matter between `---` lines at its beginning is YAML.
    Markdown,
}

impl DocumentFormat {
    /// The format of a file by its extension; `None` for files that are not documents.
    #[must_use]
    pub fn of_path(path: &Path) -> Option<DocumentFormat> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "yaml" | "yml" => Some(DocumentFormat::Yaml),
            "json" => Some(DocumentFormat::Json),
            "md" => Some(DocumentFormat::Markdown),
            _ => None,
        }
    }
}

/// Something wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentProblem {
    /// The path of the file in its folder; `None` for a text that is not from a file.
    pub file: Option<String>,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The field, such as `injection_rules[0].inject`, where it is known.
    pub field: Option<String>,
    /// What is wrong, including the field.
    pub message: String,
}

impl fmt::Display for DocumentProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.message),
            (Some(file), None) => write!(f, "{file}: {}", self.message),
            (None, Some(line)) => write!(f, "line {line}: {}", self.message),
            (None, None) => f.write_str(&self.message),
        }
    }
}

/// All problems of one document or of a folder of them. Displays one line for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentError {
    /// The problems, file by file, up to [`PROBLEMS_MAX`].
    pub problems: Vec<DocumentProblem>,
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Error for DocumentError {}

impl From<YamlError> for DocumentError {
    fn from(YamlError { line, field, message }: YamlError) -> DocumentError {
        let message = match &field {
            Some(field) => format!("{field}: {message}"),
            None => message,
        };
        DocumentError {
            problems: vec![DocumentProblem { file: None, line: Some(line), field, message }],
        }
    }
}

/// Parses one context document into an item. Its id is the given one, else its `metadata.name`.
///
/// The fields are those of the kind `context`; a text under `body` is the item's body, as is the
/// text of a Markdown document. Markdown without front matter is a context with a body only.
///
/// # Errors
/// When it is too large, does not parse, or its fields are not those of a context. The error lists
/// all problems, with lines.
pub fn parse(
    text: &str,
    format: DocumentFormat,
    id: Option<&ItemId>,
) -> Result<Item, DocumentError> {
    if text.len() > DOCUMENT_BYTES_MAX {
        let bytes = text.len();
        return Err(single_problem(
            None,
            None,
            format!("a document of {bytes} bytes is over the limit of {DOCUMENT_BYTES_MAX}"),
        ));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (value, lines, body) = match format {
        DocumentFormat::Yaml => {
            yaml::parse(text).map(|(value, lines)| (value, lines, String::new()))?
        }
        DocumentFormat::Json => {
            parse_json(text).map(|(value, lines)| (value, lines, String::new()))?
        }
        DocumentFormat::Markdown => parse_markdown(text)?,
    };
    let mut fields = match value {
        Value::Null => Fields::new(),
        Value::Object(fields) => fields,
        _ => {
            let message = "a context document is made of named fields".to_owned();
            return Err(single_problem(Some(1), None, message));
        }
    };
    let body = match fields.remove("body") {
        None | Some(Value::Null) => body,
        Some(Value::String(given)) if body.trim().is_empty() => given,
        Some(other) => {
            let message = match other {
                Value::String(_) => "body: the text below the front matter is the body already",
                _ => "body must be a text",
            };
            return Err(single_problem(lines.line_of("body"), Some("body"), message.to_owned()));
        }
    };
    build_item(fields, &body, id, &lines)
}

/// Builds the item of a document's fields and body, and validates it.
fn build_item(
    fields: Fields,
    body: &str,
    id: Option<&ItemId>,
    lines: &FieldLines,
) -> Result<Item, DocumentError> {
    let name = fields.get("metadata").and_then(|metadata| metadata.get("name"));
    let name = name.and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let id = match (id, name) {
        (Some(id), _) => id.clone(),
        (None, Some(name)) => ItemId::new(name).map_err(|error| {
            let field = "metadata.name";
            single_problem(
                lines.line_of(field),
                Some(field),
                format!("{field} is to be the id: {error}"),
            )
        })?,
        (None, None) => {
            let message = "metadata.name is missing, and no id is given".to_owned();
            return Err(single_problem(
                lines.line_of("metadata.name"),
                Some("metadata.name"),
                message,
            ));
        }
    };
    let title = name.unwrap_or(id.as_str()).to_owned();
    let kind = Kind::new(CONTEXT).expect("a constant that is a kind");
    if let Err(errors) = Kinds::built_in().check(&kind, &title, body, &fields) {
        let problems = errors.problems.iter().map(|wrong| DocumentProblem {
            file: None,
            line: lines.line_of(&wrong.path),
            field: Some(wrong.path.clone()),
            message: wrong.to_string(),
        });
        return Err(DocumentError { problems: problems.collect() });
    }
    let trust = Kinds::built_in().usual_trust(&kind);
    Ok(Item { title, fields, trust, ..Item::new(id, kind, body) })
}

fn parse_json(text: &str) -> Result<(Value, FieldLines), DocumentError> {
    let value = serde_json::from_str(text).map_err(|error| {
        let message = format!("the JSON cannot be read: {}", printable_name(&error.to_string()));
        single_problem(Some(error.line()), None, message)
    })?;
    // Nearly all JSON is also YAML, whose parser knows lines. For the rest, lines are missing.
    let lines = yaml::parse(text).map(|(_, lines)| lines).unwrap_or_default();
    Ok((value, lines))
}

fn parse_markdown(text: &str) -> Result<(Value, FieldLines, String), DocumentError> {
    let is_fence = |line: &str| line.trim_end() == FENCE;
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_fence(line)) else {
        return Ok((Value::Null, FieldLines::default(), text.trim().to_owned()));
    };
    let mut end = first.len();
    for line in lines {
        if is_fence(line) {
            let (value, lines) = yaml::parse(&text[first.len()..end]).map_err(|error| {
                // The opening fence counts as a line.
                DocumentError::from(YamlError { line: error.line + 1, ..error })
            })?;
            let body = text[end + line.len()..].trim().to_owned();
            return Ok((value, lines.shifted_by(1), body));
        }
        end += line.len();
    }
    let message = format!("the front matter has no end: close it with a line {FENCE}");
    Err(single_problem(Some(1), None, message))
}

fn single_problem(line: Option<usize>, field: Option<&str>, message: String) -> DocumentError {
    let field = field.map(str::to_owned);
    DocumentError { problems: vec![DocumentProblem { file: None, line, field, message }] }
}

#[cfg(test)]
mod tests;
