//! The cases that every journal must pass, and what only PostgreSQL's can do wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use haversack_conformance::run_journal;
use haversack_journal::PostgresJournal;
use haversack_store::store::block_on;
use haversack_store::store::journal::{Journal, JournalError, Position};
use testkit::{PostgresServer, Proxy};

use crate::support::{Harness, address_at, append, entry, journal, key, settings};

#[test]
fn postgresql_passes_the_cases() {
    let Some(server) = PostgresServer::start() else { return };
    let server = Arc::new(server);
    let mut number = 0;
    run_journal(|_| {
        number += 1;
        let schema = format!("case_{number}");
        let settings = settings(&server.address("postgres")).with_schema(&schema).unwrap();
        let journal = journal(settings);
        Arc::new(Harness { server: Arc::clone(&server), schema, journal })
    });
}

#[test]
fn tables_are_created_once_and_a_newer_format_is_refused() {
    let Some(server) = PostgresServer::start() else { return };
    let settings = settings(&server.address("postgres"));
    let early = PostgresJournal::open(settings.clone()).unwrap();
    let error = block_on(early.head("w")).unwrap_err();
    assert!(matches!(error, JournalError::NotReady { .. }), "{error:?}");
    let together = std::thread::scope(|scope| {
        let init = || scope.spawn(|| PostgresJournal::init(settings.clone(), None));
        let started: Vec<_> = (0..4).map(|_| init()).collect();
        started.into_iter().map(|it| it.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(together.iter().all(Result::is_ok), "{together:?}");
    // The journal that was opened too early works now.
    block_on(early.create(&key("w"))).unwrap();
    PostgresJournal::init(settings.clone(), None).unwrap();
    assert!(block_on(early.head("w")).unwrap().is_some());
    server.sql("postgres", "UPDATE haversack.meta SET value = 99 WHERE name = 'format'");
    let late = PostgresJournal::open(settings.clone()).unwrap();
    for error in [
        block_on(late.head("w")).unwrap_err(),
        PostgresJournal::init(settings.clone(), None).unwrap_err(),
    ] {
        assert!(matches!(error, JournalError::Newer { found: 99, known: 1 }), "{error:?}");
    }
    server.sql("postgres", "UPDATE haversack.meta SET value = 0 WHERE name = 'format'");
    let error = block_on(PostgresJournal::open(settings).unwrap().head("w")).unwrap_err();
    assert!(matches!(error, JournalError::NotReady { .. }), "{error:?}");
}

#[test]
fn the_pool_is_bounded_and_says_so() {
    let Some(server) = PostgresServer::start() else { return };
    let mut settings = settings(&server.address("postgres"));
    settings.connections_max = 2;
    settings.connect = Duration::from_millis(300);
    let journal = journal(settings);
    for workspace in ["a", "b"] {
        block_on(journal.create(&key(workspace))).unwrap();
    }
    let wait = Duration::from_secs(5);
    append(&journal, "a", entry(1), b"x").unwrap();
    let mut locks = ["a", "b"].map(|name| block_on(journal.lock(name, wait)).unwrap().unwrap());
    // A lock reads on the connection that it has.
    let found =
        locks.each_mut().map(|lock| block_on(lock.read(Position::START, 10)).unwrap().len());
    assert_eq!(found, [1, 0]);
    let error = block_on(journal.workspaces()).unwrap_err();
    let JournalError::Unavailable { cause } = error else { panic!("{error:?}") };
    assert!(
        cause.to_string().starts_with("all 2 connections to the journal were in use"),
        "{cause}"
    );
    drop(locks);
    assert_eq!(block_on(journal.workspaces()).unwrap(), ["a", "b"]);
}

#[test]
fn looks_at_heads_are_shared() {
    let Some(server) = PostgresServer::start() else { return };
    let proxy = Proxy::start(server.port());
    let journal = journal(settings(&address_at(&server, "postgres", proxy.port())));
    for number in 0..8 {
        block_on(journal.create(&key(&format!("w{number}")))).unwrap();
    }
    let before = proxy.sent();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let ask = |number: usize| {
            let journal = journal.clone();
            async move {
                let workspace = format!("w{}", number % 10);
                let head = journal.head(&workspace).await.unwrap();
                assert_eq!(head.is_some(), number % 10 < 8, "{workspace}");
                head.inspect(|head| assert_eq!(head.key.workspace, workspace))
            }
        };
        futures_util::future::join_all((0..1_000).map(ask)).await;
    });
    let sent = proxy.sent() - before;
    assert!((1..100).contains(&sent), "{sent} pieces were sent for 1,000 requests");
}

#[test]
fn a_look_that_began_after_a_write_sees_it() {
    let Some(server) = PostgresServer::start() else { return };
    let journal = journal(settings(&server.address("postgres")));
    block_on(journal.create(&key("w"))).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Others look all the time, so that a look is under way whenever an entry is written.
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_done.load(Ordering::SeqCst) {
                    block_on(journal.head("w")).unwrap();
                }
            });
        }
        let writer = scope.spawn(|| {
            for number in 1..=50 {
                let position = append(&journal, "w", entry(number), b"x").unwrap();
                let head = block_on(journal.head("w")).unwrap().unwrap();
                assert_eq!((head.position, head.last), (position, entry(number)));
            }
        });
        let written = writer.join();
        is_done.store(true, Ordering::SeqCst);
        written.unwrap();
    });
}

#[test]
fn it_can_be_used_and_dropped_on_any_thread() {
    let Some(server) = PostgresServer::start() else { return };
    let settings = settings(&server.address("postgres"));
    let opened = journal(settings.clone());
    block_on(opened.create(&key("w"))).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let worker = tokio::spawn({
            let settings = settings.clone();
            async move {
                let journal = PostgresJournal::open(settings).unwrap();
                // Awaited, waited for in a worker, and dropped there with a lock still held.
                journal.head("w").await.unwrap().unwrap();
                let lock = block_on(journal.lock("w", Duration::from_secs(5))).unwrap();
                drop(journal);
                drop(lock);
            }
        });
        worker.await.unwrap();
        let blocking = tokio::task::spawn_blocking({
            let journal = opened.clone();
            move || append(&journal, "w", entry(1), b"x").unwrap()
        });
        assert_eq!(blocking.await.unwrap().get(), 1);
    });
    let in_rayon = rayon::scope(|_| append(&opened, "w", entry(2), b"x").unwrap());
    assert_eq!(in_rayon.get(), 2);
}
