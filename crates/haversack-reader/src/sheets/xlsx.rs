//! Reads XLSX row by row, without holding a sheet in memory.

use calamine::{Reader, SheetType, SheetVisible, Xlsx, XlsxError};

use super::rows::give_workbook;
use super::values::FoundValue;
use super::{Findings, Merged, RowSink, SheetName, SheetRow, Workbook, guard};
use crate::archive::BoundedArchive;
use crate::office::ole::refuse_ole;
use crate::office::package::{Properties, Relationships};
use crate::part::{PartSink, ReadFailure};
use crate::source::{ReadSeek, SourceFile};

/// Reads a file as a workbook.
pub(crate) fn read_xlsx(
    source: &mut SourceFile<'_>,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    refuse_ole(source)?;
    let properties = check(source)?;
    guard(|| {
        let workbook = Xlsx::new(source.rewound()?).map_err(|error| failure(&error))?;
        give_workbook(&mut XlsxWorkbook { workbook }, &properties, sink)
    })
}

/// Decompresses everything once with limits, since the parser has none.
fn check(source: &mut SourceFile<'_>) -> Result<Properties, ReadFailure> {
    let mut archive = BoundedArchive::open(source)?;
    let package = Relationships::read(&mut archive, "")?;
    let properties = Properties::of_office(&mut archive, &package)?;
    for name in archive.names() {
        let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        if matches!(ending.as_str(), "xml" | "rels" | "vml") {
            archive.check_entry(&name)?;
        }
    }
    Ok(properties)
}

fn failure(error: &XlsxError) -> ReadFailure {
    match error {
        XlsxError::Password => ReadFailure::Encrypted,
        error => ReadFailure::malformed(error.to_string()),
    }
}

struct XlsxWorkbook<'f> {
    workbook: Xlsx<&'f mut dyn ReadSeek>,
}

impl XlsxWorkbook<'_> {
    fn name(&self, sheet: usize) -> String {
        self.sheets().into_iter().nth(sheet).map(|sheet| sheet.name).unwrap_or_default()
    }
}

impl Workbook for XlsxWorkbook<'_> {
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
        let name = self.name(sheet);
        let merged = self.workbook.merge_cells_by_sheet_name(&name);
        let merged = merged.unwrap_or_default();
        Ok(merged.iter().map(Merged::of).collect())
    }

    fn read(&mut self, sheet: usize, take: &mut RowSink<'_>) -> Result<Findings, ReadFailure> {
        let name = self.name(sheet);
        let mut findings = Findings::default();
        // A sheet that is only a chart has no cells.
        let kind = self.workbook.sheets_metadata().get(sheet).map(|sheet| sheet.typ);
        if kind != Some(SheetType::WorkSheet) {
            return Ok(findings);
        }
        let cells = self.workbook.worksheet_cells_reader(&name);
        let mut cells = cells.map_err(|error| failure(&error))?;
        let mut row = SheetRow::default();
        while let Some(cell) =
            cells.next_cell_with_formula_metadata().map_err(|error| failure(&error))?
        {
            let number = cell.pos.0.saturating_add(1);
            if number != row.number {
                let done = std::mem::replace(&mut row, SheetRow { number, cells: Vec::new() });
                if !done.cells.is_empty() && !take(done)? {
                    return Ok(findings);
                }
            }
            match FoundValue::from(cell.value) {
                FoundValue::Value(value) => row.cells.push((cell.pos.1, value)),
                FoundValue::Error => findings.errors += 1,
                FoundValue::Empty => {
                    findings.unsaved_formulas += u64::from(cell.formula.is_some());
                }
            }
        }
        if !row.cells.is_empty() {
            take(row)?;
        }
        Ok(findings)
    }
}

impl Merged {
    pub(super) const fn of(dimensions: &calamine::Dimensions) -> Merged {
        Merged {
            rows: (dimensions.start.0, dimensions.end.0),
            columns: (dimensions.start.1, dimensions.end.1),
        }
    }
}
