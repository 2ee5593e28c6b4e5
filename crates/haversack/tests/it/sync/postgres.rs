//! Runs over a real PostgreSQL server.

use haversack::sync::{FullReason, LocalTarget, SyncError, SyncRequest};
use haversack_database::DatabaseError;
use serde_json::{Value, json};
use testkit::PostgresServer;

use super::{FailingTarget, SyncFixture, kind, notices};

#[test]
fn a_table_is_kept_in_sync() {
    let Some(server) = PostgresServer::start() else { return };
    server.create_database(
        "shop",
        "CREATE TABLE products (id uuid PRIMARY KEY, name text NOT NULL, description text, price numeric(10,2),
           use_cases text[], is_active bool DEFAULT true, details jsonb, photo bytea,
           at timestamptz NOT NULL);
         INSERT INTO products VALUES
           ('00000000-0000-0000-0000-000000000001', 'Roaster', 'Roasts coffee', 499.90, '{cafés,homes}', true,
            '{\"kg\": 3}', '\\x00', '2026-01-01 10:00:00.123456Z'),
           ('00000000-0000-0000-0000-000000000002', 'Grinder', NULL, NULL, NULL, false, NULL, NULL,
            '2026-01-01 11:00:00Z');",
    );
    let place = SyncFixture::new(Some(&server.address("shop")));
    let request = SyncRequest { kind: kind("product"), ..place.request("select * from products") };
    let first = place.check(&request, [2, 2, 0, 0, 0]);
    assert_eq!(first.full, Some(FullReason::First));
    assert_eq!(
        notices(&first),
        [
            "row 00000000-0000-0000-0000-000000000001, column photo: bytea is not read and was left out: convert it \
          in the query, or leave it out"
        ]
    );
    let roaster = place.item("00000000-0000-0000-0000-000000000001");
    assert_eq!(
        Value::Object(roaster.fields),
        json!({
            "name": "Roaster", "description": "Roasts coffee", "price": 499.9, "useCases": ["cafés", "homes"],
            "isActive": true, "details": {"kg": 3},
        })
    );
    assert!(!place.item("00000000-0000-0000-0000-000000000002").active);
    // A change, a row whose transaction was slow, a tie with the watermark, and a deletion.
    server.sql(
        "shop",
        "UPDATE products SET description = 'Roasts more', at = '2026-01-01 12:00Z' WHERE name = 'Roaster';
         INSERT INTO products (id, name, at) VALUES
           ('00000000-0000-0000-0000-000000000003', 'Late', '2026-01-01 10:59:30Z'),
           ('00000000-0000-0000-0000-000000000004', 'Tie', '2026-01-01 11:00:00Z'),
           ('00000000-0000-0000-0000-000000000005', 'Too late', '2026-01-01 10:30:00Z');",
    );
    let second = place.check(&request, [4, 3, 1, 0, 0]);
    assert_eq!(second.full, None);
    server.sql("shop", "DELETE FROM products WHERE name = 'Grinder'");
    let all = SyncRequest { full: true, ..request };
    place.check(&all, [4, 1, 3, 1, 0]);
    assert!(place.ids().ends_with("5") && !place.ids().contains("000002"), "{}", place.ids());
}

#[test]
fn a_server_that_goes_away_leaves_what_was_written_and_the_next_run_goes_on() {
    let Some(server) = PostgresServer::start() else { return };
    server.create_database(
        "shop",
        "CREATE TABLE t (id int PRIMARY KEY, text text, at bigint);
         INSERT INTO t SELECT i, 'row ' || i || repeat(' word', 400), i FROM generate_series(1, 3000) i;",
    );
    let place = SyncFixture::new(Some(&server.address("shop")));
    let request = place.request("select * from t");
    place.check(&request, [3_000, 3_000, 0, 0, 0]);
    server.sql("shop", "UPDATE t SET text = 'new ' || id || repeat(' word', 400), at = at + 3000");
    // The server crashes after the first batch, with most rows still to come.
    let mut batches = 0;
    let mut database = place.database().unwrap();
    let mut target = LocalTarget::new(&*place.store);
    let cut = haversack::sync::sync(&mut database, &mut target, &request, &mut |_| {
        batches += 1;
        if batches == 1 {
            server.crash();
        }
        std::ops::ControlFlow::Continue(())
    });
    assert!(matches!(cut, Err(SyncError::Database(DatabaseError::Lost { .. }))), "{cut:?}");
    let error = place.run(&request).unwrap_err();
    assert!(matches!(error, SyncError::Database(DatabaseError::Unreachable { .. })), "{error}");
    server.restart();
    let rest = place.run(&request).unwrap();
    assert_eq!(rest.full, None);
    assert!(rest.rows < 3_000 && rest.stored == rest.rows - 1, "{rest:?}");
    for id in ["1", "500", "501", "3000"] {
        assert_eq!(place.versions(id), 2, "{id}");
        assert!(place.item(id).body.starts_with("new "), "{id}");
    }
    // And so does a run whose own process is killed.
    server.sql("shop", "UPDATE t SET text = 'newer ' || id, at = at + 3000");
    let inner = LocalTarget::new(&*place.store);
    let mut target = FailingTarget { inner, batches_left: 1 };
    assert!(place.run_on(&mut target, &request).is_err());
    place.check(&request, [2_501, 2_500, 1, 0, 0]);
}
