//! A folder of context documents: each file is a context, called by its path without its ending.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use haversack_core::ids::ItemId;
use haversack_core::units::Timestamp;
use haversack_store::store::item::Item;
use ignore::{DirEntry, WalkBuilder};

use super::{DOCUMENT_BYTES_MAX, DocumentError, DocumentProblem, Format, PROBLEMS_MAX, read};

/// Most documents of a folder.
pub const FILES_MAX: usize = 10_000;

/// How deep folders may stand in each other.
pub const DEPTH_MAX: usize = 64;

/// Reads every context document (`*.yaml`, `*.yml`, `*.json`, `*.md`) in a folder and those below.
///
/// A file's id is its path in the folder without the ending, such as `helpers/complexity-guide`, so
/// that rules and parents can name it. What is hidden or named in a `.gitignore` stays out, links
/// are not followed. The items come in the order of their ids.
///
/// # Errors
/// When a file cannot be read or is no context document, or when two have the same id: everything
/// that is wrong, file by file, with lines.
pub fn items_from_folder(folder: &Path) -> Result<Vec<Item>, DocumentError> {
    let mut problems: Vec<DocumentProblem> = Vec::new();
    let mut items: BTreeMap<ItemId, (String, Item)> = BTreeMap::new();
    for (file, path) in files(folder)? {
        match document(folder, &file, &path) {
            Ok(item) => {
                if let Some((other, _)) = items.get(&item.id) {
                    let message = format!("{} is the id of {other}, too: rename one", item.id);
                    problems.push(about(&file, message));
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
fn files(folder: &Path) -> Result<Vec<(String, PathBuf)>, DocumentError> {
    let fail = |file: &str, message: String| DocumentError { problems: vec![about(file, message)] };
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
        let is_folder = entry.file_type().is_some_and(|sort| sort.is_dir());
        if is_folder && entry.depth() > DEPTH_MAX {
            return Err(fail(&name(), format!("folders stand {DEPTH_MAX} deep at most")));
        }
        let is_file = entry.file_type().is_some_and(|sort| sort.is_file());
        if !is_file || Format::of_path(path).is_none() {
            continue;
        }
        let parts: Option<Vec<&str>> = below.iter().map(|part| part.to_str()).collect();
        let Some(parts) = parts else {
            return Err(fail(&name(), "the name is not UTF-8".to_owned()));
        };
        // A path that is a file itself has no name below itself.
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

fn document(folder: &Path, file: &str, path: &Path) -> Result<Item, DocumentError> {
    let fail = |message: String| DocumentError { problems: vec![about(file, message)] };
    let unreadable = |error: std::io::Error| fail(format!("cannot be read: {error}"));
    let handle = File::open(path).map_err(unreadable)?;
    let modified = handle.metadata().and_then(|metadata| metadata.modified()).ok();
    let mut bytes = Vec::new();
    // One byte more than there may be, to tell that there is more.
    let limit = DOCUMENT_BYTES_MAX as u64 + 1;
    handle.take(limit).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > DOCUMENT_BYTES_MAX {
        return Err(fail(format!("the document is over the limit of {DOCUMENT_BYTES_MAX} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        fail(format!("the text is not UTF-8 at byte {}", error.utf8_error().valid_up_to()))
    })?;
    let ending = path.extension().map_or(0, |ending| ending.len() + 1);
    let id = ItemId::new(&file[..file.len() - ending])
        .map_err(|error| fail(format!("the path cannot be an id: {error}")))?;
    let format = Format::of_path(path).unwrap_or(Format::Markdown);
    let mut item = read(&text, format, Some(&id))?;
    item.path = Some(file.to_owned());
    item.updated = modified.and_then(|modified| {
        let since = modified.duration_since(UNIX_EPOCH).ok()?;
        Some(Timestamp::from_millis(i64::try_from(since.as_millis()).ok()?))
    });
    debug_assert!(path.starts_with(folder), "the walk stays in its folder");
    Ok(item)
}

fn about(file: &str, message: String) -> DocumentProblem {
    DocumentProblem { file: Some(file.to_owned()), line: None, field: None, message }
}
