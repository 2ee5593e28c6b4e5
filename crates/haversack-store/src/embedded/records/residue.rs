//! What removed texts have left behind in files: recorded with the removal itself, so that whoever
//! opens the workspace after a crash goes on with cleaning it up. Each node records its own.

use rusqlite::{Connection, OptionalExtension};

/// Which removals have left something behind, the least urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Residue {
    /// Versions beyond the limit of an item's history were removed.
    Trimmed,
    /// Items were purged: nothing of them may stay.
    Purged,
}

impl Residue {
    /// The number by which it is stored, 0 for nothing.
    pub(crate) const fn to_number(residue: Option<Residue>) -> u8 {
        match residue {
            None => 0,
            Some(Residue::Trimmed) => 1,
            Some(Residue::Purged) => 2,
        }
    }

    /// What a number stands for. One that a later version writes is not less urgent.
    pub(crate) const fn from_number(number: u8) -> Option<Residue> {
        match number {
            0 => None,
            1 => Some(Residue::Trimmed),
            _ => Some(Residue::Purged),
        }
    }
}

/// Records that a removal left something behind, in the transaction of the removal.
pub(crate) fn record(connection: &Connection, residue: Residue) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO settings (name, value) VALUES ('residue', ?1) \
             ON CONFLICT DO UPDATE SET value = ?1 WHERE value < ?1",
        )?
        .execute([Residue::to_number(Some(residue))])?;
    Ok(())
}

/// What removals have left behind, if anything.
pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Option<Residue>> {
    let number: Option<u8> = connection
        .prepare_cached("SELECT value FROM settings WHERE name = 'residue'")?
        .query_row([], |line| line.get(0))
        .optional()?;
    Ok(number.and_then(Residue::from_number))
}

/// Records that removals have left nothing behind.
pub(crate) fn clear(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM settings WHERE name = 'residue'", [])?;
    Ok(())
}
