use std::sync::Arc;

use haversack_core::embed::{EmbedError, Embedder, Model, Vector};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::units::Timestamp;

use super::DataFolder;
use super::reader_caches::ReaderCaches;
use super::resources::{Resources, SpareConnections};
use crate::store::change::{Batch, Change};
use crate::store::error::{CommitError, ReadError};
use crate::store::item::{DocumentKind, Event, EventKind, Item, Record};
use crate::store::query::{Effort, Filter, ListOrder, Page, TextSearch, VectorSearch};
use crate::store::viewer::{Principal, Readers, Viewer};

/// Embeds letter pairs: enough to distinguish texts, without a model file.
#[derive(Debug)]
pub(super) struct PairEmbedder(Model);

impl PairEmbedder {
    pub(super) fn shared() -> Arc<dyn Embedder> {
        PairEmbedder::version("1")
    }

    fn version(version: &str) -> Arc<dyn Embedder> {
        let (name, version) = ("letters".to_owned(), version.to_owned());
        Arc::new(PairEmbedder(Model { name, version, dimensions: 64 }))
    }
}

impl Embedder for PairEmbedder {
    fn model(&self) -> &Model {
        &self.0
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vector>, EmbedError> {
        let embed = |text: &&str| {
            let mut numbers = vec![0.0; 64];
            for pair in text.as_bytes().windows(2) {
                numbers[usize::from(pair[0] ^ pair[1].wrapping_mul(7)) % 64] += 1.0;
            }
            Vector::new(numbers).expect("finite numbers")
        };
        Ok(texts.iter().map(embed).collect())
    }
}

pub(super) fn item(id: &str, body: &str) -> Item {
    Item::new(ItemId::new(id).unwrap(), Kind::new("note").unwrap(), body)
}

pub(super) fn text(query: &str) -> TextSearch {
    TextSearch {
        query: query.to_owned(),
        unfinished: false,
        all_words: false,
        filter: Filter::default(),
        limit: 10,
    }
}

#[test]
fn written_items_are_searchable_and_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let now = Timestamp::from_millis(1_000);
    for round in 0..2 {
        let data_folder = DataFolder::open(folder.path()).unwrap();
        let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
        assert_eq!(store.repaired(), [] as [String; 0]);
        let mut secret = item("secret", "the secret launch of the green rocket");
        secret.readers = Readers::Only([Principal::user("anna").unwrap()].into());
        let mut child = item("child", "a rocket under the secret");
        child.parent = Some(secret.id.clone());
        let items = vec![item("tea", "Anna drinks green tea"), child, secret];
        let done = store.write(Batch::put(now, items)).unwrap();
        assert_eq!((done.stored, done.unchanged), if round == 0 { (3, 0) } else { (0, 3) });

        let hits = |viewer: &Viewer, query: &str| -> Vec<String> {
            let hits = store.view(viewer).search_text(&text(query)).unwrap();
            hits.into_iter().map(|hit| hit.id.to_string()).collect()
        };
        let anna = Viewer::user("anna").unwrap();
        assert_eq!(hits(&Viewer::anyone(), "green rocket"), ["tea#0"]);
        assert_eq!(hits(&anna, "green rocket"), ["secret#0", "child#0", "tea#0"]);

        let vector = PairEmbedder::shared().embed(&["\nAnna drinks green tea"]).unwrap().remove(0);
        let search =
            VectorSearch { vector, effort: Effort::Fast, filter: Filter::default(), limit: 2 };
        let view = store.view(&Viewer::anyone());
        let found = view.search_vectors(&search).unwrap();
        assert_eq!(found[0].id.to_string(), "tea#0");
        assert_eq!(found.len(), 1);
    }
}

#[test]
fn deleting_removes_descendants_and_as_of_still_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let mut leaf = item("leaf", "autumn leaf");
    leaf.parent = Some(ItemId::new("tree").unwrap());
    store.write(Batch::put(Timestamp::from_millis(1), vec![leaf, item("tree", "oak")])).unwrap();
    let delete = Change::Delete(ItemId::new("tree").unwrap());
    let done = store.write(Batch::new(Timestamp::from_millis(2), vec![delete])).unwrap();
    assert_eq!(done.deleted, 2);
    let viewer = Viewer::anyone();
    assert!(store.view(&viewer).is_empty());
    let then = store.as_of(&viewer, Timestamp::from_millis(1)).unwrap();
    assert_eq!(then.len(), 2);
    assert_eq!(then.search_text(&text("autumn")).unwrap().len(), 1);
    assert!(store.view(&viewer).search_text(&text("autumn")).unwrap().is_empty());
}

/// M4: vectors of another model are reported as stale until they are re-embedded.
#[test]
fn vectors_of_another_model_are_stale_until_reembedded() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let now = Timestamp::from_millis(1);
    let items = || (0..30).map(|n| item(&format!("n{n}"), &format!("note {n} on tea"))).collect();
    data_folder
        .workspace("acme", PairEmbedder::version("1"))
        .unwrap()
        .write(Batch::put(now, items()))
        .unwrap();

    let store = data_folder.workspace("acme", PairEmbedder::version("2")).unwrap();
    assert!(store.stats().unwrap().stale);
    let vector = store.embedder().embed(&["\nnote 7 on tea"]).unwrap().remove(0);
    let search = VectorSearch { vector, effort: Effort::Fast, filter: Filter::default(), limit: 1 };
    let view = store.view(&Viewer::anyone());
    assert!(matches!(view.search_vectors(&search), Err(ReadError::Stale(_))));
    assert_eq!(view.search_text(&text("tea")).unwrap().len(), 10, "words are found all the same");
    let refused = store.write(Batch::put(now, vec![item("new", "tea")]));
    assert!(matches!(refused, Err(CommitError::Stale(_))));

    let mut seen = Vec::new();
    store.reembed(|progress| seen.push(progress)).unwrap();
    assert_eq!(seen.last().map(|progress| (progress.done, progress.total)), Some((30, 30)));
    let found = store.view(&Viewer::anyone()).search_vectors(&search).unwrap();
    assert_eq!(found[0].id.to_string(), "n7#0");
    assert_eq!(store.write(Batch::put(now, items())).unwrap().unchanged, 30);
    assert!(store.check(false).unwrap().is_sound());
    drop(store);
    let store = data_folder.workspace("acme", PairEmbedder::version("2")).unwrap();
    assert!(!store.stats().unwrap().stale);
    assert_eq!(store.repaired(), [] as [String; 0]);
}

/// An undo reverts items that were not changed since the import.
#[test]
fn an_import_can_be_undone() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let put = |at: i64, origin: Option<&str>, items: Vec<Item>| {
        let mut batch = Batch::put(Timestamp::from_millis(at), items);
        batch.origin = origin.map(str::to_owned);
        store.write(batch).unwrap();
    };
    put(1, None, vec![item("old", "before"), item("touched", "before")]);
    let imported = ["old", "touched", "new"].map(|id| item(id, "imported"));
    put(2, Some("import-1"), imported.to_vec());
    put(3, None, vec![item("touched", "after")]);
    let undone = store.undo("import-1", Timestamp::from_millis(4)).unwrap();
    assert_eq!((undone.removed, undone.restored), (1, 1));
    assert_eq!(undone.kept, [ItemId::new("touched").unwrap()]);
    let ids = ["old", "touched", "new"].map(|id| ItemId::new(id).unwrap());
    let bodies: Vec<Option<String>> = store
        .view(&Viewer::anyone())
        .get(&ids)
        .unwrap()
        .into_iter()
        .map(|stored| stored.map(|stored| stored.item.body))
        .collect();
    let body = |text: &str| Some(text.to_owned());
    assert_eq!(bodies, [body("before"), body("after"), None]);
    assert!(store.undo("import-9", Timestamp::from_millis(5)).is_err());
}

/// A backup of a live store opens elsewhere with the same content (R25).
#[test]
fn a_backup_opens_as_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(&folder.path().join("a")).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    store.write(Batch::put(Timestamp::from_millis(1), vec![item("tea", "green tea")])).unwrap();
    let copy = folder.path().join("b/workspaces/acme");
    store.backup(&copy).unwrap();
    assert!(store.backup(&copy).is_err(), "a backup never overwrites");
    let data_folder = DataFolder::open(&folder.path().join("b")).unwrap();
    let copy = data_folder.existing_workspace("acme", PairEmbedder::shared()).unwrap();
    assert_eq!(copy.view(&Viewer::anyone()).search_text(&text("tea")).unwrap().len(), 1);
    assert!(copy.check(false).unwrap().is_sound());
}

/// A snapshot taken before a purge still works, without the purged items.
#[test]
fn a_snapshot_outlives_a_purge() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let now = Timestamp::from_millis(1);
    store.write(Batch::put(now, vec![item("tea", "green tea"), item("oak", "old oak")])).unwrap();
    let view = store.view(&Viewer::anyone());
    let purge = Change::Purge(ItemId::new("tea").unwrap());
    store.write(Batch::new(now, vec![purge])).unwrap();
    let vector = store.embedder().embed(&["\ngreen tea"]).unwrap().remove(0);
    let search = VectorSearch { vector, effort: Effort::Fast, filter: Filter::default(), limit: 5 };
    let ids = |hits: Vec<crate::store::query::Hit>| -> Vec<String> {
        hits.into_iter().map(|hit| hit.id.to_string()).collect()
    };
    assert_eq!(ids(view.search_vectors(&search).unwrap()), ["oak#0"]);
    assert_eq!(ids(view.search_text(&text("tea")).unwrap()), [] as [String; 0]);
}

/// Events and named documents keep the caches of a state, and survive a restart.
#[test]
fn quiet_batches_publish_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let now = Timestamp::from_millis(1);
    let (user, anyone) = ("anna".to_owned(), Viewer::anyone());
    let tea = ItemId::new("tea").unwrap();
    let event = Event { item: tea.clone(), user, event_kind: EventKind::Viewed, at: now };
    let (document_kind, name) = (DocumentKind::Receipt, "r".to_owned());
    let record = Record { document_kind, name, text: "text".to_owned(), at: now };
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let put = store.write(Batch::put(now, vec![item("tea", "green tea")])).unwrap();
    let before = store.view(&anyone);
    for change in [Change::AddEvent(event), Change::PutRecord(record)] {
        let done = store.write(Batch::new(now, vec![change])).unwrap();
        assert_eq!(done.revision, put.revision);
    }
    let after = store.view(&anyone);
    assert!(Arc::ptr_eq(&before.watched.state, &after.watched.state));
    assert!(Arc::ptr_eq(&before.visible, &after.visible));
    let present = store.at_revision(&anyone, put.revision).unwrap();
    assert!(Arc::ptr_eq(&present.visible, &after.visible), "the present state is the present one");
    drop((before, after, present, store));
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    assert_eq!(store.repaired(), [] as [String; 0]);
    let view = store.view(&anyone);
    assert_eq!(view.revision(), put.revision);
    assert_eq!(view.usage(&[tea], None, None).unwrap().len(), 1);
    assert!(view.record(DocumentKind::Receipt, "r").unwrap().is_some());
    assert!(store.check(false).unwrap().is_sound());
}

#[test]
fn pages_of_a_small_set_equal_those_of_a_full_list() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    // Five items older than all others, two of equal time, first and last by id.
    let mut items: Vec<Item> = (0..400).map(|n| item(&format!("m{n:03}"), "many")).collect();
    for (id, updated) in [("z", 3), ("a", 1), ("m2x", 3), ("zz", 2), ("b", 4)] {
        let mut rare = item(id, "few");
        rare.kind = Kind::new("rare").unwrap();
        rare.updated = Some(Timestamp::from_millis(updated));
        items.push(rare);
    }
    store.write(Batch::put(Timestamp::from_millis(1_000), items)).unwrap();
    let view = store.view(&Viewer::anyone());
    let check = |order: ListOrder, expected: &[&str]| {
        let rare = Filter::kind(Kind::new("rare").unwrap());
        for limit in [1, 2, 5, 100] {
            let mut found: Vec<String> = Vec::new();
            loop {
                let after = found.last().map(|id| ItemId::new(id).unwrap());
                let page = view.list(&rare, &Page { order, after, limit }).unwrap();
                assert!(page.len() <= limit);
                if page.is_empty() {
                    break;
                }
                found.extend(page.into_iter().map(|stored| stored.item.id.to_string()));
            }
            assert_eq!(found, expected, "{order:?}, {limit} a page");
        }
    };
    check(ListOrder::Newest, &["b", "m2x", "z", "zz", "a"]);
    check(ListOrder::Id, &["a", "b", "m2x", "z", "zz"]);
}

#[test]
fn the_least_used_workspace_gives_its_caches_up_first() {
    let folder = tempfile::tempdir().unwrap();
    let reader_caches = Arc::new(ReaderCaches::with_limit(64));
    let resources = Resources { reader_caches, ..Resources::default() };
    let data_folder = DataFolder::open(folder.path()).unwrap().with_resources(resources);
    let open = |name| {
        let store = data_folder.workspace(name, PairEmbedder::shared()).unwrap();
        store.write(Batch::put(Timestamp::from_millis(1), vec![item("tea", "green tea")])).unwrap();
        store
    };
    let (idle, busy) = (open("idle"), open("busy"));
    let found = |store: &super::EmbeddedStore, user: usize| {
        let view = store.view(&Viewer::user(&format!("u{user}")).unwrap());
        view.search_text(&text("tea")).unwrap().len()
    };
    assert_eq!(found(&idle, 0), 1);
    for user in 0..60 {
        assert_eq!(found(&busy, user), 1);
    }
    assert_eq!(idle.shared.cache_bytes(), 0);
    assert_eq!(found(&idle, 0), 1, "what was forgotten is derived again");
}

#[test]
fn workspaces_share_the_connections_beside_their_first() {
    let spare = SpareConnections::default();
    let reserved = (0..1_000).filter(|_| spare.reserve()).count();
    assert_eq!(reserved, 64);
    spare.release(2);
    assert_eq!((spare.reserve(), spare.reserve(), spare.reserve()), (true, true, false));
}

/// Whoever finds the writer free writes for all who wait: no thread is needed for it.
#[test]
fn callers_write_for_each_other_and_none_waits_in_vain() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let at = Timestamp::from_millis(1);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..20 {
                    let item = item(&format!("i{thread}-{n}"), "green tea");
                    let report = store.write(Batch::put(at, vec![item])).unwrap();
                    assert_eq!(report.stored, 1);
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..20 {
                assert!(store.check(false).unwrap().is_sound());
            }
        });
    });
    let view = store.view(&Viewer::owner());
    assert_eq!(view.count(&Filter::everything()).unwrap(), 160);
    drop(view);
    // Merges of the text index end by themselves.
    while store.is_in_use() {
        std::thread::yield_now();
    }
    store.close();
    let refused = store.write(Batch::put(at, vec![item("late", "green tea")])).unwrap_err();
    assert!(matches!(refused, CommitError::Stopped { .. }), "{refused}");
    assert!(!store.is_in_use());
}

/// A panic of work that has the writer closes it, because its state is unknown; nobody waits for it.
#[test]
fn a_panic_of_the_writer_stops_writing_and_holds_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let panics = std::panic::AssertUnwindSafe(|| store.call_writer(|_| panic!("as a test")));
    assert!(std::panic::catch_unwind(panics).is_err());
    let refused =
        store.write(Batch::put(Timestamp::from_millis(1), vec![item("tea", "green tea")]));
    assert!(matches!(refused, Err(CommitError::Stopped { .. })));
    drop(store);
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    store.write(Batch::put(Timestamp::from_millis(1), vec![item("tea", "green tea")])).unwrap();
}

#[test]
fn check_tells_of_a_clock_that_jumped() {
    const HOUR: i64 = 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let store = data_folder.workspace("acme", PairEmbedder::shared()).unwrap();
    let write = |id: &str, hour: i64| {
        let at = Timestamp::from_millis(hour * HOUR);
        store.write(Batch::put(at, vec![item(id, "green tea")])).unwrap();
    };
    // Back by four hours, forward, and back by no more than an hour.
    for (id, hour) in [("a", 9), ("b", 5), ("c", 8), ("d", 7)] {
        write(id, hour);
    }
    let report = store.check(false).unwrap();
    assert_eq!((report.set_back, report.is_sound()), (1, true));
    assert_eq!(report.latest_commit, Some(Timestamp::from_millis(9 * HOUR)));
}
