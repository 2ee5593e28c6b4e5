//! From a path to the files in it: what `.gitignore` names and what is hidden stays out, links are
//! not followed.

use std::fs::FileType;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use ignore::{Walk, WalkBuilder};

use super::notice::{Reason, Skip};

/// What the items of a path are called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// Its last part: what was added from another place is the same when it is moved.
    Last,
    /// All of it, as it was given: two of one name can stand side by side.
    Whole,
}

/// A path to add, and what it is called in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Root {
    /// Where it is, without links and dots.
    pub(super) folder: PathBuf,
    /// Its own name, with which the names of its files begin.
    pub(super) name: String,
    pub(super) is_file: bool,
}

impl Root {
    /// Looks a given path up.
    pub(super) fn find(given: &Path, naming: Naming) -> std::io::Result<Root> {
        let folder = given.canonicalize()?;
        let named = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let last = given.components().next_back();
        let own = matches!(last, Some(Component::Normal(_))).then(|| match naming {
            Naming::Last => named(given),
            Naming::Whole => Some(whole(given)),
        });
        let own = own.flatten();
        let name = own.or_else(|| named(&folder)).unwrap_or_else(|| "root".to_owned());
        let is_file = !folder.is_dir();
        Ok(Root { folder, name, is_file })
    }

    /// What the paths of its files begin with.
    pub(super) fn prefix(&self) -> String {
        if self.is_file { self.name.clone() } else { format!("{}/", self.name) }
    }
}

/// A path as it was given, with one sort of slash and without dots that say nothing.
fn whole(given: &Path) -> String {
    let parts = given.components().filter(|part| *part != Component::CurDir);
    let path: PathBuf = parts.collect();
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// What the walk came upon.
#[derive(Debug)]
pub(super) enum Step {
    File {
        at: PathBuf,
        path: String,
    },
    Skip(Skip),
    /// A folder that cannot be read, so that nobody knows what is in it.
    Closed(Skip),
}

/// The files under a root, in order.
pub(super) struct Files {
    walk: Walk,
    root: Root,
}

impl Files {
    pub(super) fn new(root: Root) -> Files {
        let walk = WalkBuilder::new(&root.folder)
            .follow_links(false)
            .require_git(false)
            .git_global(false)
            .git_exclude(false)
            .sort_by_file_path(Path::cmp)
            .build();
        Files { walk, root }
    }

    /// The name of a path in the store.
    fn name(&self, at: &Path) -> Result<String, Skip> {
        let below = at.strip_prefix(&self.root.folder).unwrap_or(at);
        let mut name = self.root.name.clone();
        for part in below.components() {
            let Some(part) = part.as_os_str().to_str() else {
                let path = format!("{}/{}", self.root.name, below.to_string_lossy());
                let what = "its name is not UTF-8".to_owned();
                return Err(Skip { path, line: None, reason: Reason::Name { what } });
            };
            name.push('/');
            name.push_str(part);
        }
        Ok(name)
    }

    fn step(&self, entry: &ignore::DirEntry) -> Option<Step> {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            return None;
        }
        let path = match self.name(entry.path()) {
            Ok(path) => path,
            Err(skip) => return Some(Step::Skip(skip)),
        };
        let reason = if kind.is_symlink() {
            self.link(entry.path())?
        } else if !kind.is_file() {
            Reason::NotAFile { sort: sort(kind) }
        } else {
            return Some(Step::File { at: entry.path().to_owned(), path });
        };
        Some(Step::Skip(Skip { path, line: None, reason }))
    }

    /// What is wrong with a link. One to something in the folder needs no word: that is read under
    /// its own name.
    fn link(&self, at: &Path) -> Option<Reason> {
        let target = match at.canonicalize() {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::NotFound => return Some(Reason::LinkBroken),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return Some(Reason::Unreadable { cause: error.to_string() });
            }
            Err(_) => return Some(Reason::LinkLoop),
        };
        if at.starts_with(&target) {
            return Some(Reason::LinkLoop);
        }
        (!target.starts_with(&self.root.folder)).then_some(Reason::LinkOut { target })
    }
}

impl Iterator for Files {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            match self.walk.next()? {
                Ok(entry) => {
                    if let Some(step) = self.step(&entry) {
                        return Some(step);
                    }
                }
                Err(error) => {
                    let path = path_of(&error)
                        .and_then(|at| self.name(at).ok())
                        .unwrap_or_else(|| self.root.name.clone());
                    let cause = match error.io_error() {
                        Some(error) => error.to_string(),
                        None => error.to_string(),
                    };
                    let reason = Reason::Unreadable { cause };
                    return Some(Step::Closed(Skip { path, line: None, reason }));
                }
            }
        }
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

#[cfg(unix)]
fn sort(kind: FileType) -> &'static str {
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
fn sort(_: FileType) -> &'static str {
    "device"
}
