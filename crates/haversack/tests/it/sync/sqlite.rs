//! Runs over a SQLite file: incremental, full, interrupted, and with a changed query.

use std::time::Duration;

use haversack::sync::{FullReason, LocalTarget, SourceName, SyncError, SyncRequest, SyncSummary};
use haversack_core::ids::ItemId;
use haversack_core::item::Kind;
use haversack_store::store::block_on;
use haversack_store::store::item::{DocumentKind, Item};

use super::{FailingTarget, SyncFixture, notices};

const TABLE: &str = "CREATE TABLE p (id INTEGER PRIMARY KEY, text TEXT, at TEXT);";
const QUERY: &str = "select * from p";

/// A table with rows 1 to `count`, one a second.
fn shop(count: u32) -> SyncFixture {
    SyncFixture::sqlite(&format!(
        "{TABLE} WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
         INSERT INTO p SELECT i, 'row ' || i, strftime('%Y-%m-%dT%H:%M:%SZ', 1700000000 + i, 'unixepoch') FROM n"
    ))
}

fn full(request: SyncRequest) -> SyncRequest {
    SyncRequest { full: true, ..request }
}

#[test]
fn a_run_reads_what_changed_since_the_last_and_ties_are_found() {
    let place = shop(3);
    let request = place.request(QUERY);
    let first = place.check(&request, [3, 3, 0, 0, 0]);
    assert_eq!(first.full, Some(FullReason::First));
    let again = place.check(&request, [1, 0, 1, 0, 0]);
    assert_eq!(again.full, None);
    // One row changes, and one appears in the second that is already the watermark.
    place.sql(
        "UPDATE p SET text = 'new', at = '2023-11-15T00:00:00Z' WHERE id = 1;
         INSERT INTO p VALUES (4, 'tie', (SELECT at FROM p WHERE id = 3))",
    );
    place.check(&request, [3, 2, 1, 0, 0]);
    assert_eq!(place.item("1").body, "new");
    assert_eq!(place.item("4").body, "tie");
    assert_eq!((place.versions("1"), place.versions("2"), place.versions("3")), (2, 1, 1));
    assert_eq!(place.item("2").updated.unwrap().as_millis(), 1_700_000_002_000);
}

#[test]
fn a_row_that_was_only_touched_makes_no_version() {
    let place = shop(2);
    place.check(&place.request(QUERY), [2, 2, 0, 0, 0]);
    let revision = place.snapshot().revision();
    place.sql("UPDATE p SET at = '2024-01-01T00:00:00Z'");
    place.check(&place.request(QUERY), [2, 0, 2, 0, 0]);
    assert_eq!((place.versions("1"), place.snapshot().revision()), (1, revision));
    // The watermark moved all the same.
    place.sql("UPDATE p SET at = '2023-12-01T00:00:00Z', text = 'x' WHERE id = 1");
    place.check(&place.request(QUERY), [1, 0, 1, 0, 0]);
}

#[test]
fn items_go_when_a_full_pass_misses_their_rows() {
    let mut place = shop(3);
    place.check(&place.request(QUERY), [3, 3, 0, 0, 0]);
    place.sql("DELETE FROM p WHERE id = 2");
    place.check(&place.request(QUERY), [1, 0, 1, 0, 0]);
    assert_eq!(place.ids(), "1 2 3");
    let asked = place.check(&full(place.request(QUERY)), [2, 0, 2, 1, 0]);
    assert_eq!((asked.full, place.ids().as_str()), (Some(FullReason::Requested), "1 3"));
    place.sql("DELETE FROM p WHERE id = 1");
    place.later(Duration::from_secs(23 * 60 * 60));
    assert_eq!(place.check(&place.request(QUERY), [1, 0, 1, 0, 0]).full, None);
    place.later(Duration::from_secs(60 * 60));
    let never = SyncRequest { full_every: None, ..place.request(QUERY) };
    assert_eq!(place.check(&never, [1, 0, 1, 0, 0]).full, None);
    let old = place.check(&place.request(QUERY), [1, 0, 1, 1, 0]);
    assert_eq!((old.full, place.ids().as_str()), (Some(FullReason::Age), "3"));
}

#[test]
fn without_a_column_of_changes_every_run_is_a_full_pass() {
    let place = shop(3);
    let mut request = place.request(QUERY);
    request.columns.updated = None;
    place.check(&request, [3, 3, 0, 0, 0]);
    place.sql("DELETE FROM p WHERE id = 3; UPDATE p SET text = 'x' WHERE id = 1");
    let again = place.check(&request, [2, 1, 1, 1, 0]);
    assert_eq!(again.full, Some(FullReason::NoUpdatedColumn));
}

#[test]
fn most_items_go_only_when_somebody_asks() {
    let place = shop(20);
    place.check(&place.request(QUERY), [20, 20, 0, 0, 0]);
    let mut request = place.request("select * from p where id > 15");
    request.name = SourceName::given("shop/row").unwrap();
    let held = place.check(&request, [5, 0, 5, 0, 0]);
    assert_eq!((held.full, held.held_back), (Some(FullReason::Changed), 15));
    assert_eq!(place.snapshot().revision().get(), 1);
    place.check(&full(request), [5, 0, 5, 15, 0]);
    assert_eq!(place.ids(), "16 17 18 19 20");
}

#[test]
fn another_query_does_not_take_the_default_name_of_the_first() {
    let place = shop(3);
    place.check(&place.request(QUERY), [3, 3, 0, 0, 0]);
    let other = place.request("select * from p where id = 1");
    let error = place.run(&other).unwrap_err();
    assert!(matches!(&error, SyncError::NameTaken { name } if name == "shop/row"), "{error}");
    assert_eq!(place.ids(), "1 2 3");
    // Another way to make items of the same rows is the same source.
    let mut mapped = place.request(QUERY);
    mapped.columns.title = Some("text".to_owned());
    let changed = place.check(&mapped, [3, 3, 0, 0, 0]);
    assert_eq!(changed.full, Some(FullReason::Changed));
    assert_eq!(place.item("1").title, "row 1");
}

#[test]
fn a_run_that_is_killed_between_batches_repeats_nothing_wrong() {
    let place = shop(1_700);
    let request = place.request(QUERY);
    let killed_after = |batches: usize, request: &SyncRequest| {
        let inner = LocalTarget::new(&*place.store);
        let mut target = FailingTarget { inner, batches_left: batches };
        assert!(matches!(place.run_on(&mut target, request), Err(SyncError::Stopped)));
    };
    // A first pass that is killed begins again; what it wrote is there and makes no second version.
    killed_after(2, &request);
    assert_eq!(place.check(&request, [1_700, 700, 1_000, 0, 0]).full, Some(FullReason::First));
    place.sql("UPDATE p SET text = 'new ' || id, at = '2024-' || substr(at, 6)");
    // An incremental run that is killed goes on at the batch that was not written.
    killed_after(2, &request);
    let rest = place.check(&request, [701, 700, 1, 0, 0]);
    assert_eq!(rest.full, None);
    for id in ["1", "999", "1000", "1001", "1700"] {
        assert_eq!((place.versions(id), place.item(id).body), (2, format!("new {id}")), "{id}");
    }
    // A full pass that is killed deletes nothing by half a look.
    place.sql("DELETE FROM p WHERE id = 7");
    killed_after(1, &full(request.clone()));
    assert_eq!(place.versions("7"), 2);
    assert!(place.stored("1700").is_some());
    place.check(&full(request), [1_699, 0, 1_699, 1, 0]);
    assert!(place.stored("7").is_none());
}

#[test]
fn a_row_without_a_time_is_read_each_time_and_a_future_one_does_not_hide_the_rest() {
    let place = shop(1);
    place.sql(
        "INSERT INTO p VALUES (2, 'no time', NULL), (3, 'wrong clock', '2999-01-01T00:00:00Z')",
    );
    let first = place.check(&place.request(QUERY), [3, 3, 0, 0, 0]);
    assert_eq!(
        notices(&first),
        [
            "row 2, column at: is NULL, so every run reads this row",
            "row 3, column at: is in the future, so every run reads this row",
        ]
    );
    place.sql(
        "INSERT INTO p VALUES (4, 'in time', '2024-01-01T00:00:00Z');
         UPDATE p SET text = 'still no time' WHERE id = 2",
    );
    place.check(&place.request(QUERY), [4, 2, 2, 0, 0]);
    assert_eq!(place.item("2").body, "still no time");
}

#[test]
fn a_dry_run_tells_and_writes_nothing() {
    let place = shop(3);
    let dry = |request: SyncRequest| SyncRequest { dry_run: true, ..request };
    place.check(&dry(place.request(QUERY)), [3, 3, 0, 0, 0]);
    assert_eq!(place.ids(), "");
    place.check(&place.request(QUERY), [3, 3, 0, 0, 0]);
    place.sql(
        "DELETE FROM p WHERE id = 1; UPDATE p SET text = 'x', at = '2024-01-01T00:00:00Z' WHERE id = 2",
    );
    place.check(&dry(full(place.request(QUERY))), [2, 1, 1, 1, 0]);
    assert_eq!((place.ids().as_str(), place.item("2").body.as_str()), ("1 2 3", "row 2"));
    place.check(&place.request(QUERY), [2, 1, 1, 0, 0]);
}

#[test]
fn sources_share_a_workspace_and_touch_only_their_own_items() {
    let place = shop(2);
    place.put(Item::new(ItemId::new("2").unwrap(), Kind::new("note").unwrap(), "a note"));
    let first = place.check(&place.request(QUERY), [2, 1, 0, 0, 1]);
    assert!(notices(&first)[0].starts_with("row 2: an item from elsewhere has this id"));
    let mut prefixed = place.request(QUERY);
    prefixed.name = SourceName::given("shop/row2").unwrap();
    prefixed.id_prefix = "p-".to_owned();
    place.check(&prefixed, [2, 2, 0, 0, 0]);
    assert_eq!(place.ids(), "1 2 p-1 p-2");
    place.sql("DELETE FROM p");
    // Fewer than ten items are no reason to ask back.
    let gone: SyncSummary = place.check(&full(place.request(QUERY)), [0, 0, 0, 1, 0]);
    assert_eq!((gone.held_back, place.ids().as_str()), (0, "2 p-1 p-2"));
    assert_eq!(place.item("2").body, "a note");
}

#[test]
fn what_a_source_was_is_a_record_of_the_workspace_without_the_address() {
    let place = shop(2);
    place.check(&place.request(QUERY), [2, 2, 0, 0, 0]);
    let record = block_on(place.snapshot().record(DocumentKind::Source, "sync:shop/row"));
    let text = record.unwrap().unwrap().text;
    assert!(text.contains("\"watermark\":\"2023-11-14T22:13:22Z\""), "{text}");
    assert!(!text.contains("shop.db") && !text.contains("select"), "{text}");
}

#[test]
fn queries_that_cannot_be_read_name_what_is_wrong() {
    let place = shop(1);
    let check = |request: &SyncRequest, expected: &str| {
        let error = place.run(request).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(&place.request("select text, at from p"), "no column \"id\"; it has text, at");
    check(&place.request("select id, text from p"), "no column \"at\"; it has id, text");
    check(&place.request("delete from p"), "must be one SELECT");
    check(&place.request("select * from missing"), "no such table: missing");
    let mut twice = place.request(QUERY);
    twice.columns.text = Some("at".to_owned());
    check(&twice, "\"at\" is named for two things: text and updated");
    let profile = SyncRequest { kind: super::kind("company_profile"), ..place.request(QUERY) };
    check(&profile, "cannot become items of the kind company_profile");
    assert_eq!(place.ids(), "");
}
