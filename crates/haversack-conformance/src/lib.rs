//! The conformance suite: cases that every store must pass, written against the trait alone.
//!
//! A store's tests call [`run`] for each part, with a function that returns an empty store. A case
//! fails by panicking.
#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a case fails by panicking")]

mod erasure;
mod journal;
mod memory;
mod models;
mod readers;
mod rights;
mod searches;
mod states;
mod structure;
mod traces;
mod writes;

pub use journal::{JOURNAL_CASES, JournalCase, JournalHarness, run_journal};
pub use memory::{AppendFault, MemoryJournal};

use std::sync::Arc;

use futures_util::future::BoxFuture;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;

use haversack_store::store::change::{Batch, Change, CommitReport};
use haversack_store::store::error::{ChangeProblem, CommitError};
use haversack_store::store::item::{Item, Stored};
use haversack_store::store::maintenance::Maintenance;
use haversack_store::store::query::{Filter, ListOrder, Page, TextSearch};
use haversack_store::store::viewer::{Principal, Readers, Viewer};
use haversack_store::store::{Snapshot, Store};

/// The name of a case and its function, which receives an empty store.
pub type ConformanceCase = (&'static str, fn(Arc<dyn Maintenance>) -> BoxFuture<'static, ()>);

/// All cases, by part of the trait.
pub const ALL: [(&str, &[ConformanceCase]); 9] = [
    ("writes", writes::CASES),
    ("readers", readers::CASES),
    ("rights", rights::CASES),
    ("searches", searches::CASES),
    ("states", states::CASES),
    ("structure", structure::CASES),
    ("traces", traces::CASES),
    ("models", models::CASES),
    ("erasure", erasure::CASES),
];

/// Runs the cases of a part, each on its own store.
///
/// # Panics
/// When a case fails or there is no such part.
pub async fn run(part: &str, mut empty: impl AsyncFnMut(&'static str) -> Arc<dyn Maintenance>) {
    let (_, cases) = ALL.iter().find(|(name, _)| *name == part).expect("a part of the suite");
    for (name, case) in *cases {
        case(empty(name).await).await;
    }
}

/// Lists functions as cases under their own names.
macro_rules! cases {
    ($($name:ident),+ $(,)?) => {
        pub(super) const CASES: &[super::ConformanceCase] =
            &[$((stringify!($name), |store| Box::pin($name(store)))),+];
    };
}
use cases;

fn id(name: &str) -> ItemId {
    ItemId::new(name).unwrap()
}

const fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn item(name: &str, body: &str) -> Item {
    Item::new(id(name), Kind::new("note").unwrap(), body)
}

fn under(parent: &str, mut item: Item) -> Item {
    item.parent = Some(id(parent));
    item
}

fn only(names: &[&str], mut item: Item) -> Item {
    item.readers =
        Readers::Only(names.iter().map(|name| Principal::parse(name).unwrap()).collect());
    item
}

fn put(item: Item) -> Change {
    Change::Put(Box::new(item))
}

fn user(name: &str) -> Viewer {
    Viewer::user(name).unwrap()
}

async fn write(store: &Arc<dyn Store>, millis: i64, changes: Vec<Change>) -> CommitReport {
    store.write(Batch::new(at(millis), changes)).await.unwrap()
}

async fn write_items(store: &Arc<dyn Store>, millis: i64, items: Vec<Item>) -> CommitReport {
    store.write(Batch::put(at(millis), items)).await.unwrap()
}

/// Writes a batch that must be refused without effect, and returns its problems.
async fn expect_refused(store: &Arc<dyn Store>, changes: Vec<Change>) -> Vec<ChangeProblem> {
    let before = view(store, &Viewer::owner()).await.revision();
    let problems = match store.write(Batch::new(at(1), changes)).await {
        Err(CommitError::Invalid(problems)) => problems,
        other => panic!("not refused: {other:?}"),
    };
    assert_eq!(view(store, &Viewer::owner()).await.revision(), before);
    problems
}

async fn view(store: &Arc<dyn Store>, viewer: &Viewer) -> Arc<dyn Snapshot> {
    store.snapshot(viewer).await.unwrap()
}

async fn get(store: &Arc<dyn Store>, viewer: &Viewer, name: &str) -> Option<Stored> {
    let (view, ids) = (view(store, viewer).await, [id(name)]);
    let found = view.get(&ids).await.unwrap().remove(0);
    assert_eq!(view.exist(&ids).await.unwrap(), [found.is_some()], "{name}");
    found
}

/// The ids that a viewer can list, in order.
async fn listed_ids(store: &Arc<dyn Store>, viewer: &Viewer) -> Vec<String> {
    let page = Page { order: ListOrder::Id, after: None, limit: 1_000 };
    let items = view(store, viewer).await.list(&Filter::everything(), &page).await.unwrap();
    ids_of(&items)
}

fn ids_of(items: &[Stored]) -> Vec<String> {
    items.iter().map(|stored| stored.item.id.to_string()).collect()
}

fn text_search(query: &str) -> TextSearch {
    TextSearch {
        query: query.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::everything(),
        limit: 1_000,
    }
}

/// The ids of the items that a text search finds, best first.
async fn found_ids(view: &Arc<dyn Snapshot>, search: &TextSearch) -> Vec<String> {
    let hits = view.search_text(search).await.unwrap();
    hits.into_iter().map(|hit| hit.id.item.to_string()).collect()
}
