//! Repairs of fonts that the parser misreads, made in the file before it is parsed.
//!
//! Fonts of TeX that are made of dots name their glyphs by number (`a65`) and say nowhere which letters these
//! are. Japanese fonts that are not in the file name them by numbers of Adobe's. And the parser looks for gaps between words that are as wide as some glyph, which need not be the space.

use std::panic::catch_unwind;

use lopdf::{Dictionary, Document, Encoding, Object, ObjectId, Stream};

use super::japan::letters_of_glyphs;
use super::tex::letters_of;
use crate::limits::ENTRY_BYTES_MAX;

/// The width of a space, in thousandths of the font size.
const SPACE_WIDTH: i64 = 250;

/// The number of the glyph that the parser takes for a space, whatever it is.
const SPACE_GLYPH: u16 = 32;

/// Which fonts are given a narrower space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NarrowSpaces {
    /// Those whose glyph of that number is no letter, so that hardly a text has it.
    WhereHarmless,
    /// All. A letter with that number is then followed by a gap, which is less harm than words without any.
    Everywhere,
}

/// The document with repaired fonts; `None` if there is nothing to repair, or it cannot be done.
pub(super) fn repair_fonts(bytes: &[u8], spaces: NarrowSpaces) -> Option<Vec<u8>> {
    let repair = || {
        let mut document = Document::load_mem(bytes).ok()?;
        if document.is_encrypted() || document.encryption_state.is_some() {
            return None;
        }
        let mut maps = missing_maps(&document);
        maps.extend(missing_japanese_maps(&document));
        let widths = wrong_spaces(&document, spaces);
        if maps.is_empty() && widths.is_empty() {
            return None;
        }
        for (id, map) in maps {
            let map = document.add_object(Stream::new(Dictionary::new(), map));
            document.get_dictionary_mut(id).ok()?.set("ToUnicode", Object::Reference(map));
        }
        for (id, mut widths) in widths {
            // The last entry for a glyph holds.
            widths.push(Object::Integer(i64::from(SPACE_GLYPH)));
            widths.push(Object::Array(vec![Object::Integer(SPACE_WIDTH)]));
            document.get_dictionary_mut(id).ok()?.set("W", Object::Array(widths));
        }
        let mut repaired = Vec::new();
        document.save_to(&mut repaired).ok()?;
        Some(repaired)
    };
    catch_unwind(repair).ok().flatten()
}

fn fonts<'d>(
    document: &'d Document,
    subtype: &'d [u8],
) -> impl Iterator<Item = (ObjectId, &'d Dictionary)> {
    document.objects.iter().filter_map(move |(id, object)| {
        let font = object.as_dict().ok()?;
        let is_one = font.get(b"Subtype").ok()?.as_name().ok()?.starts_with(subtype);
        is_one.then_some((*id, font))
    })
}

/// Maps from codes to letters for fonts that lack one and name their glyphs by number.
fn missing_maps(document: &Document) -> Vec<(ObjectId, Vec<u8>)> {
    let map = |(id, font): (ObjectId, &Dictionary)| {
        if font.has(b"ToUnicode") {
            return None;
        }
        let (_, encoding) = document.dereference(font.get(b"Encoding").ok()?).ok()?;
        let differences = encoding.as_dict().ok()?.get(b"Differences").ok()?;
        let (_, differences) = document.dereference(differences).ok()?;
        let letters = letters_of(&numbered_codes(differences.as_array().ok()?)?);
        let letters = letters.iter().map(|(code, letter)| (u16::from(*code), *letter));
        let letters: Vec<_> = letters.collect();
        (!letters.is_empty()).then(|| (id, to_unicode(&letters, 1)))
    };
    fonts(document, b"Type3").filter_map(map).collect()
}

/// Maps from Adobe's numbers of Japanese glyphs to letters, for fonts that lack one.
fn missing_japanese_maps(document: &Document) -> Vec<(ObjectId, Vec<u8>)> {
    let is_one = |font: &Dictionary| {
        let encoding = font.get(b"Encoding").ok()?.as_name().ok()?;
        let (_, list) = document.dereference(font.get(b"DescendantFonts").ok()?).ok()?;
        let (_, glyphs) = document.dereference(list.as_array().ok()?.first()?).ok()?;
        let (_, system) =
            document.dereference(glyphs.as_dict().ok()?.get(b"CIDSystemInfo").ok()?).ok()?;
        let ordering = system.as_dict().ok()?.get(b"Ordering").ok()?.as_str().ok()?;
        Some(encoding.starts_with(b"Identity-") && ordering == b"Japan1")
    };
    let lacks_map = |font: &Dictionary| !font.has(b"ToUnicode") && is_one(font) == Some(true);
    let ids: Vec<ObjectId> =
        fonts(document, b"Type0").filter_map(|(id, font)| lacks_map(font).then_some(id)).collect();
    if ids.is_empty() {
        return Vec::new();
    }
    let letters = letters_of_glyphs();
    let letters: Vec<(u16, String)> =
        letters.into_iter().map(|(glyph, letter)| (glyph, letter.to_string())).collect();
    let letters: Vec<(u16, &str)> =
        letters.iter().map(|(glyph, letter)| (*glyph, letter.as_str())).collect();
    let map = to_unicode(&letters, 2);
    ids.into_iter().map(|id| (id, map.clone())).collect()
}

/// The codes of a font all of whose glyphs are called by their codes: `a65`. None if one is not.
fn numbered_codes(differences: &[Object]) -> Option<Vec<u8>> {
    let mut codes = Vec::new();
    let mut code = 0_i64;
    for entry in differences {
        match entry {
            Object::Integer(number) => code = *number,
            Object::Name(name) if name == b".notdef" => code += 1,
            Object::Name(name) => {
                let digits = name.iter().position(u8::is_ascii_digit)?;
                let number = std::str::from_utf8(&name[digits..]).ok()?.parse::<i64>().ok()?;
                if number != code || digits > 2 {
                    return None;
                }
                codes.push(u8::try_from(code).ok()?);
                code += 1;
            }
            _ => return None,
        }
    }
    Some(codes)
}

/// A map from codes of so many bytes to letters, as fonts have it.
fn to_unicode(letters: &[(u16, &str)], code_bytes: usize) -> Vec<u8> {
    let (least, most) = ("00".repeat(code_bytes), "FF".repeat(code_bytes));
    let mut map = format!(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Letters def \
         /CMapType 2 def 1 begincodespacerange <{least}> <{most}> endcodespacerange\n",
    );
    let digits = code_bytes * 2;
    // A block holds no more than a hundred.
    for block in letters.chunks(100) {
        map.push_str(&format!("{} beginbfchar\n", block.len()));
        for (code, letter) in block {
            let units: String = letter.encode_utf16().map(|unit| format!("{unit:04X}")).collect();
            map.push_str(&format!("<{code:0digits$X}> <{units}>\n"));
        }
        map.push_str("endbfchar\n");
    }
    map.push_str("endcmap CMapName currentdict /CMap defineresource pop end end");
    map.into_bytes()
}

/// Fonts whose space the parser takes for wider than it is, with the widths of their glyphs.
fn wrong_spaces(document: &Document, spaces: NarrowSpaces) -> Vec<(ObjectId, Vec<Object>)> {
    let harmful = match spaces {
        NarrowSpaces::WhereHarmless => fonts_with_letter(document),
        NarrowSpaces::Everywhere => Vec::new(),
    };
    let widths = |(id, font): (ObjectId, &Dictionary)| {
        let (_, widths) = document.dereference(font.get(b"W").ok()?).ok()?;
        let widths = widths.as_array().ok()?;
        let width = width_of(widths, i64::from(SPACE_GLYPH));
        let is_wrong = match spaces {
            NarrowSpaces::WhereHarmless => width.is_some_and(|width| width > 2 * SPACE_WIDTH),
            NarrowSpaces::Everywhere => true,
        };
        (is_wrong && !harmful.contains(&id)).then(|| (id, widths.clone()))
    };
    fonts(document, b"CIDFont").filter_map(widths).collect()
}

/// The fonts in which the glyph that the parser takes for a space is a letter.
fn fonts_with_letter(document: &Document) -> Vec<ObjectId> {
    let limit = usize::try_from(ENTRY_BYTES_MAX).unwrap_or(usize::MAX);
    let descendant = |(_, font): (ObjectId, &Dictionary)| {
        let (_, list) = document.dereference(font.get(b"DescendantFonts").ok()?).ok()?;
        let id = list.as_array().ok()?.first()?.as_reference().ok()?;
        let encoding = font.get_font_encoding_with_limit(document, limit).ok()?;
        let Encoding::UnicodeMapEncoding(map) = encoding else { return Some(id) };
        let units = map.get(u32::from(SPACE_GLYPH), 2)?;
        let mut letters = char::decode_utf16(units).filter_map(Result::ok);
        letters.any(char::is_alphabetic).then_some(id)
    };
    fonts(document, b"Type0").filter_map(descendant).collect()
}

/// The width of a glyph in a list of widths: `first [w w …]`, or `first last w`.
fn width_of(widths: &[Object], glyph: i64) -> Option<i64> {
    let mut found = None;
    let mut rest = widths;
    while let [first, second, after @ ..] = rest {
        let first = first.as_i64().ok()?;
        if let Ok(list) = second.as_array() {
            let at = usize::try_from(glyph - first).ok();
            found = at.and_then(|at| number(list.get(at)?)).or(found);
            rest = after;
        } else {
            let [width, after @ ..] = after else { break };
            if (first..=second.as_i64().ok()?).contains(&glyph) {
                found = number(width).or(found);
            }
            rest = after;
        }
    }
    found
}

fn number(object: &Object) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "widths are small, others saturate")]
    let number = object.as_float().ok()?.round() as i64;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_numbered_glyphs_are_known() {
        let name = |name: &str| Object::Name(name.as_bytes().to_vec());
        let check = |entries: &[Object], expected: Option<&[u8]>| {
            assert_eq!(numbered_codes(entries).as_deref(), expected, "{entries:?}");
        };
        check(&[Object::Integer(65), name("a65"), name(".notdef"), name("a67")], Some(&[65, 67]));
        check(&[Object::Integer(65), name("a66")], None);
        check(&[Object::Integer(65), name("A")], None);
        check(&[Object::Integer(300), name("a300")], None);
        check(&[Object::Integer(0), name("abc0")], None);
    }

    #[test]
    fn widths_are_found_in_both_forms() {
        let int = Object::Integer;
        let widths = [
            int(30),
            Object::Array(vec![int(1), int(2), Object::Real(838.4)]),
            int(40),
            int(50),
            int(7),
        ];
        assert_eq!(width_of(&widths, 32), Some(838));
        assert_eq!(width_of(&widths, 45), Some(7));
        assert_eq!(width_of(&widths, 33), None);
        assert_eq!(width_of(&widths[..2], 31), Some(2));
        assert_eq!(width_of(&widths[3..], 45), None);
    }
}
