//! What was closed to a viewer is not given after the acknowledgement, whoever reads meanwhile, and what was
//! opened is given at once (R11, S4).

use std::sync::atomic::{AtomicU64, Ordering};

use haversack_core::units::Score;
use haversack_store::embedded::{EmbeddedStore, View};
use haversack_store::store::change::Change;
use haversack_store::store::item::Item;
use haversack_store::store::query::{Effort, Filter, FuzzySearch, ListOrder, Page, VectorSearch};

use crate::support::{
    LetterPairs, amount, batch, id, item, only, open, put, scratch, under, user, words,
};

const READERS: usize = 3;

/// What the item is to Bob: being opened, open, being closed, closed. Each round goes through all four.
const OPENING: u64 = 0;
const OPEN: u64 = 1;
const CLOSING: u64 = 2;
const CLOSED: u64 = 3;

/// The state of a run: the phase, counted over all rounds, and how often readers looked within one.
#[derive(Debug, Default)]
struct Race {
    phase: AtomicU64,
    looks: AtomicU64,
    done: AtomicU64,
}

fn secret() -> Item {
    Item { title: "Secretary".to_owned(), ..item("secret", "the zebra is in the garden") }
}

fn opened() -> Item {
    only(&["anna", "bob"], secret())
}

/// The change that closes the item, another one in each round.
fn closing(round: u64) -> Change {
    match round % 4 {
        0 => put(only(&["anna"], opened())),
        1 => Change::Delete(id("secret")),
        2 => Change::Purge(id("secret")),
        // Without a list of its own it has that of its parent.
        _ => put(under("closed", secret())),
    }
}

/// The ways in which Bob is given the item.
fn ways_to_see(view: &View) -> Vec<&'static str> {
    let is_it = |stored: &str| stored == "secret";
    let page = Page { order: ListOrder::Newest, after: None, limit: 100 };
    let filter = Filter::everything;
    let vector = VectorSearch {
        vector: LetterPairs::vector("Secretary\nthe zebra is in the garden"),
        effort: Effort::Fast,
        filter: filter(),
        limit: 100,
    };
    let fuzzy = FuzzySearch {
        query: "secretry".to_owned(),
        similarity_least: Score::unit(0.1),
        filter: filter(),
        limit: 100,
    };
    let ids = [id("secret")];
    let hit = |id: &haversack_core::ids::CandidateId| is_it(id.item.as_str());
    let ways = [
        ("get", view.get(&ids).unwrap()[0].is_some()),
        ("list", view.list(&filter(), &page).unwrap().iter().any(|it| is_it(it.item.id.as_str()))),
        ("words", view.search_text(&words("zebra")).unwrap().iter().any(|it| hit(&it.id))),
        ("vectors", view.search_vectors(&vector).unwrap().iter().any(|it| hit(&it.id))),
        ("fuzzy", view.search_fuzzy(&fuzzy).unwrap().iter().any(|it| hit(&it.id))),
        ("history", !view.history(&ids[0]).unwrap().is_empty()),
        ("count", view.count(&filter()).unwrap() == 4),
    ];
    ways.into_iter().filter(|(_, given)| *given).map(|(way, _)| way).collect()
}

/// Looks again and again; what a look finds counts where the phase was the same before and after.
fn read(store: &EmbeddedStore, race: &Race) {
    let bob = user("bob");
    while race.done.load(Ordering::SeqCst) == 0 {
        let before = race.phase.load(Ordering::SeqCst);
        let seen = ways_to_see(&store.view(&bob));
        if race.phase.load(Ordering::SeqCst) != before {
            continue;
        }
        match before % 4 {
            OPEN => assert_eq!(seen.len(), 7, "round {}: an open item is missed", before / 4),
            CLOSED => {
                assert_eq!(seen, [] as [&str; 0], "round {}: given after the end", before / 4)
            }
            _ => continue,
        }
        race.looks.fetch_add(1, Ordering::SeqCst);
    }
}

/// Goes to a phase and, where readers look at it, waits until each could have been wrong.
fn enter(race: &Race, round: u64, phase: u64) {
    race.phase.store(round * 4 + phase, Ordering::SeqCst);
    if phase == OPEN || phase == CLOSED {
        let looked = race.looks.load(Ordering::SeqCst);
        while race.looks.load(Ordering::SeqCst) == looked && race.done.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
    }
}

/// Ends the readers when a thread panics, so that the test ends, too.
struct EndOnDrop<'a>(&'a Race);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.done.store(1, Ordering::SeqCst);
    }
}

#[test]
fn what_was_closed_is_not_given_after_the_acknowledgement_r11_s4() {
    let rounds = amount("HAVERSACK_REVOCATIONS", 300);
    let folder = scratch();
    let store = open(folder.path());
    let others = ["one", "two"].map(|name| put(item(name, "the garden has no zebras")));
    let closed = put(only(&["anna"], item("closed", "")));
    let open_to_bob = put(item("three", "another text"));
    store.write(batch(1, others.into_iter().chain([closed, open_to_bob]).collect())).unwrap();
    let race = Race::default();
    std::thread::scope(|scope| {
        let _end = EndOnDrop(&race);
        for _ in 0..READERS {
            scope.spawn(|| {
                let _end = EndOnDrop(&race);
                read(&store, &race);
            });
        }
        for round in 0..rounds {
            let now = i64::try_from(round).unwrap() + 2;
            enter(&race, round, OPENING);
            store.write(batch(now, vec![put(opened())])).unwrap();
            enter(&race, round, OPEN);
            enter(&race, round, CLOSING);
            store.write(batch(now, vec![closing(round)])).unwrap();
            enter(&race, round, CLOSED);
        }
    });
    let looks = race.looks.into_inner();
    assert!(looks >= 2 * rounds, "{looks} looks in {rounds} rounds");
    assert!(store.check(false).unwrap().is_sound());
}
