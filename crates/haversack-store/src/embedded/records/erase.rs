//! Erasing a user: what only they can read is purged, and their name leaves everything else.
//!
//! It follows from the tables alone, so that every replica that writes the batch does the same.

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_core::query::FieldRole;
use rusqlite::{Connection, params};

use super::lines::{COLUMNS, TABLES, VersionRow, parse_principals, principals_text};
use super::residue::{self, Residue};
use super::write::{BatchWriter, WriteError, WriteResult};
use crate::embedded::seals;
use crate::kinds::{FactValue, author_facts};
use crate::prepare::item_hash;
use crate::store::error::{ChangeProblem, CommitError};
use crate::store::item::Item;
use crate::store::maintenance::UserItems;
use crate::store::viewer::{Principal, Viewer};

/// A reader list with its number.
type NumberedList = (u32, BTreeSet<Principal>);

/// The reader lists that name a user, by number.
fn lists_with(connection: &Connection, user: &Principal) -> rusqlite::Result<Vec<NumberedList>> {
    let mut statement =
        connection.prepare_cached("SELECT list, principals FROM lists ORDER BY list")?;
    let mut found = Vec::new();
    let mut lines = statement.query([])?;
    while let Some(line) = lines.next()? {
        // A list that does not read back is damage, which `check` reports. It names nobody.
        let principals = parse_principals(line.get_ref(1)?.as_str()?);
        if let Some(principals) = principals.filter(|principals| principals.contains(user)) {
            found.push((line.get(0)?, principals));
        }
    }
    Ok(found)
}

/// The nodes that nobody but a user can read, deleted ones included.
fn private_nodes(
    connection: &Connection,
    name: &str,
    lists: &[NumberedList],
) -> rusqlite::Result<BTreeSet<i64>> {
    let mut nodes = BTreeSet::new();
    let mut add = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<()> {
        let mut statement = connection.prepare_cached(sql)?;
        for node in statement.query_map(values, |line| line.get(0))? {
            nodes.insert(node?);
        }
        Ok(())
    };
    for (list, principals) in lists {
        if principals.len() == 1 {
            add("SELECT DISTINCT node FROM items WHERE list = ?", &[list])?;
        }
    }
    // What its creator closed to everyone, themselves included.
    add(
        "SELECT DISTINCT i.node FROM items i JOIN nodes n ON n.node = i.node \
         JOIN lists l ON l.list = i.list WHERE n.owner = ? AND l.principals = '[]'",
        &[&name],
    )?;
    Ok(nodes)
}

/// The items that erasing a user would remove, and those that it would keep without their name.
pub(crate) fn user_items(connection: &Connection, name: &str) -> rusqlite::Result<UserItems> {
    let Ok(user) = Principal::user(name) else { return Ok(UserItems::default()) };
    let private = private_nodes(connection, name, &lists_with(connection, &user)?)?;
    let mut items = UserItems::default();
    let mut statement = connection.prepare_cached("SELECT id FROM nodes WHERE node = ?")?;
    let mut id = |node: i64| -> rusqlite::Result<Option<ItemId>> {
        let id: String = statement.query_row([node], |line| line.get(0))?;
        Ok(ItemId::new(&id).ok())
    };
    for node in &private {
        items.erased.extend(id(*node)?);
    }
    let mut statement = connection.prepare_cached(
        "SELECT node FROM nodes WHERE owner = ?1 UNION SELECT node FROM items WHERE author = ?1",
    )?;
    for node in statement.query_map([name], |line| line.get(0))? {
        let node = node?;
        if !private.contains(&node) {
            items.kept.extend(id(node)?);
        }
    }
    Ok(items)
}

impl BatchWriter<'_> {
    /// Erases a user.
    pub(super) fn erase_user(&mut self, change: usize, name: &str) -> WriteResult<()> {
        let refuse = |message: String| {
            let problem = ChangeProblem { change, item: None, message };
            Err(WriteError::Refused(CommitError::Invalid(vec![problem])))
        };
        if self.prepared.batch.rights != Viewer::owner() {
            return refuse("only the owner of the data erases a user".to_owned());
        }
        let user = match Principal::user(name) {
            Ok(user) => user,
            Err(error) => return refuse(format!("user: {error}")),
        };
        let lists = lists_with(self.connection, &user)?;
        let private = private_nodes(self.connection, name, &lists)?;
        let changed = self.rows_to_rewrite(name, &lists, &private)?;
        for node in &private {
            // Others' items below it that others can read have readers of their own.
            self.connection
                .prepare_cached("UPDATE items SET parent = NULL WHERE parent = ?")?
                .execute([node])?;
        }
        for node in &private {
            self.purge_node(*node)?;
            self.committed.deleted += 1;
        }
        self.remove_from_lists(&user, &lists)?;
        self.remove_name(name)?;
        self.rewrite_rows(&changed)?;
        self.lineage.clear();
        self.readable.clear();
        residue::record(self.connection, Residue::Purged)?;
        self.delta.residue = Some(Residue::Purged);
        self.delta.rewritten = true;
        Ok(())
    }

    /// The rows whose content changes and that stay, each with whether its hash covers when it was
    /// updated: an item may have been given without that.
    fn rows_to_rewrite(
        &self,
        name: &str,
        lists: &[NumberedList],
        private: &BTreeSet<i64>,
    ) -> WriteResult<BTreeMap<u32, bool>> {
        let mut rows = BTreeMap::new();
        let mut add = |condition: &str, value: &dyn rusqlite::ToSql| -> rusqlite::Result<()> {
            let sql = format!("SELECT {COLUMNS}, i.body, i.node FROM {TABLES} WHERE {condition}");
            let mut statement = self.connection.prepare_cached(&sql)?;
            let mut lines = statement.query([value])?;
            while let Some(line) = lines.next()? {
                let node: i64 = line.get(super::lines::COLUMNS_COUNT + 1)?;
                // `check` reports damaged rows; they stay what they are.
                if let Ok(version) = VersionRow::read(line)?
                    && !private.contains(&node)
                {
                    let is_dated = item_hash(&version.item) == version.hash;
                    rows.insert(version.row.get(), is_dated);
                }
            }
            Ok(())
        };
        add("i.author = ?", &name)?;
        for (list, _) in lists {
            add("i.readers = ?", list)?;
        }
        for node in private {
            add("i.parent = ?", node)?;
        }
        Ok(rows)
    }

    /// Takes a user from reader lists. A list that is the same as another then becomes that one.
    fn remove_from_lists(&mut self, user: &Principal, lists: &[NumberedList]) -> WriteResult<()> {
        for (list, principals) in lists {
            let mut principals = principals.clone();
            principals.remove(user);
            let text = principals_text(&principals);
            // Everyone is no list of its own.
            let is_everyone = principals.len() == 1 && principals.contains(&Principal::everyone());
            let others = "SELECT 1 FROM lists WHERE principals = ?";
            let is_known =
                is_everyone || self.connection.prepare_cached(others)?.exists([&text])?;
            if !is_known {
                self.connection
                    .prepare_cached("UPDATE lists SET principals = ? WHERE list = ?")?
                    .execute(params![text, list])?;
                continue;
            }
            let same = self.list_number(&principals)?;
            for sql in [
                "UPDATE items SET list = ?1 WHERE list = ?2",
                "UPDATE items SET readers = ?1 WHERE readers = ?2",
            ] {
                self.connection.prepare_cached(sql)?.execute([same, *list])?;
            }
            self.connection.prepare_cached("DELETE FROM lists WHERE list = ?")?.execute([list])?;
        }
        Ok(())
    }

    /// Removes a user's name, and what only says what they did.
    fn remove_name(&self, name: &str) -> WriteResult<()> {
        let by = self.connection.prepare_cached(
            "DELETE FROM facts WHERE role = ?1 AND text = ?2 \
             AND row IN (SELECT row FROM items WHERE author = ?3)",
        );
        let mut delete_fact = by?;
        for fact in author_facts(name) {
            if let FactValue::Text(text) = fact.value {
                delete_fact.execute(params![FieldRole::Author.as_str(), text, name])?;
            }
        }
        for sql in [
            "UPDATE nodes SET owner = NULL WHERE owner = ?1",
            "UPDATE items SET author = NULL WHERE author = ?1",
            "UPDATE commits SET author = NULL WHERE author = ?1",
            "DELETE FROM events WHERE user = ?1",
            "DELETE FROM usage WHERE user = ?1",
            // A scope names a credential, which may name the user.
            "DELETE FROM write_keys WHERE instr(' ' || replace(scope, ':', ' ') || ' ', \
             ' ' || replace(?1, ':', ' ') || ' ') > 0",
        ] {
            self.connection.prepare_cached(sql)?.execute([name])?;
        }
        Ok(())
    }

    /// Writes the hashes and seals of rows that were changed in place.
    fn rewrite_rows(&self, rows: &BTreeMap<u32, bool>) -> WriteResult<()> {
        let sql = format!("SELECT {COLUMNS}, i.body FROM {TABLES} WHERE i.row = ?");
        let mut read = self.connection.prepare_cached(&sql)?;
        let mut write =
            self.connection.prepare_cached("UPDATE items SET hash = ? WHERE row = ?")?;
        for (row, is_dated) in rows {
            let mut lines = read.query([row])?;
            let Some(line) = lines.next()? else { continue };
            let Ok(version) = VersionRow::read(line)? else { continue };
            let updated = version.item.updated.unwrap_or(version.committed);
            let seal = seals::version_seal(&version.item, updated, version.author.as_deref());
            let given = match is_dated {
                true => version.item,
                false => Item { updated: None, ..version.item },
            };
            write.execute(params![item_hash(&given), row])?;
            seals::write_seal(self.connection, *row, seal)?;
        }
        Ok(())
    }
}
