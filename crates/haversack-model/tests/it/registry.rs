//! The models of a data folder.

use std::fs;

use haversack_core::embed::Embedder;
use haversack_core::rank::Reranker;
use haversack_model::{BUILT_IN, CrossEncoder, ModelRegistry, NONE, Transformer};

use crate::{model, own, tiny};

#[test]
fn a_model_is_added_selected_and_removed_m4() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let registry = ModelRegistry::in_data_folder(data.path());
    assert!(registry.names().unwrap().is_empty());
    assert_eq!(registry.in_use().unwrap(), BUILT_IN);
    assert_eq!(registry.embedder().unwrap().model().dimensions, 256);
    registry.add(folder.path(), Some("tiny")).unwrap();
    assert_eq!(registry.names().unwrap(), ["tiny"]);
    let added = registry.open("tiny").unwrap();
    let there = Transformer::open(folder.path()).unwrap();
    assert_eq!(added.model().version, there.model().version);
    assert_eq!(added.embed(&["tea"]).unwrap(), there.embed(&["tea"]).unwrap());
    assert_eq!(added.query_prefix(), "query: ");
    let card = registry.card("tiny").unwrap();
    assert_eq!((card.license.as_deref(), card.in_use), (Some("apache-2.0"), false));
    assert_eq!(card.model, format!("tiny@{}/32", there.model().version));
    registry.choose("tiny").unwrap();
    assert_eq!(ModelRegistry::in_data_folder(data.path()).in_use().unwrap(), "tiny");
    assert_eq!(registry.embedder().unwrap().model().to_string(), card.model);
    let error = registry.remove("tiny").unwrap_err().to_string();
    assert_eq!(error, "the model \"tiny\" is in use: choose another one first");
    registry.choose(BUILT_IN).unwrap();
    registry.choose(BUILT_IN).unwrap();
    registry.remove("tiny").unwrap();
    assert!(registry.names().unwrap().is_empty());
    assert!(registry.card(BUILT_IN).unwrap().in_use);
}

#[test]
fn a_reranker_is_added_selected_and_removed_m4() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let mut config = tiny::config();
    config["architectures"] = serde_json::json!(["BertForSequenceClassification"]);
    crate::put(folder.path(), "config.json", &config);
    let registry = ModelRegistry::in_data_folder(data.path());
    assert!(registry.reranker().unwrap().is_none());
    let card = registry.add(folder.path(), Some("pairs")).unwrap();
    assert_eq!((card.dimensions, card.in_use), (None, false));
    assert!(registry.is_reranker("pairs").unwrap() && !registry.is_reranker(BUILT_IN).unwrap());
    registry.choose("pairs").unwrap();
    assert_eq!(registry.in_use().unwrap(), BUILT_IN, "what embeds is another matter");
    let reranker = registry.reranker().unwrap().unwrap();
    assert_eq!(reranker.name(), card.model);
    let there = CrossEncoder::open(folder.path()).unwrap();
    let scores = |reranker: &dyn Reranker| reranker.scores("tea", &["green tea"]).unwrap();
    assert_eq!(scores(&*reranker), scores(&there));
    let error = registry.remove("pairs").unwrap_err().to_string();
    assert_eq!(error, "the model \"pairs\" is in use: choose another one first");
    // Files that change are noticed before they score anything.
    let mut tensors = tiny::tensors();
    tensors.insert("classifier.bias".to_owned(), (vec![1], vec![0.5]));
    let place = data.path().join("models/pairs");
    tiny::weights(&place, &tensors, "F32", |number| number.to_le_bytes().to_vec());
    let error = registry.reranker().unwrap_err().to_string();
    assert!(error.contains("have changed since they were added"), "{error}");
    registry.choose(NONE).unwrap();
    assert!(registry.reranker().unwrap().is_none());
    registry.remove("pairs").unwrap();
}

#[test]
fn errors_say_why_a_model_cannot_be_added_or_selected() {
    let (data, folder) = (tempfile::tempdir().unwrap(), model());
    let registry = ModelRegistry::in_data_folder(data.path());
    let check = |name: &str, expected: &str| {
        let error = registry.add(folder.path(), Some(name)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check("../up", "\"../up\" cannot name a model");
    check("built-in", "\"built-in\" cannot name a model");
    check("in-use", "\"in-use\" cannot name a model");
    check("none", "\"none\" cannot name a model");
    registry.add(folder.path(), Some("tiny")).unwrap();
    check("tiny", "there is a model \"tiny\" already");
    let error = registry.choose("tiney").unwrap_err().to_string();
    assert_eq!(error, "there is no model \"tiney\"");
    fs::remove_file(folder.path().join("config.json")).unwrap();
    check("other", "config.json is missing");
    assert_eq!(registry.names().unwrap(), ["tiny"]);
}

/// What a copy says of itself is not believed when it is added.
#[test]
fn a_model_without_a_name_is_named_after_its_folder() {
    let (data, outer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = outer.path().join("Tiny Model v1.");
    tiny::write(&folder);
    let registry = ModelRegistry::in_data_folder(data.path());
    let added = registry.add(&folder, None).unwrap();
    assert_eq!(added.name, "tiny-model-v1");
    own(&folder, "name = \"better\"\nlicense = \"MIT\"\nversion = \"000000000000\"\n");
    let error = registry.add(&folder, None).unwrap_err().to_string();
    assert!(error.contains("have changed since they were added"), "{error}");
    own(&folder, "name = \"better\"\nlicense = \"MIT\"\n");
    assert_eq!(registry.add(&folder, None).unwrap().name, "better");
    assert_eq!(registry.card("better").unwrap().license.as_deref(), Some("MIT"));
}
