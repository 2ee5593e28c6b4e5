//! The models of a data folder.

use std::fs;

use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_model::{BUILT_IN, CrossEncoder, NONE, Shelf, Transformer};

use crate::{model, own, tiny};

#[test]
fn a_model_is_added_chosen_and_given_up_m4() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let shelf = Shelf::of(data.path());
    assert!(shelf.names().unwrap().is_empty());
    assert_eq!(shelf.in_use().unwrap(), BUILT_IN);
    assert_eq!(shelf.embedder().unwrap().model().dimensions, 256);
    shelf.add(folder.path(), Some("tiny")).unwrap();
    assert_eq!(shelf.names().unwrap(), ["tiny"]);
    let added = shelf.open("tiny").unwrap();
    let there = Transformer::open(folder.path()).unwrap();
    assert_eq!(added.model().version, there.model().version);
    assert_eq!(added.embed(&["tea"]).unwrap(), there.embed(&["tea"]).unwrap());
    assert_eq!(added.query_prefix(), "query: ");
    let card = shelf.card("tiny").unwrap();
    assert_eq!((card.license.as_deref(), card.in_use), (Some("apache-2.0"), false));
    assert_eq!(card.model, format!("tiny@{}/32", there.model().version));
    shelf.choose("tiny").unwrap();
    assert_eq!(Shelf::of(data.path()).in_use().unwrap(), "tiny");
    assert_eq!(shelf.embedder().unwrap().model().to_string(), card.model);
    let error = shelf.remove("tiny").unwrap_err().to_string();
    assert_eq!(error, "the model \"tiny\" is in use: choose another one first");
    shelf.choose(BUILT_IN).unwrap();
    shelf.choose(BUILT_IN).unwrap();
    shelf.remove("tiny").unwrap();
    assert!(shelf.names().unwrap().is_empty());
    assert!(shelf.card(BUILT_IN).unwrap().in_use);
}

#[test]
fn a_reranker_is_added_chosen_and_given_up_m4() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let mut config = tiny::config();
    config["architectures"] = serde_json::json!(["BertForSequenceClassification"]);
    crate::put(folder.path(), "config.json", &config);
    let shelf = Shelf::of(data.path());
    assert!(shelf.reranker().unwrap().is_none());
    let card = shelf.add(folder.path(), Some("pairs")).unwrap();
    assert_eq!((card.dimensions, card.in_use), (None, false));
    assert!(shelf.is_reranker("pairs").unwrap() && !shelf.is_reranker(BUILT_IN).unwrap());
    shelf.choose("pairs").unwrap();
    assert_eq!(shelf.in_use().unwrap(), BUILT_IN, "what embeds is another matter");
    let reranker = shelf.reranker().unwrap().unwrap();
    assert_eq!(reranker.name(), card.model);
    let there = CrossEncoder::open(folder.path()).unwrap();
    let scores = |reranker: &dyn Reranker| reranker.scores("tea", &["green tea"]).unwrap();
    assert_eq!(scores(&*reranker), scores(&there));
    let error = shelf.remove("pairs").unwrap_err().to_string();
    assert_eq!(error, "the model \"pairs\" is in use: choose another one first");
    // Files that change are noticed before they score anything.
    let mut tensors = tiny::tensors();
    tensors.insert("classifier.bias".to_owned(), (vec![1], vec![0.5]));
    let place = data.path().join("models/pairs");
    tiny::weights(&place, &tensors, "F32", |number| number.to_le_bytes().to_vec());
    let error = shelf.reranker().unwrap_err().to_string();
    assert!(error.contains("have changed since they were added"), "{error}");
    shelf.choose(NONE).unwrap();
    assert!(shelf.reranker().unwrap().is_none());
    shelf.remove("pairs").unwrap();
}

#[test]
fn what_cannot_be_added_or_chosen_is_said() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let shelf = Shelf::of(data.path());
    let check = |name: &str, expected: &str| {
        let error = shelf.add(folder.path(), Some(name)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("../up", "\"../up\" cannot name a model");
    check("built-in", "\"built-in\" cannot name a model");
    check("in-use", "\"in-use\" cannot name a model");
    check("none", "\"none\" cannot name a model");
    shelf.add(folder.path(), Some("tiny")).unwrap();
    check("tiny", "there is a model \"tiny\" already");
    let error = shelf.choose("tiney").unwrap_err().to_string();
    assert_eq!(error, "there is no model \"tiney\"");
    fs::remove_file(folder.path().join("config.json")).unwrap();
    check("other", "config.json is missing");
    assert_eq!(shelf.names().unwrap(), ["tiny"]);
}

/// What a copy says of itself is not believed when it is added.
#[test]
fn a_model_without_a_name_is_named_after_its_folder() {
    let (data, outer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = outer.path().join("Tiny Model v1.");
    tiny::write(&folder);
    let shelf = Shelf::of(data.path());
    let added = shelf.add(&folder, None).unwrap();
    assert_eq!(added.name, "tiny-model-v1");
    own(&folder, "name = \"better\"\nlicense = \"MIT\"\nversion = \"000000000000\"\n");
    let error = shelf.add(&folder, None).unwrap_err().to_string();
    assert!(error.contains("have changed since they were added"), "{error}");
    own(&folder, "name = \"better\"\nlicense = \"MIT\"\n");
    assert_eq!(shelf.add(&folder, None).unwrap().name, "better");
    assert_eq!(shelf.card("better").unwrap().license.as_deref(), Some("MIT"));
}
