//! Checks the tables against each other: what one says, the others must not contradict.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use super::storage;
use crate::store::error::ReadError;

/// The findings of one statement that are listed.
const FINDINGS_MAX: usize = 100;

/// What must not be found: a description, and a statement that returns what it is about.
const CONTRADICTIONS: [(&str, &str); 15] = [
    // The list that counts is that of the nearest item above with one of its own.
    (
        "item {}: its readers do not fit its parent's",
        "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node
         LEFT JOIN items p ON p.node = i.parent AND p.died IS NULL
         WHERE i.died IS NULL AND i.list <> coalesce(i.readers, p.list, 0)",
    ),
    (
        "item {}: its parent is missing",
        "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node
         LEFT JOIN items p ON p.node = i.parent AND p.died IS NULL
         WHERE i.died IS NULL AND i.parent IS NOT NULL AND p.row IS NULL",
    ),
    (
        "item {}: two versions are present",
        "SELECT n.id FROM items i JOIN nodes n ON n.node = i.node
         WHERE i.died IS NULL GROUP BY i.node HAVING count(*) > 1",
    ),
    (
        "row {}: its list of readers is missing",
        "SELECT row FROM items WHERE (list <> 0 AND list NOT IN (SELECT list FROM lists))
         OR (readers <> 0 AND readers NOT IN (SELECT list FROM lists))",
    ),
    (
        "row {}: the commit that made or ended it is missing",
        "SELECT row FROM items WHERE born NOT IN (SELECT revision FROM commits)
         OR (died IS NOT NULL AND died NOT IN (SELECT revision FROM commits))",
    ),
    ("row {}: it ended before it was made", "SELECT row FROM items WHERE died < born"),
    (
        "row {}: its number is above the last that was given",
        "SELECT row FROM items
         WHERE row > coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'items'), 0)",
    ),
    ("row {}: it has no chunk", "SELECT row FROM items WHERE row NOT IN (SELECT row FROM chunks)"),
    (
        "row {}: a chunk of it is missing or numbered twice",
        "SELECT row FROM chunks GROUP BY row HAVING count(*) <> max(chunk) + 1 OR min(chunk) <> 0",
    ),
    (
        "row {}: a chunk lies outside its text",
        "SELECT k.row FROM chunks k JOIN items i ON i.row = k.row
         WHERE k.start > k.stop OR k.stop > octet_length(coalesce(i.text, i.body))",
    ),
    ("row {}: it has no seal", "SELECT row FROM items WHERE row NOT IN (SELECT row FROM seals)"),
    (
        "seal {}: its row is missing",
        "SELECT row FROM seals WHERE row NOT IN (SELECT row FROM items)",
    ),
    (
        "link {}: the commit that made or ended it is missing",
        "SELECT s.id || ' ' || l.sort || ' ' || t.id FROM links l
         JOIN nodes s ON s.node = l.source JOIN nodes t ON t.node = l.target
         WHERE l.born NOT IN (SELECT revision FROM commits)
         OR (l.died IS NOT NULL AND l.died NOT IN (SELECT revision FROM commits))",
    ),
    (
        "usage of {}: it is less than its events",
        "SELECT n.id FROM (SELECT node, user, happening, count(*) AS count, max(at) AS last
           FROM events GROUP BY node, user, happening) e
         JOIN nodes n ON n.node = e.node
         LEFT JOIN usage u ON u.node = e.node AND u.user = e.user AND u.happening = e.happening
         WHERE u.count IS NULL OR u.count < e.count OR u.last < e.last",
    ),
    (
        "setting {}: it names no model",
        "SELECT name FROM settings
         WHERE name = 'model' AND value NOT IN (SELECT model FROM models)",
    ),
];

/// Checks what SQLite can check of the file, and what the tables say of each other. Without a model
/// its vectors are not missed.
pub(crate) fn check(connection: &Connection, model: Option<i64>) -> Result<Vec<String>, ReadError> {
    let mut findings = Vec::new();
    let structure = "PRAGMA integrity_check(100)";
    let reference = "SELECT \"table\" || ' ' || coalesce(rowid, '') FROM pragma_foreign_key_check";
    for (what, sql) in [("{}", structure), ("{}: what it refers to is missing", reference)]
        .into_iter()
        .chain(CONTRADICTIONS)
    {
        let found = find(connection, sql, params![]);
        note(&mut findings, what, found)?;
    }
    if let Some(model) = model {
        let sql = "SELECT row FROM chunks k WHERE NOT EXISTS
             (SELECT 1 FROM embeddings e WHERE e.hash = k.hash AND e.model = ?)";
        let found = find(connection, sql, params![model]);
        note(&mut findings, "row {}: a chunk has no vector", found)?;
    }
    Ok(findings)
}

/// Adds what a statement found. Damage that it met is a finding, too.
fn note(
    findings: &mut Vec<String>,
    what: &str,
    found: Result<Vec<String>, ReadError>,
) -> Result<(), ReadError> {
    match found {
        Ok(found) => findings.extend(found.iter().map(|found| what.replace("{}", found))),
        Err(ReadError::Damaged { what }) => {
            let finding = format!("{what} is damaged");
            if !findings.contains(&finding) {
                findings.push(finding);
            }
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

fn find(
    connection: &Connection,
    sql: &str,
    values: &[&dyn rusqlite::ToSql],
) -> Result<Vec<String>, ReadError> {
    let find = || -> rusqlite::Result<Vec<String>> {
        let mut statement = connection.prepare(sql)?;
        let mut lines = statement.query(values)?;
        let mut found = Vec::new();
        while found.len() < FINDINGS_MAX
            && let Some(line) = lines.next()?
        {
            match line.get_ref(0)? {
                ValueRef::Integer(number) => found.push(number.to_string()),
                // SQLite's own check answers so when it finds nothing.
                ValueRef::Text(b"ok") => {}
                other => found.push(other.as_str()?.to_owned()),
            }
        }
        Ok(found)
    };
    find().map_err(storage)
}
