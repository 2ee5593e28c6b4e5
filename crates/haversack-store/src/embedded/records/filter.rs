//! Filters as SQL: the rows that pass, regardless of permissions.

use haversack_core::item::Kind;
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

use super::schema::reference_expression;
use super::storage;
use crate::embedded::row::{Bitmap, Row};
use crate::store::error::ReadError;
use crate::store::query::{FIELDS_MAX, FactFilter, Filter, KINDS_MAX, VALUES_MAX};

/// Checks that a filter fits into one statement.
pub(crate) fn check_limits(filter: &Filter) -> Result<(), ReadError> {
    let bound = |what: &str, found: usize, most: usize| {
        let over = || format!("{found} are over the limit of {most}");
        if found <= most { Ok(()) } else { Err(ReadError::invalid(what, over())) }
    };
    bound("filter.kinds", filter.kinds.len(), KINDS_MAX)?;
    bound("filter.fields", filter.fields.len(), FIELDS_MAX)?;
    bound("filter.facts", filter.facts.len(), FIELDS_MAX)?;
    for fact in &filter.facts {
        if let FactFilter::OneOf(role, texts) = fact {
            bound(&format!("filter.facts.{}", role.as_str()), texts.len(), VALUES_MAX)?;
        }
    }
    for (name, values) in &filter.fields {
        bound(&format!("filter.fields.{name}"), values.len(), VALUES_MAX)?;
    }
    Ok(())
}

/// A statement under construction.
#[derive(Debug, Default)]
struct FilterStatement {
    /// The row source, if an index provides it.
    source: Option<String>,
    conditions: Vec<String>,
    values: Vec<SqlValue>,
}

impl FilterStatement {
    /// Binds a value and returns its placeholder.
    fn bind(&mut self, value: impl Into<SqlValue>) -> String {
        self.values.push(value.into());
        format!("?{}", self.values.len())
    }

    fn bind_all<V: Into<SqlValue>>(&mut self, values: impl IntoIterator<Item = V>) -> String {
        let places: Vec<String> = values.into_iter().map(|value| self.bind(value)).collect();
        places.join(", ")
    }

    /// Requires a fact.
    fn require_fact(&mut self, fact: &FactFilter) {
        let (role, test) = match fact {
            FactFilter::Within(role, from, to) => {
                let (from, to) = (self.bind(*from), self.bind(*to));
                (role, format!("number >= {from} AND number < {to}"))
            }
            FactFilter::OneOf(role, texts) => {
                let texts = self.bind_all(texts.iter().cloned());
                (role, format!("text IN ({texts})"))
            }
        };
        let role = self.bind(role.as_str().to_owned());
        let rows = format!("SELECT row FROM facts WHERE role = {role} AND {test}");
        self.conditions.push(format!("row IN ({rows})"));
    }

    /// Requires one of these values in a field, or in the array that the field holds.
    fn require_field(
        &mut self,
        references: &[String],
        name: &str,
        values: &[Value],
    ) -> Result<(), ReadError> {
        let path = self.bind(format!("$.\"{}\"", name.replace('"', "\\\"")));
        let with_null = values.contains(&Value::Null);
        let all_text = !values.is_empty() && values.iter().all(Value::is_string);
        let values: Vec<SqlValue> = values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| sql_value(name, value))
            .collect::<Result<_, _>>()?;
        let values = self.bind_all(values);
        if all_text && self.source.is_none() {
            self.source = indexed_source(references, name, &values);
        }
        let entry_is_null = if with_null { "OR value IS NULL" } else { "" };
        // Invalid JSON is reported by `check`; here it passes no test and raises no error.
        self.conditions.push(format!(
            "CASE coalesce(json_type(CASE WHEN json_valid(fields) THEN fields END, {path}), 'null')
             WHEN 'null' THEN {with_null}
             WHEN 'object' THEN FALSE
             WHEN 'array' THEN EXISTS (
               SELECT 1 FROM json_each(fields, {path})
               WHERE type NOT IN ('array', 'object') AND (value IN ({values}) {entry_is_null}))
             ELSE json_extract(fields, {path}) IN ({values}) END"
        ));
        Ok(())
    }
}

/// A row source for texts in an indexed field; `None` without an index on it.
///
/// Arrays are indexed as JSON, so every value that starts with `[` is examined, too. The join order
/// is fixed, because SQLite would sometimes scan all rows of a kind instead.
fn indexed_source(references: &[String], name: &str, values: &str) -> Option<String> {
    let field = references.iter().find(|field| *field == name)?;
    let reference = reference_expression(field);
    Some(format!(
        "(SELECT row AS found FROM items WHERE {reference} IN ({values})
          UNION ALL
          SELECT row FROM items WHERE {reference} >= '[' AND {reference} < '\\')
         CROSS JOIN items ON row = found"
    ))
}

/// The rows of any revision that pass a filter, except for `under`; `None` when all pass.
pub(crate) fn rows_passing(
    connection: &Connection,
    references: &[String],
    filter: &Filter,
) -> Result<Option<Bitmap>, ReadError> {
    let Some((sql, values)) = build_statement(references, filter)? else { return Ok(None) };
    let rows: rusqlite::Result<Bitmap> =
        connection.prepare_cached(&sql).and_then(|mut statement| {
            statement
                .query_map(params_from_iter(values), |line| line.get(0).map(Row::new))?
                .collect()
        });
    rows.map(Some).map_err(storage)
}

/// The SQL of a filter with its values; `None` when every row passes.
fn build_statement(
    references: &[String],
    filter: &Filter,
) -> Result<Option<(String, Vec<SqlValue>)>, ReadError> {
    let mut sought = FilterStatement::default();
    if !filter.kinds.is_empty() {
        let kinds = sought.bind_all(filter.kinds.iter().map(Kind::as_str).map(str::to_owned));
        sought.conditions.push(format!("kind IN ({kinds})"));
    }
    if let Some(from) = filter.updated.0 {
        let from = sought.bind(from.as_millis());
        sought.conditions.push(format!("updated >= {from}"));
    }
    if let Some(until) = filter.updated.1 {
        let until = sought.bind(until.as_millis());
        sought.conditions.push(format!("updated < {until}"));
    }
    if let Some(least) = filter.confidence_least {
        let least = sought.bind(least.get());
        sought.conditions.push(format!("(confidence IS NULL OR confidence >= {least})"));
    }
    if let Some(prefix) = &filter.path_prefix {
        // The highest character ends the range of paths with this prefix.
        let (start, end) =
            (sought.bind(prefix.clone()), sought.bind(format!("{prefix}\u{10ffff}")));
        sought.conditions.push(format!("path >= {start} AND path < {end}"));
    }
    for (name, values) in &filter.fields {
        sought.require_field(references, name, values)?;
    }
    for fact in &filter.facts {
        sought.require_fact(fact);
    }
    if sought.conditions.is_empty() {
        return Ok(None);
    }
    let source = sought.source.as_deref().unwrap_or("items");
    let sql = format!("SELECT row FROM {source} WHERE {}", sought.conditions.join(" AND "));
    Ok(Some((sql, sought.values)))
}

fn sql_value(name: &str, value: &Value) -> Result<SqlValue, ReadError> {
    match value {
        Value::Null => Ok(SqlValue::Null),
        Value::Bool(yes) => Ok(i64::from(*yes).into()),
        Value::Number(number) => Ok(match number.as_i64() {
            Some(integer) => integer.into(),
            None => number.as_f64().unwrap_or(f64::MAX).into(),
        }),
        Value::String(text) => Ok(text.clone().into()),
        Value::Array(_) | Value::Object(_) => Err(ReadError::invalid(
            format!("filter.fields.{name}"),
            "a filter compares with a text, a number, true or false",
        )),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::schema;
    use super::*;
    use crate::kinds::Kinds;

    fn filter(name: &str, values: Value) -> Filter {
        let Value::Array(values) = values else { panic!("a list of values") };
        let kinds = vec![Kind::new("memory").unwrap()];
        Filter { kinds, fields: vec![(name.to_owned(), values)], ..Filter::everything() }
    }

    /// The query plan of a filter.
    fn plan(connection: &Connection, filter: &Filter) -> String {
        let (sql, values) =
            build_statement(Kinds::built_in().references(), filter).unwrap().unwrap();
        let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let lines = statement.query_map(params_from_iter(values), |line| line.get(3)).unwrap();
        lines.collect::<rusqlite::Result<Vec<String>>>().unwrap().join("\n")
    }

    #[test]
    fn reference_filters_use_their_index() {
        let connection = schema::open_in_memory();
        for name in Kinds::built_in().references() {
            let index = &format!("items_by_field_{name} ");
            for values in [json!(["a"]), json!(["a", "b", "c"])] {
                let plan = plan(&connection, &filter(name, values));
                assert_eq!(plan.matches(index).count(), 2, "{plan}");
                assert!(!plan.contains("SCAN items"), "{plan}");
            }
        }
        let plan = plan(&connection, &filter("other", json!(["a"])));
        assert!(plan.contains("items_by_kind"), "{plan}");
    }

    #[test]
    fn an_indexed_filter_finds_what_a_scan_finds() {
        let connection = schema::open_in_memory();
        let stored = [
            json!({"threadId": "t1"}),
            json!({"threadId": ["t0", "t1"]}),
            json!({"threadId": "[\"t1\"]"}),
            json!({"threadId": "t2", "conversation": "c"}),
            json!({"threadId": {"t1": "t1"}}),
            json!({"threadId": 7}),
            json!({}),
        ];
        for (n, fields) in stored.iter().enumerate() {
            add(&connection, n, &fields.to_string());
        }
        add(&connection, 9, "{not JSON");
        let check = |name: &str, values: Value, expected: &[u32]| {
            let rows =
                rows_passing(&connection, Kinds::built_in().references(), &filter(name, values))
                    .unwrap()
                    .unwrap();
            assert_eq!(rows.iter().map(Row::get).collect::<Vec<_>>(), expected);
        };
        check("threadId", json!(["t1"]), &[1, 2]);
        check("threadId", json!(["t1", "t2"]), &[1, 2, 4]);
        check("threadId", json!(["[\"t1\"]"]), &[3]);
        check("threadId", json!(["t1", 7]), &[1, 2, 6]);
        check("threadId", json!([null]), &[7, 8]);
        check("conversation", json!(["c"]), &[4]);
        // Damaged rows can still be ended and removed.
        connection.execute_batch("UPDATE items SET died = 2; DELETE FROM items").unwrap();
    }

    fn add(connection: &Connection, number: usize, fields: &str) {
        let node = i64::try_from(number).unwrap() + 1;
        connection.execute("INSERT INTO nodes (node, id) VALUES (?1, ?1)", [node]).unwrap();
        connection
            .execute(
                "INSERT INTO items (node, born, kind, position, updated, list, trust, active, \
                 language, hash, title, fields, body) \
                 VALUES (?, 1, 'memory', 0, 0, 0, 1, 1, 'en', x'00', '', ?, '')",
                (node, fields),
            )
            .unwrap();
    }
}
