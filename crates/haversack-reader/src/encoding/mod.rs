//! Finds out how a text is encoded and decodes it, and tells texts from binary files.
//!
//! The order is: byte order mark, UTF-8, UTF-16 without a mark, the encoding that the file itself declares,
//! and last a guess by the frequencies of bytes. Line ends are left alone.

use std::borrow::Cow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use crate::limits::HEAD_BYTES;

/// Bytes from which an encoding is guessed. More of the same text does not make a guess better.
const GUESS_BYTES: usize = 512 << 10;

/// Beginnings of common binary formats that may hold no NUL byte.
const BINARY_BEGINNINGS: &[&[u8]] = &[
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"PK\x03\x04",
    b"\x1f\x8b",
    b"\x7fELF",
    b"%PDF-",
    b"\xfd7zXZ",
    b"7z\xbc\xaf\x27\x1c",
    b"\x28\xb5\x2f\xfd",
    b"Rar!\x1a\x07",
    b"BZh91AY",
];

/// A text, decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'b> {
    /// The text, without a byte order mark. Borrowed if the bytes were UTF-8.
    pub text: Cow<'b, str>,
    /// The name of the encoding, as the Encoding Standard writes it.
    pub encoding: &'static str,
    /// How many places could not be decoded and became U+FFFD.
    pub replaced: usize,
}

/// Decodes a text. None if the bytes are a binary file.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<DecodedText<'_>> {
    decode_declared(bytes, None)
}

/// Decodes a text that says how it is encoded, such as a web page. A declaration beats a guess, but not a
/// byte order mark, nor bytes that are valid UTF-8. None if the bytes are a binary file.
#[must_use]
pub fn decode_declared<'b>(bytes: &'b [u8], declared: Option<&str>) -> Option<DecodedText<'b>> {
    if BINARY_BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning)) {
        return None;
    }
    if let Some((encoding, mark)) = Encoding::for_bom(bytes) {
        let rest = &bytes[mark..];
        return match encoding == UTF_8 {
            true => decode_utf8(rest).or_else(|| decode_with(rest, UTF_8)),
            false => decode_with(rest, encoding),
        };
    }
    let declared = declared.and_then(|label| Encoding::for_label(label.trim().as_bytes()));
    if let Some(decoded) = decode_utf8(bytes) {
        // ISO-2022-JP is made of ASCII bytes and therefore valid UTF-8 too.
        let is_shifted = declared == Some(ISO_2022_JP) || has_japanese_shifts(head_of(bytes));
        return if is_shifted { decode_with(bytes, ISO_2022_JP) } else { Some(decoded) };
    }
    if head_of(bytes).contains(&0) {
        let encoding = guess_utf16(head_of(bytes))?;
        return decode_with(bytes, encoding);
    }
    if is_damaged_utf8(head_of(bytes)) {
        return decode_with(bytes, UTF_8);
    }
    if has_many_controls(head_of(bytes)) {
        return None;
    }
    match declared.filter(|declared| declared.is_ascii_compatible() && *declared != UTF_8) {
        Some(declared) => decode_with(bytes, declared),
        None => decode_with(bytes, guess(bytes)),
    }
}

/// The bytes as they are, if they are UTF-8 and not a binary file. NUL bytes make it one, since texts in
/// UTF-16 that hold nothing but ASCII are valid UTF-8.
fn decode_utf8(bytes: &[u8]) -> Option<DecodedText<'_>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let head = head_of(bytes);
    let is_text = !head.contains(&0) && !has_many_controls(head);
    is_text.then_some(DecodedText {
        text: Cow::Borrowed(text),
        encoding: UTF_8.name(),
        replaced: 0,
    })
}

/// Decodes with an encoding. None if what comes out is no text.
fn decode_with<'b>(bytes: &'b [u8], encoding: &'static Encoding) -> Option<DecodedText<'b>> {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    let replaced = match had_errors {
        true => text.matches('\u{fffd}').count(),
        false => 0,
    };
    let mut all = 0;
    let mut odd = replaced;
    for character in text.chars().take(HEAD_BYTES) {
        all += 1;
        odd += usize::from(is_odd(character));
    }
    let decoded = DecodedText { text, encoding: encoding.name(), replaced };
    // One in fifty: damaged texts pass, binary files do not.
    (odd * 50 <= all || (replaced == odd && replaced * 10 <= all)).then_some(decoded)
}

/// The beginning of a file, which stands for all of it.
fn head_of(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES)]
}

/// Whether a character is not found in texts: controls and private use.
fn is_odd(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' | '\u{8}' | '\u{b}' | '\u{c}' | '\u{1b}' | '\u{85}' => false,
        '\u{e000}'..='\u{f8ff}' => true,
        _ => character.is_control(),
    }
}

/// Whether more than one byte in 200 is a control byte that texts do not have.
fn has_many_controls(head: &[u8]) -> bool {
    let is_control = |byte: u8| matches!(byte, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    let controls = head.iter().filter(|byte| is_control(**byte)).count();
    controls * 200 > head.len()
}

/// Whether a text shifts to Japanese characters and back by escape sequences.
fn has_japanese_shifts(head: &[u8]) -> bool {
    let Some(at) = head.iter().position(|byte| *byte == 0x1b) else { return false };
    let shifts = &head[at..];
    let has = |shift: &[u8]| shifts.windows(shift.len()).any(|window| window == shift);
    (has(b"\x1b$B") || has(b"\x1b$@")) && (has(b"\x1b(B") || has(b"\x1b(J"))
}

/// Whether the bytes are UTF-8 with few errors: at most one for every twenty characters beyond ASCII.
fn is_damaged_utf8(head: &[u8]) -> bool {
    let (mut characters, mut errors) = (0, 0);
    for chunk in head.utf8_chunks() {
        characters += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        errors += usize::from(!chunk.invalid().is_empty());
    }
    // The head may end in the middle of a character, which is no error.
    let errors = errors.saturating_sub(usize::from(head.len() == HEAD_BYTES));
    !has_many_controls(head) && characters > 0 && errors * 20 <= characters
}

/// UTF-16 without a byte order mark: its zero bytes stand at even or at odd places, and what comes out is
/// text without a single mistake.
fn guess_utf16(head: &[u8]) -> Option<&'static Encoding> {
    let even = head.len() & !1;
    let (mut first, mut second) = (0, 0);
    for pair in head[..even].chunks_exact(2) {
        first += usize::from(pair[0] == 0);
        second += usize::from(pair[1] == 0);
    }
    let (encoding, zeros) = match (first, second) {
        (0, 1..) => (UTF_16LE, second),
        (1.., 0) => (UTF_16BE, first),
        _ => return None,
    };
    let (text, _) = encoding.decode_without_bom_handling(&head[..even]);
    let is_clean = !text.trim_end_matches('\u{fffd}').contains('\u{fffd}')
        && !text.chars().any(|character| is_odd(character) || character == '\u{ffff}');
    // A few pairs may look like anything: one in ten must be ASCII, if only a space.
    let is_sure = even >= 160 || zeros * 20 >= even;
    (is_clean && is_sure).then_some(encoding)
}

/// Guesses an encoding by the frequencies of bytes, starting at the line of the first byte beyond ASCII.
fn guess(bytes: &[u8]) -> &'static Encoding {
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    let line = bytes[..first].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let rest = &bytes[line.max(first.saturating_sub(1000))..];
    let sample = &rest[..rest.len().min(GUESS_BYTES)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, sample.len() == rest.len());
    detector.guess(None, Utf8Detection::Deny)
}

#[cfg(test)]
pub(crate) mod tests;
