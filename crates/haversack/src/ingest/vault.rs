//! Finds the vaults of Obsidian among folders: those with a folder `.obsidian`, and all that is in them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The folder with the settings of a vault.
const SETTINGS_FOLDER: &str = ".obsidian";

/// Folders that are remembered. Beyond that all are looked at again.
const FOLDERS_MAX: usize = 10_000;

/// The folders under a root that are in a vault.
#[derive(Debug)]
pub(super) struct Vaults {
    root: PathBuf,
    known: BTreeMap<PathBuf, bool>,
}

impl Vaults {
    /// The vaults at or under a folder. Folders above it are not looked at.
    pub(super) const fn under(root: PathBuf) -> Vaults {
        Vaults { root, known: BTreeMap::new() }
    }

    /// Whether a file is a note of a vault.
    pub(super) fn has_note(&mut self, at: &Path) -> bool {
        let is_markdown = at.extension().is_some_and(|it| it.eq_ignore_ascii_case("md"));
        is_markdown && at.parent().is_some_and(|folder| self.is_inside(folder))
    }

    fn is_inside(&mut self, folder: &Path) -> bool {
        if let Some(known) = self.known.get(folder) {
            return *known;
        }
        let mut above = folder.ancestors().take_while(|folder| folder.starts_with(&self.root));
        let is_inside = above.any(|folder| folder.join(SETTINGS_FOLDER).is_dir());
        if self.known.len() >= FOLDERS_MAX {
            self.known.clear();
        }
        self.known.insert(folder.to_owned(), is_inside);
        is_inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_those_at_and_under_the_folder_with_settings() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("vault/.obsidian")).unwrap();
        std::fs::create_dir_all(folder.path().join("vault/deep/er")).unwrap();
        let mut vaults = Vaults::under(folder.path().to_owned());
        let mut check = |path: &str, expected: bool| {
            assert_eq!(vaults.has_note(&folder.path().join(path)), expected, "{path}");
        };
        check("vault/a.md", true);
        check("vault/deep/er/a.MD", true);
        check("vault/a.txt", false);
        check("a.md", false);
        let mut inner = Vaults::under(folder.path().join("vault/deep"));
        assert!(!inner.has_note(&folder.path().join("vault/deep/a.md")));
    }
}
