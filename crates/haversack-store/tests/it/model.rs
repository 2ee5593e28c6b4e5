//! Random operations on the store and on an in-memory model must give the same results (R9, X3).

use std::collections::{BTreeMap, BTreeSet};

use haversack_core::ids::ItemId;
use haversack_store::embedded::{EmbeddedStore, View};
use haversack_store::revision::Revision;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::CommitError;
use haversack_store::store::item::{Breadcrumb, Event, EventKind, Item, Link};
use haversack_store::store::query::{Direction, Filter, ListOrder, Page};
use haversack_store::store::viewer::{Principal, Readers, Viewer};

use crate::support::{Random, amount, at, batch, id, item, open, readers, scratch, user, words};

const WORDS: [&str; 8] = ["amber", "basil", "coral", "denim", "fjord", "glyph", "kayak", "lotus"];

const ORIGINS: [&str; 2] = ["first import", "second import"];

/// Versions kept per item, the present one included.
const VERSIONS_MAX: usize = 17;

type Items = BTreeMap<ItemId, Item>;

/// The readers; `None` for everyone.
type ReaderList = Option<BTreeSet<Principal>>;

#[derive(Debug, Clone, Default)]
struct WorldState {
    /// As given, with the commit's time where they had none.
    items: Items,
    links: BTreeSet<Link>,
}

impl WorldState {
    fn list(&self, id: &ItemId) -> ReaderList {
        let item = &self.items[id];
        match (&item.readers, &item.parent) {
            (Readers::Only(list), _) => Some(list.clone()),
            (Readers::Inherit, Some(parent)) => self.list(parent),
            (Readers::Inherit, None) => None,
        }
    }

    fn is_above(&self, above: &ItemId, id: &ItemId) -> bool {
        id == above
            || self.items[id].parent.as_ref().is_some_and(|parent| self.is_above(above, parent))
    }

    /// Whether every parent exists and there is no cycle.
    fn is_tree(&self) -> bool {
        self.items.keys().all(|id| {
            let mut at = Some(id);
            for _ in 0..=self.items.len() {
                match at.map(|id| self.items.get(id)) {
                    None => return true,
                    Some(None) => return false,
                    Some(Some(item)) => at = item.parent.as_ref(),
                }
            }
            false
        })
    }

    fn delete(&mut self, id: &ItemId) -> Vec<ItemId> {
        if !self.items.contains_key(id) {
            return Vec::new();
        }
        let gone: Vec<ItemId> =
            self.items.keys().filter(|other| self.is_above(id, other)).cloned().collect();
        for id in &gone {
            self.items.remove(id);
        }
        gone
    }
}

/// The revision and import of a version.
type VersionOrigin = (usize, Option<String>);

#[derive(Debug, Default)]
struct ReferenceModel {
    /// The world after each revision.
    states: Vec<WorldState>,
    /// As given, to detect unchanged writes.
    given: Items,
    /// Who may read an item now, or could when it was deleted.
    lists: BTreeMap<ItemId, ReaderList>,
    births: BTreeMap<ItemId, Vec<VersionOrigin>>,
    /// The times of events, by item and type.
    usage: BTreeMap<(ItemId, &'static str), Vec<i64>>,
    /// Imports that wrote something.
    origins: BTreeSet<String>,
}

impl ReferenceModel {
    fn now(&self) -> &WorldState {
        self.states.last().unwrap()
    }

    fn revision(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    fn push(&mut self, world: WorldState) {
        for id in world.items.keys() {
            self.lists.insert(id.clone(), world.list(id));
        }
        self.states.push(world);
    }

    /// Puts items at a revision; `false` when they cannot be put.
    fn put(&mut self, items: &[Item], millis: i64, origin: Option<&str>) -> bool {
        let mut world = self.now().clone();
        let mut changed = Vec::new();
        for item in items {
            if world.items.contains_key(&item.id) && self.given.get(&item.id) == Some(item) {
                continue;
            }
            let mut stored = item.clone();
            stored.updated = stored.updated.or(Some(at(millis)));
            world.items.insert(item.id.clone(), stored);
            changed.push(item);
        }
        if !world.is_tree() {
            return false;
        }
        if changed.is_empty() {
            return true;
        }
        self.origins.extend(origin.map(str::to_owned));
        for item in changed {
            self.given.insert(item.id.clone(), item.clone());
            let birth = (self.states.len(), origin.map(str::to_owned));
            self.births.entry(item.id.clone()).or_default().push(birth);
        }
        self.push(world);
        true
    }

    fn delete(&mut self, ids: &[ItemId]) -> usize {
        let mut world = self.now().clone();
        let gone = ids.iter().map(|id| world.delete(id).len()).sum();
        self.push(world);
        gone
    }

    fn purge(&mut self, id: &ItemId) {
        let mut world = self.now().clone();
        let mut gone = world.delete(id);
        gone.push(id.clone());
        self.push(world);
        for id in gone {
            for state in &mut self.states {
                state.items.remove(&id);
                state.links.retain(|link| link.from != id && link.to != id);
            }
            self.births.remove(&id);
            self.usage.retain(|(item, _), _| *item != id);
        }
    }

    /// The result of an undo: restored, removed, kept; `None` if it is refused.
    fn undo(&mut self, origin: &str, millis: i64) -> Option<(usize, usize, Vec<ItemId>)> {
        if !self.origins.contains(origin) {
            return None;
        }
        let (mut restored, mut removed, mut kept) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
        for (id, births) in &self.births {
            let by_import = |birth: &&VersionOrigin| birth.1.as_deref() == Some(origin);
            let Some((first, _)) = births.iter().find(by_import) else { continue };
            if !self.now().items.contains_key(id) {
                continue;
            }
            if !births.last().is_some_and(|birth| by_import(&birth)) {
                kept.insert(id.clone());
                continue;
            }
            match self.states[first - 1].items.get(id) {
                Some(item) => restored.push(item.clone()),
                None => _ = removed.insert(id.clone()),
            }
        }
        if !restored.is_empty() && !self.put(&restored, millis, None) {
            return None;
        }
        // Items added below it since would be removed, too.
        let now = self.now();
        let holds = |id: &ItemId| {
            now.items.keys().any(|other| !removed.contains(other) && now.is_above(id, other))
        };
        let holding: Vec<ItemId> = removed.iter().filter(|id| holds(id)).cloned().collect();
        for id in holding {
            removed.remove(&id);
            kept.insert(id);
        }
        let removed: Vec<ItemId> = removed.into_iter().collect();
        let gone = if removed.is_empty() { 0 } else { self.delete(&removed) };
        Some((restored.len(), gone, kept.into_iter().collect()))
    }

    fn reads(&self, viewer: &Viewer, id: &ItemId) -> bool {
        match self.lists.get(id) {
            Some(Some(list)) => viewer.is_among(list),
            Some(None) => true,
            None => false,
        }
    }

    /// The items that a viewer sees in a state, by today's reader lists.
    fn visible_items(&self, viewer: &Viewer, state: usize) -> Items {
        let world = &self.states[state];
        let sees = |id: &ItemId| world.items.contains_key(id) && self.reads(viewer, id);
        let shown = |item: &Item| {
            let mut item = item.clone();
            item.parent = item.parent.filter(|parent| sees(parent));
            item
        };
        world
            .items
            .iter()
            .filter(|(id, _)| sees(id))
            .map(|(id, item)| (id.clone(), shown(item)))
            .collect()
    }
}

/// A store and its model, with a log of operations on both.
struct StoreAndModel {
    random: Random,
    ids: Vec<ItemId>,
    folder: tempfile::TempDir,
    store: Option<EmbeddedStore>,
    model: ReferenceModel,
    millis: i64,
    log: Vec<String>,
}

fn viewers() -> [Viewer; 4] {
    let bob = user("bob").in_group("sales").unwrap();
    [Viewer::anyone(), user("anna"), bob, Viewer::owner()]
}

impl StoreAndModel {
    fn new(seed: u64) -> StoreAndModel {
        let mut random = Random::new(seed);
        let count = *random.pick(&[3, 8, 14]);
        let folder = scratch();
        let store = Some(open(folder.path()));
        let model =
            ReferenceModel { states: vec![WorldState::default()], ..ReferenceModel::default() };
        let ids = (0..count).map(|n| id(format!("item {n}"))).collect();
        StoreAndModel { random, ids, folder, store, model, millis: 0, log: Vec::new() }
    }

    fn store(&self) -> &EmbeddedStore {
        self.store.as_ref().unwrap()
    }

    fn id(&mut self) -> ItemId {
        self.random.pick(&self.ids).clone()
    }

    fn random_item(&mut self, id: &ItemId) -> Item {
        let random = &mut self.random;
        let body: Vec<&str> = (0..random.below(4)).map(|_| *random.pick(&WORDS)).collect();
        let mut item = item(id.as_str(), &body.join(" "));
        if random.chance(30) {
            item.title = (*random.pick(&WORDS)).to_owned();
        }
        item.position = i64::try_from(random.below(2)).unwrap();
        item.active = !random.chance(10);
        if random.chance(35) {
            let names = ["anna", "bob", "group:sales", "everyone"];
            let names: Vec<&str> = (0..random.below(3)).map(|_| *random.pick(&names)).collect();
            item.readers = readers(&names);
        }
        if random.chance(60) {
            // Mostly an existing parent, sometimes a missing one, sometimes a cycle.
            let there: Vec<ItemId> = self.model.now().items.keys().cloned().collect();
            let among = if there.is_empty() || self.random.chance(5) { &self.ids } else { &there };
            item.parent = Some(self.random.pick(among).clone()).filter(|parent| *parent != item.id);
        }
        item
    }

    fn write(&mut self, batch: Batch) -> Result<u64, CommitError> {
        let done = self.store().write(batch)?;
        Ok(done.revision.get())
    }

    fn put(&mut self) {
        let mut chosen = self.ids.clone();
        self.random.shuffle(&mut chosen);
        chosen.truncate(1 + self.random.below(4));
        let mut items: Vec<Item> = chosen.iter().map(|id| self.random_item(id)).collect();
        if self.random.chance(20) {
            // The same again: nothing changes.
            items.retain(|item| !self.model.given.contains_key(&item.id));
            items.extend(self.model.given.values().take(2).cloned());
        }
        let origin = self.random.chance(30).then(|| (*self.random.pick(&ORIGINS)).to_owned());
        let origin = origin.as_deref();
        let mut batch = Batch::put(at(self.millis), items.clone());
        batch.origin = origin.map(str::to_owned);
        let fits = self.model.put(&items, self.millis, origin);
        match self.write(batch) {
            Ok(revision) => assert!(fits && revision == self.model.revision(), "put"),
            Err(CommitError::Invalid(_)) => assert!(!fits, "refused what fits"),
            Err(error) => panic!("{error}"),
        }
    }

    fn remove(&mut self, purge: bool) {
        let id = self.id();
        let change = if purge { Change::Purge(id.clone()) } else { Change::Delete(id.clone()) };
        if purge {
            self.model.purge(&id);
        } else {
            self.model.delete(&[id]);
        }
        self.write(batch(self.millis, vec![change])).unwrap();
    }

    fn link(&mut self) {
        let (from, to) = (self.id(), self.id());
        let link = Link { from, to, link_type: "link".to_owned() };
        let mut world = self.model.now().clone();
        let change = if self.random.chance(60) {
            world.links.insert(link.clone());
            Change::Link(link)
        } else {
            world.links.remove(&link);
            Change::Unlink(link)
        };
        self.model.push(world);
        self.write(batch(self.millis, vec![change])).unwrap();
    }

    fn event(&mut self) {
        let (item, event_kind) = (self.id(), *self.random.pick(&EventKind::ALL));
        // Some events arrive late.
        let millis = self.millis - 10_000 * i64::from(self.random.chance(30));
        let times = self.model.usage.entry((item.clone(), event_kind.as_str())).or_default();
        times.push(millis);
        let event = Event { item, user: "anna".to_owned(), event_kind, at: at(millis) };
        let revision = self.write(batch(self.millis, vec![Change::AddEvent(event)])).unwrap();
        assert_eq!(revision, self.model.revision(), "an event makes no state");
    }

    fn undo(&mut self) {
        let origin = *self.random.pick(&ORIGINS);
        if self.model.births.values().any(|births| births.len() >= VERSIONS_MAX) {
            return;
        }
        let expected = self.model.undo(origin, self.millis);
        match (self.store().undo(origin, at(self.millis)), expected) {
            (Ok(done), Some(expected)) => {
                assert_eq!((done.restored, done.removed, done.kept), expected, "undo");
            }
            (Err(CommitError::Invalid(_)), None) => {}
            (done, expected) => panic!("undo: {done:?} instead of {expected:?}"),
        }
    }

    fn step(&mut self) {
        self.millis += 1_000;
        let random = &mut self.random;
        let operation = random.below(100);
        self.log.push(format!("{operation} at {}", self.millis));
        match operation {
            0..55 => self.put(),
            55..65 => self.remove(false),
            65..70 => self.remove(true),
            70..80 => self.link(),
            80..90 => self.event(),
            90..96 => self.undo(),
            _ => {
                self.store = None;
                self.store = Some(open(self.folder.path()));
                assert_eq!(self.store().repaired(), [] as [String; 0]);
            }
        }
    }

    fn verify(&mut self) {
        for viewer in viewers() {
            let view = self.store().view(&viewer);
            assert_eq!(view.revision().get(), self.model.revision(), "revision");
            let seen = self.model.visible_items(&viewer, self.model.states.len() - 1);
            self.verify_items(&view, &seen);
            self.verify_structure(&viewer, &view, &seen);
        }
        let viewers = viewers();
        let viewer = self.random.pick(&viewers).clone();
        let moment = self.moment();
        let then = self.store().as_of(&viewer, at(moment)).unwrap();
        let number = self.random.below(self.model.states.len()) as u64;
        let at_number = self.store().at_revision(&viewer, Revision::new(number)).unwrap();
        assert_eq!(at_number.revision().get(), number, "state of a number");
        for then in [then, at_number] {
            let state = usize::try_from(then.revision().get()).unwrap();
            if then.history_is_whole() {
                let seen = self.model.visible_items(&viewer, state);
                self.verify_items(&then, &seen);
            }
        }
    }

    /// A moment up to now.
    fn moment(&mut self) -> i64 {
        i64::try_from(self.random.below(usize::try_from(self.millis).unwrap())).unwrap()
    }

    fn verify_items(&mut self, view: &View, seen: &Items) {
        let got = view.get(&self.ids).unwrap();
        for (id, got) in self.ids.iter().zip(&got) {
            assert_eq!(got.as_ref().map(|stored| &stored.item), seen.get(id), "get {id}");
        }
        assert_eq!(view.count(&Filter::everything()).unwrap(), seen.len() as u64, "count");
        let page = Page { order: ListOrder::Id, after: None, limit: 100 };
        let listed = view.list(&Filter::everything(), &page).unwrap();
        assert!(listed.iter().map(|stored| &stored.item.id).eq(seen.keys()), "list");
        let active = seen.values().filter(|item| item.active).count();
        assert_eq!(view.count(&Filter::default()).unwrap(), active as u64, "count of the active");
        let word = *self.random.pick(&WORDS);
        let holds = |item: &&Item| {
            item.title.split(' ').chain(item.body.split(' ')).any(|other| other == word)
        };
        let expected: BTreeSet<&ItemId> =
            seen.values().filter(holds).map(|item| &item.id).collect();
        let hits = view.search_text(&words(word)).unwrap();
        let found: BTreeSet<&ItemId> = hits.iter().map(|hit| &hit.id.item).collect();
        assert_eq!(found, expected, "text {word}");
    }

    fn verify_structure(&mut self, viewer: &Viewer, view: &View, seen: &Items) {
        let one = self.id();
        let mut children: Vec<&Item> =
            seen.values().filter(|item| item.parent.as_ref() == Some(&one)).collect();
        children.sort_by_key(|item| (item.position, &item.id));
        let found = view.children(&one, 100).unwrap();
        assert!(found.iter().map(|stored| &stored.item).eq(children), "children of {one}");
        let mut above = Vec::new();
        let mut next = seen.get(&one).and_then(|item| item.parent.as_ref());
        while let Some(parent) = next {
            above.push(parent);
            next = seen[parent].parent.as_ref();
        }
        let found = view.ancestors(&one, 100).unwrap();
        assert!(found.iter().map(|stored| &stored.item.id).eq(above), "ancestors of {one}");
        let trail = view.breadcrumbs(std::slice::from_ref(&one)).unwrap().remove(0);
        let found = found.iter().rev().map(|stored| &stored.item);
        let same = |(crumb, item): (&Breadcrumb, &Item)| {
            (&crumb.id, &crumb.kind, &crumb.title) == (&item.id, &item.kind, &item.title)
        };
        assert!(trail.len() == found.len() && trail.iter().zip(found).all(same), "trail of {one}");
        let both = |link: &&Link| seen.contains_key(&link.from) && seen.contains_key(&link.to);
        let links = self.model.now().links.iter().filter(|link| link.from == one).filter(both);
        let found = view.linked_items(&one, Direction::Outward, &[], 100).unwrap();
        assert!(found.iter().map(|linked| &linked.link).eq(links), "links of {one}");
        let reads = self.model.reads(viewer, &one) && seen.contains_key(&one);
        let moment = self.moment();
        for until in [i64::MAX, moment] {
            let sum = |((_, name), times): (&(ItemId, &'static str), &Vec<i64>)| {
                let times = times.iter().filter(|millis| **millis <= until);
                let last = at(*times.clone().max()?);
                Some((EventKind::from_name(name).unwrap(), times.count() as u64, last))
            };
            let usage = self.model.usage.iter().filter(|((id, _), _)| reads && *id == one);
            let expected: Vec<_> = usage.filter_map(sum).collect();
            let until = (until < i64::MAX).then(|| at(until));
            let found = view.usage(std::slice::from_ref(&one), None, until).unwrap();
            let found: Vec<_> =
                found.into_iter().map(|u| (u.event_kind, u.count, u.last)).collect();
            assert_eq!(found, expected, "usage of {one} until {until:?}");
        }
        let versions = self.model.births.get(&one).map_or(0, Vec::len).min(VERSIONS_MAX);
        let found = view.history(&one).unwrap().len();
        assert_eq!(found, if reads { versions } else { 0 }, "history of {one}");
    }
}

fn check(seed: u64, steps: usize) {
    let mut pair = StoreAndModel::new(seed);
    let run = std::panic::AssertUnwindSafe(|| {
        for _ in 0..steps {
            pair.step();
            pair.verify();
        }
        let report = pair.store().check(false).unwrap();
        assert!(report.is_sound(), "{report:?}");
    });
    if let Err(panic) = std::panic::catch_unwind(run) {
        let log = &pair.log;
        let last: Vec<&String> = log.iter().rev().take(5).collect();
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("?");
        panic!("seed {seed}, step {} (last first: {last:?}): {message}", log.len());
    }
}

/// Half of the seeds, so that two tests run in parallel.
fn check_half(half: u64) {
    let first = amount("HAVERSACK_SEED", 0);
    let seeds = amount("HAVERSACK_MODEL_SEEDS", 20).div_ceil(2);
    let steps = usize::try_from(amount("HAVERSACK_MODEL_STEPS", 150)).unwrap();
    (0..seeds).for_each(|seed| check(first + 2 * seed + half, steps));
}

#[test]
fn the_store_equals_its_model_r9_even() {
    check_half(0);
}

#[test]
fn the_store_equals_its_model_r9_odd() {
    check_half(1);
}
