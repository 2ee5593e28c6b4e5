//! OpenAI's protocol: embeddings and chat completions. Most servers speak it: vLLM, llama.cpp, LM Studio,
//! LiteLLM, OpenRouter, Mistral, Infinity, Ollama's `/v1`. Several add a `rerank` call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::{
    ChatAnswer, ChatCall, ChatContent, EmbedCall, Embeddings, Outgoing, OutputMode, Protocol,
    ReadResult, RerankCall, RerankScores, count, field, in_order, numbers, scores_by_index,
    system_with_schema,
};

pub(super) struct OpenAi;

impl Protocol for OpenAi {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        Some(embed(call))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        read_embeddings(answer, texts)
    }

    fn rerank(&self, call: &RerankCall<'_>) -> Option<Outgoing> {
        Some(rerank(call))
    }

    fn read_scores(&self, answer: &Value, texts: usize) -> ReadResult<RerankScores> {
        read_scores(answer, texts)
    }

    fn output_modes(&self) -> &'static [OutputMode] {
        &[OutputMode::Schema, OutputMode::Json, OutputMode::Prompt]
    }

    fn chat(&self, call: &ChatCall<'_>) -> Option<Outgoing> {
        Some(chat(call))
    }

    fn read_chat(&self, answer: &Value) -> ReadResult<ChatAnswer> {
        read_chat(answer)
    }
}

/// OpenAI's protocol at Azure: the deployment stands in the base URL, such as
/// `https://NAME.openai.azure.com/openai/deployments/DEPLOYMENT?api-version=2024-10-21`.
pub(super) struct Azure;

impl Protocol for Azure {
    fn name(&self) -> &'static str {
        "azure"
    }

    fn base_url(&self) -> &'static str {
        ""
    }

    fn prefixes(&self) -> &'static [&'static str] {
        &[""]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("api-key", key.to_owned())
    }

    fn embed(&self, call: &EmbedCall<'_>) -> Option<Outgoing> {
        Some(embed(call))
    }

    fn read_embeddings(&self, answer: &Value, texts: usize) -> ReadResult<Embeddings> {
        read_embeddings(answer, texts)
    }

    fn output_modes(&self) -> &'static [OutputMode] {
        OpenAi.output_modes()
    }

    fn chat(&self, call: &ChatCall<'_>) -> Option<Outgoing> {
        Some(chat(call))
    }

    fn read_chat(&self, answer: &Value) -> ReadResult<ChatAnswer> {
        read_chat(answer)
    }
}

fn embed(call: &EmbedCall<'_>) -> Outgoing {
    let mut body = json!({ "model": call.model, "input": call.texts, "encoding_format": "base64" });
    if let Some(dimensions) = call.dimensions {
        body["dimensions"] = json!(dimensions);
    }
    Outgoing::new("/embeddings", body)
}

/// Reads `data[].embedding`, as base64 or as numbers: some servers ignore the format that was asked for.
pub(super) fn read_embeddings(answer: &Value, texts: usize) -> ReadResult<Embeddings> {
    let vectors =
        in_order(field(answer, "/data")?, texts, "data", |entry| match entry.get("embedding") {
            Some(Value::String(encoded)) => decode(encoded),
            Some(list) => numbers(list),
            None => Err("an entry of data has no embedding".to_owned()),
        })?;
    let tokens = count(answer, "/usage/prompt_tokens").or(count(answer, "/usage/total_tokens"));
    Ok(Embeddings { vectors, tokens })
}

/// Decodes little-endian single-precision numbers.
fn decode(encoded: &str) -> ReadResult<Vec<f32>> {
    let bytes = BASE64.decode(encoded).map_err(|_| "an embedding is not valid base64")?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err("an embedding in base64 is not a list of 32-bit numbers".to_owned());
    }
    Ok(numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

pub(super) fn rerank(call: &RerankCall<'_>) -> Outgoing {
    let body = json!({
        "model": call.model, "query": call.query, "documents": call.texts,
        "top_n": call.texts.len(), "return_documents": false,
    });
    Outgoing::new("/rerank", body)
}

pub(super) fn read_scores(answer: &Value, texts: usize) -> ReadResult<RerankScores> {
    let scores = scores_by_index(field(answer, "/results")?, texts, "results", "relevance_score")?;
    let places =
        ["/usage/total_tokens", "/meta/tokens/input_tokens", "/meta/billed_units/total_tokens"];
    let tokens = places.iter().find_map(|pointer| count(answer, pointer));
    Ok(RerankScores { scores, tokens })
}

fn chat(call: &ChatCall<'_>) -> Outgoing {
    let mut body = json!({
        "model": call.model,
        "messages": [
            { "role": "system", "content": system_with_schema(call) },
            { "role": "user", "content": call.user },
        ],
    });
    if let Some(temperature) = call.temperature {
        body["temperature"] = json!(temperature);
    }
    let limit = if call.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
    body[limit] = json!(call.tokens_max);
    match call.mode {
        OutputMode::Schema => {
            body["response_format"] = json!({
                "type": "json_schema",
                "json_schema": { "name": "answer", "strict": true, "schema": call.schema },
            });
        }
        OutputMode::Json => body["response_format"] = json!({ "type": "json_object" }),
        OutputMode::Format | OutputMode::Prompt => {}
    }
    Outgoing::new("/chat/completions", body)
}

fn read_chat(answer: &Value) -> ReadResult<ChatAnswer> {
    if let Some(refusal) = answer.pointer("/choices/0/message/refusal").and_then(Value::as_str) {
        let length = refusal.len();
        return Err(format!("the model refused to answer (a refusal of {length} bytes)"));
    }
    let content = field(answer, "/choices/0/message/content")?;
    let text = content.as_str().ok_or("choices.0.message.content is not a text")?;
    let reason = answer.pointer("/choices/0/finish_reason").and_then(Value::as_str);
    Ok(ChatAnswer {
        content: ChatContent::Text(text.to_owned()),
        tokens_in: count(answer, "/usage/prompt_tokens"),
        tokens_out: count(answer, "/usage/completion_tokens"),
        is_cut: reason == Some("length"),
    })
}
