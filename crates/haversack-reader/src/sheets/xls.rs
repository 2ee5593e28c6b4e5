//! Reads XLS, the format before XLSX.

use std::io::Cursor;

use calamine::{Reader, SheetVisible, Xls, XlsError};

use super::rows::give_workbook;
use super::values::FoundValue;
use super::{Findings, Merged, RowSink, SheetName, SheetRow, Workbook, guard};
use crate::office::ole::is_encrypted;
use crate::office::package::Properties;
use crate::part::{PartSink, ReadFailure};
use crate::source::SourceFile;

/// Reads a file as a workbook.
pub(crate) fn read_xls(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let bytes = source.read_all()?;
    if is_encrypted(&bytes) {
        return Err(ReadFailure::Encrypted);
    }
    guard(|| {
        let workbook = Xls::new(Cursor::new(bytes)).map_err(|error| failure(&error))?;
        give_workbook(&mut XlsWorkbook { workbook }, &Properties::default(), sink)
    })
}

fn failure(error: &XlsError) -> ReadFailure {
    match error {
        XlsError::Password => ReadFailure::Encrypted,
        error => ReadFailure::malformed(error.to_string()),
    }
}

struct XlsWorkbook {
    workbook: Xls<Cursor<Vec<u8>>>,
}

impl XlsWorkbook {
    fn name(&self, sheet: usize) -> String {
        self.sheets().into_iter().nth(sheet).map(|sheet| sheet.name).unwrap_or_default()
    }
}

impl Workbook for XlsWorkbook {
    fn sheets(&self) -> Vec<SheetName> {
        let sheets = self.workbook.sheets_metadata().iter();
        let visible = SheetVisible::Visible;
        sheets
            .map(|sheet| SheetName {
                name: sheet.name.clone(),
                is_hidden: sheet.visible != visible,
            })
            .collect()
    }

    fn merged(&mut self, sheet: usize) -> Result<Vec<Merged>, ReadFailure> {
        let merged = self.workbook.merge_cells_by_sheet_name(&self.name(sheet));
        Ok(merged.unwrap_or_default().iter().map(Merged::of).collect())
    }

    fn read(&mut self, sheet: usize, take: &mut RowSink<'_>) -> Result<Findings, ReadFailure> {
        let name = self.name(sheet);
        let mut findings = Findings::default();
        let range = self.workbook.worksheet_range(&name).map_err(|error| failure(&error))?;
        let Some((first_row, first_column)) = range.start() else { return Ok(findings) };
        for (cells, number) in range.rows().zip(first_row.saturating_add(1)..) {
            let mut row = SheetRow { number, cells: Vec::new() };
            for (cell, column) in cells.iter().zip(first_column..) {
                match FoundValue::from(cell) {
                    FoundValue::Value(value) => row.cells.push((column, value)),
                    FoundValue::Error => findings.errors += 1,
                    FoundValue::Empty => {}
                }
            }
            if !row.cells.is_empty() && !take(row)? {
                break;
            }
        }
        Ok(findings)
    }
}
