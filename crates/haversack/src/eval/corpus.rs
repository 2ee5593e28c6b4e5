//! The documents of a set: lines of `corpus.jsonl`, or the files of a folder `corpus`.

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
use super::rows::{Object, Rows};

/// The file of documents.
pub(super) const CORPUS: &str = "corpus.jsonl";

/// The folder of documents.
pub(super) const CORPUS_FOLDER: &str = "corpus";

/// Extensions of files that hold many items; their records have no path of their own.
const TABLES: [&str; 4] = ["jsonl", "ndjson", "csv", "tsv"];

/// How much of a file is looked at to tell text from anything else.
const HEAD_BYTES: usize = 8 << 10;

/// Where documents come from.
#[derive(Debug, Clone)]
pub(super) enum Corpus {
    Lines(PathBuf),
    Files(PathBuf),
}

/// A document as its line or file says it.
pub(super) struct Document {
    pub(super) id: ItemId,
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// Where it is in a tree of files: its extension decides how it is split.
    pub(super) path: Option<String>,
    pub(super) dates: Dates,
    /// The conversation or session it is a turn of.
    pub(super) talk: Option<String>,
    /// The short texts of its `meta`: who wrote it, where it comes from.
    pub(super) fields: Map<String, Value>,
}

impl Corpus {
    /// The corpus in a set's folder, if there is one.
    pub(super) fn find(folder: &Path) -> Result<Option<Corpus>, EvalError> {
        let (lines, files) = (folder.join(CORPUS), folder.join(CORPUS_FOLDER));
        match (lines.is_file(), files.is_dir()) {
            (true, true) => {
                let what = format!("there are {CORPUS} and {CORPUS_FOLDER}; a set has one of them");
                Err(EvalError::folder(folder, what))
            }
            (true, false) => Ok(Some(Corpus::Lines(lines))),
            (false, true) => Ok(Some(Corpus::Files(files))),
            (false, false) => Ok(None),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Corpus::Lines(path) | Corpus::Files(path) => path,
        }
    }

    /// What the ids of items begin with, and those of documents do not.
    pub(super) const fn prefix(&self) -> &'static str {
        match self {
            Corpus::Lines(_) => "",
            // `add` calls files by their path from the folder that holds what is added.
            Corpus::Files(_) => "corpus/",
        }
    }

    pub(super) fn documents(&self) -> Result<Documents, EvalError> {
        Ok(match self {
            Corpus::Lines(path) => Documents::Lines(Rows::open(path)?),
            Corpus::Files(path) => {
                // What `add` would take: nothing hidden, nothing ignored, no links.
                let walk = WalkBuilder::new(path)
                    .follow_links(false)
                    .require_git(false)
                    .git_global(false)
                    .git_exclude(false)
                    .sort_by_file_path(Path::cmp)
                    .build();
                Documents::Files { root: path.clone(), walk: Box::new(walk) }
            }
        })
    }
}

/// Documents one after another.
pub(super) enum Documents {
    Lines(Rows),
    Files { root: PathBuf, walk: Box<Walk> },
}

impl Documents {
    /// The next document with the line it stands on; files have none.
    pub(super) fn next(&mut self) -> Result<Option<(Document, Option<Object>)>, EvalError> {
        match self {
            Documents::Lines(rows) => {
                let Some(mut object) = rows.object()? else { return Ok(None) };
                let document = Document::of(&mut object)?;
                Ok(Some((document, Some(object))))
            }
            Documents::Files { root, walk } => loop {
                let Some(entry) = walk.next() else { return Ok(None) };
                let entry = entry.map_err(|error| {
                    EvalError::folder(root, format!("cannot be walked through: {error}"))
                })?;
                let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
                if is_file && let Some(document) = Document::of_file(root, entry.path())? {
                    return Ok(Some((document, None)));
                }
            },
        }
    }
}

impl Document {
    fn of(object: &mut Object) -> Result<Document, EvalError> {
        let id = object.text("id")?;
        let id = ItemId::new(&id).map_err(|error| object.wrong(format!("id: {error}")))?;
        let (title, text) = (object.optional("title")?, object.text("text")?);
        let own = object.optional("path")?;
        let mut meta = object.meta()?;
        let in_meta =
            ["path", "file"].into_iter().find(|name| meta.get(*name).is_some_and(Value::is_string));
        let in_meta = in_meta.and_then(|name| meta.remove(name)?.as_str().map(str::to_owned));
        let path = own.or(in_meta).filter(|path| !path.is_empty());
        let (dates, talk) = (Dates::of(&meta), talk(&meta));
        Ok(Document { id, title, text, path, dates, talk, fields: names(meta) })
    }

    /// A file that is one document; `None` when `add` would pass it over or make many items of it.
    fn of_file(root: &Path, at: &Path) -> Result<Option<Document>, EvalError> {
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
        let (talk, fields) = (None, Map::new());
        Ok(Some(Document { id, title, text, path, dates, talk, fields }))
    }
}

/// A file's path from a folder, with one sort of slash.
fn relative(root: &Path, at: &Path) -> Option<String> {
    let below = at.strip_prefix(root).ok()?;
    let parts: Option<Vec<&str>> =
        below.components().map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

/// The title that a Markdown file gives itself: in its front matter, or as its first heading.
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

/// What a turn belongs to, from the widest to the narrowest.
const TALKS: [&str; 3] = ["conversation", "thread", "session"];

/// Most of `meta` that is taken over, and the longest of it.
const NAMES_MAX: usize = 32;
const NAME_BYTES_MAX: usize = 100;

/// What of `meta` may help to find a document: who wrote it, where it comes from. What has a
/// meaning of its own is left out.
fn names(meta: Map<String, Value>) -> Map<String, Value> {
    let is_short = |value: &Value| value.as_str().is_some_and(|text| text.len() <= NAME_BYTES_MAX);
    let is_name = |name: &str| name.len() <= NAME_BYTES_MAX && !TALKS.contains(&name);
    let names = meta.into_iter().filter(|(name, value)| is_name(name) && is_short(value));
    names.take(NAMES_MAX).collect()
}

/// What a turn belongs to, as its `meta` says: the session, or else the conversation.
fn talk(meta: &Map<String, Value>) -> Option<String> {
    let said = |name: &str| match meta.get(name) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    let parts: Vec<String> = TALKS.iter().filter_map(|name| said(name)).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}
