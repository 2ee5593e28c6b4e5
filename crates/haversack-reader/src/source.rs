//! A file to be read: its name, its bytes, and what its beginning shows.

use std::io::{Cursor, Read, Seek, SeekFrom};

use zip::ZipArchive;

use crate::compressed::{CompressedInput, decompress, is_compressed, name_within};
use crate::limits::{ENTRIES_MAX, ENTRY_BYTES_MAX, FILE_BYTES_MAX, HEAD_BYTES};
use crate::part::ReadFailure;

/// Bytes that can be read from any place.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

/// Hands a file to its reader: the file itself, or, if it is compressed, what is in it.
///
/// # Errors
/// When it cannot be read or decompressed, or the reader fails.
pub fn with_source<T>(
    name: &str,
    input: &mut dyn ReadSeek,
    read: impl FnOnce(&mut SourceFile<'_>) -> Result<T, ReadFailure>,
) -> Result<T, ReadFailure> {
    let mut source = SourceFile::new(name, input)?;
    if !is_compressed(&source.beginning()?) {
        return read(&mut source);
    }
    let mut input = Cursor::new(source.decompress()?);
    read(&mut SourceFile::new(name_within(name), &mut input)?)
}

/// A file to be read.
#[expect(missing_debug_implementations, reason = "the input has no text form")]
pub struct SourceFile<'f> {
    /// Its path in the store, with forward slashes.
    name: &'f str,
    input: &'f mut dyn ReadSeek,
    bytes: u64,
}

impl<'f> SourceFile<'f> {
    /// A file with its path in the store.
    ///
    /// # Errors
    /// When its length cannot be found out.
    pub fn new(name: &'f str, input: &'f mut dyn ReadSeek) -> Result<SourceFile<'f>, ReadFailure> {
        let bytes = input.seek(SeekFrom::End(0))?;
        input.rewind()?;
        Ok(SourceFile { name, input, bytes })
    }

    /// Its path in the store.
    #[must_use]
    pub const fn name(&self) -> &'f str {
        self.name
    }

    /// Its name without folders.
    #[must_use]
    pub fn file_name(&self) -> &'f str {
        self.name.rsplit('/').next().unwrap_or(self.name)
    }

    /// Its name without folders and extension.
    #[must_use]
    pub fn stem(&self) -> &'f str {
        let name = self.file_name();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// Its length in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its input, from the beginning.
    ///
    /// # Errors
    /// When the input cannot be rewound.
    pub fn rewound(&mut self) -> Result<&mut dyn ReadSeek, ReadFailure> {
        self.input.rewind()?;
        Ok(&mut *self.input)
    }

    /// Reads all of it, up to [`FILE_BYTES_MAX`].
    ///
    /// # Errors
    /// When it is longer, or cannot be read.
    pub fn read_all(&mut self) -> Result<Vec<u8>, ReadFailure> {
        if self.bytes > FILE_BYTES_MAX {
            let what = format!("a file of {} bytes", self.bytes);
            return Err(ReadFailure::too_large(what, FILE_BYTES_MAX));
        }
        let mut all = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or_default());
        // One more than allowed: a file can grow while it is read.
        self.rewound()?.take(FILE_BYTES_MAX + 1).read_to_end(&mut all)?;
        if all.len() as u64 > FILE_BYTES_MAX {
            return Err(ReadFailure::too_large("a file that grows", FILE_BYTES_MAX));
        }
        Ok(all)
    }

    /// Reads its beginning, by which formats are told apart; if it is compressed, that of what is in it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn head(&mut self) -> Result<FileHead, ReadFailure> {
        let bytes = self.beginning()?;
        if is_compressed(&bytes) {
            return self.head_within();
        }
        let entries = match bytes.starts_with(b"PK\x03\x04") {
            true => self.zip_entries(),
            false => Vec::new(),
        };
        self.rewound()?;
        let name = self.file_name().to_lowercase();
        Ok(FileHead { name, bytes, entries, is_compressed: false })
    }

    fn beginning(&mut self) -> Result<Vec<u8>, ReadFailure> {
        let mut bytes = Vec::new();
        self.rewound()?.take(HEAD_BYTES as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What is compressed in it, up to [`ENTRY_BYTES_MAX`].
    fn decompress(&mut self) -> Result<Vec<u8>, ReadFailure> {
        let bytes = self.bytes;
        decompress(self.rewound()?, bytes, ENTRY_BYTES_MAX)
    }

    /// The beginning of what is compressed in it. Of damaged data it is as much as can be read; reading all of it
    /// will say what is wrong.
    fn head_within(&mut self) -> Result<FileHead, ReadFailure> {
        let (name, length) = (name_within(self.file_name()), self.bytes);
        let mut bytes = Vec::new();
        let input = CompressedInput::new(self.rewound()?, length);
        let _ = input.take(HEAD_BYTES as u64).read_to_end(&mut bytes);
        let entries = match bytes.starts_with(b"PK\x03\x04") {
            true => self.decompress().map(|all| FileHead::of_bytes(name, &all).entries),
            false => Ok(Vec::new()),
        };
        self.rewound()?;
        let entries = entries.unwrap_or_default();
        Ok(FileHead { name: name.to_lowercase(), bytes, entries, is_compressed: true })
    }

    /// The names in a ZIP archive; none when it is damaged, which its reader will say.
    fn zip_entries(&mut self) -> Vec<String> {
        let Ok(input) = self.rewound() else { return Vec::new() };
        match ZipArchive::new(input) {
            Ok(archive) => {
                let names = archive.file_names().take(ENTRIES_MAX);
                names.filter_map(|name| Some(name.ok()?.into_owned())).collect()
            }
            Err(_) => Vec::new(),
        }
    }
}

/// What the beginning of a file shows.
#[derive(Debug, Clone, Default)]
pub struct FileHead {
    /// The file's name without folders, in lower case; if it is compressed, that of what is in it.
    pub name: String,
    /// Its first bytes, at most [`HEAD_BYTES`].
    pub bytes: Vec<u8>,
    /// The names in it, if it is a ZIP archive.
    pub entries: Vec<String>,
    /// Whether the file is compressed, so that all this is of what is in it.
    pub is_compressed: bool,
}

impl FileHead {
    /// The head of bytes in memory, such as an attachment's.
    #[must_use]
    pub fn of_bytes(name: &str, bytes: &[u8]) -> FileHead {
        let mut input = Cursor::new(bytes);
        let source = SourceFile::new(name, &mut input);
        source.and_then(|mut source| source.head()).unwrap_or_default()
    }

    /// The extension of its name, in lower case; empty without one.
    #[must_use]
    pub fn extension(&self) -> &str {
        self.name.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Its first bytes as text, without a byte order mark, up to the first byte that is not UTF-8.
    #[must_use]
    pub fn text(&self) -> &str {
        let bytes = self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }

    /// Whether it is a ZIP archive with an entry of this name.
    #[must_use]
    pub fn has_entry(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry == name)
    }
}
