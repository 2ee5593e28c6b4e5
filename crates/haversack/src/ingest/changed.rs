//! The part of a folder that changed, so that only this part is looked at.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Most changed paths that are looked at one by one. For more, everything is looked at.
pub(super) const CHANGED_MAX: usize = 1_000;

/// Files that decide which others of their folder are read.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Files and folders that changed below a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedPaths {
    /// Canonical, and none of them below another.
    scopes: BTreeSet<PathBuf>,
    /// The folders that lead to them, the root included.
    above: BTreeSet<PathBuf>,
}

impl ChangedPaths {
    /// The changed part of a root. `None` when that is everything: the root itself changed, or too much.
    pub(super) fn below(root: &Path, changed: &BTreeSet<PathBuf>) -> Option<ChangedPaths> {
        let mut scopes: BTreeSet<PathBuf> = BTreeSet::new();
        // A folder comes before what is in it.
        for path in changed.iter().filter(|path| path.starts_with(root)) {
            let names = |name: &OsStr| IGNORE_FILES.iter().any(|ignore| name == *ignore);
            let scope = match path.file_name().is_some_and(names) {
                true => path.parent()?,
                false => path,
            };
            if scope == root || !scope.starts_with(root) || scopes.len() >= CHANGED_MAX {
                return None;
            }
            scopes.insert(scope.to_owned());
        }
        let all = scopes.clone();
        scopes.retain(|scope| !scope.ancestors().skip(1).any(|above| all.contains(above)));
        let above = scopes.iter().flat_map(|scope| scope.ancestors().skip(1));
        let above = above.filter(|above| above.starts_with(root)).map(Path::to_owned).collect();
        Some(ChangedPaths { scopes, above })
    }

    /// Whether a path is or is below one that changed.
    pub(super) fn covers(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.scopes.contains(above))
    }

    /// Whether a path changed, or leads to one that did.
    pub(super) fn leads_to(&self, path: &Path) -> bool {
        self.above.contains(path) || self.covers(path)
    }

    /// The files and folders that changed.
    pub(super) fn scopes(&self) -> impl Iterator<Item = &Path> {
        self.scopes.iter().map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paths that are looked at for these changes; `all` for everything.
    #[track_caller]
    fn check(changed: &[&str], expected: &[&str]) -> Option<ChangedPaths> {
        let changed = changed.iter().map(PathBuf::from).collect();
        let found = ChangedPaths::below(Path::new("/docs"), &changed);
        let scopes = found.as_ref().map(|found| found.scopes().collect::<Vec<_>>());
        assert_eq!(scopes, Some(expected.iter().map(Path::new).collect()), "{changed:?}");
        found
    }

    #[test]
    fn only_the_changed_part_of_a_root_is_looked_at() {
        let found = check(&["/docs/a/b.md", "/docs/c", "/other/x"], &["/docs/a/b.md", "/docs/c"]);
        let found = found.unwrap();
        for (path, leads, covers) in [
            ("/docs", true, false),
            ("/docs/a", true, false),
            ("/docs/a/b.md", true, true),
            ("/docs/a/b.md.bak", false, false),
            ("/docs/c/d/e.md", true, true),
            ("/docs/cc", false, false),
        ] {
            assert_eq!(found.leads_to(Path::new(path)), leads, "{path}");
            assert_eq!(found.covers(Path::new(path)), covers, "{path}");
        }
        check(&["/docs/a", "/docs/a/b.md", "/docs/a.md"], &["/docs/a", "/docs/a.md"]);
        // What a folder ignores may be any of its files.
        check(&["/docs/a/.gitignore", "/docs/b/c.md"], &["/docs/a", "/docs/b/c.md"]);
    }

    #[test]
    fn a_changed_root_is_looked_at_whole() {
        let below = |changed: &[String]| {
            let changed = changed.iter().map(PathBuf::from).collect();
            ChangedPaths::below(Path::new("/docs"), &changed)
        };
        assert_eq!(below(&["/docs".to_owned()]), None);
        assert_eq!(below(&["/docs/.gitignore".to_owned()]), None);
        let many: Vec<String> = (0..=CHANGED_MAX).map(|n| format!("/docs/{n}.md")).collect();
        assert_eq!(below(&many), None);
        assert!(below(&many[1..]).is_some());
    }
}
