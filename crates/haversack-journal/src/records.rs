//! What all nodes share beside the journals: small documents, and the lines of their audit logs.

use haversack_store::store::journal::{JournalError, SharedRecord};
use tokio_postgres::types::Type;

use crate::Core;
use crate::connection::{Session, to_i64, to_u64};
use crate::failure::Failure;

impl Core {
    pub(crate) async fn shared_version(&self) -> Result<u64, JournalError> {
        let statement = "SELECT version FROM {s}.shared_versions WHERE name = 'records'";
        let rows = self.database.read(statement, &[]).await?;
        let Some(row) = rows.first() else {
            let what = "the version of the shared records".to_owned();
            return Err(JournalError::Damaged { what });
        };
        to_u64(row.try_get(0).map_err(Failure::from)?)
    }

    pub(crate) async fn shared_records(
        &self,
        kind: &str,
    ) -> Result<Vec<SharedRecord>, JournalError> {
        // By bytes, whatever the collation of the database.
        let statement = "SELECT name, body FROM {s}.shared_records WHERE kind = $1";
        let rows = self.database.read(statement, &[(&kind, Type::TEXT)]).await?;
        let mut records = Vec::with_capacity(rows.len());
        for row in rows {
            let name = row.try_get(0).map_err(Failure::from)?;
            let body = row.try_get(1).map_err(Failure::from)?;
            records.push(SharedRecord { name, body });
        }
        records.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(records)
    }

    pub(crate) async fn put_shared_record(
        &self,
        kind: &str,
        record: &SharedRecord,
        is_new: bool,
    ) -> Result<bool, JournalError> {
        let conflict = if is_new { "DO NOTHING" } else { "DO UPDATE SET body = excluded.body" };
        let statement = self.database.sql(&format!(
            "INSERT INTO {{s}}.shared_records (kind, name, body) VALUES ($1, $2, $3) \
             ON CONFLICT (kind, name) {conflict}"
        ));
        let limit = self.database.limit_for(record.body.len());
        let mut session = self.database.begin(limit).await?;
        let parameters = [
            (&kind as _, Type::TEXT),
            (&record.name as _, Type::TEXT),
            (&record.body as _, Type::BYTEA),
        ];
        let written = session.execute(&statement, &parameters, limit).await?;
        self.end_change(session, written > 0).await
    }

    pub(crate) async fn remove_shared_record(
        &self,
        kind: &str,
        name: &str,
    ) -> Result<bool, JournalError> {
        let limit = self.database.settings().statement;
        let mut session = self.database.begin(limit).await?;
        let statement =
            self.database.sql("DELETE FROM {s}.shared_records WHERE kind = $1 AND name = $2");
        let parameters = [(&kind as _, Type::TEXT), (&name as _, Type::TEXT)];
        let removed = session.execute(&statement, &parameters, limit).await?;
        self.end_change(session, removed > 0).await
    }

    /// Ends a transaction, with another version if it changed a shared record.
    async fn end_change(
        &self,
        mut session: Session,
        is_changed: bool,
    ) -> Result<bool, JournalError> {
        let limit = self.database.settings().statement;
        if !is_changed {
            session.rollback().await;
            return Ok(false);
        }
        let statement = self
            .database
            .sql("UPDATE {s}.shared_versions SET version = version + 1 WHERE name = 'records'");
        session.execute(&statement, &[], limit).await?;
        session.commit(limit).await?;
        Ok(true)
    }

    pub(crate) async fn append_audit(
        &self,
        node: &str,
        lines: &[(u64, String)],
    ) -> Result<(), JournalError> {
        if lines.is_empty() {
            return Ok(());
        }
        let numbers = lines.iter().map(|(number, _)| to_i64(*number));
        let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
        let texts: Vec<&str> = lines.iter().map(|(_, line)| line.as_str()).collect();
        let limit = self.database.limit_for(texts.iter().map(|text| text.len()).sum());
        let statement = self.database.sql(
            "INSERT INTO {s}.audit_lines (node, number, line) \
             SELECT $1, number, line FROM unnest($2::bigint[], $3::text[]) AS t (number, line) \
             ON CONFLICT (node, number) DO NOTHING",
        );
        let parameters = [
            (&node as _, Type::TEXT),
            (&numbers as _, Type::INT8_ARRAY),
            (&texts as _, Type::TEXT_ARRAY),
        ];
        let mut session = self.database.begin(limit).await?;
        session.execute(&statement, &parameters, limit).await?;
        session.commit(limit).await
    }

    pub(crate) async fn audit_lines(
        &self,
        node: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, String)>, JournalError> {
        let after = to_i64(after)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let statement = "SELECT number, line FROM {s}.audit_lines \
                         WHERE node = $1 AND number > $2 ORDER BY number LIMIT $3";
        let parameters =
            [(&node as _, Type::TEXT), (&after as _, Type::INT8), (&limit as _, Type::INT8)];
        let rows = self.database.read(statement, &parameters).await?;
        let line = |row: tokio_postgres::Row| -> Result<(u64, String), JournalError> {
            let number = to_u64(row.try_get(0).map_err(Failure::from)?)?;
            Ok((number, row.try_get(1).map_err(Failure::from)?))
        };
        rows.into_iter().map(line).collect()
    }

    pub(crate) async fn audit_nodes(&self) -> Result<Vec<String>, JournalError> {
        let statement = "SELECT DISTINCT node FROM {s}.audit_lines";
        self.names(statement).await
    }

    /// The names in the first column, in the order of their bytes.
    pub(crate) async fn names(&self, statement: &str) -> Result<Vec<String>, JournalError> {
        let rows = self.database.read(statement, &[]).await?;
        let names = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>();
        let mut names = names.map_err(Failure::from)?;
        names.sort_unstable();
        Ok(names)
    }
}
