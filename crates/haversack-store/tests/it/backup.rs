//! A backup that is made while others write is one state that was committed, readers and purges included
//! (R25).

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haversack_store::embedded::EmbeddedStore;
use haversack_store::store::change::Change;
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::Viewer;

use crate::support::{amount, at, batch, id, item, only, open, put, scratch, user, words};

/// Pairs that are there at a time: each write adds one and removes the oldest.
const PAIRS: u64 = 5;

/// The write of a number: a pair of items, one of them for Anna alone; the oldest pair goes, one of it
/// without a trace.
fn changes(number: u64) -> Vec<Change> {
    let text =
        |half: &str| format!("pair{number} {half} {}", "some words to fill pages ".repeat(20));
    let mut changes = vec![
        put(item(&format!("left-{number}"), &text("left"))),
        put(only(&["anna"], item(&format!("right-{number}"), &text("right")))),
    ];
    if let Some(gone) = number.checked_sub(PAIRS) {
        changes.push(Change::Delete(id(format!("left-{gone}"))));
        changes.push(Change::Purge(id(format!("right-{gone}"))));
    }
    changes
}

fn visible_ids(store: &EmbeddedStore, viewer: &Viewer) -> Vec<String> {
    let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
    let listed = store.view(viewer).list(&Filter::everything(), &page).unwrap();
    listed.into_iter().map(|stored| stored.item.id.to_string()).collect()
}

/// The number of the last write that a store holds, after checking that it holds that state and no other.
fn verify(store: &EmbeddedStore) -> u64 {
    let last = store.view(&Viewer::owner()).revision().get();
    assert!(last > 0, "the backup is empty");
    let names = |half: &str| {
        let mut names: Vec<String> =
            (0..last).rev().take(5).map(|number| format!("{half}-{number}")).collect();
        names.sort();
        names
    };
    assert_eq!(visible_ids(store, &user("bob")), names("left"), "after {last} writes");
    let all: Vec<String> = names("left").into_iter().chain(names("right")).collect();
    assert_eq!(visible_ids(store, &user("anna")), all, "after {last} writes");
    let newest = format!("pair{}", last - 1);
    assert_eq!(store.view(&user("anna")).search_text(&words(&newest)).unwrap().len(), 2);
    assert_eq!(store.view(&user("bob")).search_text(&words(&newest)).unwrap().len(), 1);
    if let Some(gone) = last.checked_sub(PAIRS + 1) {
        // What was deleted is in the past; what was purged is not.
        let then = store.as_of(&Viewer::owner(), at(i64::try_from(gone).unwrap() + 1)).unwrap();
        let halves = ["left", "right"].map(|half| id(format!("{half}-{gone}")));
        let there: Vec<bool> = then.get(&halves).unwrap().iter().map(Option::is_some).collect();
        assert_eq!(there, [true, false], "after {last} writes");
    }
    let report = store.check(true).unwrap();
    assert!(report.is_sound(), "after {last} writes: {report:?}");
    last
}

#[test]
fn a_backup_under_load_is_one_committed_state_r25() {
    let (folder, copies) = (scratch(), scratch());
    let store = open(folder.path());
    let (acknowledged, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let reached = |least: u64| {
        while acknowledged.load(Ordering::SeqCst) < least {
            std::thread::yield_now();
        }
    };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for number in 0.. {
                if over.load(Ordering::SeqCst) {
                    return number;
                }
                store.write(batch(i64::try_from(number).unwrap() + 1, changes(number))).unwrap();
                acknowledged.store(number + 1, Ordering::SeqCst);
            }
            unreachable!("the numbers do not end")
        });
        for copy in 0..amount("HAVERSACK_BACKUPS", 6) {
            reached(20 * (copy + 1));
            let place = copies.path().join(copy.to_string());
            let before = acknowledged.load(Ordering::SeqCst);
            store.backup(&place.join("workspaces/acme")).unwrap();
            let after = acknowledged.load(Ordering::SeqCst) + 1;
            let last = verify(&open(&place));
            assert!((before..=after).contains(&last), "{last} is not from {before} to {after}");
        }
        over.store(true, Ordering::SeqCst);
        let written = writer.join().unwrap();
        assert_eq!(verify(&store), written);
    });
}
