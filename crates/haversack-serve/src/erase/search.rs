//! Looks for byte strings in all files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The bytes that are read at a time.
const READ_BYTES: usize = 1 << 20;

/// The bytes of a string that are looked up first.
const KEY_BYTES: usize = 4;

/// Byte strings to look for.
#[derive(Debug)]
pub(super) struct Needles<'n> {
    /// By their first bytes.
    by_key: BTreeMap<[u8; KEY_BYTES], Vec<&'n [u8]>>,
    /// Whether a string begins with these two bytes: almost no place of a file does.
    beginnings: Vec<bool>,
    longest: usize,
}

/// What was found in the files of a folder.
#[derive(Debug, Default)]
pub(super) struct SearchedFiles {
    /// The files, relative to the folder, with what they hold.
    pub(super) found: Vec<(PathBuf, BTreeSet<Vec<u8>>)>,
    pub(super) files: u64,
    pub(super) bytes: u64,
}

fn beginning(first: u8, second: u8) -> usize {
    usize::from(u16::from_be_bytes([first, second]))
}

impl<'n> Needles<'n> {
    /// Strings of at least four bytes; shorter ones are found everywhere and left out.
    pub(super) fn new(strings: impl IntoIterator<Item = &'n [u8]>) -> Needles<'n> {
        let mut by_key: BTreeMap<_, Vec<&[u8]>> = BTreeMap::new();
        let (mut beginnings, mut longest) = (vec![false; 1 << 16], KEY_BYTES);
        for string in strings {
            let Some(key) = string.first_chunk::<KEY_BYTES>() else { continue };
            beginnings[beginning(key[0], key[1])] = true;
            longest = longest.max(string.len());
            by_key.entry(*key).or_default().push(string);
        }
        Needles { by_key, beginnings, longest }
    }

    /// Adds the strings that stand in some bytes.
    fn find_in(&self, bytes: &[u8], found: &mut BTreeSet<Vec<u8>>) {
        for at in 0..bytes.len().saturating_sub(KEY_BYTES - 1) {
            if !self.beginnings[beginning(bytes[at], bytes[at + 1])] {
                continue;
            }
            let rest = &bytes[at..];
            let strings = rest.first_chunk().and_then(|key| self.by_key.get(key));
            for string in strings.into_iter().flatten().filter(|string| rest.starts_with(string)) {
                if !found.contains(*string) {
                    found.insert(string.to_vec());
                }
            }
        }
    }

    /// Adds the strings that stand in a file; returns its length.
    fn find_in_file(&self, mut file: File, found: &mut BTreeSet<Vec<u8>>) -> io::Result<u64> {
        let (mut window, mut length) = (Vec::new(), 0);
        loop {
            let read = Read::by_ref(&mut file).take(READ_BYTES as u64).read_to_end(&mut window)?;
            self.find_in(&window, found);
            if read == 0 {
                return Ok(length);
            }
            length += read as u64;
            // A string may go on in what is read next.
            window.drain(..window.len().saturating_sub(self.longest - 1));
        }
    }

    /// Looks through all files below a folder, except for those that a function leaves out.
    pub(super) fn find_below(
        &self,
        folder: &Path,
        is_left_out: &dyn Fn(&Path) -> bool,
    ) -> io::Result<SearchedFiles> {
        let mut searched = SearchedFiles::default();
        let mut folders = vec![PathBuf::new()];
        while let Some(below) = folders.pop() {
            let entries = match std::fs::read_dir(folder.join(&below)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                entries => entries?,
            };
            for entry in entries {
                let entry = entry?;
                let (path, kind) = (below.join(entry.file_name()), entry.file_type()?);
                if is_left_out(&path) {
                    continue;
                }
                if kind.is_dir() {
                    folders.push(path);
                } else if kind.is_file() {
                    let file = match File::open(folder.join(&path)) {
                        // It was removed meanwhile.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                        file => file?,
                    };
                    let mut found = BTreeSet::new();
                    searched.bytes += self.find_in_file(file, &mut found)?;
                    searched.files += 1;
                    if !found.is_empty() {
                        searched.found.push((path, found));
                    }
                }
            }
        }
        searched.found.sort();
        Ok(searched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(content: &[u8], needles: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("a/b")).unwrap();
        std::fs::write(folder.path().join("a/b/file"), content).unwrap();
        std::fs::write(folder.path().join("left-out"), content).unwrap();
        let needles = Needles::new(needles.iter().map(|needle| needle.as_bytes()));
        let left_out = |path: &Path| path == Path::new("left-out");
        let searched = needles.find_below(folder.path(), &left_out).unwrap();
        assert_eq!((searched.files, searched.bytes), (1, content.len() as u64));
        let strings = searched.found.into_iter().flat_map(|(path, strings)| {
            assert_eq!(path, Path::new("a/b/file"));
            strings
        });
        strings.map(|string| String::from_utf8(string).unwrap()).collect()
    }

    #[test]
    fn every_string_is_found_wherever_it_stands() {
        assert_eq!(
            found(b"annemarie", &["anne", "annemarie", "marie", "maria"]),
            ["anne", "annemarie", "marie"]
        );
        assert_eq!(found(b"", &["anne"]), [] as [&str; 0]);
        assert_eq!(found(b"abc", &["abcd", "abc"]), [] as [&str; 0]);
        // Across the places where reading begins anew.
        for before in [READ_BYTES - 9, READ_BYTES - 4, READ_BYTES - 1, READ_BYTES, 2 * READ_BYTES] {
            let content = [&vec![b'a'; before][..], b"annemarie"].concat();
            assert_eq!(found(&content, &["annemarie", "bertha-ann"]), ["annemarie"]);
        }
    }
}
