//! The settings of a model's folder: network shape, pooling, prefixes and limits. Files of the
//! network are read first, then those of sentence-transformers, then our own, which override.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;

use crate::ModelError;
use crate::file::{json, small};

/// The network's shape.
pub(crate) const CONFIG: &str = "config.json";
/// Our own settings.
pub(crate) const OWN: &str = "haversack-model.toml";

const MODULES: &str = "modules.json";
const POOLING: &str = "1_Pooling/config.json";
const PROMPTS: &str = "config_sentence_transformers.json";
const SEQUENCE: &str = "sentence_bert_config.json";

/// All small settings files of a model.
pub(crate) const SMALL_FILES: [&str; 5] = [CONFIG, MODULES, POOLING, PROMPTS, SEQUENCE];

/// Longest prefix in bytes.
const PREFIX_BYTES_MAX: usize = 1_024;

/// How token vectors are combined into one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The vector of the first token.
    Cls,
}

impl fmt::Display for Pooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pooling::Mean => "mean",
            Pooling::Cls => "cls",
        })
    }
}

/// The shape of a BERT network, from `config.json`.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct BertShape {
    #[serde(default)]
    pub(crate) architectures: Vec<String>,
    pub(crate) hidden_size: usize,
    pub(crate) intermediate_size: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) vocab_size: usize,
    pub(crate) max_position_embeddings: usize,
    #[serde(default = "two")]
    pub(crate) type_vocab_size: usize,
    #[serde(default = "tiny")]
    pub(crate) layer_norm_eps: f32,
    #[serde(default = "gelu")]
    pub(crate) hidden_act: String,
    #[serde(default = "absolute")]
    pub(crate) position_embedding_type: String,
}

const fn two() -> usize {
    2
}

const fn tiny() -> f32 {
    1e-12
}

fn gelu() -> String {
    "gelu".to_owned()
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl BertShape {
    pub(crate) fn read(folder: &Path) -> Result<BertShape, ModelError> {
        let path = folder.join(CONFIG);
        let kind: ModelType =
            json(&path)?.ok_or_else(|| ModelError::Missing { path: path.clone() })?;
        // Checked first, because missing fields of another architecture would give a misleading
        // error.
        if kind.model_type != "bert" {
            let what =
                format!("the architecture is {:?}; only \"bert\" can be computed", kind.model_type);
            return Err(ModelError::unsupported(&path, what));
        }
        let shape: BertShape = json(&path)?.ok_or(ModelError::Missing { path: path.clone() })?;
        shape.check(&path)?;
        Ok(shape)
    }

    fn check(&self, path: &Path) -> Result<(), ModelError> {
        let bounds = [
            ("hidden_size", self.hidden_size, 4_096),
            ("intermediate_size", self.intermediate_size, 16_384),
            ("num_attention_heads", self.num_attention_heads, 64),
            ("num_hidden_layers", self.num_hidden_layers, 48),
            ("vocab_size", self.vocab_size, 1 << 20),
            ("max_position_embeddings", self.max_position_embeddings, 8_192),
            ("type_vocab_size", self.type_vocab_size, 16),
        ];
        for (name, value, most) in bounds {
            if value == 0 || value > most {
                let what = format!("{name} is {value}; use 1 to {most}");
                return Err(ModelError::unsupported(path, what));
            }
        }
        let (size, heads) = (self.hidden_size, self.num_attention_heads);
        if !size.is_multiple_of(heads) {
            let what = format!("hidden_size {size} is no multiple of {heads} attention heads");
            return Err(ModelError::unsupported(path, what));
        }
        if self.hidden_act != "gelu" {
            let what =
                format!("hidden_act is {:?}; only \"gelu\" can be computed", self.hidden_act);
            return Err(ModelError::unsupported(path, what));
        }
        if self.position_embedding_type != "absolute" {
            let what = format!(
                "position_embedding_type is {:?}; only \"absolute\" can be computed",
                self.position_embedding_type
            );
            return Err(ModelError::unsupported(path, what));
        }
        if !(0.0..1.0).contains(&self.layer_norm_eps) {
            let what = format!("layer_norm_eps is {}; use 0 to 1", self.layer_norm_eps);
            return Err(ModelError::unsupported(path, what));
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct ModelType {
    #[serde(default)]
    model_type: String,
}

/// Pooling, prefixes and limits of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelSettings {
    pub(crate) name: String,
    pub(crate) pooling: Pooling,
    pub(crate) query_prefix: String,
    pub(crate) document_prefix: String,
    pub(crate) tokens_max: usize,
    pub(crate) license: Option<String>,
    /// The version of the files, if recorded when the model was added.
    pub(crate) version: Option<String>,
}

impl ModelSettings {
    pub(crate) fn read(folder: &Path, shape: &BertShape) -> Result<ModelSettings, ModelError> {
        modules(folder)?;
        let own = OwnSettings::read(folder)?;
        let prompts = json::<Prompts>(&folder.join(PROMPTS))?.unwrap_or_default().prompts;
        let prompt = |names: &[&str]| {
            names.iter().find_map(|name| prompts.get(*name).cloned().flatten()).unwrap_or_default()
        };
        let said = match own.tokens_max {
            Some(most) => Some(most),
            None => {
                json::<SequenceSettings>(&folder.join(SEQUENCE))?.and_then(|it| it.max_seq_length)
            }
        };
        let settings = ModelSettings {
            name: own.name.unwrap_or_else(|| named_after(folder)),
            pooling: match own.pooling {
                Some(pooling) => pooling,
                None => pooling(folder)?.unwrap_or(Pooling::Mean),
            },
            query_prefix: own.query_prefix.unwrap_or_else(|| prompt(&["query"])),
            document_prefix: own
                .document_prefix
                .unwrap_or_else(|| prompt(&["document", "passage"])),
            tokens_max: said.unwrap_or(shape.max_position_embeddings),
            license: own.license,
            version: own.version,
        };
        settings.check(folder, shape)?;
        Ok(settings)
    }

    fn check(&self, folder: &Path, shape: &BertShape) -> Result<(), ModelError> {
        let path = folder.join(OWN);
        let most = shape.max_position_embeddings;
        // Two of them are the special tokens at the start and end.
        if self.tokens_max < 3 || self.tokens_max > most {
            let what = format!("tokens-max is {}; this model reads 3 to {most}", self.tokens_max);
            return Err(ModelError::unsupported(&path, what));
        }
        let prefixes =
            [("query-prefix", &self.query_prefix), ("document-prefix", &self.document_prefix)];
        for (name, prefix) in prefixes {
            if prefix.len() > PREFIX_BYTES_MAX || prefix.chars().any(char::is_control) {
                let what = format!(
                    "{name} has to be one line of at most {PREFIX_BYTES_MAX} bytes, not {}",
                    prefix.len()
                );
                return Err(ModelError::unsupported(&path, what));
            }
        }
        Ok(())
    }

    /// The settings in the format of our own file.
    pub(crate) fn to_toml(&self) -> String {
        // A JSON string without control characters is also a TOML string.
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let mut out =
            String::from("# Written when the model was added; tells what its files said.\n");
        let mut line = |key: &str, value: String| out.push_str(&format!("{key} = {value}\n"));
        line("name", quoted(&self.name));
        line("pooling", quoted(&self.pooling.to_string()));
        line("query-prefix", quoted(&self.query_prefix));
        line("document-prefix", quoted(&self.document_prefix));
        line("tokens-max", self.tokens_max.to_string());
        if let Some(license) = &self.license {
            line("license", quoted(license));
        }
        if let Some(version) = &self.version {
            line("version", quoted(version));
        }
        out
    }
}

/// The default name of a model: its folder's name, reduced to valid characters.
fn named_after(folder: &Path) -> String {
    let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().map(|name| name.to_string_lossy().to_lowercase());
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = name.unwrap_or_default().chars().map(plain).take(64).collect();
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if name.is_empty() { "model".to_owned() } else { name.to_owned() }
}

/// Our own file.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct OwnSettings {
    name: Option<String>,
    pooling: Option<Pooling>,
    query_prefix: Option<String>,
    document_prefix: Option<String>,
    tokens_max: Option<usize>,
    license: Option<String>,
    version: Option<String>,
}

impl OwnSettings {
    fn read(folder: &Path) -> Result<OwnSettings, ModelError> {
        let path = folder.join(OWN);
        let Some(text) = small(&path)? else { return Ok(OwnSettings::default()) };
        toml::from_str(&text)
            .map_err(|error| ModelError::unreadable(&path, &error.to_string().trim()))
    }
}

#[derive(Deserialize, Default)]
struct Prompts {
    #[serde(default)]
    prompts: BTreeMap<String, Option<String>>,
}

#[derive(Deserialize)]
struct SequenceSettings {
    max_seq_length: Option<usize>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(rename = "type")]
    kind: String,
}

/// Rejects modules after the transformer that are not supported.
fn modules(folder: &Path) -> Result<(), ModelError> {
    let path = folder.join(MODULES);
    let Some(modules) = json::<Vec<Module>>(&path)? else { return Ok(()) };
    for Module { kind } in &modules {
        let last = kind.rsplit('.').next().unwrap_or(kind);
        if !["Transformer", "Pooling", "Normalize"].contains(&last) {
            let what = format!(
                "the module {kind:?} is not computed; only Transformer, Pooling and Normalize are"
            );
            return Err(ModelError::unsupported(&path, what));
        }
    }
    Ok(())
}

/// What sentence-transformers' file says of pooling.
fn pooling(folder: &Path) -> Result<Option<Pooling>, ModelError> {
    let path = folder.join(POOLING);
    let Some(modes) = json::<BTreeMap<String, serde_json::Value>>(&path)? else {
        return Ok(None);
    };
    let modes: Vec<&str> = modes
        .iter()
        .filter(|(_, value)| **value == serde_json::Value::Bool(true))
        .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"))
        .collect();
    match modes[..] {
        ["mean_tokens"] => Ok(Some(Pooling::Mean)),
        ["cls_token"] => Ok(Some(Pooling::Cls)),
        _ => {
            let what = format!(
                "pooling is {:?}; only mean_tokens or cls_token, one of them, can be computed",
                modes.join(" with ")
            );
            Err(ModelError::unsupported(&path, what))
        }
    }
}
