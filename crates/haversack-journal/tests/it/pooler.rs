//! Behind pgbouncer, which gives each transaction another connection.

use std::sync::Arc;

use haversack_conformance::run_journal;
use testkit::{PgBouncer, PostgresServer};

use crate::support::{Harness, address_at, journal, settings};

#[test]
fn it_passes_the_cases_behind_pgbouncer() {
    let Some(server) = PostgresServer::start() else { return };
    let server = Arc::new(server);
    // Fewer connections than the journal may use, so that each of them serves many of its transactions.
    let Some(pooler) = PgBouncer::start(&server, 6) else { return };
    let mut number = 0;
    run_journal(|_| {
        number += 1;
        let schema = format!("case_{number}");
        let address = address_at(&server, "postgres", pooler.port());
        let settings = settings(&address).with_schema(&schema).unwrap();
        let journal = journal(settings);
        Arc::new(Harness { server: Arc::clone(&server), schema, journal })
    });
}
