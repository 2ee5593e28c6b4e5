//! Reads the documents of a set: lines of `corpus.jsonl`, or files in the folder `corpus`.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haversack_core::ids::ItemId;
use haversack_core::text::chunk::Format;
use haversack_core::units::Timestamp;
use haversack_store::store::change::BODY_BYTES_MAX;
use ignore::{Walk, WalkBuilder};
use serde_json::{Map, Value};

use super::blocks::{front_matter, heading_level, heading_title};
use super::dates::Dates;
use super::error::EvalError;
use super::rows::{JsonRow, RowFile};

/// The file of documents.
pub(super) const CORPUS: &str = "corpus.jsonl";

/// The folder of documents.
pub(super) const CORPUS_FOLDER: &str = "corpus";

/// Extensions of files that `add` splits into many items.
const TABLES: [&str; 4] = ["jsonl", "ndjson", "csv", "tsv"];

/// How many bytes are checked to tell text from binary.
const HEAD_BYTES: usize = 8 << 10;

/// Where documents come from.
#[derive(Debug, Clone)]
pub(super) enum CorpusSource {
    Lines(PathBuf),
    Files(PathBuf),
}

/// A document from a line or a file.
pub(super) struct CorpusDocument {
    pub(super) id: ItemId,
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Its path, whose extension selects the chunker.
    pub(super) path: Option<String>,
    pub(super) dates: Dates,
    /// The conversation or session it is a turn of.
    pub(super) conversation: Option<String>,
    /// The short texts of its `meta`: who wrote it, where it comes from.
    pub(super) fields: Map<String, Value>,
}

impl CorpusSource {
    /// The corpus in a set's folder, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<CorpusSource>, EvalError> {
        let (lines, files) = (folder.join(CORPUS), folder.join(CORPUS_FOLDER));
        match (lines.is_file(), files.is_dir()) {
            (true, true) => {
                let what = format!("there are {CORPUS} and {CORPUS_FOLDER}; a set has one of them");
                Err(EvalError::folder(folder, what))
            }
            (true, false) => Ok(Some(CorpusSource::Lines(lines))),
            (false, true) => Ok(Some(CorpusSource::Files(files))),
            (false, false) => Ok(None),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            CorpusSource::Lines(path) | CorpusSource::Files(path) => path,
        }
    }

    /// The prefix that item ids have and document ids do not.
    pub(super) const fn prefix(&self) -> &'static str {
        match self {
            CorpusSource::Lines(_) => "",
            // `add` names files relative to the parent of the added folder.
            CorpusSource::Files(_) => "corpus/",
        }
    }

    pub(super) fn documents(&self) -> Result<DocumentReader, EvalError> {
        Ok(match self {
            CorpusSource::Lines(path) => DocumentReader::Lines(RowFile::open(path)?),
            CorpusSource::Files(path) => {
                // The same files as `add`: nothing hidden, nothing ignored, no links.
                let walk = WalkBuilder::new(path)
                    .follow_links(false)
                    .require_git(false)
                    .git_global(false)
                    .git_exclude(false)
                    .sort_by_file_path(Path::cmp)
                    .build();
                DocumentReader::Files { root: path.clone(), walk: Box::new(walk) }
            }
        })
    }
}

/// Reads documents one after another.
pub(super) enum DocumentReader {
    Lines(RowFile),
    Files { root: PathBuf, walk: Box<Walk> },
}

impl DocumentReader {
    /// The next document with its line; files have none.
    pub(super) fn next(&mut self) -> Result<Option<(CorpusDocument, Option<JsonRow>)>, EvalError> {
        match self {
            DocumentReader::Lines(rows) => {
                let Some(mut object) = rows.object()? else { return Ok(None) };
                let document = CorpusDocument::of(&mut object)?;
                Ok(Some((document, Some(object))))
            }
            DocumentReader::Files { root, walk } => loop {
                let Some(entry) = walk.next() else { return Ok(None) };
                let entry = entry.map_err(|error| {
                    EvalError::folder(root, format!("cannot list its files: {error}"))
                })?;
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && let Some(document) = CorpusDocument::of_file(root, entry.path())? {
                    return Ok(Some((document, None)));
                }
            },
        }
    }
}

impl CorpusDocument {
    fn of(object: &mut JsonRow) -> Result<CorpusDocument, EvalError> {
        let id = object.text("id")?;
        let id = ItemId::new(&id).map_err(|error| object.error(format!("id: {error}")))?;
        let (title, text) = (object.optional("title")?, object.text("text")?);
        let own = object.optional("path")?;
        let mut meta = object.meta()?;
        let in_meta =
            ["path", "file"].into_iter().find(|name| meta.get(*name).is_some_and(Value::is_string));
        let in_meta = in_meta.and_then(|name| meta.remove(name)?.as_str().map(str::to_owned));
        let path = own.or(in_meta).filter(|path| !path.is_empty());
        let (dates, conversation) = (Dates::of(&meta), conversation_name(&meta));
        Ok(CorpusDocument {
            id,
            title,
            text,
            path,
            dates,
            conversation,
            fields: searchable_fields(meta),
        })
    }

    /// Reads a file; `None` when `add` would skip it or split it into many items.
    fn of_file(root: &Path, at: &Path) -> Result<Option<CorpusDocument>, EvalError> {
        let Some(name) = relative(root, at) else { return Ok(None) };
        let Ok(id) = ItemId::new(&name) else { return Ok(None) };
        let extension = at.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if TABLES.contains(&extension.to_ascii_lowercase().as_str()) {
            return Ok(None);
        }
        let file = File::open(at).map_err(EvalError::read(at))?;
        let modified = file.metadata().and_then(|file| file.modified()).ok();
        let mut bytes = Vec::new();
        file.take(BODY_BYTES_MAX as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(EvalError::read(at))?;
        let is_text =
            bytes.len() <= BODY_BYTES_MAX && !bytes.iter().take(HEAD_BYTES).any(|byte| *byte == 0);
        let Some(text) = String::from_utf8(bytes).ok().filter(|_| is_text) else {
            return Ok(None);
        };
        let since = modified.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let updated = since.and_then(|since| i64::try_from(since.as_millis()).ok());
        let dates = Dates { updated: updated.map(Timestamp::from_millis), ..Dates::default() };
        let (title, path) = (title(&name, &text), Some(name));
        let (conversation, fields) = (None, Map::new());
        Ok(Some(CorpusDocument { id, title, text, path, dates, conversation, fields }))
    }
}

/// The path of a file relative to a folder, with forward slashes.
fn relative(root: &Path, at: &Path) -> Option<String> {
    let below = at.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> =
        below.components().map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// The title of a Markdown file: from its front matter, else its first heading.
fn title(path: &str, text: &str) -> Option<String> {
    if Format::of_path(path) != Format::Markdown {
        return None;
    }
    let front = front_matter(text);
    let named = text[..front].lines().find_map(|line| line.trim().strip_prefix("title:"));
    let named = named.map(|title| title.trim().trim_matches(['"', '\'']));
    let mut lines = text[front..].lines();
    let title = named
        .filter(|title| !title.is_empty())
        .or_else(|| lines.find(|line| heading_level(line).is_some()).map(heading_title));
    title.map(str::to_owned)
}

/// Keys of `meta` that name the conversation of a turn, from widest to narrowest.
const CONVERSATION_KEYS: [&str; 3] = ["conversation", "thread", "session"];

/// The maximum number of fields taken from `meta`, and of bytes in a name or value.
const FIELDS_MAX: usize = 32;
const FIELD_BYTES_MAX: usize = 100;

/// Short text fields of `meta` that help retrieval, such as author or origin, without the keys of
/// the conversation.
fn searchable_fields(meta: Map<String, Value>) -> Map<String, Value> {
    let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= FIELD_BYTES_MAX);
    let is_name = |name: &str| name.len() <= FIELD_BYTES_MAX && !CONVERSATION_KEYS.contains(&name);
    let names = meta.into_iter().filter(|(name, value)| is_name(name) && is_short(value));
    names.take(FIELDS_MAX).collect()
}

/// The conversation of a turn, joined from the keys of its `meta`.
fn conversation_name(meta: &Map<String, Value>) -> Option<String> {
    let said = |name: &str| match meta.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let parts: Vec<String> = CONVERSATION_KEYS.iter().filter_map(|name| said(name)).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}
