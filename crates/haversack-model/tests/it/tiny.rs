//! A tiny BERT with fixed numbers, written to a folder as model hubs give one out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

pub(crate) const SIZE: usize = 32;
pub(crate) const WIDE: usize = 64;
pub(crate) const HEADS: usize = 4;
pub(crate) const LAYERS: usize = 2;
pub(crate) const POSITIONS: usize = 48;

const WORDS: [&str; 16] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "tea", "is", "green", "coffee", "black", "the",
    "launch", "in", "may", "query", ":",
];

/// Tensors by name: shape and numbers.
pub(crate) type TinyTensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// The pieces that the tokenizer knows, in the order of their ids: some words, then letters.
pub(crate) fn vocabulary() -> Vec<String> {
    let mut pieces: Vec<String> = WORDS.iter().map(|word| (*word).to_owned()).collect();
    pieces.extend(('a'..='z').map(String::from));
    pieces.extend(('a'..='z').map(|letter| format!("##{letter}")));
    pieces
}

/// Numbers between -1 and 1 that look random and are the same everywhere.
fn numbers(name: &str, count: usize) -> impl Iterator<Item = f32> {
    let mut state = name.bytes().fold(0x9e37_79b9_7f4a_7c15u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (0..count).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    })
}

/// All tensors of the encoder, with a head for scores.
pub(crate) fn tensors() -> TinyTensors {
    let mut all = TinyTensors::new();
    let mut one = |name: String, shape: &[usize]| {
        let count = shape.iter().product();
        let is_norm = name.ends_with("LayerNorm.weight");
        let (base, spread) = if is_norm { (1.0, 0.2) } else { (0.0, 0.3) };
        let values = numbers(&name, count).map(|number| base + number * spread).collect();
        all.insert(name, (shape.to_vec(), values));
    };
    one("embeddings.word_embeddings.weight".into(), &[vocabulary().len(), SIZE]);
    one("embeddings.position_embeddings.weight".into(), &[POSITIONS, SIZE]);
    one("embeddings.token_type_embeddings.weight".into(), &[2, SIZE]);
    let mut pair = |name: String, shape: &[usize]| {
        one(format!("{name}.weight"), shape);
        one(format!("{name}.bias"), &shape[..1]);
    };
    pair("embeddings.LayerNorm".into(), &[SIZE]);
    for layer in 0..LAYERS {
        let layer = format!("encoder.layer.{layer}");
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            pair(format!("{layer}.attention.{part}"), &[SIZE, SIZE]);
        }
        pair(format!("{layer}.attention.output.LayerNorm"), &[SIZE]);
        pair(format!("{layer}.intermediate.dense"), &[WIDE, SIZE]);
        pair(format!("{layer}.output.dense"), &[SIZE, WIDE]);
        pair(format!("{layer}.output.LayerNorm"), &[SIZE]);
    }
    pair("pooler.dense".into(), &[SIZE, SIZE]);
    pair("classifier".into(), &[1, SIZE]);
    all
}

/// Writes the model.
pub(crate) fn write(folder: &Path) {
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    let put = |name: &str, value: &Value| fs::write(folder.join(name), value.to_string()).unwrap();
    put("config.json", &config());
    put("tokenizer.json", &tokenizer());
    put("1_Pooling/config.json", &json!({ "pooling_mode_mean_tokens": true }));
    put("sentence_bert_config.json", &json!({ "max_seq_length": 24 }));
    put("config_sentence_transformers.json", &json!({ "prompts": { "query": "query: " } }));
    let card = "---\nlanguage: en\nlicense: apache-2.0\n---\n# Tiny\n";
    fs::write(folder.join("README.md"), card).unwrap();
    weights(folder, &tensors(), "F32", |number| number.to_le_bytes().to_vec());
}

pub(crate) fn config() -> Value {
    json!({
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": SIZE,
        "intermediate_size": WIDE,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "vocab_size": vocabulary().len(),
        "max_position_embeddings": POSITIONS,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    })
}

/// A file of weights: a length, a header, the numbers.
pub(crate) fn weights(
    folder: &Path,
    tensors: &TinyTensors,
    form: &str,
    bytes_of: impl Fn(f32) -> Vec<u8>,
) {
    let mut header = json!({ "__metadata__": { "format": "pt" } });
    let mut data = Vec::new();
    for (name, (shape, numbers)) in tensors {
        let start = data.len();
        data.extend(numbers.iter().flat_map(|number| bytes_of(*number)));
        header[name] =
            json!({ "dtype": form, "shape": shape, "data_offsets": [start, data.len()] });
    }
    let header = header.to_string().into_bytes();
    let length = (header.len() as u64).to_le_bytes().to_vec();
    fs::write(folder.join("model.safetensors"), [length, header, data].concat()).unwrap();
}

fn tokenizer() -> Value {
    let pieces = vocabulary();
    let vocabulary: BTreeMap<&str, usize> =
        pieces.iter().enumerate().map(|(id, piece)| (&**piece, id)).collect();
    let special = |id: usize| {
        json!({
            "id": id, "content": pieces[id], "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        })
    };
    let mark = |id: &str, kind: u8| json!({ "SpecialToken": { "id": id, "type_id": kind } });
    let text = |id: &str, kind: u8| json!({ "Sequence": { "id": id, "type_id": kind } });
    let known = |id: usize| json!({ "id": pieces[id], "ids": [id], "tokens": [pieces[id]] });
    json!({
        "version": "1.0",
        "truncation": { "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 },
        "padding": null,
        "added_tokens": (0..5).map(special).collect::<Vec<Value>>(),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0)],
            "pair": [
                mark("[CLS]", 0), text("A", 0), mark("[SEP]", 0), text("B", 1), mark("[SEP]", 1)
            ],
            "special_tokens": { "[CLS]": known(2), "[SEP]": known(3) }
        },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary
        }
    })
}
