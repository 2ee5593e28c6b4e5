//! ZIP archives with bounds: bytes are counted while entries are decompressed, whatever the headers
//! claim.

use std::io::Read;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::limits::{ARCHIVE_BYTES_MAX, ENTRIES_MAX, ENTRY_BYTES_MAX, RATIO_MAX, STREAM_BYTES_MAX};
use crate::part::ReadFailure;
use crate::source::{ReadSeek, SourceFile};

/// An archive from which a bounded number of bytes is decompressed in all.
pub(crate) struct BoundedArchive<'f> {
    archive: ZipArchive<&'f mut dyn ReadSeek>,
    /// Bytes that may still be decompressed into memory.
    bytes_left: u64,
    /// Bytes that may still be decompressed piece by piece.
    stream_bytes_left: u64,
}

impl<'f> BoundedArchive<'f> {
    /// Opens the archive that a file is.
    pub(crate) fn open(source: &'f mut SourceFile<'_>) -> Result<BoundedArchive<'f>, ReadFailure> {
        let bytes = source.bytes();
        let archive = ZipArchive::new(source.rewound()?).map_err(|error| failure("", &error))?;
        if archive.len() > ENTRIES_MAX {
            let what = format!("an archive of {} entries", archive.len());
            return Err(ReadFailure::too_large(what, ENTRIES_MAX as u64));
        }
        let stream_bytes_left =
            bytes.saturating_mul(RATIO_MAX).clamp(ARCHIVE_BYTES_MAX, STREAM_BYTES_MAX);
        Ok(BoundedArchive { archive, bytes_left: ARCHIVE_BYTES_MAX, stream_bytes_left })
    }

    /// Opens an archive that is an entry of this one, and shares the limit with it.
    pub(crate) fn open_inner<'i>(
        &self,
        source: &'i mut SourceFile<'_>,
    ) -> Result<BoundedArchive<'i>, ReadFailure> {
        let inner = BoundedArchive::open(source)?;
        Ok(BoundedArchive { bytes_left: self.bytes_left, stream_bytes_left: 0, ..inner })
    }

    /// Counts what an inner archive took of the limit.
    pub(crate) fn end_inner(&mut self, inner: &BoundedArchive<'_>) {
        self.bytes_left = self.bytes_left.min(inner.bytes_left);
    }

    /// The names of the entries, folders excluded, in the order of the archive. Names that are not text
    /// are left out.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = self.archive.file_names().filter_map(|name| Some(name.ok()?.into_owned()));
        names.filter(|name| !name.is_empty() && !name.ends_with('/')).collect()
    }

    /// Reads an entry; `None` when there is no entry of this name.
    pub(crate) fn entry(&mut self, name: &str) -> Result<Option<Vec<u8>>, ReadFailure> {
        let mut bytes = Vec::new();
        let found = self.with_entry(name, |input| input.read_to_end(&mut bytes))?;
        Ok(found.then_some(bytes))
    }

    /// Reads an entry that [`Self::names`] named.
    pub(crate) fn named_entry(&mut self, name: &str) -> Result<Vec<u8>, ReadFailure> {
        self.entry(name)?.ok_or_else(|| failure(name, &ZipError::FileNotFound))
    }

    /// Reads an entry as text: UTF-8, or UTF-16 with a byte order mark. Bytes that are neither
    /// become replacement characters.
    pub(crate) fn entry_text(&mut self, name: &str) -> Result<Option<String>, ReadFailure> {
        Ok(self.entry(name)?.map(decode))
    }

    /// Decompresses an entry and forgets it, so that a parser which does not count may read it.
    pub(crate) fn check_entry(&mut self, name: &str) -> Result<(), ReadFailure> {
        self.with_entry(name, |input| std::io::copy(input, &mut std::io::sink()).map(|_| 0))?;
        Ok(())
    }

    /// An entry to be read piece by piece.
    pub(crate) fn stream(&mut self, name: &str) -> Result<impl Read, ReadFailure> {
        let entry = self.archive.by_name(name).map_err(|error| failure(name, &error))?;
        Ok(BoundedEntry { entry, bytes_left: &mut self.stream_bytes_left })
    }

    fn with_entry(
        &mut self,
        name: &str,
        read: impl FnOnce(&mut dyn Read) -> std::io::Result<usize>,
    ) -> Result<bool, ReadFailure> {
        let entry = match self.archive.by_name(name) {
            Ok(entry) => entry,
            Err(ZipError::FileNotFound) => return Ok(false),
            Err(error) => return Err(failure(name, &error)),
        };
        let limit = self.bytes_left.min(ENTRY_BYTES_MAX);
        // One more than allowed shows that there is more.
        let mut input = entry.take(limit + 1);
        let result = read(&mut input);
        let used = limit + 1 - input.limit();
        self.bytes_left = self.bytes_left.saturating_sub(used);
        if used > limit {
            let what = format!("{name} in the archive, decompressed");
            return Err(ReadFailure::too_large(what, limit));
        }
        result
            .map_err(|error| ReadFailure::malformed(format!("{name} in the archive: {error}")))?;
        Ok(true)
    }
}

/// An entry that is read piece by piece.
struct BoundedEntry<'l, R> {
    entry: R,
    bytes_left: &'l mut u64,
}

impl<R: Read> Read for BoundedEntry<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.entry.read(buffer)?;
        match self.bytes_left.checked_sub(read as u64) {
            Some(left) => *self.bytes_left = left,
            None => return Err(std::io::Error::other("the archive holds too much")),
        }
        Ok(read)
    }
}

fn failure(name: &str, error: &ZipError) -> ReadFailure {
    let place =
        if name.is_empty() { "the archive".to_owned() } else { format!("{name} in the archive") };
    match error {
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            ReadFailure::Encrypted
        }
        // Reading it was fine so far as the system is concerned: the bytes end too early.
        error => ReadFailure::malformed(format!("{place}: {error}")),
    }
}

/// Decodes bytes of XML.
fn decode(bytes: Vec<u8>) -> String {
    let utf16 = |order: fn([u8; 2]) -> u16| {
        let units = bytes.get(2..).unwrap_or_default().chunks_exact(2);
        let units = units.map(|pair| order([pair[0], pair[1]]));
        char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => utf16(u16::from_le_bytes),
        Some([0xfe, 0xff]) => utf16(u16::from_be_bytes),
        _ => String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Cursor, Write};

    use zip::write::{SimpleFileOptions, ZipWriter};

    use super::*;

    /// An archive of these entries.
    pub(crate) fn zip_of(entries: &[(&str, &str)]) -> Vec<u8> {
        let entries: Vec<_> = entries.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
        zip_of_bytes(&entries)
    }

    /// An archive of these entries, which need not be text.
    pub(crate) fn zip_of_bytes(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    /// An archive with one entry of so many zeros.
    pub(crate) fn zip_bomb(name: &str, bytes: u64) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        std::io::copy(&mut std::io::repeat(b' ').take(bytes), &mut writer).unwrap();
        writer.finish().unwrap().into_inner()
    }

    fn read(bytes: &[u8], name: &str) -> Result<Option<String>, ReadFailure> {
        let mut input = Cursor::new(bytes);
        let mut source = SourceFile::new("a.zip", &mut input).unwrap();
        BoundedArchive::open(&mut source)?.entry_text(name)
    }

    #[test]
    fn entries_are_read_by_name() {
        let bytes = zip_of(&[("a.xml", "ä"), ("b/c.xml", "x")]);
        assert_eq!(read(&bytes, "a.xml"), Ok(Some("ä".to_owned())));
        assert_eq!(read(&bytes, "b/c.xml"), Ok(Some("x".to_owned())));
        assert_eq!(read(&bytes, "c"), Ok(None));
        assert_eq!(decode(b"\xff\xfea\0\xe4\0".to_vec()), "aä");
        assert_eq!(decode(b"\xfe\xff\0a\0".to_vec()), "a");
        assert_eq!(decode(b"a\xff".to_vec()), "a\u{fffd}");
    }

    #[test]
    fn bombs_are_stopped() {
        let bytes = zip_bomb("a.xml", ENTRY_BYTES_MAX + 1);
        assert!(bytes.len() < 1 << 20);
        assert!(matches!(read(&bytes, "a.xml"), Err(ReadFailure::TooLarge { .. })));
    }

    #[test]
    fn many_entries_share_one_limit() {
        let bytes = zip_bomb("a.xml", ENTRY_BYTES_MAX);
        let mut input = Cursor::new(bytes);
        let mut source = SourceFile::new("a.zip", &mut input).unwrap();
        let mut archive = BoundedArchive::open(&mut source).unwrap();
        for _ in 0..ARCHIVE_BYTES_MAX / ENTRY_BYTES_MAX {
            archive.check_entry("a.xml").unwrap();
        }
        let failure = archive.check_entry("a.xml");
        assert!(matches!(failure, Err(ReadFailure::TooLarge { .. })), "{failure:?}");
    }

    #[test]
    fn streams_have_a_limit_of_their_own() {
        let bytes = zip_of(&[("a.json", "0123456789")]);
        let mut input = Cursor::new(bytes);
        let mut source = SourceFile::new("a.zip", &mut input).unwrap();
        let mut archive = BoundedArchive::open(&mut source).unwrap();
        assert_eq!(archive.stream_bytes_left, ARCHIVE_BYTES_MAX);
        archive.stream_bytes_left = 15;
        std::io::copy(&mut archive.stream("a.json").unwrap(), &mut std::io::sink()).unwrap();
        assert_eq!(archive.stream_bytes_left, 5);
        let mut stream = archive.stream("a.json").unwrap();
        let read = std::io::copy(&mut stream, &mut std::io::sink());
        assert!(read.unwrap_err().to_string().contains("too much"));
    }

    #[test]
    fn folders_are_no_entries() {
        let bytes = zip_of(&[("b/", ""), ("b/c.xml", "x")]);
        let mut input = Cursor::new(bytes);
        let mut source = SourceFile::new("a.zip", &mut input).unwrap();
        let mut archive = BoundedArchive::open(&mut source).unwrap();
        assert_eq!(archive.names(), ["b/c.xml"]);
        let failure = archive.named_entry("gone").unwrap_err();
        assert!(failure.to_string().contains("gone"), "{failure}");
    }

    #[test]
    fn truncated_archives_are_malformed() {
        let bytes = zip_of(&[("a.xml", "some text"), ("b.xml", "more")]);
        for length in 0..bytes.len() {
            let result = read(&bytes[..length], "a.xml");
            assert!(matches!(result, Err(ReadFailure::Malformed { .. })), "{length}: {result:?}");
        }
    }
}
