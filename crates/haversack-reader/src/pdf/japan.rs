//! The letters of Japanese fonts that are not in the file. Their glyphs have Adobe's numbers for Japanese
//! (Adobe-Japan1), and nothing else says which letters these are.
//!
//! The first of the numbers follow JIS X 0208 row by row, so that its encoding gives the letters. What was added
//! later (variants of letters, and rare ones) follows nothing and is not known here.

use std::collections::BTreeMap;

use encoding_rs::EUC_JP;

/// The first number, row and length of what follows JIS X 0208. Rows with fewer than 94 letters end early.
const RUNS: &[(u16, u8, u16)] = &[
    (633, 1, 94),
    (727, 2, 53),
    (780, 3, 62),
    (842, 4, 83),
    (925, 5, 86),
    (1011, 6, 48),
    (1059, 7, 66),
    (1125, 16, 2_965),
    (4090, 48, 3_388),
];

/// The first numbers of the letters of ASCII, from the space to the tilde: as wide as they are, and half as wide as
/// the others.
const ASCII_RUNS: &[u16] = &[1, 231];

/// The first number of the narrow syllables, from U+FF61 to U+FF9F.
const NARROW_KANA: (u16, u16) = (327, 63);

/// The letters by their glyphs' numbers.
pub(super) fn letters_of_glyphs() -> BTreeMap<u16, char> {
    let mut letters = BTreeMap::new();
    for first in ASCII_RUNS {
        letters.extend((*first..).zip(' '..='~'));
    }
    letters.extend((NARROW_KANA.0..NARROW_KANA.0 + NARROW_KANA.1).zip('\u{ff61}'..='\u{ff9f}'));
    for (first, row, length) in RUNS {
        let cells = jis_cells(*row).filter_map(|[row, cell]| letter_of(row, cell));
        letters.extend((*first..*first + *length).zip(cells));
    }
    letters
}

/// The places of a row and of those after it.
fn jis_cells(first_row: u8) -> impl Iterator<Item = [u8; 2]> {
    (first_row..=94).flat_map(|row| (1..=94).map(move |cell| [row, cell]))
}

/// The letter at a place of JIS X 0208; none at an empty one.
fn letter_of(row: u8, cell: u8) -> Option<char> {
    let bytes = [0xa0 + row, 0xa0 + cell];
    let (text, had_errors) = EUC_JP.decode_without_bom_handling(&bytes);
    text.chars().next().filter(|_| !had_errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glyphs_are_in_the_order_of_the_standard() {
        let letters = letters_of_glyphs();
        let check = |glyph: u16, expected: Option<char>| {
            assert_eq!(letters.get(&glyph).copied(), expected, "{glyph}");
        };
        // The ends of the rows are where others that know the numbers have them.
        for (glyph, letter) in [
            (1, ' '),
            (34, 'A'),
            (95, '~'),
            (231, ' '),
            (325, '~'),
            (327, '｡'),
            (389, 'ﾟ'),
            (633, '\u{3000}'),
            (634, '、'),
            (780, '０'),
            (841, 'ｚ'),
            (842, 'ぁ'),
            (924, 'ん'),
            (925, 'ァ'),
            (1010, 'ヶ'),
            (1058, 'ω'),
            (1124, 'я'),
            (1125, '亜'),
            (4089, '腕'),
            (4090, '弌'),
            (7477, '瑤'),
        ] {
            check(glyph, Some(letter));
        }
        check(0, None);
        check(7478, None);
    }
}
