//! Tests of DOCX, PPTX, ODT and ODP with documents that are made here.

use crate::archive::tests::{zip_bomb, zip_of};
use crate::limits::ENTRY_BYTES_MAX;
use crate::outcome;
use crate::part::{Part, ReadFailure};

/// Reads bytes by the reader for their name. Returns the part for the file and the notices.
fn read(name: &str, bytes: &[u8]) -> Result<(Part, Vec<String>), ReadFailure> {
    Ok(outcome::read(name, bytes)?.into_part())
}

const STYLES: &str = r#"<w:styles xmlns:w="w">
    <w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
    <w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
    <w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
    <w:style w:type="paragraph" w:styleId="Q"><w:name w:val="Source Code"/></w:style>
</w:styles>"#;

const NUMBERING: &str = r#"<w:numbering xmlns:w="w">
    <w:abstractNum w:abstractNumId="0">
        <w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>
        <w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/><w:lvlText w:val="•"/></w:lvl>
    </w:abstractNum>
    <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
</w:numbering>"#;

const LINKS: &str = r#"<Relationships>
    <Relationship Id="r1" Type="x/hyperlink" Target="https://a.example/" TargetMode="External"/>
    <Relationship Id="r2" Type="x/footnotes" Target="footnotes.xml"/>
    <Relationship Id="r3" Type="x/header" Target="header1.xml"/>
</Relationships>"#;

const NOTES: &str = r#"<w:footnotes xmlns:w="w">
    <w:footnote w:type="separator" w:id="-1"><w:p/></w:footnote>
    <w:footnote w:id="2"><w:p><w:r><w:t>The</w:t></w:r><w:r><w:t> note.</w:t></w:r></w:p></w:footnote>
</w:footnotes>"#;

const CORE: &str = r#"<cp:coreProperties><dc:title>A &amp; B</dc:title><dc:creator>Anna</dc:creator>
    <dcterms:created>2024-05-01T10:00:00Z</dcterms:created></cp:coreProperties>"#;

fn docx(body: &str) -> Vec<u8> {
    let text = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    zip_of(&[
        ("word/document.xml", &text),
        ("word/styles.xml", STYLES),
        ("word/numbering.xml", NUMBERING),
        ("word/footnotes.xml", NOTES),
        ("word/_rels/document.xml.rels", LINKS),
        ("docProps/core.xml", CORE),
    ])
}

fn p(style: &str, text: &str) -> String {
    format!("<w:p><w:pPr><w:pStyle w:val='{style}'/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

#[track_caller]
fn check_docx(body: &str, expected: &str) {
    let (part, _) = read("a.docx", &docx(&format!("{body}<w:sectPr/>"))).unwrap();
    assert_eq!(part.body, expected);
}

#[test]
fn documents_have_titles_headings_and_code() {
    let body = [
        p("Titel", "Report"),
        p("berschrift1", "Maße"),
        p("Standard", "some text"),
        p("Q", "a = 1"),
        p("Q", "  b = 2"),
    ];
    check_docx(&body.concat(), "# Report\n\n## Maße\n\nsome text\n\n```\na = 1\n  b = 2\n```\n");
    check_docx(&p("berschrift1", "Alone"), "# Alone\n");
    let (part, notices) = read("a.docx", &docx(&p("Standard", "x"))).unwrap();
    assert_eq!((part.title.as_str(), part.kind.as_str()), ("A & B", "file"));
    assert_eq!(part.fields["author"], "Anna");
    assert_eq!((part.created, part.updated), (Some(1_714_557_600_000), None));
    assert_eq!(notices, ["left out: 1 header"]);
}

#[test]
fn lists_are_numbered_and_nested() {
    let item = |level: u8, text: &str| {
        format!(
            "<w:p><w:pPr><w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='1'/></w:numPr></w:pPr>\
             <w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    check_docx(&[item(0, "a"), item(1, "b"), item(0, "c")].concat(), "1. a\n   - b\n2. c\n");
}

#[test]
fn tables_keep_merged_cells_and_flatten_nested_ones() {
    let cell = |properties: &str, text: &str| {
        format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", p("Standard", text))
    };
    let body = format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}<w:tc>{}</w:tc></w:tr><w:tr>{}{}</w:tr></w:tbl>",
        cell("", "Name"),
        cell("<w:gridSpan w:val='2'/>", "Both"),
        cell("<w:vMerge w:val='restart'/>", "tall"),
        cell("", "1"),
        format_args!("<w:tbl><w:tr>{}{}</w:tr></w:tbl><w:p/>", cell("", "x"), cell("", "y")),
        cell("<w:vMerge/>", ""),
        cell("", "2"),
    );
    check_docx(
        &body,
        "| Name | Both | |\n| --- | --- | --- |\n| tall | 1 | x, y |\n| tall | 2 | |\n",
    );
    let framed = format!("<w:tbl><w:tr>{}</w:tr></w:tbl>", cell("", "framed"));
    check_docx(&framed, "framed\n");
}

#[test]
fn links_notes_and_breaks_are_kept() {
    let body = "<w:p><w:hyperlink r:id='r1'><w:r><w:t>here</w:t></w:r></w:hyperlink>\
        <w:r><w:t xml:space='preserve'> is a</w:t><w:tab/><w:t>tab</w:t>\
        <w:footnoteReference w:id='2' w:customMarkFollows='1'/><w:t>*</w:t></w:r><w:r><w:br/><w:t>soft\u{ad}ly</w:t><w:noBreakHyphen/><w:t>x</w:t></w:r></w:p>";
    check_docx(body, "[here](https://a.example/) is a tab[^1]\nsoftly-x\n\n[^1]: The note.\n");
}

#[test]
fn fields_show_their_results() {
    let turn = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let field = |code: &str, shown: &str| {
        format!(
            "{}<w:r><w:instrText>{code}</w:instrText></w:r>{}<w:r><w:t>{shown}</w:t></w:r>",
            turn("begin"),
            turn("separate"),
        )
    };
    let end = turn("end");
    let body = format!(
        "<w:p>{}{end}{}{end}</w:p><w:p>{}</w:p><w:p><w:r><w:t>2</w:t></w:r>{end}</w:p>{}",
        field(" PAGE ", "7 "),
        field(" HYPERLINK \"https://a.example/b\" ", "link"),
        field("TOC \\o 1-3", "Contents 1"),
        p("Standard", "after"),
    );
    check_docx(&body, "7 [link](https://a.example/b)\n\nafter\n");
    // One that does not end must not swallow the headings.
    let open = format!("<w:p>{}</w:p>{}", field("TOC", "x"), p("berschrift1", "Go on"));
    check_docx(&open, "# Go on\n");
}

#[test]
fn what_is_left_out_is_counted() {
    let body = "<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins>\
        <w:r><w:commentReference w:id='1'/></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>\
        <w:r><w:drawing><wp:docPr id='1' descr='A red cat'/><a:blip/></w:drawing></w:r></w:p>\
        <w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/></w:docPartObj></w:sdtPr>\
        <w:sdtContent><w:p><w:r><w:t>Contents</w:t></w:r></w:p></w:sdtContent></w:sdt>";
    let (part, notices) = read("a.docx", &docx(body)).unwrap();
    assert_eq!(part.body, "new [picture: A red cat]\n");
    assert_eq!(
        notices,
        ["left out: 1 header, 1 deleted revision, 1 comment, 1 hidden text, 1 picture, \
          1 table of contents"]
    );
}

#[test]
fn text_boxes_follow_their_paragraph_once() {
    let inner = p("Standard", "boxed");
    let body = format!(
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:txbx><w:txbxContent>{inner}\
         </w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>\
         <w:txbxContent>{inner}</w:txbxContent></v:textbox></w:pict></mc:Fallback>\
         </mc:AlternateContent></w:r><w:r><w:t>around</w:t></w:r></w:p>"
    );
    check_docx(&body, "around\n\nboxed\n");
}

fn pptx(slides: &[&str]) -> Vec<u8> {
    let ids: String =
        (1..=slides.len()).map(|n| format!("<p:sldId id='{}' r:id='r{n}'/>", 255 + n)).collect();
    let links: String = (1..=slides.len())
        .map(|n| format!("<Relationship Id='r{n}' Type='x/slide' Target='slides/slide{n}.xml'/>"))
        .collect();
    let text = format!("<p:presentation><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>");
    let links = format!("<Relationships>{links}</Relationships>");
    let names: Vec<String> =
        (1..=slides.len()).map(|n| format!("ppt/slides/slide{n}.xml")).collect();
    let notes = "<p:notes><p:sp><p:ph type='sldNum'/><a:p><a:r><a:t>1</a:t></a:r></a:p></p:sp>\
        <p:sp><p:ph type='body'/><a:p><a:r><a:t>Say hello.</a:t></a:r></a:p></p:sp></p:notes>";
    let slide_links = "<Relationships><Relationship Id='r1' Type='x/notesSlide' \
        Target='../notesSlides/n1.xml'/></Relationships>";
    let mut entries = vec![
        ("ppt/presentation.xml", text.as_str()),
        ("ppt/_rels/presentation.xml.rels", links.as_str()),
        ("ppt/slides/_rels/slide1.xml.rels", slide_links),
        ("ppt/notesSlides/n1.xml", notes),
    ];
    entries.extend(names.iter().map(String::as_str).zip(slides.iter().copied()));
    zip_of(&entries)
}

fn shape(kind: &str, paragraphs: &[(&str, &str)]) -> String {
    let paragraphs: String = paragraphs
        .iter()
        .map(|(properties, text)| format!("<a:p>{properties}<a:r><a:t>{text}</a:t></a:r></a:p>"))
        .collect();
    format!("<p:sp><p:nvPr><p:ph type='{kind}'/></p:nvPr><p:txBody>{paragraphs}</p:txBody></p:sp>")
}

#[test]
fn slides_are_headings_with_pages() {
    let number = "<a:pPr lvl='1'><a:buAutoNum type='alphaLcParenR'/></a:pPr>";
    let first = format!(
        "<p:sld>{}{}{}</p:sld>",
        shape(
            "body",
            &[("", "one"), (number, "x"), (number, "y"), ("<a:pPr><a:buNone/></a:pPr>", "z")]
        ),
        shape("title", &[("", "Hello")]),
        shape("ftr", &[("", "footer")]),
    );
    let table = "<p:sld><p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p>\
        </a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>b</a:t></a:r></a:p></a:txBody></a:tc></a:tr>\
        </a:tbl></p:graphicFrame></p:sld>";
    let bytes = pptx(&[&first, "<p:sld show='0'/>", table, "<p:sld><broken>"]);
    let (part, notices) = read("a.pptx", &bytes).unwrap();
    assert_eq!(
        part.body,
        "## Slide 1: Hello\n\n- one\n  - a) x\n  - b) y\n\nz\n\nNotes:\n\nSay hello.\n\n\
         ## Slide 3\n\n| a | b |\n| --- | --- |\n\n## Slide 4\n"
    );
    assert_eq!(part.pages, [1, 13, 13, 18]);
    let lines: Vec<&str> = part.body.lines().collect();
    assert!(lines[12].starts_with("## Slide 3") && lines[17] == "## Slide 4");
    assert_eq!(part.title, "Hello");
    assert_eq!(notices[0], "left out: 1 hidden slide");
    assert!(notices[1].starts_with("the slide cannot be read and is left out"), "{notices:?}");
}

fn odf(mimetype: &str, styles: &str, body: &str) -> Vec<u8> {
    let text = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles>\
         <office:body>{body}</office:body></office:document-content>"
    );
    let mimetype = format!("application/vnd.oasis.opendocument.{mimetype}");
    zip_of(&[("mimetype", &mimetype), ("content.xml", &text)])
}

const ODF_LISTS: &str = "<text:list-style style:name='L'><text:list-level-style-number text:level='1' \
    style:num-format='1' style:num-suffix='.'/><text:list-level-style-bullet text:level='2'/>\
    </text:list-style><style:style style:name='P1' style:family='paragraph' \
    style:parent-style-name='Preformatted_20_Text'/><style:style style:name='H' \
    style:family='drawing-page'><style:drawing-page-properties presentation:visibility='hidden'/>\
    </style:style>";

#[test]
fn open_documents_are_read() {
    let body = "<office:text><text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p>\
        </text:deletion></text:changed-region></text:tracked-changes>\
        <text:p text:style-name='Title'>Report</text:p><text:h text:outline-level='1'>Maße</text:h>\
        <text:p>one<text:s text:c='3'/>two<text:note><text:note-citation>1</text:note-citation>\
        <text:note-body><text:p>note</text:p></text:note-body></text:note>\
        <office:annotation><text:p>no</text:p></office:annotation></text:p>\
        <text:list text:style-name='L'><text:list-item><text:p>a</text:p><text:list><text:list-item>\
        <text:p>b</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>c</text:p>\
        </text:list-item></text:list>\
        <text:p text:style-name='P1'>x = 1</text:p>\
        <table:table><table:table-row><table:table-cell table:number-rows-spanned='2'><text:p>r</text:p>\
        </table:table-cell><table:table-cell><text:p>1</text:p></table:table-cell></table:table-row>\
        <table:table-row><table:covered-table-cell/><table:table-cell><text:p>2</text:p>\
        </table:table-cell></table:table-row></table:table>\
        <text:p><draw:frame><draw:image/><svg:desc>A cat</svg:desc></draw:frame></text:p></office:text>";
    let (part, notices) = read("a.odt", &odf("text", ODF_LISTS, body)).unwrap();
    assert_eq!(
        part.body,
        "# Report\n\n## Maße\n\none two[^1]\n\n1. a\n   - b\n2. c\n\n```\nx = 1\n```\n\n\
         | r | 1 |\n| --- | --- |\n| r | 2 |\n\n[picture: A cat]\n\n[^1]: note\n"
    );
    assert_eq!(part.title, "Report");
    assert_eq!(notices, ["left out: 1 deleted revision, 1 comment, 1 picture"]);
}

#[test]
fn open_presentations_are_read() {
    let body = "<office:presentation><draw:page><draw:frame presentation:class='outline'><draw:text-box>\
        <text:list text:style-name='L2'><text:list-item><text:p>point</text:p></text:list-item></text:list>\
        </draw:text-box></draw:frame><draw:frame presentation:class='title'><draw:text-box><text:p>Hello</text:p>\
        </draw:text-box></draw:frame><presentation:notes><draw:frame presentation:class='notes'><draw:text-box>\
        <text:p>Say it.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>\
        <draw:page draw:style-name='H'><draw:frame/></draw:page></office:presentation>";
    let (part, notices) = read("a.odp", &odf("presentation", ODF_LISTS, body)).unwrap();
    assert_eq!(part.body, "## Slide 1: Hello\n\n- point\n\nNotes:\n\nSay it.\n");
    assert_eq!((part.pages.as_slice(), part.title.as_str()), ([1].as_slice(), "Hello"));
    assert_eq!(notices, ["left out: 1 hidden slide"]);
}

#[test]
fn old_and_encrypted_files_say_what_to_do() {
    let ole = |stream: &str| {
        let mut bytes = super::OLE_MAGIC.to_vec();
        bytes.resize(70_000, 0);
        bytes.extend(stream.encode_utf16().flat_map(u16::to_le_bytes));
        bytes
    };
    let failure = |name: &str, stream: &str| read(name, &ole(stream)).unwrap_err().to_string();
    assert!(failure("a.doc", "WordDocument").contains("save it as DOCX"));
    assert!(failure("a.ppt", "PowerPoint Document").contains("save it as PPTX"));
    for name in ["a.docx", "a.pptx", "a.xlsx", "a.doc", "a.xls"] {
        assert_eq!(read(name, &ole("EncryptedPackage")), Err(ReadFailure::Encrypted), "{name}");
    }
    let manifest = "<m:manifest><m:encryption-data/></m:manifest>";
    let bytes = zip_of(&[("content.xml", "x"), ("META-INF/manifest.xml", manifest)]);
    for name in ["a.odt", "a.odp", "a.ods"] {
        assert_eq!(read(name, &bytes), Err(ReadFailure::Encrypted), "{name}");
    }
}

#[test]
fn bombs_are_stopped() {
    for (name, entry) in [
        ("a.docx", "word/document.xml"),
        ("a.pptx", "ppt/presentation.xml"),
        ("a.odt", "content.xml"),
    ] {
        let failure = read(name, &zip_bomb(entry, ENTRY_BYTES_MAX + 1));
        assert!(matches!(failure, Err(ReadFailure::TooLarge { .. })), "{name}: {failure:?}");
    }
}

#[test]
fn nested_tables_give_what_is_not_too_deep() {
    let (open, close) =
        ("<w:tbl><w:tr><w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p>", "</w:tc></w:tr></w:tbl>");
    let body = format!("{}{}", open.repeat(30_000), close.repeat(30_000));
    let (part, notices) = read("a.docx", &docx(&(body + &p("Standard", "end")))).unwrap();
    assert!(part.body.starts_with("x\n") && part.body.ends_with("end\n"));
    assert!(notices.iter().any(|what| what.contains("nested more than")), "{notices:?}");
    let (open, close) = (
        "<table:table><table:table-row><table:table-cell>",
        "</table:table-cell></table:table-row></table:table>",
    );
    let body = format!("{}{}<text:p>end</text:p>", open.repeat(20_000), close.repeat(20_000));
    let (part, notices) = read("a.odt", &odf("text", "", &body)).unwrap();
    assert_eq!(part.body, "end\n");
    assert!(notices.iter().any(|what| what.contains("nested more than")), "{notices:?}");
}

#[test]
fn entities_stay_small() {
    let lines: String = (1..40).map(|n| format!("<!ENTITY e{n} '&e{0};&e{0};'>", n - 1)).collect();
    let text = format!(
        "<!DOCTYPE d [<!ENTITY e0 'ha'>{lines}]><w:document><w:body>\
        <w:p><w:r><w:t>&e39;</w:t></w:r></w:p></w:body></w:document>"
    );
    let (part, _) = read("a.docx", &zip_of(&[("word/document.xml", &text)])).unwrap();
    assert_eq!(part.body, "&e39;\n");
}

/// The samples, each with its name.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let body = [p("Titel", "Report"), p("berschrift1", "x"), p("Standard", "some text")].concat();
    let slide = format!("<p:sld>{}</p:sld>", shape("title", &[("", "Hello")]));
    let text = "<office:text><text:p>a</text:p><text:list><text:list-item><text:p>b</text:p>\
        </text:list-item></text:list></office:text>";
    let page = "<draw:page><draw:frame><draw:text-box><text:p>a</text:p></draw:text-box></draw:frame></draw:page>";
    vec![
        ("a.docx", docx(&body)),
        ("a.pptx", pptx(&[&slide])),
        ("a.odt", odf("text", ODF_LISTS, text)),
        ("a.odp", odf("presentation", "", page)),
    ]
}

#[test]
fn truncated_files_fail() {
    for (name, bytes) in samples() {
        for length in (4..bytes.len()).step_by(7) {
            let result = read(name, &bytes[..length]);
            assert!(matches!(result, Err(ReadFailure::Malformed { .. })), "{name} {length}");
        }
    }
}

#[test]
fn truncated_texts_in_whole_archives_fail_or_are_noticed() {
    let body = [p("Titel", "Report"), p("Standard", "some text")].concat();
    let text = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    for length in 1..text.len() {
        let bytes = zip_of(&[("word/document.xml", &text[..length])]);
        assert!(read("a.docx", &bytes).is_err(), "{length}");
        let whole = docx(&body);
        assert!(read("a.docx", &whole).is_ok());
    }
    for length in 1..STYLES.len() - 1 {
        let bytes = zip_of(&[("word/document.xml", &text), ("word/styles.xml", &STYLES[..length])]);
        let (part, notices) = read("a.docx", &bytes).unwrap();
        assert!(part.body.contains("some text") && notices.len() == 1, "{length}: {notices:?}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    for (name, bytes) in samples() {
        for _ in 0..400 {
            let mut bytes = bytes.clone();
            for _ in 0..=random(4) {
                let at = 4 + random(bytes.len() - 4);
                bytes[at] ^= 1 << random(8);
            }
            // Whatever comes of it: no panic, and an end.
            let _ = read(name, &bytes);
        }
    }
    // The checksums of an archive hide most of this from the text: change the text itself.
    let body =
        [p("Titel", "Report"), p("Q", "x"), "<w:tbl><w:tr><w:tc/></w:tr></w:tbl>".to_owned()];
    let text = format!("<w:document xmlns:w='w'><w:body>{}</w:body></w:document>", body.concat());
    for _ in 0..2_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..=random(3) {
            let at = random(bytes.len());
            bytes[at] ^= 1 << random(7);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let _ =
            read("a.docx", &zip_of(&[("word/document.xml", &text), ("word/styles.xml", &text)]));
    }
}
