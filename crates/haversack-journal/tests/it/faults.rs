//! Connections that are cut, answers that are lost, a database that crashes.

use std::time::{Duration, Instant};

use haversack_journal::PostgresJournal;
use haversack_store::store::block_on;
use haversack_store::store::journal::{Journal, JournalError, Position};
use testkit::{PostgresServer, Proxy, ProxyFault};

use crate::support::{WAIT, address_at, append, entry, journal, key, settings};

/// The answer to a commit, as it stands on the wire.
const COMMITTED: &[u8] = b"COMMIT\0";

fn behind_proxy(server: &PostgresServer) -> (Proxy, PostgresJournal) {
    let proxy = Proxy::start(server.port());
    let mut settings = settings(&address_at(server, "postgres", proxy.port()));
    settings.statement = Duration::from_secs(2);
    let journal = journal(settings);
    block_on(journal.create(&key("w"))).unwrap();
    (proxy, journal)
}

/// Appends with a fault that begins when the head is locked.
fn append_with(
    journal: &PostgresJournal,
    proxy: &Proxy,
    number: u8,
    fault: ProxyFault,
) -> Result<Position, JournalError> {
    let lock = block_on(journal.lock("w", WAIT)).unwrap().unwrap();
    proxy.set_fault(fault);
    let outcome = block_on(lock.append(entry(number), vec![number; 100]));
    proxy.set_fault(ProxyFault::None);
    outcome
}

#[test]
fn a_commit_whose_answer_was_lost_is_found() {
    let Some(server) = PostgresServer::start() else { return };
    let (proxy, journal) = behind_proxy(&server);
    append(&journal, "w", entry(1), b"x").unwrap();
    for (number, fault, position) in [
        (2, ProxyFault::CutAnswer(COMMITTED.to_vec()), Some(2)),
        (3, ProxyFault::CutRequest(b"COMMIT".to_vec()), None),
        (4, ProxyFault::SwallowAnswer(COMMITTED.to_vec()), Some(3)),
    ] {
        let outcome = append_with(&journal, &proxy, number, fault.clone());
        assert!(matches!(outcome, Err(JournalError::Unknown { .. })), "{fault:?}: {outcome:?}");
        let found = block_on(journal.find(&key("w"), entry(number))).unwrap();
        assert_eq!(found.map(Position::get), position, "{fault:?}");
    }
    assert_eq!(append(&journal, "w", entry(5), b"x").unwrap(), Position::new(4));
}

#[test]
fn finding_waits_for_a_commit_that_is_under_way() {
    let Some(server) = PostgresServer::start() else { return };
    let (proxy, writer) = behind_proxy(&server);
    let other = PostgresJournal::open(settings(&server.address("postgres"))).unwrap();
    let lock = block_on(writer.lock("w", WAIT)).unwrap().unwrap();
    proxy.set_fault(ProxyFault::Delay(Duration::from_millis(500)));
    let (written, found) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| block_on(lock.append(entry(1), b"x".to_vec())));
        // Its commit is still on its way, and the entry is found all the same.
        let found = block_on(other.find(&key("w"), entry(1))).unwrap();
        (writing.join().unwrap(), found)
    });
    assert_eq!(written.unwrap(), Position::new(1));
    assert_eq!(found, Some(Position::new(1)));
}

#[test]
fn a_lock_ends_with_its_node() {
    let Some(server) = PostgresServer::start() else { return };
    let (proxy, dead) = behind_proxy(&server);
    let lock = block_on(dead.lock("w", WAIT)).unwrap().unwrap();
    proxy.cut();
    let other = PostgresJournal::open(settings(&server.address("postgres"))).unwrap();
    assert_eq!(append(&other, "w", entry(1), b"x").unwrap(), Position::new(1));
    // The node that was cut off cannot write with the lock that it had.
    let late = block_on(lock.append(entry(2), b"x".to_vec()));
    assert!(
        matches!(late, Err(JournalError::Unavailable { .. } | JournalError::Unknown { .. })),
        "{late:?}"
    );
    assert_eq!(block_on(dead.find(&key("w"), entry(2))).unwrap(), None);
}

#[test]
fn a_lock_that_is_held_for_too_long_is_taken_away() {
    let Some(server) = PostgresServer::start() else { return };
    let mut slow = settings(&server.address("postgres"));
    slow.lock_idle = Duration::from_millis(200);
    let slow = journal(slow);
    block_on(slow.create(&key("w"))).unwrap();
    let lock = block_on(slow.lock("w", WAIT)).unwrap().unwrap();
    let other = PostgresJournal::open(settings(&server.address("postgres"))).unwrap();
    assert_eq!(append(&other, "w", entry(1), b"x").unwrap(), Position::new(1));
    let late = block_on(lock.append(entry(2), b"x".to_vec())).unwrap_err();
    assert!(
        matches!(late, JournalError::Unavailable { .. } | JournalError::Unknown { .. }),
        "{late:?}"
    );
    assert_eq!(block_on(other.find(&key("w"), entry(2))).unwrap(), None);
}

#[test]
fn a_crash_of_the_database_loses_nothing_that_was_acknowledged() {
    let Some(server) = PostgresServer::start_with("fsync = on\nsynchronous_commit = on\n") else {
        return;
    };
    let journal = journal(settings(&server.address("postgres")));
    block_on(journal.create(&key("w"))).unwrap();
    for number in 1..=20 {
        append(&journal, "w", entry(number), b"x").unwrap();
    }
    let lock = block_on(journal.lock("w", WAIT)).unwrap().unwrap();
    server.crash();
    let lost = block_on(lock.append(entry(21), b"x".to_vec())).unwrap_err();
    assert!(
        matches!(lost, JournalError::Unavailable { .. } | JournalError::Unknown { .. }),
        "{lost:?}"
    );
    let away = block_on(journal.head("w")).unwrap_err();
    assert!(matches!(away, JournalError::Unavailable { .. }), "{away:?}");
    server.restart();
    // It connects again by itself.
    let head = block_on(journal.head("w")).unwrap().unwrap();
    assert_eq!((head.position, head.last), (Position::new(20), entry(20)));
    assert_eq!(block_on(journal.find(&key("w"), entry(21))).unwrap(), None);
    assert_eq!(append(&journal, "w", entry(22), b"x").unwrap(), Position::new(21));
    let entries = block_on(journal.read(&key("w"), Position::START, usize::MAX)).unwrap();
    assert_eq!(entries.len(), 21);
}

#[test]
fn reads_survive_a_connection_that_is_cut() {
    let Some(server) = PostgresServer::start() else { return };
    let (proxy, journal) = behind_proxy(&server);
    append(&journal, "w", entry(1), b"x").unwrap();
    for number in 2..=6 {
        proxy.cut();
        assert!(block_on(journal.head("w")).unwrap().is_some());
        proxy.cut();
        assert_eq!(append(&journal, "w", entry(number), b"x").unwrap().get(), u64::from(number));
    }
    let before = proxy.accepted();
    proxy.set_fault(ProxyFault::Refuse);
    proxy.cut();
    let refused = block_on(journal.head("w")).unwrap_err();
    assert!(matches!(refused, JournalError::Unavailable { .. }), "{refused:?}");
    assert!(proxy.accepted() - before <= 2, "it tries once more, and not for ever");
    proxy.set_fault(ProxyFault::None);
    assert!(block_on(journal.head("w")).unwrap().is_some());
}

#[test]
fn no_answer_is_waited_for_for_ever() {
    let Some(server) = PostgresServer::start() else { return };
    let (proxy, journal) = behind_proxy(&server);
    proxy.set_fault(ProxyFault::SwallowAnswer(COMMITTED.to_vec()));
    let began = Instant::now();
    let error = block_on(journal.head("w")).unwrap_err();
    assert!(matches!(error, JournalError::Unavailable { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    proxy.set_fault(ProxyFault::None);
    assert!(block_on(journal.head("w")).unwrap().is_some());
}
