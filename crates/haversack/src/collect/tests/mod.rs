//! Tests of the collectors on real stores.

mod follow;
mod history;
mod links;
mod names;
mod readers;
mod samples;
mod search;
mod situation;
mod time;
mod tree;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use haversack_core::candidate::Candidate;
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_core::query::analyse;
use haversack_core::rank::Component;
use haversack_core::units::Timestamp;
use haversack_store::DataFolder;
use haversack_store::store::Store;
use haversack_store::store::change::{Batch, Change};
use haversack_store::store::error::ReadError;
use haversack_store::store::item::{Event, EventKind, Item, Link};
use haversack_store::store::maintenance::{Maintenance, Stores};
use haversack_store::store::query::{Filter, ListOrder, Page};
use haversack_store::store::viewer::{Principal, Readers};
use serde_json::{Map, Value};

use super::{CollectorOutput, Question, SearchCache, Subject, Subjects, table};
use crate::recipe::{CollectorSpec, Setting, Settings, SubjectSpec};
use crate::request::Request;
use crate::situation::{Judge, JudgeError, Verdict};

const HOUR: i64 = 3_600_000;

/// The time in every test, in milliseconds.
const NOW: i64 = 1_000 * HOUR;

/// A judge that always fails: no collector here may ask it.
struct FailingJudge;

impl Judge for FailingJudge {
    fn name(&self) -> &str {
        "nobody"
    }

    fn judge<'a>(
        &'a self,
        _situation: &'a Map<String, Value>,
        _now: Timestamp,
        _conditions: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Verdict>, JudgeError>> {
        let error = || JudgeError { judge: "nobody".into(), cause: "there is nobody".into() };
        async move { Err(error()) }.boxed()
    }
}

fn id(name: &str) -> ItemId {
    ItemId::new(name).unwrap()
}

fn kind(name: &str) -> Kind {
    Kind::new(name).unwrap()
}

/// Returns the moment some hours before now.
fn ago(hours: i64) -> Timestamp {
    Timestamp::from_millis(NOW - hours * HOUR)
}

fn item(name: &str, of: &str, body: &str) -> Item {
    Item { updated: Some(ago(500)), ..Item::new(id(name), kind(of), body) }
}

/// An item with fields, given as a JSON object.
fn item_with_fields(name: &str, of: &str, fields: Value) -> Item {
    let Value::Object(fields) = fields else { panic!("fields are an object") };
    Item { fields, ..item(name, of, "") }
}

fn with_title(title: &str, item: Item) -> Item {
    Item { title: title.to_owned(), ..item }
}

/// Puts an item under a parent, at a position.
fn under(parent: &str, position: i64, item: Item) -> Item {
    Item { parent: Some(id(parent)), position, ..item }
}

fn with_reader(reader: &str, mut item: Item) -> Item {
    item.readers = Readers::Only([Principal::parse(reader).unwrap()].into());
    item
}

fn link(from: &str, link_type: &str, to: &str) -> Change {
    Change::Link(Link { from: id(from), to: id(to), link_type: link_type.to_owned() })
}

fn event(user: &str, event_kind: EventKind, name: &str, at: Timestamp) -> Change {
    Change::AddEvent(Event { item: id(name), user: user.to_owned(), event_kind, at })
}

/// Makes changes that store items.
fn put(items: Vec<Item>) -> Vec<Change> {
    items.into_iter().map(|item| Change::Put(Box::new(item))).collect()
}

/// Returns a collector's specification with its defaults.
fn spec(by: &str, kinds: &[&str]) -> CollectorSpec {
    let doc = table::find(by).unwrap();
    CollectorSpec {
        by: by.to_owned(),
        kinds: kinds.iter().map(|name| kind(name)).collect(),
        settings: Settings::defaults(doc.settings),
        deadline: std::time::Duration::from_secs(10),
    }
}

/// Changes settings of a collector.
fn with_settings(mut spec: CollectorSpec, settings: &[(&str, Setting)]) -> CollectorSpec {
    let doc = table::find(&spec.by).unwrap();
    for (name, value) in settings {
        assert!(doc.settings.iter().any(|setting| setting.name == *name), "{name}");
        spec.settings.set(name, value.clone());
    }
    spec
}

fn one_text(text: &str) -> Setting {
    Setting::Texts(vec![text.to_owned()])
}

fn ask(query: &str) -> Request {
    Request::new("test", query)
}

/// A store to collect from.
struct CollectorStore {
    _folder: tempfile::TempDir,
    store: Arc<dyn Maintenance>,
    now: Timestamp,
}

impl CollectorStore {
    fn new(now: Timestamp, fill: impl FnOnce(&dyn Store)) -> CollectorStore {
        let folder = tempfile::tempdir().unwrap();
        let stores = DataFolder::open(folder.path()).unwrap();
        let store = stores.open("w", crate::default_embedder()).unwrap();
        fill(&*store.for_blocking_threads());
        CollectorStore { _folder: folder, store, now }
    }

    async fn with(changes: Vec<Change>) -> CollectorStore {
        let now = Timestamp::from_millis(NOW);
        let store = CollectorStore::new(now, |_| {});
        store.store.write(Batch::new(now, changes)).await.unwrap();
        store
    }

    async fn question(&self, request: Request) -> Question {
        let now = self.now;
        let snapshot = self.store.snapshot(&request.viewer).await.unwrap();
        let vector = match request.query.as_str() {
            "" => request.vector.clone(),
            query => crate::default_embedder().embed(&[query]).unwrap().pop(),
        };
        let mut subjects = Subjects::default();
        for (name, id) in &request.subjects {
            let mut found = snapshot.get(std::slice::from_ref(id)).await.unwrap();
            let under = Filter { under: Some(id.clone()), ..Filter::default() };
            let page = Page { order: ListOrder::Newest, after: None, limit: 100 };
            let mut items = snapshot.list(&under, &page).await.unwrap();
            items.retain(|stored| stored.item.id != *id);
            let spec = SubjectSpec {
                name: name.clone(),
                kind: Kind::new(name).unwrap(),
                field: format!("{name}Id"),
                facts: Vec::new(),
                implied: true,
            };
            subjects.first.clone_from(name);
            let item = found.pop().flatten();
            subjects.all.push(Subject { spec, id: id.clone(), item, items });
        }
        let analysis = analyse(&request.query, now);
        let (judge, search_cache) = (Arc::new(FailingJudge), SearchCache::default());
        let matches = None;
        let focus_query = None;
        Question {
            request,
            snapshot,
            now,
            analysis,
            vector,
            subjects,
            judge,
            search_cache,
            matches,
            focus_query,
            missing_summaries: None,
        }
    }

    async fn collect_after(
        &self,
        spec: &CollectorSpec,
        request: Request,
        found: &[Candidate],
    ) -> Result<CollectorOutput, ReadError> {
        let question = self.question(request).await;
        (table::find(&spec.by).unwrap().create)().collect(&question, spec, found).await
    }

    async fn collect(&self, spec: &CollectorSpec, request: Request) -> CollectorOutput {
        self.collect_after(spec, request, &[]).await.unwrap()
    }

    /// Checks the candidates, best first, each with its collector's score.
    async fn check(&self, spec: &CollectorSpec, request: Request, expected: &str) {
        let collected = self.collect(spec, request).await;
        assert_eq!(candidate_lines(&collected, &[Component::Collector]), trim_lines(expected));
    }

    /// Checks the candidates' ids, best first.
    async fn check_ids(&self, spec: &CollectorSpec, request: Request, expected: &[&str]) {
        let collected = self.collect(spec, request).await;
        assert_eq!(candidate_lines(&collected, &[]), expected.join("\n"));
    }
}

/// Renders candidates as lines: the id, then the signals.
fn candidate_lines(collected: &CollectorOutput, components: &[Component]) -> String {
    let line = |candidate: &Candidate| {
        let value = |component: &Component| {
            candidate
                .signals
                .get(*component)
                .map_or(" -".to_owned(), |v| format!(" {:.3}", v.get()))
        };
        format!("{}{}", candidate.id, components.iter().map(value).collect::<String>())
    };
    for (candidate, rank) in collected.candidates.iter().zip(1..) {
        assert_eq!(candidate.found.len(), 1, "one finder");
        assert_eq!(candidate.found[0].rank, rank);
    }
    collected.candidates.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn trim_lines(block: &str) -> String {
    block.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n")
}

#[test]
fn four_collectors_run_after_the_others() {
    let after = table::BUILT_IN.iter().filter(|row| (row.create)().runs_after_others());
    let after: Vec<&str> = after.map(|row| row.name).collect();
    assert_eq!(after, ["expand", "follow", "beside", "heading"]);
}
