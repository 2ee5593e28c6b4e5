//! A real transformer, tiny and with fixed numbers, against the same arithmetic in plain loops.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking, helpers included")]

mod reference;
mod refused;
mod registry;
mod tiny;

use std::fs;
use std::path::Path;

use haversack_core::embed::{Embedder, Vector};
use haversack_core::rank::Reranker;
use haversack_model::{CrossEncoder, Pooling, Transformer};
use serde_json::json;
use tempfile::TempDir;

fn model() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path());
    folder
}

fn own(folder: &Path, settings: &str) {
    fs::write(folder.join("haversack-model.toml"), settings).unwrap();
}

fn put(folder: &Path, file: &str, value: &serde_json::Value) {
    fs::write(folder.join(file), value.to_string()).unwrap();
}

/// The ids of words and letters of the vocabulary, with the marks around them.
fn ids(pieces: &str) -> Vec<usize> {
    let known = tiny::vocabulary();
    let id = |piece: &str| known.iter().position(|known| known == piece).unwrap();
    ["[CLS]"].into_iter().chain(pieces.split_whitespace()).chain(["[SEP]"]).map(id).collect()
}

fn rows(pieces: &str) -> Vec<Vec<f64>> {
    let ids = ids(pieces);
    reference::encode(&tiny::tensors(), &ids, &vec![0; ids.len()])
}

#[track_caller]
fn near(vector: &Vector, expected: &[f64], slack: f64) {
    assert_eq!(vector.as_slice().len(), expected.len());
    let off = vector.as_slice().iter().zip(expected).map(|(x, y)| (f64::from(*x) - y).abs());
    let off = off.fold(0.0, f64::max);
    assert!(off < slack, "off by {off}");
}

#[test]
fn vectors_equal_those_of_a_plain_reference_m4() {
    let folder = model();
    let embedder = Transformer::open(folder.path()).unwrap();
    let texts = ["Tea is green", "coffee", "", "the launch is in may: tea, coffee zq"];
    let pieces = ["tea is green", "coffee", "", "the launch is in may : tea [UNK] coffee z ##q"];
    let vectors = embedder.embed(&texts).unwrap();
    for (vector, pieces) in vectors.iter().zip(pieces) {
        near(vector, &reference::mean(&rows(pieces)), 2e-6);
    }
    own(folder.path(), "pooling = \"cls\"\n");
    let first = Transformer::open(folder.path()).unwrap();
    for (vector, pieces) in first.embed(&texts).unwrap().iter().zip(pieces) {
        near(vector, &reference::unit(rows(pieces).swap_remove(0)), 2e-6);
    }
    assert_ne!(first.model().version, embedder.model().version, "other vectors, another version");
}

#[test]
fn weights_of_half_precision_are_read_m4() {
    let folder = model();
    let single = Transformer::open(folder.path()).unwrap();
    let single = single.embed(&["tea is green"]).unwrap().remove(0);
    let brain = |number: f32| number.to_bits().to_le_bytes()[2..].to_vec();
    // Half a number's sixteen bits are made from those of the single one; all are in range.
    let half = |number: f32| {
        let bits = number.to_bits();
        let (sign, power) = ((bits >> 16) & 0x8000, ((bits >> 23) & 0xff) as i32 - 112);
        let short =
            if power <= 0 { sign } else { sign | (power as u32) << 10 | (bits >> 13) & 0x3ff };
        short.to_le_bytes()[..2].to_vec()
    };
    tiny::weights(folder.path(), &tiny::tensors(), "F16", half);
    let vector = Transformer::open(folder.path()).unwrap().embed(&["tea is green"]).unwrap();
    assert!(vector[0].dot(&single) > 0.9999, "{}", vector[0].dot(&single));
    tiny::weights(folder.path(), &tiny::tensors(), "BF16", brain);
    let vector = Transformer::open(folder.path()).unwrap().embed(&["tea is green"]).unwrap();
    assert!(vector[0].dot(&single) > 0.999, "{}", vector[0].dot(&single));
}

#[test]
fn old_names_and_a_prefix_of_tensors_are_known_m4() {
    let folder = model();
    let before = Transformer::open(folder.path()).unwrap().embed(&["tea"]).unwrap();
    let old = tiny::tensors().into_iter().map(|(name, tensor)| {
        let name = name.replace("LayerNorm.weight", "LayerNorm.gamma");
        (format!("bert.{}", name.replace("LayerNorm.bias", "LayerNorm.beta")), tensor)
    });
    tiny::weights(folder.path(), &old.collect(), "F32", |number| number.to_le_bytes().to_vec());
    assert_eq!(Transformer::open(folder.path()).unwrap().embed(&["tea"]).unwrap(), before);
}

/// Bit for bit, alone, in company and on several threads.
#[test]
fn a_text_has_one_vector_whatever_it_is_embedded_with_m4() {
    let folder = model();
    let embedder = Transformer::open(folder.path()).unwrap();
    let words = ["tea", "is", "green", "coffee", "black", "the", "launch", "in", "may", "xyz"];
    let text = |n: usize| {
        (0..n % 23).map(|at| words[(n * 7 + at * at) % words.len()]).collect::<Vec<_>>().join(" ")
    };
    let texts: Vec<String> = (0..150).map(text).collect();
    let all: Vec<&str> = texts.iter().map(|text| &**text).collect();
    let together = embedder.embed(&all).unwrap();
    for (text, vector) in all.iter().zip(&together) {
        assert_eq!(embedder.embed(&[text]).unwrap()[0], *vector, "{text:?}");
    }
    let backwards: Vec<&str> = all.iter().rev().copied().collect();
    let mut again = embedder.embed(&backwards).unwrap();
    again.reverse();
    assert_eq!(again, together);
}

#[test]
fn a_query_has_its_own_prefix_m4() {
    let folder = model();
    let embedder = Transformer::open(folder.path()).unwrap();
    let query = embedder.embed_query("green tea").unwrap();
    assert_eq!(query, embedder.embed(&["query: green tea"]).unwrap()[0]);
    assert_ne!(query, embedder.embed(&["green tea"]).unwrap()[0]);
    own(folder.path(), "query-prefix = \"\"\ndocument-prefix = \"the \"\n");
    let other = Transformer::open(folder.path()).unwrap();
    assert_ne!(other.model().version, embedder.model().version, "texts have other vectors now");
    assert_eq!(other.embed(&["tea"]).unwrap()[0], embedder.embed(&["the tea"]).unwrap()[0]);
    own(folder.path(), "query-prefix = \"tea \"\n");
    let other = Transformer::open(folder.path()).unwrap();
    assert_eq!(other.model().version, embedder.model().version, "texts have the same vectors");
}

#[test]
fn long_texts_are_read_up_to_a_limit_m4() {
    let folder = model();
    let embedder = Transformer::open(folder.path()).unwrap();
    assert_eq!((embedder.tokens_max(), embedder.pooling()), (24, Pooling::Mean));
    let vector = |words: usize| embedder.embed(&[&"tea ".repeat(words)]).unwrap().remove(0);
    assert_ne!(vector(21), vector(22));
    assert_eq!(vector(22), vector(23));
    assert_eq!(vector(22), vector(1_000_000));
    own(folder.path(), "tokens-max = 10\n");
    assert_eq!(Transformer::open(folder.path()).unwrap().tokens_max(), 10);
}

#[test]
fn a_cross_encoder_scores_pairs_as_plain_arithmetic_does() {
    let folder = model();
    let reranker = CrossEncoder::open(folder.path()).unwrap();
    let texts = ["coffee", "tea is black", "the launch is in may"];
    let scores = reranker.scores("green tea", &texts).unwrap();
    for (score, text) in scores.iter().zip(texts) {
        let (first, second) = (ids("green tea"), &ids(text)[1..]);
        let types = [vec![0; first.len()], vec![1; second.len()]].concat();
        let tensors = tiny::tensors();
        let rows = reference::encode(&tensors, &[&first[..], second].concat(), &types);
        let pooled = reference::linear(&tensors, "pooler.dense", &rows[0]);
        let pooled: Vec<f64> = pooled.into_iter().map(f64::tanh).collect();
        let output = reference::linear(&tensors, "classifier", &pooled)[0];
        let expected = 1.0 / (1.0 + (-output).exp());
        assert!((score.get() - expected).abs() < 2e-6, "{text}");
        assert_eq!(reranker.scores("green tea", &[text]).unwrap(), [*score]);
    }
    assert!(reranker.scores("green tea", &[]).unwrap().is_empty());
    let mut tensors = tiny::tensors();
    tensors.insert("classifier.weight".to_owned(), (vec![3, 32], vec![0.0; 96]));
    tiny::weights(folder.path(), &tensors, "F32", |number| number.to_le_bytes().to_vec());
    let error = CrossEncoder::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("BertModel has 3 classifier outputs; a reranker has one"), "{error}");
    put(folder.path(), "config.json", &json!({ "model_type": "t5" }));
    CrossEncoder::open(folder.path()).unwrap_err();
}
