//! The protocols that providers speak, one file each. A protocol turns a call into a path and a JSON body
//! and reads the answer; it knows no sockets, keys or limits.

mod anthropic;
mod cohere;
mod gemini;
mod jina;
mod ollama;
mod openai;
mod tei;
mod voyage;

#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::{Map, Value};

/// All protocols. A new one is a file and a row here.
pub(crate) static PROTOCOLS: [&dyn Protocol; 9] = [
    &openai::OpenAi,
    &openai::Azure,
    &anthropic::Anthropic,
    &gemini::Gemini,
    &cohere::Cohere,
    &jina::Jina,
    &voyage::Voyage,
    &tei::Tei,
    &ollama::Ollama,
];

/// Finds a protocol by its name in the settings.
pub(crate) fn find(name: &str) -> Option<&'static dyn Protocol> {
    PROTOCOLS.iter().copied().find(|protocol| protocol.name() == name)
}

/// What a call sends: a path under the base URL, and a body.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outgoing {
    pub(crate) path: String,
    pub(crate) body: Value,
}

impl Outgoing {
    fn new(path: &str, body: Value) -> Outgoing {
        Outgoing { path: path.to_owned(), body }
    }
}

/// Whether texts are embedded as queries or as stored passages: many models tell them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// A question.
    Query,
    /// A stored text.
    Passage,
}

/// Texts to embed.
#[derive(Debug)]
pub(crate) struct EmbedCall<'a> {
    pub(crate) model: &'a str,
    pub(crate) texts: &'a [&'a str],
    pub(crate) role: TextRole,
    /// Sent only when the settings say a number: some servers reject the field.
    pub(crate) dimensions: Option<usize>,
}

/// Vectors in the order of the texts, and the tokens that the provider counted.
#[derive(Debug, PartialEq)]
pub(crate) struct Embeddings {
    pub(crate) vectors: Vec<Vec<f32>>,
    pub(crate) tokens: Option<u64>,
}

/// A query and texts to score against it.
#[derive(Debug)]
pub(crate) struct RerankCall<'a> {
    pub(crate) model: &'a str,
    pub(crate) query: &'a str,
    pub(crate) texts: &'a [&'a str],
}

/// Scores in the order of the texts, and the tokens that the provider counted.
#[derive(Debug, PartialEq)]
pub(crate) struct RerankScores {
    pub(crate) scores: Vec<f64>,
    pub(crate) tokens: Option<u64>,
}

/// How a model is asked for JSON, strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputMode {
    /// The server enforces a schema.
    Schema,
    /// The server enforces a schema in another way of the same protocol.
    Format,
    /// The server enforces JSON; the prompt describes the schema.
    Json,
    /// The prompt alone asks for JSON.
    Prompt,
}

/// One question to a chat model that answers in JSON.
#[derive(Debug)]
pub(crate) struct ChatCall<'a> {
    pub(crate) model: &'a str,
    pub(crate) system: &'a str,
    pub(crate) user: &'a str,
    pub(crate) schema: &'a Value,
    pub(crate) mode: OutputMode,
    pub(crate) temperature: Option<f64>,
    pub(crate) tokens_max: u32,
    /// Whether the limit is sent as `max_completion_tokens`, as newer OpenAI models want it.
    pub(crate) completion_tokens: bool,
}

/// What a chat model answered.
#[derive(Debug, PartialEq)]
pub(crate) struct ChatAnswer {
    pub(crate) content: ChatContent,
    pub(crate) tokens_in: Option<u64>,
    pub(crate) tokens_out: Option<u64>,
    /// Whether the answer ended at the token limit.
    pub(crate) is_cut: bool,
}

/// An answer as text, or as the JSON that a protocol returns by itself.
#[derive(Debug, PartialEq)]
pub(crate) enum ChatContent {
    Text(String),
    Json(Value),
}

/// Why an answer cannot be read; the message names the field.
pub(crate) type ReadResult<T> = Result<T, String>;

/// A protocol. A method that returns `None` says that the protocol has no such call.
pub(crate) trait Protocol: Sync {
    /// Its name in the settings.
    fn name(&self) -> &'static str;

    /// The base URL when the settings say none; empty when they must.
    fn base_url(&self) -> &'static str;

    /// Path prefixes under a base URL without a version of its own, in the order they are tried.
    fn prefixes(&self) -> &'static [&'static str] {
        &["/v1", ""]
    }

    /// The header that carries the key.
    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    /// Headers of every call.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Texts per call when the settings say no number.
    fn batch(&self) -> usize {
        96
    }

    fn embed(&self, _call: &EmbedCall<'_>) -> Option<Outgoing> {
        None
    }

    fn read_embeddings(&self, _answer: &Value, _texts: usize) -> ReadResult<Embeddings> {
        Err("the protocol has no embeddings".to_owned())
    }

    fn rerank(&self, _call: &RerankCall<'_>) -> Option<Outgoing> {
        None
    }

    fn read_scores(&self, _answer: &Value, _texts: usize) -> ReadResult<RerankScores> {
        Err("the protocol has no reranking".to_owned())
    }

    /// The ways to ask for JSON, strictest first; empty without a chat call.
    fn output_modes(&self) -> &'static [OutputMode] {
        &[]
    }

    fn chat(&self, _call: &ChatCall<'_>) -> Option<Outgoing> {
        None
    }

    fn read_chat(&self, _answer: &Value) -> ReadResult<ChatAnswer> {
        Err("the protocol has no chat".to_owned())
    }

    /// Asks how many tokens a text has.
    fn count_tokens(&self, _model: &str, _text: &str) -> Option<Outgoing> {
        None
    }

    fn read_token_count(&self, _answer: &Value) -> ReadResult<u64> {
        Err("the protocol does not count tokens".to_owned())
    }
}

impl fmt::Debug for dyn Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Adds the settings' own fields to a body; they win over ours.
pub(crate) fn add_extra(body: &mut Value, extra: &Map<String, Value>) {
    if let Value::Object(body) = body {
        for (name, value) in extra {
            match (body.get_mut(name), value) {
                // One level deep, so that `options` or `generationConfig` can be extended.
                (Some(Value::Object(ours)), Value::Object(theirs)) => {
                    ours.extend(theirs.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                _ => {
                    body.insert(name.clone(), value.clone());
                }
            }
        }
    }
}

/// The text of a system prompt that also describes the answer, for servers that do not enforce it.
fn system_with_schema(call: &ChatCall<'_>) -> String {
    match call.mode {
        OutputMode::Schema | OutputMode::Format => call.system.to_owned(),
        OutputMode::Json | OutputMode::Prompt => format!(
            "{}\n\nAnswer with one JSON object and nothing else. Its JSON schema is:\n{}",
            call.system, call.schema
        ),
    }
}

/// Reads a list of objects with `index`, and puts their values in the order of the texts.
fn in_order<T>(
    list: &Value,
    texts: usize,
    name: &str,
    read: impl Fn(&Value) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    let list = list.as_array().ok_or_else(|| format!("{name} is not a list"))?;
    let mut values: Vec<Option<T>> = (0..texts).map(|_| None).collect();
    for (place, entry) in list.iter().enumerate() {
        let index = match entry.get("index") {
            Some(index) => {
                let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
                index.ok_or_else(|| format!("{name}[{place}].index is not a number"))?
            }
            None if list.len() == texts => place,
            None => return Err(format!("{name}[{place}] has no index")),
        };
        let slot = values.get_mut(index).ok_or_else(|| {
            format!("{name}[{place}].index is {index}, but {texts} texts were sent")
        })?;
        if slot.replace(read(entry)?).is_some() {
            return Err(format!("{name} has index {index} twice"));
        }
    }
    let missing = values.iter().position(Option::is_none);
    match missing {
        Some(index) => Err(format!("{name} has no entry for text {index} of {texts}")),
        None => Ok(values.into_iter().flatten().collect()),
    }
}

/// Reads a list of lists of numbers, one for each text.
fn vectors_in_list(list: &Value, texts: usize, name: &str) -> ReadResult<Vec<Vec<f32>>> {
    let list = list.as_array().ok_or_else(|| format!("{name} is not a list"))?;
    if list.len() != texts {
        return Err(format!("{name} has {} vectors for {texts} texts", list.len()));
    }
    list.iter().map(numbers).collect()
}

/// Reads the numbers of a vector.
fn numbers(value: &Value) -> ReadResult<Vec<f32>> {
    let list = value.as_array().ok_or("an embedding is not a list of numbers")?;
    let number = |value: &Value| {
        #[expect(clippy::cast_possible_truncation, reason = "embeddings are single precision")]
        let number = value.as_f64().map(|number| number as f32);
        number.ok_or_else(|| "an embedding holds something that is not a number".to_owned())
    };
    list.iter().map(number).collect()
}

/// Reads `index` and a score from a list of results.
fn scores_by_index(list: &Value, texts: usize, name: &str, score: &str) -> ReadResult<Vec<f64>> {
    in_order(list, texts, name, |entry| {
        let value = entry.get(score).and_then(Value::as_f64).filter(|value| value.is_finite());
        value.ok_or_else(|| format!("an entry of {name} has no {score}"))
    })
}

fn field<'a>(answer: &'a Value, pointer: &str) -> ReadResult<&'a Value> {
    answer.pointer(pointer).ok_or_else(|| format!("it has no {}", &pointer[1..].replace('/', ".")))
}

fn count(answer: &Value, pointer: &str) -> Option<u64> {
    answer.pointer(pointer).and_then(Value::as_u64)
}
