//! Text files, which are one item each: Markdown, plain text, source code.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use haversack_core::item::{Kind, Trust};
use haversack_core::text::chunk::Format;
use haversack_reader::{
    CompressedInput, ReadFailure, clean_notion_name, decode, explain_archive, name_within,
    too_large,
};
use haversack_store::kinds::Kinds;
use haversack_store::store::change::BODY_BYTES_MAX;

use super::skip::IngestSkipReason;
use super::stamp::FileHash;

/// The bytes at the start of a file that are checked to tell text from binary data.
pub(super) const HEAD_BYTES: usize = 8 << 10;

/// Longest title in characters.
const TITLE_CHARS_MAX: usize = 200;

/// The text of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextFile {
    pub(super) text: String,
    /// A hash of the file's bytes.
    pub(super) hash: FileHash,
    /// What a person should know about its encoding.
    pub(super) remark: Option<String>,
}

/// Reads the text of a file, or the text that is compressed in it, whatever its encoding.
pub(super) fn read(at: &Path, is_compressed: bool) -> Result<TextFile, IngestSkipReason> {
    let unreadable = |error: std::io::Error| IngestSkipReason::from(ReadFailure::from(error));
    // What is hashed are the bytes of the file, before they are decompressed.
    let hash = is_compressed.then(|| FileHash::of_file(at)).transpose().map_err(unreadable)?;
    let file = File::open(at).map_err(unreadable)?;
    let file_bytes = file.metadata().map_err(unreadable)?.len();
    let mut input: Box<dyn Read> = match is_compressed {
        true => Box::new(decompressed(file).map_err(unreadable)?),
        false => Box::new(file),
    };
    let limit = BODY_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    // The head is read first, so that little is read of a binary file.
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut bytes).map_err(unreadable)?;
    if decode(&bytes).is_none() {
        return Err(binary(&bytes));
    }
    // One more than allowed: a file can grow while it is read.
    let rest = (limit + 1).saturating_sub(bytes.len() as u64);
    input.take(rest).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        if is_compressed {
            return Err(too_large(limit).into());
        }
        let bytes = file_bytes.max(bytes.len() as u64);
        return Err(IngestSkipReason::TooLarge { bytes, limit });
    }
    let hash = hash.unwrap_or_else(|| FileHash::of_bytes(&bytes));
    let Some(decoded) = decode(&bytes) else { return Err(binary(&bytes)) };
    let remark = (decoded.replaced > 0).then(|| {
        let (places, encoding) = (decoded.replaced, decoded.encoding);
        format!("{places} places could not be read as {encoding}; save it as UTF-8")
    });
    Ok(TextFile { text: decoded.text.into_owned(), hash, remark })
}

/// What is compressed in a file, to be read piece by piece.
pub(super) fn decompressed(file: File) -> std::io::Result<CompressedInput<BufReader<File>>> {
    let bytes = file.metadata()?.len();
    Ok(CompressedInput::new(BufReader::new(file), bytes))
}

fn binary(bytes: &[u8]) -> IngestSkipReason {
    if let Some(what) = explain_archive(bytes) {
        return ReadFailure::Unsupported { what: what.to_owned() }.into();
    }
    IngestSkipReason::Binary { at: bytes.iter().position(|byte| *byte == 0) }
}

/// Refuses a file whose head has a NUL byte.
pub(super) fn refuse_binary(head: &[u8]) -> Result<(), IngestSkipReason> {
    match head.iter().take(HEAD_BYTES).position(|byte| *byte == 0) {
        Some(at) => Err(IngestSkipReason::Binary { at: Some(at) }),
        None => Ok(()),
    }
}

/// The title of a file: its first heading if it is Markdown, else its name.
pub(super) fn title(path: &str, text: &str) -> String {
    let path = name_within(path);
    let heading = (Format::of_path(path) == Format::Markdown).then(|| heading(text)).flatten();
    // Unpacked exports of Notion have an id in each name.
    let name = clean_notion_name(path.rsplit('/').next().unwrap_or(path));
    heading.unwrap_or(&name).chars().take(TITLE_CHARS_MAX).collect()
}

/// The title in a Markdown file's front matter, or its first heading.
fn heading(text: &str) -> Option<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = text.lines();
    let mut front = text.starts_with("---\n") || text.starts_with("---\r\n");
    if front {
        lines.next();
    }
    let mut fence: Option<&str> = None;
    for line in lines {
        let plain = line.trim();
        if front {
            front = plain != "---";
            let title = plain.strip_prefix("title:").map(|title| title.trim().trim_matches('"'));
            if let Some(title) = title.map(|title| title.trim_matches('\''))
                && !title.is_empty()
            {
                return Some(title);
            }
            continue;
        }
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| plain.starts_with(mark)) {
            fence = match fence {
                None => Some(mark),
                Some(open) if open == mark => None,
                open => open,
            };
        }
        if fence.is_none() && line.starts_with('#') {
            let title = line.trim_start_matches('#');
            if title.starts_with([' ', '\t']) {
                let title = title.trim().trim_end_matches('#').trim_end();
                return (!title.is_empty()).then_some(title);
            }
        }
    }
    None
}

/// Finds the field of a file's front matter that claims an authority files do not have, with its
/// line (X11).
pub(super) fn find_authority_claim(kinds: &Kinds, text: &str) -> Option<String> {
    let mut lines = text.trim_start_matches('\u{feff}').lines();
    if lines.next()?.trim_end() != "---" {
        return None;
    }
    for (number, line) in (2..).zip(lines) {
        if line.trim_end() == "---" {
            return None;
        }
        let Some((field, value)) = line.split_once(':') else { continue };
        let value = value.trim().trim_matches(['"', '\'']);
        if claims_authority(kinds, field.trim(), value) {
            return Some(format!("line {number}: {}", field.trim()));
        }
    }
    None
}

/// Whether a field with this value would name an item's readers, mark it as trusted, or give it a
/// kind that guides models.
pub(super) fn claims_authority(kinds: &Kinds, field: &str, value: &str) -> bool {
    match field {
        "readers" => {
            let value = value.trim_start_matches(['[', '"', '\'', ' ']);
            value.starts_with("everyone")
                || value.starts_with("user:")
                || value.starts_with("group:")
        }
        "trust" => value == Trust::Trusted.as_str(),
        "kind" => Kind::new(value).is_ok_and(|kind| kinds.needs_trusted_writer(&kind)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_heading_or_the_name() {
        let check = |path, text, expected| assert_eq!(title(path, text), expected);
        check("a/b.md", "Intro\n\n## The **plan** ##\n", "The **plan**");
        check("a/b.md", "```sh\n# no\n```\n# Yes\n", "Yes");
        check("a/b.md", "---\ntitle: \"From the front\"\n---\n# Later\n", "From the front");
        check("a/b.md", "---\ntags: x\n---\n# Later\n", "Later");
        check("a/Tea 0123456789abcdef0123456789abcdef.md", "no heading", "Tea.md");
        check("a/b.md.gz", "# Plan", "Plan");
        check("a/changelog.gz", "no heading", "changelog");
        check("a/b.md", "no heading, only a #tag\n#tag\n", "b.md");
        check("a/b.rs", "# not Markdown\n", "b.rs");
    }

    #[test]
    fn front_matter_that_claims_authority_is_named() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(
                find_authority_claim(Kinds::built_in(), text).as_deref(),
                expected,
                "{text}"
            );
        };
        check("---\ntitle: x\ntrust: trusted\n---\n", Some("line 3: trust"));
        check("---\nreaders: [\"user:anna\"]\n---\n", Some("line 2: readers"));
        check("---\nkind: company_profile\n---\n", Some("line 2: kind"));
        check("---\nkind: note\nreaders: 500\n---\ntrust: trusted\n", None);
        check("trust: trusted\n", None);
    }

    #[test]
    fn what_is_no_text_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let check = |bytes: &[u8], expected: Result<&str, IngestSkipReason>| {
            let at = folder.path().join("x");
            std::fs::write(&at, bytes).unwrap();
            let read = read(&at, false).map(|read| (read.text, read.remark));
            assert_eq!(read, expected.map(|text| (text.to_owned(), None)));
        };
        check(b"", Ok(""));
        check("\u{feff}ok".as_bytes(), Ok("ok"));
        check(b"ab\0", Err(IngestSkipReason::Binary { at: Some(2) }));
        check(b"caf\xe9 au lait", Ok("café au lait"));
        check(b"\xff\xfeo\0k\0", Ok("ok"));
        let missing = read(&folder.path().join("gone"), false);
        assert!(matches!(missing, Err(IngestSkipReason::Unreadable { .. })));
    }
}
