//! Walks the files under a path. Hidden files and those that `.gitignore` names are left out, and
//! symbolic links are not followed.

use std::fs::FileType;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use ignore::{Walk, WalkBuilder};

use super::changed::ChangedPaths;
use super::skip::{IngestSkipReason, Skip};

/// How a root is named in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RootNaming {
    /// By the last component of its path, so that a folder keeps its items when it is moved.
    LastComponent,
    /// By the whole path as it was given, so that two files of one name are two items.
    FullPath,
}

/// A path to add, with its name in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// The canonical path, without links and dots.
    pub(super) folder: PathBuf,
    /// The name in the store, with which the paths of its files begin.
    pub(super) name: String,
    pub(super) is_file: bool,
}

impl Root {
    /// Resolves a given path.
    pub(super) fn find(given: &Path, naming: RootNaming) -> std::io::Result<Root> {
        let folder = given.canonicalize()?;
        let file_name =
            |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let last = given.components().next_back();
        let own = matches!(last, Some(Component::Normal(_))).then(|| match naming {
            RootNaming::LastComponent => file_name(given),
            RootNaming::FullPath => Some(full_path_name(given)),
        });
        let own = own.flatten();
        let name = own.or_else(|| file_name(&folder)).unwrap_or_else(|| "root".to_owned());
        let is_file = !folder.is_dir();
        Ok(Root { folder, name, is_file })
    }

    /// The path in the store of a file or folder below it.
    pub(super) fn stored_path(&self, at: &Path) -> Result<String, Skip> {
        let below = at.strip_prefix(&self.folder).unwrap_or(at);
        let mut name = self.name.clone();
        for part in below.components() {
            let Some(part) = part.as_os_str().to_str() else {
                let path = format!("{}/{}", self.name, below.to_string_lossy());
                let what = "its name is not UTF-8".to_owned();
                let reason = IngestSkipReason::UnusableName { what };
                return Err(Skip { path, line: None, reason });
            };
            name.push('/');
            name.push_str(part);
        }
        Ok(name)
    }
}

/// A path as it was given, with forward slashes and without `.` components.
fn full_path_name(given: &Path) -> String {
    let parts = given.components().filter(|part| *part != Component::CurDir);
    let path: PathBuf = parts.collect();
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// One result of the walk.
#[derive(Debug)]
pub(super) enum WalkStep {
    File {
        at: PathBuf,
        path: String,
    },
    Skip(Skip),
    /// A folder that cannot be read, so that its content is unknown.
    UnreadableFolder(Skip),
}

/// An iterator over the files under a root, in the order of their paths.
pub(super) struct FileWalk {
    walk: Walk,
    root: Root,
}

/// A walk of what ingestion reads: no hidden and ignored files, no links. With `changed`, only of that
/// part, by the same rules.
pub(super) fn walk_builder(folder: &Path, changed: Option<&ChangedPaths>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(folder);
    builder.follow_links(false).require_git(false).git_global(false).git_exclude(false);
    if let Some(changed) = changed {
        let changed = changed.clone();
        builder.filter_entry(move |entry| changed.leads_to(entry.path()));
    }
    builder
}

impl FileWalk {
    pub(super) fn new(root: Root, changed: Option<&ChangedPaths>) -> FileWalk {
        let walk = walk_builder(&root.folder, changed).sort_by_file_path(Path::cmp).build();
        FileWalk { walk, root }
    }

    fn stored_path(&self, at: &Path) -> Result<String, Skip> {
        self.root.stored_path(at)
    }

    fn to_step(&self, entry: &ignore::DirEntry) -> Option<WalkStep> {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            return None;
        }
        let path = match self.stored_path(entry.path()) {
            Ok(path) => path,
            Err(skip) => return Some(WalkStep::Skip(skip)),
        };
        let reason = if kind.is_symlink() {
            self.check_link(entry.path())?
        } else if !kind.is_file() {
            IngestSkipReason::NotAFile { file_type: special_file_type(kind) }
        } else {
            return Some(WalkStep::File { at: entry.path().to_owned(), path });
        };
        Some(WalkStep::Skip(Skip { path, line: None, reason }))
    }

    /// The reason for skipping a symbolic link. A link into the same folder has none, because its
    /// target is read under its own name.
    fn check_link(&self, at: &Path) -> Option<IngestSkipReason> {
        let target = match at.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Some(IngestSkipReason::LinkBroken);
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Some(IngestSkipReason::Unreadable { cause: error.to_string() });
            }
            Err(_) => return Some(IngestSkipReason::LinkLoop),
        };
        if at.starts_with(&target) {
            return Some(IngestSkipReason::LinkLoop);
        }
        (!target.starts_with(&self.root.folder)).then_some(IngestSkipReason::LinkOutside { target })
    }
}

impl Iterator for FileWalk {
    type Item = WalkStep;

    fn next(&mut self) -> Option<WalkStep> {
        loop {
            match self.walk.next()? {
                Ok(entry) => {
                    if let Some(step) = self.to_step(&entry) {
                        return Some(step);
                    }
                }
                Err(error) => {
                    let path = error_path(&error)
                        .and_then(|at| self.stored_path(at).ok())
                        .unwrap_or_else(|| self.root.name.clone());
                    let cause = match error.io_error() {
                        Some(error) => error.to_string(),
                        None => error.to_string(),
                    };
                    let reason = IngestSkipReason::Unreadable { cause };
                    return Some(WalkStep::UnreadableFolder(Skip { path, line: None, reason }));
                }
            }
        }
    }
}

fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            error_path(err)
        }
        _ => None,
    }
}

#[cfg(unix)]
fn special_file_type(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "pipe"
    } else if kind.is_socket() {
        "socket"
    } else {
        "device"
    }
}

#[cfg(not(unix))]
fn special_file_type(_: FileType) -> &'static str {
    "device"
}
