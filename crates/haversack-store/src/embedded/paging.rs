//! Pages of a set of rows, in order.
//!
//! Walking an index finds a page of a large set quickly, but walks past everything else for a small
//! set. So the walk is limited to as many steps as the set has rows; if the page is not full by
//! then, the set itself is scanned and sorted. Both ways give the same page.

use std::cmp::Reverse;

use haversack_core::ids::ItemId;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use super::row::{Bitmap, Row};
use crate::store::query::Page;

/// The least number of steps to walk: about the cost of starting the scan.
const STEPS_LEAST: usize = 64;

const ID_OF: &str = "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node WHERE i.row = ?";

/// A page of a set of rows, ordered by id.
pub(super) fn page_by_id(
    connection: &Connection,
    page: &Page,
    among: &Bitmap,
) -> rusqlite::Result<Vec<Row>> {
    let after = page.after.as_ref().map_or("", ItemId::as_str);
    let mut statement = connection.prepare_cached(
        "SELECT i.row FROM nodes n JOIN items i ON i.node = n.node WHERE n.id > ? ORDER BY n.id",
    )?;
    let mut lines = statement.query([after])?;
    let mut rows = Vec::new();
    let mut steps = steps_max(among);
    loop {
        if rows.len() >= page.limit {
            return Ok(rows);
        }
        if steps == 0 {
            break;
        }
        let Some(line) = lines.next()? else { return Ok(rows) };
        let row = Row::new(line.get(0)?);
        if among.contains(row) {
            rows.push(row);
        }
        steps -= 1;
    }
    let mut id_of = connection.prepare_cached(ID_OF)?;
    let mut found: Vec<(String, Row)> = Vec::new();
    for row in among.iter() {
        found.extend(
            id_of_row(&mut id_of, row)?.filter(|id| id.as_str() > after).map(|id| (id, row)),
        );
    }
    found.sort_unstable();
    found.truncate(page.limit);
    Ok(found.into_iter().map(|(_, row)| row).collect())
}

type TimedRow = (Reverse<i64>, String, Row);

/// A page of a set of rows, newest first and by id within one time. `after` is the time of the item
/// that the page follows.
pub(super) fn page_by_time(
    connection: &Connection,
    page: &Page,
    after: Option<i64>,
    among: &Bitmap,
) -> rusqlite::Result<Vec<Row>> {
    let mut found = match walk_index_by_time(connection, page, after, among)? {
        Some(found) => found,
        None => scan_set_by_time(connection, page, after, among)?,
    };
    found.sort_unstable();
    found.truncate(page.limit);
    Ok(found.into_iter().map(|(_, _, row)| row).collect())
}

/// Walks the index at least to the end of the page; `None` if that takes too many steps.
fn walk_index_by_time(
    connection: &Connection,
    page: &Page,
    after: Option<i64>,
    among: &Bitmap,
) -> rusqlite::Result<Option<Vec<TimedRow>>> {
    let mut statement = connection.prepare_cached(
        "SELECT row, updated FROM items WHERE updated <= ? ORDER BY updated DESC",
    )?;
    let mut id_of = connection.prepare_cached(ID_OF)?;
    let mut found: Vec<TimedRow> = Vec::new();
    let mut lines = statement.query([after.unwrap_or(i64::MAX)])?;
    let mut steps = steps_max(among);
    while let Some(line) = lines.next()? {
        let (row, updated) = (Row::new(line.get(0)?), line.get(1)?);
        // Rows of equal time are read completely before they are ordered.
        let full = found.len() >= page.limit;
        if full && found.last().is_some_and(|(last, _, _)| last.0 != updated) {
            break;
        }
        if steps == 0 {
            return Ok(None);
        }
        steps -= 1;
        if among.contains(row) {
            let id = id_of_row(&mut id_of, row)?
                .filter(|id| !is_on_previous_page(page, after, updated, id));
            found.extend(id.map(|id| (Reverse(updated), id, row)));
        }
    }
    Ok(Some(found))
}

/// Scans the set for the rows that follow the previous page.
fn scan_set_by_time(
    connection: &Connection,
    page: &Page,
    after: Option<i64>,
    among: &Bitmap,
) -> rusqlite::Result<Vec<TimedRow>> {
    let mut time_of = connection.prepare_cached("SELECT updated FROM items WHERE row = ?")?;
    let mut times: Vec<(Reverse<i64>, Row)> = Vec::new();
    for row in among.iter() {
        let updated: Option<i64> = time_of.query_row([row.get()], |line| line.get(0)).optional()?;
        let updated = updated.filter(|updated| after.is_none_or(|after| *updated <= after));
        times.extend(updated.map(|updated| (Reverse(updated), row)));
    }
    times.sort_unstable();
    let mut id_of = connection.prepare_cached(ID_OF)?;
    let mut found: Vec<TimedRow> = Vec::new();
    for (updated, row) in times {
        let full = found.len() >= page.limit;
        if full && found.last().is_some_and(|(last, _, _)| *last != updated) {
            break;
        }
        let id = id_of_row(&mut id_of, row)?
            .filter(|id| !is_on_previous_page(page, after, updated.0, id));
        found.extend(id.map(|id| (updated, id, row)));
    }
    Ok(found)
}

/// Whether an item was on the previous page.
fn is_on_previous_page(page: &Page, after: Option<i64>, updated: i64, id: &str) -> bool {
    after == Some(updated) && page.after.as_ref().is_some_and(|after| id <= after.as_str())
}

/// The item id of a row; `None` if it was purged after the set was made.
fn id_of_row(statement: &mut CachedStatement<'_>, row: Row) -> rusqlite::Result<Option<String>> {
    statement.query_row([row.get()], |line| line.get(0)).optional()
}

fn steps_max(among: &Bitmap) -> usize {
    among.len().max(STEPS_LEAST)
}
