//! The tables that all replicas of a workspace have in common, and the rows of them that a transaction
//! changes, recorded by triggers on the writer's connection.
//!
//! An entry of the journal holds the rows as they are after the transaction. So whatever decided about
//! them (a clock, the snapshots of one node, a number that SQLite chose, an older version of this
//! program) is decided once, by whoever wrote, and is the same everywhere.

use rusqlite::Connection;

use super::bytes::{BadEntry, EntryReader, EntryWriter};

/// A table that replicas share.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The columns that identify a row.
    pub(super) key: &'static [&'static str],
    /// Large columns that hardly ever change: an update of others does not repeat them.
    constant: &'static [&'static str],
    /// Rows that belong to the node, not to the workspace.
    except: Option<&'static str>,
}

const fn table(name: &'static str, key: &'static [&'static str]) -> Table {
    Table { name, key, constant: &[], except: None }
}

/// The tables, parents before children.
pub(super) const TABLES: [Table; 16] = [
    table("commits", &["revision"]),
    // Derived columns are made anew by each version of the program, on each node, and each cleans up
    // its own files.
    Table { except: Some("name IN ('features', 'residue')"), ..table("settings", &["name"]) },
    table("models", &["model"]),
    table("nodes", &["node"]),
    table("lists", &["list"]),
    Table { constant: &["title", "fields", "body", "text"], ..table("items", &["row"]) },
    Table { constant: &["features"], ..table("chunks", &["row", "chunk"]) },
    table("embeddings", &["embedding"]),
    table("links", &["source", "sort", "target", "born"]),
    table("events", &["event"]),
    table("usage", &["node", "user", "happening"]),
    table("records", &["shelf", "name"]),
    table("facts", &["rowid"]),
    table("seals", &["row"]),
    table("trims", &["node"]),
    table("write_keys", &["number"]),
];

/// The most columns of a key.
const KEY_COLUMNS_MAX: usize = 4;

/// What an entry says of a row: it is gone, it is this, or these columns of it are.
const GONE: u8 = 0;
const WHOLE: u8 = 1;
const PARTLY: u8 = 2;

/// A table with its columns in this store.
#[derive(Debug)]
struct Columns {
    table: &'static Table,
    names: Vec<String>,
}

impl Columns {
    fn read(connection: &Connection, table: &'static Table) -> rusqlite::Result<Columns> {
        let mut statement =
            connection.prepare("SELECT name FROM pragma_table_info(?) ORDER BY cid")?;
        let names = statement.query_map([table.name], |line| line.get::<_, String>(0))?;
        let mut names = names.collect::<rusqlite::Result<Vec<_>>>()?;
        names.retain(|name| !table.key.contains(&name.as_str()));
        Ok(Columns { table, names })
    }

    fn is_constant(&self, column: &str) -> bool {
        self.table.constant.contains(&column)
    }
}

/// Records which rows the transactions of a connection change.
#[derive(Debug)]
pub(crate) struct Capture {
    tables: Vec<Columns>,
}

impl Capture {
    /// Puts triggers on a connection. Other connections are not affected, and nothing is stored.
    pub(crate) fn install(connection: &Connection) -> rusqlite::Result<Capture> {
        // Rows that `INSERT OR REPLACE` removes are recorded, too.
        connection.execute_batch(
            "PRAGMA recursive_triggers = ON;
             CREATE TEMP TABLE changed (
               tab INTEGER NOT NULL, a NOT NULL, b NOT NULL, c NOT NULL, d NOT NULL,
               whole INTEGER NOT NULL, PRIMARY KEY (tab, a, b, c, d)
             ) WITHOUT ROWID;",
        )?;
        let mut tables = Vec::with_capacity(TABLES.len());
        for (number, table) in TABLES.iter().enumerate() {
            connection.execute_batch(&triggers(number, table))?;
            tables.push(Columns::read(connection, table)?);
        }
        Ok(Capture { tables })
    }

    /// Whether a row was changed since the last [`Capture::clear`].
    pub(crate) fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
        Ok(!connection.prepare_cached("SELECT 1 FROM temp.changed LIMIT 1")?.exists([])?)
    }

    /// Forgets the recorded rows.
    pub(crate) fn clear(connection: &Connection) -> rusqlite::Result<()> {
        connection.prepare_cached("DELETE FROM temp.changed")?.execute([]).map(drop)
    }

    /// Writes the recorded rows as they are now.
    pub(super) fn write(
        &self,
        connection: &Connection,
        out: &mut EntryWriter,
    ) -> rusqlite::Result<()> {
        out.count(self.tables.len());
        for (number, columns) in self.tables.iter().enumerate() {
            let source = format!(
                "FROM temp.changed c LEFT JOIN main.{} t ON {} WHERE c.tab = {number} \
                 ORDER BY c.a, c.b, c.c, c.d",
                columns.table.name,
                joined(columns.table.key, " AND ", |column, nth| {
                    format!("t.{column} = c.{}", KEY_NAMES[nth])
                }),
            );
            let keys = joined(columns.table.key, ", ", |_, nth| format!("c.{}", KEY_NAMES[nth]));
            let values: Vec<String> = columns
                .names
                .iter()
                .map(|name| match columns.is_constant(name) {
                    true => format!("CASE WHEN c.whole THEN t.{name} END"),
                    false => format!("t.{name}"),
                })
                .collect();
            let sql = format!(
                "SELECT t.{} IS NOT NULL, c.whole, {keys}, {} {source}",
                columns.table.key[0],
                values.join(", ")
            );
            write_rows(connection, columns, &sql, out)?;
        }
        Ok(())
    }

    /// Writes all rows of all tables, for the first entry of a workspace.
    pub(super) fn write_all(
        &self,
        connection: &Connection,
        out: &mut EntryWriter,
    ) -> rusqlite::Result<()> {
        out.count(self.tables.len());
        for columns in &self.tables {
            let keys = columns.table.key.join(", ");
            let condition =
                columns.table.except.map_or("1".to_owned(), |except| format!("NOT ({except})"));
            let sql = format!(
                "SELECT 1, 1, {keys}, {} FROM main.{} WHERE {condition} ORDER BY {keys}",
                columns.names.join(", "),
                columns.table.name,
            );
            write_rows(connection, columns, &sql, out)?;
        }
        Ok(())
    }
}

const KEY_NAMES: [&str; KEY_COLUMNS_MAX] = ["a", "b", "c", "d"];

fn joined(names: &[&str], between: &str, part: impl Fn(&str, usize) -> String) -> String {
    names.iter().zip(0..).map(|(name, nth)| part(name, nth)).collect::<Vec<_>>().join(between)
}

/// The statements that record the changed rows of a table.
fn triggers(number: usize, table: &Table) -> String {
    let name = table.name;
    let record = |row: &str, whole: bool| {
        let mut key: Vec<String> =
            table.key.iter().map(|column| format!("{row}.{column}")).collect();
        key.resize(KEY_COLUMNS_MAX, "''".to_owned());
        let again = if whole { "UPDATE SET whole = 1" } else { "NOTHING" };
        format!(
            "INSERT INTO changed VALUES ({number}, {}, {}) \
             ON CONFLICT (tab, a, b, c, d) DO {again};",
            key.join(", "),
            u8::from(whole)
        )
    };
    let when = |row: &str| match table.except {
        Some(except) => format!("WHEN NOT ({row}.{except})"),
        None => String::new(),
    };
    let mut sql = format!(
        "CREATE TEMP TRIGGER changed_insert_{name} AFTER INSERT ON main.{name} {} BEGIN {} END;
         CREATE TEMP TRIGGER changed_update_{name} AFTER UPDATE ON main.{name} {} BEGIN {} END;
         CREATE TEMP TRIGGER changed_delete_{name} AFTER DELETE ON main.{name} {} BEGIN {} END;",
        when("NEW"),
        record("NEW", true),
        when("NEW"),
        record("NEW", false),
        when("OLD"),
        record("OLD", true),
    );
    let rekeyed: Vec<&str> =
        table.key.iter().copied().filter(|column| *column != "rowid").collect();
    if !rekeyed.is_empty() {
        sql.push_str(&format!(
            "CREATE TEMP TRIGGER changed_key_{name} AFTER UPDATE OF {} ON main.{name} {} \
             BEGIN {} {} END;",
            rekeyed.join(", "),
            when("OLD"),
            record("OLD", true),
            record("NEW", true),
        ));
    }
    if !table.constant.is_empty() {
        sql.push_str(&format!(
            "CREATE TEMP TRIGGER changed_constant_{name} AFTER UPDATE OF {} ON main.{name} \
             BEGIN {} END;",
            table.constant.join(", "),
            record("NEW", true),
        ));
    }
    sql
}

/// Writes the rows of a query: whether they are there, whether all columns follow, key, columns.
fn write_rows(
    connection: &Connection,
    columns: &Columns,
    sql: &str,
    out: &mut EntryWriter,
) -> rusqlite::Result<()> {
    let (table, n_keys) = (columns.table, columns.table.key.len());
    out.bytes(table.name.as_bytes());
    out.count(columns.names.len());
    for name in &columns.names {
        out.bytes(name.as_bytes());
        out.u8(u8::from(columns.is_constant(name)));
    }
    let counted = out.reserve_count();
    let mut n_rows = 0;
    let mut statement = connection.prepare_cached(sql)?;
    let mut lines = statement.query([])?;
    while let Some(line) = lines.next()? {
        let (is_there, whole): (bool, bool) = (line.get(0)?, line.get(1)?);
        out.u8(match (is_there, whole) {
            (false, _) => GONE,
            (true, true) => WHOLE,
            (true, false) => PARTLY,
        });
        for nth in 0..n_keys {
            out.value(line.get_ref(2 + nth)?);
        }
        if is_there {
            for (nth, name) in columns.names.iter().enumerate() {
                if whole || !columns.is_constant(name) {
                    out.value(line.get_ref(2 + n_keys + nth)?);
                }
            }
        }
        n_rows += 1;
    }
    out.set_count(counted, n_rows);
    Ok(())
}

/// Why the rows of an entry cannot be written.
#[derive(Debug)]
pub(crate) enum ApplyError {
    /// They cannot be read, or do not fit this replica.
    Bad(BadEntry),
    /// SQLite failed.
    Sqlite(rusqlite::Error),
}

impl From<BadEntry> for ApplyError {
    fn from(error: BadEntry) -> ApplyError {
        ApplyError::Bad(error)
    }
}

impl From<rusqlite::Error> for ApplyError {
    fn from(error: rusqlite::Error) -> ApplyError {
        ApplyError::Sqlite(error)
    }
}

/// Makes the rows of an entry those of this store, in the caller's transaction.
pub(super) fn apply(connection: &Connection, body: EntryReader<'_>) -> Result<(), ApplyError> {
    // A row may come before the one that it refers to.
    connection.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    // What is gone makes room for what is new: names are unique.
    for pass in [true, false] {
        let mut body = body;
        for _ in 0..body.u32()? {
            apply_table(connection, &mut body, pass)?;
        }
    }
    Ok(())
}

fn apply_table(
    connection: &Connection,
    body: &mut EntryReader<'_>,
    removes: bool,
) -> Result<(), ApplyError> {
    let name = body.text()?;
    let Some(table) = TABLES.iter().find(|table| table.name == name) else {
        return Err(BadEntry(format!("an entry has rows of the unknown table {name:?}")).into());
    };
    let known = Columns::read(connection, table)?;
    let columns = body.list(|body| Ok((body.text()?, body.u8()? != 0)))?;
    if let Some((unknown, _)) =
        columns.iter().find(|(name, _)| !known.names.iter().any(|n| n == name))
    {
        let what =
            format!("an entry has the unknown column {unknown:?} of {name}: use a newer version");
        return Err(BadEntry(what).into());
    }
    let statements = Statements::new(table, &columns);
    for _ in 0..body.u32()? {
        let kind = body.u8()?;
        let mut values = Vec::with_capacity(columns.len() + table.key.len());
        for _ in table.key {
            values.push(body.value()?);
        }
        for (_, is_constant) in &columns {
            if kind == WHOLE || (kind == PARTLY && !is_constant) {
                values.push(body.value()?);
            }
        }
        let (sql, must_change) = match kind {
            GONE if removes => (&statements.delete, false),
            WHOLE if !removes => (&statements.upsert, true),
            PARTLY if !removes => (&statements.update, true),
            GONE | WHOLE | PARTLY => continue,
            other => return Err(BadEntry(format!("an entry has a row of sort {other}")).into()),
        };
        let changed =
            connection.prepare_cached(sql)?.execute(rusqlite::params_from_iter(values.iter()))?;
        if must_change && changed != 1 {
            return Err(
                BadEntry(format!("a row of {name} that an entry changes is missing")).into()
            );
        }
    }
    Ok(())
}

/// The statements that bring rows into a table.
struct Statements {
    delete: String,
    upsert: String,
    update: String,
}

impl Statements {
    fn new(table: &Table, columns: &[(&str, bool)]) -> Statements {
        let name = table.name;
        let n_keys = table.key.len();
        let is_key = joined(table.key, " AND ", |column, nth| format!("{column} = ?{}", nth + 1));
        let all: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let varying: Vec<&str> =
            columns.iter().filter(|(_, constant)| !constant).map(|(name, _)| *name).collect();
        let places: Vec<String> = (1..=n_keys + all.len()).map(|nth| format!("?{nth}")).collect();
        let keys = table.key.join(", ");
        let upsert = format!(
            "INSERT INTO main.{name} ({keys}, {}) VALUES ({}) ON CONFLICT ({keys}) DO UPDATE SET {}",
            all.join(", "),
            places.join(", "),
            joined(&all, ", ", |column, _| format!("{column} = excluded.{column}")),
        );
        let update = format!(
            "UPDATE main.{name} SET {} WHERE {is_key}",
            joined(&varying, ", ", |column, nth| format!("{column} = ?{}", n_keys + nth + 1)),
        );
        Statements { delete: format!("DELETE FROM main.{name} WHERE {is_key}"), upsert, update }
    }
}
