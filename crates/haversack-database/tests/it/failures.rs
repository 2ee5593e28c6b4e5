//! What goes wrong is told apart, names the database and never the password; and nothing can be written.

use std::error::Error;
use std::time::Duration;

use haversack_database::{Address, Cell, Database, DatabaseError, DatabaseLimits};
use testkit::PostgresServer;

use crate::{all, firsts, open, rows};

/// An error with all its causes.
fn chain(error: &DatabaseError) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}

#[test]
fn a_login_that_fails_names_the_database_and_not_the_password() {
    let Some(server) = PostgresServer::start() else { return };
    let port = server.port();
    let cases = [
        (format!("postgres://tester:hunter2@127.0.0.1:{port}/postgres"), "password authentication"),
        (format!("postgres://nobody:hunter2@127.0.0.1:{port}/postgres"), "password authentication"),
        (server.address("missing"), "does not exist"),
        (format!("postgres://tester:hunter2@127.0.0.1:{port}/postgres?sslmode=require"), "TLS"),
        ("postgres://tester:hunter2@127.0.0.1:1/postgres".to_owned(), "refused"),
        ("postgres://tester:hunter2@host.invalid/postgres".to_owned(), "host.invalid"),
    ];
    for (address, expected) in cases {
        let error = open(&address).unwrap_err();
        let text = chain(&error);
        assert!(text.contains(expected), "{text}");
        for secret in ["hunter2", server.password(), "battery"] {
            assert!(!text.contains(secret) && !format!("{error:?}").contains(secret), "{text}");
        }
    }
    let given =
        Address::parse(&server.address_without_password("postgres"), Some(server.password()));
    Database::open(&given.unwrap(), DatabaseLimits::default()).unwrap();
}

#[test]
fn a_query_that_fails_says_why_and_the_next_one_works() {
    let Some(server) = PostgresServer::start() else { return };
    let limits =
        DatabaseLimits { statement: Duration::from_millis(500), ..DatabaseLimits::default() };
    let address = Address::parse(&server.address("postgres"), None).unwrap();
    let mut database = Database::open(&address, limits).unwrap();
    for (sql, expected) in [
        ("select nothing from nowhere", "relation \"nowhere\" does not exist"),
        ("selekt 1", "must be one SELECT"),
        ("select 1 as id, 2 as id", "two columns are called \"id\""),
        ("select $1::int as id", "has parameters"),
        ("select 1 as id; select 2 as id", "multiple commands"),
        ("select 1 as id) as x; drop table t; select * from (select 1 as id", "syntax error"),
    ] {
        let error = database.columns(sql).unwrap_err();
        assert!(chain(&error).contains(expected), "{sql}: {}", chain(&error));
    }
    let slow = rows(&mut database, &all("select 1 as id from pg_sleep(60)")).unwrap_err();
    assert!(matches!(slow, DatabaseError::Timeout { .. }), "{slow}");
    let error =
        rows(&mut database, &all("select 1 / (id - 1) as x, id from generate_series(1, 2) id"));
    assert!(error.unwrap_err().to_string().contains("division by zero"));
    assert_eq!(firsts(&rows(&mut database, &all("select 7 as id")).unwrap()), [7]);
}

#[test]
fn nothing_can_be_written_through_a_query() {
    let Some(server) = PostgresServer::start() else { return };
    server.create_database(
        "shop",
        "CREATE TABLE t (id int); INSERT INTO t VALUES (1); CREATE SEQUENCE s;
         CREATE FUNCTION touch() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (2) RETURNING id'",
    );
    let mut database = open(&server.address("shop")).unwrap();
    for (sql, is_write) in [
        ("select touch() as id", true),
        ("select nextval('s') as id", true),
        ("select set_config('transaction_read_only', 'off', false) as id", false),
        ("with d as (delete from t returning id) select id from d", false),
        ("table t) as x; commit; delete from t; select * from (table t", false),
    ] {
        let error = rows(&mut database, &all(sql)).unwrap_err();
        assert_eq!(matches!(error, DatabaseError::Writes { .. }), is_write, "{sql}: {error}");
    }
    assert_eq!(server.query("shop", "select count(*), sum(id) from t"), "1|1");
}

#[test]
fn a_server_that_goes_away_in_the_middle_is_an_error_and_not_an_end() {
    let Some(server) = PostgresServer::start() else { return };
    let mut database = open(&server.address("postgres")).unwrap();
    let mut count = 0;
    let sql = "select i as id, repeat('x', 10000) as t from generate_series(1, 5000) i";
    let read = database.read(&all(sql), &mut |_: Vec<Cell>| {
        count += 1;
        if count == 100 {
            server.crash();
        }
        Ok::<(), DatabaseError>(())
    });
    let error = read.unwrap_err();
    assert!(matches!(error, DatabaseError::Lost { .. }), "{error:?}");
    assert!((100..5_000).contains(&count), "{count}");
    server.restart();
    let mut database = open(&server.address("postgres")).unwrap();
    assert_eq!(firsts(&rows(&mut database, &all("select 1 as id")).unwrap()), [1]);
}

#[test]
fn an_error_of_the_sink_ends_the_query() {
    let Some(server) = PostgresServer::start() else { return };
    let mut database = open(&server.address("postgres")).unwrap();
    let sql = "select i as id from generate_series(1, 100000) i";
    let stopped = database
        .read(&all(sql), &mut |_| Err(DatabaseError::Statement { message: "enough".to_owned() }));
    assert!(stopped.unwrap_err().to_string().contains("enough"));
    assert_eq!(firsts(&rows(&mut database, &all("select 1 as id")).unwrap()), [1]);
}
