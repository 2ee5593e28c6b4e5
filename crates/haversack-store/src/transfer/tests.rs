use std::sync::Arc;

use haversack_core::embed::BuiltIn;
use haversack_core::ids::ItemId;
use haversack_core::item::{Kind, Trust};
use haversack_core::units::{Score, Timestamp};

use super::*;
use crate::DataFolder;
use crate::kinds::Kinds;
use crate::store::item::{Event, EventKind, Item, Link, Record};
use crate::store::maintenance::{Maintenance, Stores};
use crate::store::query::Filter;
use crate::store::viewer::{Principal, Readers, Viewer};

fn id(id: &str) -> ItemId {
    ItemId::new(id).unwrap()
}

fn item(name: &str, body: &str) -> Item {
    Item::new(id(name), Kind::new("note").unwrap(), body)
}

/// A workspace with something of everything, and ids that need care.
fn changes() -> Vec<Change> {
    let mut parent = item("z/parent \"quoted\"", "\u{1F600} body\nwith lines\r\n\u{2028}");
    parent.readers =
        Readers::Only([Principal::user("anna").unwrap(), Principal::group("a:b").unwrap()].into());
    parent.confidence = Score::new(0.1 + 0.2);
    parent.created = Some(Timestamp::from_millis(-5));
    parent.updated = Some(Timestamp::from_millis(1_700_000_000_123));
    parent.trust = Trust::External;
    parent.fields = serde_json::from_str(
        r#"{"b": 1, "a": [null, 0.1234567890123456789, 1e300, -0.0, 18446744073709551615]}"#,
    )
    .unwrap();
    let mut child = item("a child", "");
    child.parent = Some(parent.id.clone());
    child.position = -3;
    child.active = false;
    child.title = "只有标题".to_owned();
    let mut nobody = item("日本語 id", "x");
    nobody.readers = Readers::Only([].into());
    nobody.path = Some("docs/ü.md".to_owned());
    let link =
        Link { from: child.id.clone(), to: nobody.id.clone(), link_type: "supports".to_owned() };
    let event = Event {
        item: nobody.id.clone(),
        user: "anna".to_owned(),
        event_kind: EventKind::Useful,
        at: Timestamp::from_millis(7),
    };
    let record = Record {
        document_kind: DocumentKind::Template,
        name: "mine".to_owned(),
        text: "{{body}}".to_owned(),
        at: Timestamp::from_millis(9),
    };
    let put = |item| Change::Put(Box::new(item));
    let mut changes: Vec<Change> = [child, parent, nobody].into_iter().map(put).collect();
    changes.extend([Change::Link(link), Change::AddEvent(event.clone()), Change::AddEvent(event)]);
    changes.push(Change::PutRecord(record));
    changes
}

fn open(folder: &std::path::Path) -> Arc<dyn Maintenance> {
    let stores = DataFolder::open(folder).unwrap();
    stores.open("w", Arc::new(BuiltIn::new())).unwrap().for_blocking_threads()
}

fn snapshot(store: &dyn Store, viewer: &Viewer) -> Arc<dyn Snapshot> {
    block_on(store.snapshot(viewer)).unwrap()
}

fn exported(store: &dyn Store) -> String {
    let mut out = Vec::new();
    export(&*snapshot(store, &Viewer::owner()), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn imported(store: &dyn Store, text: &str) -> Result<ImportReport, ImportError> {
    let origin = ("import-1", Timestamp::from_millis(99));
    import(store, &mut text.as_bytes(), origin, &mut |_| {})
}

#[test]
fn what_goes_out_comes_in_and_goes_out_the_same() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let store = open(folders[0].path());
    block_on(store.write(Batch::new(Timestamp::from_millis(50), changes()))).unwrap();
    let first = exported(&*store);
    assert_eq!(first, exported(&*store));
    assert_eq!(first.lines().count(), 8);
    let kept: Vec<usize> =
        ["\"z/parent", "\"a child\""].iter().map(|id| first.find(id).unwrap()).collect();
    assert!(kept[0] < kept[1], "parents come first: {first}");
    let other = open(folders[1].path());
    let done = imported(&*other, &first).unwrap();
    assert_eq!((done.lines, done.stored, done.others), (8, 3, 4));
    assert_eq!(exported(&*other), first);
    let undone = block_on(other.undo("import-1", Timestamp::from_millis(100))).unwrap();
    assert_eq!(undone.removed, 3);
}

#[test]
fn a_viewer_exports_what_it_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    block_on(store.write(Batch::new(Timestamp::from_millis(50), changes()))).unwrap();
    let mut out = Vec::new();
    let done = export(&*snapshot(&*store, &Viewer::user("anna").unwrap()), &mut out).unwrap();
    assert_eq!((done.items, done.links, done.events), (2, 0, 0));
}

#[test]
fn a_bad_line_is_named_and_stops_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let header = "{\"haversack\":\"export\",\"format\":1}\n";
    let good = "{\"type\":\"item\",\"id\":\"a\",\"kind\":\"note\",\"body\":\"x\"}\n";
    let check = |line: &str, expected: &str| {
        let error = imported(&*store, &format!("{header}{good}\n{line}\n")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let n_items =
            block_on(snapshot(&*store, &Viewer::owner()).count(&Filter::default())).unwrap();
        assert_eq!(n_items, 0, "nothing of the batch is written");
    };
    check("{", "line 4: not a JSON object: EOF while parsing an object (at character 1)");
    check("{\"type\":\"thing\"}", "line 4: type: \"thing\" is none of item, link, event, record");
    check("{\"type\":\"item\",\"id\":\"b\"}", "line 4: kind: is missing (1 lines before it");
    check("{\"type\":\"item\",\"id\":7,\"kind\":\"k\"}", "id: expected a text, found a number");
    check("{\"type\":\"item\",\"id\":\"b\",\"kind\":\"k\",\"colour\":1}", "colour: is not known");
    check("{\"type\":\"item\",\"id\":\"b\",\"kind\":\"k\",\"readers\":[1]}", "readers: expected");
    check("{\"type\":\"item\",\"id\":\"b\",\"kind\":\"k\",\"parent\":\"gone\"}", "line 4: b: ");
    check(&"[".repeat(10_000), "line 4: not a JSON object");
    let error = imported(&*store, good).unwrap_err();
    assert!(error.to_string().starts_with("this is no export of haversack"), "{error}");
    let error = imported(&*store, "{\"haversack\":\"export\",\"format\":2}\n").unwrap_err();
    assert!(error.to_string().starts_with("the export has format 2"), "{error}");
}

#[test]
fn a_row_and_an_item_are_read_alike() {
    let read = |json: &str| -> Fields { serde_json::from_str(json).unwrap() };
    let lines = [
        r#"{"id": "a", "kind": "note", "title": "T", "body": "x", "fields": {"colour": "red"}}"#,
        r#"{"id": "a", "kind": "note", "title": "T", "text": "x", "fields": {"colour": "red"}}"#,
        r#"{"id": "a", "kind": "note", "title": "T", "content": "x", "fields": {"colour": "red"}}"#,
    ];
    let kinds = Kinds::built_in();
    let kind = Kind::new("document").unwrap();
    let expected = read_item(read(lines[0]), kinds).unwrap();
    for line in lines {
        assert_eq!(read_item(read(line), kinds).unwrap(), expected, "{line}");
        assert_eq!(read_row(read(line), || "none".to_owned(), &kind).unwrap(), expected, "{line}");
        let exported = json::change_to_json(&Change::Put(Box::new(expected.clone()))).unwrap();
        let Value::Object(exported) = exported else { panic!("{exported}") };
        assert_eq!(read_item(exported, kinds).unwrap(), expected);
    }
    let row = read(r#"{"colour": "red", "active": "no", "fields": 7}"#);
    assert!(read_item(row.clone(), kinds).is_err(), "an item needs an id and known keys");
    let row = read_row(row, || "a.jsonl#1".to_owned(), &kind).unwrap();
    assert_eq!((row.id.as_str(), &row.kind, row.fields.len()), ("a.jsonl#1", &kind, 3));
}
