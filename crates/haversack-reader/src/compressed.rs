//! Files that are compressed with gzip: what is in one is read as if it stood there under its own name.

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::limits::{ARCHIVE_BYTES_MAX, RATIO_MAX, STREAM_BYTES_MAX};
use crate::part::ReadFailure;

/// The first bytes of a gzip file: its mark, and the only method of compression that there is.
const GZIP_BEGINNING: &[u8] = b"\x1f\x8b\x08";

/// Extensions that compressed files have beside that of what is in them.
const EXTENSIONS: &[&str] = &[".gz", ".gzip"];

/// Whether a file that begins like this is compressed in a way that can be read.
#[must_use]
pub fn is_compressed(head: &[u8]) -> bool {
    head.starts_with(GZIP_BEGINNING)
}

/// The name or path of what is in a compressed file: `notes.txt` for `notes.txt.gz`.
#[must_use]
pub fn name_within(name: &str) -> &str {
    let without = |extension: &&str| {
        let end = name.len().checked_sub(extension.len())?;
        let (stem, ending) = name.split_at_checked(end)?;
        let is_named = !stem.is_empty() && !stem.ends_with('/');
        (is_named && ending.eq_ignore_ascii_case(extension)).then_some(stem)
    };
    EXTENSIONS.iter().find_map(without).unwrap_or(name)
}

/// What to do with a file that is compressed in another way, or is an archive of files; `None` if it is neither.
#[must_use]
pub fn explain_archive(head: &[u8]) -> Option<&'static str> {
    let beginnings: [(&[u8], &str); 6] = [
        (b"BZh", "compressed with bzip2; decompress it (bunzip2)"),
        (b"\xfd7zXZ\0", "compressed with xz; decompress it (unxz)"),
        (b"\x28\xb5\x2f\xfd", "compressed with zstd; decompress it (unzstd)"),
        (b"7z\xbc\xaf\x27\x1c", "an archive (7z); unpack it and add its files"),
        (b"Rar!\x1a\x07", "an archive (rar); unpack it and add its files"),
        (b"PK\x03\x04", "an archive (zip); unpack it and add its files"),
    ];
    let is_tar = head.get(TAR_MARK_AT..).is_some_and(|mark| mark.starts_with(b"ustar"));
    match beginnings.iter().find(|(beginning, _)| head.starts_with(beginning)) {
        Some((_, what)) => Some(what),
        None if is_tar => Some("an archive (tar); unpack it and add its files"),
        None => None,
    }
}

/// Where a tar archive says that it is one.
const TAR_MARK_AT: usize = 257;

/// What is in a compressed file, read piece by piece. A bomb ends at a limit.
#[expect(missing_debug_implementations, reason = "the input has no text form")]
pub struct CompressedInput<R> {
    decoder: MultiGzDecoder<R>,
    bytes_left: u64,
    limit: u64,
}

impl<R: Read> CompressedInput<R> {
    /// What is in a compressed file of this length.
    pub fn new(input: R, compressed_bytes: u64) -> CompressedInput<R> {
        let limit =
            compressed_bytes.saturating_mul(RATIO_MAX).clamp(ARCHIVE_BYTES_MAX, STREAM_BYTES_MAX);
        CompressedInput { decoder: MultiGzDecoder::new(input), bytes_left: limit, limit }
    }
}

impl<R: Read> Read for CompressedInput<R> {
    /// Errors hold a [`ReadFailure`].
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.decoder.read(buffer).map_err(|error| match error.kind() {
            std::io::ErrorKind::Interrupted => error,
            _ => std::io::Error::other(ReadFailure::malformed(format!("compressed data: {error}"))),
        })?;
        match self.bytes_left.checked_sub(read as u64) {
            Some(left) => self.bytes_left = left,
            None => return Err(std::io::Error::other(too_large(self.limit))),
        }
        Ok(read)
    }
}

/// Reads what is in a compressed file into memory, up to a limit.
pub(crate) fn decompress(
    input: impl Read,
    compressed_bytes: u64,
    limit: u64,
) -> Result<Vec<u8>, ReadFailure> {
    let mut bytes = Vec::new();
    // One more than allowed shows that there is more.
    CompressedInput::new(input, compressed_bytes).take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

/// Why a compressed file cannot be read that holds more bytes than the limit.
#[must_use]
pub fn too_large(limit: u64) -> ReadFailure {
    ReadFailure::too_large("what is compressed in it, in bytes", limit)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::io::{Cursor, Write};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::limits::ENTRY_BYTES_MAX;
    use crate::outcome::read;
    use crate::source::FileHead;

    /// These bytes, compressed.
    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_name_within_loses_one_extension() {
        let check = |name, expected| assert_eq!(name_within(name), expected);
        check("a/notes.txt.gz", "a/notes.txt");
        check("NOTES.HTML.GZ", "NOTES.HTML");
        check("a.gz.gz", "a.gz");
        check("a.gz", "a");
        check("changelog.gzip", "changelog");
        check(".gz", ".gz");
        check("a/.gz", "a/.gz");
        check("é", "é");
        check("notes.txt", "notes.txt");
    }

    #[test]
    fn what_is_compressed_is_read_by_its_own_reader() {
        let page =
            b"<html><title>Bees</title><body><p>They fly from flower to flower.</p></body></html>";
        for name in ["bees.html.gz", "bees.gz"] {
            let outcome = read(name, &gzip(page)).unwrap();
            assert_eq!(outcome.reader, "HTML", "{name}");
            assert_eq!(outcome.last_part().body, "They fly from flower to flower.");
        }
        let head = FileHead::of_bytes("Notes.TXT.gz", &gzip(b"some words"));
        assert_eq!((head.name.as_str(), head.bytes.as_slice()), ("notes.txt", &b"some words"[..]));
        assert!(head.is_compressed);
    }

    #[test]
    fn archives_within_are_recognised_by_their_entries() {
        let inner = crate::archive::tests::zip_of(&[("word/document.xml", "")]);
        let head = FileHead::of_bytes("a.gz", &gzip(&inner));
        assert_eq!(head.entries, ["word/document.xml"]);
    }

    #[test]
    fn members_one_after_the_other_are_one_text() {
        let bytes = [gzip(b"one "), gzip(b"two")].concat();
        let read = decompress(bytes.as_slice(), bytes.len() as u64, 100);
        assert_eq!(read, Ok(b"one two".to_vec()));
    }

    #[test]
    fn bombs_end_at_the_limit() {
        let zeros = gzip(&vec![b' '; 1 << 20]);
        let bomb = zeros.repeat(usize::try_from(ENTRY_BYTES_MAX >> 20).unwrap() + 1);
        let failure = read("a.html.gz", &bomb).unwrap_err();
        assert_eq!(failure, too_large(ENTRY_BYTES_MAX));
        // Piece by piece more is allowed, but not without end.
        let length = bomb.len() as u64;
        let endless = Cursor::new(bomb).chain(EndlessMembers { member: zeros, at: 0 });
        let mut input = CompressedInput::new(endless, length);
        let error = std::io::copy(&mut input, &mut std::io::sink()).unwrap_err();
        assert_eq!(ReadFailure::from(error), too_large(ARCHIVE_BYTES_MAX));
    }

    /// The same member again and again.
    struct EndlessMembers {
        member: Vec<u8>,
        at: usize,
    }

    impl Read for EndlessMembers {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let rest = &self.member[self.at..];
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            self.at = (self.at + length) % self.member.len();
            Ok(length)
        }
    }

    #[test]
    fn damaged_and_truncated_files_fail() {
        let text = b"<html><body><p>They fly from flower to flower.</p></body></html>";
        let whole = gzip(text);
        for length in 3..whole.len() {
            let failure = read("a.html.gz", &whole[..length]).unwrap_err();
            assert!(matches!(failure, ReadFailure::Malformed { .. }), "{length}: {failure}");
        }
        for at in 10..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            // Some bits only fill a byte.
            let read = decompress(damaged.as_slice(), damaged.len() as u64, 1_000);
            assert!(read.is_err() || read.as_deref() == Ok(text), "{at}");
        }
    }

    #[test]
    fn other_compressions_and_archives_say_what_to_do() {
        let check = |bytes: &[u8], expected: Option<&str>| {
            let explained = explain_archive(bytes);
            assert_eq!(explained.is_some(), expected.is_some(), "{explained:?}");
            assert!(explained.unwrap_or_default().contains(expected.unwrap_or_default()));
        };
        check(b"BZh91AY&SY", Some("bzip2"));
        check(b"\xfd7zXZ\0\0", Some("unxz"));
        let tar = [&[b'a'; TAR_MARK_AT][..], b"ustar\0"].concat();
        check(&tar, Some("(tar)"));
        check(&gzip(b"text"), None);
        check(b"plain", None);
    }
}
