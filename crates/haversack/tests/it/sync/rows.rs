//! From columns to the parts of an item.

use std::collections::{BTreeMap, BTreeSet};

use haversack::sync::SyncRequest;
use haversack_core::item::Kind;
use haversack_store::store::viewer::{Principal, Readers};
use serde_json::{Value, json};

use super::{SyncFixture, kind, notices};

/// A full pass over a query, of a kind.
fn request(place: &SyncFixture, query: &str, name: &str) -> SyncRequest {
    let mut request = SyncRequest { kind: kind(name), ..place.request(query) };
    request.columns.updated = None;
    request
}

#[test]
fn columns_become_the_fields_that_a_kind_defines() {
    let place = SyncFixture::sqlite(
        "CREATE TABLE products (id TEXT, name TEXT, description TEXT, use_cases TEXT, is_active INTEGER,
           pricing REAL, kind TEXT, trust TEXT, created_at INTEGER, updated_at TEXT);
         INSERT INTO products VALUES ('r-1', 'Roaster', 'Roasts coffee', '[\"cafés\", \"homes\"]', 1, 499.5,
           'company_profile', 'trusted', 1700000000, '2026-01-31 09:30:00');
         INSERT INTO products VALUES ('r-2', 'Old roaster', NULL, 'museums', 0, NULL, NULL, NULL, NULL, NULL);",
    );
    let request = request(&place, "select * from products", "product");
    place.check(&request, [2, 2, 0, 0, 0]);
    let roaster = place.item("r-1");
    assert_eq!((roaster.title.as_str(), roaster.body.as_str()), ("Roaster", ""));
    // What the kind defines has its name and type; what it does not is kept, and claims nothing (X11).
    assert_eq!(
        Value::Object(roaster.fields.clone()),
        json!({
            "name": "Roaster", "description": "Roasts coffee", "useCases": ["cafés", "homes"], "isActive": true,
            "pricing": 499.5, "kind": "company_profile", "trust": "trusted",
        })
    );
    assert_eq!((roaster.kind.as_str(), roaster.trust.as_str()), ("product", "internal"));
    assert_eq!(roaster.created.unwrap().as_millis(), 1_700_000_000_000);
    assert_eq!(roaster.updated.unwrap().to_string(), "2026-01-31T09:30:00Z");
    assert_eq!(roaster.path.as_deref(), Some("db:shop/row"));
    let old = place.item("r-2");
    assert!(!old.active);
    assert_eq!(old.fields["useCases"], json!(["museums"]));
    place.check(&request, [2, 0, 2, 0, 0]);
}

#[test]
fn a_row_of_no_defined_kind_is_its_text_or_its_columns() {
    let place = SyncFixture::sqlite(
        "CREATE TABLE t (id INTEGER, body TEXT, name TEXT, city TEXT);
         INSERT INTO t VALUES (1, 'The text.', 'Title', 'Lübeck'), (2, NULL, NULL, 'Kiel');",
    );
    place.check(&request(&place, "select * from t", "shop_note"), [2, 2, 0, 0, 0]);
    let item = place.item("1");
    assert_eq!((item.title.as_str(), item.body.as_str()), ("Title", "The text."));
    assert_eq!(Value::Object(item.fields), json!({ "city": "Lübeck" }));
    let place = SyncFixture::sqlite(
        "CREATE TABLE t (id INTEGER, city TEXT, n INTEGER); INSERT INTO t VALUES (1, 'Kiel', 7)",
    );
    place.check(&request(&place, "select * from t", "row"), [1, 1, 0, 0, 0]);
    assert_eq!(place.item("1").body, "city: Kiel\nn: 7\n");
    let mut chosen = request(&place, "select * from t", "row");
    chosen.columns.text = Some("CITY".to_owned());
    place.check(&chosen, [1, 1, 0, 0, 0]);
    assert_eq!(place.item("1").body, "Kiel");
}

#[test]
fn a_row_that_is_no_item_names_its_row_and_column() {
    let place = SyncFixture::sqlite(
        "CREATE TABLE t (id, text TEXT, photo BLOB);
         INSERT INTO t VALUES (NULL, 'a', NULL), (NULL, 'b', NULL), (1.5, 'c', NULL), ('', 'd', NULL),
           ('x', 'e', x'00'), ('x', 'f', NULL), ('y', NULL, NULL), ('z', 'g', x'01');",
    );
    let summary = place.check(&request(&place, "select * from t", "row"), [8, 2, 0, 0, 6]);
    let mut found = notices(&summary);
    found.sort();
    assert_eq!(
        found,
        [
            "row 1 of the result, column id: is NULL, but a row needs an id (and 1 more rows)",
            "row 3 of the result, column id: an id is a text, a whole number or a uuid: convert it in the query",
            "row 4 of the result, column id: is empty, but a row needs an id",
            "row x, column id: an earlier row has this id; only the first one counts",
            "row x, column photo: blob is not read and was left out: convert it in the query, or leave it out \
             (and 1 more rows)",
            "row y: it has no text, title or fields",
        ]
    );
    assert_eq!(place.ids(), "x z");
}

#[test]
fn the_store_refuses_single_rows_and_takes_the_rest() {
    let place = SyncFixture::sqlite(
        "CREATE TABLE t (id TEXT, tone TEXT, name TEXT, description TEXT, isActive TEXT);
         INSERT INTO t VALUES ('a', 'x', 'A', 'fine', NULL), ('b', 'x', 'B', 'wrong', 'perhaps');",
    );
    let summary = place.check(&request(&place, "select * from t", "product"), [2, 1, 0, 0, 1]);
    let told = notices(&summary);
    assert!(told[0].starts_with("row b: ") && told[0].contains("isActive"), "{told:?}");
    assert_eq!(place.ids(), "a");
}

#[test]
fn readers_are_those_of_the_request_or_of_a_mapped_user() {
    let place = SyncFixture::sqlite(
        "CREATE TABLE t (id INTEGER, text TEXT, owner TEXT);
         INSERT INTO t VALUES (1, 'a', 'u-17'), (2, 'b', 'u-18');",
    );
    let only = |name: &str| Readers::Only([Principal::parse(name).unwrap()].into());
    let query = "select * from t";
    let plain = request(&place, query, "row");
    place.check(&plain, [2, 2, 0, 0, 0]);
    assert_eq!(place.item("1").readers, Readers::Inherit);
    let sales: BTreeSet<Principal> = [Principal::group("sales").unwrap()].into();
    let users: BTreeMap<String, Principal> =
        [("u-17".to_owned(), Principal::user("anna").unwrap())].into();
    let told = SyncRequest { readers: Some(sales), users, ..plain.clone() };
    place.check(&told, [2, 2, 0, 0, 0]);
    assert_eq!(
        (place.item("1").readers, place.item("2").readers),
        (only("anna"), only("group:sales"))
    );
    // A request that does not name readers leaves them: nothing is opened by leaving an option out.
    place.check(&plain, [2, 0, 2, 0, 0]);
    assert_eq!(place.item("2").readers, only("group:sales"));
    assert_eq!(place.item("2").kind, Kind::new("row").unwrap());
}
