//! Small PDFs, written here, and what is read of them.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};

use super::info::{parse_date, sensible_title};
use super::read::name_pages;
use crate::part::{Part, PartSink, ReadFailure, ReadNotice, ReadOutput};
use crate::source::{FileHead, SourceFile};
use crate::table::find_reader;

/// Text at a place: font (`R`egular, `B`old, `F`ixed), size, x, y, text.
type Text<'t> = (char, u32, u32, u32, &'t str);

/// The content of a page.
fn content(texts: &[Text<'_>]) -> String {
    texts.iter().fold(String::new(), |mut content, (font, size, x, y, text)| {
        let text = text.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
        let _ = writeln!(content, "BT /{font} {size} Tf {x} {y} Td ({text}) Tj ET");
        content
    })
}

/// A document of objects, with a table of where they stand.
fn write_objects(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut pdf = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(objects) {
        places.push(pdf.len());
        pdf.extend(format!("{number} 0 obj\n").bytes());
        pdf.extend(object);
        pdf.extend(b"\nendobj\n");
    }
    let table = pdf.len();
    pdf.extend(format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1).bytes());
    for place in &places {
        pdf.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = objects.len() + 1;
    let end =
        format!("trailer\n<< /Size {size} /Root 1 0 R {trailer} >>\nstartxref\n{table}\n%%EOF\n");
    pdf.extend(end.bytes());
    pdf
}

fn stream(dictionary: &str, bytes: &[u8]) -> Vec<u8> {
    let mut object = format!("<< {dictionary} /Length {} >>\nstream\n", bytes.len()).into_bytes();
    object.extend(bytes);
    object.extend(b"\nendstream");
    object
}

/// A document of pages with the given contents. Object 6 is the information, object 7 a picture.
fn write_pdf(pages: &[String], info: &str, trailer: &str) -> Vec<u8> {
    let font = |name: &str| {
        let widths = if name == "Courier" { ["600"; 2] } else { ["490", "510"] };
        let widths: Vec<&str> = widths.into_iter().cycle().take(95).collect();
        let widths = widths.join(" ");
        format!(
            "<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding /FirstChar 32 /LastChar 126 \
             /Widths [{widths}] >>"
        )
    };
    let kids: String = (0..pages.len()).fold(String::new(), |mut kids, index| {
        let _ = write!(kids, "{} 0 R ", 8 + index * 2);
        kids
    });
    let mut objects: Vec<Vec<u8>> = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()).into_bytes(),
        font("Times-Roman").into_bytes(),
        font("Helvetica-Bold").into_bytes(),
        font("Courier").into_bytes(),
        format!("<< {info} >>").into_bytes(),
        stream(
            "/Type /XObject /Subtype /Image /Width 8 /Height 8 /BitsPerComponent 8 /ColorSpace /DeviceGray",
            &[90; 64],
        ),
    ];
    for (index, page) in pages.iter().enumerate() {
        let page_object = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {} 0 R /Resources \
             << /Font << /R 3 0 R /B 4 0 R /F 5 0 R >> /XObject << /I 7 0 R >> >> >>",
            9 + index * 2
        );
        objects.push(page_object.into_bytes());
        objects.push(stream("", page.as_bytes()));
    }
    write_objects(&objects, &format!("/Info 6 0 R {trailer}"))
}

fn read_all(bytes: &[u8]) -> (Result<(), ReadFailure>, Vec<ReadOutput>) {
    let mut outputs = Vec::new();
    let mut take = |output| {
        outputs.push(output);
        Ok(())
    };
    let mut input = Cursor::new(bytes);
    let mut source = SourceFile::new("folder/some.pdf", &mut input).unwrap();
    let result = super::read::read(&mut source, &mut PartSink::new(&mut take));
    (result, outputs)
}

fn read_part(bytes: &[u8]) -> (Part, Vec<ReadNotice>) {
    let (result, outputs) = read_all(bytes);
    assert_eq!(result, Ok(()));
    let (mut parts, mut notices) = (Vec::new(), Vec::new());
    for output in outputs {
        match output {
            ReadOutput::Part(part) => parts.push(*part),
            ReadOutput::Notice(notice) => notices.push(notice),
            ReadOutput::Progress { .. } => {}
        }
    }
    assert_eq!(parts.len(), 1);
    (parts.remove(0), notices)
}

fn read_page(texts: &[Text<'_>]) -> String {
    read_part(&write_pdf(&[content(texts)], "", "")).0.body
}

/// A page whose font names its glyphs by number, as fonts of TeX that are made of dots do.
fn write_numbered(codes: &[u8], differences: &str) -> Vec<u8> {
    let names: String = codes.iter().fold(String::new(), |mut names, code| {
        let _ = write!(names, "/a{code} 8 0 R ");
        names
    });
    let text: String = codes.iter().fold(String::new(), |mut text, code| {
        let _ = write!(text, "{code:02x}");
        text
    });
    let font = format!(
        "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 50 50] /FontMatrix [0.02 0 0 0.02 0 0] /FirstChar 0 \
         /LastChar 255 /Widths [{}] /Encoding << /Type /Encoding /Differences [{differences}] >> \
         /CharProcs << {names} >> >>",
        "25 ".repeat(256)
    );
    let page = format!("BT /T 10 Tf 72 700 Td <{text}> Tj ET");
    let plain = content(&[('R', 10, 72, 600, "A line of another font.")]);
    write_objects(
        &[
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font \
              << /T 5 0 R /R 6 0 R >> >> >>"
                .to_vec(),
            stream("", format!("{page}\n{plain}").as_bytes()),
            font.into_bytes(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
            b"<< >>".to_vec(),
            stream("", b"25 0 0 0 50 50 d1 0 0 20 20 re f"),
        ],
        "",
    )
}

#[test]
fn glyphs_with_their_codes_for_names_are_letters_and_bullets() {
    let codes = [136, 70, 105, 115, 104, 28];
    let differences = "28 /a28 70 /a70 104 /a104 /a105 115 /a115 136 /a136";
    let (part, _) = read_part(&write_numbered(&codes, differences));
    assert_eq!(part.body, "•Fishfi\n\nA line of another font.");
}

/// A page with text in a font of its own, given as hexadecimal codes, above a line of another.
fn write_in_font(font: &str, to_unicode: &str, codes: &str, other: &str) -> Vec<u8> {
    let page = format!("BT /T 10 Tf 72 700 Td <{codes}> Tj ET");
    let plain = content(&[('R', 10, 72, 600, other)]);
    write_objects(
        &[
            b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font \
              << /T 5 0 R /R 6 0 R >> >> >>"
                .to_vec(),
            stream("", format!("{page}\n{plain}").as_bytes()),
            font.as_bytes().to_vec(),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
            stream("", to_unicode.as_bytes()),
        ],
        "",
    )
}

/// A font whose letters are said to be characters without a meaning, but for a small `o`.
const FONT_WITHOUT_MEANING: &str =
    "<< /Type /Font /Subtype /Type1 /BaseFont /Odd /ToUnicode 7 0 R >>";
const MAP_WITHOUT_MEANING: &str = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def \
    /CMapType 2 def 1 begincodespacerange <00> <FF> endcodespacerange 2 beginbfrange <41> <6E> <E041> \
    <6F> <6F> <006F> endbfrange endcmap CMapName currentdict /CMap defineresource pop end end";

#[test]
fn pages_whose_letters_cannot_be_known_are_left_out_and_named() {
    let lost = "4142436F4445464748494A4B4C4D";
    let read = |other: &str| {
        read_all(&write_in_font(FONT_WITHOUT_MEANING, MAP_WITHOUT_MEANING, lost, other)).0
    };
    assert_eq!(read(""), Err(ReadFailure::Undecodable { pages: 1 }));
    assert_eq!(read("page 7"), Err(ReadFailure::Undecodable { pages: 1 }));
    assert_eq!(read("A page of which this line and much more can be read by all."), Ok(()));
}

#[test]
fn lost_letters_in_words_are_told() {
    let notices = |codes: &str| {
        let other = "A page of which this line and much more can be read by all.";
        let pdf = write_in_font(FONT_WITHOUT_MEANING, MAP_WITHOUT_MEANING, codes, other);
        let (part, notices) = read_part(&pdf);
        assert!(part.body.contains(other), "{}", part.body);
        notices.into_iter().map(|notice| (notice.place, notice.what)).collect::<Vec<_>>()
    };
    let told = notices("416F6F42");
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0.as_deref(), Some("page 1"));
    assert!(told[0].1.starts_with("some letters are lost"), "{told:?}");
    // A sign that stands alone is no letter of a word.
    assert_eq!(notices("41"), []);
}

#[test]
fn japanese_fonts_that_are_not_in_the_file_are_read_by_their_glyphs() {
    let font = "<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin-Light /Encoding /Identity-H /DescendantFonts \
                [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin-Light /DW 1000 /CIDSystemInfo << \
                /Registry (Adobe) /Ordering (Japan1) /Supplement 6 >> >>] >>";
    let (part, _) = read_part(&write_in_font(font, "", "0B470C0D0377", "One in English"));
    assert_eq!(part.body, "大抵の\n\nOne in English");
}

/// A paragraph of four full lines, the last of them short.
fn paragraph<'t>(x: u32, y: u32) -> Vec<Text<'t>> {
    vec![
        ('R', 10, x, y, "The harbour of the old town lies open to the west and is"),
        ('R', 10, x, y - 12, "full of boats in summer when the fishermen come home for"),
        ('R', 10, x, y - 24, "the feast of the patron saint and stay until the first au-"),
        ('R', 10, x, y - 36, "tumn storms."),
    ]
}

const PARAGRAPH: &str = "The harbour of the old town lies open to the west and is full of boats in summer when \
                         the fishermen come home for the feast of the patron saint and stay until the first autumn \
                         storms.";

#[test]
fn lines_of_a_paragraph_become_one_and_hyphens_at_their_ends_go() {
    assert_eq!(read_page(&paragraph(72, 700)), PARAGRAPH);
}

#[test]
fn a_gap_divides_paragraphs_and_large_letters_make_headings() {
    let mut texts = vec![('B', 20, 72, 740, "Harbours"), ('B', 14, 72, 715, "In the west")];
    texts.extend(paragraph(72, 690));
    texts.extend(paragraph(72, 630));
    let expected = format!("# Harbours\n\n## In the west\n\n{PARAGRAPH}\n\n{PARAGRAPH}");
    assert_eq!(read_page(&texts), expected);
}

#[test]
fn bullets_become_items_and_fixed_letters_code() {
    let mut texts = paragraph(72, 700);
    texts.extend([
        ('R', 10, 82, 640, "\u{95} salt and rope"),
        ('R', 10, 82, 626, "\u{95} lamp oil"),
        ('F', 10, 90, 600, "for boat in harbour:"),
        ('F', 10, 114, 588, "moor(boat)"),
    ]);
    let octal = content(&texts).replace('\u{95}', "\\225");
    let (part, _) = read_part(&write_pdf(&[octal], "", ""));
    let expected = format!(
        "{PARAGRAPH}\n\n- salt and rope\n- lamp oil\n\n```\nfor boat in harbour:\n    moor(boat)\n```"
    );
    assert_eq!(part.body, expected);
}

#[test]
fn two_columns_are_read_one_after_the_other() {
    let column = |x: u32, word: &'static str| {
        (0..30_u32).map(move |line| {
            let text = format!("{word} line {line} of a column that goes on and on");
            (x, 700 - line * 12, text)
        })
    };
    let lines: Vec<_> = column(60, "left").chain(column(330, "right")).collect();
    let mut texts: Vec<Text<'_>> =
        lines.iter().map(|(x, y, text)| ('R', 10, *x, *y, text.as_str())).collect();
    // Written row by row, as some programs do.
    texts.sort_by_key(|text| std::cmp::Reverse(text.3));
    let body = read_page(&texts);
    let (last_left, first_right) =
        (body.find("left line 29").unwrap(), body.find("right line 0 ").unwrap());
    assert!(last_left < first_right, "{body}");
}

/// Three columns of rows with two cells each, under a heading, which begin at these heights.
fn three_columns(heights: [u32; 3]) -> String {
    let mut lines = Vec::new();
    for ((x, word), height) in [(40, "left"), (230, "mid"), (420, "right")].into_iter().zip(heights)
    {
        lines.push((x, height, format!("All the commands for {word}")));
        for row in 0..25_u32 {
            let y = height - 12 - row * 12;
            lines.push((x, y, format!("{word}{row}")));
            lines.push((x + 60, y, format!("does thing {row}")));
            if row == 12 {
                lines.push((x, y - 6, format!("More commands for {word}")));
            }
        }
    }
    let mut texts: Vec<Text<'_>> =
        lines.iter().map(|(x, y, text)| ('R', 10, *x, *y, text.as_str())).collect();
    texts.sort_by_key(|text| std::cmp::Reverse(text.3));
    read_page(&texts)
}

#[test]
fn three_columns_are_read_one_after_the_other_by_their_rows() {
    let body = three_columns([700, 696, 692]);
    let at = |text: &str| body.find(text).unwrap_or_else(|| panic!("{text}: {body}"));
    assert!(at("left24 does thing 24") < at("mid0 does thing 0"), "{body}");
    assert!(at("mid24 does thing 24") < at("right0 does thing 0"), "{body}");
    at("mid3 does thing 3\nmid4 does thing 4");
}

#[test]
fn tables_become_pipe_tables_with_all_their_words() {
    let mut texts = paragraph(72, 740);
    let rows = [
        ["Port", "Boats", "Depth"],
        ["Avel", "12", "4.5"],
        ["Brenn", "7", "3.1"],
        ["Cour", "31", "9.0"],
    ];
    for (index, row) in (0_u32..).zip(&rows) {
        for (column, cell) in (0_u32..).zip(row) {
            texts.push(('R', 10, 90 + column * 150, 660 - index * 16, cell));
        }
    }
    let body = read_page(&texts);
    assert!(
        body.contains("| Port | Boats | Depth |\n| --- | --- | --- |\n| Avel | 12 | 4.5 |"),
        "{body}"
    );
}

#[test]
fn running_lines_go_and_are_counted_but_headings_stay() {
    let pages: Vec<String> = (1..=6)
        .map(|page: u32| {
            let number = page.to_string();
            let mut texts =
                vec![('R', 10, 72, 760, "The Book of Boats"), ('B', 16, 72, 720, "Example")];
            texts.extend(paragraph(72, 680));
            let name = ["Avel", "Brenn", "Cour", "Deven", "Elle", "Faou", "Goz"][page as usize];
            texts.push(('R', 10, 72, 600, name));
            texts.push(('R', 10, 300, 40, number.as_str()));
            content(&texts)
        })
        .collect();
    let (part, notices) = read_part(&write_pdf(&pages, "", ""));
    assert!(!part.body.contains("The Book of Boats"), "{}", part.body);
    assert_eq!(part.body.matches("# Example").count(), 6, "{}", part.body);
    assert_eq!(part.body.matches(PARAGRAPH).count(), 6);
    assert_eq!(part.body.lines().filter(|line| line.len() == 1).count(), 0);
    assert_eq!(notices.len(), 1);
    assert!(notices[0].what.starts_with("12 lines of running headers"), "{}", notices[0].what);
}

#[test]
fn pages_begin_where_they_say_also_empty_ones() {
    let page = |word: &str| {
        let text = format!("{word} begins on this page");
        content(&[('R', 10, 72, 700, &text)])
    };
    let pages = [page("one"), String::new(), page("three"), page("four"), String::new()];
    let (part, notices) = read_part(&write_pdf(&pages, "", ""));
    assert_eq!(part.pages, [1, 3, 3, 5, 7]);
    let lines: Vec<&str> = part.body.lines().collect();
    assert_eq!(lines[2], "three begins on this page");
    assert_eq!(lines[4], "four begins on this page");
    assert_eq!(notices, []);
}

#[test]
fn the_document_says_title_author_and_dates() {
    let info = "/Title (Of Boats) /Author (Ann Pilot) /CreationDate (D:20240115103000+01'00') /ModDate (D:2024)";
    let (part, _) = read_part(&write_pdf(&[content(&paragraph(72, 700))], info, ""));
    assert_eq!((part.kind.as_str(), part.title.as_str()), ("file", "Of Boats"));
    assert_eq!(part.fields["author"], "Ann Pilot");
    assert_eq!((part.created, part.updated), (Some(1_705_311_000_000), Some(1_704_067_200_000)));
}

#[test]
fn a_file_name_is_no_title_but_the_first_large_heading_is() {
    let mut texts = vec![('B', 20, 72, 740, "Of Harbours")];
    texts.extend(paragraph(72, 700));
    let info = "/Title (Microsoft Word - boats.doc)";
    let (part, _) = read_part(&write_pdf(&[content(&texts)], info, ""));
    assert_eq!(part.title, "Of Harbours");
    assert_eq!(sensible_title(Some(" A  Guide ")), Some("A Guide".to_owned()));
    for none in ["", "untitled", "main.dvi", "C:\\x\\y", "12", "/tmp/x"] {
        assert_eq!(sensible_title(Some(none)), None, "{none}");
    }
}

#[test]
fn dates_are_read_as_far_as_they_go() {
    let check = |date: &str, expected| assert_eq!(parse_date(Some(date)), expected, "{date}");
    check("D:19700101000001Z", Some(1_000));
    check("19700102", Some(86_400_000));
    check("D:20240115103000-05'30'", Some(1_705_334_400_000));
    check("D:20241315", None);
    check("D:99999999999999+99'99'", None);
    check("yesterday", None);
    check("D:197é", None);
    check("", None);
}

#[test]
fn scans_are_named_and_a_file_of_nothing_else_is_a_failure() {
    let picture = || "q 612 0 0 792 0 0 cm /I Do Q".to_owned();
    let text = || content(&paragraph(72, 700));
    let pages = [text(), picture(), picture(), text(), picture()];
    let (part, notices) = read_part(&write_pdf(&pages, "", ""));
    assert_eq!(part.pages.len(), 5);
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].place.as_deref(), Some("pages 2-3, 5"));
    assert!(notices[0].what.contains("ocrmypdf"));
    let (result, _) = read_all(&write_pdf(&[picture(), picture()], "", ""));
    assert_eq!(result, Err(ReadFailure::NeedsOcr { pages: 2 }));
}

#[test]
fn pages_are_named_in_runs() {
    assert_eq!(name_pages(&[3]), "page 3");
    assert_eq!(name_pages(&[3, 4, 5, 7, 12]), "pages 3-5, 7, 12");
}

#[test]
fn a_password_is_a_failure_of_its_own() {
    let key = "00".repeat(32);
    let lock = format!("/Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <{key}> /U <{key}>");
    let trailer = "/ID [<00112233> <00112233>] /Encrypt 6 0 R";
    let (result, _) = read_all(&write_pdf(&[content(&paragraph(72, 700))], &lock, trailer));
    assert_eq!(result, Err(ReadFailure::Encrypted));
}

#[test]
fn progress_goes_up_to_all_pages() {
    let pages = vec![content(&paragraph(72, 700)); 3];
    let (_, outputs) = read_all(&write_pdf(&pages, "", ""));
    let done: Vec<u64> = outputs
        .iter()
        .filter_map(|output| match output {
            ReadOutput::Progress { done, total: 3 } => Some(*done),
            _ => None,
        })
        .collect();
    assert!(done.is_sorted() && done.len() > 2, "{done:?}");
    assert_eq!((done.first(), done.last()), (Some(&0), Some(&3)));
}

#[test]
fn the_same_bytes_give_the_same_part() {
    let mut texts = vec![('B', 20, 72, 740, "Of Harbours")];
    texts.extend(paragraph(72, 700));
    let pdf = write_pdf(&vec![content(&texts); 4], "/Title (x.doc)", "");
    assert_eq!(read_part(&pdf), read_part(&pdf));
}

#[test]
fn files_are_known_by_their_header_or_name() {
    let name = |name: &str, bytes: &[u8]| {
        find_reader(&FileHead::of_bytes(name, bytes)).map(|reader| reader.name)
    };
    assert_eq!(name("report", b"%PDF-1.7\n"), Some("PDF"));
    assert_eq!(name("report.PDF", b"<html>"), Some("PDF"));
    assert_ne!(name("notes.md", b"a PDF begins with %PDF-1.7"), Some("PDF"));
    let (result, _) = read_all(b"<html><body>not found</body></html>");
    assert!(matches!(result, Err(ReadFailure::Malformed { .. })), "{result:?}");
}

#[test]
fn truncated_files_fail_or_are_read_but_never_panic() {
    let mut texts = vec![('B', 20, 72, 740, "Of Harbours")];
    texts.extend(paragraph(72, 700));
    let pdf = write_pdf(&vec![content(&texts); 2], "/Title (Boats)", "");
    for length in (0..pdf.len()).step_by(61) {
        match read_all(&pdf[..length]).0 {
            Ok(())
            | Err(
                ReadFailure::Malformed { .. }
                | ReadFailure::NeedsOcr { .. }
                | ReadFailure::Encrypted,
            ) => {}
            Err(other) => panic!("{length}: {other}"),
        }
    }
    assert!(read_all(b"").0.is_err());
    assert!(read_all(&pdf[..pdf.len() / 4]).0.is_err());
}

#[test]
fn flipped_bytes_fail_or_are_read_but_never_panic() {
    let pdf = write_pdf(&vec![content(&paragraph(72, 700)); 2], "/Title (Boats)", "");
    let mut state = 7_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for _ in 0..150 {
        let mut damaged = pdf.clone();
        for _ in 0..=next(8) {
            let at = next(damaged.len());
            damaged[at] = u8::try_from(next(256)).unwrap();
        }
        let _ = read_all(&damaged);
    }
}

#[test]
fn deep_nesting_ends() {
    for depth in [500, 20_000] {
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let info = format!("/Title {nested}");
        let _ = read_all(&write_pdf(&[content(&paragraph(72, 700))], &info, ""));
        let page = format!("{nested} TJ {}", "q ".repeat(depth));
        let _ = read_all(&write_pdf(&[page], "", ""));
    }
}

#[test]
fn a_page_that_inflates_ends() {
    let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    for _ in 0..20 {
        deflated.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    let bytes = deflated.finish().unwrap();
    let mut objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>".to_vec(),
    ];
    objects.push(stream("/Filter /FlateDecode", &bytes));
    let (result, _) = read_all(&write_objects(&objects, ""));
    assert!(result.is_err());
}

#[test]
fn a_page_that_is_its_own_parent_ends() {
    let objects = vec![
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [2 0 R] /Count 1 /Parent 2 0 R >>".to_vec(),
    ];
    assert!(read_all(&write_objects(&objects, "")).0.is_err());
}
