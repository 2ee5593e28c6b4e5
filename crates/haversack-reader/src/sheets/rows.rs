//! Turns sheets into parts: one for the file, which describes its sheets, and one for each row.

use std::collections::BTreeMap;

use super::values::{CellValue, column_letters};
use super::{Merged, SheetName, SheetRow, Workbook};
use crate::limits::{PAGES_MAX, PARTS_MAX};
use crate::office::markdown::join_lines;
use crate::office::package::{Omissions, Properties};
use crate::part::{Part, PartSink, ReadFailure, ReadNotice};

/// Rows among which the header is looked for.
const SAMPLE_ROWS: usize = 40;

/// Columns of a sheet that are read.
const COLUMNS_MAX: u32 = 1_000;

/// Cells of a workbook that are read.
const CELLS_MAX: usize = 20_000_000;

/// Merged cells of a sheet that are filled.
const MERGED_MAX: usize = 5_000;

/// Characters of a title that comes from a cell.
const TITLE_MAX: usize = 120;

/// Columns that the description of a sheet names.
const NAMED_COLUMNS_MAX: usize = 200;

/// The columns that hold the text of a row, rather than a field.
const BODY_COLUMNS: [&str; 3] = ["text", "body", "content"];

/// What is known about a sheet before its rows are given.
#[derive(Debug, Default)]
struct SheetPlan {
    name: String,
    index: usize,
    /// The lines above the header.
    titles: Vec<String>,
    /// The last row of the header; 0 when there is none.
    header_row: u32,
    /// The first row with data.
    first_row: u32,
    names: BTreeMap<u32, String>,
    rows: u64,
    merged: Vec<Merged>,
    cut_columns: u64,
}

/// Gives all parts of a workbook.
pub(super) fn give_workbook(
    workbook: &mut dyn Workbook,
    properties: &Properties,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let sheets = workbook.sheets();
    if sheets.len() > PAGES_MAX {
        return Err(ReadFailure::too_large("sheets", PAGES_MAX as u64));
    }
    let (mut plans, mut notices, mut omissions) = (Vec::new(), Vec::new(), Omissions::default());
    let (mut cells, mut rows) = (0, 0);
    for (index, SheetName { name, is_hidden }) in sheets.into_iter().enumerate() {
        if is_hidden {
            omissions.add("hidden sheet", "hidden sheets", 1);
            continue;
        }
        let mut notice = |what: String| {
            notices.push(ReadNotice::new(what).at(format!("sheet {name}")));
        };
        match plan_sheet(workbook, index, &name, &mut (&mut cells, &mut rows), &mut notice) {
            Ok(plan) => plans.push(plan),
            Err(ReadFailure::Malformed { what }) => {
                notice(format!("the sheet cannot be read and is left out: {what}"));
            }
            Err(failure) => return Err(failure),
        }
    }
    if plans.is_empty() && !notices.is_empty() {
        let what = notices.swap_remove(0).what;
        return Err(ReadFailure::malformed(what));
    }
    let description: Vec<String> = plans.iter().map(SheetPlan::describe).collect();
    let mut part = Part::of_file(&join_lines(&properties.title), description.join("\n"));
    properties.apply(&mut part);
    sink.part(part)?;
    for notice in notices {
        sink.notice(notice)?;
    }
    omissions.report(sink)?;
    let (mut position, mut done) = (0, 0);
    for plan in &plans {
        give_rows(workbook, plan, &mut position, sink)?;
        done += plan.rows;
        sink.progress(done, rows)?;
    }
    Ok(())
}

/// Reads a sheet once, to find its header and to count its rows. The counts go on over all sheets.
fn plan_sheet(
    workbook: &mut dyn Workbook,
    index: usize,
    name: &str,
    (cells, all_rows): &mut (&mut usize, &mut u64),
    notice: &mut dyn FnMut(String),
) -> Result<SheetPlan, ReadFailure> {
    let mut merged = workbook.merged(index)?;
    if merged.len() > MERGED_MAX {
        notice(format!("only the first {MERGED_MAX} of {} merged cells are filled", merged.len()));
        merged.truncate(MERGED_MAX);
    }
    let mut plan = SheetPlan { name: name.to_owned(), index, merged, ..SheetPlan::default() };
    let (mut sample, mut last, mut is_cut) = (Vec::new(), 0, false);
    let mut numbers = Vec::new();
    let findings = workbook.read(index, &mut |row: SheetRow| {
        if row.number <= last {
            return Err(ReadFailure::malformed(format!("row {} comes after {last}", row.number)));
        }
        last = row.number;
        let kept = row.cells.iter().filter(|(column, _)| *column < COLUMNS_MAX).count();
        plan.cut_columns += (row.cells.len() - kept) as u64;
        **cells += kept;
        if **cells > CELLS_MAX || **all_rows + plan.rows + 2 > PARTS_MAX as u64 {
            is_cut = true;
            return Ok(false);
        }
        plan.rows += 1;
        if sample.len() < SAMPLE_ROWS {
            numbers.push(row.number);
            sample.push(row);
        }
        Ok(true)
    })?;
    plan.find_header(&sample);
    let above = numbers.iter().filter(|number| **number < plan.first_row).count();
    plan.rows = plan.rows.saturating_sub(above as u64);
    **all_rows += plan.rows;
    if is_cut {
        notice(format!("only the first {} rows are read; split the workbook", plan.rows));
    }
    if plan.cut_columns > 0 {
        let cut = plan.cut_columns;
        notice(format!("left out: {cut} cells to the right of column {COLUMNS_MAX}"));
    }
    if findings.unsaved_formulas > 0 {
        let count = findings.unsaved_formulas;
        notice(format!(
            "{count} formulas have no saved value and are empty; open and save the file"
        ));
    }
    if findings.errors > 0 {
        notice(format!("{} cells with errors are empty", findings.errors));
    }
    if findings.repeated_rows > 0 {
        notice(format!("left out: {} repeated rows", findings.repeated_rows));
    }
    Ok(plan)
}

impl SheetPlan {
    /// Finds the header among the first rows: the first row that names most columns.
    fn find_header(&mut self, sample: &[SheetRow]) {
        let width = sample.iter().map(|row| row.cells.len()).max().unwrap_or_default();
        let mut header = None;
        self.first_row = sample.first().map_or(1, |row| row.number);
        for (index, row) in sample.iter().enumerate() {
            let has_rows = index + 1 < sample.len();
            let is_wide = row.cells.len() * 2 >= width;
            if has_rows && width > 1 && (row.cells.len() < 2 || !is_wide) {
                continue;
            }
            if has_rows && is_header(row) {
                header = Some(index);
            }
            break;
        }
        let last_title = match header {
            Some(index) => index,
            // Without a header, only single cells above the table are titles.
            None => sample.iter().position(|row| row.cells.len() * 2 >= width.max(2)).unwrap_or(0),
        };
        let titles = sample.iter().take(last_title).filter(|_| width > 1);
        self.titles = titles
            .map(|row| {
                let cells = row.cells.iter().map(|(_, value)| value.show());
                cells.collect::<Vec<_>>().join(" ")
            })
            .collect();
        let Some(index) = header else {
            if let Some(row) = sample.get(last_title).filter(|_| width > 1) {
                self.first_row = row.number;
            }
            return;
        };
        let mut names = header_names(&sample[index]);
        let mut last = index;
        let upper = self.spread_names(&sample[index]);
        if let Some(below) = sample.get(index + 1).filter(|_| !upper.is_empty())
            && index + 2 < sample.len()
            && below.cells.iter().all(|(_, value)| value.is_text())
        {
            last += 1;
            for (column, value) in header_names(below) {
                let name = match upper.get(&column) {
                    Some(upper) => format!("{upper} {value}"),
                    None => value,
                };
                names.insert(column, name);
            }
        }
        self.header_row = sample[last].number;
        self.first_row = self.header_row.saturating_add(1);
        for (column, name) in names {
            let is_taken = self.names.values().any(|taken| *taken == name);
            let name = if is_taken { format!("{name} {}", column + 1) } else { name };
            self.names.insert(column, name);
        }
    }

    /// The names of a row whose cells span columns, for each of these columns.
    fn spread_names(&self, row: &SheetRow) -> BTreeMap<u32, String> {
        let mut spread = BTreeMap::new();
        for merged in &self.merged {
            let is_here = merged.rows.0 + 1 == row.number && merged.columns.1 > merged.columns.0;
            let cell = row.cells.iter().find(|(column, _)| *column == merged.columns.0);
            if let Some((_, value)) = cell.filter(|_| is_here) {
                let last = merged.columns.1.min(COLUMNS_MAX);
                spread.extend((merged.columns.0..=last).map(|column| (column, value.show())));
            }
        }
        spread
    }

    fn column_name(&self, column: u32) -> String {
        let named = self.names.get(&column).cloned();
        named.unwrap_or_else(|| format!("column {}", column_letters(column)))
    }

    /// What the part of the file says about the sheet.
    fn describe(&self) -> String {
        let mut text = format!("## {}\n", join_lines(&self.name));
        for title in self.titles.iter().map(|title| join_lines(title)) {
            text.push_str(&format!("\n{title}\n"));
        }
        let rows = if self.rows == 1 { "row" } else { "rows" };
        text.push_str(&format!("\n{} {rows}", self.rows));
        if self.header_row > 0 {
            text.push_str(&format!(" under the header in row {}", self.header_row));
            let names: Vec<_> = self.names.values().map(|name| join_lines(name)).collect();
            let shown = names.len().min(NAMED_COLUMNS_MAX);
            text.push_str(&format!(". Columns: {}", names[..shown].join(", ")));
            if names.len() > shown {
                text.push_str(&format!(" and {} more", names.len() - shown));
            }
        } else if self.rows > 0 {
            text.push_str(" without a header");
        }
        text.push_str(".\n");
        text
    }
}

fn is_header(row: &SheetRow) -> bool {
    let (texts, others): (Vec<_>, Vec<_>) = row.cells.iter().partition(|(_, cell)| cell.is_text());
    let is_short = texts.iter().all(|(_, value)| value.show().len() <= 2 * TITLE_MAX);
    let starts_right = texts.is_empty() && row.cells.iter().all(|(column, _)| *column > 0);
    let has_names = !texts.is_empty() || starts_right;
    has_names && is_short && others.iter().all(|(_, value)| value.is_period())
}

fn header_names(row: &SheetRow) -> BTreeMap<u32, String> {
    let cells = row.cells.iter().filter(|(column, _)| *column < COLUMNS_MAX);
    cells.map(|(column, value)| (*column, join_lines(&value.show()))).collect()
}

fn give_rows(
    workbook: &mut dyn Workbook,
    plan: &SheetPlan,
    position: &mut i64,
    sink: &mut PartSink<'_>,
) -> Result<(), ReadFailure> {
    let mut filled: BTreeMap<usize, CellValue> = BTreeMap::new();
    let mut tall: Vec<(usize, &Merged)> =
        plan.merged.iter().filter(|merged| merged.rows.1 > merged.rows.0).enumerate().collect();
    tall.sort_by_key(|(index, merged)| (merged.rows.0, *index));
    let (mut next, mut open) = (0, Vec::new());
    let mut left = plan.rows;
    workbook.read(plan.index, &mut |mut row: SheetRow| {
        if row.number < plan.first_row {
            return Ok(true);
        }
        if left == 0 {
            return Ok(false);
        }
        left -= 1;
        while let Some((index, merged)) = tall.get(next).filter(|(_, m)| m.rows.0 < row.number) {
            open.push((*index, *merged));
            next += 1;
        }
        open.retain(|(_, merged)| merged.rows.1 + 1 >= row.number);
        fill_merged(&mut row, &open, &mut filled);
        row.cells.retain(|(column, _)| *column < COLUMNS_MAX);
        let mut part = row_part(plan, &row);
        part.position = *position;
        *position += 1;
        sink.part(part)?;
        Ok(true)
    })?;
    Ok(())
}

/// Gives a row the values of cells that reach into it from above: a record must say what it is
/// about.
fn fill_merged(
    row: &mut SheetRow,
    open: &[(usize, &Merged)],
    filled: &mut BTreeMap<usize, CellValue>,
) {
    for (index, merged) in open {
        let column = merged.columns.0;
        let own = row.cells.iter().find(|(at, _)| *at == column).map(|(_, value)| value.clone());
        match own {
            Some(value) if merged.rows.0 + 1 == row.number => {
                filled.insert(*index, value);
            }
            Some(_) => {}
            None => {
                if let Some(value) = filled.get(index) {
                    let at = row.cells.partition_point(|(at, _)| *at < column);
                    row.cells.insert(at, (column, value.clone()));
                }
            }
        }
    }
}

fn row_part(plan: &SheetPlan, row: &SheetRow) -> Part {
    let mut part = Part {
        key: format!("{}!{}", plan.name, row.number),
        parent: Some(String::new()),
        kind: "row".to_owned(),
        ..Part::default()
    };
    let (mut lines, mut text) = (String::new(), None);
    let mut first_text = None;
    for (column, value) in &row.cells {
        let name = plan.column_name(*column);
        let lower = name.to_lowercase();
        if lower == "title" && part.title.is_empty() {
            part.title = join_lines(&value.show());
            continue;
        }
        if text.is_none() && BODY_COLUMNS.contains(&lower.as_str()) {
            text = Some(value.show());
            continue;
        }
        if first_text.is_none() && value.is_text() {
            first_text = Some(join_lines(&value.show()));
        }
        lines.push_str(&format!("{name}: {}\n", value.show()));
        part.fields.insert(name, value.to_json());
    }
    if part.title.is_empty() {
        part.title = match first_text {
            Some(text) => text.chars().take(TITLE_MAX).collect(),
            None => format!("{}, row {}", plan.name, row.number),
        };
    }
    part.body = text.unwrap_or(lines);
    part
}
