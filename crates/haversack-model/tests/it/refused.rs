//! Folders that hold no usable model, and the errors for them.

use std::fs;
use std::path::Path;

use haversack_core::embed::Embedder;
use haversack_model::Transformer;
use serde_json::json;

use crate::{model, own, put, tiny};

/// Opens a model that was spoilt; the message has to say this.
#[track_caller]
fn check(spoil: impl FnOnce(&Path), expected: &str) {
    let folder = model();
    spoil(folder.path());
    let error = Transformer::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

fn with(key: &str, value: serde_json::Value) -> serde_json::Value {
    let mut config = tiny::config();
    config[key] = value;
    config
}

#[test]
fn a_missing_file_is_named() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let expected = format!("{file} is missing: a model's folder has config.json, tokenizer");
        check(|folder| fs::remove_file(folder.join(file)).unwrap(), &expected);
    }
    let error = Transformer::open(Path::new("no/such/folder")).unwrap_err().to_string();
    assert!(error.contains("no/such/folder/config.json is missing"), "{error}");
}

#[test]
fn other_architectures_are_refused() {
    let check = |key: &str, value: serde_json::Value, expected: &str| {
        check(|folder| put(folder, "config.json", &with(key, value)), expected);
    };
    check("model_type", json!("t5"), "architecture is \"t5\"; only \"bert\" can be computed");
    check("hidden_act", json!("relu"), "hidden_act is \"relu\"; only \"gelu\"");
    check("position_embedding_type", json!("relative_key"), "only \"absolute\"");
    check("num_attention_heads", json!(5), "hidden_size 32 is no multiple of 5 attention heads");
    check("num_hidden_layers", json!(1_000), "num_hidden_layers is 1000; use 1 to 48");
    check("hidden_size", json!(0), "hidden_size is 0; use 1 to 4096");
    check("hidden_size", json!(-1), "config.json cannot be read: invalid value");
    check("layer_norm_eps", json!(2.0), "layer_norm_eps is 2; use 0 to 1");
}

#[test]
fn weights_that_do_not_fit_are_refused() {
    let single = |number: f32| number.to_le_bytes().to_vec();
    let change = |change: fn(&mut tiny::TinyTensors), expected: &str| {
        let spoil = |folder: &Path| {
            let mut tensors = tiny::tensors();
            change(&mut tensors);
            tiny::weights(folder, &tensors, "F32", single);
        };
        check(spoil, expected);
    };
    let one = "there is no tensor \"encoder.layer.1.output.dense.bias\", which config.json calls";
    change(|tensors| drop(tensors.remove("encoder.layer.1.output.dense.bias")), one);
    let two = "embeddings.LayerNorm.bias has the shape [16], not [32]";
    let short = |tensors: &mut tiny::TinyTensors| {
        tensors.insert("embeddings.LayerNorm.bias".to_owned(), (vec![16], vec![0.0; 16]));
    };
    change(short, two);
    let lying = |tensors: &mut tiny::TinyTensors| {
        tensors.insert("embeddings.LayerNorm.bias".to_owned(), (vec![32], vec![0.0; 16]));
    };
    change(lying, "embeddings.LayerNorm.bias is said to be at bytes");
    let endless = |tensors: &mut tiny::TinyTensors| {
        let name = "encoder.layer.0.output.dense.bias";
        tensors.insert(name.to_owned(), (vec![32], vec![f32::INFINITY; 32]));
    };
    change(endless, "encoder.layer.0.output.dense.bias holds a number that is not finite");
    let whole = |folder: &Path| {
        tiny::weights(folder, &tiny::tensors(), "I32", single);
    };
    check(whole, "is of type I32; use F32, F16 or BF16");
    let deeper = |folder: &Path| put(folder, "config.json", &with("num_hidden_layers", json!(3)));
    check(deeper, "there is no tensor \"encoder.layer.2.");
}

#[test]
fn malformed_files_are_rejected() {
    let write = |file: &'static str, bytes: &'static [u8], expected: &str| {
        check(|folder| fs::write(folder.join(file), bytes).unwrap(), expected);
    };
    write("config.json", b"{", "config.json cannot be read: EOF");
    write("tokenizer.json", b"{}", "tokenizer.json cannot be read");
    write("model.safetensors", b"abc", "model.safetensors cannot be read: it ends inside");
    write(
        "model.safetensors",
        b"\x09\0\0\0\0\0\0\0{}",
        "cannot be read: it ends inside its header",
    );
    write("model.safetensors", b"PK\x03\x04\x14\0\0\x08\0", "bytes: is it a safetensors file?");
    write("model.safetensors", b"\x02\0\0\0\0\0\0\0{}", "there is no tensor \"embeddings.word");
    write(
        "1_Pooling/config.json",
        b"{\"pooling_mode_max_tokens\": true}",
        "pooling is \"max_tokens\"",
    );
    write(
        "modules.json",
        b"[{\"type\": \"x.models.Dense\"}]",
        "the module \"x.models.Dense\" is not",
    );
    let large = |folder: &Path| {
        fs::File::create(folder.join("config.json")).unwrap().set_len(2 << 20).unwrap();
    };
    check(large, "config.json has 2097152 bytes, more than the limit of 1048576");
}

#[test]
fn a_vocabulary_of_another_model_is_refused() {
    let fewer = |folder: &Path| {
        let mut tensors = tiny::tensors();
        let name = "embeddings.word_embeddings.weight";
        tensors.insert(name.to_owned(), (vec![9, 32], vec![0.5; 9 * 32]));
        tiny::weights(folder, &tensors, "F32", |number| number.to_le_bytes().to_vec());
        put(folder, "config.json", &with("vocab_size", json!(9)));
    };
    check(fewer, "makes ids up to 67, but the model has 9 words: they belong to different models");
}

#[test]
fn own_settings_are_validated() {
    let check = |settings: &str, expected: &str| check(|folder| own(folder, settings), expected);
    check("tokens-max = 49\n", "tokens-max is 49; this model reads 3 to 48");
    check("tokens-max = 2\n", "tokens-max is 2; this model reads 3 to 48");
    check("pooling = \"max\"\n", "unknown variant `max`, expected `mean` or `cls`");
    check("prefix = \"a\"\n", "unknown field `prefix`");
    check("query-prefix = \"a\\nb\"\n", "query-prefix has to be one line of at most 1024 bytes");
}

#[test]
fn files_that_changed_after_they_were_added_embed_nothing() {
    let folder = model();
    own(folder.path(), "version = \"0123456789ab\"\n");
    let embedder = Transformer::open(folder.path()).unwrap();
    assert_eq!(embedder.model().version, "0123456789ab", "nothing was read yet");
    let error = embedder.embed(&["tea"]).unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert!(cause.contains("have changed since they were added"), "{cause}");
}
