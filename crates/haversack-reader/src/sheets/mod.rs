//! Spreadsheets: XLSX, XLS and ODS. Each row becomes a part with a field for each column.

mod ods;
mod rows;
#[cfg(test)]
mod tests;
mod values;
mod xls;
mod xlsx;

pub(crate) use ods::read_ods;
pub(crate) use xls::read_xls;
pub(crate) use xlsx::read_xlsx;

use crate::office::ole::{OLE_MAGIC, has_name};
use crate::office::{has_form, has_mimetype};
use crate::part::ReadFailure;
use crate::source::FileHead;
use crate::table::Reader;

use self::values::CellValue;

/// The reader of XLSX.
pub(crate) const XLSX_READER: Reader = Reader {
    name: "XLSX",
    extensions: XLSX,
    recognises: is_xlsx,
    is_isolated: true,
    read: read_xlsx,
};

/// The reader of XLS.
pub(crate) const XLS_READER: Reader =
    Reader { name: "XLS", extensions: XLS, recognises: is_xls, is_isolated: true, read: read_xls };

/// The reader of ODS.
pub(crate) const ODS_READER: Reader =
    Reader { name: "ODS", extensions: ODS, recognises: is_ods, is_isolated: true, read: read_ods };

/// The extensions of XLSX.
pub(crate) const XLSX: &[&str] = &["xlsx", "xlsm", "xltx", "xltm"];
/// The extensions of XLS.
pub(crate) const XLS: &[&str] = &["xls", "xlt"];
/// The extensions of ODS.
pub(crate) const ODS: &[&str] = &["ods", "ots"];

fn is_xlsx(head: &FileHead) -> bool {
    has_form(head, XLSX) || head.has_entry("xl/workbook.xml")
}

fn is_xls(head: &FileHead) -> bool {
    let is_named = XLS.contains(&head.extension()) || has_name(&head.bytes, "Workbook");
    is_named && head.bytes.starts_with(OLE_MAGIC)
}

fn is_ods(head: &FileHead) -> bool {
    has_form(head, ODS) || has_mimetype(head, "application/vnd.oasis.opendocument.spreadsheet")
}

/// A sheet of a workbook.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SheetName {
    name: String,
    is_hidden: bool,
}

/// A row with the cells that are not empty, by column from 0.
#[derive(Debug, Clone, Default, PartialEq)]
struct SheetRow {
    /// Its number, from 1.
    number: u32,
    cells: Vec<(u32, CellValue)>,
}

/// A range of merged cells: rows and columns from 0, ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Merged {
    rows: (u32, u32),
    columns: (u32, u32),
}

/// What was found in a sheet beside its rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Findings {
    /// Formulas whose value was not saved.
    unsaved_formulas: u64,
    /// Cells with an error in place of a value.
    errors: u64,
    /// Rows that a repetition promises but that are not given.
    repeated_rows: u64,
}

/// Receives rows, ordered by number. Returns whether it wants more.
type RowSink<'r> = dyn FnMut(SheetRow) -> Result<bool, ReadFailure> + 'r;

/// A workbook whose sheets can be read, more than once.
trait Workbook {
    /// The sheets in their order.
    fn sheets(&self) -> Vec<SheetName>;

    /// The merged cells of a sheet, by its index. Empty when the rows have them filled already.
    fn merged(&mut self, sheet: usize) -> Result<Vec<Merged>, ReadFailure>;

    /// Reads a sheet by its index.
    fn read(&mut self, sheet: usize, take: &mut RowSink<'_>) -> Result<Findings, ReadFailure>;
}

/// Runs a parser that is not ours. What it panics at is a malformed file.
fn guard(read: impl FnOnce() -> Result<(), ReadFailure>) -> Result<(), ReadFailure> {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(read));
    result.unwrap_or_else(|_| Err(ReadFailure::malformed("the workbook; open it and save it anew")))
}
