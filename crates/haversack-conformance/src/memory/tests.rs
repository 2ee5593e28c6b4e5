//! The journal in memory against the cases, and its faults.

use super::*;
use crate::{JournalHarness, run_journal};

impl JournalHarness for MemoryJournal {
    fn journal(&self) -> Arc<dyn Journal> {
        Arc::new(self.clone())
    }

    fn expire_claims(&self) {
        self.advance_clock(Duration::from_secs(3_600));
    }

    fn damage_snapshot_part(&self, workspace: &str, number: usize) {
        MemoryJournal::damage_snapshot_part(self, workspace, number);
    }

    fn lose_entry(&self, workspace: &str, position: Position) {
        MemoryJournal::lose_entry(self, workspace, position);
    }
}

#[test]
fn it_passes_the_cases() {
    run_journal(|_| Arc::new(MemoryJournal::new()));
}

#[test]
fn it_fails_as_it_is_told_to() {
    let journal = MemoryJournal::new();
    let id = EntryId([1; 16]);
    let key = JournalKey { workspace: "w".to_owned(), generation: id };
    let append = |number: u8| {
        let lock = haversack_store::store::block_on(journal.lock("w", WAIT)).unwrap().unwrap();
        haversack_store::store::block_on(lock.append(EntryId([number; 16]), Vec::new()))
    };
    let find = |number: u8| {
        haversack_store::store::block_on(journal.find(&key, EntryId([number; 16]))).unwrap()
    };
    haversack_store::store::block_on(journal.create(&key)).unwrap();
    journal.fail_next_append(AppendFault::LostAfterCommit);
    assert!(matches!(append(2), Err(JournalError::Unknown { .. })));
    assert_eq!(find(2), Some(Position::new(1)));
    journal.fail_next_append(AppendFault::LostBeforeCommit);
    assert!(matches!(append(3), Err(JournalError::Unknown { .. })));
    assert_eq!(find(3), None);
    journal.set_away(true);
    let away = haversack_store::store::block_on(journal.head("w"));
    assert!(matches!(away, Err(JournalError::Unavailable { .. })), "{away:?}");
    journal.set_away(false);
    assert_eq!(append(4).unwrap(), Position::new(2));
}
