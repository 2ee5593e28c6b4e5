//! Reads a folder of context documents: each file's id is its path without the extension.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::item::Item;
use ignore::{DirEntry, WalkBuilder};

use super::{
    DOCUMENT_BYTES_MAX, DocumentError, DocumentFormat, DocumentProblem, PROBLEMS_MAX, parse,
};

/// Most documents of a folder.
pub const FILES_MAX: usize = 10_000;

/// How deep folders may be nested.
pub const DEPTH_MAX: usize = 64;

/// Reads every context document (`*.yaml`, `*.yml`, `*.json`, `*.md`) in a folder and those below.
///
/// A file's id is its path in the folder without the extension, such as `helpers/complexity-guide`, so
/// that rules and parents can name it. Hidden and git-ignored files are skipped, and links are
/// not followed. The items are in the order of their ids.
///
/// # Errors
/// When a file cannot be read or is not a context document, or when two have the same id. The error
/// lists all problems, file by file, with lines.
pub fn items_from_folder(folder: &Path) -> Result<Vec<Item>, DocumentError> {
    let mut problems: Vec<DocumentProblem> = Vec::new();
    let mut items: BTreeMap<ItemId, (String, Item)> = BTreeMap::new();
    for (file, path) in list_documents(folder)? {
        match read_document(folder, &file, &path) {
            Ok(item) => {
                if let Some((other, _)) = items.get(&item.id) {
                    let message = format!("{} is the id of {other}, too: rename one", item.id);
                    problems.push(file_problem(&file, message));
                } else {
                    items.insert(item.id.clone(), (file, item));
                }
            }
            Err(DocumentError { problems: found }) => {
                let named = |problem| DocumentProblem { file: Some(file.clone()), ..problem };
                problems.extend(found.into_iter().map(named));
            }
        }
        if problems.len() >= PROBLEMS_MAX {
            problems.truncate(PROBLEMS_MAX);
            break;
        }
    }
    if problems.is_empty() {
        Ok(items.into_values().map(|(_, item)| item).collect())
    } else {
        Err(DocumentError { problems })
    }
}

/// The documents of a folder: what each is called there, and where it is.
fn list_documents(folder: &Path) -> Result<Vec<(String, PathBuf)>, DocumentError> {
    let fail =
        |file: &str, message: String| DocumentError { problems: vec![file_problem(file, message)] };
    let mut files = Vec::new();
    let walk = WalkBuilder::new(folder)
        .follow_links(false)
        .require_git(false)
        .git_global(false)
        .git_exclude(false)
        .max_depth(Some(DEPTH_MAX + 1))
        .sort_by_file_path(Path::cmp)
        .build();
    for entry in walk {
        let entry: DirEntry = entry.map_err(|error| {
            let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
            fail(&folder.display().to_string(), format!("cannot be read: {cause}"))
        })?;
        let path = entry.path();
        let Ok(below) = path.strip_prefix(folder) else { continue };
        let name = || below.display().to_string();
        let is_folder = entry.file_type().is_some_and(|file_type| file_type.is_dir());
        if is_folder && entry.depth() > DEPTH_MAX {
            return Err(fail(&name(), format!("folders stand {DEPTH_MAX} deep at most")));
        }
        let is_file = entry.file_type().is_some_and(|file_type| file_type.is_file());
        if !is_file || DocumentFormat::of_path(path).is_none() {
            continue;
        }
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        let Some(parts) = parts else {
            return Err(fail(&name(), "the name is not UTF-8".to_owned()));
        };
        // When the given path is itself a file, the path below it is empty.
        let file = match parts.join("/") {
            empty if empty.is_empty() => {
                path.file_name().and_then(|n| n.to_str()).map(str::to_owned)
            }
            file => Some(file),
        };
        files.extend(file.map(|file| (file, path.to_owned())));
        if files.len() > FILES_MAX {
            let message = format!("a folder of contexts holds {FILES_MAX} documents at most");
            return Err(fail(&folder.display().to_string(), message));
        }
    }
    Ok(files)
}

fn read_document(folder: &Path, file: &str, path: &Path) -> Result<Item, DocumentError> {
    let fail = |message: String| DocumentError { problems: vec![file_problem(file, message)] };
    let unreadable = |error: std::io::Error| fail(format!("cannot be read: {error}"));
    let handle = File::open(path).map_err(unreadable)?;
    let modified = handle.metadata().and_then(|metadata| metadata.modified()).ok();
    let mut bytes = Vec::new();
    // One byte over the limit shows that the file is too large.
    let limit = DOCUMENT_BYTES_MAX as u64 + 1;
    handle.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(fail(format!("the document is over the limit of {DOCUMENT_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        fail(format!("the text is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })?;
    let extension = path.extension().map_or(0, |extension| extension.len() + 1);
    let id = ItemId::new(&file[..file.len() - extension])
        .map_err(|error| fail(format!("the path cannot be an id: {error}")))?;
    let format = DocumentFormat::of_path(path).unwrap_or(DocumentFormat::Markdown);
    let mut item = parse(&text, format, Some(&id))?;
    item.path = Some(file.to_owned());
    item.updated = modified.and_then(|modified| {
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
    });
    debug_assert!(path.starts_with(folder), "the walk stays in its folder");
    Ok(item)
}

fn file_problem(file: &str, message: String) -> DocumentProblem {
    DocumentProblem { file: Some(file.to_owned()), line: None, field: None, message }
}
