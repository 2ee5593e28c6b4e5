//! Gemini's own protocol: batches of embeddings, and content by schema.

use serde_json::{Value, json};

use super::{
    ChatAnswer, ChatCall, ChatContent, EmbedCall, Embeddings, Outgoing, OutputMode, Protocol,
    ReadResult, TextRole, count, field, numbers, system_with_schema,
};

pub(super) struct Gemini;

impl Protocol for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn base_url(&self) -> &'static str {
        "https://generativelanguage.googleapis.com"
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["/v1beta"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-goog-api-key", key.to_owned())
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let task = match call.role {
            TextRole::Query => "RETRIEVAL_QUERY",
            TextRole::Passage => "RETRIEVAL_DOCUMENT",
        };
        let model = format!("models/{}", call.model);
        let requests: Vec<Value> = call
            .texts
            .iter()
            .map(|text| {
                let mut request = json!({
                    "model": model, "content": { "parts": [{ "text": text }] }, "taskType": task,
                });
                if let Some(dimensions) = call.dimensions {
                    request["outputDimensionality"] = json!(dimensions);
                }
                request
            })
            .collect();
        let path = format!("/models/{}:batchEmbedContents", call.model);
        Some(Outgoing { path, body: json!({ "requests": requests }) })
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        let list = field(answer, "/embeddings")?.as_array().ok_or("embeddings is not a list")?;
        if list.len() != texts {
            return Err(format!("embeddings has {} vectors for {texts} texts", list.len()));
        }
        let vectors: ReadResult<Vec<Vec<f32>>> =
            list.iter().map(|entry| numbers(field(entry, "/values")?)).collect();
        Ok(Embeddings { vectors: vectors?, tokens: None })
    }

    fn output_modes(&self) -> &'static [OutputMode] {
        &[OutputMode::Schema, OutputMode::Json, OutputMode::Prompt]
    }

    fn chat(&self, call: &ChatCall<'_>) -> Option<Outgoing> {
        let mut generation = json!({ "maxOutputTokens": call.tokens_max });
        if let Some(temperature) = call.temperature {
            generation["temperature"] = json!(temperature);
        }
        if call.mode != OutputMode::Prompt {
            generation["responseMimeType"] = json!("application/json");
        }
        if call.mode == OutputMode::Schema {
            generation["responseJsonSchema"] = call.schema.clone();
        }
        let body = json!({
            "systemInstruction": { "parts": [{ "text": system_with_schema(call) }] },
            "contents": [{ "role": "user", "parts": [{ "text": call.user }] }],
            "generationConfig": generation,
        });
        Some(Outgoing { path: format!("/models/{}:generateContent", call.model), body })
    }

    fn read_chat(&self, answer: &Value) -> ReadResult<ChatAnswer> {
        let parts = field(answer, "/candidates/0/content/parts")?;
        let parts = parts.as_array().ok_or("candidates.0.content.parts is not a list")?;
        // A model that thinks aloud marks those parts; they are not the answer.
        let spoken = parts.iter().filter(|part| part["thought"].as_bool() != Some(true));
        let text: String = spoken.filter_map(|part| part["text"].as_str()).collect();
        let reason = answer.pointer("/candidates/0/finishReason").and_then(Value::as_str);
        Ok(ChatAnswer {
            content: ChatContent::Text(text),
            tokens_in: count(answer, "/usageMetadata/promptTokenCount"),
            tokens_out: count(answer, "/usageMetadata/candidatesTokenCount"),
            is_cut: reason == Some("MAX_TOKENS"),
        })
    }

    fn count_tokens(&self, model: &str, text: &str) -> Option<Outgoing> {
        let body = json!({ "contents": [{ "role": "user", "parts": [{ "text": text }] }] });
        Some(Outgoing { path: format!("/models/{model}:countTokens"), body })
    }

    fn read_token_count(&self, answer: &Value) -> ReadResult<u64> {
        count(answer, "/totalTokens").ok_or_else(|| "it has no totalTokens".to_owned())
    }
}
