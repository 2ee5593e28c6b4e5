//! Non-interference: items that a viewer may not read change no answer (X3, W12, S2, S3).
//!
//! Two stores are compared: one with a random tree of items, reader lists and history, and one with
//! only what the viewer can read, written in another order. Every answer must be the same, to the
//! last bit of a score.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use haversack_core::ids::{CandidateId, ItemId};
use haversack_core::item::Kind;
use haversack_core::units::Score;
use haversack_store::embedded::{EmbeddedStore, View};
use haversack_store::store::change::Change;
use haversack_store::store::item::{Event, EventKind, Item, Link, Stored};
use haversack_store::store::query::{
    Direction, Effort, Filter, FuzzySearch, Hit, ListOrder, Page, TextSearch, VectorSearch,
};
use haversack_store::store::viewer::{Readers, Viewer};
use serde_json::json;

use crate::support::{
    LetterPairs, Random, amount, at, batch, id, open, put, readers, scratch, user,
};

/// All writes happen at one time, so that both stores agree on it.
const NOW: i64 = 1_000_000;

/// Graphs per pair of stores.
const GRAPHS_PER_SEED: u64 = 25;

const WORDS: [&str; 14] = [
    "alpha",
    "bravo",
    "cedar",
    "delta",
    "ember",
    "falcon",
    "garnet",
    "harbour",
    "indigo",
    "juniper",
    "the",
    "rocket",
    "rockets",
    "überholt",
];

const PRINCIPALS: [&str; 6] =
    ["user:anna", "user:bob", "group:sales", "group:board", "everyone", "user:carl"];

fn viewers() -> [Viewer; 4] {
    [
        Viewer::anyone(),
        user("anna"),
        user("bob").in_group("sales").unwrap(),
        user("dora").in_group("sales").unwrap().in_group("board").unwrap(),
    ]
}

/// The final state of a random graph; only the full store has history.
#[derive(Debug, Default, Clone)]
struct Graph {
    items: BTreeMap<ItemId, Item>,
    links: BTreeSet<Link>,
    events: Vec<Event>,
}

impl Graph {
    fn ids(&self) -> Vec<ItemId> {
        self.items.keys().cloned().collect()
    }

    /// Naive on purpose: walks up to the nearest list.
    fn can_read(&self, viewer: &Viewer, id: &ItemId) -> bool {
        let item = &self.items[id];
        match (&item.readers, &item.parent) {
            (Readers::Only(list), _) => viewer.is_among(list),
            (Readers::Inherit, Some(parent)) => self.can_read(viewer, parent),
            (Readers::Inherit, None) => true,
        }
    }

    fn is_above(&self, above: &ItemId, id: &ItemId) -> bool {
        id == above || self.items[id].parent.as_ref().is_some_and(|p| self.is_above(above, p))
    }

    fn remove(&mut self, id: &ItemId) {
        let gone: Vec<ItemId> =
            self.items.keys().filter(|other| self.is_above(id, other)).cloned().collect();
        for id in &gone {
            self.items.remove(id);
        }
    }

    /// The part that the viewer can read, without any hint of the rest.
    fn seen_by(&self, viewer: &Viewer) -> Graph {
        let mut seen = Graph::default();
        for (id, item) in &self.items {
            if self.can_read(viewer, id) {
                let mut item = item.clone();
                item.parent = item.parent.filter(|parent| self.can_read(viewer, parent));
                seen.items.insert(id.clone(), item);
            }
        }
        let both =
            |link: &&Link| seen.items.contains_key(&link.from) && seen.items.contains_key(&link.to);
        seen.links = self.links.iter().filter(both).cloned().collect();
        seen.events =
            self.events.iter().filter(|e| seen.items.contains_key(&e.item)).cloned().collect();
        seen
    }
}

fn text(random: &mut Random) -> String {
    let count = match random.below(20) {
        0 => 0,
        1 => 700,
        _ => 1 + random.below(12),
    };
    let mut text = String::new();
    for _ in 0..count {
        let end = if random.chance(8) { "\n\n" } else { " " };
        let _ = write!(text, "{}{end}", random.pick(&WORDS));
    }
    text
}

fn random_readers(random: &mut Random) -> Readers {
    if random.chance(60) {
        return Readers::Inherit;
    }
    let names: Vec<&str> = (0..random.below(4)).map(|_| *random.pick(&PRINCIPALS)).collect();
    readers(&names)
}

fn random_item(random: &mut Random, graph: &Graph, id: ItemId) -> Item {
    let kind = Kind::new(random.pick::<&str>(&["note", "file", "memory-note"])).unwrap();
    let mut item = Item::new(id, kind, &text(random));
    if random.chance(50) {
        item.title = format!("{} {}", random.pick(&WORDS), random.pick(&WORDS));
    }
    if random.chance(40) {
        item.path = Some(format!("{}/{}.md", random.pick(&WORDS), random.pick(&WORDS)));
    }
    if random.chance(30) {
        let teams = [json!("red"), json!("blue"), json!(["blue", "red"]), json!(null)];
        item.fields.insert("team".to_owned(), random.pick(&teams).clone());
    }
    if random.chance(30) {
        item.fields.insert("threadId".to_owned(), json!(random.pick(&["t1", "t2"])));
    }
    item.position = i64::try_from(random.below(3)).unwrap();
    item.active = !random.chance(10);
    item.updated = random.chance(70).then(|| at(NOW - 100 * random.below(5) as i64));
    item.confidence = random.chance(30).then(|| Score::unit(random.below(11) as f64 / 10.0));
    item.readers = random_readers(random);
    let parents: Vec<ItemId> = graph
        .ids()
        .into_iter()
        .filter(|parent| !graph.items.contains_key(&item.id) || !graph.is_above(&item.id, parent))
        .collect();
    if !parents.is_empty() && random.chance(70) {
        item.parent = Some(random.pick(&parents).clone());
    }
    item
}

/// Writes a graph with history: versions, moves, deletions, changing reader lists.
fn write_full(random: &mut Random, store: &EmbeddedStore, prefix: &str) -> Graph {
    let mut graph = Graph::default();
    let mut names: Vec<String> =
        (0..5 + random.below(28)).map(|n| format!("{prefix}-{n:02}")).collect();
    random.shuffle(&mut names);
    let mut changes = Vec::new();
    for name in &names {
        let item = random_item(random, &graph, id(name));
        graph.items.insert(item.id.clone(), item.clone());
        changes.push(put(item));
        if random.chance(10) {
            store.write(batch(NOW, std::mem::take(&mut changes))).unwrap();
        }
    }
    for _ in 0..random.below(12) {
        let ids = graph.ids();
        let Some(target) = ids.get(random.below(ids.len().max(1))) else { break };
        match random.below(10) {
            0 => {
                graph.remove(target);
                changes.push(Change::Delete(target.clone()));
            }
            1 => {
                graph.remove(target);
                changes.push(Change::Purge(target.clone()));
            }
            2..5 => {
                let mut item = graph.items[target].clone();
                item.readers = random_readers(random);
                graph.items.insert(target.clone(), item.clone());
                changes.push(put(item));
            }
            _ => {
                let item = random_item(random, &graph, target.clone());
                graph.items.insert(target.clone(), item.clone());
                changes.push(put(item));
            }
        }
        if random.chance(40) {
            store.write(batch(NOW, std::mem::take(&mut changes))).unwrap();
        }
    }
    store.write(batch(NOW, std::mem::take(&mut changes))).unwrap();
    // Purges remove links and events, so these are written last.
    for _ in 0..random.below(15) {
        let (from, to) = (id(random.pick(&names)), id(random.pick(&names)));
        let link = Link { from, to, link_type: (*random.pick(&["link", "supports"])).to_owned() };
        graph.links.insert(link.clone());
        changes.push(Change::Link(link));
    }
    for n in 0..random.below(10) {
        let event_kind = *random.pick(&EventKind::ALL);
        let item = id(random.pick(&names));
        let user = (*random.pick(&["anna", "bob"])).to_owned();
        let event = Event { item, user, event_kind, at: at(NOW - (n as i64 % 3)) };
        graph.events.push(event.clone());
        changes.push(Change::AddEvent(event));
    }
    let mut last = batch(NOW, changes);
    last.author = Some("anna".to_owned());
    store.write(last).unwrap();
    graph
}

/// Writes what a viewer can see into a store of its own, in another order.
fn write_seen(random: &mut Random, store: &EmbeddedStore, seen: &Graph) {
    let mut items: Vec<Item> = seen.items.values().cloned().collect();
    random.shuffle(&mut items);
    let mut changes: Vec<Change> = items.into_iter().map(put).collect();
    let mut rest: Vec<Change> = seen.links.iter().cloned().map(Change::Link).collect();
    rest.extend(seen.events.iter().cloned().map(Change::AddEvent));
    random.shuffle(&mut rest);
    changes.extend(rest);
    store.write(batch(NOW, changes)).unwrap();
}

/// Removes a graph from a store; half of the time it leaves dead rows behind.
fn clear(random: &mut Random, store: &EmbeddedStore, graph: &Graph, ids: &[ItemId]) {
    // Events stay with an id, and ids are reused.
    let purge = random.chance(50) || !graph.events.is_empty();
    let roots = graph.items.values().filter(|item| item.parent.is_none());
    let mut changes: Vec<Change> = roots.map(|item| Change::Delete(item.id.clone())).collect();
    if purge {
        changes = ids.iter().cloned().map(Change::Purge).collect();
    } else {
        changes.extend(graph.links.iter().cloned().map(Change::Unlink));
    }
    store.write(batch(NOW, changes)).unwrap();
}

/// Answers as text, equal in both stores. Revisions and authors are left out: they are history.
#[derive(Debug, Default)]
struct AnswerLog(Vec<(String, String)>);

impl AnswerLog {
    fn say(&mut self, question: &str, answer: impl Into<String>) {
        self.0.push((question.to_owned(), answer.into()));
    }

    fn hits(&mut self, question: &str, hits: &[Hit]) {
        let line = |hit: &Hit| format!("{} {:016x}", hit.id, hit.score.get().to_bits());
        self.say(question, hits.iter().map(line).collect::<Vec<_>>().join("\n"));
    }

    fn items<'a>(&mut self, question: &str, items: impl IntoIterator<Item = &'a Stored>) {
        let line = |stored: &Stored| format!("{:?}", stored.item);
        self.say(question, items.into_iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}

fn random_filter(random: &mut Random, ids: &[ItemId]) -> Filter {
    let mut filter = Filter { active_only: random.chance(50), ..Filter::default() };
    if random.chance(20) {
        filter.kinds = vec![Kind::new("note").unwrap()];
    }
    if random.chance(20) {
        filter.updated = (Some(at(NOW - 300)), random.chance(50).then(|| at(NOW)));
    }
    if random.chance(20) {
        filter.confidence_least = Some(Score::unit(0.5));
    }
    if random.chance(30) {
        filter.under = Some(random.pick(ids).clone());
    }
    if random.chance(15) {
        filter.path_prefix = Some((*random.pick(&WORDS)).to_owned());
    }
    if random.chance(15) {
        let teams = [vec![json!("red")], vec![json!("blue"), json!("green")], vec![json!(null)]];
        filter.fields.push(("team".to_owned(), random.pick(&teams).clone()));
    }
    if random.chance(15) {
        filter.fields.push(("threadId".to_owned(), vec![json!("t0"), json!("t1")]));
    }
    filter
}

/// Runs every query; the same random state gives the same queries.
fn ask(random: &mut Random, view: &View, ids: &[ItemId]) -> AnswerLog {
    let mut answers = AnswerLog::default();
    answers.say("token", view.token().to_string());
    for round in 0..5 {
        let filter = random_filter(random, ids);
        let limit = *random.pick(&[1, 3, 1_000]);
        ask_searches(random, view, (&filter, limit, round), &mut answers);
        answers.say(&format!("count {filter:?}"), view.count(&filter).unwrap().to_string());
        for order in [ListOrder::Id, ListOrder::Newest] {
            let mut after = None;
            loop {
                let page = Page { order, after: after.take(), limit: limit.max(3) };
                let found = view.list(&filter, &page).unwrap();
                answers.items(&format!("list {filter:?} {page:?}"), &found);
                after = found.last().map(|stored| stored.item.id.clone());
                if found.len() < page.limit {
                    break;
                }
            }
        }
    }
    ask_structure(random, view, ids, &mut answers);
    answers
}

fn ask_searches(
    random: &mut Random,
    view: &View,
    (filter, limit, round): (&Filter, usize, usize),
    answers: &mut AnswerLog,
) {
    let (one, two) = (*random.pick(&WORDS), *random.pick(&WORDS));
    let query = match round {
        0 => one.to_owned(),
        1 => format!("\"{one} {two}\""),
        2 => format!("{}*", &one[..3]),
        3 => format!("{one} \"{two}\" nothing"),
        _ => format!("{one} {two}"),
    };
    let search = TextSearch {
        query: query.clone(),
        unfinished: random.chance(30),
        all_words: random.chance(30),
        filter: filter.clone(),
        limit,
    };
    let hits = view.search_text(&search).unwrap();
    answers.hits(&format!("{search:?}"), &hits);
    let chunks: Vec<CandidateId> = hits.iter().map(|hit| hit.id.clone()).collect();
    for passage in view.passages(&chunks).unwrap().into_iter().flatten() {
        let place = (passage.chunk, passage.is_whole, passage.span, passage.lines);
        let shown = (&passage.stored.item, place);
        answers.say(&format!("passage for {search:?}"), format!("{shown:?}"));
        let excerpt = view.excerpts(&[&passage], &query, 80).remove(0);
        answers.say(&format!("excerpt for {search:?}"), format!("{excerpt:?}"));
    }
    for effort in [Effort::Fast, Effort::Full, Effort::Exact] {
        let vector = LetterPairs::vector(&format!("\n{query}"));
        let search = VectorSearch { vector, effort, filter: filter.clone(), limit };
        let question = format!("vector {query} {effort:?} {filter:?} {limit}");
        answers.hits(&question, &view.search_vectors(&search).unwrap());
    }
    let search = FuzzySearch {
        query: format!("{one}x {two}"),
        similarity_least: Score::unit(0.1),
        filter: filter.clone(),
        limit,
    };
    answers.hits(&format!("{search:?}"), &view.search_fuzzy(&search).unwrap());
    let frequencies = view.frequencies(&format!("{query} {one} {two}")).unwrap();
    answers.say(&format!("frequencies {query} {one} {two}"), format!("{frequencies:?}"));
}

fn ask_structure(random: &mut Random, view: &View, ids: &[ItemId], answers: &mut AnswerLog) {
    let got = view.get(ids).unwrap();
    answers.items("get", got.iter().flatten());
    for id in ids {
        answers.items(&format!("ancestors {id}"), &view.ancestors(id, 100).unwrap());
        answers.items(&format!("children {id}"), &view.children(id, 100).unwrap());
        let (before, after) = view.siblings(id, 2).unwrap();
        answers.items(&format!("before {id}"), &before);
        answers.items(&format!("after {id}"), &after);
        for direction in [Direction::Outward, Direction::Inward] {
            for linked in view.linked_items(id, direction, &[], 100).unwrap() {
                let shown = format!("{:?} {:?}", linked.link, linked.stored.item);
                answers.say(&format!("linked {direction:?} {id}"), shown);
            }
        }
        answers.say(&format!("usage {id}"), {
            let id = std::slice::from_ref(id);
            format!(
                "{:?} {:?}",
                view.usage(id, None, None).unwrap(),
                view.usage(id, Some("bob"), Some(at(NOW - 1))).unwrap()
            )
        });
    }
    answers.say("trails", format!("{:?}", view.breadcrumbs(ids).unwrap()));
    let from = random.pick(ids);
    answers.say(
        &format!("distances from {from}"),
        format!("{:?}", view.distances(from, ids).unwrap()),
    );
    for user in ["anna", "bob"] {
        for event_kind in [EventKind::Viewed, EventKind::Useful, EventKind::Used] {
            for until in [None, Some(at(NOW - 1))] {
                let recent = view.recent(user, event_kind, at(0), until, 3).unwrap();
                let question = format!("recent {user} {event_kind:?} {until:?}");
                answers.say(&question, format!("{recent:?}"));
            }
        }
    }
}

fn compare(context: &str, full: &AnswerLog, alone: &AnswerLog) {
    for (left, right) in full.0.iter().zip(&alone.0) {
        assert_eq!(left.0, right.0, "{context}: other questions");
        assert!(
            left.1 == right.1,
            "{context}\nasked: {}\nwith what is hidden:\n{}\nwithout:\n{}",
            left.0,
            left.1,
            right.1
        );
    }
    assert_eq!(full.0.len(), alone.0.len(), "{context}: other questions");
}

/// Compares a series of random graphs in one pair of stores, with the remains of earlier ones.
fn check(seed: u64, graphs: u64) -> u64 {
    let mut random = Random::new(seed);
    let (full_folder, alone_folder) = (scratch(), scratch());
    let (full, alone) = (open(full_folder.path()), open(alone_folder.path()));
    let mut compared = 0;
    for number in 0..graphs {
        let prefix = format!("g{number}");
        let graph = write_full(&mut random, &full, &prefix);
        let ids: Vec<ItemId> = (0..33).map(|n| id(format!("{prefix}-{n:02}"))).collect();
        let everyone = viewers();
        for viewer in [random.pick(&everyone), random.pick(&everyone)] {
            let seen = graph.seen_by(viewer);
            write_seen(&mut random, &alone, &seen);
            let mut same = random.clone();
            let with_hidden = ask(&mut random, &full.view(viewer), &ids);
            let without = ask(&mut same, &alone.view(viewer), &ids);
            compare(&format!("seed {seed}, graph {number}, {viewer:?}"), &with_hidden, &without);
            clear(&mut random, &alone, &seen, &ids);
            compared += 1;
        }
        clear(&mut random, &full, &graph, &ids);
    }
    for store in [full, alone] {
        let report = store.check(false).unwrap();
        assert!(report.is_sound(), "seed {seed}: {report:?}");
    }
    compared
}

/// Half of the graphs, so that two tests run in parallel.
fn check_half(half: u64) {
    let seeds = amount("HAVERSACK_GRAPHS", 300).div_ceil(2 * GRAPHS_PER_SEED);
    let compared: u64 = (0..seeds).map(|seed| check(2 * seed + half, GRAPHS_PER_SEED)).sum();
    assert_eq!(compared, 2 * seeds * GRAPHS_PER_SEED);
}

#[test]
fn hidden_items_change_no_answer_x3_w12() {
    check_half(0);
}

#[test]
fn hidden_items_change_no_answer_s2_s3() {
    check_half(1);
}
