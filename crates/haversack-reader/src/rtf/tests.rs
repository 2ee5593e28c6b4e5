//! Tests of rich text, by small documents.

use super::*;
use crate::outcome;
use crate::table::find_reader;

fn read_rtf(bytes: &[u8]) -> Result<(Part, Vec<String>), ReadFailure> {
    Ok(outcome::read_by(&READER, "a.rtf", bytes)?.into_part())
}

#[track_caller]
fn check(content: &str, expected: &str) {
    let (part, _) = read_rtf(format!("{{\\rtf1\\ansi {content}}}").as_bytes()).unwrap();
    assert_eq!(part.body.trim_end(), expected, "{content}");
}

#[test]
fn paragraphs_and_marks_become_text() {
    check(r"One\par Two \b bold\b0  end\line next", "One\n\nTwo bold end\nnext");
    check(r"a\~b\_c\-d \emdash\  \'84quoted\'93 \{x\}", "a b-cd — „quoted“ {x}");
    check(r"{\*\unknown not this}{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}text", "text");
    check(r"seen {\v hidden}\v too\v0  again{\deleted gone}", "seen again");
    check(r"{\pict\pngblip 89504e47}{\header Running}{\footer 7}words", "words");
    check(
        r#"see {\field{\*\fldinst HYPERLINK "https://a.org"}{\fldrslt the site}}."#,
        "see the site.",
    );
}

#[test]
fn characters_come_from_code_pages_fonts_and_escapes() {
    check(r"\'e4\u228?\u8211\'96 \uc0\u252 x", "ää– üx");
    check(r"\u-10179?\u-8704?", "😀");
    check(r"\uc2\u12354\'82\'a0b", "あb");
    check(r"{\fonttbl{\f0\fcharset204 A;}{\f1\fcharset128 B;}}\f0\'cf\'f0\f1\'82\'a0", "Прあ");
    let (part, _) = read_rtf(br"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8}").unwrap();
    assert_eq!(part.body.trim_end(), "При");
    let (part, _) = read_rtf(b"{\\rtf1\\mac caf\\'8e}").unwrap();
    assert_eq!(part.body.trim_end(), "café");
}

#[test]
fn headings_lists_tables_and_notes_are_kept() {
    check(
        r"{\stylesheet{\s0 Normal;}{\s1 heading 1;}{\s2\b heading 2;}}\pard\s1 Boats\par\pard\s2 Old\par\pard\s0 text",
        "# Boats\n\n## Old\n\ntext",
    );
    check(r"\pard\outlinelevel2 Deep\par\pard plain", "### Deep\n\nplain");
    check(
        r"{\listtext\'b7\tab}rope\par{\listtext\'b7\tab}\ilvl1 lamp oil\par\pard{\pntext 1.\tab}first\par",
        "- rope\n  - lamp oil\n1. first",
    );
    check(
        r"before\par\trowd\intbl Port\cell Boats\cell\row\trowd\intbl Kiel\cell 7\par 8\cell\row\pard after",
        "before\n\n| Port | Boats |\n| --- | --- |\n| Kiel | 7; 8 |\n\nafter",
    );
    check(r"It floats{\footnote\chftn  By wood.\par}.", "It floats[^1].\n\n[^1]: By wood.");
}

#[test]
fn a_document_says_what_it_is_called_and_from_when() {
    let text = r"{\rtf1\ansi{\info{\title Of \'c4pples}{\author Ann}{\creatim\yr2024\mo5\dy6\hr10\min0}}{\pict 00}x}";
    let (part, notices) = read_rtf(text.as_bytes()).unwrap();
    assert_eq!((part.title.as_str(), part.created), ("Of Äpples", Some(1_714_989_600_000)));
    assert_eq!(part.fields["author"], "Ann");
    assert_eq!(notices, ["left out: 1 picture"]);
}

#[test]
fn files_are_known_by_their_beginning_or_name() {
    let name = |name: &str, bytes: &[u8]| {
        find_reader(&FileHead::of_bytes(name, bytes)).map(|reader| reader.name)
    };
    assert_eq!(name("old.doc", b"{\\rtf1 x}"), Some("RTF"));
    assert_eq!(name("a.rtf", b"x"), Some("RTF"));
    assert_eq!(name("notes.md", b"about {\\rtf1}"), None);
    assert!(matches!(read_rtf(b"x"), Err(ReadFailure::Malformed { .. })));
}

#[test]
fn hostile_documents_end() {
    for deep in [199, 201, 100_000] {
        let (part, _) =
            read_rtf(format!("{{\\rtf1 {}x{}y", "{\\b ".repeat(deep), "}".repeat(deep)).as_bytes())
                .unwrap();
        assert_eq!(part.body.trim_end(), "xy");
    }
    let whole = br"{\rtf1\ansi{\fonttbl{\f0\fcharset204 A;}}{\stylesheet{\s1 heading 1;}}\pard\s1 T\par\trowd\intbl a\cell\row\pard
        {\footnote n}\u-10179?\bin5 {{{}}\'e4}";
    for end in 0..whole.len() {
        let _ = read_rtf(&whole[..end]);
    }
    for seed in 0..400 {
        let mut bytes = whole.to_vec();
        for pair in crate::encoding::tests::noise(seed, 12).chunks_exact(2) {
            let at = usize::from(pair[0]) % (bytes.len() - 6) + 6;
            bytes[at] = pair[1];
        }
        let _ = read_rtf(&bytes);
    }
    let _ = read_rtf(format!("{{\\rtf1 {}", "\\cell ".repeat(200_000)).as_bytes());
}
