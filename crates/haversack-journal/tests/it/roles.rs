//! What a node needs of the database: rows, and no more.

use haversack_journal::PostgresJournal;
use haversack_store::store::block_on;
use haversack_store::store::journal::{Journal, JournalError, SharedRecord};
use testkit::PostgresServer;

use crate::support::{append, entry, key, put_snapshot, settings};

#[test]
fn a_role_with_rights_on_rows_is_enough() {
    let Some(server) = PostgresServer::start() else { return };
    server.sql("postgres", "CREATE ROLE \"node one\" LOGIN PASSWORD 'rows'");
    let own = format!("postgres://node%20one:rows@127.0.0.1:{}/postgres", server.port());
    let before = PostgresJournal::open(settings(&own)).unwrap();
    let error = block_on(before.head("w")).unwrap_err();
    assert!(matches!(error, JournalError::NotReady { .. }), "{error:?}");
    let owner = settings(&server.address("postgres"));
    PostgresJournal::init(owner.clone(), None).unwrap();
    let error = block_on(before.head("w")).unwrap_err();
    assert!(matches!(error, JournalError::Refused { .. }), "{error:?}");
    PostgresJournal::init(owner, Some("node one")).unwrap();
    let node = PostgresJournal::open(settings(&own)).unwrap();
    block_on(node.create(&key("w"))).unwrap();
    append(&node, "w", entry(1), b"x").unwrap();
    put_snapshot(&node, &key("w"), &[b"all"]);
    let head = block_on(node.head("w")).unwrap().unwrap();
    assert_eq!(block_on(node.trim(&key("w"), head.position)).unwrap(), 1);
    let record = SharedRecord { name: "a".to_owned(), body: b"b".to_vec() };
    assert!(block_on(node.put_shared_record("key", &record, true)).unwrap());
    assert!(block_on(node.remove_shared_record("key", "a")).unwrap());
    block_on(node.append_audit("n", &[(1, "line".to_owned())])).unwrap();
    assert!(block_on(node.remove("w")).unwrap());
    // It can neither change the tables nor the past.
    let refused = PostgresJournal::init(settings(&own), None).unwrap_err();
    assert!(matches!(refused, JournalError::Refused { .. }), "{refused:?}");
    let may_delete = "SELECT has_table_privilege('node one', 'haversack.audit_lines', 'DELETE')";
    assert_eq!(server.query("postgres", may_delete), "f");
}
