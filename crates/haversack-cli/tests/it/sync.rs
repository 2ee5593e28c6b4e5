//! `haversack sync`: rows of a database, on the data folder and through a server.

use std::process::Command;

use serde_json::Value;

use crate::server::RunningServer;
use crate::{TestFolder, err, json, out};

fn shop(test: &str) -> TestFolder {
    let folder = TestFolder::new(test);
    sql(
        &folder,
        "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, description TEXT, updated_at TEXT);
         INSERT INTO products VALUES (1, 'Roaster', 'Roasts coffee', '2026-01-01T10:00:00Z'),
           (2, 'Grinder', 'Grinds coffee', '2026-01-01T11:00:00Z');",
    );
    folder
}

fn sql(folder: &TestFolder, statements: &str) {
    let database = rusqlite::Connection::open(folder.0.join("shop.db")).unwrap();
    database.execute_batch(statements).unwrap();
}

/// Syncs the products and shows what happened: full, rows, stored, unchanged, deleted.
#[track_caller]
fn sync(folder: &TestFolder, options: &[&str]) -> String {
    let all = ["--data", "data", "sync", "sqlite:shop.db", "--query", "select * from products"];
    let columns = ["--kind", "product", "--updated", "updated_at", "--json"];
    let document = json(&folder.run(&[&all[..], &columns, options].concat()));
    let names = ["full", "rows", "stored", "unchanged", "deleted"];
    names.map(|name| document[name].to_string()).join(" ")
}

#[track_caller]
fn item(folder: &TestFolder, id: &str) -> Value {
    json(&folder.run(&["--data", "data", "get", id, "--json"]))
}

/// The same runs on a data folder and beside a server, whose store takes the rows.
fn check_runs(folder: &TestFolder) {
    assert_eq!(sync(folder, &["--dry-run"]), "true 2 2 0 0");
    assert_eq!(sync(folder, &[]), "true 2 2 0 0");
    assert_eq!(sync(folder, &[]), "false 1 0 1 0");
    sql(
        folder,
        "UPDATE products SET description = 'Roasts more', updated_at = '2026-02-01T00:00:00Z' WHERE id = 1;
         UPDATE products SET updated_at = '2026-02-01T00:00:00Z' WHERE id = 2;
         INSERT INTO products VALUES (3, 'Scale', 'Weighs', '2026-02-01T00:00:00Z')",
    );
    assert_eq!(sync(folder, &["--dry-run"]), "false 3 2 1 0");
    assert_eq!(sync(folder, &[]), "false 3 2 1 0");
    sql(folder, "DELETE FROM products WHERE id = 2");
    assert_eq!(sync(folder, &[]), "false 2 0 2 0");
    assert_eq!(sync(folder, &["--full", "--dry-run"]), "true 2 0 2 1");
    assert_eq!(sync(folder, &["--full"]), "true 2 0 2 1");
    let list = folder.run(&["--data", "data", "list", "--path", "db:shop/product"]);
    assert!(out(&list).contains("Roaster") && !out(&list).contains("Grinder"), "{}", out(&list));
    assert!(item(folder, "1").to_string().contains("Roasts more"));
}

#[test]
fn rows_are_kept_in_a_data_folder() {
    let folder = shop("sync");
    check_runs(&folder);
    let found = folder.run(&["--data", "data", "search", "what roasts more coffee?"]);
    assert!(out(&found).contains("Roaster"), "{}", out(&found));
    let plain = folder.run(&[
        "--data",
        "data",
        "sync",
        "sqlite:shop.db",
        "--query",
        "select * from products",
        "--kind",
        "product",
        "--updated",
        "updated_at",
    ]);
    let text = out(&plain);
    assert!(text.starts_with("shop/product: read 2 rows that may have changed\n"), "{text}");
    assert!(text.contains("stored 0 items, 2 unchanged, 0 deleted, 0 rows refused"), "{text}");
}

#[test]
fn a_dry_run_makes_no_data_folder() {
    let folder = shop("sync-dry");
    assert_eq!(sync(&folder, &["--dry-run"]), "true 2 2 0 0");
    assert!(!folder.0.join("data").exists());
}

#[test]
fn rows_go_through_a_server_that_has_the_data_folder() {
    let folder = shop("sync-beside");
    let _server = RunningServer::start_with(&folder, "auto", &[]);
    check_runs(&folder);
    // Many and large rows go in several calls.
    sql(
        &folder,
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 529)
         INSERT INTO products
         SELECT i, 'p' || i, replace(hex(zeroblob(1500)), '00', 'word '), '2026-03-01T00:00:00Z' FROM n",
    );
    assert_eq!(sync(&folder, &[]), "false 522 520 2 0");
    assert_eq!(sync(&folder, &[]), "false 520 0 520 0");
}

#[test]
fn what_is_wrong_is_told_before_anything_is_created_and_without_the_password() {
    let folder = shop("sync-wrong");
    let check = |arguments: &[&str], expected: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_haversack"))
            .args(["--data", "data", "sync"])
            .args(arguments)
            .env("PGPASSWORD", "hunter2")
            .env("SHOP", "postgres://anna:hunter2@127.0.0.1:1/shop")
            .current_dir(&folder.0)
            .output()
            .unwrap();
        let text = err(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(text.contains(expected), "{arguments:?}: {text}");
        assert!(!text.contains("hunter2"), "{text}");
        assert!(!folder.0.join("data").exists(), "{arguments:?}");
    };
    let query = ["--query", "select * from products"];
    let with = |first: &[&'static str]| [first, &query].concat();
    check(&with(&["postgres://anna:hunter2@127.0.0.1:1/shop"]), "postgres://anna@127.0.0.1:1/shop");
    check(&with(&["postgres://anna@127.0.0.1:1/shop"]), "cannot connect");
    check(&with(&["--database-env", "SHOP"]), "cannot connect to postgres://anna@127.0.0.1:1/shop");
    check(&with(&["--database-env", "NOT_THERE"]), "NOT_THERE is not set");
    check(&with(&["mysql://anna:hunter2@h/d"]), "neither postgres:// nor sqlite:");
    check(&with(&["sqlite:missing.db"]), "sqlite:missing.db");
    check(&with(&["sqlite:shop.db", "--kind", ""]), "--kind");
    check(&with(&["sqlite:shop.db", "--readers", "group:"]), "--readers");
    check(&query, "DATABASE");
}
