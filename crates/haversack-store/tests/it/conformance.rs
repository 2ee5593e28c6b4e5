//! The embedded engine passes the conformance suite.

use std::sync::Arc;

use haversack_store::embedded::{AsyncStore, DataFolder};
use haversack_store::store::maintenance::Maintenance;

use crate::support::{LetterPairs, scratch};

fn check(part: &str) {
    let folder = scratch();
    let data_folder = DataFolder::open(folder.path()).unwrap();
    let empty = async |case: &'static str| {
        let name = case.replace('_', "-");
        let engine = data_folder.workspace(&name, LetterPairs::shared()).unwrap();
        let store: Arc<dyn Maintenance> = Arc::new(AsyncStore::new(Arc::new(engine)));
        store
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(haversack_conformance::run(part, empty));
}

#[test]
fn writes() {
    check("writes");
}

#[test]
fn readers_x3_w12() {
    check("readers");
}

#[test]
fn rights() {
    check("rights");
}

#[test]
fn searches() {
    check("searches");
}

#[test]
fn states_x3_x11() {
    check("states");
}

#[test]
fn structure() {
    check("structure");
}

#[test]
fn traces() {
    check("traces");
}

#[test]
fn models_b4_m4() {
    check("models");
}

#[test]
fn every_conformance_part_has_a_test() {
    let parts: Vec<&str> = haversack_conformance::ALL.iter().map(|(part, _)| *part).collect();
    let tested = [
        "writes",
        "readers",
        "rights",
        "searches",
        "states",
        "structure",
        "traces",
        "models",
        "erasure",
    ];
    assert_eq!(parts, tested);
}

#[test]
fn erasure_s23() {
    check("erasure");
}
