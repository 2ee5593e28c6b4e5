//! Tests of XLSX and ODS with workbooks that are made here. XLS has the same rows behind another
//! parser.

use serde_json::{Value, json};

use crate::archive::tests::{zip_bomb, zip_of};
use crate::limits::ENTRY_BYTES_MAX;
use crate::outcome;
use crate::part::{Part, ReadFailure};

fn read(name: &str, bytes: &[u8]) -> Result<(Vec<Part>, Vec<String>), ReadFailure> {
    let outcome = outcome::read(name, bytes)?;
    Ok((outcome.parts, outcome.notices))
}

/// Rows of a sheet in XLSX: cells with their place and what is in them.
fn xlsx_rows(rows: &[(u32, &[(&str, &str)])]) -> String {
    let mut text = String::new();
    for (number, cells) in rows {
        text.push_str(&format!("<row r='{number}'>"));
        for (column, content) in *cells {
            text.push_str(&format!("<c r='{column}{number}' {content}</c>"));
        }
        text.push_str("</row>");
    }
    text
}

/// Text in a cell of XLSX.
fn text(content: &str) -> String {
    format!("t='str'><v>{content}</v>")
}

/// A workbook of these sheets: attributes of the sheet, and its XML.
fn xlsx(sheets: &[(&str, &str)]) -> Vec<u8> {
    let listed: String = sheets
        .iter()
        .zip(1..)
        .map(|((attributes, _), n)| format!("<sheet {attributes} sheetId='{n}' r:id='r{n}'/>"))
        .collect();
    let links: String = (1..=sheets.len())
        .map(|n| {
            format!(
                "<Relationship Id='r{n}' Type='http://schemas.openxmlformats.org/officeDocument/\
                 2006/relationships/worksheet' Target='worksheets/sheet{n}.xml'/>"
            )
        })
        .collect();
    let workbook = format!(
        "<workbook xmlns:r='http://schemas.openxmlformats.org/officeDocument/2006/relationships'><sheets>{listed}</sheets></workbook>"
    );
    let links = format!("<Relationships>{links}</Relationships>");
    let styles =
        "<styleSheet><cellXfs><xf numFmtId='0'/><xf numFmtId='14'/></cellXfs></styleSheet>";
    let names: Vec<String> =
        (1..=sheets.len()).map(|n| format!("xl/worksheets/sheet{n}.xml")).collect();
    let package = "<Relationships><Relationship Id='r1' Type='http://schemas.openxmlformats.org/\
        officeDocument/2006/relationships/officeDocument' Target='xl/workbook.xml'/></Relationships>";
    let mut entries = vec![
        ("_rels/.rels", package),
        ("xl/workbook.xml", workbook.as_str()),
        ("xl/_rels/workbook.xml.rels", links.as_str()),
        ("xl/styles.xml", styles),
    ];
    entries.extend(names.iter().map(String::as_str).zip(sheets.iter().map(|(_, sheet)| *sheet)));
    zip_of(&entries)
}

fn sheet(rows: &str, after: &str) -> String {
    format!("<worksheet><sheetData>{rows}</sheetData>{after}</worksheet>")
}

/// A table in ODS: rows of cells as they are written.
fn ods(tables: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles><style:style style:name='H' \
         style:family='table'><style:table-properties table:display='false'/></style:style>\
         </office:automatic-styles><office:body><office:spreadsheet>{tables}</office:spreadsheet>\
         </office:body></office:document-content>"
    );
    let mimetype = "application/vnd.oasis.opendocument.spreadsheet";
    zip_of(&[("mimetype", mimetype), ("content.xml", &content)])
}

fn ods_row(cells: &[&str]) -> String {
    let cells: String = cells
        .iter()
        .map(|cell| match cell.strip_prefix('=') {
            Some(number) => format!("<table:table-cell office:value-type='float' office:value='{number}'/>"),
            None if cell.starts_with('<') => (*cell).to_owned(),
            None => format!("<table:table-cell office:value-type='string'><text:p>{cell}</text:p></table:table-cell>"),
        })
        .collect();
    format!("<table:table-row>{cells}</table:table-row>")
}

fn ods_table(attributes: &str, rows: &[String]) -> String {
    format!("<table:table {attributes}>{}</table:table>", rows.concat())
}

fn fields(part: &Part) -> Value {
    Value::Object(part.fields.clone())
}

#[test]
fn rows_are_records_under_their_header() {
    let (name, day, tea) = (text("Name"), text("Day"), text("Tea"));
    let rows = xlsx_rows(&[
        (1, &[("A", &text("Sales of &amp; May"))]),
        (3, &[("A", &name), ("B", &day), ("D", &text("Price")), ("E", &name)]),
        (
            4,
            &[
                ("A", &tea),
                ("B", "s='1'><v>45413</v>"),
                ("C", "t='b'><v>1</v>"),
                ("D", "><v>2.5</v>"),
            ],
        ),
        (6, &[("A", "t='e'><v>#REF!</v>"), ("D", "><f>1+1</f>"), ("E", "><f>1+1</f><v>2</v>")]),
    ]);
    let (parts, notices) =
        read("a.xlsx", &xlsx(&[("name='Übersicht'", &sheet(&rows, ""))])).unwrap();
    assert_eq!(
        parts[0].body,
        "## Übersicht\n\nSales of & May\n\n2 rows under the header in row 3. Columns: Name, Day, Price, Name 5.\n"
    );
    assert_eq!((parts[0].kind.as_str(), parts[0].key.as_str()), ("file", ""));
    let row = &parts[1];
    assert_eq!((row.key.as_str(), row.parent.as_deref()), ("Übersicht!4", Some("")));
    assert_eq!((row.kind.as_str(), row.title.as_str(), row.position), ("row", "Tea", 0));
    assert_eq!(row.body, "Name: Tea\nDay: 2024-05-01\ncolumn C: true\nPrice: 2.5\n");
    assert_eq!(
        fields(row),
        json!({"Name": "Tea", "Day": "2024-05-01", "column C": true, "Price": 2.5})
    );
    assert_eq!(
        (parts[2].title.as_str(), fields(&parts[2])),
        ("Übersicht, row 6", json!({"Name 5": 2}))
    );
    assert_eq!(parts.len(), 3);
    assert!(notices[0].starts_with("1 formulas have no saved value"), "{notices:?}");
    assert_eq!(notices[1], "1 cells with errors are empty");
}

#[test]
fn titles_and_texts_have_columns_of_their_own() {
    let tables = ods_table(
        "table:name='S'",
        &[ods_row(&["Title", "Text", "Year"]), ods_row(&["T", "a long text", "=2024"])],
    );
    let (parts, _) = read("a.ods", &ods(&tables)).unwrap();
    let row = &parts[1];
    assert_eq!((row.title.as_str(), row.body.as_str()), ("T", "a long text"));
    assert_eq!(fields(row), json!({"Year": 2024}));
}

#[test]
fn sheets_without_header_have_letters() {
    let tables = ods_table("table:name='S'", &[ods_row(&["=1", "=2"]), ods_row(&["=3", "x"])]);
    let (parts, _) = read("a.ods", &ods(&tables)).unwrap();
    assert_eq!(parts[0].body, "## S\n\n2 rows without a header.\n");
    assert_eq!(fields(&parts[1]), json!({"column A": 1, "column B": 2}));
    assert_eq!(fields(&parts[2]), json!({"column A": 3, "column B": "x"}));
    // Years may stand in a header.
    let tables = ods_table(
        "table:name='S'",
        &[ods_row(&["x", "=2023", "=2024"]), ods_row(&["a", "=3", "=4"])],
    );
    let (parts, _) = read("a.ods", &ods(&tables)).unwrap();
    assert_eq!(fields(&parts[1]), json!({"x": "a", "2023": 3, "2024": 4}));
}

#[test]
fn merged_cells_are_filled() {
    let t = text;
    let rows = xlsx_rows(&[
        (1, &[("A", &t("Region")), ("B", &t("Q1"))]),
        (2, &[("A", &t("name")), ("B", &t("Jan")), ("C", &t("Feb"))]),
        (3, &[("A", &t("North")), ("B", "><v>1</v>"), ("C", "><v>2</v>")]),
        (4, &[("B", "><v>3</v>"), ("C", "><v>4</v>")]),
        (5, &[("B", "><v>5</v>")]),
    ]);
    let merged =
        "<mergeCells count='2'><mergeCell ref='B1:C1'/><mergeCell ref='A3:A4'/></mergeCells>";
    let (parts, _) = read("a.xlsx", &xlsx(&[("name='S'", &sheet(&rows, merged))])).unwrap();
    let shown: Vec<Value> = parts[1..].iter().map(fields).collect();
    assert_eq!(
        shown,
        [
            json!({"name": "North", "Q1 Jan": 1, "Q1 Feb": 2}),
            json!({"name": "North", "Q1 Jan": 3, "Q1 Feb": 4}),
            json!({"Q1 Jan": 5}),
        ]
    );
    let tables = ods_table(
        "table:name='S'",
        &[
            ods_row(&["a", "b"]),
            ods_row(&[
                "<table:table-cell table:number-rows-spanned='2' office:value-type='string'><text:p>x</text:p></table:table-cell>",
                "=1",
            ]),
            ods_row(&["<table:covered-table-cell/>", "=2"]),
            ods_row(&["<table:table-cell/>", "=3"]),
        ],
    );
    let (parts, _) = read("a.ods", &ods(&tables)).unwrap();
    let shown: Vec<Value> = parts[1..].iter().map(fields).collect();
    assert_eq!(shown, [json!({"a": "x", "b": 1}), json!({"a": "x", "b": 2}), json!({"b": 3})]);
}

#[test]
fn hidden_sheets_are_left_out() {
    let rows = xlsx_rows(&[(1, &[("A", &text("x"))])]);
    let bytes =
        xlsx(&[("name='A'", &sheet(&rows, "")), ("name='B' state='hidden'", &sheet(&rows, ""))]);
    let (parts, notices) = read("a.xlsx", &bytes).unwrap();
    assert_eq!((parts.len(), notices), (2, vec!["left out: 1 hidden sheet".to_owned()]));
    let tables = [
        ods_table("table:name='A' table:style-name='H'", &[ods_row(&["secret"])]),
        ods_table("table:name='B'", &[ods_row(&["shown"])]),
    ];
    let (parts, notices) = read("a.ods", &ods(&tables.concat())).unwrap();
    assert_eq!((parts.len(), notices), (2, vec!["left out: 1 hidden sheet".to_owned()]));
    assert_eq!(parts[1].key, "B!1");
}

#[test]
fn repetitions_are_bounded() {
    let wide = "<table:table-cell table:number-columns-repeated='1000000000' office:value-type='float' \
        office:value='1'/>";
    let tall =
        format!("<table:table-row table:number-rows-repeated='1048576'>{wide}</table:table-row>");
    let (parts, notices) = read("a.ods", &ods(&ods_table("table:name='A'", &[tall]))).unwrap();
    assert_eq!((parts.len(), parts[1].fields.len()), (1001, 1000));
    assert_eq!(notices, ["left out: 1047576 repeated rows"]);
    // Nothing far away is no table of billions of cells.
    let rows = xlsx_rows(&[(1, &[("A", "><v>1</v>")]), (1_048_576, &[("XFD", "><v>2</v>")])]);
    let (parts, notices) = read("a.xlsx", &xlsx(&[("name='S'", &sheet(&rows, ""))])).unwrap();
    assert_eq!(parts.len(), 3);
    assert_eq!(notices, ["left out: 1 cells to the right of column 1000"]);
}

#[test]
fn rows_in_disorder_are_refused() {
    let rows = xlsx_rows(&[(2, &[("A", "><v>1</v>")]), (1, &[("A", "><v>2</v>")])]);
    let failure = read("a.xlsx", &xlsx(&[("name='S'", &sheet(&rows, ""))]));
    assert!(matches!(failure, Err(ReadFailure::Malformed { .. })), "{failure:?}");
}

#[test]
fn bombs_are_stopped() {
    for (name, entry) in [("a.xlsx", "xl/sharedStrings.xml"), ("a.ods", "content.xml")] {
        let failure = read(name, &zip_bomb(entry, ENTRY_BYTES_MAX + 1));
        assert!(matches!(failure, Err(ReadFailure::TooLarge { .. })), "{name}: {failure:?}");
    }
}

#[test]
fn truncated_workbooks_fail() {
    let rows = xlsx_rows(&[(1, &[("A", &text("x"))]), (2, &[("A", &text("y"))])]);
    let whole = sheet(&rows, "<mergeCells><mergeCell ref='A1:B1'/></mergeCells>");
    let table = ods_table("table:name='B'", &[ods_row(&["shown"])]);
    for (name, bytes) in [("a.xlsx", xlsx(&[("name='S'", &whole)])), ("a.ods", ods(&table))] {
        for length in (4..bytes.len()).step_by(5) {
            let result = read(name, &bytes[..length]);
            assert!(matches!(result, Err(ReadFailure::Malformed { .. })), "{name} {length}");
        }
    }
    // Whole archives whose texts end too early.
    let end = whole.find("</sheetData>").unwrap();
    for length in 0..end {
        assert!(read("a.xlsx", &xlsx(&[("name='S'", &whole[..length])])).is_err(), "{length}");
    }
    for length in end..whole.len() {
        // Their cells are complete; whatever comes of the rest, there is an end.
        let _ = read("a.xlsx", &xlsx(&[("name='S'", &whole[..length])]));
    }
    let content = "<office:spreadsheet><table:table table:name='A'><table:table-row><table:table-cell>\
        <text:p>x</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>";
    for length in 1..content.len() {
        assert!(
            read("a.ods", &zip_of(&[("content.xml", &content[..length])])).is_err(),
            "{length}"
        );
    }
}

#[test]
fn changed_texts_never_panic() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let rows = xlsx_rows(&[
        (1, &[("A", &text("x")), ("B", "><v>7</v>")]),
        (2, &[("A", "s='1'><v>4e9</v>")]),
    ]);
    let whole = sheet(&rows, "<mergeCells><mergeCell ref='A1:B1'/></mergeCells>");
    let table = ods_table("table:name='B'", &[ods_row(&["shown", "=1"]), ods_row(&["=2"])]);
    for _ in 0..1_500 {
        let mut flip = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                bytes[at] ^= 1 << random(7);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let (changed, table) = (flip(&whole), flip(&table));
        // Whatever comes of it: no panic of ours, and an end.
        let _ = read("a.xlsx", &xlsx(&[("name='S'", &changed)]));
        let _ = read("a.ods", &ods(&table));
    }
}
