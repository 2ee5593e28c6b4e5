//! The tables and their migrations, which the owner runs: once, under a lock, forwards only.

use haversack_store::store::journal::JournalError;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;

use crate::connection::{Database, Parameter, connect_client};
use crate::failure::{Failure, refused, unavailable};
use crate::settings::JournalSettings;

/// The statements of each migration; the format is their number.
const MIGRATIONS: [&str; 1] = [TABLES];

/// How often a migration is tried that another one runs into.
const TRIES: usize = 5;

const TABLES: &str = "
CREATE TABLE {s}.workspaces (
  workspace text NOT NULL,
  generation bytea NOT NULL,
  head bigint NOT NULL,
  last_id bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (workspace)
);
CREATE TABLE {s}.entries (
  workspace text NOT NULL,
  generation bytea NOT NULL,
  position bigint NOT NULL,
  id bytea NOT NULL,
  bytes bigint NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (workspace, generation, position),
  UNIQUE (workspace, generation, id)
);
CREATE TABLE {s}.snapshots (
  workspace text NOT NULL,
  generation bytea NOT NULL,
  snapshot bytea NOT NULL,
  position bigint NOT NULL,
  last_id bytea NOT NULL,
  parts bigint NOT NULL,
  made_at timestamptz,
  PRIMARY KEY (workspace, generation, snapshot)
);
CREATE TABLE {s}.snapshot_parts (
  workspace text NOT NULL,
  generation bytea NOT NULL,
  snapshot bytea NOT NULL,
  part bigint NOT NULL,
  bytes bigint NOT NULL,
  hash bytea NOT NULL,
  object text,
  body bytea,
  PRIMARY KEY (workspace, generation, snapshot, part)
);
CREATE TABLE {s}.snapshot_claims (
  workspace text NOT NULL,
  snapshot bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (workspace)
);
CREATE TABLE {s}.shared_records (
  kind text NOT NULL,
  name text NOT NULL,
  body bytea NOT NULL,
  PRIMARY KEY (kind, name)
);
CREATE TABLE {s}.shared_versions (
  name text NOT NULL,
  version bigint NOT NULL,
  PRIMARY KEY (name)
);
INSERT INTO {s}.shared_versions (name, version) VALUES ('records', 0);
CREATE TABLE {s}.audit_lines (
  node text NOT NULL,
  number bigint NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (node, number)
);
";

/// The newest format known here.
fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).expect("a handful")
}

/// Refuses tables of another format than this version's.
pub(crate) async fn check_format(
    client: &Client,
    settings: &JournalSettings,
) -> Result<(), JournalError> {
    let found = match tokio::time::timeout(settings.statement, format(client, settings)).await {
        Ok(found) => found?,
        Err(_) => return Err(Failure::Timeout(settings.statement).into()),
    };
    match found {
        Some(found) if found == known() => Ok(()),
        Some(found) if found > known() => Err(JournalError::Newer { found, known: known() }),
        Some(found) => {
            let cause = format!("its format is {found}, and this version needs {}", known());
            Err(JournalError::NotReady { cause: cause.into() })
        }
        None => Err(JournalError::NotReady { cause: "it has no format yet".into() }),
    }
}

async fn format(client: &Client, settings: &JournalSettings) -> Result<Option<u32>, Failure> {
    let statement = format!("SELECT value FROM {}.meta WHERE name = $1", settings.schema);
    let row = client.query_typed_opt(&statement, &[(&"format", Type::TEXT)]).await?;
    let Some(row) = row else { return Ok(None) };
    let value: i64 = row.try_get(0)?;
    let value = u32::try_from(value);
    value.map(Some).map_err(|_| refused("its format is not a number".to_owned()).into())
}

/// Creates or migrates the tables, and lets a role use them.
pub(crate) async fn init(database: &Database, role: Option<&str>) -> Result<(), JournalError> {
    let client = connect_client(database.settings()).await?;
    let mut tries = 1;
    loop {
        match migrate(&client, database, role).await {
            Ok(()) => return Ok(()),
            Err(failure) => {
                // What another one creates at the same moment is a conflict.
                let is_conflict = tries < TRIES && is_conflict(&failure);
                if is_conflict {
                    tries += 1;
                    client.batch_execute("ROLLBACK").await.map_err(Failure::from)?;
                    continue;
                }
                return Err(failure.into());
            }
        }
    }
}

fn is_conflict(failure: &Failure) -> bool {
    let Failure::Postgres(error) = failure else { return false };
    let conflicts = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}

async fn migrate(client: &Client, database: &Database, role: Option<&str>) -> Result<(), Failure> {
    let settings = database.settings();
    client.batch_execute(&database.begin_statement(settings.removal, settings.removal)).await?;
    let schema: [Parameter<'_>; 1] = [(&settings.schema, Type::TEXT)];
    let names = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1";
    // Who may use a schema that is there need not be able to create one.
    if client.query_typed(names, &schema).await?.is_empty() {
        client.batch_execute(&database.sql("CREATE SCHEMA {s}")).await?;
    }
    client
        .batch_execute(&database.sql(
            "CREATE TABLE IF NOT EXISTS {s}.meta (name text PRIMARY KEY, value bigint NOT NULL); \
             INSERT INTO {s}.meta (name, value) VALUES ('format', 0) ON CONFLICT (name) DO NOTHING; \
             SELECT value FROM {s}.meta WHERE name = 'format' FOR UPDATE",
        ))
        .await?;
    let found = format(client, settings).await?.unwrap_or(0);
    if found > known() {
        return Err(JournalError::Newer { found, known: known() }.into());
    }
    for migration in MIGRATIONS.iter().skip(found as usize) {
        client.batch_execute(&database.sql(migration)).await?;
    }
    let value = i64::from(known());
    let set = database.sql("UPDATE {s}.meta SET value = $1 WHERE name = 'format'");
    client.execute_typed(&set, &[(&value, Type::INT8)]).await?;
    if let Some(role) = role {
        client.batch_execute(&grants(database, role)).await?;
    }
    client.batch_execute("COMMIT").await?;
    if client.is_closed() {
        return Err(unavailable("the connection was lost".to_owned()).into());
    }
    Ok(())
}

/// What a node needs: rows, and of the format and the audit log not even all of that.
fn grants(database: &Database, role: &str) -> String {
    let role = format!("\"{}\"", role.replace('"', "\"\""));
    let rows = [
        "workspaces",
        "entries",
        "snapshots",
        "snapshot_parts",
        "snapshot_claims",
        "shared_records",
        "shared_versions",
    ]
    .map(|table| format!("{{s}}.{table}"))
    .join(", ");
    database.sql(&format!(
        "GRANT USAGE ON SCHEMA {{s}} TO {role}; GRANT SELECT ON {{s}}.meta TO {role}; \
         GRANT SELECT, INSERT ON {{s}}.audit_lines TO {role}; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON {rows} TO {role}"
    ))
}
