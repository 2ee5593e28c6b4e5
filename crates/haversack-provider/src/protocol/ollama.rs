//! Ollama's own protocol, for settings that its `/v1` does not have (`num_ctx`, `keep_alive`).

use serde_json::{Value, json};

use super::{
    ChatAnswer, ChatCall, ChatContent, EmbedCall, Embeddings, Outgoing, OutputMode, Protocol,
    ReadResult, count, field, system_with_schema, vectors_in_list,
};

pub(super) struct Ollama;

impl Protocol for Ollama {
    fn name(&self) -> &'static str {
        "ollama"
    }

    fn base_url(&self) -> &'static str {
        "http://127.0.0.1:11434"
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &["/api"]
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        let mut body = json!({ "model": call.model, "input": call.texts, "truncate": true });
        if let Some(dimensions) = call.dimensions {
            body["dimensions"] = json!(dimensions);
        }
        Some(Outgoing::new("/embed", body))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        let vectors = vectors_in_list(field(answer, "/embeddings")?, texts, "embeddings")?;
        Ok(Embeddings { vectors, tokens: count(answer, "/prompt_eval_count") })
    }

    fn output_modes(&self) -> &'static [OutputMode] {
        &[OutputMode::Schema, OutputMode::Json, OutputMode::Prompt]
    }

    fn chat(&self, call: &ChatCall<'_>) -> Option<Outgoing> {
        let mut options = json!({ "num_predict": call.tokens_max });
        if let Some(temperature) = call.temperature {
            options["temperature"] = json!(temperature);
        }
        let mut body = json!({
            "model": call.model,
            "messages": [
                { "role": "system", "content": system_with_schema(call) },
                { "role": "user", "content": call.user },
            ],
            "stream": false,
            "options": options,
        });
        match call.mode {
            OutputMode::Schema => body["format"] = call.schema.clone(),
            OutputMode::Json => body["format"] = json!("json"),
            OutputMode::Format | OutputMode::Prompt => {}
        }
        Some(Outgoing::new("/chat", body))
    }

    fn read_chat(&self, answer: &Value) -> ReadResult<ChatAnswer> {
        let content = field(answer, "/message/content")?;
        let text = content.as_str().ok_or("message.content is not a text")?;
        Ok(ChatAnswer {
            content: ChatContent::Text(text.to_owned()),
            tokens_in: count(answer, "/prompt_eval_count"),
            tokens_out: count(answer, "/eval_count"),
            is_cut: answer["done_reason"].as_str() == Some("length"),
        })
    }
}
