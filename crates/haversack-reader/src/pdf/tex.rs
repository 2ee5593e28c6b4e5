//! The encodings of TeX's fonts, for those that name their glyphs by code.

use std::collections::BTreeMap;

/// The encodings: that of Cork with its companion of symbols, and the original one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TexEncoding {
    Cork,
    Original,
    /// Not to be told: nothing but ASCII.
    Unknown,
}

/// The letters of a font by its codes. Codes whose letter is not known are left out.
pub(super) fn letters_of(codes: &[u8]) -> BTreeMap<u8, &'static str> {
    let encoding = encoding_of(codes);
    codes.iter().filter_map(|code| Some((*code, letter(encoding, *code)?))).collect()
}

/// The encoding, by the codes that are in use: ligatures and quotation marks stand in different places.
fn encoding_of(codes: &[u8]) -> TexEncoding {
    let has = |range: std::ops::RangeInclusive<u8>| codes.iter().any(|code| range.contains(code));
    if has(128..=255) || has(21..=23) || has(27..=31) {
        TexEncoding::Cork
    } else if has(11..=15) {
        TexEncoding::Original
    } else {
        TexEncoding::Unknown
    }
}

fn letter(encoding: TexEncoding, code: u8) -> Option<&'static str> {
    let special = match encoding {
        TexEncoding::Cork => cork(code),
        TexEncoding::Original => original(code),
        TexEncoding::Unknown => None,
    };
    special.or_else(|| {
        let at = usize::from(code.checked_sub(33)?);
        ASCII.get(at..=at).filter(|_| code < 127)
    })
}

/// The characters from 33 to 126.
const ASCII: &str = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~";

fn original(code: u8) -> Option<&'static str> {
    Some(match code {
        11 => "ff",
        12 => "fi",
        13 => "fl",
        14 => "ffi",
        15 => "ffl",
        16 => "ı",
        25 => "ß",
        26 => "æ",
        27 => "œ",
        28 => "ø",
        34 => "”",
        39 => "’",
        92 => "“",
        96 => "‘",
        123 => "–",
        124 => "—",
        _ => return None,
    })
}

fn cork(code: u8) -> Option<&'static str> {
    Some(match code {
        13 => "‚",
        14 => "‹",
        15 => "›",
        16 => "“",
        17 => "”",
        18 => "„",
        19 => "«",
        20 => "»",
        21 => "–",
        22 => "—",
        27 => "ff",
        28 => "fi",
        29 => "fl",
        30 => "ffi",
        31 => "ffl",
        39 => "’",
        96 => "‘",
        127 => "-",
        132 => "†",
        133 => "‡",
        135 => "‰",
        136 => "•",
        151 => "™",
        223 => "SS",
        255 => "ß",
        _ => {
            let at = usize::from(code.checked_sub(192)?);
            let (start, letter) = CORK_LETTERS.char_indices().nth(at)?;
            CORK_LETTERS.get(start..start + letter.len_utf8())?
        }
    })
}

/// The letters from 192 on.
const CORK_LETTERS: &str = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖŒØÙÚÛÜÝÞẞàáâãäåæçèéêëìíîïðñòóôõöœøùúûüýþß";

#[cfg(test)]
mod tests {
    use super::*;

    fn check(codes: &[u8], expected: &str) {
        let letters: Vec<&str> = letters_of(codes).into_values().collect();
        assert_eq!(letters.join(" "), expected, "{codes:?}");
    }

    #[test]
    fn letters_are_those_of_the_encoding_that_the_codes_tell() {
        check(b"!AZaz~", "! A Z a z ~");
        check(&[28, 39, 101, 228], "fi ’ e ä");
        check(&[12, 92, 101, 123], "fi “ e –");
        check(&[136], "•");
        check(&[192, 215, 223, 247, 255], "À Œ SS œ ß");
        check(&[1, 2, 3], "");
    }
}
