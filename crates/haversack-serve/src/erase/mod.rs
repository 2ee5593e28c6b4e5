//! Erasing a user from a whole data folder, and showing that nothing is left: workspaces, keys, stored
//! responses, the audit log. Afterwards every file is searched for the user's name and for pieces of
//! the erased texts.
//!
//! Copies elsewhere are not found: backups, exports, logs of the process, caches outside of the folder.

mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};

use haversack::Engine;
use haversack::engine::WorkspaceErasure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::search::{Needles, SearchedFiles};
use crate::audit;
use crate::who::{Control, ControlError};

/// The folder of workspaces in a data folder, and that of models, which nobody's data is in.
const WORKSPACES: &str = "workspaces";
const MODELS: &str = "models";

/// A name of at least this many bytes is searched for by itself; a shorter one stands in files by
/// chance, and is searched for as a principal and as a credential.
const NAME_BYTES_MIN: usize = 4;

/// The ending of segments of vectors: numbers, in which a short name may stand by chance.
const VECTORS: &str = "vectors";
const CHANCE_BYTES: usize = 8;

/// Why a user could not be erased.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EraseError {
    /// A workspace cannot be read or written.
    #[error("the workspace {workspace:?}")]
    Workspace {
        /// Its name.
        workspace: String,
        /// Why.
        #[source]
        cause: haversack::Error,
    },
    /// The workspaces cannot be listed.
    #[error("the workspaces cannot be listed")]
    List(#[source] haversack::Error),
    /// The control database cannot be written.
    #[error(transparent)]
    Control(#[from] ControlError),
    /// A file cannot be read or written.
    #[error("a file of the data folder cannot be read or written")]
    File(#[from] io::Error),
}

/// What erasing a user did, and what is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UserErasure")]
pub struct UserErasure {
    /// The workspaces that held something of the user.
    pub workspaces: Vec<ErasedWorkspace>,
    /// Keys that acted as the user; they are revoked and removed.
    pub keys: u64,
    /// Lines of the audit log in which the name was replaced by a hash.
    pub audit_lines: u64,
    /// Files that were searched for the name and the erased texts.
    pub files_searched: u64,
    /// Their bytes.
    pub bytes_searched: u64,
    /// What is left and why; empty if nothing was found.
    pub left: Vec<Leftover>,
}

/// What erasing a user did in one workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ErasedWorkspace {
    /// Its name.
    pub workspace: String,
    /// Items that were erased, because nobody else could read them.
    pub erased: usize,
    /// Items of the user that others can read; they stay without the user's name.
    pub kept: usize,
    /// Receipts that were removed.
    pub receipts: usize,
}

/// Something that is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Leftover {
    /// The file, or the workspace.
    pub place: String,
    /// What was found there.
    pub what: String,
    /// Why it is there, as far as it is known.
    pub why: String,
}

/// Erases a user and searches all files for what is left. Repeating it is safe. For threads that may
/// block.
///
/// # Errors
/// When something cannot be read or written. What was erased until then stays erased.
pub fn erase_user(
    engine: &Engine,
    folder: &Path,
    control: Option<&Control>,
    user: &str,
) -> Result<UserErasure, EraseError> {
    let mut erasure = UserErasure {
        workspaces: Vec::new(),
        keys: 0,
        audit_lines: 0,
        files_searched: 0,
        bytes_searched: 0,
        left: Vec::new(),
    };
    // First, so that nobody can write as the user any more.
    if let Some(control) = control {
        erasure.keys = control.erase_user(user)?;
    }
    let mut pieces = BTreeSet::new();
    for name in engine.workspaces().map_err(EraseError::List)? {
        let done = engine.existing_workspace(&name).and_then(|open| open.erase_user(user));
        let done =
            done.map_err(|cause| EraseError::Workspace { workspace: name.clone(), cause })?;
        let WorkspaceErasure { erased, kept, receipts, left, pieces: more } = done;
        pieces.extend(more);
        for why in left {
            let what = "files that hold what was removed".to_owned();
            erasure.left.push(Leftover { place: name.clone(), what, why });
        }
        if erased + kept + receipts > 0 {
            erasure.workspaces.push(ErasedWorkspace { workspace: name, erased, kept, receipts });
        }
    }
    if folder.join("audit.log").exists() {
        let names = audit::erase_user(folder, user, false)?;
        erasure.audit_lines = names.lines;
        if names.left > 0 {
            erasure.left.push(Leftover {
                place: "audit.log".to_owned(),
                what: format!("{} lines that name the user", names.left),
                why: "they were written by an earlier version, whose hashes cover the name"
                    .to_owned(),
            });
        }
    }
    let searched = search(engine, folder, user, &pieces)?;
    (erasure.files_searched, erasure.bytes_searched) = (searched.files, searched.bytes);
    erasure.left.extend(explain(engine, searched, user)?);
    Ok(erasure)
}

/// Searches all files. A workspace in which something stands that none of its items holds is written
/// anew and searched again: an earlier version of the program may have left it.
fn search(
    engine: &Engine,
    folder: &Path,
    user: &str,
    pieces: &BTreeSet<String>,
) -> Result<SearchedFiles, EraseError> {
    let names = name_forms(user);
    let strings = names.iter().chain(pieces).map(String::as_bytes);
    let needles = Needles::new(strings);
    let is_left_out = |path: &Path| path == Path::new(MODELS);
    let mut searched = needles.find_below(folder, &is_left_out)?;
    drop_chance(&mut searched, user);
    let mut stale = BTreeSet::new();
    for (path, found) in &searched.found {
        if let Some(workspace) = workspace_of(path)
            && !stale.contains(&workspace)
            && !is_held(engine, &workspace, found)?
        {
            stale.insert(workspace);
        }
    }
    for name in &stale {
        let opened = engine.existing_workspace(name);
        let done = opened.and_then(|workspace| workspace.rewrite_files());
        done.map_err(|cause| EraseError::Workspace { workspace: name.clone(), cause })?;
    }
    if !stale.is_empty() {
        searched = needles.find_below(folder, &is_left_out)?;
        drop_chance(&mut searched, user);
    }
    Ok(searched)
}

/// The forms of a name that are searched for.
fn name_forms(user: &str) -> BTreeSet<String> {
    if user.len() >= NAME_BYTES_MIN {
        return [user.to_owned()].into();
    }
    [format!("user:{user}"), format!("jwt:{user}"), format!("\"{user}\"")].into()
}

/// Leaves out what stands among numbers by chance.
fn drop_chance(searched: &mut SearchedFiles, user: &str) {
    if user.len() >= CHANCE_BYTES {
        return;
    }
    let names: BTreeSet<Vec<u8>> = name_forms(user).into_iter().map(String::into_bytes).collect();
    for (path, found) in &mut searched.found {
        if path.extension().is_some_and(|extension| extension == VECTORS) {
            found.retain(|string| !names.contains(string));
        }
    }
    searched.found.retain(|(_, found)| !found.is_empty());
}

/// The workspace that a file belongs to.
fn workspace_of(path: &Path) -> Option<String> {
    let mut parts = path.components();
    let first = parts.next()?;
    let name = parts.next().filter(|_| first == Component::Normal(WORKSPACES.as_ref()))?;
    // A removed workspace, whose files could not be deleted, has a name that none can have.
    let name = name.as_os_str().to_str()?;
    (!name.starts_with('.')).then(|| name.to_owned())
}

/// The items and documents of a workspace that hold a string.
fn holders(engine: &Engine, workspace: &str, string: &[u8]) -> Result<Vec<String>, EraseError> {
    let text = String::from_utf8_lossy(string);
    let opened = engine.existing_workspace(workspace);
    let holders = opened.and_then(|workspace| workspace.holders_of(&text));
    holders.map_err(|cause| EraseError::Workspace { workspace: workspace.to_owned(), cause })
}

/// Whether each of these strings stands in an item or document of a workspace.
fn is_held(
    engine: &Engine,
    workspace: &str,
    found: &BTreeSet<Vec<u8>>,
) -> Result<bool, EraseError> {
    for string in found {
        if holders(engine, workspace, string)?.is_empty() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Says why something was found.
fn explain(
    engine: &Engine,
    searched: SearchedFiles,
    user: &str,
) -> Result<Vec<Leftover>, EraseError> {
    let names: BTreeSet<Vec<u8>> = name_forms(user).into_iter().map(String::into_bytes).collect();
    let mut known: BTreeMap<(String, Vec<u8>), Vec<String>> = BTreeMap::new();
    let mut left = Vec::new();
    for (path, found) in searched.found {
        for string in found {
            let what = match names.contains(&string) {
                true => "the user's name".to_owned(),
                false => "a piece of an erased text".to_owned(),
            };
            let mut holding = Vec::new();
            if let Some(workspace) = workspace_of(&path) {
                let key = (workspace.clone(), string.clone());
                holding = match known.get(&key) {
                    Some(holding) => holding.clone(),
                    None => holders(engine, &workspace, &string)?,
                };
                known.insert(key, holding.clone());
            }
            let why = match holding.is_empty() {
                true => "it is not known: the file may hold it by chance, or for another purpose"
                    .to_owned(),
                false => format!("it stands in what others can read: {}", holding.join(", ")),
            };
            left.push(Leftover { place: path.display().to_string(), what, why });
        }
    }
    Ok(left)
}
