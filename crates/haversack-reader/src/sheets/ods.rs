//! Reads ODS as a stream of XML events: repeated cells and rows are counted before they are given.

use std::collections::BTreeMap;

use super::rows::give_workbook;
use super::values::{CellValue, trim_time};
use super::{Findings, Merged, RowSink, SheetName, SheetRow, Workbook};
use crate::office::odf::OdfFiles;
use crate::part::{PartSink, ReadFailure};
use crate::source::SourceFile;
use crate::xml::{XmlElement, XmlEvent, XmlReader};

/// How often a cell with a value is repeated to the right.
const CELL_REPEATS_MAX: i64 = 1_000;

/// How often a row with values is repeated below.
const ROW_REPEATS_MAX: i64 = 1_000;

/// Reads a file as a workbook.
pub(crate) fn read_ods(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let files = OdfFiles::open(source)?;
    let mut workbook = OdsWorkbook { sheets: Vec::new(), files: &files };
    let mut reader = XmlReader::new("content.xml", &files.content);
    while let Some(element) = next_table(&mut reader)? {
        let style = element.attribute("style-name").unwrap_or_default();
        let name = element.attribute("name").unwrap_or_default();
        let is_hidden = files.styles.is_hidden_table(&style);
        workbook.sheets.push(SheetName { name, is_hidden });
        reader.skip_element()?;
    }
    give_workbook(&mut workbook, &files.properties, sink)
}

/// The next table. What stands before it is skipped.
fn next_table<'x>(reader: &mut XmlReader<'x>) -> Result<Option<XmlElement<'x>>, ReadFailure> {
    while let Some(event) = reader.next()? {
        let XmlEvent::Start(element) = event else { continue };
        match element.name() {
            "table" => return Ok(Some(element)),
            "tracked-changes"
            | "automatic-styles"
            | "content-validations"
            | "named-expressions"
            | "database-ranges"
            | "scripts"
            | "font-face-decls" => reader.skip_element()?,
            _ => {}
        }
    }
    Ok(None)
}

struct OdsWorkbook<'f> {
    sheets: Vec<SheetName>,
    files: &'f OdfFiles,
}

impl Workbook for OdsWorkbook<'_> {
    fn sheets(&self) -> Vec<SheetName> {
        self.sheets.clone()
    }

    /// Rows come with the values of merged cells already.
    fn merged(&mut self, _: usize) -> Result<Vec<Merged>, ReadFailure> {
        Ok(Vec::new())
    }

    fn read(&mut self, sheet: usize, take: &mut RowSink<'_>) -> Result<Findings, ReadFailure> {
        let mut reader = XmlReader::new("content.xml", &self.files.content);
        for _ in 0..sheet {
            if next_table(&mut reader)?.is_some() {
                reader.skip_element()?;
            }
        }
        let mut table = TableReader::default();
        if next_table(&mut reader)?.is_some() {
            table.read(&mut reader, take)?;
        }
        Ok(table.findings)
    }
}

#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "what is known about a cell by and by")]
struct OpenCell {
    value: Option<CellValue>,
    text: String,
    has_paragraph: bool,
    is_text: bool,
    is_error: bool,
    has_formula: bool,
    is_covered: bool,
    repeats: i64,
    rows_spanned: i64,
}

#[derive(Debug, Default)]
struct TableReader {
    findings: Findings,
    row: SheetRow,
    row_repeats: i64,
    column: u32,
    cell: Option<OpenCell>,
    /// Cells that reach into the rows below: by column, the rows that are left and the value.
    spans: BTreeMap<u32, (i64, CellValue)>,
}

impl TableReader {
    fn read(
        &mut self,
        reader: &mut XmlReader<'_>,
        take: &mut RowSink<'_>,
    ) -> Result<(), ReadFailure> {
        self.row.number = 1;
        while let Some(event) = reader.next()? {
            match event {
                XmlEvent::Start(element) => match element.name() {
                    "table-row" => {
                        let repeats = element.number("number-rows-repeated").unwrap_or(1);
                        (self.row_repeats, self.column) = (repeats.max(1), 0);
                    }
                    "table-cell" | "covered-table-cell" => self.cell = Some(OpenCell::of(&element)),
                    // Comments, drawings and tables in cells are no values.
                    "annotation" | "shapes" | "forms" | "table" | "frame" | "custom-shape"
                    | "table-source" | "detective" => reader.skip_element()?,
                    name => {
                        if let Some(cell) = &mut self.cell {
                            cell.start(name);
                        }
                    }
                },
                XmlEvent::Text(text) => {
                    if let Some(cell) = self.cell.as_mut().filter(|cell| cell.has_paragraph) {
                        cell.text.push_str(&text);
                    }
                }
                XmlEvent::End(name) => match name.as_str() {
                    "table-cell" | "covered-table-cell" => self.end_cell(),
                    "table-row" if self.end_row(take)? => {}
                    "table-row" | "table" => return Ok(()),
                    _ => {}
                },
            }
        }
        Ok(())
    }

    fn end_cell(&mut self) {
        let Some(cell) = self.cell.take() else { return };
        let repeats = u32::try_from(cell.repeats).unwrap_or(u32::MAX);
        let (is_covered, rows_spanned) = (cell.is_covered, cell.rows_spanned);
        self.findings.errors += u64::from(cell.is_error);
        let has_formula = cell.has_formula && !cell.is_error;
        let mut value = cell.finish();
        self.findings.unsaved_formulas += u64::from(has_formula && value.is_none());
        if let (Some(value), true) = (&value, rows_spanned > 1) {
            self.spans.insert(self.column, (rows_spanned - 1, value.clone()));
        } else if let Some((left, above)) =
            self.spans.get_mut(&self.column).filter(|(left, _)| is_covered && *left > 0)
        {
            *left -= 1;
            value = value.or_else(|| Some(above.clone()));
        }
        let Some(value) = value else {
            self.column = self.column.saturating_add(repeats);
            return;
        };
        let shown = repeats.min(u32::try_from(CELL_REPEATS_MAX).unwrap_or(1));
        for column in self.column..self.column.saturating_add(shown) {
            self.row.cells.push((column, value.clone()));
        }
        self.column = self.column.saturating_add(repeats);
    }

    /// Gives the row. Returns whether more are wanted.
    fn end_row(&mut self, take: &mut RowSink<'_>) -> Result<bool, ReadFailure> {
        let cells = std::mem::take(&mut self.row.cells);
        let repeats = self.row_repeats;
        let first = self.row.number;
        let after = i64::from(first).saturating_add(repeats);
        self.row.number = u32::try_from(after).unwrap_or(u32::MAX);
        if cells.is_empty() {
            return Ok(true);
        }
        let shown = repeats.min(ROW_REPEATS_MAX);
        self.findings.repeated_rows += u64::try_from(repeats - shown).unwrap_or_default();
        for number in (first..).take(usize::try_from(shown).unwrap_or(1)) {
            if !take(SheetRow { number, cells: cells.clone() })? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl OpenCell {
    fn of(element: &XmlElement<'_>) -> OpenCell {
        let value = |name: &str| element.attribute(name);
        let kind = value("value-type").unwrap_or_default();
        let found = match kind.as_str() {
            "float" | "percentage" | "currency" => {
                let number = value("value").and_then(|number| number.trim().parse().ok());
                number.map(CellValue::Number)
            }
            "boolean" => value("boolean-value").map(|flag| CellValue::Flag(flag == "true")),
            "date" => value("date-value").map(|date| CellValue::Time(trim_time(&date))),
            "time" => value("time-value").map(|time| CellValue::Time(show_duration(&time))),
            _ => value("string-value").filter(|text| !text.is_empty()).map(CellValue::Text),
        };
        // LibreOffice writes the truth values of other programs as formulas.
        let found = match value("formula").as_deref() {
            Some("of:=TRUE()") => Some(CellValue::Flag(true)),
            Some("of:=FALSE()") => Some(CellValue::Flag(false)),
            _ => found,
        };
        OpenCell {
            is_text: found.is_none() && matches!(kind.as_str(), "string" | ""),
            value: found,
            is_error: element.prefixed_value("calcext", "value-type").as_deref() == Some("error"),
            has_formula: value("formula").is_some(),
            is_covered: element.name() == "covered-table-cell",
            repeats: element.number("number-columns-repeated").unwrap_or(1).max(1),
            rows_spanned: element.number("number-rows-spanned").unwrap_or(1),
            ..OpenCell::default()
        }
    }

    fn start(&mut self, name: &str) {
        match name {
            "p" => {
                if self.has_paragraph {
                    self.text.push('\n');
                }
                self.has_paragraph = true;
            }
            "line-break" => self.text.push('\n'),
            "s" | "tab" => self.text.push(' '),
            _ => {}
        }
    }

    fn finish(self) -> Option<CellValue> {
        if self.is_error {
            return None;
        }
        let text = self.text.trim();
        let text = (self.is_text && !text.is_empty()).then(|| CellValue::Text(text.to_owned()));
        self.value.or(text)
    }
}

/// A duration such as `PT09H30M00S` as a time of day, which is what people enter.
fn show_duration(time: &str) -> String {
    let show = || {
        let (hours, rest) = time.strip_prefix("PT")?.split_once('H')?;
        let (minutes, rest) = rest.split_once('M')?;
        let seconds = rest.strip_suffix('S')?.split('.').next()?;
        let number = |text: &str| text.parse::<u32>().ok();
        Some(format!("{:02}:{:02}:{:02}", number(hours)?, number(minutes)?, number(seconds)?))
    };
    show().unwrap_or_else(|| time.to_owned())
}
