//! Every type that is read, order, bound values, and rows of any size.

use haversack_database::RowQuery;
use serde_json::{Value, json};
use testkit::PostgresServer;

use crate::{all, firsts, open, rows};

#[test]
fn values_keep_what_they_say() {
    let Some(server) = PostgresServer::start() else { return };
    server.create_database(
        "types",
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN price AS numeric(10,2); \
         CREATE DOMAIN tags AS text[]",
    );
    let mut database = open(&server.address("types")).unwrap();
    let cases: Vec<(&str, Value)> = vec![
        ("true", json!(true)),
        ("7::int2", json!(7)),
        ("-7::int4", json!(-7)),
        ("9223372036854775807::int8", json!(9_223_372_036_854_775_807_i64)),
        ("0.1::float4", json!(0.1)),
        ("0.1::float8", json!(0.1)),
        ("'NaN'::float8", json!("NaN")),
        ("19.90::numeric", json!(19.9)),
        ("-0.0001::numeric", json!(-0.0001)),
        ("100000000.5::numeric", json!(100_000_000.5)),
        ("12345.6789::price", json!(12345.68)),
        ("42::numeric", json!(42)),
        ("0::numeric", json!(0)),
        ("123456789012345678901234567890.5::numeric", json!("123456789012345678901234567890.5")),
        ("'NaN'::numeric", json!("NaN")),
        ("'grüezi'::text", json!("grüezi")),
        ("'ab'::char(4)", json!("ab  ")),
        ("'x'::name", json!("x")),
        ("'happy'::mood", json!("happy")),
        (
            "'A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11'::uuid",
            json!("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ),
        (r#"'{"b": 1, "a": [true, null]}'::json"#, json!({"b": 1, "a": [true, null]})),
        (r#"'[1, {"x": "y"}]'::jsonb"#, json!([1, {"x": "y"}])),
        ("'2026-01-31'::date", json!("2026-01-31")),
        ("'1999-12-31'::date", json!("1999-12-31")),
        ("'infinity'::date", json!("infinity")),
        ("'09:30:00.5'::time", json!("09:30:00.5")),
        ("'2026-01-31 09:30:00.123456'::timestamp", json!("2026-01-31T09:30:00.123456Z")),
        ("'2026-01-31 10:30:00+01'::timestamptz", json!("2026-01-31T09:30:00Z")),
        ("'1969-12-31 23:59:59Z'::timestamptz", json!("1969-12-31T23:59:59Z")),
        ("'-infinity'::timestamptz", json!("-infinity")),
        ("array['a', null, 'b']", json!(["a", null, "b"])),
        ("array[1, 2]", json!([1, 2])),
        ("array[]::text[]", json!([])),
        ("array['happy']::mood[]", json!(["happy"])),
        ("array['x']::tags", json!(["x"])),
        ("null::text", Value::Null),
        ("null::bytea", Value::Null),
        ("array[array['a'], array['b']]", json!("unreadable _text")),
        ("'\\x00'::bytea", json!("unreadable bytea")),
        ("'1 day'::interval", json!("unreadable interval")),
        ("'(1,2)'::point", json!("unreadable point")),
    ];
    for (expression, expected) in cases {
        let sql = format!("select {expression} as v, 1 as id");
        let found = rows(&mut database, &all(&sql)).unwrap();
        assert_eq!(firsts(&found), [expected], "{expression}");
    }
    let columns = database.columns("select 1 as id, now() as at").unwrap();
    assert_eq!(columns[1].type_name.as_deref(), Some("timestamptz"));
}

#[test]
fn rows_come_in_order_from_a_bound_value_whatever_its_type_and_their_size() {
    let Some(server) = PostgresServer::start() else { return };
    server.create_database(
        "shop",
        "CREATE TABLE p (id int, at timestamptz, n int, d date, x numeric, s text);
         INSERT INTO p SELECT i, '2026-01-01Z'::timestamptz + i * interval '1 microsecond', i,
           '2026-01-01'::date + i, i, lpad(i::text, 5, '0') FROM generate_series(1, 2500) i;
         INSERT INTO p VALUES (9999, NULL, NULL, NULL, NULL, NULL);",
    );
    let mut database = open(&server.address("shop")).unwrap();
    for (cursor, from) in [
        ("at", json!("2026-01-01T00:00:00.002498Z")),
        ("n", json!(2498)),
        ("d", json!("2032-11-03")),
        ("x", json!(2498)),
        ("s", json!("02498")),
    ] {
        let query =
            RowQuery { sql: "select * from p;", id: "id", cursor: Some(cursor), from: Some(&from) };
        let found = rows(&mut database, &query).unwrap();
        assert_eq!(firsts(&found), [2498, 2499, 2500, 9999], "{cursor}");
    }
    let everything = RowQuery { cursor: Some("at"), ..all("select * from p") };
    let found = firsts(&rows(&mut database, &everything).unwrap());
    assert_eq!(found.len(), 2501);
    assert!(found.iter().take(2500).zip(1..).all(|(id, n)| *id == json!(n)));
    // A small row first, so that pages are large, then rows that are larger than a page.
    let sql = "select i as id, repeat('x', case when i > 60 then 9000000 else 1 end) as t \
               from generate_series(1, 64) i";
    let mut lengths = Vec::new();
    let read = database.read(&all(sql), &mut |row| {
        if let haversack_database::Cell::Value(Value::String(text)) = &row[1] {
            lengths.push(text.len());
        }
        Ok::<(), haversack_database::DatabaseError>(())
    });
    read.unwrap();
    assert_eq!(lengths.len(), 64);
    assert_eq!(lengths[60..], [9_000_000; 4]);
}
